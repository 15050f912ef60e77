"""Splits a transcript into entries and damage; one bad line never hides another.

Blocks of a quarter of a megabyte whose lines are whole objects go through the decoder in one call. A block with
anything else is read line by line; lines that no reader takes are gathered into a stretch until a readable line comes,
and the stretch is searched (``salvage``). Every byte ends up in an entry, in damage, or is blank.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec

from strandline.transcript import salvage
from strandline.transcript.envelope import DECODER, Envelope, ReadEnvelope, read_leniently
from strandline.transcript.places import Damage, DamageKind, Oddity, OddityKind

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK_BYTES = 1 << 18

BOM = b"\xef\xbb\xbf"
UTF16_REASON = "the file is UTF-16, not UTF-8"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BLANK = b" \t\r"
_SNIFFED = 64


class Lines(msgspec.Struct, frozen=True, gc=False):
    """What a transcript's bytes hold, headers included, in the order of the file.

    Attributes:
        envelopes: one per record.
        offsets: byte at which each record starts.
        lengths: bytes of each record.
        numbers: physical line of each record, from 1.
        unread: places in ``envelopes`` of records that the real program does not read: they were salvaged.
        clean: by place, the record as strict JSON where reading it showed that the stored bytes are none; bytes that
            are no UTF-8 inside a text do not show.
        damage: bytes that belong to no record.
        oddities: what is odd although it reads well.
    """

    envelopes: list[Envelope]
    offsets: array[int]
    lengths: array[int]
    numbers: array[int]
    unread: frozenset[int]
    clean: dict[int, bytes]
    damage: tuple[Damage, ...]
    oddities: tuple[Oddity, ...]


class LineReader:
    """Takes a transcript block by block; blocks end with a line feed, but for the last one."""

    def __init__(self, *, offset: int = 0, line: int = 1) -> None:
        self._offset = offset
        self._line = line
        self._envelopes: list[Envelope] = []
        self._offsets = array("q")
        self._lengths = array("q")
        self._numbers = array("q")
        self._unread: list[int] = []
        self._clean: dict[int, bytes] = {}
        self._damage: list[Damage] = []
        self._oddities: list[Oddity] = []
        self._returns: int | None = None
        # The stretch that is open: its lines joined, where it starts, on which line.
        self._broken: list[bytes] = []
        self._broken_offset = 0
        self._broken_line = 0

    def feed(self, block: bytes) -> None:
        """Read the next block."""
        if not self._broken and self._feed_at_once(block):
            return
        lines = block.split(b"\n")
        open_ended = lines.pop() if block.endswith(b"\n") else None
        for line in lines:
            self._read_line(line)
            self._offset += len(line) + 1
            self._line += 1
        if open_ended is None:
            # The last line of the file has no line feed: take back the one that was counted for it.
            self._offset -= 1

    def finish(self) -> Lines:
        """End the file and return what it holds."""
        self._close_stretch(at_end=True)
        if self._returns is not None:
            note = "Its lines end in carriage return and line feed; it reads the same."
            self._oddities.append(Oddity(self._returns, 0, 0, OddityKind.CARRIAGE_RETURNS, note))
        return Lines(
            self._envelopes,
            self._offsets,
            self._lengths,
            self._numbers,
            frozenset(self._unread),
            self._clean,
            tuple(self._damage),
            tuple(self._oddities),
        )

    def skip_mark(self) -> None:
        """Step over a byte order mark, which the real program trims away."""
        note = "It starts with a byte order mark; it reads the same."
        self._oddities.append(Oddity(1, 0, len(BOM), OddityKind.BYTE_ORDER_MARK, note))
        self._offset += len(BOM)

    def _feed_at_once(self, block: bytes) -> bool:
        """Read a block whose every line is one object; ``False`` leaves it to the slow way, untouched."""
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        # Lines that begin and end with a brace cannot share a value, so as many values as lines means one on each.
        if not all(line[:1] == b"{" and line[-1:] == b"}" for line in lines):
            return False
        try:
            envelopes = DECODER.decode_lines(block)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        count = len(lines)
        if len(envelopes) != count:
            return False
        lengths = list(map(len, lines))
        self._envelopes += envelopes
        self._offsets.extend(accumulate((length + 1 for length in lengths[:-1]), initial=self._offset))
        self._lengths.extend(lengths)
        self._numbers.extend(range(self._line, self._line + count))
        self._offset += len(block)
        self._line += count
        return True

    def _read_line(self, line: bytes) -> None:
        body = line.strip(_BLANK)
        if not body:
            if self._broken:
                self._broken.append(line)
            return
        if self._returns is None and line.endswith(b"\r"):
            self._returns = self._line
        start = self._offset + len(line) - len(line.lstrip(_BLANK))
        try:
            read = read_record(body)
        except ValueError:
            self._open_stretch(line)
            return
        except RecursionError:
            self._close_stretch(at_end=False)
            reason = "a record nested too deeply to be read"
            self._damage.append(Damage(self._line, start, len(body), DamageKind.TOO_DEEP, reason))
            return
        self._close_stretch(at_end=False)
        if read is None:
            reason = "a JSON value that is no object"
            self._damage.append(Damage(self._line, start, len(body), DamageKind.NO_OBJECT, reason))
            return
        self._add(read, self._line, start, len(body))

    def _open_stretch(self, line: bytes) -> None:
        if not self._broken:
            self._broken_offset = self._offset
            self._broken_line = self._line
        self._broken.append(line)

    def _close_stretch(self, *, at_end: bool) -> None:
        if not self._broken:
            return
        stretch = b"\n".join(self._broken)
        self._broken = []
        # Without a line feed behind it, the stretch's last piece is the end of the file.
        open_end = at_end and self._broken_offset + len(stretch) == self._offset
        line, offset = self._broken_line, self._broken_offset
        for piece in read_stretch(stretch, open_end=open_end):
            number = line + stretch.count(b"\n", 0, piece.start)
            place = offset + piece.start
            if piece.read is None:
                self._damage.append(Damage(number, place, piece.end - piece.start, piece.kind, piece.reason))
                continue
            self._unread.append(len(self._envelopes))
            self._oddities.append(
                Oddity(
                    number, place, piece.end - piece.start, piece.oddity, f"{piece.reason} The real program skips it."
                )
            )
            self._add(piece.read, number, place, piece.end - piece.start)

    def _add(self, read: ReadEnvelope, line: int, offset: int, length: int) -> None:
        place = len(self._envelopes)
        self._envelopes.append(read.envelope)
        self._offsets.append(offset)
        self._lengths.append(length)
        self._numbers.append(line)
        if read.mistyped:
            note = f"Its {' and '.join(read.mistyped)} is of another type than the real program writes."
            self._oddities.append(Oddity(line, offset, length, OddityKind.MISTYPED, note))
        if read.clean is not None:
            self._clean[place] = read.clean


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a broken stretch: a salvaged record, or damage.

    Attributes:
        start: its first byte, counted from the stretch.
        end: the byte after its last one.
        read: the record; ``None`` for damage.
        reason: what is wrong, in words.
        kind: what is wrong with damage.
        oddity: what is odd about a record.
    """

    start: int
    end: int
    reason: str
    read: ReadEnvelope | None = None
    kind: DamageKind = DamageKind.NO_JSON
    oddity: OddityKind = OddityKind.GLUED


def read_record(body: bytes) -> ReadEnvelope | None:
    """Read one line as the real program would; ``None`` when it holds JSON that is no object.

    Raises:
        ValueError: it is no JSON.
        RecursionError: it is nested too deeply.
    """
    try:
        return ReadEnvelope(DECODER.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return read_leniently(body)


def read_stretch(stretch: bytes, *, open_end: bool) -> list[Piece]:
    """Split a broken stretch into whole records and named damage, in the order of the file.

    Args:
        stretch: lines that cannot be read, joined by line feeds.
        open_end: the file ends with the stretch, without a line feed.
    """
    searched = salvage.search(stretch)
    result: list[Piece] = []
    position = 0
    for found in searched.found:
        result.extend(_damaged(stretch, position, found.start, open_end=False))
        read = read_leniently(stretch[found.start : found.end], strict=False)
        line_feeds = stretch.count(b"\n", found.start, found.end)
        if line_feeds:
            kind, reason = OddityKind.RAW_CONTROL, f"It runs over {line_feeds + 1} lines."
        elif (
            stretch[: found.start].rpartition(b"\n")[2].strip(_BLANK)
            or stretch[found.end :].partition(b"\n")[0].strip()
        ):
            kind, reason = OddityKind.GLUED, "It shares its line with something else."
        else:
            kind, reason = OddityKind.RAW_CONTROL, "A string of it holds raw control characters."
        result.append(Piece(start=found.start, end=found.end, read=read, oddity=kind, reason=reason))
        position = found.end
    result.extend(_damaged(stretch, position, searched.searched, open_end=open_end))
    if searched.searched < len(stretch):
        reason = "too broken to be searched for records to its end"
        result.append(Piece(start=searched.searched, end=len(stretch), kind=DamageKind.UNSEARCHED, reason=reason))
    return result


def read_lines(data: bytes) -> Lines:
    """Split a whole transcript. UTF-16 is one damage over all of it."""
    if looks_like_utf16(data):
        damage = Damage(1, 0, len(data), DamageKind.NOT_UTF8, UTF16_REASON)
        return Lines([], array("q"), array("q"), array("q"), frozenset(), {}, (damage,), ())
    reader = LineReader()
    start = 0
    if data.startswith(BOM):
        reader.skip_mark()
        start = len(BOM)
    for block in _blocks(data, start):
        reader.feed(block)
    return reader.finish()


def _blocks(data: bytes, start: int) -> Iterator[bytes]:
    while start < len(data):
        end = data.rfind(b"\n", start, start + BLOCK_BYTES) + 1
        if end == 0 or start + BLOCK_BYTES >= len(data):
            end = len(data) if start + BLOCK_BYTES >= len(data) else data.find(b"\n", start + BLOCK_BYTES) + 1
        stop = end or len(data)
        yield data[start:stop]
        start = stop


def _damaged(stretch: bytes, start: int, end: int, *, open_end: bool) -> Iterator[Piece]:
    for first, last in salvage.pieces(stretch, start, end):
        at_end = open_end and b"\n" not in stretch[last:]
        kind, reason = salvage.name_damage(stretch[first:last], at_end=at_end)
        yield Piece(start=first, end=last, kind=kind, reason=reason)


def looks_like_utf16(data: bytes) -> bool:
    """Tell whether a file is UTF-16: by its byte order mark, or as every other byte of its head is zero."""
    if data.startswith(_UTF16):
        return True
    head = data[:_SNIFFED]
    if b"\0" not in head:
        return False
    even, odd = head[::2], head[1::2]
    return bool(odd) and ((not any(even) and all(odd)) or (not any(odd) and all(even)))
