"""The interface behind which a transcript's entries stand, whatever holds them, and what a header says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from strandline.ecmascript import is_number
from strandline.transcript.envelope import HEADER_TYPE, loads
from strandline.transcript.places import Damage, Evidence, Oddity, OddityKind
from strandline.transcript.records import Record, SessionHeader, decode_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strandline.ecmascript import JsonValue

CURRENT_VERSION = 3
TREE_VERSION = 2
_FILE_ENDING = ".jsonl"


class EntryHead(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What is known of an entry without reading its body.

    Attributes:
        position: its place among the entries, from 0; headers do not count.
        line: physical line from 1.
        offset: byte at which it starts.
        length: bytes that it takes.
        type: record type as stored.
        id: its id; ``None`` when it has none. Entries of version 1 have the ids that they are read with.
        parent_id: the entry before it; ``None`` at a root.
        timestamp: its time as stored; ``None`` when it has none.
        role: who speaks, for messages.
        provider: of an assistant's message.
        model: of an assistant's message.
        stop_reason: of an assistant's message.
        read_by_openclaw: whether the real program reads it too; salvaged records are lost to it.
    """

    position: int
    line: int
    offset: int
    length: int
    type: str
    id: str | None
    parent_id: str | None
    timestamp: str | int | float | None
    role: str | None
    provider: str | None
    model: str | None
    stop_reason: str | None
    read_by_openclaw: bool

    @property
    def evidence(self) -> Evidence:
        """Where it stands."""
        return Evidence(self.line, self.offset, self.length)


class HeaderFact(msgspec.Struct, frozen=True):
    """The header of a transcript.

    Attributes:
        header: its fields.
        stored: the record as JSON, untouched.
        evidence: where it stands.
    """

    header: SessionHeader
    stored: bytes
    evidence: Evidence


class TranscriptIndex(Protocol):
    """Entries of one transcript in the order of the file, joined by nobody yet.

    The columns are sequences of equal length, indexed by position; positions count entries from 0.
    """

    @property
    def header(self) -> HeaderFact | None:
        """The first header of the file, on whatever line; ``None`` when there is none."""
        ...

    @property
    def version(self) -> int | float:
        """Version of the format as the real program takes it: 1 when the header names none."""
        ...

    @property
    def read_by_openclaw(self) -> bool:
        """Whether the real program reads anything: only when the first record is a header with an id."""
        ...

    @property
    def damage(self) -> tuple[Damage, ...]:
        """Bytes that belong to no entry."""
        ...

    @property
    def oddities(self) -> tuple[Oddity, ...]:
        """What is odd although it reads well."""
        ...

    @property
    def ids(self) -> Sequence[str | None]:
        """Ids by position."""
        ...

    @property
    def parent_ids(self) -> Sequence[str | None]:
        """Parents' ids by position; ``None`` at a root."""
        ...

    @property
    def types(self) -> Sequence[str]:
        """Record types by position."""
        ...

    def __len__(self) -> int:
        """Return how many entries there are."""
        ...

    def entry(self, position: int) -> EntryHead:
        """Return what is known of an entry without its body."""
        ...

    def role(self, position: int) -> str | None:
        """Return who speaks in an entry; ``None`` when it is no message."""
        ...

    def usage(self, position: int) -> dict[str, JsonValue] | None:
        """Return the usage that an entry's message reports, as stored; ``None`` when it reports none."""
        ...

    def raw(self, position: int) -> bytes:
        """Return an entry as strict JSON in the current version's form."""
        ...

    def all_read_by_openclaw(self, positions: Sequence[int]) -> bool:
        """Tell whether the real program reads each of these entries."""
        ...


def record_at(index: TranscriptIndex, position: int) -> Record:
    """Decode one entry with every field."""
    return decode_record(index.types[position], index.raw(position))


def header_fact(stored: bytes, evidence: Evidence) -> HeaderFact:
    """Decode a header record; fields of a strange type are left out."""
    header = decode_record(HEADER_TYPE, stored)
    if not isinstance(header, SessionHeader):
        fields = loads(stored)
        fitting = (
            {name: value for name, value in fields.items() if _is_plain(name, value)}
            if isinstance(fields, dict)
            else {}
        )
        header = msgspec.convert(fitting, SessionHeader)
    return HeaderFact(header, stored, evidence)


def version_of(header: SessionHeader) -> int | float:
    """Return the version that the real program takes a header for."""
    return header.version if is_number(header.version) else 1


def name_oddity(header: HeaderFact, name: str) -> Oddity | None:
    """Say so when the header's id is not the one that the file is named after; ``None`` when it fits."""
    session_id = header.header.id
    stem = name.partition(_FILE_ENDING)[0]
    if not name or not isinstance(session_id, str) or session_id in stem:
        return None
    evidence = header.evidence
    note = f"The header says {session_id}, the file is named {name}."
    return Oddity(evidence.line, evidence.offset, evidence.length, OddityKind.HEADER_NAME, note)


def _is_plain(name: str, value: object) -> bool:
    return is_number(value) if name == "version" else isinstance(value, str)
