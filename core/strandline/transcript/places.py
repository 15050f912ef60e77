"""Where something stands in a transcript, what is broken there, and what reads well but is odd."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Evidence(msgspec.Struct, frozen=True):
    """The place of a record.

    Attributes:
        line: physical line from 1; ``None`` when the file was read from its end and nobody counted.
        offset: byte at which it starts.
        length: bytes that it takes, without a line ending.
    """

    line: int | None
    offset: int
    length: int


class DamageKind(StrEnum):
    """What is wrong with bytes that belong to no entry."""

    UNFINISHED = "unfinished last record"
    CUT_SHORT = "record cut short"
    NUL = "NUL bytes"
    NO_JSON = "no JSON"
    NO_OBJECT = "no object"
    TOO_DEEP = "nested too deeply"
    NOT_UTF8 = "not UTF-8"
    UNSEARCHED = "too broken to search"


class Damage(msgspec.Struct, frozen=True):
    """Bytes that belong to no entry.

    Attributes:
        line: physical line from 1; ``None`` when the file was read from its end.
        offset: byte at which they start.
        length: how many.
        kind: what is wrong; ``UNFINISHED`` is normal while the file is being written.
        reason: the same in words, as ``412 NUL bytes``.
    """

    line: int | None
    offset: int
    length: int
    kind: DamageKind
    reason: str


class OddityKind(StrEnum):
    """What is odd although nothing is lost."""

    BYTE_ORDER_MARK = "byte order mark"
    CARRIAGE_RETURNS = "carriage returns"
    BAD_UTF8 = "bad UTF-8"
    GLUED = "glued records"
    RAW_CONTROL = "raw control characters in a string"
    MISTYPED = "field of another type"
    LATE_HEADER = "late header"
    NO_HEADER = "no header"
    SECOND_HEADER = "second header"
    HEADER_NAME = "header id differs from the file name"
    LATER_VERSION = "later version"
    EMPTY = "empty file"


class Oddity(msgspec.Struct, frozen=True):
    """Something a person should know about bytes that read well.

    Attributes:
        line: physical line from 1; ``None`` when the whole file is meant or nobody counted.
        offset: byte at which it starts.
        length: bytes concerned; 0 when the whole file is meant.
        kind: what is odd.
        note: one sentence.
    """

    line: int | None
    offset: int
    length: int
    kind: OddityKind
    note: str
