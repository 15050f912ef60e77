"""What sessions cost, in US dollars, each call once however many files hold a copy of it (case A26).

A checkpoint, a ``.bak`` archive, a fork and a successor file repeat entries of another file word for word. Two records
are the same call when entry id, time, usage and stated cost are equal; ids alone are not enough, since they are unique
in one session only.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from strandline.ecmascript import JsonValue, is_finite_number
from strandline.settings.model_ids import ModelRef
from strandline.state.file_classes import FileClass, classify, parse_archive
from strandline.tokens.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class CostSource(StrEnum):
    """Who says what a call cost."""

    TRANSCRIPT = "transcript"
    CATALOGUE = "offline catalogue"
    UNKNOWN = "unknown"


class CallRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One reply of a model as a file holds it.

    Attributes:
        file: name of the file.
        entry_id: id of the entry; ``None`` in old transcripts that have none.
        position: place of the entry in its file, from 0; tells entries without id apart.
        at_ms: time of the reply in ms since the epoch; ``None`` when not stated.
        usage: what it used; ``None`` when not stated.
        stated_usd: the cost that the transcript states (``stated_cost``).
        model: provider and model; ``None`` when not stated.
    """

    file: str
    entry_id: str | None
    position: int
    at_ms: int | float | None = None
    usage: Usage | None = None
    stated_usd: float | None = None
    model: ModelRef | None = None


class CallCost(msgspec.Struct, frozen=True):
    """What one call cost.

    Attributes:
        usd: US dollars; ``None`` is unknown, which is not 0.
        source: who says so.
    """

    usd: float | None
    source: CostSource


class FileSpend(msgspec.Struct, frozen=True, kw_only=True):
    """What one file contributes.

    Attributes:
        file: its name.
        archive: whether it is an archive (of a reset or a deletion, or a ``.bak``).
        counted: calls counted from it.
        copies: calls that another file was counted for.
        usd: known cost of the counted calls.
    """

    file: str
    archive: bool
    counted: int
    copies: int
    usd: float


class Spend(msgspec.Struct, frozen=True, kw_only=True):
    """What a set of files cost together.

    Attributes:
        usd: US dollars known; ``None`` when there were calls and not one has a known cost.
        from_transcripts: the part that transcripts state.
        from_catalogue: the part that is reckoned from the catalogue.
        counted: calls, each once.
        unpriced: calls among them whose cost is unknown.
        copies: records left out because they repeat a counted call.
        files: one per file, transcripts first, then archives and copies.
    """

    usd: float | None
    from_transcripts: float
    from_catalogue: float
    counted: int
    unpriced: int
    copies: int
    files: tuple[FileSpend, ...]

    @property
    def archives(self) -> tuple[str, ...]:
        """Names of the archives that are included, because calls were counted from them."""
        return tuple(file.file for file in self.files if file.archive and file.counted)

    @property
    def words(self) -> str:
        """What was counted and what was not, in sentences."""
        amount = "an unknown amount" if self.usd is None else f"{self.usd:,.2f} USD"
        said = [f"{amount} for {self.counted:,} replies, {self.copies:,} copies not counted."]
        if self.unpriced:
            said.append(f"The cost of {self.unpriced:,} replies is unknown and not in it.")
        if self.from_catalogue:
            said.append(f"{self.from_catalogue:,.2f} USD are reckoned from the offline catalogue.")
        if self.archives:
            said.append(f"Archives included: {', '.join(self.archives)}.")
        return " ".join(said)


def stated_cost(raw_usage: JsonValue) -> float | None:
    """Return the cost in US dollars that a raw usage carries (``cost.total``), or ``None``."""
    cost = raw_usage.get("cost") if isinstance(raw_usage, dict) else None
    total = cost.get("total") if isinstance(cost, dict) else None
    return float(total) if is_finite_number(total) and total >= 0 else None


def cost_of(record: CallRecord, price: Callable[[ModelRef, Usage, float | None], float | None]) -> CallCost:
    """Return what a call cost: as the transcript states it, else from the catalogue, else unknown.

    Args:
        record: the call.
        price: ``tokens.catalogue.price_call``; called only when the transcript is silent.
    """
    if record.stated_usd is not None:
        return CallCost(record.stated_usd, CostSource.TRANSCRIPT)
    if record.model is not None and record.usage is not None:
        usd = price(record.model, record.usage, record.at_ms)
        if usd is not None:
            return CallCost(usd, CostSource.CATALOGUE)
    return CallCost(None, CostSource.UNKNOWN)


def spend(
    records: Iterable[CallRecord], price: Callable[[ModelRef, Usage, float | None], float | None] | None = None
) -> Spend:
    """Add up what calls cost, each call once.

    A call that several files hold is counted for the transcript, else for the archive of a reset or a deletion, else
    for a ``.bak``, last for a checkpoint.

    Args:
        records: the calls, in any order.
        price: ``tokens.catalogue.price_call``, or ``None`` to go by transcripts alone.
    """
    ordered = sorted(records, key=lambda record: (_rank(record.file), record.file, record.position))
    seen: set[object] = set()
    costs: dict[str, list[CallCost]] = {}
    copies: dict[str, int] = {}
    for record in ordered:
        found = costs.setdefault(record.file, [])
        identity = _identity(record)
        if identity in seen:
            copies[record.file] = copies.get(record.file, 0) + 1
            continue
        seen.add(identity)
        found.append(cost_of(record, price or _no_price))
    every = [cost for found in costs.values() for cost in found]
    known = [cost.usd for cost in every if cost.usd is not None]
    return Spend(
        usd=math.fsum(known) if known or not every else None,
        from_transcripts=_sum(every, CostSource.TRANSCRIPT),
        from_catalogue=_sum(every, CostSource.CATALOGUE),
        counted=len(every),
        unpriced=len(every) - len(known),
        copies=sum(copies.values()),
        files=tuple(
            FileSpend(
                file=file,
                archive=classify(file) is FileClass.ARCHIVE,
                counted=len(found),
                copies=copies.get(file, 0),
                usd=math.fsum(cost.usd for cost in found if cost.usd is not None),
            )
            for file, found in costs.items()
        ),
    )


def _identity(record: CallRecord) -> object:
    name = record.entry_id if record.entry_id is not None else record.position
    return (name, record.at_ms, record.usage, record.stated_usd)


def _rank(file: str) -> int:
    file_class = classify(file)
    if file_class is FileClass.TRANSCRIPT:
        return 0
    if file_class is FileClass.CHECKPOINT:
        return 3
    archive = parse_archive(file)
    return 1 if archive is not None and archive.reason != "bak" else 2


def _sum(costs: list[CallCost], source: CostSource) -> float:
    return math.fsum(cost.usd for cost in costs if cost.source is source and cost.usd is not None)


def _no_price(_model: ModelRef, _usage: Usage, _at_ms: float | None) -> None:
    return None
