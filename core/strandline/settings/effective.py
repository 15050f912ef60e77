"""From openclaw.json to effective settings: every value with where it came from, every refused value with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import msgspec

from strandline.ecmascript import JsonValue, is_finite_number, is_number, trim
from strandline.settings.document import ConfigDocument
from strandline.settings.model_ids import (
    DEFAULT_ALIASES,
    normalise_model_id,
    normalise_provider,
    normalise_reference,
)
from strandline.settings.policies import (
    AgentPolicy,
    AgentsPolicy,
    CompactionPolicy,
    CronPolicy,
    GatewayPolicy,
    MaintenancePolicy,
    MemoryFlushPolicy,
    ModelWindow,
    ResetPolicy,
    ResetRule,
    SessionPolicy,
    WriteLockPolicy,
)
from strandline.settings.scalars import parse_bytes, parse_duration_ms
from strandline.settings.schema import CONFIG, Problem, validate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


BUILT_IN = "built in"
_DEFAULT_WINDOW = 200_000

Unit: TypeAlias = Literal["", "ms", "bytes", "tokens", "minutes", "hour"]
NormaliseAgentId: TypeAlias = "Callable[[str], str]"


class EffectiveValue(msgspec.Struct, frozen=True):
    """One setting as it holds.

    Attributes:
        path: its place in openclaw.json.
        value: what holds now.
        unit: what a number counts; empty for words.
        source: ``built in``, or the name of the file, with the other path when the value came from there.
    """

    path: str
    value: JsonValue
    unit: Unit
    source: str


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The effective settings of a state directory.

    Attributes:
        document: the file they were read from.
        problems: values that the real program refuses.
        values: every setting that rules take, with its source.
        session: how messages become keys.
        reset: when a session starts anew.
        maintenance: what clean-up goes by.
        write_lock: transcript locks.
        compaction: when and how history is summarised.
        cron: cron files and retention.
        gateway: who owns the state.
        agents: agents, their models and windows.
    """

    document: ConfigDocument
    problems: tuple[Problem, ...]
    values: tuple[EffectiveValue, ...]
    session: SessionPolicy
    reset: ResetPolicy
    maintenance: MaintenancePolicy
    write_lock: WriteLockPolicy
    compaction: CompactionPolicy
    cron: CronPolicy
    gateway: GatewayPolicy
    agents: AgentsPolicy

    def source_of(self, path: str) -> str:
        """Return where the value at ``path`` came from."""
        return next((value.source for value in self.values if value.path == path), BUILT_IN)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a person should know about the file: damage, refused values, included files."""
        damage = (self.document.damage,) if self.document.damage else ()
        refused = tuple(problem.sentence for problem in self.problems)
        included = tuple(
            f"{self.document.path} includes {name}; values from there are not shown." for name in self.document.includes
        )
        return (*damage, *refused, *included)


def read_settings(document: ConfigDocument, normalise_agent_id: NormaliseAgentId) -> Settings:
    """Return the effective settings of a configuration document.

    A refused value falls back to its default, and is listed among the problems.

    Args:
        document: the file as read.
        normalise_agent_id: how an agent's id is written on disk (``state.keys.normalise_agent_id``).
    """
    problems = tuple(validate(CONFIG, document.root, "")) if document.exists else ()
    reader = _Reader(document.root, {problem.path for problem in problems}, document.path)
    return Settings(
        document=document,
        problems=problems,
        session=_session(reader),
        reset=_reset(reader),
        maintenance=_maintenance(reader),
        write_lock=_write_lock(reader),
        compaction=_compaction(reader),
        cron=_cron(reader),
        gateway=_gateway(reader),
        agents=_agents(reader, normalise_agent_id),
        values=tuple(reader.values),
    )


class _Reader:
    """Takes values out of the document, noting each with its source."""

    def __init__(self, root: dict[str, JsonValue], refused: set[str], file: str) -> None:
        self._root = root
        self._refused = refused
        self.file = file
        self.values: list[EffectiveValue] = []

    def raw(self, path: str) -> JsonValue:
        """Return the stated value, or ``None`` when it is absent or refused."""
        if any(refused == path or refused.startswith(f"{path}.") for refused in self._refused):
            return None
        return self.stated(path)

    def stated(self, path: str) -> JsonValue:
        """Return what stands at ``path``, refused or not; ``None`` when it is absent."""
        value: JsonValue = self._root
        for part in path.split("."):
            if not isinstance(value, dict) or part not in value:
                return None
            value = value[part]
        return value

    def note(self, path: str, value: JsonValue, unit: Unit, source: str) -> None:
        self.values.append(EffectiveValue(path, value, unit, source))

    def take(self, path: str, default: JsonValue, unit: Unit = "") -> JsonValue:
        """Return the value at ``path`` or ``default``, and note it."""
        stated = self.raw(path)
        self.note(path, default if stated is None else stated, unit, BUILT_IN if stated is None else self.file)
        return default if stated is None else stated

    def integer(self, path: str, default: int, unit: Unit = "") -> int:
        return int(cast("float", self.take(path, default, unit)))

    def optional_integer(self, path: str, unit: Unit = "") -> int | None:
        value = self.take(path, None, unit)
        return int(value) if is_finite_number(value) else None

    def flag(self, path: str, *, default: bool) -> bool:
        return bool(self.take(path, default))

    def duration(self, path: str, default: int | None, bare_unit: str) -> int | None:
        """Return milliseconds; ``false`` in the file is ``None``."""
        stated = self.raw(path)
        if stated is None:
            self.note(path, default, "ms", BUILT_IN)
            return default
        value = None if stated is False else parse_duration_ms(cast("str | float", stated), bare_unit=bare_unit)
        self.note(path, value, "ms", self.file)
        return value

    def size(self, path: str, default: int | None) -> int | None:
        stated = self.raw(path)
        value = default if stated is None else parse_bytes(cast("str | float", stated))
        self.note(path, value, "bytes", BUILT_IN if stated is None else self.file)
        return value


def _session(reader: _Reader) -> SessionPolicy:
    links = reader.raw("session.identityLinks")
    triggers = reader.raw("session.resetTriggers")
    store = reader.take("session.store", None)
    return SessionPolicy(
        scope=cast("Any", reader.take("session.scope", "per-sender")),
        dm_scope=cast("Any", reader.take("session.dmScope", "main")),
        store=store if isinstance(store, str) and store else None,
        identity_links={
            name: tuple(peer for peer in peers if isinstance(peer, str))
            for name, peers in (links.items() if isinstance(links, dict) else ())
            if isinstance(peers, list)
        },
        reset_triggers=tuple(word for word in triggers if isinstance(word, str))
        if isinstance(triggers, list)
        else SessionPolicy().reset_triggers,
    )


def _reset(reader: _Reader) -> ResetPolicy:
    by_type = reader.raw("session.resetByType")
    by_channel = reader.raw("session.resetByChannel")
    types = {
        name: _reset_rule(rule)
        for name, rule in (by_type.items() if isinstance(by_type, dict) else ())
        if isinstance(rule, dict)
    }
    if "dm" in types:
        types.setdefault("direct", types["dm"])
    stated = reader.raw("session.reset")
    reader.take("session.reset.mode", None)
    reader.take("session.reset.atHour", None, "hour")
    reader.take("session.reset.idleMinutes", None, "minutes")
    return ResetPolicy(
        base=_reset_rule(stated) if isinstance(stated, dict) else None,
        by_type=types,
        by_channel={
            name: _reset_rule(rule)
            for name, rule in (by_channel.items() if isinstance(by_channel, dict) else ())
            if isinstance(rule, dict)
        },
        legacy_idle_minutes=reader.optional_integer("session.idleMinutes", "minutes"),
    )


def _reset_rule(stated: dict[str, JsonValue]) -> ResetRule:
    mode, hour, idle = stated.get("mode"), stated.get("atHour"), stated.get("idleMinutes")
    return ResetRule(
        mode="daily" if mode == "daily" else "idle" if mode == "idle" else None,
        at_hour=int(hour) if is_number(hour) else None,
        idle_minutes=int(idle) if is_number(idle) else None,
    )


def _maintenance(reader: _Reader) -> MaintenancePolicy:
    base = "session.maintenance"
    prune = reader.duration(f"{base}.pruneAfter", None, "d")
    if prune is None:
        # A stated pruneAfter keeps pruneDays out, even one that is refused.
        days = reader.raw(f"{base}.pruneDays") if reader.stated(f"{base}.pruneAfter") is None else None
        reader.values.pop()
        prune = parse_duration_ms(days, bare_unit="d") if is_number(days) else None
        source = BUILT_IN if prune is None else f"{reader.file} ({base}.pruneDays)"
        prune = MaintenancePolicy().prune_after_ms if prune is None else prune
        reader.note(f"{base}.pruneAfter", prune, "ms", source)
    budget = reader.size(f"{base}.maxDiskBytes", None)
    high = reader.size(f"{base}.highWaterBytes", None)
    return MaintenancePolicy(
        mode="warn" if reader.take(f"{base}.mode", "enforce") == "warn" else "enforce",
        prune_after_ms=prune,
        max_entries=reader.integer(f"{base}.maxEntries", 500),
        reset_archive_retention_ms=reader.duration(f"{base}.resetArchiveRetention", prune, "d"),
        max_disk_bytes=budget,
        high_water_bytes=_high_water(budget, high),
    )


def _high_water(budget: int | None, stated: int | None) -> int | None:
    if budget is None:
        return None
    if stated is not None:
        return min(stated, budget)
    return 0 if budget <= 0 else max(1, min(budget, budget * 8 // 10))


def _write_lock(reader: _Reader) -> WriteLockPolicy:
    default = WriteLockPolicy()
    return WriteLockPolicy(
        acquire_timeout_ms=reader.integer("session.writeLock.acquireTimeoutMs", default.acquire_timeout_ms, "ms"),
        stale_ms=reader.integer("session.writeLock.staleMs", default.stale_ms, "ms"),
        max_hold_ms=reader.integer("session.writeLock.maxHoldMs", default.max_hold_ms, "ms"),
    )


def _compaction(reader: _Reader) -> CompactionPolicy:
    base = "agents.defaults.compaction"
    flush = MemoryFlushPolicy()
    share = reader.take(f"{base}.maxHistoryShare", 0.5)
    mode = reader.take(f"{base}.mode", "safeguard")
    return CompactionPolicy(
        # A compaction provider promotes to safeguard, whatever the mode says.
        mode="default" if mode == "default" and not reader.raw(f"{base}.provider") else "safeguard",
        reserve_tokens=reader.optional_integer(f"{base}.reserveTokens", "tokens"),
        reserve_tokens_floor=reader.integer(f"{base}.reserveTokensFloor", 20_000, "tokens"),
        keep_recent_tokens=reader.optional_integer(f"{base}.keepRecentTokens", "tokens"),
        max_history_share=float(share) if is_number(share) else 0.5,
        recent_turns_preserve=reader.integer(f"{base}.recentTurnsPreserve", 3),
        mid_turn_precheck=reader.flag(f"{base}.midTurnPrecheck.enabled", default=False),
        truncate_after_compaction=reader.flag(f"{base}.truncateAfterCompaction", default=False),
        max_active_transcript_bytes=reader.size(f"{base}.maxActiveTranscriptBytes", None),
        timeout_ms=reader.integer(f"{base}.timeoutSeconds", 900) * 1000,
        memory_flush=MemoryFlushPolicy(
            enabled=reader.flag(f"{base}.memoryFlush.enabled", default=True),
            soft_threshold_tokens=reader.integer(
                f"{base}.memoryFlush.softThresholdTokens", flush.soft_threshold_tokens, "tokens"
            ),
            force_flush_transcript_bytes=reader.size(
                f"{base}.memoryFlush.forceFlushTranscriptBytes", flush.force_flush_transcript_bytes
            )
            or 0,
        ),
    )


def _cron(reader: _Reader) -> CronPolicy:
    default = CronPolicy()
    store = reader.take("cron.store", None)
    size = reader.size("cron.runLog.maxBytes", default.run_log_max_bytes)
    return CronPolicy(
        store=store if isinstance(store, str) and store else None,
        session_retention_ms=reader.duration("cron.sessionRetention", default.session_retention_ms, "h"),
        run_log_max_bytes=default.run_log_max_bytes if size is None else size,
        run_log_keep_lines=reader.integer("cron.runLog.keepLines", default.run_log_keep_lines),
    )


def _gateway(reader: _Reader) -> GatewayPolicy:
    url = reader.take("gateway.remote.url", None)
    return GatewayPolicy(
        mode="remote" if reader.take("gateway.mode", "local") == "remote" else "local",
        port=reader.integer("gateway.port", GatewayPolicy().port),
        remote_url=url if isinstance(url, str) and trim(url) else None,
    )


def _agents(reader: _Reader, normalise_agent_id: NormaliseAgentId) -> AgentsPolicy:
    # One refused field of one agent does not make the others unknown; each field is checked below.
    listed = reader.stated("agents.list")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    models = reader.raw("agents.defaults.models")
    configured = models if isinstance(models, dict) else {}
    backends = reader.raw("agents.defaults.cliBackends")
    return AgentsPolicy(
        listed=tuple(
            AgentPolicy(
                id=normalise_agent_id(stated),
                stated_id=stated,
                name=_text(entry.get("name")),
                model=_primary(entry.get("model")),
                default=bool(entry.get("default")),
            )
            for entry in entries
            if isinstance(stated := entry.get("id"), str)
        ),
        acp_ids=tuple(normalise_agent_id(name) for name in _acp_names(reader, entries)),
        default_model=_primary(reader.take("agents.defaults.model", None)),
        context_tokens=reader.optional_integer("agents.defaults.contextTokens", "tokens"),
        model_aliases=_aliases(configured),
        configured_models=tuple(normalise_reference(name) for name in configured),
        cli_backends=tuple(backends) if isinstance(backends, dict) else (),
        windows=tuple(_windows(reader.raw("models.providers"))),
        provider_models=_provider_models(reader.raw("models.providers")),
    )


def _aliases(configured: dict[str, JsonValue]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, entry in configured.items():
        reference = normalise_reference(name)
        if isinstance(entry, dict):
            alias = _text(entry["alias"]) if "alias" in entry else DEFAULT_ALIASES.get(reference)
            if alias:
                found.setdefault(alias.lower(), reference)
    return found


def _acp_names(reader: _Reader, entries: list[dict[str, JsonValue]]) -> Iterator[str]:
    allowed = reader.raw("acp.allowedAgents")
    for name in [reader.raw("acp.defaultAgent"), *(allowed if isinstance(allowed, list) else [])]:
        if isinstance(name, str) and trim(name) not in {"", "*"}:
            yield name
    for entry in entries:
        runtime = entry.get("runtime")
        if isinstance(runtime, dict) and runtime.get("type") == "acp":
            acp = runtime.get("acp")
            name = (acp.get("agent") if isinstance(acp, dict) else None) or entry.get("id")
            if isinstance(name, str):
                yield name


def _windows(providers: JsonValue) -> Iterator[ModelWindow]:
    for provider, entry, model_id in _stated_models(providers):
        stated = entry.get("contextTokens")
        if not is_number(stated):
            window = entry.get("contextWindow")
            # The loader fills in a window where none, or none above 0, is stated.
            stated = window if is_number(window) and window > 0 else _DEFAULT_WINDOW
        if stated > 0:
            yield ModelWindow(provider, model_id, stated)


def _provider_models(providers: JsonValue) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {name: [] for name in providers} if isinstance(providers, dict) else {}
    for provider, _, model_id in _stated_models(providers):
        found[provider].append(model_id)
    return {provider: tuple(ids) for provider, ids in found.items()}


def _stated_models(providers: JsonValue) -> Iterator[tuple[str, dict[str, JsonValue], str]]:
    for provider, entry in providers.items() if isinstance(providers, dict) else ():
        models = entry.get("models") if isinstance(entry, dict) else None
        for model in models if isinstance(models, list) else ():
            if isinstance(model, dict) and isinstance(model_id := model.get("id"), str):
                yield provider, model, normalise_model_id(normalise_provider(provider), trim(model_id))


def _primary(model: JsonValue) -> str | None:
    stated = _text(model.get("primary") if isinstance(model, dict) else model)
    return normalise_reference(stated) if stated else None


def _text(value: JsonValue) -> str | None:
    return trim(value) or None if isinstance(value, str) else None
