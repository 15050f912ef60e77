"""From the bytes of ``sessions.json`` to its rows; what cannot be read is damage with a place, never an empty store.

The real program reads every unreadable store as ``{}`` (spec 2026.5, trap 3). Here the same bytes say what is wrong
and where, and nothing is concluded about the sessions.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from strandline.ecmascript import property_order
from strandline.errors import DamagedData
from strandline.store.entry import ReadEntry, decode_entry, loads_lenient

if TYPE_CHECKING:
    from collections.abc import Iterator

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_DECODER = msgspec.json.Decoder(dict[str, msgspec.Raw])
_SEARCH_SLACK = 4096


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
        """Decode the rows one by one."""
        for key, raw, offset in self.raw_rows:
            yield StoredRow(key, decode_entry(raw), offset, len(memoryview(raw)))


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
    if not bytes(body[:_SEARCH_SLACK]).strip() and not data[start:].strip():
        raise StoreDamage(path, "it is empty (0 bytes)" if not data else "it holds only white space", 0)
    try:
        values = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return _read_leniently(path, data[start:], start, remark, error)
    return StoreContent(path, tuple(_locate(values, data, start)), remark)


def _locate(values: dict[str, msgspec.Raw], data: bytes, start: int) -> Iterator[tuple[str, bytes | msgspec.Raw, int]]:
    # Values stand in the file in the order of the mapping, but for a key that is there twice; each is found from
    # where the one before it ended.
    offsets: dict[str, int] = {}
    position = start
    for key, raw in values.items():
        view = bytes(memoryview(raw)[:_SEARCH_SLACK])
        found = data.find(view, position)
        if found < 0:
            found = data.find(bytes(raw), start)
        offsets[key] = found
        position = max(position, found + len(memoryview(raw)))
    for key in property_order(values):
        yield key, values[key], offsets[key]


def _read_leniently(path: str, body: bytes, start: int, remark: str | None, error: Exception) -> StoreContent:
    try:
        root = loads_lenient(body)
    except RecursionError:
        raise StoreDamage(path, "it is nested too deeply", None) from error
    except json.JSONDecodeError as cause:
        raise _damage_of(path, cause, start) from error
    except ValueError as cause:
        raise StoreDamage(path, str(cause), None) from error
    if not isinstance(root, dict):
        kind = "a list" if isinstance(root, list) else "a bare value"
        raise StoreDamage(path, f"it holds {kind}, not an object of rows", 0) from error
    rows = tuple((key, json.dumps(root[key]).encode(), -1) for key in property_order(root))
    return StoreContent(path, rows, remark)


def _damage_of(path: str, error: json.JSONDecodeError, start: int) -> StoreDamage:
    at_end = not error.doc[error.pos :].strip() or error.msg.startswith("Unterminated")
    position = len(error.doc) if at_end else error.pos
    offset = start + len(error.doc[:position].encode("utf-8", "surrogatepass"))
    line = error.doc.count("\n", 0, position) + 1
    column = position - error.doc.rfind("\n", 0, position)
    if error.msg.startswith("Unterminated"):
        reason = "the text ends inside a string"
    elif at_end:
        reason = "the text ends too early"
    elif "Extra data" in error.msg:
        reason = "something follows the end of the object"
    else:
        reason = (error.msg[0].lower() + error.msg[1:]).removesuffix(" at")
    return StoreDamage(path, reason, offset, f"byte {offset:,} (line {line}, column {column})")
