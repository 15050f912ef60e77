"""Every record type of a transcript with every field that OpenClaw 2026.5.22 writes (spec 2026.5 §6.1).

A record is decoded when someone looks at it. ``UNSET`` is absent, ``None`` a stored null; times of records are ISO
8601, times inside messages ms since the epoch. Values that may weigh megabytes stay raw JSON. What no type here fits
is an ``UnknownRecord`` or ``UnknownMessage``: everything it says is kept.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from strandline.ecmascript import JsonValue
from strandline.transcript.envelope import Text, Time, dumps, loads

Number: TypeAlias = int | float | UnsetType | None
Flag: TypeAlias = bool | UnsetType | None
Nested: TypeAlias = Raw | UnsetType


class Block(msgspec.Struct, frozen=True, rename="camel"):
    """A content block. Which fields it has goes by its type: text, thinking, toolCall, image, or one we do not know.

    Attributes:
        type: as stored.
        text: of a text block.
        thinking: of a thinking block.
        thinking_signature: its signature.
        redacted: whether the thinking was withheld.
        id: of a tool call.
        name: the tool's name.
        arguments: its arguments, JSON.
        data: an image's base64, still JSON.
        mime_type: the image's type.
    """

    type: Text = UNSET
    text: Text = UNSET
    thinking: Text = UNSET
    thinking_signature: Text = UNSET
    redacted: Flag = UNSET
    id: Text = UNSET
    name: Text = UNSET
    arguments: Nested = UNSET
    data: Nested = UNSET
    mime_type: Text = UNSET


Content: TypeAlias = str | list[Block] | UnsetType | None


class UserMessage(msgspec.Struct, frozen=True, rename="camel", tag_field="role", tag="user"):
    """What a person said, or what was said in a person's place."""

    content: Content = UNSET
    timestamp: Number = UNSET
    provenance: Nested = UNSET
    idempotency_key: Text = UNSET


class AssistantMessage(msgspec.Struct, frozen=True, rename="camel", tag_field="role", tag="assistant"):
    """A model's answer; ``stop_reason`` is stop, length, toolUse, error or aborted."""

    content: Content = UNSET
    api: Text = UNSET
    provider: Text = UNSET
    model: Text = UNSET
    usage: Nested = UNSET
    stop_reason: Text = UNSET
    error_message: Text = UNSET
    timestamp: Number = UNSET
    idempotency_key: Text = UNSET


class ToolResultMessage(msgspec.Struct, frozen=True, rename="camel", tag_field="role", tag="toolResult"):
    """What a tool gave back."""

    tool_call_id: Text = UNSET
    tool_name: Text = UNSET
    content: Content = UNSET
    details: Nested = UNSET
    is_error: Flag = UNSET
    timestamp: Number = UNSET


class BashExecutionMessage(msgspec.Struct, frozen=True, rename="camel", tag_field="role", tag="bashExecution"):
    """A command that a person ran beside the model."""

    command: Text = UNSET
    output: Text = UNSET
    exit_code: Number = UNSET
    cancelled: Flag = UNSET
    truncated: Flag = UNSET
    full_output_path: Text = UNSET
    exclude_from_context: Flag = UNSET
    timestamp: Number = UNSET


class CustomMessage(msgspec.Struct, frozen=True, rename="camel", tag_field="role", tag="custom"):
    """A message that an extension wrote; the model reads it as a user's."""

    custom_type: Text = UNSET
    content: Content = UNSET
    display: Flag = UNSET
    details: Nested = UNSET
    timestamp: Number = UNSET


class UnknownMessage(msgspec.Struct, frozen=True):
    """A message of a role or shape we do not know.

    Attributes:
        stored: the message as it stands.
    """

    stored: JsonValue


Message: TypeAlias = (
    UserMessage | AssistantMessage | ToolResultMessage | BashExecutionMessage | CustomMessage | UnknownMessage
)


class _Record(msgspec.Struct, frozen=True, rename="camel"):
    id: Text = UNSET
    parent_id: Text = UNSET
    timestamp: Time = UNSET


class SessionHeader(msgspec.Struct, frozen=True, rename="camel"):
    """The first record of a transcript. Old ones also carry provider, model and thinking level."""

    id: Text = UNSET
    version: Number = UNSET
    timestamp: Time = UNSET
    cwd: Text = UNSET
    parent_session: Text = UNSET
    provider: Text = UNSET
    model_id: Text = UNSET
    thinking_level: Text = UNSET


class MessageRecord(_Record, frozen=True, rename="camel"):
    """One message of the talk, still JSON: ``decode_message`` reads it."""

    message: Nested = UNSET


class ThinkingLevelChange(_Record, frozen=True, rename="camel"):
    """From here on the model thinks this much."""

    thinking_level: Text = UNSET


class ModelChange(_Record, frozen=True, rename="camel"):
    """From here on this model answers."""

    provider: Text = UNSET
    model_id: Text = UNSET


class Compaction(_Record, frozen=True, rename="camel"):
    """What came before ``first_kept_entry_id`` is replaced by a summary."""

    summary: Text = UNSET
    first_kept_entry_id: Text = UNSET
    first_kept_entry_index: Number = UNSET
    tokens_before: Number = UNSET
    details: Nested = UNSET
    from_hook: Flag = UNSET


class BranchSummary(_Record, frozen=True, rename="camel"):
    """A summary of a branch that the talk came back from; ``from_id`` is ``root`` when it began anew."""

    from_id: Text = UNSET
    summary: Text = UNSET
    details: Nested = UNSET
    from_hook: Flag = UNSET


class Custom(_Record, frozen=True, rename="camel"):
    """An extension's own data; no model sees it."""

    custom_type: Text = UNSET
    data: Nested = UNSET


class CustomMessageRecord(_Record, frozen=True, rename="camel"):
    """An extension's words; the model reads them as a user's."""

    custom_type: Text = UNSET
    content: Content = UNSET
    display: Flag = UNSET
    details: Nested = UNSET


class Label(_Record, frozen=True, rename="camel"):
    """A name for another entry; an absent or empty label takes it away."""

    target_id: Text = UNSET
    label: Text = UNSET


class SessionInfo(_Record, frozen=True, rename="camel"):
    """A name for the session; an empty one takes it away."""

    name: Text = UNSET


class UnknownRecord(msgspec.Struct, frozen=True):
    """A record of a type or shape we do not know.

    Attributes:
        type: its type; empty when it has none.
        stored: the record as it stands.
    """

    type: str
    stored: JsonValue


Record: TypeAlias = (
    SessionHeader
    | MessageRecord
    | ThinkingLevelChange
    | ModelChange
    | Compaction
    | BranchSummary
    | Custom
    | CustomMessageRecord
    | Label
    | SessionInfo
    | UnknownRecord
)

_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(kind)
    for name, kind in {
        "session": SessionHeader,
        "message": MessageRecord,
        "thinking_level_change": ThinkingLevelChange,
        "model_change": ModelChange,
        "compaction": Compaction,
        "branch_summary": BranchSummary,
        "custom": Custom,
        "custom_message": CustomMessageRecord,
        "label": Label,
        "session_info": SessionInfo,
    }.items()
}
KNOWN_TYPES = frozenset(_DECODERS)
_KNOWN_MESSAGES: Any = UserMessage | AssistantMessage | ToolResultMessage | BashExecutionMessage | CustomMessage
_MESSAGE_DECODER: msgspec.json.Decoder[Message] = msgspec.json.Decoder(_KNOWN_MESSAGES)


def decode_record(kind: str, raw: bytes) -> Record:
    """Decode one record with every field.

    Args:
        kind: its type.
        raw: its JSON.
    """
    decoder = _DECODERS.get(kind)
    if decoder is None:
        return UnknownRecord(kind, loads(raw))
    try:
        record: Record = decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # A lone surrogate stops the fast decoder, not the real program.
        return _convert(loads(raw), decoder.type, UnknownRecord, kind)
    return record


def decode_message(raw: bytes | Raw) -> Message:
    """Decode one message with every field."""
    try:
        return _MESSAGE_DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        stored = loads(bytes(raw))
        try:
            message: Message = msgspec.convert(_without_nested(stored), _KNOWN_MESSAGES)
        except msgspec.ValidationError:
            return UnknownMessage(stored)
        return message


def _convert(stored: JsonValue, kind: Any, unknown: type[UnknownRecord], name: str) -> Record:  # noqa: ANN401 - a type
    try:
        record: Record = msgspec.convert(_without_nested(stored), kind)
    except msgspec.ValidationError:
        return unknown(name, stored)
    return record


_NESTED = frozenset({"usage", "details", "data", "provenance", "arguments", "message"})


def _without_nested(stored: JsonValue) -> Any:  # noqa: ANN401 - JSON with raw parts
    """Return decoded JSON with the parts that stay raw put back into raw form."""
    if not isinstance(stored, dict):
        return stored
    content = stored.get("content")
    result: dict[str, Any] = {name: Raw(dumps(value)) if name in _NESTED else value for name, value in stored.items()}
    if isinstance(content, list):
        result["content"] = [_without_nested(block) for block in content]
    return result
