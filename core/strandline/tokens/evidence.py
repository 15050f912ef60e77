"""What the readings of a session rest on: the counts of its row, the end of its transcript (spec 2026.5 §7).

All counts are tokens, all times ms since the epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from strandline.ecmascript import JsonValue, is_finite_number, is_number, number_text
from strandline.tokens.usage import Usage
from strandline.tokens.words import count_text

if TYPE_CHECKING:
    from collections.abc import Mapping


class StoreCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What a row says about tokens, raw: a field may hold anything.

    Attributes:
        total_tokens: ``totalTokens``: prompt of the last call.
        total_tokens_fresh: ``totalTokensFresh``; anything but ``false`` vouches for it.
        context_tokens: ``contextTokens``: window of the last run.
        input_tokens: ``inputTokens``: sum over the calls of the last run.
        output_tokens: ``outputTokens``: the same.
        cache_read: ``cacheRead``.
        cache_write: ``cacheWrite``.
        updated_at_ms: when the row was last changed, ms since the epoch.
    """

    total_tokens: JsonValue = None
    total_tokens_fresh: JsonValue = None
    context_tokens: JsonValue = None
    input_tokens: JsonValue = None
    output_tokens: JsonValue = None
    cache_read: JsonValue = None
    cache_write: JsonValue = None
    updated_at_ms: int | float | None = None

    @classmethod
    def of(cls, entry: Mapping[str, JsonValue]) -> StoreCounts:
        """Take the counts out of a stored entry."""
        updated = entry.get("updatedAt")
        return cls(
            total_tokens=entry.get("totalTokens"),
            total_tokens_fresh=entry.get("totalTokensFresh"),
            context_tokens=entry.get("contextTokens"),
            input_tokens=entry.get("inputTokens"),
            output_tokens=entry.get("outputTokens"),
            cache_read=entry.get("cacheRead"),
            cache_write=entry.get("cacheWrite"),
            updated_at_ms=updated if is_finite_number(updated) and updated > 0 else None,
        )

    @property
    def total(self) -> int | float | None:
        """The stored total as the real program reads it: finite and at least 0, else ``None``."""
        return self.total_tokens if is_finite_number(self.total_tokens) and self.total_tokens >= 0 else None

    @property
    def fresh_total(self) -> int | float | None:
        """The total that the store vouches for, by the real program's rule."""
        return None if self.total_tokens_fresh is False else self.total

    @property
    def oddities(self) -> tuple[str, ...]:
        """Fields that hold what cannot be a count, one sentence each."""
        named = {
            "totalTokens": self.total_tokens,
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "cacheRead": self.cache_read,
            "cacheWrite": self.cache_write,
            "contextTokens": self.context_tokens,
        }
        return tuple(
            f"{name} is {shown(value)}, which is no count of tokens."
            for name, value in named.items()
            if value is not None and not (is_finite_number(value) and value >= 0)
        )


class TranscriptTail(msgspec.Struct, frozen=True, kw_only=True):
    """What the end of a transcript says about tokens.

    Attributes:
        last_usage: usage of the last assistant message that was neither aborted nor an error; ``None`` when none has.
        last_usage_at_ms: when that call was made, ms since the epoch.
        usage_after_compaction: whether it came after the last compaction; true when there was no compaction.
        compacted_at_ms: time of the last compaction; ``None`` when there was none or it is not stated.
        superseded_usage: the last usage before the last compaction, when it is known besides ``last_usage``.
        estimate_tokens: estimated context with reply and all that follows; after a compaction without a reply it is
            summary and kept messages.
        bytes: size of the file.
    """

    last_usage: Usage | None = None
    last_usage_at_ms: int | float | None = None
    usage_after_compaction: bool = True
    compacted_at_ms: int | float | None = None
    superseded_usage: Usage | None = None
    estimate_tokens: int | None = None
    bytes: int | None = None

    @property
    def current(self) -> Usage | None:
        """The usage that tells of the present context: measured, and after the last compaction."""
        usage = self.last_usage
        return usage if usage is not None and usage.context is not None and self.usage_after_compaction else None

    @property
    def compacted(self) -> bool:
        """Whether there was a compaction, as far as this tells."""
        known = self.compacted_at_ms is not None or self.superseded_usage is not None
        return known or not self.usage_after_compaction

    @property
    def superseded(self) -> Usage | None:
        """The last measured usage before the last compaction."""
        usage = self.superseded_usage if self.usage_after_compaction else self.last_usage
        return usage if usage is not None and usage.context is not None else None


def shown(value: JsonValue) -> str:
    """Return a stored value as a sentence shows it."""
    if is_number(value):
        return count_text(value) if is_finite_number(value) else number_text(value)
    return f"“{value}”" if isinstance(value, str) else msgspec.json.encode(value).decode()
