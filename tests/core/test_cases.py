"""The recorded trouble cases A01, A02, A05, A09, A11 and A23, through the gateway and through the command."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import state_tree
from state_tree import NOON_MS, copy_case, fixed
from strandline.cli.main import main
from strandline.gateway import open_gateway
from strandline.rows import StoreState, TranscriptState
from strandline.state.file_classes import FileClass, Standing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from strandline.rows import DirectoryView
    from strandline.tables import FileTable, SessionTable


def _look(state: Path, place: Path) -> tuple[DirectoryView, SessionTable, FileTable]:
    async def ask() -> tuple[DirectoryView, SessionTable, FileTable]:
        async with open_gateway(state, environment=fixed(place)) as gateway:
            table = await gateway.sessions()
            files = await gateway.files()
            return gateway.view, table, files

    return asyncio.run(ask())


def _run(
    capfdbinary: pytest.CaptureFixture[bytes], state: Path, *words: str, now_ms: int = NOON_MS
) -> tuple[int, str, str]:
    capfdbinary.readouterr()
    code = main([*words, "--state", str(state), "--now", str(now_ms)])
    out = capfdbinary.readouterr()
    return code, out.out.decode(), out.err.decode()


# A01: a store that cannot be read is no empty store

BROKEN = [
    (".", "it is empty (0 bytes)"),
    ("b-array", "it holds a list, not an object of rows"),
    ("c-truncated", "the text ends inside a string at byte 161 (line 7, column 24)"),
]


@pytest.mark.parametrize(("below", "reason"), BROKEN)
def test_unreadable_store_is_damage_with_reason_and_place(below: str, reason: str, tmp_path: Path) -> None:
    """A01: the store's view names what is wrong and where, and no row is made up."""
    state = copy_case("A01-zero-byte-store", tmp_path) / below
    view, table, _ = _look(state, tmp_path)
    (store,) = view.stores
    assert store.state is StoreState.DAMAGED
    assert store.damage is not None
    assert reason in store.damage
    assert str(state / "agents") in store.damage
    assert table.damage == (store.damage,)
    assert table.total == 0


def test_transcripts_beside_an_unreadable_store_are_unindexed_not_rubbish(tmp_path: Path) -> None:
    """A01: three transcripts count as unindexed, the .tmp is named as a possible copy, nothing is unreferenced."""
    view, _, files = _look(copy_case("A01-zero-byte-store", tmp_path), tmp_path)
    (store,) = view.stores
    assert store.unindexed == 3
    assert store.recovery == ("sessions.json.31337.tmp",)
    assert {file.standing for file in files.files if file.file_class is FileClass.TRANSCRIPT} == {Standing.UNREADABLE}
    assert Standing.UNREFERENCED not in {file.standing for file in files.files}


@pytest.mark.parametrize(("below", "reason"), BROKEN)
@pytest.mark.parametrize("command", ["sessions", "status"])
def test_command_over_an_unreadable_store_refuses(
    command: str, below: str, reason: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A01: exit code 4, the reason on stderr, and no word anywhere that claims there are no sessions."""
    state = copy_case("A01-zero-byte-store", tmp_path) / below
    code, out, err = _run(capfdbinary, state, command)
    assert code == 4
    assert reason in err
    assert "its sessions are unknown, not gone" in err
    assert "no sessions" not in (out + err).lower()
    if below == ".":
        assert "3 transcripts beside" in err
        assert "sessions.json.31337.tmp may hold an earlier copy" in err


def test_json_over_an_unreadable_store_says_unknown(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """A01: count and totalCount are null and ``damage`` carries store and reason, in list and status."""
    state = copy_case("A01-zero-byte-store", tmp_path)
    store = str(state / "agents" / "main" / "sessions" / "sessions.json")
    code, out, _ = _run(capfdbinary, state, "sessions", "--json")
    answer = json.loads(out)
    assert (code, answer["count"], answer["totalCount"], answer["sessions"]) == (4, None, None, [])
    assert [(damage["agentId"], damage["path"]) for damage in answer["damage"]] == [("main", store)]
    code, out, _ = _run(capfdbinary, state, "status", "--json")
    answer = json.loads(out)
    assert (code, answer["sessions"]["count"], answer["sessions"]["byAgent"][0]["count"]) == (4, None, None)
    assert answer["damage"][0]["path"] == store


# A02: row and file disagree

A02 = "A02-row-and-file-disagree"
GROUP = "agent:main:telegram:group:-100200300:topic:"
PEER = "agent:main:webchat:direct:peer-"


def test_each_way_to_disagree_has_its_own_name(tmp_path: Path) -> None:
    """A02: seven rows are shown; row newer, missing, no session yet and broken pointer each by its own state."""
    _, table, _ = _look(copy_case(A02, tmp_path), tmp_path)
    states = {record.row.key: record.facts.state if record.facts else None for record in table}
    assert len(table) == 7
    assert states[f"{GROUP}1"] is TranscriptState.ROW_NEWER
    assert states[f"{GROUP}2"] is TranscriptState.MISSING
    assert states[f"{PEER}a"] is TranscriptState.NO_SESSION
    assert states[f"{PEER}b"] is TranscriptState.POINTER_BROKEN
    assert [states[f"{PEER}{peer}"] for peer in "cde"] == [TranscriptState.UNKNOWN] * 3


def test_broken_pointer_names_both_files(tmp_path: Path) -> None:
    """A02: the missing file of the pointer and the file beside it are both said, with what OpenClaw thinks."""
    _, table, _ = _look(copy_case(A02, tmp_path), tmp_path)
    (record,) = table.find(f"{PEER}b")
    assert record.facts is not None
    assert "000000a2-0b00-4000-8000-000000000003-moved.jsonl" in record.facts.note
    assert "000000a2-0b00-4000-8000-000000000003.jsonl" in record.facts.note
    assert "OpenClaw calls it missing" in record.facts.note
    assert record.facts.name == "000000a2-0b00-4000-8000-000000000003.jsonl"


def test_rows_that_openclaw_drops_are_shown_with_their_reasons(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A02: three rows are dropped for three different reasons; the table keeps them, the list leaves them out aloud."""
    state = copy_case(A02, tmp_path)
    _, table, _ = _look(state, tmp_path)
    reasons = {record.row.key: record.row.dropped for record in table if record.row.dropped is not None}
    assert reasons.keys() == {f"{PEER}{peer}" for peer in "cde"}
    assert len(set(reasons.values())) == 3
    code, out, err = _run(capfdbinary, state, "sessions", "--json")
    assert (code, json.loads(out)["count"], err) == (0, 4, "")
    code, _, err = _run(capfdbinary, state, "sessions")
    assert code == 0
    for key, reason in reasons.items():
        assert f"OpenClaw drops the row {key!r}: {reason}." in err


# A05: what is this file?


def test_every_file_has_its_class_and_standing(tmp_path: Path) -> None:
    """A05: the table of the case, file by file; the subdirectory is left alone."""
    _, _, files = _look(copy_case("A05-what-is-this-file", tmp_path), tmp_path)
    found = {file.path.removeprefix("agents/main/sessions/"): (file.file_class, file.standing) for file in files.files}
    stem = "000000a5-0b00-4000-8000-00000000000"
    time = "2026-04-10T12-00-00.000Z"
    assert found == {
        f"{stem}0-topic-42.jsonl": (FileClass.TRANSCRIPT, Standing.REFERENCED),
        f"{stem}1.jsonl": (FileClass.TRANSCRIPT, Standing.REFERENCED),
        f"{stem}1.checkpoint.0000000c-0b00-4000-8000-000000000001.jsonl": (FileClass.CHECKPOINT, Standing.UNREFERENCED),
        f"{stem}1.checkpoint.not-a-uuid.jsonl": (FileClass.TRANSCRIPT, Standing.UNREFERENCED),
        f"{stem}1.jsonl.lock": (FileClass.LOCK, Standing.PROTECTED),
        f"{stem}2.jsonl": (FileClass.TRANSCRIPT, Standing.UNREFERENCED),
        f"{stem}3.jsonl.reset.{time}": (FileClass.ARCHIVE, Standing.EARLIER_CONVERSATION),
        f"{stem}4.jsonl.deleted.{time}": (FileClass.ARCHIVE, Standing.EARLIER_CONVERSATION),
        f"{stem}5.jsonl.bak.{time}": (FileClass.ARCHIVE, Standing.EARLIER_CONVERSATION),
        f"{stem}6.jsonl.reset.yesterday": (FileClass.OTHER, Standing.PROTECTED),
        f"{stem}7.trajectory-path.json": (FileClass.TRAJECTORY_POINTER, Standing.UNREFERENCED),
        f"{stem}7.trajectory.jsonl": (FileClass.TRAJECTORY, Standing.UNREFERENCED),
        f"{stem}8.jsonl.migrated": (FileClass.OTHER, Standing.PROTECTED),
        f"{stem}8.jsonl.zst": (FileClass.OTHER, Standing.PROTECTED),
        "notes.txt": (FileClass.OTHER, Standing.PROTECTED),
        "sessions.json": (FileClass.STORE, Standing.PROTECTED),
        "sessions.json.bak.1700000000000": (FileClass.STORE_BACKUP, Standing.PROTECTED),
        "sessions.json.tmp": (FileClass.STORE_TEMPORARY, Standing.PROTECTED),
    }
    assert Counter(standing for _, standing in found.values())[Standing.UNREFERENCED] == 5
    assert [file.path for file in files.files] == sorted(file.path for file in files.files)


# A09: keys that differ by case

A09 = "A09-keys-that-differ-by-case"
MATRIX = ("agent:main:matrix:channel:!AbCdEf:hs.example", "agent:main:matrix:channel:!abcdef:hs.example")
SIGNAL = ("agent:main:signal:group:QmFzZTY0R3JwPT0=", "agent:main:signal:group:qmfzzty0r3jwpt0=")
MAIN = ("Agent:MAIN:Main", " agent:main:main ")


def test_six_rows_stay_six_with_their_exact_keys(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """A09: table and list give every row under the key as stored."""
    state = copy_case(A09, tmp_path)
    _, table, _ = _look(state, tmp_path)
    assert {record.row.key for record in table} == {*MATRIX, *SIGNAL, *MAIN}
    _, out, _ = _run(capfdbinary, state, "sessions", "--json")
    assert {row["key"] for row in json.loads(out)["sessions"]} == {*MATRIX, *SIGNAL, *MAIN}


def test_keys_that_fold_to_one_are_named_and_signal_ids_are_not(tmp_path: Path) -> None:
    """A09: the Matrix pair and the main pair collide; two Signal groups are two groups."""
    _, table, _ = _look(copy_case(A09, tmp_path), tmp_path)
    collisions = {canonical: set(keys) for canonical, keys in table.collisions.items()}
    assert collisions == {MATRIX[1]: set(MATRIX), "agent:main:main": set(MAIN)}


def test_any_spelling_finds_the_row_and_the_stored_one_comes_first(tmp_path: Path) -> None:
    """A09: lookup folds what OpenClaw folds and answers with keys as stored."""
    _, table, _ = _look(copy_case(A09, tmp_path), tmp_path)

    def found(key: str) -> list[str]:
        return [record.row.key for record in table.find(key)]

    assert found(MATRIX[0]) == [MATRIX[0], MATRIX[1]]
    assert found(MATRIX[1]) == [MATRIX[1], MATRIX[0]]
    assert set(found("AGENT:Main:MATRIX:channel:!ABCDEF:HS.example")) == set(MATRIX)
    assert set(found("agent:main:main")) == set(MAIN)
    assert found(SIGNAL[0]) == [SIGNAL[0]]
    assert found(SIGNAL[1]) == [SIGNAL[1]]
    assert found("agent:main:nobody") == []


def test_one_key_in_two_stores_is_no_collision(tmp_path: Path) -> None:
    """Two agents may each have a row of the same key; only one store's spellings collide."""
    for agent in ("main", "beta"):
        state_tree.write_store(tmp_path / "state", {"global": {}, "agent:main:x": {}}, agent=agent)
    _, table, _ = _look(tmp_path / "state", tmp_path)
    assert table.collisions == {}
    assert len(table.find("global")) == 2


# A11: paths from another machine

A11 = "A11-paths-from-another-machine"


def test_moved_and_outside_paths_are_told_apart(tmp_path: Path) -> None:
    """A11: three rows lie here under another machine's path; two lead outside and have neither size nor name."""
    _, table, _ = _look(copy_case(A11, tmp_path), tmp_path)
    facts = {record.row.key.rpartition(":")[2]: record.facts for record in table}
    for name in ("main", "a", "b"):
        fact = facts[name]
        assert fact is not None
        assert (fact.state, fact.bytes) == (TranscriptState.MOVED, 832)
        assert "lies here" in fact.note
    for name, stored in (("c", "../../../secret.jsonl"), ("d", "/etc/hostname")):
        fact = facts[name]
        assert fact is not None
        assert (fact.state, fact.bytes, fact.name, fact.mtime_ms) == (TranscriptState.OUTSIDE, None, None, None)
        assert stored in fact.note
        assert "not opened" in fact.note


_OPENED: set[str] = set()


@pytest.fixture
def opened() -> Iterator[set[str]]:
    """Every path that this process opens or lists while the test runs, as Python's audit events tell."""
    if not _HOOKED:
        sys.addaudithook(_note)
        _HOOKED.append(True)
    _OPENED.clear()
    _ACTIVE.append(True)
    yield _OPENED
    _ACTIVE.clear()


_HOOKED: list[bool] = []
_ACTIVE: list[bool] = []


def _note(event: str, arguments: Any) -> None:
    if _ACTIVE and event in {"open", "os.scandir", "os.listdir", "os.mkdir"} and isinstance(arguments[0], str):
        _OPENED.add(arguments[0])


def test_nothing_outside_is_opened_and_nothing_is_created(tmp_path: Path, opened: set[str]) -> None:
    """A11: the files that rows point at elsewhere are not opened, and no directory of theirs appears."""
    state = copy_case(A11, tmp_path)
    (state / "secret.jsonl").write_text("secret", "utf-8")
    before = state_tree.tree_hash(tmp_path)
    opened.clear()
    _look(state, tmp_path)
    seen = set(opened)
    assert any(path.endswith("sessions.json") for path in seen)
    assert not [path for path in seen if "secret" in path or "hostname" in path or path.endswith(".jsonl")]
    assert state_tree.tree_hash(tmp_path) == before


# A23: oddities at the head of a file


def test_store_and_config_with_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    """A23: the store's rows are there with a remark; the relaxed configuration is read."""
    view, table, _ = _look(copy_case("A23-file-head-oddities", tmp_path), tmp_path)
    (store,) = view.stores
    assert (store.state, store.row_count, len(table)) == (StoreState.READ, 8, 8)
    assert store.remark is not None
    assert "byte order mark" in store.remark
    assert view.problems == ()
    assert view.maintenance == "warn"


def test_command_reads_the_store_with_a_byte_order_mark(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A23: eight rows, exit code 0."""
    code, out, _ = _run(capfdbinary, copy_case("A23-file-head-oddities", tmp_path), "sessions", "--json")
    assert (code, json.loads(out)["count"]) == (0, 8)
