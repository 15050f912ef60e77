"""How full a context is: every reading there is, which one was chosen, and why (contract "Readings", spec 2026.5 §7).

The store counts the prompt of the last call; the transcript gives prompt and reply of the same call. They may lie one
reply apart and still agree. Counts that were summed, clamped, left over from before a compaction, negative or 0 are
shown as they are and never chosen. Unknown is not 0.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from strandline.ecmascript import is_finite_number
from strandline.tokens.evidence import StoreCounts, TranscriptTail, shown
from strandline.tokens.words import count_text, percent_text

if TYPE_CHECKING:
    from strandline.tokens.usage import Usage

Unit: TypeAlias = Literal["tokens"]


class Reading(msgspec.Struct, frozen=True, kw_only=True, rename={"as_of_ms": "asOf"}):
    """One reading; ``msgspec.to_builtins`` gives the contract's JSON.

    Attributes:
        name: which reading.
        value: the count; ``None`` is unknown.
        unit: what it counts.
        source: where it was read.
        as_of_ms: the time it tells of, ms since the epoch; ``None`` when unknown.
        fresh: whether it still holds.
        chosen: whether it is the one that is shown; at most one is.
        why: one sentence on what it is and why it was chosen or not.
    """

    name: str
    value: int | float | None
    unit: Unit
    source: str
    as_of_ms: int | float | None
    fresh: bool
    chosen: bool
    why: str


class Verdict(StrEnum):
    """How store and transcript stand to each other."""

    AGREED = "store and transcript agree"
    TRANSCRIPT = "transcript only"
    STORE = "store only"
    BEHIND = "store one step behind"
    STALE = "store stale"
    MARKED_STALE = "store marked not fresh"
    SUMMED = "store holds a sum over calls"
    CLAMPED = "store holds the window itself"
    COMPACTED = "no reply since compaction"
    ODD = "store holds no count"
    NOTHING = "nothing measured"


class Gauge(msgspec.Struct, frozen=True, kw_only=True):
    """How full a context is, with its evidence.

    Attributes:
        readings: every reading, the chosen one included.
        tokens: the chosen value; ``None`` is unknown.
        window: what it is measured against; ``None`` is unknown.
        verdict: how store and transcript stand to each other.
        words: one sentence with both.
        oddities: stored fields that hold no count.
    """

    readings: tuple[Reading, ...]
    tokens: int | float | None
    window: int | float | None
    verdict: Verdict
    words: str
    oddities: tuple[str, ...]

    @property
    def share(self) -> float | None:
        """How full, as a share of the window (0.105 = 10.5 %); ``None`` when unknown."""
        return self.tokens / self.window if self.tokens is not None and self.window else None

    @property
    def store_misleads(self) -> bool:
        """Whether the store vouches for a count that does not hold."""
        return self.verdict in _MISLEADING


_MISLEADING = frozenset({Verdict.STALE, Verdict.SUMMED, Verdict.CLAMPED, Verdict.ODD})


def read_gauge(store: StoreCounts, tail: TranscriptTail | None, window: float | None) -> Gauge:
    """Weigh the readings of a session against each other.

    Args:
        store: the row's counts.
        tail: the end of its transcript; ``None`` when there is no transcript or it was not read yet.
        window: the context window that applies (``tokens.windows``, run budget).
    """
    tail = tail or TranscriptTail()
    current = tail.current
    verdict, why = _weigh(store, tail, window)
    tokens: int | float | None
    if current is not None:
        tokens = _context(tail, current)
    elif verdict is Verdict.STORE:
        tokens = store.total
    else:
        tokens = None
    readings = (
        _store_reading(store, verdict, why, chosen=current is None and tokens is not None),
        *_transcript_readings(tail, current),
        *_window_readings(store),
    )
    return Gauge(
        readings=readings,
        tokens=tokens,
        window=window,
        verdict=verdict,
        words=_sentence(tokens, window, why),
        oddities=store.oddities,
    )


def _weigh(store: StoreCounts, tail: TranscriptTail, window: float | None) -> tuple[Verdict, str]:
    """Judge the stored total; the sentence says why it holds or not."""
    current, total = tail.current, store.total
    if store.total_tokens is not None and total is None:
        return Verdict.ODD, f"The store holds {shown(store.total_tokens)}, which is no count of tokens."
    if not total:
        nothing = "The store says 0, but no prompt is 0: nothing was measured."
        why = "The store counted nothing." if total is None else nothing
        return (Verdict.TRANSCRIPT if current else _unmeasured(tail)), why
    said = f"The store says {count_text(total)}"
    if store.total_tokens_fresh is False:
        return Verdict.MARKED_STALE, f"{said}, but marks it as not fresh."
    if current is not None and _agrees(total, tail, current):
        return Verdict.AGREED, f"{said}, the prompt of the last call; the transcript agrees within one reply."
    superseded = tail.superseded
    if superseded is not None and total in {superseded.prompt, superseded.context}:
        verdict = Verdict.STALE if current else Verdict.COMPACTED
        return verdict, f"{said}, which was counted before the last compaction."
    if window and total > window:
        why = f"{said}, more than the window of {count_text(window)} holds: a sum over calls, no prompt."
        return Verdict.SUMMED, why
    if window and total == window:
        return Verdict.CLAMPED, f"{said}, exactly the window: clamped, not measured."
    if current is not None and _behind(total, store, tail, current):
        return Verdict.BEHIND, f"{said}; the transcript has gone on since the row was written."
    if current is not None:
        return Verdict.STALE, f"{said}, but the last call after the last compaction counted otherwise."
    if not tail.compacted or _written_by_compaction(store, tail):
        return Verdict.STORE, f"{said}, and the transcript holds nothing against it."
    return Verdict.COMPACTED, f"{said}, but nothing shows that it was counted after the last compaction."


def _agrees(total: float, tail: TranscriptTail, current: Usage) -> bool:
    lower = (current.prompt or current.context or 0) - (current.output or 0)
    return lower <= total <= _context(tail, current)


def _behind(total: float, store: StoreCounts, tail: TranscriptTail, current: Usage) -> bool:
    """Tell whether the row tells of an earlier call of the same stretch: it is older, and its count is smaller."""
    written, called = store.updated_at_ms, tail.last_usage_at_ms
    return written is not None and called is not None and written < called and total <= (current.context or 0)


def _written_by_compaction(store: StoreCounts, tail: TranscriptTail) -> bool:
    """Tell whether the total can be what a compaction left: vouched for in so many words, smaller, and not older."""
    before = tail.superseded.context if tail.superseded else None
    written, compacted = store.updated_at_ms, tail.compacted_at_ms
    return (
        store.total_tokens_fresh is True
        and (before is None or (store.total or 0) < before)
        and (written is not None and compacted is not None and written >= compacted)
    )


def _unmeasured(tail: TranscriptTail) -> Verdict:
    return Verdict.NOTHING if tail.usage_after_compaction else Verdict.COMPACTED


def _context(tail: TranscriptTail, current: Usage) -> int:
    return max(tail.estimate_tokens or 0, current.context or 0)


def _store_reading(store: StoreCounts, verdict: Verdict, why: str, *, chosen: bool) -> Reading:
    value = store.total
    return Reading(
        name="store totalTokens",
        value=value,
        unit="tokens",
        source="sessions.json totalTokens: prompt of the last call, without the reply",
        as_of_ms=store.updated_at_ms if value is not None else None,
        fresh=bool(value) and verdict in {Verdict.AGREED, Verdict.STORE},
        chosen=chosen,
        why=f"{why} Chosen: it is all there is." if chosen else why,
    )


def _transcript_readings(tail: TranscriptTail, current: Usage | None) -> list[Reading]:
    readings: list[Reading] = []

    def add(name: str, value: int | None, source: str, why: str, *, fresh: bool = False, chosen: bool = False) -> None:
        readings.append(
            Reading(
                name=name,
                value=value,
                unit="tokens",
                source=source,
                as_of_ms=tail.last_usage_at_ms if fresh else None,
                fresh=fresh,
                chosen=chosen,
                why=why,
            )
        )

    if current is not None:
        add(
            "transcript with reply",
            _context(tail, current),
            "transcript: last usage, reply included, and an estimate of what follows",
            "Chosen: measured at the last call after the last compaction, and nothing is left out.",
            fresh=True,
            chosen=True,
        )
        add(
            "transcript prompt",
            current.prompt,
            "transcript: last usage, input and cache",
            "The prompt of the last call; leaves out the reply, which the next prompt holds too.",
            fresh=True,
        )
    else:
        if tail.last_usage is not None and tail.usage_after_compaction:
            add(
                "transcript usage",
                None,
                "transcript: last usage",
                "Every count of the last usage is 0: nothing was measured.",
            )
        if tail.estimate_tokens is not None:
            add(
                "transcript estimate",
                tail.estimate_tokens,
                "transcript: estimate from characters",
                "Not chosen: no call has measured this context yet; system prompt and tools are not in it.",
            )
    if tail.superseded is not None:
        add(
            "before compaction",
            tail.superseded.context,
            "transcript: last usage before the last compaction",
            "Superseded: the compaction replaced what this counted.",
        )
    return readings


def _window_readings(store: StoreCounts) -> list[Reading]:
    window = store.context_tokens
    if window is None:
        return []
    usable = is_finite_number(window) and window > 0
    return [
        Reading(
            name="store contextTokens",
            value=window if is_finite_number(window) and window > 0 else None,
            unit="tokens",
            source="sessions.json contextTokens: window of the last run",
            as_of_ms=store.updated_at_ms if usable else None,
            fresh=usable,
            chosen=False,
            why="How much the context held at the last run; not how full it is."
            if usable
            else f"Stored as {shown(window)}, which is no window.",
        )
    ]


def _sentence(tokens: float | None, window: float | None, why: str) -> str:
    if tokens is None:
        return f"Unknown. {why}"
    if not window:
        return f"{count_text(tokens)} tokens of an unknown window. {why}"
    return f"{count_text(tokens)} of {count_text(window)} tokens ({percent_text(tokens / window)}). {why}"
