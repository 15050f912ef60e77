"""From what a transcript's ends or entries say to the evidence that readings rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.ecmascript import date_ms
from strandline.tokens.evidence import TranscriptTail
from strandline.tokens.usage import Usage, normalise_usage
from strandline.transcript.facts import NO_ANSWER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strandline.transcript.index import TranscriptIndex
    from strandline.transcript.tail import Tail


def tail_of_ends(tail: Tail) -> TranscriptTail:
    """Return the evidence of a bounded read; what lay beyond the bound stays unknown."""
    fact = tail.last_usage
    return TranscriptTail(
        last_usage=normalise_usage(fact.stored) if fact else None,
        last_usage_at_ms=date_ms(fact.timestamp) if fact else None,
        usage_after_compaction=tail.compaction is None,
        compacted_at_ms=date_ms(tail.compaction.timestamp) if tail.compaction else None,
        bytes=tail.size,
    )


def tail_of_path(
    index: TranscriptIndex, path: Sequence[int], *, estimate: float | None, size: int | None
) -> TranscriptTail:
    """Return the evidence of the active path of a transcript that was read as a whole.

    Args:
        index: the transcript.
        path: positions from the root to the leaf.
        estimate: estimated context with reply and all that follows, in tokens.
        size: bytes of the file.
    """
    last: tuple[Usage, int | None] | None = None
    superseded: Usage | None = None
    after, compacted_at = True, None
    for position in path:
        entry = index.entry(position)
        if entry.type == "compaction":
            superseded, after, compacted_at = last[0] if last else superseded, False, date_ms(entry.timestamp)
        elif entry.role == "assistant" and entry.stop_reason not in NO_ANSWER:
            stored = index.usage(position)
            usage = normalise_usage(stored) if stored is not None else None
            if usage is not None:
                last, after = (usage, date_ms(entry.timestamp)), True
    return TranscriptTail(
        last_usage=last[0] if last else None,
        last_usage_at_ms=last[1] if last else None,
        usage_after_compaction=after,
        compacted_at_ms=compacted_at,
        superseded_usage=superseded if after else None,
        estimate_tokens=None if estimate is None else int(estimate),
        bytes=size,
    )
