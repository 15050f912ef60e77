"""Whole records inside a broken stretch of a transcript, and names for what is left of it.

A stretch is what lies between two readable lines. It may hold a record behind a torn one, two records on one line, a
record whose text has raw line feeds, runs of NUL bytes. Offsets are kept by reading the bytes as Latin-1: JSON's own
characters are ASCII, so an object begins and ends at the same place whatever its text says.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import msgspec

from strandline.ecmascript import is_number
from strandline.transcript.envelope import refuse_constant
from strandline.transcript.places import DamageKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strandline.ecmascript import JsonValue

_OBJECT = re.compile(r'\{[ \t\r\n]*"')
_DECODER = json.JSONDecoder(strict=False, parse_constant=refuse_constant)
_WORK_PER_BYTE = 64
_WORK_BASE = 1 << 20
_BLANK = b" \t\r\n"


class Found(msgspec.Struct, frozen=True):
    """A whole record inside a stretch.

    Attributes:
        start: its first byte, counted from the stretch.
        end: the byte after its last one.
    """

    start: int
    end: int


class Search(msgspec.Struct, frozen=True):
    """What a stretch holds.

    Attributes:
        found: whole records in order.
        searched: bytes up to which the search came; less than the stretch when it is too broken for its size.
    """

    found: tuple[Found, ...]
    searched: int


def search(stretch: bytes) -> Search:
    """Find every whole record in a broken stretch; work is bounded by the stretch's length."""
    text = stretch.decode("latin-1")
    budget = _WORK_PER_BYTE * len(text) + _WORK_BASE
    found: list[Found] = []
    position = 0
    while (start := _OBJECT.search(text, position)) is not None:
        if budget <= 0:
            return Search(tuple(found), start.start())
        position = start.start() + 1
        try:
            value, end = _DECODER.raw_decode(text, start.start())
        except json.JSONDecodeError as error:
            budget -= error.pos - start.start() + 1
            continue
        except (ValueError, RecursionError):
            budget -= len(text) - start.start()
            continue
        budget -= end - start.start()
        if _is_record(value):
            found.append(Found(start.start(), end))
        position = end
    return Search(tuple(found), len(stretch))


def name_damage(piece: bytes, *, at_end: bool) -> tuple[DamageKind, str]:
    """Say what is wrong with a piece of at most one line that belongs to no record.

    Args:
        piece: its bytes.
        at_end: nothing follows it, not even a line feed.
    """
    nuls = piece.count(0)
    if nuls and not piece.strip(b"\x00" + _BLANK):
        return DamageKind.NUL, f"{nuls:,} NUL bytes"
    opened = piece.lstrip(b"\x00" + _BLANK).startswith(b"{")
    if at_end and opened:
        return DamageKind.UNFINISHED, "unfinished last record: the file ends inside it"
    if opened:
        return DamageKind.CUT_SHORT, "a record was cut short"
    return DamageKind.NO_JSON, "no JSON stands here"


def pieces(stretch: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of what is not blank between two places, line by line."""
    while start < end:
        line_end = stretch.find(b"\n", start, end)
        stop = end if line_end < 0 else line_end
        piece = stretch[start:stop]
        kept = piece.strip(_BLANK)
        if kept:
            first = start + len(piece) - len(piece.lstrip(_BLANK))
            yield first, first + len(kept)
        start = stop + 1


def _is_record(value: JsonValue) -> bool:
    # Content blocks have a type too, and tool calls an id; only records have a time as text or a parent.
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    return "parentId" in value or isinstance(value.get("timestamp"), str) or is_number(value.get("timestamp"))
