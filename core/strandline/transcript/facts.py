"""What a record says in words and in numbers, each with the place it was read from."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, UnsetType

from strandline.ecmascript import JsonValue, is_finite_number
from strandline.transcript.envelope import Text, loads
from strandline.transcript.places import Evidence

WORDS_SHOWN = 2_000
NO_ANSWER = frozenset({"aborted", "error"})


class Words(msgspec.Struct, frozen=True):
    """What somebody said.

    Attributes:
        role: who: ``user`` or ``assistant``.
        text: the text blocks joined by a space, at most ``WORDS_SHOWN`` characters.
        cut: whether there is more.
        timestamp: time of the record as stored; ``None`` when it has none.
        evidence: where it stands.
    """

    role: str
    text: str
    cut: bool
    timestamp: str | int | float | None
    evidence: Evidence


class UsageFact(msgspec.Struct, frozen=True):
    """What one model call used, as stored.

    Attributes:
        stored: the usage object; other programs' spellings are left to the tokens room.
        tokens: what the real session manager takes for the context after the call (spec 2026.5 §7): ``totalTokens``,
            or the sum of input, output and both cache counts when that is absent or 0.
        provider: who was called.
        model: which model.
        timestamp: time of the record as stored.
        evidence: where it stands.
    """

    stored: dict[str, JsonValue]
    tokens: int | float
    provider: str | None
    model: str | None
    timestamp: str | int | float | None
    evidence: Evidence


class _TextBlock(msgspec.Struct, gc=False):
    type: Text = UNSET
    text: Text = UNSET


class _Said(msgspec.Struct, gc=False):
    content: str | list[_TextBlock] | UnsetType | None = UNSET


class _Line(msgspec.Struct, gc=False):
    message: _Said | UnsetType | None = UNSET


_DECODER = msgspec.json.Decoder(_Line)


def text_of(raw: bytes) -> str:
    """Return the words of a message record: its text blocks joined by a space; images and the rest are skipped."""
    try:
        message = _DECODER.decode(raw).message
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _text_leniently(raw)
    content = message.content if message else None
    if isinstance(content, str):
        return content
    if not content:
        return ""
    return " ".join(block.text for block in content if block.type == "text" and isinstance(block.text, str))


def words_of(
    raw: bytes,
    role: str,
    timestamp: str | float | None,
    evidence: Evidence,
) -> Words | None:
    """Return the words of a message record; ``None`` when it has none."""
    text = text_of(raw).strip()
    if not text:
        return None
    return Words(role, text[:WORDS_SHOWN], len(text) > WORDS_SHOWN, timestamp, evidence)


class _Spent(msgspec.Struct, gc=False):
    usage: Raw | UnsetType = UNSET


class _SpentLine(msgspec.Struct, gc=False):
    message: _Spent | UnsetType | None = UNSET


_USAGE_DECODER = msgspec.json.Decoder(_SpentLine)
_ANY_DECODER = msgspec.json.Decoder()


def usage_of(raw: bytes) -> dict[str, JsonValue] | None:
    """Return the usage object of a message record as stored; ``None`` when it has none."""
    try:
        message = _USAGE_DECODER.decode(raw).message
    except (msgspec.DecodeError, RecursionError):
        return _usage_leniently(raw)
    if not message or isinstance(message.usage, UnsetType):
        return None
    return as_usage(message.usage)


def as_usage(raw: Raw | bytes) -> dict[str, JsonValue] | None:
    """Return a usage object from its JSON; ``None`` when it is no object."""
    stored: JsonValue
    try:
        stored = _ANY_DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        stored = loads(bytes(raw))
    return stored if isinstance(stored, dict) else None


def context_tokens(usage: dict[str, JsonValue]) -> int | float:
    """Return what the real session manager takes for the size of the context after a call with this usage."""
    total = usage.get("totalTokens")
    if is_finite_number(total) and total:
        return total
    counts = (usage.get(name) for name in ("input", "output", "cacheRead", "cacheWrite"))
    return sum(count for count in counts if is_finite_number(count))


def _usage_leniently(raw: bytes) -> dict[str, JsonValue] | None:
    record = loads(raw, strict=False)
    message = record.get("message") if isinstance(record, dict) else None
    usage = message.get("usage") if isinstance(message, dict) else None
    return usage if isinstance(usage, dict) else None


def _text_leniently(raw: bytes) -> str:
    try:
        record = loads(raw, strict=False)
    except (ValueError, RecursionError):
        return ""
    message = record.get("message") if isinstance(record, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "text":
            text = block.get("text")
            texts += [text] if isinstance(text, str) else []
    return " ".join(texts)
