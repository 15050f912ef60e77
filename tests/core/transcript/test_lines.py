"""Splitting broken transcripts: named cases, oddities of heads, and whatever hypothesis breaks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import golden
from strandline.transcript import lines as lines_module
from strandline.transcript import salvage
from strandline.transcript.facts import text_of
from strandline.transcript.lines import LineReader, read_lines
from strandline.transcript.places import DamageKind, OddityKind
from strandline.transcript.whole_file import WholeFile

if TYPE_CHECKING:
    from pathlib import Path

    from strandline.transcript.lines import Lines

_HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-05-20T10:00:00.000Z", "cwd": "/w"}


def _line(record: object) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _message(entry_id: str, parent: str | None = None, text: str = "hello", **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1, **more}
    return {"type": "message", "id": entry_id, "parentId": parent, "timestamp": "2026-05-20T10:00:01.000Z"} | {
        "message": message
    }


def _messages(path: Path) -> int:
    return WholeFile(path.read_bytes()).types.count("message")


def _assert_every_byte_has_a_place(data: bytes, found: Lines) -> None:
    """Spans do not overlap, and what lies between them is blank or a byte order mark."""
    spans = sorted(
        [*zip(found.offsets, found.lengths, strict=True), *((part.offset, part.length) for part in found.damage)]
    )
    position = 0
    for start, length in spans:
        assert start >= position
        assert length > 0
        assert not data[position:start].strip(b" \t\r\n\xef\xbb\xbf")
        position = start + length
    assert not data[position:].strip(b" \t\r\n\xef\xbb\xbf")


@pytest.mark.parametrize(
    ("place", "messages", "damage"),
    [
        (0, 6, [(8, 2225, 80, DamageKind.UNFINISHED)]),
        (1, 7, [(6, 1528, 70, DamageKind.CUT_SHORT)]),
        (2, 8, []),
        (3, 7, [(6, 1528, 412, DamageKind.NUL)]),
        (4, 8, []),
    ],
)
def test_torn_glued_and_zeroed_lines(place: int, messages: int, damage: list[tuple[int, int, int, DamageKind]]) -> None:
    """A22: every whole record is found, every lost one named with line, byte and length."""
    path = golden.case_transcripts("A22-torn-glued-nul")[place]
    index = WholeFile(path.read_bytes(), path.name)
    assert index.types.count("message") == messages
    assert [(part.line, part.offset, part.length, part.kind) for part in index.damage] == damage
    assert index.header is not None
    last = "a0000006" if damage and damage[0][3] == DamageKind.UNFINISHED else "a0000008"
    assert index.ids[-1] == last


def test_rejoined_record_keeps_its_text() -> None:
    """A22 d4: raw line feeds inside a string stay in the text; the record is marked as lost to the real program."""
    index = WholeFile(golden.case_transcripts("A22-torn-glued-nul")[4].read_bytes())
    entry = index.entry(3)
    assert text_of(index.raw(3)) == "line one\nline two\nline three"
    assert (entry.line, entry.read_by_openclaw) == (5, False)
    assert [(odd.kind, odd.line) for odd in index.oddities] == [(OddityKind.RAW_CONTROL, 5)]
    assert index.entry(4).line == 8


@pytest.mark.parametrize(
    ("place", "messages", "oddities"),
    [
        (0, 4, [OddityKind.BYTE_ORDER_MARK]),
        (1, 4, [OddityKind.CARRIAGE_RETURNS]),
        (2, 4, [OddityKind.LATE_HEADER]),
        (3, 4, [OddityKind.NO_HEADER]),
        (4, 4, [OddityKind.HEADER_NAME]),
        (5, 4, []),
        (6, 0, [OddityKind.EMPTY]),
    ],
)
def test_odd_heads(place: int, messages: int, oddities: list[OddityKind]) -> None:
    """A23: odd heads read without damage and say what is odd."""
    path = golden.case_transcripts("A23-file-head-oddities")[place]
    index = WholeFile(path.read_bytes(), path.name)
    assert index.types.count("message") == messages
    assert index.damage == ()
    assert [odd.kind for odd in index.oddities] == oddities
    assert index.read_by_openclaw == (place not in {2, 3, 6})
    assert (index.header.evidence.line if index.header else None) == {2: 2, 3: None, 5: 4, 6: None}.get(place, 1)


def test_utf16_is_one_finding() -> None:
    """A23 h7: a file in UTF-16 is one damage over all of it, with and without a mark."""
    data = golden.case_transcripts("A23-file-head-oddities")[7].read_bytes()
    for variant in (data, data[2:], _line(_HEADER).decode().encode("utf-16-be")):
        (damage,) = WholeFile(variant).damage
        assert (damage.kind, damage.offset, damage.length) == (DamageKind.NOT_UTF8, 0, len(variant))


@pytest.mark.parametrize(
    ("record", "kind"),
    [(b"[1,2]", DamageKind.NO_OBJECT), (b"null", DamageKind.NO_OBJECT), (b"5", DamageKind.NO_OBJECT)],
)
def test_json_that_is_no_object(record: bytes, kind: DamageKind) -> None:
    """A line that holds JSON but no object is damage; its neighbours stay."""
    found = read_lines(b"\n".join([_line(_HEADER), record, _line(_message("a"))]))
    assert [envelope.id for envelope in found.envelopes] == ["s", "a"]
    assert [(part.kind, part.line) for part in found.damage] == [(kind, 2)]


def test_deep_nesting_is_damage_of_one_line() -> None:
    """A line nested beyond every reader is damage; its neighbours stay."""
    deep = b'{"type":"message","id":"d","message":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    found = read_lines(b"\n".join([_line(_HEADER), deep, _line(_message("a"))]))
    assert [envelope.id for envelope in found.envelopes] == ["s", "a"]
    assert [(part.kind, part.length) for part in found.damage] == [(DamageKind.TOO_DEEP, len(deep))]


def test_text_that_only_javascript_takes() -> None:
    """Lone surrogates and U+2028 are read as they are, bad UTF-8 as U+FFFD; all three are no damage."""
    bad = _line(_message("b", text="x?y")).replace(b"?", b"\xff")
    lone = json.dumps(_message("c", text="\ud83d")).encode()
    index = WholeFile(b"\n".join([_line(_HEADER), _line(_message("a", text="u\u2028v")), bad, lone]))
    assert index.damage == ()
    assert [text_of(index.raw(at)) for at in range(3)] == ["u\u2028v", "x\ufffdy", "\ud83d"]
    assert [(odd.kind, odd.line) for odd in index.oddities] == [(OddityKind.BAD_UTF8, 3)]
    assert all(index.entry(at).read_by_openclaw for at in range(3))


def test_fields_of_another_type_are_said() -> None:
    """A record whose id or role is no text is kept and said."""
    odd = {**_message("a"), "id": 7, "parentId": ["x"]}
    odd["message"]["role"] = 5
    index = WholeFile(_line(_HEADER) + b"\n" + _line(odd) + b"\n" + _line({**_message("b"), "message": 3}))
    assert list(index.ids) == [None, "b"]
    notes = [odd.note for odd in index.oddities if odd.kind == OddityKind.MISTYPED]
    assert notes[0].startswith("Its id and parentId and message.role ")
    assert notes[1].startswith("Its message ")


def test_tool_call_blocks_are_not_taken_for_records() -> None:
    """A torn record whose content blocks are whole gives no entries of its own."""
    call = {"type": "toolCall", "id": "t", "name": "exec", "arguments": {"command": "ls"}}
    torn = _line({**_message("a"), "message": {"content": [call, call]}})[:-1]
    found = read_lines(_line(_HEADER) + b"\n" + torn + b"\n" + _line(_message("b")) + b"\n")
    assert [envelope.id for envelope in found.envelopes] == ["s", "b"]
    assert [(part.kind, part.length) for part in found.damage] == [(DamageKind.CUT_SHORT, len(torn))]


def test_search_ends_on_hopeless_bytes() -> None:
    """A stretch that fails at every brace is given up after bounded work, and says where."""
    stretch = b'{"a":[' * 60_000
    searched = salvage.search(stretch)
    assert searched.found == ()
    assert searched.searched <= len(stretch)
    found = read_lines(_line(_HEADER) + b"\n" + stretch + b"\n" + _line(_message("b")))
    assert [envelope.id for envelope in found.envelopes] == ["s", "b"]
    _assert_every_byte_has_a_place(_line(_HEADER) + b"\n" + stretch + b"\n" + _line(_message("b")), found)


def test_later_version_and_second_header_are_said() -> None:
    """A later version is read as the current one and said; so is a header further down."""
    later = {**_HEADER, "version": 4}
    index = WholeFile(b"\n".join([_line(later), _line(_message("a")), _line(_HEADER)]), "s.jsonl")
    assert [odd.kind for odd in index.oddities] == [OddityKind.SECOND_HEADER, OddityKind.LATER_VERSION]
    assert len(index) == 1


def test_huge_line_is_one_entry() -> None:
    """An image of some megabytes is one entry and is not decoded."""
    image = {"type": "image", "data": "A" * 8_000_000, "mimeType": "image/png"}
    record = _message("a")
    record["message"]["content"] = [{"type": "text", "text": "see"}, image]
    index = WholeFile(b"\n".join([_line(_HEADER), _line(record), _line(_message("b", "a"))]))
    assert list(index.ids) == ["a", "b"]
    assert text_of(index.raw(0)) == "see"


_TEXTS = st.text(max_size=30) | st.sampled_from(['{"type":"message"', "\u2028", "\ud83d\ude00", '"}]}}', "a\\"])


@st.composite
def _records(draw: st.DrawFn) -> list[bytes]:
    count = draw(st.integers(1, 8))
    records: list[Any] = [_HEADER]
    for number in range(count):
        text = draw(_TEXTS.filter(lambda value: not any("\ud800" <= unit <= "\udfff" for unit in value)))
        records.append(_message(f"e{number}", f"e{number - 1}" if number else None, text))
    return [_line(record) for record in records]


@given(_records(), st.data())
def test_no_whole_record_is_lost(records: list[bytes], data: st.DataObject) -> None:
    """Cut, glued, doubled, reordered, zeroed, behind rubbish: each whole record is read, each byte has a place."""
    pieces: list[bytes] = []
    whole: list[str] = []
    for record in data.draw(st.permutations([*records, *data.draw(st.lists(st.sampled_from(records), max_size=3))])):
        breaking = data.draw(st.sampled_from(["none", "none", "cut", "glue", "nul", "rubbish", "blank", "return"]))
        if breaking == "cut":
            pieces.append(record[: data.draw(st.integers(1, len(record) - 1))])
            pieces.append(data.draw(st.sampled_from([b"", b"\n"])))
            continue
        whole.append(json.loads(record)["id"])
        before = {"nul": b"\x00" * 7, "rubbish": b"xx] ", "blank": b"\n \n"}.get(breaking, b"")
        after = {"glue": b"", "return": b"\r\n"}.get(breaking, b"\n")
        pieces.append(before + record + after)
    text = b"".join(pieces)
    found = read_lines(text)
    assert sorted(str(envelope.id) for envelope in found.envelopes) == sorted(whole)
    _assert_every_byte_has_a_place(text, found)


@given(_records(), st.lists(st.tuples(st.integers(0, 10_000), st.binary(max_size=3)), max_size=6))
def test_every_byte_has_a_place_in_corrupted_files(records: list[bytes], faults: list[tuple[int, bytes]]) -> None:
    """Whatever bytes are written over a transcript, each lies in an entry, in damage, or is blank."""
    text = bytearray(b"\n".join(records) + b"\n")
    for place, fault in faults:
        at = place % len(text)
        text[at : at + len(fault)] = fault
    found = read_lines(bytes(text))
    if found.damage[:1] and found.damage[0].kind == DamageKind.NOT_UTF8:
        return
    _assert_every_byte_has_a_place(bytes(text), found)
    untouched = set(records) & set(bytes(text).split(b"\n"))
    read = {bytes(text)[at : at + length] for at, length in zip(found.offsets, found.lengths, strict=True)}
    assert untouched <= read


@given(_records(), st.integers(1, 400))
def test_blocks_do_not_matter(records: list[bytes], size: int) -> None:
    """However a file is cut into blocks at line feeds, the same is read."""
    text = b"\n".join([*records, b'{"torn', records[0][:20], *records]) + b"\n"
    whole = read_lines(text)
    reader = LineReader()
    block = b""
    for line in text.splitlines(keepends=True):
        block += line
        if len(block) >= size:
            reader.feed(block)
            block = b""
    if block:
        reader.feed(block)
    pieces = reader.finish()
    assert (pieces.offsets, pieces.lengths, pieces.numbers) == (whole.offsets, whole.lengths, whole.numbers)
    assert (pieces.damage, pieces.unread) == (whole.damage, whole.unread)
    assert size < lines_module.BLOCK_BYTES
