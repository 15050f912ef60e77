"""Effective settings: defaults, where each value came from, what a refused value falls back to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.ecmascript import is_number
from strandline.settings.document import absent_document, parse_document
from strandline.settings.effective import BUILT_IN, Settings, read_settings
from strandline.settings.policies import (
    AgentsPolicy,
    CompactionPolicy,
    CronPolicy,
    GatewayPolicy,
    MaintenancePolicy,
    ResetPolicy,
    ResetRule,
    SessionPolicy,
    WriteLockPolicy,
)
from strandline.state.keys import normalise_agent_id

if TYPE_CHECKING:
    from collections.abc import Callable

_DATA: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[2] / "data" / "durations-bytes.json").read_text("utf-8")
)
_DAY_MS = 86_400_000


def _settings(root: object) -> Settings:
    return read_settings(parse_document("openclaw.json", json.dumps(root).encode()), normalise_agent_id)


def _maintenance(stated: object) -> dict[str, Any]:
    policy = _settings({} if isinstance(stated, str) else {"session": {"maintenance": stated}}).maintenance
    return {
        "mode": policy.mode,
        "pruneAfterMs": policy.prune_after_ms,
        "maxEntries": policy.max_entries,
        "resetArchiveRetentionMs": policy.reset_archive_retention_ms,
        "maxDiskBytes": policy.max_disk_bytes,
        "highWaterBytes": policy.high_water_bytes,
    }


@pytest.mark.parametrize("settings", [_settings({}), read_settings(absent_document("C"), normalise_agent_id)])
def test_without_a_statement_every_default_holds(settings: Settings) -> None:
    """An empty file and a missing one give the built-in policies, and say that they are built in."""
    assert settings.session == SessionPolicy()
    assert settings.reset == ResetPolicy()
    assert settings.maintenance == MaintenancePolicy()
    assert settings.write_lock == WriteLockPolicy()
    assert settings.compaction == CompactionPolicy()
    assert settings.cron == CronPolicy()
    assert settings.gateway == GatewayPolicy()
    assert settings.agents == AgentsPolicy()
    assert settings.agents.ids == ("main",)
    assert settings.agents.default_id == "main"
    assert settings.problems == ()
    assert {value.source for value in settings.values} == {BUILT_IN}
    assert settings.sentences == ()


def test_the_built_in_mode_enforces() -> None:
    """Whatever the manual says, the real program removes when nothing is stated."""
    settings = _settings({})
    assert settings.maintenance.mode == "enforce"
    assert settings.source_of("session.maintenance.mode") == "built in"


@pytest.mark.parametrize("real", [pytest.param(real, id=json.dumps(real["in"])) for real in _DATA["maint"]])
def test_maintenance_is_what_the_real_program_resolves(real: dict[str, Any]) -> None:
    """Each recorded block gives the recorded policy; a refused value falls back as it does at run time there."""
    assert _maintenance(real["in"]) == real["out"]


@pytest.mark.parametrize("real", [pytest.param(real, id=ascii(real["in"])) for real in _DATA["dur"]])
def test_prune_after_and_retention_fall_back_as_recorded(real: dict[str, Any]) -> None:
    """A duration that cannot be read leaves 30 days, and for archives the age of rows."""
    assert _maintenance({"pruneAfter": real["in"]})["pruneAfterMs"] == real["pruneAfterMs"]
    both = _maintenance({"pruneAfter": "7d", "resetArchiveRetention": real["in"]})
    assert both["resetArchiveRetentionMs"] == real["retentionMs"]


@pytest.mark.parametrize("real", [pytest.param(real, id=ascii(real["in"])) for real in _DATA["bytes"]])
def test_budgets_are_what_the_real_program_resolves(real: dict[str, Any]) -> None:
    """Budget, its default high-water mark and a stated mark agree, for readable and refused sizes."""
    alone = _maintenance({"maxDiskBytes": real["in"]})
    assert (alone["maxDiskBytes"], alone["highWaterBytes"]) == (real["maxDiskBytes"], real["highWaterDefault"])
    stated = _maintenance({"maxDiskBytes": 1000, "highWaterBytes": real["in"]})
    assert stated["highWaterBytes"] == real["highWater_of_1000"]


@pytest.mark.parametrize("real", [pytest.param(real, id=ascii(real["in"])) for real in _DATA["bytes"]])
def test_transcript_limits_are_what_the_real_program_resolves(real: dict[str, Any]) -> None:
    """Texts and whole numbers agree; the schema refuses fractions and unsafe integers before they are floored."""
    stated = real["in"]
    settings = _settings({"agents": {"defaults": {"compaction": {"maxActiveTranscriptBytes": stated}}}})
    refused = is_number(stated) and (stated != int(stated) or abs(stated) > 2**53 - 1)
    assert settings.compaction.max_active_transcript_bytes == (None if refused else real["parseNonNegativeByteSize"])


def test_a_stated_value_names_its_file() -> None:
    """The source is the file, or the file and the other setting that the value came from."""
    settings = _settings(
        {
            "session": {"maintenance": {"pruneDays": 3, "mode": "warn"}, "scope": "global"},
            "gateway": {"port": 19001},
        }
    )
    assert settings.source_of("session.maintenance.pruneAfter") == "openclaw.json (session.maintenance.pruneDays)"
    assert settings.source_of("session.maintenance.mode") == "openclaw.json"
    assert settings.source_of("session.scope") == "openclaw.json"
    assert settings.source_of("gateway.port") == "openclaw.json"
    assert settings.source_of("session.maintenance.maxEntries") == BUILT_IN
    assert settings.source_of("no.such.setting") == BUILT_IN
    value = next(value for value in settings.values if value.path == "session.maintenance.pruneAfter")
    assert (value.value, value.unit) == (3 * _DAY_MS, "ms")


def test_every_setting_is_listed_once() -> None:
    """The list of values has no double, stated or not."""
    stated = _settings({"session": {"maintenance": {"pruneDays": 3, "pruneAfter": "2d"}, "reset": {"mode": "idle"}}})
    for settings in (_settings({}), stated):
        paths = [value.path for value in settings.values]
        assert len(paths) == len(set(paths))
    assert stated.maintenance.prune_after_ms == 2 * _DAY_MS
    assert stated.source_of("session.maintenance.pruneAfter") == "openclaw.json"


@pytest.mark.parametrize(
    ("path", "value", "reading"),
    [
        ("session.scope", "both", lambda found: found.session.scope == "per-sender"),
        ("session.dmScope", 5, lambda found: found.session.dm_scope == "main"),
        ("session.store", 5, lambda found: found.session.store is None),
        ("session.maintenance.mode", "off", lambda found: found.maintenance.mode == "enforce"),
        ("session.maintenance.maxEntries", 0, lambda found: found.maintenance.max_entries == 500),
        ("session.maintenance.pruneDays", -1, lambda found: found.maintenance.prune_after_ms == 30 * _DAY_MS),
        ("session.writeLock.staleMs", 0, lambda found: found.write_lock.stale_ms == 1_800_000),
        ("session.reset.atHour", 24, lambda found: found.reset.base is None),
        ("session.idleMinutes", 1.5, lambda found: found.reset.legacy_idle_minutes is None),
        ("gateway.port", "18789", lambda found: found.gateway.port == 18_789),
        ("gateway.mode", "far", lambda found: found.gateway.mode == "local"),
        ("gateway.remote.url", 5, lambda found: found.gateway.remote_url is None),
        ("cron.sessionRetention", 5, lambda found: found.cron.session_retention_ms == 86_400_000),
        ("cron.runLog.maxBytes", "x", lambda found: found.cron.run_log_max_bytes == 2_000_000),
        ("agents.defaults.model", {"primary": 5}, lambda found: found.agents.default_model is None),
        ("agents.defaults.contextTokens", 0, lambda found: found.agents.context_tokens is None),
        ("agents.defaults.compaction.mode", "x", lambda found: found.compaction.mode == "safeguard"),
        ("agents.defaults.compaction.maxHistoryShare", 1, lambda found: found.compaction.max_history_share == 0.5),
        (
            "agents.defaults.compaction.memoryFlush.softThresholdTokens",
            -1,
            lambda found: found.compaction.memory_flush.soft_threshold_tokens == 4_000,
        ),
    ],
)
def test_a_refused_value_falls_back_and_is_named(path: str, value: object, reading: Callable[[Settings], bool]) -> None:
    """The default holds, its source says so, and one sentence names place and meaning."""
    root: Any = value
    for name in reversed(path.split(".")):
        root = {name: root}
    settings = _settings(root)
    assert [problem.path for problem in settings.problems] == [path]
    assert reading(settings)
    assert settings.source_of(path) == BUILT_IN
    assert settings.sentences[0].startswith(f"{path}: ")


def test_one_refused_field_leaves_the_other_agents_known() -> None:
    """An agent with a wrong number is still an agent, and so are those beside it."""
    settings = _settings({"agents": {"list": [{"id": "Ops", "contextTokens": 0}, {"id": "work", "default": True}, {}]}})
    assert [problem.path for problem in settings.problems] == ["agents.list.0.contextTokens", "agents.list.2.id"]
    assert settings.agents.ids == ("ops", "work")
    assert settings.agents.default_id == "work"


def test_stated_values_reach_their_policies() -> None:
    """Each section of the file is read into the policy that rules take."""
    settings = _settings(
        {
            "session": {
                "scope": "global",
                "dmScope": "per-channel-peer",
                "store": "~/x/{agentId}.json",
                "identityLinks": {"alice": ["telegram:1", "slack:U1"]},
                "resetTriggers": ["/fresh"],
                "idleMinutes": 90,
                "reset": {"mode": "daily", "atHour": 5},
                "resetByType": {"dm": {"mode": "idle", "idleMinutes": 10}},
                "resetByChannel": {"slack": {"mode": "idle"}},
                "writeLock": {"acquireTimeoutMs": 1, "staleMs": 2, "maxHoldMs": 3},
            },
            "agents": {
                "defaults": {
                    "contextTokens": 99,
                    "compaction": {
                        "mode": "default",
                        "reserveTokens": 0,
                        "keepRecentTokens": 7,
                        "timeoutSeconds": 2,
                        "midTurnPrecheck": {"enabled": True},
                        "maxActiveTranscriptBytes": "2mb",
                        "memoryFlush": {"enabled": False, "forceFlushTranscriptBytes": 0},
                    },
                }
            },
            "cron": {"store": "~/jobs.json", "sessionRetention": False, "runLog": {"maxBytes": "1kb", "keepLines": 9}},
            "gateway": {"mode": "remote", "remote": {"url": "wss://far.example"}},
        }
    )
    assert settings.problems == ()
    assert settings.session == SessionPolicy(
        scope="global",
        dm_scope="per-channel-peer",
        store="~/x/{agentId}.json",
        identity_links={"alice": ("telegram:1", "slack:U1")},
        reset_triggers=("/fresh",),
    )
    idle = ResetRule(mode="idle", idle_minutes=10)
    assert settings.reset == ResetPolicy(
        base=ResetRule(mode="daily", at_hour=5),
        by_type={"dm": idle, "direct": idle},
        by_channel={"slack": ResetRule(mode="idle")},
        legacy_idle_minutes=90,
    )
    assert settings.write_lock == WriteLockPolicy(acquire_timeout_ms=1, stale_ms=2, max_hold_ms=3)
    compaction = settings.compaction
    assert (compaction.mode, compaction.reserve_tokens, compaction.keep_recent_tokens) == ("default", 0, 7)
    assert (compaction.timeout_ms, compaction.mid_turn_precheck) == (2_000, True)
    assert compaction.max_active_transcript_bytes == 2 * 1024**2
    assert (compaction.memory_flush.enabled, compaction.memory_flush.force_flush_transcript_bytes) == (False, 0)
    assert settings.cron == CronPolicy(
        store="~/jobs.json", session_retention_ms=None, run_log_max_bytes=1024, run_log_keep_lines=9
    )
    assert settings.gateway.is_remote
    assert settings.agents.context_tokens == 99


@pytest.mark.parametrize(
    ("gateway", "remote"),
    [
        ({}, False),
        ({"mode": "local"}, False),
        ({"mode": "remote"}, True),
        ({"remote": {"url": "ws://x"}}, True),
        ({"remote": {"url": "  "}}, False),
    ],
)
def test_authority_is_remote_by_mode_or_by_address(gateway: object, remote: bool) -> None:
    """Either statement is enough; a blank address is none."""
    assert _settings({"gateway": gateway}).gateway.is_remote is remote


def test_agents_keep_order_and_count_once() -> None:
    """Ids become names on disk; doubles and the ACP wildcard go; the first that says so is the default."""
    agents = _settings(
        {
            "agents": {"list": [{"id": "beta"}, {"id": "Alpha", "default": True}, {"id": "ALPHA", "default": True}]},
            "acp": {"defaultAgent": "Claude", "allowedAgents": ["*", " ", "codex", 5]},
        }
    ).agents
    assert agents.ids == ("beta", "alpha")
    assert agents.default_id == "alpha"
    assert [agent.stated_id for agent in agents.listed] == ["beta", "Alpha", "ALPHA"]
    assert agents.acp_ids == ("claude", "codex")


def test_an_acp_runtime_names_its_agent() -> None:
    """An entry of type acp counts under its ACP agent, or under its own id when it names none."""
    entries = [
        {"id": "a", "runtime": {"type": "acp", "acp": {"agent": "Gemini"}}},
        {"id": "b", "runtime": {"type": "acp"}},
        {"id": "c", "runtime": {"type": "embedded"}},
    ]
    assert _settings({"agents": {"list": entries}}).agents.acp_ids == ("gemini", "b")


def test_windows_and_models_come_from_the_providers() -> None:
    """A stated number of context tokens wins over the window; where neither is above 0 the loader's 200,000 holds."""
    agents = _settings(
        {
            "models": {
                "providers": {
                    "anthropic": {"models": [{"id": "opus-4.6", "contextWindow": 1000, "contextTokens": 500}]},
                    "mine": {
                        "models": [{"id": "a"}, {"id": "b", "contextWindow": -1}, {"id": "c", "contextTokens": 0}, 5]
                    },
                    "none": {},
                }
            }
        }
    ).agents
    windows = [(window.provider, window.model, window.tokens) for window in agents.windows]
    assert windows == [("anthropic", "claude-opus-4-6", 500), ("mine", "a", 200_000), ("mine", "b", 200_000)]
    assert agents.provider_models == {"anthropic": ("claude-opus-4-6",), "mine": ("a", "b", "c"), "none": ()}


def test_included_files_are_named() -> None:
    """A person is told that values from other files are not shown."""
    settings = _settings({"$include": ["a.json", "b.json"]})
    assert settings.sentences == (
        "openclaw.json includes a.json; values from there are not shown.",
        "openclaw.json includes b.json; values from there are not shown.",
    )


def test_a_damaged_file_is_the_first_thing_said() -> None:
    """Its sentence comes first and no setting is called stated."""
    settings = read_settings(parse_document("C", b"{session: {"), normalise_agent_id)
    assert settings.sentences[0].startswith("The configuration C cannot be read")
    assert {value.source for value in settings.values} == {BUILT_IN}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "model", "a"]), inner, max_size=3)
    ),
    max_leaves=6,
)
_PATHS = sorted({value.path for value in _settings({}).values} | {"agents.list", "models.providers.x.models", "acp"})


@given(st.lists(st.tuples(st.sampled_from(_PATHS), st.integers(0, 3), _JSON), max_size=5))
def test_any_document_has_settings(statements: list[tuple[str, int, Any]]) -> None:
    """Whatever stands in the file at whatever level, there are policies, and each value has a source."""
    root: dict[str, Any] = {}
    for path, dropped, value in statements:
        names = path.split(".")
        names = names[: max(1, len(names) - dropped)]
        at = root
        for name in names[:-1]:
            inner = at.get(name)
            at[name] = at = inner if isinstance(inner, dict) else {}
        at[names[-1]] = value
    document = parse_document("C", b"{}")
    settings = read_settings(type(document)(path="C", exists=True, root=root), normalise_agent_id)
    assert settings.maintenance.prune_after_ms >= 0
    assert settings.agents.default_id in {*settings.agents.ids}
    assert {value.source.partition(" (")[0] for value in settings.values} <= {BUILT_IN, "C"}
