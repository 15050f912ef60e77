"""Frozen policies: the settings that rules take, with the real program's defaults filled in.

Every policy is what OpenClaw 2026.5.22 would act on. Milliseconds, bytes and tokens are plain integers; ``None`` is
"off" where a field says so.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from strandline.settings.scalars import DAY_MS, HOUR_MS, MINUTE_MS

Scope: TypeAlias = Literal["per-sender", "global"]
DmScope: TypeAlias = Literal["main", "per-peer", "per-channel-peer", "per-account-channel-peer"]
MaintenanceMode: TypeAlias = Literal["enforce", "warn"]


class SessionPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How messages become session keys (spec 2026.5 §3).

    ``session.mainKey`` is not here: the real program replaces it by ``main`` when it loads the file.

    Attributes:
        scope: one session per sender, or one for all.
        dm_scope: how direct messages are told apart.
        store: the template of the store's path; ``None`` is the default place.
        identity_links: canonical name → the peers it stands for.
        reset_triggers: words that start a new session.
    """

    scope: Scope = "per-sender"
    dm_scope: DmScope = "main"
    store: str | None = None
    identity_links: dict[str, tuple[str, ...]] = {}
    reset_triggers: tuple[str, ...] = ("/new", "/reset")


class ResetRule(msgspec.Struct, frozen=True, kw_only=True):
    """One stated reset rule; what it leaves out falls to the next one (spec 2026.5 §4.1)."""

    mode: Literal["daily", "idle"] | None = None
    at_hour: int | None = None
    idle_minutes: int | None = None


class ResetPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Every stated reset rule (spec 2026.5 §4.1).

    Attributes:
        base: ``session.reset``; ``None`` when not stated.
        by_type: ``session.resetByType``; ``dm`` is read as ``direct`` when ``direct`` is not stated.
        by_channel: ``session.resetByChannel``; an entry replaces everything else.
        legacy_idle_minutes: ``session.idleMinutes``.
    """

    base: ResetRule | None = None
    by_type: dict[str, ResetRule] = {}
    by_channel: dict[str, ResetRule] = {}
    legacy_idle_minutes: int | None = None


class MaintenancePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What an ordinary store write and ``sessions cleanup`` go by (spec 2026.5 §5.1).

    Attributes:
        mode: ``enforce`` removes, ``warn`` only warns; built in is ``enforce``, whatever the manual says.
        prune_after_ms: rows untouched for longer go.
        max_entries: rows beyond this go, oldest first.
        reset_archive_retention_ms: how long ``.reset.`` archives stay; ``None`` keeps them for ever.
        max_disk_bytes: budget of a sessions directory; ``None`` is off, 0 is a budget of nothing.
        high_water_bytes: where an enforced budget stops removing; ``None`` when the budget is off.
    """

    mode: MaintenanceMode = "enforce"
    prune_after_ms: int = 30 * DAY_MS
    max_entries: int = 500
    reset_archive_retention_ms: int | None = 30 * DAY_MS
    max_disk_bytes: int | None = None
    high_water_bytes: int | None = None


class WriteLockPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Transcript write locks, all in milliseconds (spec 2026.5 §1.4)."""

    acquire_timeout_ms: int = MINUTE_MS
    stale_ms: int = 30 * MINUTE_MS
    max_hold_ms: int = 5 * MINUTE_MS


class MemoryFlushPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """``agents.defaults.compaction.memoryFlush`` (spec 2026.5 §9); 0 bytes switches that trigger off."""

    enabled: bool = True
    soft_threshold_tokens: int = 4_000
    force_flush_transcript_bytes: int = 2 * 1024**2


class CompactionPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """``agents.defaults.compaction`` (spec 2026.5 §8.1).

    Attributes:
        mode: ``safeguard`` unless stated: the loader sets it when it fills in ``agents.defaults``; a stated
            ``provider`` makes it ``safeguard`` in any case.
        reserve_tokens: as stated; ``None`` leaves it to the agent library (16,384).
        reserve_tokens_floor: smallest reserve; 0 switches the floor off.
        keep_recent_tokens: as stated; ``None`` leaves it to the agent library (20,000).
        max_history_share: share of the window that history may take, 0.1–0.9.
        recent_turns_preserve: turns kept word for word.
        mid_turn_precheck: whether pressure is checked after tool results too.
        truncate_after_compaction: whether a compaction starts a new transcript file.
        max_active_transcript_bytes: transcript size that triggers compaction; ``None`` is off.
        timeout_ms: how long one compaction may take.
        memory_flush: when notes are saved before a compaction.
    """

    mode: Literal["default", "safeguard"] = "safeguard"
    reserve_tokens: int | None = None
    reserve_tokens_floor: int = 20_000
    keep_recent_tokens: int | None = None
    max_history_share: float = 0.5
    recent_turns_preserve: int = 3
    mid_turn_precheck: bool = False
    truncate_after_compaction: bool = False
    max_active_transcript_bytes: int | None = None
    timeout_ms: int = 15 * MINUTE_MS
    memory_flush: MemoryFlushPolicy = MemoryFlushPolicy()


class CronPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Cron files and retention (spec 2026.5 §1.3, §14).

    Attributes:
        store: path of ``jobs.json`` as stated; ``None`` is the default place.
        session_retention_ms: how long rows of single runs stay; ``None`` keeps them for ever.
        run_log_max_bytes: size from which a run log is cut.
        run_log_keep_lines: lines that stay when it is.
    """

    store: str | None = None
    session_retention_ms: int | None = 24 * HOUR_MS
    run_log_max_bytes: int = 2_000_000
    run_log_keep_lines: int = 2_000


class GatewayPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Which gateway owns the state.

    Attributes:
        mode: ``remote`` when this machine's files are not what the gateway uses.
        port: port of a local gateway.
        remote_url: address of a remote one, as stated.
    """

    mode: Literal["local", "remote"] = "local"
    port: int = 18_789
    remote_url: str | None = None

    @property
    def is_remote(self) -> bool:
        """Whether another machine's gateway is the authority."""
        return self.mode == "remote" or bool(self.remote_url)


class AgentPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of ``agents.list``.

    Attributes:
        id: the id as it is on disk.
        stated_id: the id exactly as written, by which the real program looks a model up.
        name: display name, when stated.
        model: primary model reference, when stated.
        default: whether the entry says it is the default.
    """

    id: str
    stated_id: str
    name: str | None = None
    model: str | None = None
    default: bool = False


class ModelWindow(msgspec.Struct, frozen=True):
    """A context window that the configuration states for a model.

    Attributes:
        provider: key in ``models.providers``, as written.
        model: model id, as the loader normalises it.
        tokens: the window.
    """

    provider: str
    model: str
    tokens: int | float


class AgentsPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Agents and their models.

    Attributes:
        listed: ``agents.list`` in the order of the file.
        acp_ids: agents known only through ACP settings, in order.
        default_model: ``agents.defaults.model`` (its primary), when stated.
        context_tokens: ``agents.defaults.contextTokens``, when stated.
        model_aliases: alias → model reference, of ``agents.defaults.models``.
        configured_models: keys of ``agents.defaults.models``.
        cli_backends: keys of ``agents.defaults.cliBackends``.
        windows: stated context windows in the order of the file.
        provider_models: provider → ids of its models, in the order of the file.
    """

    listed: tuple[AgentPolicy, ...] = ()
    acp_ids: tuple[str, ...] = ()
    default_model: str | None = None
    context_tokens: int | None = None
    model_aliases: dict[str, str] = {}
    configured_models: tuple[str, ...] = ()
    cli_backends: tuple[str, ...] = ()
    windows: tuple[ModelWindow, ...] = ()
    provider_models: dict[str, tuple[str, ...]] = {}

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the configured agents, without doubles; ``main`` when none is listed."""
        return tuple(dict.fromkeys(agent.id for agent in self.listed)) or ("main",)

    @property
    def default_id(self) -> str:
        """Id of the default agent: the first that says so, else the first listed, else ``main``."""
        chosen = next((agent for agent in self.listed if agent.default), None)
        return chosen.id if chosen else self.ids[0]
