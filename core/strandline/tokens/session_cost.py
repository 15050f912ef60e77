"""What one session cost, from every file that holds calls of it, each call once (case A26)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from strandline.ecmascript import date_ms
from strandline.errors import EnvironmentFault, Refused
from strandline.settings.model_ids import ModelRef
from strandline.tokens.cost import CallRecord, spend, stated_cost
from strandline.tokens.usage import Usage, normalise_usage
from strandline.transcript.whole_file import WHOLE_FILE_BYTES, read_transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from strandline.transcript.index import TranscriptIndex

LARGEST_SUM = 2 * WHOLE_FILE_BYTES
# What OpenClaw writes into a transcript in its own name was no call of a model.
_OWN_PROVIDER = "openclaw"


class SessionCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a session cost.

    Attributes:
        usd: US dollars known; ``None`` is unknown, which is not 0.
        words: what was counted and what was not, in sentences.
    """

    usd: float | None
    words: str


def session_cost(
    files: Iterable[Path], price: Callable[[ModelRef, Usage, float | None], float | None] | None = None
) -> SessionCost:
    """Add up what the calls in some files cost, each call once.

    Args:
        files: transcript, archives and copies; the first ones are read first, up to a bound in all.
        price: ``tokens.catalogue.price_call``, or ``None`` to go by transcripts alone.
    """
    records: list[CallRecord] = []
    unread: list[str] = []
    room = LARGEST_SUM
    for path in files:
        try:
            index = read_transcript(path, limit=min(room, WHOLE_FILE_BYTES))
        except (EnvironmentFault, Refused):
            unread.append(path.name)
            continue
        room -= sum(index.entry(position).length for position in range(len(index)))
        records.extend(calls_of(index, path.name))
    total = spend(records, price)
    if not unread:
        return SessionCost(usd=total.usd, words=total.words)
    return SessionCost(usd=total.usd if records else None, words=f"{total.words} Not read: {', '.join(unread)}.")


def calls_of(index: TranscriptIndex, file: str) -> Iterator[CallRecord]:
    """Yield every call of a model that a transcript holds, side branches included: they were paid for too."""
    for position in range(len(index)):
        if index.types[position] != "message":
            continue
        entry = index.entry(position)
        stored = index.usage(position) if entry.role == "assistant" and entry.provider != _OWN_PROVIDER else None
        if stored is not None:
            yield CallRecord(
                file=file,
                entry_id=entry.id,
                position=position,
                at_ms=date_ms(entry.timestamp),
                usage=normalise_usage(stored),
                stated_usd=stated_cost(stored),
                model=ModelRef(entry.provider, entry.model) if entry.provider and entry.model else None,
            )
