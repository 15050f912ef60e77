"""What stands in a transcript's lock file: whole, half written, empty or junk (spec 2026.5 §1.4)."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from strandline.ecmascript import is_number

if TYPE_CHECKING:
    from typing import NoReturn

    from strandline.ecmascript import JsonValue

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?", re.ASCII)


class Content(StrEnum):
    """What stands in a lock file."""

    WHOLE = "whole"
    INCOMPLETE = "incomplete"
    EMPTY = "empty"
    UNREADABLE = "unreadable"


class LockPayload(msgspec.Struct, frozen=True, kw_only=True):
    """What a lock file says; a field of the wrong type counts as absent, as in the real program.

    Attributes:
        content: whether it could be read, and whether owner and time are there.
        pid: the owner's process number.
        created_at: when it was taken, as written.
        created_ms: the same in milliseconds since the epoch; ``None`` when that is no time.
        start_ticks: when the owner began (Linux clock ticks since boot).
        max_hold_ms: how long the owner means to hold it, ms.
    """

    content: Content
    pid: int | None = None
    created_at: str | None = None
    created_ms: float | None = None
    start_ticks: int | None = None
    max_hold_ms: int | None = None


def parse_lock(data: bytes) -> LockPayload:
    """Read the content of a lock file, whatever stands in it."""
    if not data.strip(b"\0 \t\r\n"):
        return LockPayload(content=Content.EMPTY)
    try:
        value: JsonValue = json.loads(data.decode("utf-8", "replace"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return LockPayload(content=Content.UNREADABLE)
    if not isinstance(value, dict):
        return LockPayload(content=Content.UNREADABLE)
    created_at = value.get("createdAt")
    created_ms = parse_time(created_at) if isinstance(created_at, str) else None
    pid = _whole(value.get("pid")) or None
    return LockPayload(
        content=Content.INCOMPLETE if pid is None or created_ms is None else Content.WHOLE,
        pid=pid,
        created_at=created_at if isinstance(created_at, str) else None,
        created_ms=created_ms,
        start_ticks=_whole(value.get("starttime")),
        max_hold_ms=_whole(value.get("maxHoldMs")) or None,
    )


def parse_time(text: str) -> float | None:
    """Return an ISO time in milliseconds since the epoch, ``None`` for anything else.

    The real program's ``Date.parse`` also reads some loose forms, which OpenClaw never writes.
    """
    if not _ISO.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None and "T" not in text:
        moment = moment.replace(tzinfo=UTC)
    try:
        return moment.timestamp() * 1000
    except (OverflowError, OSError):
        return None


def _whole(value: JsonValue) -> int | None:
    """Return a number that JavaScript takes for an integer of 0 or more."""
    if not is_number(value) or value < 0 or value == float("inf"):
        return None
    return int(value) if value == int(value) else None


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)
