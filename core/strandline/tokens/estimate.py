"""What the real session manager takes messages for, in tokens (spec 2026.5 §7).

Four UTF-16 units make a token, an image in a tool result or a custom message weighs 1,200, one in a user's message
nothing. The size of a context is the usage of its last answered call plus the estimate of what came after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw, UnsetType

from strandline.ecmascript import stringified_length, utf16_length
from strandline.transcript.envelope import dumps, loads
from strandline.transcript.facts import NO_ANSWER, as_usage, context_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strandline.ecmascript import JsonValue

IMAGE_UNITS = 4800
UNITS_PER_TOKEN = 4


class ContextEstimate(msgspec.Struct, frozen=True, rename="camel"):
    """How large a context is taken to be.

    Attributes:
        tokens: all of it.
        usage_tokens: what the last answered call reported; 0 when none did.
        trailing_tokens: estimate of the messages after it, or of all messages.
        last_usage_index: place of that call's message; ``None`` when no call reported a usage.
    """

    tokens: int | float
    usage_tokens: int | float
    trailing_tokens: int
    last_usage_index: int | None


class _Block(msgspec.Struct, gc=False):
    type: str | UnsetType | None = UNSET
    text: str | UnsetType | None = UNSET
    thinking: str | UnsetType | None = UNSET
    name: str | UnsetType | None = UNSET
    arguments: Raw | UnsetType = UNSET


class _Weighed(msgspec.Struct, gc=False, rename="camel"):
    role: str | UnsetType | None = UNSET
    content: str | list[_Block] | UnsetType | None = UNSET
    command: str | UnsetType | None = UNSET
    output: str | UnsetType | None = UNSET
    summary: str | UnsetType | None = UNSET
    stop_reason: str | UnsetType | None = UNSET
    usage: Raw | UnsetType = UNSET


_DECODER = msgspec.json.Decoder(_Weighed)
_WITH_IMAGES = frozenset({"custom", "toolResult"})
_SUMMARIES = frozenset({"branchSummary", "compactionSummary"})


def estimate_tokens(message: bytes | Raw) -> int:
    """Estimate one message of a context.

    Args:
        message: the message as JSON, as the context holds it.
    """
    return _estimate(_read(message))


def estimate_messages(messages: Sequence[bytes | Raw]) -> tuple[tuple[int, ...], ContextEstimate]:
    """Estimate each message, and the whole.

    Args:
        messages: the messages of a context as JSON, in order.
    """
    read = [_read(message) for message in messages]
    each = tuple(_estimate(message) for message in read)
    for index in range(len(read) - 1, -1, -1):
        usage = _usage(read[index])
        if usage is not None:
            reported = context_tokens(usage)
            trailing = sum(each[index + 1 :])
            return each, ContextEstimate(reported + trailing, reported, trailing, index)
    total = sum(each)
    return each, ContextEstimate(total, 0, total, None)


def estimate_context_tokens(messages: Sequence[bytes | Raw]) -> ContextEstimate:
    """Estimate the size of a context; see ``estimate_messages``."""
    return estimate_messages(messages)[1]


def _estimate(message: _Weighed) -> int:
    units = 0
    content = message.content
    if message.role == "assistant":
        # A text in place of the blocks counts nothing there.
        units = sum(map(_answer_units, content)) if isinstance(content, list) else 0
    elif message.role == "user" or message.role in _WITH_IMAGES:
        if isinstance(content, str):
            units = utf16_length(content)
        elif content:
            units = sum(_length(block.text) for block in content if block.type == "text")
            if message.role in _WITH_IMAGES:
                units += IMAGE_UNITS * sum(block.type == "image" for block in content)
    elif message.role == "bashExecution":
        units = _length(message.command) + _length(message.output)
    elif message.role in _SUMMARIES:
        units = _length(message.summary)
    return -(-units // UNITS_PER_TOKEN)


def _answer_units(block: _Block) -> int:
    if block.type == "text":
        return _length(block.text)
    if block.type == "thinking":
        return _length(block.thinking)
    if block.type == "toolCall":
        arguments = 0
        if not isinstance(block.arguments, UnsetType):
            arguments = stringified_length(bytes(block.arguments).decode("utf-8", "replace"))
        return _length(block.name) + arguments
    return 0


def _usage(message: _Weighed) -> dict[str, JsonValue] | None:
    if message.role != "assistant" or message.stop_reason in NO_ANSWER or isinstance(message.usage, UnsetType):
        return None
    return as_usage(message.usage)


def _length(text: str | UnsetType | None) -> int:
    return utf16_length(text) if isinstance(text, str) else 0


def _read(message: bytes | Raw) -> _Weighed:
    try:
        return _DECODER.decode(message)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _read_leniently(loads(bytes(message), strict=False))


def _read_leniently(stored: JsonValue) -> _Weighed:
    """Read a message with lone surrogates or fields of strange types; such fields count nothing."""
    weighed = _Weighed()
    if not isinstance(stored, dict):
        return weighed
    for name in ("role", "command", "output", "summary"):
        value = stored.get(name)
        if isinstance(value, str):
            setattr(weighed, name, value)
    reason = stored.get("stopReason")
    weighed.stop_reason = reason if isinstance(reason, str) else UNSET
    if "usage" in stored:
        weighed.usage = Raw(dumps(stored["usage"]))
    content = stored.get("content")
    if isinstance(content, str):
        weighed.content = content
    elif isinstance(content, list):
        weighed.content = [_read_block(block) for block in content]
    return weighed


def _read_block(stored: JsonValue) -> _Block:
    block = _Block()
    if not isinstance(stored, dict):
        return block
    for name in ("type", "text", "thinking", "name"):
        value = stored.get(name)
        if isinstance(value, str):
            setattr(block, name, value)
    if "arguments" in stored:
        block.arguments = Raw(dumps(stored["arguments"]))
    return block
