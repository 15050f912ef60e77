"""Whether notes are saved before a compaction, and what the row says about it (spec 2026.5 §9, case A20).

The real program flushes once per compaction cycle: it is done when ``memoryFlushCompactionCount`` equals
``compactionCount``, whether or not a flush ever ran.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from strandline.ecmascript import JsonValue, is_finite_number, is_number
from strandline.findings import Finding
from strandline.tokens.words import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from strandline.compaction.thresholds import Threshold
    from strandline.tokens.evidence import StoreCounts
    from strandline.tokens.usage import Usage

REPEATED = "memory-flush-repeated"
SKIPPED = "memory-flush-skipped"


class FlushRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a row says about flushes, raw.

    Attributes:
        compaction_count: ``compactionCount``; absent counts as 0.
        flushed_at_count: ``memoryFlushCompactionCount``: the count at the last flush.
        flushed_at_ms: ``memoryFlushAt``, ms since the epoch.
    """

    compaction_count: JsonValue = None
    flushed_at_count: JsonValue = None
    flushed_at_ms: JsonValue = None

    @classmethod
    def of(cls, entry: Mapping[str, JsonValue]) -> FlushRecord:
        """Take the record out of a stored entry."""
        return cls(
            compaction_count=entry.get("compactionCount"),
            flushed_at_count=entry.get("memoryFlushCompactionCount"),
            flushed_at_ms=entry.get("memoryFlushAt"),
        )

    @property
    def done_this_cycle(self) -> bool:
        """Whether the real program takes the flush of this cycle for done."""
        count = 0 if self.compaction_count is None else self.compaction_count
        return is_number(count) and is_number(self.flushed_at_count) and self.flushed_at_count == count

    @property
    def ever_ran(self) -> bool:
        """Whether the row holds the time of a flush."""
        return is_finite_number(self.flushed_at_ms)


class FlushVerdict(StrEnum):
    """How things stand with the flush of a session."""

    OFF = "off"
    NOT_DUE = "not due"
    DUE = "due"
    DONE = "done this cycle"
    REPEATED = "repeated"
    SKIPPED = "will be skipped though it never ran"
    UNKNOWN = "unknown"


class FlushStanding(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict with its grounds in words."""

    verdict: FlushVerdict
    why: str


class FlushTokens(msgspec.Struct, frozen=True, kw_only=True):
    """The count that is held against the flush threshold.

    Attributes:
        tokens: the count; ``None`` is unknown.
        transcript_instead: what the real program goes by where it does not trust the row: a row without
            ``totalTokensFresh`` counts as not fresh there, and the transcript's last call replaces its total. ``None``
            when it goes by ``tokens``.
    """

    tokens: int | float | None
    transcript_instead: int | None = None


def flush_tokens(store: StoreCounts, last_usage: Usage | None, *, next_prompt: int = 0) -> FlushTokens:
    """Return the count for the flush: the larger of fresh total and last prompt, plus last reply and next prompt.

    Args:
        store: the row's counts.
        last_usage: usage of the transcript's last call that measured anything.
        next_prompt: estimate of the message that waits, in tokens.
    """
    prompt = (last_usage.prompt if last_usage else None) or 0
    follows = ((last_usage.output if last_usage else None) or 0) + next_prompt
    base = max(store.fresh_total or 0, prompt)
    distrusts = store.total_tokens_fresh is not True and prompt > 0 and base > prompt
    return FlushTokens(
        tokens=base + follows if base else None, transcript_instead=prompt + follows if distrusts else None
    )


def flush_standing(
    record: FlushRecord,
    listed: Iterable[Threshold],
    counted: FlushTokens,
    *,
    transcript_bytes: int | None = None,
    flush_turns_ms: tuple[float, ...] = (),
) -> FlushStanding:
    """Tell whether a flush is due, done, repeated or skipped.

    Args:
        record: what the row says.
        listed: the session's thresholds.
        counted: ``flush_tokens``.
        transcript_bytes: size of the transcript; ``None`` when it was not looked at.
        flush_turns_ms: times of the flush turns after the last compaction, ms since the epoch, in order.
    """
    if len(flush_turns_ms) > 1:
        span = round((flush_turns_ms[-1] - flush_turns_ms[0]) / 1000)
        why = f"{len(flush_turns_ms)} flush turns within {count_text(span)} s, and no compaction between them."
        return FlushStanding(verdict=FlushVerdict.REPEATED, why=why)
    live = [entry for entry in listed if entry.trigger in {"flush", "flush-bytes"}]
    by_tokens = next((entry for entry in live if entry.trigger == "flush" and entry.active), None)
    by_size = next((entry for entry in live if entry.trigger == "flush-bytes" and entry.active), None)
    if by_tokens is None and by_size is None:
        return FlushStanding(verdict=FlushVerdict.OFF, why=live[0].why if live else "There is no flush trigger.")
    if record.done_this_cycle:
        return _done(record)
    if by_tokens is not None and by_tokens.tokens is not None and (counted.tokens or 0) >= by_tokens.tokens:
        return FlushStanding(verdict=FlushVerdict.DUE, why=_due_sentence(by_tokens, counted))
    if by_size is not None and transcript_bytes is not None and transcript_bytes >= (by_size.bytes or 0):
        why = f"The transcript has {count_text(transcript_bytes)} bytes: {by_size.why}."
        return FlushStanding(verdict=FlushVerdict.DUE, why=why)
    if by_tokens is not None and counted.tokens is None:
        return FlushStanding(verdict=FlushVerdict.UNKNOWN, why="No reliable count of tokens.")
    why = (
        f"{count_text(counted.tokens or 0)} tokens are below {by_tokens.why}."
        if by_tokens
        else f"Below: {live[-1].why}."
    )
    return FlushStanding(verdict=FlushVerdict.NOT_DUE, why=why)


def flush_finding(standing: FlushStanding, where: str) -> Finding | None:
    """Return the finding that a standing gives: repeated or skipped flushes; else ``None``."""
    if standing.verdict is FlushVerdict.REPEATED:
        return Finding(
            code=REPEATED,
            severity="warning",
            what="Memory flush repeated: notes were saved more than once in one compaction cycle.",
            where=where,
            evidence=(standing.why,),
            fix="Each run costs a full prompt; compact the session once to begin a new cycle (/compact).",
        )
    if standing.verdict is FlushVerdict.SKIPPED:
        return Finding(
            code=SKIPPED,
            severity="warning",
            what="The next memory flush will be skipped though it never ran.",
            where=where,
            evidence=(standing.why,),
            fix="Ask the agent to save its notes before the next compaction; after it the counts differ again.",
        )
    return None


def _done(record: FlushRecord) -> FlushStanding:
    count = count_text(record.flushed_at_count) if is_finite_number(record.flushed_at_count) else "0"
    equal = f"memoryFlushCompactionCount equals compactionCount ({count})"
    if record.ever_ran:
        return FlushStanding(verdict=FlushVerdict.DONE, why=f"{equal}: done for this cycle.")
    why = f"{equal}, so the gateway takes it for done; but there is no memoryFlushAt."
    return FlushStanding(verdict=FlushVerdict.SKIPPED, why=why)


def _due_sentence(threshold: Threshold, counted: FlushTokens) -> str:
    why = f"{count_text(counted.tokens or 0)} tokens reach {threshold.why}."
    other = counted.transcript_instead
    if other is not None and threshold.tokens is not None and other < threshold.tokens:
        why += (
            f" OpenClaw 2026.5.22 may still wait: the row lacks totalTokensFresh, and the transcript's last call "
            f"counts only {count_text(other)}."
        )
    return why
