"""What one call to a model used, whichever way its provider spells it (spec 2026.5 §7).

All counts are tokens. ``None`` is "not said", which is not 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from strandline.ecmascript import JsonValue, is_finite_number

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGEST = 2**53 - 1

# In the order in which the real program looks; the first that is neither absent nor null is taken, whatever it holds.
_INPUT = (
    "input", "inputTokens", "input_tokens", "promptTokens", "prompt_tokens", "prompt_n", "timings.prompt_n",
)  # fmt: skip
_OUTPUT = (
    "output", "outputTokens", "output_tokens", "completionTokens", "completion_tokens", "predicted_n",
    "timings.predicted_n",
)  # fmt: skip
_OPENAI_CACHED = ("cached_tokens", "input_tokens_details.cached_tokens", "prompt_tokens_details.cached_tokens")
_CACHE_READ = ("cacheRead", "cache_read", "cache_read_input_tokens", *_OPENAI_CACHED)
_CACHE_WRITE = ("cacheWrite", "cache_write", "cache_creation_input_tokens")
_REASONING = (
    "reasoningTokens", "reasoning_tokens", "completion_tokens_details.reasoning_tokens",
    "output_tokens_details.reasoning_tokens",
)  # fmt: skip
_TOTAL = ("total", "totalTokens", "total_tokens")


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one call, normalised.

    Attributes:
        input: prompt tokens that no cache served.
        output: tokens of the reply.
        cache_read: prompt tokens that a cache served.
        cache_write: prompt tokens that were written to a cache.
        reasoning: tokens of hidden reasoning; part of ``output`` where a provider tells.
        total: the sum as the provider states it.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    total: int | None = None

    @property
    def prompt(self) -> int | None:
        """Size of the prompt: input and both cache figures; ``None`` when nothing was counted. A prompt is never 0."""
        return (self.input or 0) + (self.cache_read or 0) + (self.cache_write or 0) or None

    @property
    def context(self) -> int | None:
        """Prompt and reply together, as the agent library counts a context; ``None`` when nothing was counted."""
        return self.total or (self.prompt or 0) + (self.output or 0) or None

    @property
    def measured(self) -> bool:
        """Whether anything was counted at all; a call whose every count is 0 measured nothing."""
        counts = (self.input, self.output, self.cache_read, self.cache_write, self.reasoning, self.total)
        return any(counts)


def normalise_usage(raw: JsonValue) -> Usage | None:
    """Return the usage that ``raw`` states, or ``None`` when it states none.

    Where a provider counts the way OpenAI does, its input includes what the cache served; that part is taken out.
    Counts are cut to whole tokens, negative ones are 0.
    """
    if not isinstance(raw, dict):
        return None
    cache_read = _count(_first(raw, _CACHE_READ))
    stated = _first(raw, _INPUT)
    if is_finite_number(stated) and cache_read is not None and any(_present(raw, path) for path in _OPENAI_CACHED):
        stated = stated - cache_read
    usage = Usage(
        input=_count(stated),
        output=_count(_first(raw, _OUTPUT)),
        cache_read=cache_read,
        cache_write=_count(_first(raw, _CACHE_WRITE)),
        reasoning=_count(_first(raw, _REASONING)),
        total=_count(_first(raw, _TOTAL)),
    )
    return None if usage == _NOTHING else usage


def _count(value: JsonValue) -> int | None:
    if not is_finite_number(value):
        return None
    return min(math.trunc(value), _LARGEST) if value > 0 else 0


def _first(raw: Mapping[str, JsonValue], paths: tuple[str, ...]) -> JsonValue:
    return next((value for path in paths if (value := _at(raw, path)) is not None), None)


def _at(raw: Mapping[str, JsonValue], path: str) -> JsonValue:
    outer, _, inner = path.partition(".")
    value = raw.get(outer)
    if not inner:
        return value
    return value.get(inner) if isinstance(value, dict) else None


def _present(raw: Mapping[str, JsonValue], path: str) -> bool:
    outer, _, inner = path.partition(".")
    if not inner:
        return outer in raw
    value = raw.get(outer)
    return isinstance(value, dict) and inner in value


_NOTHING = Usage()
