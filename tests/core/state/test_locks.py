"""Write locks: what a file says, how OpenClaw would judge it, and what looking leaves alone."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from process_table import Table
from state_cases import CASES, NOW_MS, copy_case, fingerprint
from strandline.state.lock_payload import Content, LockPayload, parse_lock, parse_time
from strandline.state.locks import (
    HALF_WRITTEN_GRACE_MS,
    LockRules,
    LockState,
    LockVerdict,
    Moment,
    StaleReason,
    judge_lock,
    lock_findings,
    read_locks,
)
from strandline.state.processes import Process
from strandline.state.words import duration

if TYPE_CHECKING:
    from strandline.ecmascript import JsonValue

_LOCK = Path("/state/s.jsonl.lock")
_GATEWAY = Process(pid=7, argv=("openclaw", "gateway"), started_ms=NOW_MS - 86_400_000, start_ticks=500)
_STARTED = "2026-05-20T11:59:40.000Z"  # 20 s before the clock


def _judge(
    content: JsonValue | bytes,
    *processes: Process,
    mtime_ms: int = NOW_MS - 60_000,
    **rules: object,
) -> LockVerdict:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return judge_lock(_LOCK, parse_lock(data), mtime_ms, Table(*processes), LockRules(now_ms=NOW_MS, **rules))


def _case_table() -> Table:
    """Give pid 1 as the case's table has it; 4242 stands for the live process that replaces SELF."""
    table = json.loads((CASES / "A14-locks" / "processes.json").read_text("utf-8"))
    gateway, reader = table["1"], table["SELF"]
    return Table(
        Process(pid=1, argv=tuple(gateway["argv"]), started_ms=gateway["startedMs"]),
        Process(pid=4242, argv=tuple(reader["argv"]), started_ms=reader["startedMs"], start_ticks=99_000),
    )


def test_the_eight_locks_of_the_report_are_told_apart(tmp_path: Path) -> None:
    """Each lock of the case gets its own reasons; they are what the real program gave for the seven it looks at."""
    sessions = copy_case("A14-locks", tmp_path) / "agents" / "main" / "sessions"
    recycled = sessions / "000000ae-0b00-4000-8000-000000000001.jsonl.lock"
    recycled.write_text(recycled.read_text("utf-8").replace('"SELF"', "4242"), "utf-8")
    before = fingerprint(tmp_path)
    verdicts = read_locks(sessions, _case_table(), LockRules(now_ms=NOW_MS))
    assert fingerprint(tmp_path) == before
    told = {Path(verdict.path).name[-12:]: (verdict.state.value, *verdict.reasons) for verdict in verdicts}
    assert told == {
        "0.jsonl.lock": ("stale", "dead-pid", "too-old"),
        "1.jsonl.lock": ("stale", "recycled-pid"),
        "2.jsonl.lock": ("stale", "missing-pid", "invalid-createdAt"),
        "3.jsonl.lock": ("stale", "missing-pid", "invalid-createdAt"),
        "4.jsonl.lock": ("held",),
        "5.jsonl.lock": ("stale", "too-old"),
        "6.jsonl.lock": ("stale", "invalid-createdAt"),
        "ns.json.lock": ("stale", "missing-pid", "invalid-createdAt"),
    }


def test_a_time_that_cannot_be_read_is_quoted(tmp_path: Path) -> None:
    """The lock whose time says "soon" shows that word, and no other lock is blamed for its time."""
    sessions = copy_case("A14-locks", tmp_path) / "agents" / "main" / "sessions"
    verdicts = read_locks(sessions, _case_table(), LockRules(now_ms=NOW_MS))
    assert [verdict.path[-12:] for verdict in verdicts if any("soon" in ground for ground in verdict.grounds)] == [
        "6.jsonl.lock"
    ]


def test_every_stale_lock_is_a_finding_and_the_held_one_is_none(tmp_path: Path) -> None:
    """Seven findings with evidence and a fix; the lock of the live gateway is left in peace."""
    sessions = copy_case("A14-locks", tmp_path) / "agents" / "main" / "sessions"
    findings = lock_findings(read_locks(sessions, _case_table(), LockRules(now_ms=NOW_MS)))
    assert len(findings) == 7
    assert all(finding.code == "lock-stale" and finding.severity == "warning" for finding in findings)
    assert all(finding.evidence and finding.fix for finding in findings)
    assert not any("000000000004.jsonl" in finding.where for finding in findings)


def test_a_lock_of_a_live_process_that_is_not_openclaw_is_lost(tmp_path: Path) -> None:
    """Were pid 1 some other program, OpenClaw would take the young lock over at once."""
    sessions = copy_case("A14-locks", tmp_path) / "agents" / "main" / "sessions"
    table = Table(Process(pid=1, argv=("python3", "x.py"), started_ms=NOW_MS - 86_400_000))
    verdict = read_locks(sessions, table, LockRules(now_ms=NOW_MS))[4]
    assert (verdict.state, verdict.reasons) == (LockState.STALE, (StaleReason.NON_OPENCLAW_OWNER,))
    assert verdict.reclaimable


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b"", Content.EMPTY),
        (b"\0\0\0\n", Content.EMPTY),
        (b'{"pid": 7, "creat', Content.UNREADABLE),
        (b"not json", Content.UNREADABLE),
        (b"\xff\xfe{\0}\0", Content.UNREADABLE),
        (b"\xef\xbb\xbf{}", Content.UNREADABLE),
        (b'{"pid": NaN}', Content.UNREADABLE),
        (b"[1]", Content.UNREADABLE),
        (b"null", Content.UNREADABLE),
        (b"[" * 100_000, Content.UNREADABLE),
        (b"{}", Content.INCOMPLETE),
        (b'{"pid": 7}', Content.INCOMPLETE),
        (b'{"pid": 7, "createdAt": "soon"}', Content.INCOMPLETE),
        (b'{"pid": "7", "createdAt": "2026-05-20T10:00:00.000Z"}', Content.INCOMPLETE),
        (b'{"pid": true, "createdAt": "2026-05-20T10:00:00.000Z"}', Content.INCOMPLETE),
        (b'{"pid": 0, "createdAt": "2026-05-20T10:00:00.000Z"}', Content.INCOMPLETE),
        (b'{"pid": 7.5, "createdAt": "2026-05-20T10:00:00.000Z"}', Content.INCOMPLETE),
        (b'{"pid": 7.0, "createdAt": "2026-05-20T10:00:00.000Z"}', Content.WHOLE),
        (b'{"pid": 1e400, "createdAt": "2026-05-20T10:00:00.000Z"}', Content.INCOMPLETE),
    ],
)
def test_says_what_stands_in_the_file(data: bytes, content: Content) -> None:
    """Half written, empty, junk and wrong types each have their word, and nothing crashes."""
    assert parse_lock(data).content is content


def test_fields_of_the_wrong_type_count_as_absent() -> None:
    """As in the real program one bad field does not spoil the others."""
    payload = parse_lock(b'{"pid": 7, "createdAt": 5, "starttime": "9", "maxHoldMs": 0}')
    assert payload == LockPayload(content=Content.INCOMPLETE, pid=7)


@given(st.binary(max_size=200))
def test_any_bytes_are_judged(data: bytes) -> None:
    """Whatever stands in the file, there is a verdict."""
    assert _judge(data, _GATEWAY).state in LockState


@given(st.datetimes())
def test_reads_the_time_that_the_real_program_writes(moment: datetime) -> None:
    """``toISOString`` forms are read to the millisecond."""
    expected = (moment - datetime(1970, 1, 1)) // timedelta(milliseconds=1)  # noqa: DTZ001 - drawn without a zone
    assert parse_time(f"{moment.isoformat(timespec='milliseconds')}Z") == pytest.approx(expected, abs=0.5)


@pytest.mark.parametrize("text", ["soon", "", "2026-13-01T00:00:00.000Z", "2026-05-20T25:00:00Z", "20260520", "１"])
def test_refuses_what_is_no_time(text: str) -> None:
    """Words and impossible dates are no time."""
    assert parse_time(text) is None


def test_a_live_owner_holds() -> None:
    """A young lock of a running gateway with the right start is held."""
    verdict = _judge({"pid": 7, "createdAt": _STARTED, "maxHoldMs": 300_000, "starttime": 500}, _GATEWAY)
    assert (verdict.state, verdict.reasons, verdict.age_ms) == (LockState.HELD, (), 20_000)


@pytest.mark.parametrize(
    ("content", "process", "reasons"),
    [
        ({"pid": 9, "createdAt": _STARTED}, _GATEWAY, ["dead-pid"]),
        ({"pid": 7, "createdAt": _STARTED}, Process(pid=7, zombie=True), ["dead-pid"]),
        ({"pid": 7, "createdAt": _STARTED, "starttime": 501}, _GATEWAY, ["recycled-pid"]),
        ({"pid": 7, "createdAt": "x"}, _GATEWAY, ["invalid-createdAt"]),
        ({"pid": 7, "createdAt": "2026-05-20T11:29:59.999Z"}, _GATEWAY, ["too-old"]),
        ({"pid": 7, "createdAt": "2026-05-20T11:30:00.000Z"}, _GATEWAY, []),
        ({"pid": 7, "createdAt": _STARTED, "maxHoldMs": 19_999}, _GATEWAY, ["hold-exceeded"]),
        ({"pid": 7, "createdAt": _STARTED, "maxHoldMs": 20_000}, _GATEWAY, []),
        ({"pid": 7, "createdAt": _STARTED}, Process(pid=7, argv=("vim", "s.jsonl")), ["non-openclaw-owner"]),
        ({"pid": 7, "createdAt": _STARTED}, Process(pid=7, argv=None), []),
        ({"pid": 7, "createdAt": _STARTED}, Process(pid=7, argv=()), []),
        (
            {"pid": 9, "createdAt": "2026-05-20T09:00:00Z", "maxHoldMs": 1},
            _GATEWAY,
            ["dead-pid", "too-old", "hold-exceeded"],
        ),
        ({"createdAt": _STARTED}, _GATEWAY, ["missing-pid"]),
    ],
)
def test_gives_each_reason_of_the_real_program(content: JsonValue, process: Process, reasons: list[str]) -> None:
    """Reasons and their order are OpenClaw's, at the very edge of each limit."""
    verdict = _judge(content, process)
    assert list(verdict.reasons) == reasons
    assert verdict.reclaimable is bool(reasons)


def test_the_clean_up_at_start_knows_no_longest_hold_and_no_patience() -> None:
    """OpenClaw's two ways of judging differ in exactly these points."""
    held_long: JsonValue = {"pid": 7, "createdAt": _STARTED, "maxHoldMs": 1}
    assert _judge(held_long, _GATEWAY, moment=Moment.CLEAN_UP).state is LockState.HELD
    fresh = {"mtime_ms": NOW_MS - 1}
    assert _judge(b"", **fresh).state is LockState.WAITING
    assert _judge(b"", **fresh, moment=Moment.CLEAN_UP).state is LockState.STALE


@pytest.mark.parametrize(
    ("age_ms", "state"), [(HALF_WRITTEN_GRACE_MS, LockState.WAITING), (HALF_WRITTEN_GRACE_MS + 1, LockState.STALE)]
)
def test_a_half_written_file_is_given_five_seconds(age_ms: int, state: LockState) -> None:
    """Its owner may still be writing; after that it is stale."""
    verdict = _judge(b'{"pid": 7, "cr', _GATEWAY, mtime_ms=NOW_MS - age_ms)
    assert verdict.state is state
    assert verdict.reclaimable is (state is LockState.STALE)


def test_a_dead_owner_gets_no_patience() -> None:
    """The grace is for half-written files only."""
    assert _judge({"pid": 9, "createdAt": "x"}, mtime_ms=NOW_MS).state is LockState.STALE


def test_a_process_that_began_after_the_lock_is_not_its_owner() -> None:
    """Without start ticks the clock tells a recycled number; OpenClaw itself would still honour the lock."""
    late = Process(pid=7, argv=("openclaw",), started_ms=NOW_MS - 20_000 + 2_001)
    verdict = _judge({"pid": 7, "createdAt": _STARTED}, late)
    assert (verdict.state, verdict.reasons) == (LockState.STALE, (StaleReason.STARTED_LATER,))
    assert not verdict.reclaimable
    in_time = Process(pid=7, argv=("openclaw",), started_ms=NOW_MS - 20_000 + 2_000)
    assert _judge({"pid": 7, "createdAt": _STARTED}, in_time).state is LockState.HELD


def test_a_lock_of_our_own_that_we_do_not_hold_is_an_orphan() -> None:
    """Only a process that would take the lock judges itself; without a start time only where it wants the lock."""
    stamped: JsonValue = {"pid": 7, "createdAt": _STARTED, "starttime": 500}
    plain: JsonValue = {"pid": 7, "createdAt": _STARTED}
    orphan = (StaleReason.ORPHAN_SELF_PID,)
    assert _judge(stamped, _GATEWAY, own_pid=7).reasons == orphan
    assert _judge(plain, _GATEWAY, own_pid=7).reasons == orphan
    assert _judge(plain, _GATEWAY, own_pid=7, moment=Moment.CLEAN_UP).reasons == ()
    assert _judge(stamped, _GATEWAY, own_pid=7, held=frozenset({_LOCK.name})).reasons == ()
    assert _judge(stamped, _GATEWAY).reasons == ()


@pytest.mark.parametrize(
    ("processes", "rules", "word"),
    [
        ((), {"shared": "it lies on a shared file system (nfs4)"}, "another system"),
        ((Process(pid=7, signalable=False),), {}, "another user"),
        ((Process(pid=31_337, inner_pid=7, start_ticks=500),), {}, "container"),
    ],
)
def test_foreign_is_never_dead(processes: tuple[Process, ...], rules: dict[str, object], word: str) -> None:
    """Another host, user or container: OpenClaw here would reclaim, we only say that it cannot be checked."""
    verdict = _judge({"pid": 7, "createdAt": _STARTED, "starttime": 500}, *processes, **rules)
    assert (verdict.state, verdict.reasons) == (LockState.FOREIGN, (StaleReason.DEAD_PID,))
    assert any(word in ground for ground in verdict.grounds)
    assert lock_findings([verdict])[0].code == "lock-foreign"


def test_other_files_are_no_locks_and_a_missing_directory_has_none(tmp_path: Path) -> None:
    """Only ``*.jsonl.lock`` and the store's own lock are looked at; a directory of that name is none."""
    for name in ("a.lock", "a.json.lock", "a.jsonl", "sessions.json"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "d.jsonl.lock").mkdir()
    assert read_locks(tmp_path, Table(), LockRules(now_ms=NOW_MS)) == ()
    assert read_locks(tmp_path / "none", Table(), LockRules(now_ms=NOW_MS)) == ()


@pytest.mark.parametrize(
    ("ms", "words"),
    [(-5, "0 ms"), (1.2, "1 ms"), (1_846.36, "1.8 s"), (60_000, "1 min"), (5_400_000, "1.5 h"), (172_800_000, "2 d")],
)
def test_lengths_of_time_are_said_in_their_largest_unit(ms: float, words: str) -> None:
    """Grounds are read by people."""
    assert duration(ms) == words
