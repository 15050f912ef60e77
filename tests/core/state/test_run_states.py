"""Rows that say "running": which of them run, and on which grounds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from state_cases import NOW_MS, copy_case, fingerprint
from strandline.state.run_states import (
    QUIET_MS,
    GatewayFact,
    RunRow,
    RunState,
    RunVerdict,
    judge_runs,
    run_findings,
)

if TYPE_CHECKING:
    from pathlib import Path

_MINUTE = 60_000


def _case(tmp_path: Path) -> tuple[RunVerdict, ...]:
    sessions = copy_case("A03-running-forever", tmp_path) / "agents" / "main" / "sessions"
    before = fingerprint(tmp_path)
    rows: list[RunRow] = []
    for key, entry in json.loads((sessions / "sessions.json").read_text("utf-8")).items():
        transcript = sessions / f"{entry['sessionId']}.jsonl"
        mtime = transcript.stat().st_mtime_ns // 1_000_000 if transcript.exists() else None
        rows.append(_replace(RunRow.of_entry(key, entry), transcript_known=True, transcript_mtime_ms=mtime))
    assert fingerprint(tmp_path) == before
    return judge_runs(rows, NOW_MS)


def _replace(row: RunRow, **changes: object) -> RunRow:

    return msgspec.structs.replace(row, **changes)


def _one(gateway: GatewayFact | None = None, **fields: object) -> RunVerdict:
    row = RunRow(**{"key": "agent:main:main", "status": "running", "started_at": NOW_MS - _MINUTE, **fields})
    return judge_runs([row], NOW_MS, gateway=gateway)[0]


def test_one_of_five_runs(tmp_path: Path) -> None:
    """The report's rows: stale without a transcript, contradictory, orphaned, truly running, finished."""
    verdicts = _case(tmp_path)
    assert [verdict.state for verdict in verdicts] == [
        RunState.STALE,
        RunState.CONTRADICTORY,
        RunState.ORPHANED,
        RunState.LIVE,
        RunState.FINISHED,
    ]
    assert [verdict.transcript_missing for verdict in verdicts] == [True, True, True, False, True]
    assert [verdict.parent_missing for verdict in verdicts] == [False, False, True, False, False]
    assert all(verdict.grounds for verdict in verdicts)


def test_the_three_that_lie_are_findings(tmp_path: Path) -> None:
    """Each kind of lie has its own code, its evidence and a way out; the live and the finished row have none."""
    findings = run_findings(_case(tmp_path), "/state/sessions.json")
    assert [finding.code for finding in findings] == ["run-stale", "run-contradictory", "run-orphaned"]
    assert all(finding.evidence and finding.fix for finding in findings)
    assert findings[0].where == "/state/sessions.json agent:main:hook:demo-1"


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({}, RunState.LIVE),
        ({"status": None}, RunState.NONE),
        ({"status": "done"}, RunState.FINISHED),
        ({"status": "paused"}, RunState.UNKNOWN),
        ({"started_at": NOW_MS - QUIET_MS}, RunState.LIVE),
        ({"started_at": NOW_MS - QUIET_MS - 1}, RunState.STALE),
        ({"started_at": NOW_MS - QUIET_MS - 1, "updated_at": NOW_MS}, RunState.LIVE),
        ({"started_at": NOW_MS - QUIET_MS - 1, "transcript_mtime_ms": NOW_MS}, RunState.LIVE),
        ({"started_at": NOW_MS - 9 * QUIET_MS, "lock_held": True}, RunState.LIVE),
        ({"started_at": None}, RunState.STALE),
        ({"aborted": True}, RunState.STALE),
        ({"ended_at": NOW_MS}, RunState.CONTRADICTORY),
        ({"started_at": None, "ended_at": NOW_MS}, RunState.CONTRADICTORY),
        ({"ended_at": NOW_MS - 2 * _MINUTE}, RunState.CONTRADICTORY),
        ({"started_at": NOW_MS + _MINUTE}, RunState.LIVE),
        ({"started_at": NOW_MS + _MINUTE + 1}, RunState.CONTRADICTORY),
    ],
)
def test_no_single_field_is_believed(fields: dict[str, object], state: RunState) -> None:
    """Status, times, lock and marks together give the state, at the very edge of each limit."""
    assert _one(**fields).state is state


@pytest.mark.parametrize(
    ("gateway", "state"),
    [
        (GatewayFact(), RunState.LIVE),
        (GatewayFact(may_live=True, since_ms=NOW_MS - 60 * _MINUTE), RunState.LIVE),
        (GatewayFact(may_live=True, since_ms=NOW_MS), RunState.LIVE),
        (GatewayFact(may_live=True, since_ms=NOW_MS + 1), RunState.STALE),
        (GatewayFact(may_live=False), RunState.STALE),
    ],
)
def test_a_run_needs_a_gateway_that_was_there(gateway: GatewayFact, state: RunState) -> None:
    """Without a gateway, or with one that started later, nothing runs; not having looked proves nothing."""
    assert _one(gateway=gateway).state is state


def test_a_missing_parent_alone_does_not_end_a_run() -> None:
    """A sub-agent at work whose parent's row is gone runs on; the missing row is told."""
    verdict = _one(key="agent:main:subagent:b", spawned_by="agent:main:subagent:a")
    assert (verdict.state, verdict.parent_missing) == (RunState.LIVE, True)


def test_a_parent_in_another_store_is_found() -> None:
    """With every key given, a parent elsewhere is not missing."""
    row = RunRow(key="k", status="running", started_at=1, spawned_by="agent:work:subagent:a")
    assert judge_runs([row], NOW_MS)[0].state is RunState.ORPHANED
    assert judge_runs([row], NOW_MS, known_keys={"agent:work:subagent:a"})[0].state is RunState.STALE


_VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.none(), max_size=1)
)
_FIELDS = ("status", "startedAt", "endedAt", "updatedAt", "spawnedBy", "parentSessionKey", "abortedLastRun")


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(_FIELDS, _VALUES)), _VALUES.filter(lambda v: v != "running"))
def test_whatever_a_hand_wrote_there_is_a_verdict(entry: dict[str, object], status: object) -> None:
    """Wrong types never crash, and nothing but the word "running" makes a live run."""
    assert judge_runs([RunRow.of_entry("k", {**entry, "status": "running"})], NOW_MS)
    assert judge_runs([RunRow.of_entry("k", {**entry, "status": status})], NOW_MS)[0].state is not RunState.LIVE
