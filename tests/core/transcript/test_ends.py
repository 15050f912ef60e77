"""Head and tail: bounded, and in agreement with the whole file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import golden
from strandline.ecmascript import date_ms
from strandline.errors import EnvironmentFault, Refused
from strandline.transcript import tail as tail_module
from strandline.transcript.ends import read_ends
from strandline.transcript.facts import context_tokens
from strandline.transcript.head import read_head
from strandline.transcript.places import DamageKind, OddityKind
from strandline.transcript.tail import read_tail
from strandline.transcript.tree import build_tree
from strandline.transcript.whole_file import read_transcript

if TYPE_CHECKING:
    from pathlib import Path

_HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-05-20T10:00:00.000Z", "cwd": "/w"}
_TIME = "2026-05-20T10:00:01.000Z"


def _user(entry_id: str, parent: str | None, text: str = "question") -> dict[str, Any]:
    message = {"role": "user", "content": text, "timestamp": 1}
    return {"type": "message", "id": entry_id, "parentId": parent, "timestamp": _TIME, "message": message}


def _answer(entry_id: str, parent: str | None, total: int = 100, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": [{"type": "text", "text": f"answer {total}"}], "provider": "p"}
    message |= {"model": "m", "usage": {"input": total, "totalTokens": total}, "stopReason": "stop", **more}
    return {"type": "message", "id": entry_id, "parentId": parent, "timestamp": _TIME, "message": message}


def _compaction(entry_id: str, parent: str | None) -> dict[str, Any]:
    fields = {"summary": "S", "firstKeptEntryId": entry_id, "tokensBefore": 9}
    return {"type": "compaction", "id": entry_id, "parentId": parent, "timestamp": _TIME, **fields}


def _write(path: Path, *records: dict[str, Any], end: bytes = b"\n") -> Path:
    path.write_bytes(b"\n".join(json.dumps(record).encode() for record in records) + end)
    return path


@pytest.mark.parametrize(
    ("place", "leaf", "words", "tokens", "damage"),
    [
        (0, "a0000006", "answer 3", 1040, [DamageKind.UNFINISHED]),
        (1, "a0000008", "answer 4", 1090, []),
        (2, "a0000008", "answer 4", 1090, []),
        (3, "a0000008", "answer 4", 1090, []),
        (4, "a0000008", "answer 4", 1090, []),
    ],
)
def test_last_words_of_broken_files(place: int, leaf: str, words: str, tokens: int, damage: list[DamageKind]) -> None:
    """A22: the last message is the true last one, with its place."""
    path = golden.case_transcripts("A22-torn-glued-nul")[place]
    ends = read_ends(path)
    assert ends.tail.leaf is not None
    assert ends.tail.leaf.id == leaf
    assert ends.tail.last_words is not None
    assert ends.tail.last_words.text == words
    assert ends.tail.last_usage is not None
    assert ends.tail.last_usage.tokens == tokens
    assert [part.kind for part in ends.tail.damage] == damage
    place_ = ends.tail.last_words.evidence
    assert words.encode() in path.read_bytes()[place_.offset : place_.offset + place_.length]
    assert ends.head.first_words is not None
    assert ends.head.first_words.text == "question 1"


@pytest.mark.parametrize(
    ("place", "oddities"),
    [
        (0, [OddityKind.BYTE_ORDER_MARK]),
        (1, []),
        (2, [OddityKind.LATE_HEADER]),
        (3, [OddityKind.NO_HEADER]),
        (4, [OddityKind.HEADER_NAME]),
        (5, []),
        (6, [OddityKind.EMPTY]),
        (7, []),
    ],
)
def test_odd_heads(place: int, oddities: list[OddityKind]) -> None:
    """A23: the head alone says what is odd; UTF-16 is one finding at both ends."""
    ends = read_ends(golden.case_transcripts("A23-file-head-oddities")[place])
    assert [odd.kind for odd in ends.head.oddities] == oddities
    for part in (ends.head.damage, ends.tail.damage):
        assert [damage.kind for damage in part] == ([DamageKind.NOT_UTF8] if place == 7 else [])
    assert (ends.head.header is not None) == (place not in {3, 6, 7})
    assert (ends.tail.leaf.id if ends.tail.leaf else None) == (None if place in {6, 7} else "a0000004")
    assert ends.head.decided
    assert ends.tail.decided


def test_last_record_is_older_than_the_row() -> None:
    """A02: the tail gives the time that tells a frozen file from a row that moved on.

    The case speaks of 19.5 hours, which is the file's modification; its last record is two hours older still.
    """
    folder = golden.DATA / "cases" / "A02-row-and-file-disagree" / golden.SESSIONS
    store = json.loads((folder / "sessions.json").read_text("utf-8"))
    row = next(row for key, row in store.items() if key.endswith("topic:1"))
    tail = read_tail(folder / "000000a2-0b00-4000-8000-000000000000-topic-1.jsonl")
    assert tail.leaf is not None
    assert tail.leaf.timestamp == "2026-05-19T14:01:20.000Z"
    last = date_ms(tail.leaf.timestamp)
    assert last is not None
    assert row["updatedAt"] - last > 19.5 * 3_600_000


@pytest.mark.parametrize("case", ["A24-parent-loops", "A25-abandoned-siblings", "A26-copies-counted-twice"])
def test_tail_ends_on_loops_and_branches(case: str) -> None:
    """A24, A25, A26: the tail ends, and its leaf is the file's last entry."""
    for path in golden.case_transcripts(case):
        tail = read_tail(path)
        index = read_transcript(path)
        assert tail.leaf is not None
        assert tail.leaf.id == index.ids[-1]
        assert tail.last_words is not None


def test_usage_before_a_compaction_is_stale(tmp_path: Path) -> None:
    """After a compaction without an answer no usage is given, but the compaction; words come from before it."""
    path = _write(tmp_path / "s.jsonl", _HEADER, _user("a", None), _answer("b", "a", 70), _compaction("c", "b"))
    tail = read_tail(path)
    assert tail.last_usage is None
    assert tail.compaction is not None
    assert tail.compaction.id == "c"
    assert tail.last_words is not None
    assert tail.last_words.text == "answer 70"


@pytest.mark.parametrize(
    "later",
    [
        {"stopReason": "aborted"},
        {"stopReason": "error"},
        {"usage": {"input": 0, "totalTokens": 0}},
        {"usage": None},
        {"usage": "much"},
    ],
)
def test_calls_that_measured_nothing_are_passed_over(later: dict[str, Any], tmp_path: Path) -> None:
    """Aborted and failed calls, and rows that no model wrote, leave the usage before them standing."""
    path = _write(tmp_path / "s.jsonl", _HEADER, _answer("a", None, 70), _answer("b", "a", 80, **later))
    usage = read_tail(path).last_usage
    assert usage is not None
    assert (usage.tokens, usage.provider, usage.model) == (70, "p", "m")


def test_side_branches_do_not_count(tmp_path: Path) -> None:
    """Words and usage come from the active path although a side branch was written later."""
    records = [_user("a", None), _answer("b", "a", 50), _answer("x", "a", 99)]
    path = _write(tmp_path / "s.jsonl", _HEADER, *records, {**_user("l", "b", ""), "type": "label"})
    tail = read_tail(path)
    assert tail.last_usage is not None
    assert (tail.last_usage.tokens, tail.decided) == (50, True)
    assert (
        tail.trailing_bytes == path.stat().st_size - tail.last_usage.evidence.offset - tail.last_usage.evidence.length
    )


def test_linear_files_of_version_1(tmp_path: Path) -> None:
    """Entries of version 1 follow each other; the head says so to the tail."""
    bare = [
        {key: value for key, value in record.items() if key not in {"id", "parentId"}}
        for record in (
            _user("a", None),
            _answer("b", None, 40),
            _user("c", None, "thanks"),
            {**_user("d", None), "type": "custom"},
        )
    ]
    header = {key: value for key, value in _HEADER.items() if key != "version"}
    tail = read_ends(_write(tmp_path / "s.jsonl", header, *bare)).tail
    assert tail.last_words is not None
    assert tail.last_words.text == "thanks"
    assert tail.last_usage is not None
    assert tail.last_usage.tokens == 40


def test_bounds_are_kept_and_said(tmp_path: Path) -> None:
    """A tail that meets its bound reads no more than it, and says that it could not decide."""
    filler = [
        {"type": "custom", "id": f"f{at}", "parentId": f"f{at - 1}" if at else "a", "timestamp": _TIME}
        for at in range(3000)
    ]
    path = _write(tmp_path / "s.jsonl", _HEADER, _answer("a", None, 60), *filler)
    short = read_tail(path, limit=64 * 1024)
    assert (short.decided, short.last_usage, short.bytes_read) == (False, None, 64 * 1024)
    assert short.leaf is not None
    far = read_tail(path)
    assert far.decided
    assert far.last_usage is not None
    assert far.last_usage.tokens == 60
    assert far.bytes_read == path.stat().st_size
    near = read_head(path)
    assert (near.bytes_read, near.decided, near.first_words) == (256 * 1024, False, None)


def test_last_line_larger_than_the_bound(tmp_path: Path) -> None:
    """A last line beyond the bound leaves everything unknown, not absent."""
    path = _write(tmp_path / "s.jsonl", _HEADER, _answer("a", None), _user("b", "a", "x" * 200_000))
    tail = read_tail(path, limit=100_000)
    assert (tail.leaf, tail.decided) == (None, False)
    assert read_tail(path).leaf is not None


def test_first_words_behind_a_large_record(tmp_path: Path) -> None:
    """The head grows until the first words are there."""
    path = _write(tmp_path / "s.jsonl", _HEADER, _answer("a", None, content="x" * 90_000), _user("b", "a", "at last"))
    head = read_head(path)
    assert head.first_words is not None
    assert (head.first_words.text, head.first_words.evidence.line) == ("at last", 3)
    assert head.header is not None
    assert head.header.header.cwd == "/w"


def test_long_words_are_cut_and_said(tmp_path: Path) -> None:
    """Only the beginning of long words is kept."""
    path = _write(tmp_path / "s.jsonl", _HEADER, _user("a", None, "y" * 5_000))
    words = read_head(path).first_words
    assert words is not None
    assert (len(words.text), words.cut) == (2_000, True)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """Directories, missing files and files over the bound are errors with a sentence."""
    for path in (tmp_path, tmp_path / "none.jsonl"):
        with pytest.raises(EnvironmentFault):
            read_ends(path)
    with pytest.raises(Refused, match="over 10"):
        read_transcript(_write(tmp_path / "s.jsonl", _HEADER), limit=10)


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path, _ in golden.transcript_pairs()])
def test_ends_agree_with_the_whole_of_every_pair(path: Path) -> None:
    """Leaf, damage at the end and header are those of the whole file; nothing is written."""
    before = path.read_bytes(), path.stat().st_mtime_ns
    ends = read_ends(path)
    index = read_transcript(path)
    assert (ends.tail.leaf is None) == (len(index) == 0)
    if ends.tail.leaf is not None:
        last = index.entry(len(index) - 1)
        assert (ends.tail.leaf.evidence.offset, ends.tail.leaf.type) == (last.offset, last.type)
    assert (ends.head.header is None) == (index.header is None)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


@st.composite
def _talks(draw: st.DrawFn) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [_HEADER]
    for at in range(draw(st.integers(0, 12))):
        parent = f"e{draw(st.integers(max(0, at - 3), at - 1))}" if at and draw(st.integers(0, 9)) else None
        kind = draw(st.sampled_from(["user", "answer", "answer", "compaction", "custom", "silent"]))
        record = {
            "user": _user(f"e{at}", parent, f"said {at}"),
            "answer": _answer(f"e{at}", parent, at + 1),
            "compaction": _compaction(f"e{at}", parent),
            "custom": {"type": "custom", "id": f"e{at}", "parentId": parent, "timestamp": _TIME},
            "silent": _answer(f"e{at}", parent, 5, stopReason="aborted", content=[]),
        }[kind]
        records.append(record | {"pad": "p" * draw(st.sampled_from([0, 0, 300, 9_000]))})
    return records


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=_talks(), end=st.sampled_from([b"\n", b"", b"\n\n", b'\n{"type":"mess', b"\r\n"]))
def test_tail_says_what_the_whole_path_says(records: list[dict[str, Any]], end: bytes, tmp_path: Path) -> None:
    """Last words, usage and compaction of the tail are those of the active path of the whole file."""
    path = _write(tmp_path / "s.jsonl", *records, end=end)
    tail = read_tail(path)
    index = read_transcript(path)
    words = usage = compaction = None
    for position in reversed(build_tree(index).path):
        entry = index.entry(position)
        measured = usage is not None or compaction is not None
        if entry.type == "compaction" and not measured:
            compaction = entry.id
        if words is None and entry.role in {"user", "assistant"} and entry.stop_reason != "aborted":
            words = entry.offset
        used = index.usage(position)
        if not measured and used is not None and entry.stop_reason != "aborted":
            usage = context_tokens(used)
    assert (tail.last_words.evidence.offset if tail.last_words else None) == words
    assert (tail.last_usage.tokens if tail.last_usage else None) == usage
    assert (tail.compaction.id if tail.compaction else None) == compaction
    assert tail.decided
    assert tail.bytes_read <= tail_module.LARGEST_TAIL
