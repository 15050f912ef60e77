"""A transcript held in memory as a whole; versions 1 and 2 read as they would be migrated.

The real program rewrites an older file the moment it opens it (spec 2026.5 §6.4). Here the same migration is a way of
reading: ids go out in file order, ``firstKeptEntryIndex`` becomes an id, ``hookMessage`` becomes ``custom``; the file
stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UnsetType

from strandline.ecmascript import is_number
from strandline.state import fsys
from strandline.transcript.envelope import HEADER_TYPE, Envelope, dumps, is_utf8, loads
from strandline.transcript.facts import usage_of
from strandline.transcript.index import (
    CURRENT_VERSION,
    TREE_VERSION,
    EntryHead,
    HeaderFact,
    header_fact,
    name_oddity,
    version_of,
)
from strandline.transcript.lines import read_lines
from strandline.transcript.places import Evidence, Oddity, OddityKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from strandline.ecmascript import JsonValue

WHOLE_FILE_BYTES = 64 * 1024**2


class WholeFile:
    """The index of a transcript that is held in memory as a whole."""

    def __init__(self, data: bytes, name: str = "") -> None:
        lines = read_lines(data)
        self._data = data
        self._lines = lines
        types = [envelope.type for envelope in lines.envelopes]
        headers = [place for place, kind in enumerate(types) if kind == HEADER_TYPE] if HEADER_TYPE in types else []
        self.header = self._header(headers[0]) if headers else None
        skipped = set(headers)
        self._places: Sequence[int] = [place for place in range(len(types)) if place not in skipped]
        envelopes = [lines.envelopes[place] for place in self._places]
        self.types: Sequence[str] = [types[place] for place in self._places]
        self.version = self._version_of(envelopes)
        first = next((place for place in range(len(types)) if place not in lines.unread), None)
        self.read_by_openclaw = first is not None and first in skipped and bool(_text(lines.envelopes[first].id))
        if self.version < TREE_VERSION:
            self.ids: Sequence[str | None] = [f"{position + 1:08x}" for position in range(len(envelopes))]
            self.parent_ids: Sequence[str | None] = [None, *self.ids][: len(envelopes)]
        else:
            self.ids = [_text(envelope.id) for envelope in envelopes]
            self.parent_ids = [_text(envelope.parent_id) or None for envelope in envelopes]
        self.damage = lines.damage
        self._oddities: tuple[Oddity, ...] | None = None
        self._odd_heads = self._about_headers(headers, name)

    @property
    def oddities(self) -> tuple[Oddity, ...]:
        """What is odd although it reads well; asking for it the first time looks at every byte."""
        if self._oddities is None:
            self._oddities = self._all_oddities()
        return self._oddities

    def _all_oddities(self) -> tuple[Oddity, ...]:
        note = "It holds bytes that are no UTF-8; they read as U+FFFD."
        found = [*self._lines.oddities]
        if not self._data.isascii():
            for place, (start, length) in enumerate(zip(self._lines.offsets, self._lines.lengths, strict=True)):
                if not is_utf8(self._data[start : start + length]):
                    found.append(Oddity(*self._place_of(place), OddityKind.BAD_UTF8, note))
            found.sort(key=lambda oddity: oddity.offset)
        return (*self._odd_heads, *found)

    def __len__(self) -> int:
        """Return how many entries there are."""
        return len(self._places)

    def entry(self, position: int) -> EntryHead:
        """Return what is known of an entry without its body."""
        place = self._places[position]
        lines = self._lines
        envelope = lines.envelopes[place]
        message = envelope.message
        if not message or envelope.type != "message":
            provider = model = stop_reason = None
        else:
            provider, model, stop_reason = _text(message.provider), _text(message.model), _text(message.stop_reason)
        return EntryHead(
            position=position,
            line=lines.numbers[place],
            offset=lines.offsets[place],
            length=lines.lengths[place],
            type=envelope.type,
            id=self.ids[position],
            parent_id=self.parent_ids[position],
            timestamp=None if isinstance(envelope.timestamp, UnsetType) else envelope.timestamp,
            role=self.role(position),
            provider=provider,
            model=model,
            stop_reason=stop_reason,
            read_by_openclaw=self.read_by_openclaw and place not in lines.unread,
        )

    def role(self, position: int) -> str | None:
        """Return who speaks in an entry; ``None`` when it is no message."""
        envelope = self._lines.envelopes[self._places[position]]
        if envelope.type != "message" or not envelope.message:
            return None
        role = envelope.message.role
        if role == _OLD_ROLE and self.version < CURRENT_VERSION:
            return _NEW_ROLE
        return role if isinstance(role, str) else None

    def usage(self, position: int) -> dict[str, JsonValue] | None:
        """Return the usage that an entry's message reports, as stored; ``None`` when it reports none."""
        if self.types[position] != "message":
            return None
        return usage_of(self._stored(self._places[position]))

    def raw(self, position: int) -> bytes:
        """Return an entry as strict JSON in the current version's form."""
        place = self._places[position]
        raw = self._stored(place)
        if self.version >= CURRENT_VERSION:
            return raw
        return self._migrated(position, raw)

    def all_read_by_openclaw(self, positions: Sequence[int]) -> bool:
        """Tell whether the real program reads each of these entries."""
        unread = self._lines.unread
        return self.read_by_openclaw and not (unread and any(self._places[place] in unread for place in positions))

    def _stored(self, place: int) -> bytes:
        if place in self._lines.clean:
            return self._lines.clean[place]
        start = self._lines.offsets[place]
        stored = self._data[start : start + self._lines.lengths[place]]
        return stored if is_utf8(stored) else dumps(loads(stored))

    def _header(self, place: int) -> HeaderFact:
        stored = self._stored(place)
        return header_fact(stored, Evidence(*self._place_of(place)))

    def _version_of(self, envelopes: list[Envelope]) -> int | float:
        if self.header is not None:
            return version_of(self.header.header)
        # No header to ask: only version 1 has entries without ids throughout.
        linear = bool(envelopes) and all(_text(envelope.id) is None for envelope in envelopes)
        return 1 if linear else CURRENT_VERSION

    def _migrated(self, position: int, raw: bytes) -> bytes:
        kind = self.types[position]
        if self.version >= TREE_VERSION and kind != "message":
            return raw
        stored = loads(raw)
        if not isinstance(stored, dict):
            return raw
        if self.version < TREE_VERSION:
            stored["id"], stored["parentId"] = self.ids[position], self.parent_ids[position]
            index = stored.get("firstKeptEntryIndex")
            if kind == "compaction" and is_number(index):
                del stored["firstKeptEntryIndex"]
                kept = self._kept_by_index(index, position)
                if kept is not None:
                    stored["firstKeptEntryId"] = kept
        message = stored.get("message")
        if kind == "message" and isinstance(message, dict) and message.get("role") == _OLD_ROLE:
            message["role"] = _NEW_ROLE
        return dumps(stored)

    def _kept_by_index(self, index: float, position: int) -> str | None:
        # The index counts every record that the real program parsed, the header too; ids are given out as it goes, so
        # a record further on has none yet.
        unread = self._lines.unread
        parsed = [place for place in range(len(self._lines.envelopes)) if place not in unread]
        if index != int(index) or not 0 <= index < len(parsed):
            return None
        target = parsed[int(index)]
        if target > self._places[position] or self._lines.envelopes[target].type == HEADER_TYPE:
            return None
        return self.ids[self._places.index(target)]

    def _place_of(self, place: int) -> tuple[int, int, int]:
        return self._lines.numbers[place], self._lines.offsets[place], self._lines.lengths[place]

    def _about_headers(self, headers: list[int], name: str) -> list[Oddity]:
        if not self._data:
            return [Oddity(None, 0, 0, OddityKind.EMPTY, "The file is empty.")]
        found: list[Oddity] = []
        if self.header is None:
            if self._places:
                note = "No header; OpenClaw loads nothing of this file and starts it anew when it opens it."
                found.append(Oddity(None, 0, 0, OddityKind.NO_HEADER, note))
            return found
        if not self.read_by_openclaw:
            note = "The header is not the first record, or has no id; OpenClaw loads nothing of this file."
            found.append(Oddity(*self._place_of(headers[0]), OddityKind.LATE_HEADER, note))
        found.extend(
            Oddity(*self._place_of(place), OddityKind.SECOND_HEADER, "Another header; OpenClaw passes over it.")
            for place in headers[1:]
        )
        if self.version > CURRENT_VERSION:
            note = f"Version {self.version} of the format; {CURRENT_VERSION} is the last one known here."
            found.append(Oddity(*self._place_of(headers[0]), OddityKind.LATER_VERSION, note))
        named = name_oddity(self.header, name)
        return [*found, *([named] if named is not None else [])]


_OLD_ROLE = "hookMessage"
_NEW_ROLE = "custom"


def read_transcript(path: Path, *, limit: int = WHOLE_FILE_BYTES) -> WholeFile:
    """Read a whole transcript.

    Args:
        path: the file; it is opened, read and closed.
        limit: bytes above which it is refused.

    Raises:
        EnvironmentFault: it cannot be read.
        Refused: it is larger than ``limit``.
    """
    return WholeFile(fsys.read_bytes(path, limit)[0], path.name)


def _text(value: str | UnsetType | None) -> str | None:
    return value if isinstance(value, str) else None
