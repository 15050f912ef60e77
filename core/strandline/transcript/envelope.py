"""The few fields of an entry that joining and counting need; the rest of a line is skipped, however long it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

if TYPE_CHECKING:
    from strandline.ecmascript import JsonValue

Text: TypeAlias = str | UnsetType | None
Time: TypeAlias = str | int | float | UnsetType | None


class MessageHead(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What is read of a message at once.

    Attributes:
        role: who speaks (spec 2026.5 §6.1).
        provider: of an assistant's message.
        model: of an assistant's message.
        stop_reason: why an assistant's message ended.
    """

    role: Text = UNSET
    provider: Text = UNSET
    model: Text = UNSET
    stop_reason: Text = UNSET


class Envelope(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What is read of a record at once. ``UNSET`` is absent, ``None`` a stored null.

    Attributes:
        type: record type (spec 2026.5 §6.1); empty when the record has none.
        id: its id, an opaque string; a header's is the session's.
        parent_id: the entry before it.
        timestamp: its time as stored, ISO 8601 as written by the real program.
        message: the message's head, for records that have one.
    """

    type: str = ""
    id: Text = UNSET
    parent_id: Text = UNSET
    timestamp: Time = UNSET
    message: MessageHead | UnsetType | None = UNSET


HEADER_TYPE = "session"

DECODER = msgspec.json.Decoder(Envelope)
_TYPES: dict[str, Any] = {"type": str, "id": Text, "parentId": Text, "timestamp": Time}
_MESSAGE_TYPES: dict[str, Any] = {"role": Text, "provider": Text, "model": Text, "stopReason": Text}


class ReadEnvelope(msgspec.Struct, frozen=True):
    """An envelope with what had to be overlooked to read it.

    Attributes:
        envelope: the fields that fit.
        mistyped: stored names of fields whose value has another type than the real program writes.
        clean: the record as strict UTF-8 JSON when the stored bytes are none; else ``None``.
    """

    envelope: Envelope
    mistyped: tuple[str, ...] = ()
    clean: bytes | None = None


def refuse_constant(name: str) -> JsonValue:
    """Refuse ``NaN`` and ``Infinity``, which Python's reader would take."""
    raise ValueError(f"{name} is no JSON")


def loads(data: bytes, *, strict: bool = True) -> JsonValue:
    """Decode JSON as the real program reads a line: bad UTF-8 becomes U+FFFD, lone surrogates stay.

    Args:
        data: the bytes.
        strict: refuse raw control characters inside strings, as the real program does.

    Raises:
        ValueError: the bytes are no JSON.
        RecursionError: they are nested too deeply.
    """
    value: JsonValue = (_STRICT if strict else _LENIENT).decode(data.decode("utf-8", "replace"))
    return value


# Made once: thousands of small objects are read, and making a reader costs more than reading one of them.
_STRICT = json.JSONDecoder(parse_constant=refuse_constant)
_LENIENT = json.JSONDecoder(strict=False, parse_constant=refuse_constant)


def is_utf8(data: bytes) -> bool:
    """Tell whether bytes are UTF-8 throughout."""
    if data.isascii():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def dumps(value: JsonValue) -> bytes:
    """Encode as JSON that every reader takes; lone surrogates stay escapes."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def read_leniently(data: bytes, *, strict: bool = True) -> ReadEnvelope | None:
    """Read a record that the fast decoder refuses although it may be JSON; ``None`` when it is no object.

    Raises:
        ValueError: the bytes are no JSON.
        RecursionError: they are nested too deeply.
    """
    stored = loads(data, strict=strict)
    if not isinstance(stored, dict):
        return None
    mistyped: list[str] = []
    fields = _fitting(stored, _TYPES, mistyped, "")
    message = stored.get("message", UNSET)
    head: MessageHead | UnsetType | None = None
    if isinstance(message, dict):
        head = msgspec.convert(_fitting(message, _MESSAGE_TYPES, mistyped, "message."), MessageHead)
    elif message is UNSET:
        head = UNSET
    elif message is not None:
        mistyped.append("message")
    envelope = msgspec.convert({**fields, "message": None}, Envelope)
    envelope = msgspec.structs.replace(envelope, message=head)
    clean = None if strict and is_utf8(data) else dumps(stored)
    return ReadEnvelope(envelope, tuple(mistyped), clean)


def _fitting(
    stored: dict[str, JsonValue], types: dict[str, Any], mistyped: list[str], prefix: str
) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {}
    for name, kind in types.items():
        if name not in stored:
            continue
        try:
            msgspec.convert(stored[name], kind)
        except msgspec.ValidationError:
            mistyped.append(prefix + name)
        else:
            fields[name] = stored[name]
    return fields
