"""From the bytes of ``sessions.json`` to its rows; what cannot be read is damage with a place, never an empty store.

The real program reads every unreadable store as ``{}`` (spec 2026.5, trap 3). Here the same bytes say what is wrong
and where, and nothing is concluded about the sessions.
"""

from __future__ import annotations

import bisect
import json
import re
from typing import TYPE_CHECKING

import msgspec

from strandline.ecmascript import property_order
from strandline.errors import DamagedData
from strandline.store.entry import ReadEntry, decode_entry, dump_lenient, find_constant, loads_lenient

if TYPE_CHECKING:
    from collections.abc import Iterator

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_DECODER = msgspec.json.Decoder(dict[str, msgspec.Raw])
_MEMBER = re.compile(rb'[ \t\r\n,{]*("[^"\\]*(?:\\.[^"\\]*)*")[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],]', re.DOTALL)
_END = re.compile(rb"[ \t\r\n]*\}")
_LOOK = 4096


class StoreDamage(DamagedData):
    """A store that cannot be read.

    Attributes:
        reason: what is wrong, as ``the text ends inside a string``.
        offset: byte at which it shows; ``None`` when the whole file is meant.
    """

    def __init__(self, path: str, reason: str, offset: int | None = None, place: str = "") -> None:
        self.reason = reason
        self.offset = offset
        where = f" at {place}" if place else ""
        super().__init__(
            f"The store {path} cannot be read: {reason}{where}; its sessions are unknown, not gone. "
            "Restore it from a backup before a gateway writes it anew."
        )


class StoredRow(msgspec.Struct, frozen=True):
    """One row as it stands in the file.

    Attributes:
        key: the session key exactly as stored.
        read: the decoded row; ``None`` when the value is no object, which the real program drops.
        offset: byte at which the value starts; -1 when the file had to be decoded leniently.
        length: bytes that the value takes.
    """

    key: str
    read: ReadEntry | None
    offset: int
    length: int


class StoreContent(msgspec.Struct, frozen=True):
    """The rows of a store, still undecoded, in the order in which the real program lists them.

    Attributes:
        path: the file, for messages.
        raw_rows: (key, bytes, offset) of each row.
        remark: what a person should know although the store reads well; else ``None``.
    """

    path: str
    raw_rows: tuple[tuple[str, bytes | msgspec.Raw, int], ...]
    remark: str | None

    def rows(self) -> Iterator[StoredRow]:
        """Decode the rows one by one.

        Raises:
            StoreDamage: a row is nested more deeply than it can be decoded.
        """
        for key, raw, offset in self.raw_rows:
            try:
                read = decode_entry(raw)
            except RecursionError as error:
                raise StoreDamage(self.path, "a row is nested too deeply", offset if offset >= 0 else None) from error
            yield StoredRow(key, read, offset, len(memoryview(raw)))


def read_store(path: str, data: bytes) -> StoreContent:
    """Split the bytes of a store into its rows.

    Args:
        path: the file, for messages.
        data: its bytes.

    Raises:
        StoreDamage: the bytes are no object of rows; says where.
    """
    if data.startswith(_UTF16):
        raise StoreDamage(path, "it is UTF-16, not UTF-8", 0)
    remark = None
    start = 0
    if data.startswith(_BOM):
        start = len(_BOM)
        remark = f"{path} starts with a byte order mark; OpenClaw 2026.5 reads such a store as empty."
    body = memoryview(data)[start:]
    if not bytes(body[:_LOOK]).strip() and not data[start:].strip():
        raise StoreDamage(path, "it is empty (0 bytes)" if not data else "it holds only white space", 0)
    try:
        values = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _read_leniently(path, data[start:], start, remark, error)
    return StoreContent(path, tuple(_locate(values, data, start)), remark)


def _locate(values: dict[str, msgspec.Raw], data: bytes, start: int) -> Iterator[tuple[str, bytes | msgspec.Raw, int]]:
    offsets = _offsets(values, data, start) or _offsets_with_doubles(data, start)
    for key in property_order(values):
        yield key, values[key], offsets[key]


def _offsets(values: dict[str, msgspec.Raw], data: bytes, start: int) -> dict[str, int]:
    """Return where each value starts; ``{}`` when a key is there twice, so that mapping and file differ in order."""
    found: dict[str, int] = {}
    position = start
    for key, raw in values.items():
        member = _MEMBER.match(data, position)
        at = member.end() if member else position
        value = bytes(raw)
        position = at + len(value)
        if data[at:position] != value:
            return {}
        found[key] = at
    return found if _END.match(data, position) else {}


def _offsets_with_doubles(data: bytes, start: int) -> dict[str, int]:
    """Walk over every member; of a key that is there twice the last value counts."""
    found: dict[str, int] = {}
    position = start
    while member := _MEMBER.match(data, position):
        position = member.end()
        found[msgspec.json.decode(member[1], type=str)] = position
        depth = 0
        for token in _TOKEN.finditer(data, position):
            mark = token[0]
            if depth == 0 and mark in {b",", b"}"}:
                position = token.start()
                break
            depth += (mark in {b"{", b"["}) - (mark in {b"}", b"]"})
    return found


def _read_leniently(path: str, body: bytes, start: int, remark: str | None, error: Exception) -> StoreContent:
    try:
        root = loads_lenient(body)
    except RecursionError:
        raise StoreDamage(path, "it is nested too deeply", None) from error
    except json.JSONDecodeError as cause:
        raise _damage_of(path, cause, body, start) from error
    except ValueError as cause:
        text = body.decode("utf-8", "replace")
        at = find_constant(text)
        place = json.JSONDecodeError(str(cause), text, len(text) if at is None else at)
        raise _damage_of(path, place, body, start) from error
    if not isinstance(root, dict):
        kind = "a list" if isinstance(root, list) else "a bare value"
        raise StoreDamage(path, f"it holds {kind}, not an object of rows", 0) from error
    rows = tuple((key, dump_lenient(root[key]), -1) for key in property_order(root))
    return StoreContent(path, rows, remark)


def _damage_of(path: str, error: json.JSONDecodeError, body: bytes, start: int) -> StoreDamage:
    at_end = not error.doc[error.pos :].strip() or error.msg.startswith("Unterminated")
    position = len(error.doc) if at_end else error.pos
    offset = start + _byte_of(body, error.doc, position)
    line = error.doc.count("\n", 0, position) + 1
    column = position - error.doc.rfind("\n", 0, position)
    if error.msg.startswith("Unterminated"):
        reason = "the text ends inside a string"
    elif at_end:
        reason = "the text ends too early"
    elif "Extra data" in error.msg:
        reason = "something follows the end of the object"
    else:
        reason = error.msg.removesuffix(" at")
        if not reason.endswith("is no JSON"):
            reason = reason[0].lower() + reason[1:]
    return StoreDamage(path, reason, offset, f"byte {offset:,} (line {line}, column {column})")


def _byte_of(body: bytes, text: str, position: int) -> int:
    """Return the byte at which the character at ``position`` of the decoded text starts."""
    if "\ufffd" not in text:
        return len(text[:position].encode("utf-8"))
    # Bytes that are no UTF-8 stand for one character each or for several, so the place is searched for.
    starts = range(len(body) + 1)
    return bisect.bisect_right(starts, position, key=lambda end: len(body[:end].decode("utf-8", "replace"))) - 1
