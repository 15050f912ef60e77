"""A directory looked over with a process table that is passed in: runs that lie, locks, who carries them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import msgspec

import golden
from process_table import Table
from state_tree import NOON_MS, copy_case, fixed, tree_hash, write_store
from strandline.gateway import open_gateway
from strandline.state.processes import Process

if TYPE_CHECKING:
    from pathlib import Path

    from strandline.findings import Finding
    from strandline.session_report import SessionReport
    from strandline.state.processes import ProcessTable

DAY_MS = 86_400_000
HOOK = "agent:main:hook:demo-1"
SUB = "agent:main:subagent:000000a3-0b00-4000-8000-00000000000"


def _look_over(state: Path, place: Path, table: ProcessTable) -> tuple[Finding, ...]:
    async def ask() -> tuple[Finding, ...]:
        environment = msgspec.structs.replace(
            fixed(place), processes=table, temporary=lambda: place / "tmp", user_id=1000
        )
        async with open_gateway(state, environment=environment) as gateway:
            return await gateway.findings()

    return asyncio.run(ask())


def _inspect(state: Path, place: Path, table: ProcessTable, key: str) -> SessionReport:
    async def ask() -> SessionReport:
        environment = msgspec.structs.replace(
            fixed(place), processes=table, temporary=lambda: place / "tmp", user_id=1000
        )
        async with open_gateway(state, environment=environment) as gateway:
            return await gateway.inspect(key)

    return asyncio.run(ask())


def _gateway_on(state: Path, *, started_ms: int = NOON_MS - 10 * DAY_MS) -> Table:
    process = Process(pid=7, argv=("openclaw", "gateway"), started_ms=started_ms)
    return Table(process, environments={7: {"OPENCLAW_STATE_DIR": str(state), "HOME": "/nowhere"}})


def _runs(findings: tuple[Finding, ...]) -> dict[str, str]:
    return {finding.where.partition(" ")[2]: finding.code for finding in findings if finding.code.startswith("run-")}


def test_one_of_five_runs_is_live(tmp_path: Path) -> None:
    """A03: with a gateway on the directory three rows lie, each in its own way; the live and the ended one do not."""
    state = copy_case("A03-running-forever", tmp_path)
    before = tree_hash(state)
    findings = _look_over(state, tmp_path, _gateway_on(state))
    assert _runs(findings) == {HOOK: "run-stale", f"{SUB}1": "run-contradictory", f"{SUB}2": "run-orphaned"}
    missing = {finding.where for finding in findings if finding.code == "transcript-missing"}
    assert missing == {HOOK, f"{SUB}1", f"{SUB}2", f"{SUB}4"}
    assert tree_hash(state) == before


def test_without_a_gateway_nothing_runs(tmp_path: Path) -> None:
    """The row that looks live is stale too when no process can carry it, or one that began afterwards."""
    state = copy_case("A03-running-forever", tmp_path)
    assert _runs(_look_over(state, tmp_path, Table()))[f"{SUB}3"] == "run-stale"
    late = _gateway_on(state, started_ms=NOON_MS + 3 * 60_000)
    assert _runs(_look_over(state, tmp_path, late))[f"{SUB}3"] == "run-stale"


def test_a_held_lock_proves_a_run(tmp_path: Path) -> None:
    """A transcript whose write lock a live process holds is at work, though no gateway can be found."""
    state = copy_case("A03-running-forever", tmp_path)
    folder = state / "agents" / "main" / "sessions"
    lock = {"pid": 9, "createdAt": "2026-05-20T11:59:50.000Z"}
    (folder / "000000a3-0b00-4000-8000-000000000003.jsonl.lock").write_text(json.dumps(lock), "utf-8")
    table = Table(Process(pid=9, argv=("node", "openclaw.mjs", "agent"), started_ms=NOON_MS - DAY_MS))
    assert f"{SUB}3" not in _runs(_look_over(state, tmp_path, table))
    assert "run-stale" not in {finding.code for finding in _inspect(state, tmp_path, table, f"{SUB}3").findings}


def test_show_tells_the_same_of_a_run(tmp_path: Path) -> None:
    """A03: each row looked at alone has the verdict that the whole directory gives."""
    state = copy_case("A03-running-forever", tmp_path)
    table = _gateway_on(state)
    codes = {
        key: [f.code for f in _inspect(state, tmp_path, table, key).findings if f.code.startswith("run-")]
        for key in (HOOK, *(f"{SUB}{at}" for at in range(1, 5)))
    }
    assert codes == {
        HOOK: ["run-stale"],
        f"{SUB}1": ["run-contradictory"],
        f"{SUB}2": ["run-orphaned"],
        f"{SUB}3": [],
        f"{SUB}4": [],
    }


def test_parent_that_is_there_is_no_orphan(tmp_path: Path) -> None:
    """A sub-agent's run is called orphaned only when its parent's row is gone, alone as among others."""
    state = tmp_path / "state"
    parent = f"{SUB}7"
    child = {"updatedAt": 5, "status": "running", "startedAt": 5, "spawnedBy": parent}
    write_store(state, {parent: {"sessionId": "p", "updatedAt": NOON_MS}, f"{SUB}8": child})
    table = _gateway_on(state)
    assert _runs(_look_over(state, tmp_path, table)) == {f"{SUB}8": "run-stale"}
    codes = {finding.code for finding in _inspect(state, tmp_path, table, f"{SUB}8").findings}
    assert "run-stale" in codes
    write_store(state, {f"{SUB}8": child})
    assert _runs(_look_over(state, tmp_path, table)) == {f"{SUB}8": "run-orphaned"}
    assert "run-orphaned" in {finding.code for finding in _inspect(state, tmp_path, table, f"{SUB}8").findings}


def _lock_table() -> Table:
    table = json.loads((golden.DATA / "cases" / "A14-locks" / "processes.json").read_text("utf-8"))
    gateway, reader = table["1"], table["SELF"]
    return Table(
        Process(pid=1, argv=tuple(gateway["argv"]), started_ms=gateway["startedMs"]),
        Process(pid=4242, argv=tuple(reader["argv"]), started_ms=reader["startedMs"], start_ticks=99_000),
    )


def _lock_case(place: Path) -> Path:
    state = copy_case("A14-locks", place)
    own = state / "agents" / "main" / "sessions" / "000000ae-0b00-4000-8000-000000000001.jsonl.lock"
    own.write_text(own.read_text("utf-8").replace('"SELF"', "4242"), "utf-8")
    return state


def test_eight_locks(tmp_path: Path) -> None:
    """A14: seven locks are stale, each with its reason first; the live gateway's young one is left in peace."""
    state = _lock_case(tmp_path)
    before = tree_hash(state)
    found = {f.where[-12:]: f.evidence for f in _look_over(state, tmp_path, _lock_table()) if f.code == "lock-stale"}
    assert {name: evidence[0] for name, evidence in found.items()} == {
        "0.jsonl.lock": "dead-pid",
        "1.jsonl.lock": "recycled-pid",
        "2.jsonl.lock": "missing-pid",
        "3.jsonl.lock": "missing-pid",
        "5.jsonl.lock": "too-old",
        "6.jsonl.lock": "invalid-createdAt",
        "ns.json.lock": "missing-pid",
    }
    assert any("soon" in each for each in found["6.jsonl.lock"])
    assert tree_hash(state) == before


def test_show_names_the_sessions_own_lock(tmp_path: Path) -> None:
    """A14: a session shows its own lock and no other's."""
    state = _lock_case(tmp_path)
    for at, stale in ((0, True), (4, False), (5, True)):
        report = _inspect(state, tmp_path, _lock_table(), f"agent:main:webchat:direct:k{at}")
        locks = [finding.where for finding in report.findings if finding.code == "lock-stale"]
        assert [where[-12:] for where in locks] == ([f"{at}.jsonl.lock"] if stale else [])
        assert [file.path[-5:] for file in report.files if file.file_class == "lock"] == [".lock"]
