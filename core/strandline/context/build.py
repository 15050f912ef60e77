"""What the model sees at an entry: messages, thinking level and model as the real session manager builds them (§6.3).

Messages stay the JSON that stands in the file; nothing that a provider or a version wrote into them is lost or
reordered. Messages that only a context has (summaries, custom messages) are made here in the same shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from strandline.ecmascript import date_ms
from strandline.errors import NothingMatched
from strandline.tokens.estimate import ContextEstimate, estimate_messages
from strandline.transcript.envelope import dumps, loads
from strandline.transcript.index import record_at
from strandline.transcript.records import ModelChange, ThinkingLevelChange
from strandline.transcript.tree import find_entry, join, path_to

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strandline.ecmascript import JsonValue
    from strandline.transcript.index import TranscriptIndex

NO_THINKING = "off"


class ModelChoice(msgspec.Struct, frozen=True, rename="camel"):
    """The model that would answer.

    Attributes:
        provider: who is called; ``None`` when the entry that chose it does not say.
        model_id: which model.
    """

    provider: str | None
    model_id: str | None


class ContextMessage(msgspec.Struct, frozen=True, gc=False):
    """One message as the model's context holds it.

    Attributes:
        position: the entry that it comes from.
        role: who speaks: a stored role, or ``custom``, ``compactionSummary``, ``branchSummary``.
        stored: the message as JSON.
    """

    position: int
    role: str
    stored: Raw


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What the model sees.

    Attributes:
        at: the entry that it is seen from; ``None`` when there is none.
        path: the entries from the root to it, by position.
        messages: the messages in order.
        thinking_level: as last set on the path, else ``off``.
        model: as last chosen or answered on the path; ``None`` when nobody did.
        compaction: position of the compaction that shortens it; ``None`` when nothing does.
        read_by_openclaw: whether the real program comes to the same; it does not where the file has no header, a
            salvaged record on the path, or a loop.
    """

    at: int | None
    path: tuple[int, ...]
    messages: tuple[ContextMessage, ...]
    thinking_level: str
    model: ModelChoice | None
    compaction: int | None
    read_by_openclaw: bool

    def estimates(self) -> tuple[tuple[int, ...], ContextEstimate]:
        """Estimate each message and the whole in tokens (§7)."""
        return estimate_messages([message.stored for message in self.messages])


def build_context(index: TranscriptIndex, at: str | None = None) -> Context:
    """Build what the model sees.

    Args:
        index: the transcript.
        at: id of the entry to look from; ``None`` is the leaf.

    Raises:
        NothingMatched: no entry has that id.
    """
    links = join(index.ids, index.parent_ids)
    position = len(index) - 1 if len(index) else None
    if at is not None:
        position = find_entry(index.ids, at)
        if position is None:
            raise NothingMatched(f"No entry of this transcript has the id {at}; `transcript tree` lists them.")
    path = path_to(links.parents, position)
    thinking_level, model, compaction = _settings(index, path)
    kept = path if compaction is None else _kept(index, path, compaction)
    messages = [] if compaction is None else [_compaction_summary(index, compaction)]
    messages.extend(message for place in kept if (message := _message(index, place)) is not None)
    return Context(
        at=position,
        path=path,
        messages=tuple(messages),
        thinking_level=thinking_level,
        model=model,
        compaction=compaction,
        read_by_openclaw=not links.loops and index.all_read_by_openclaw(path),
    )


def _settings(index: TranscriptIndex, path: Sequence[int]) -> tuple[str, ModelChoice | None, int | None]:
    """Find the last thinking level, model and compaction on the path, looking back from its end."""
    kinds = [index.types[position] for position in path]
    thinking = _last(kinds, "thinking_level_change")
    compaction = _last(kinds, "compaction")
    model: ModelChoice | None = None
    for position, kind in zip(reversed(path), reversed(kinds), strict=True):
        if kind == "model_change" or (kind == "message" and index.role(position) == "assistant"):
            model = _model_of(index, position)
            break
    level = NO_THINKING if thinking is None else _thinking_of(index, path[thinking])
    return level, model, None if compaction is None else path[compaction]


def _last(kinds: list[str], kind: str) -> int | None:
    return len(kinds) - 1 - kinds[::-1].index(kind) if kind in kinds else None


def _thinking_of(index: TranscriptIndex, position: int) -> str:
    record = record_at(index, position)
    level = record.thinking_level if isinstance(record, ThinkingLevelChange) else None
    return level if isinstance(level, str) else NO_THINKING


def _model_of(index: TranscriptIndex, position: int) -> ModelChoice:
    if index.types[position] == "message":
        head = index.entry(position)
        return ModelChoice(head.provider, head.model)
    record = record_at(index, position)
    if not isinstance(record, ModelChange):
        return ModelChoice(None, None)
    provider, model_id = record.provider, record.model_id
    return ModelChoice(provider if isinstance(provider, str) else None, model_id if isinstance(model_id, str) else None)


def _kept(index: TranscriptIndex, path: tuple[int, ...], compaction: int) -> list[int]:
    """Return the entries that a compaction leaves: from the first kept one up to it, and what comes after it."""
    place = path.index(compaction)
    fields = _fields(index, compaction)
    first = fields.get("firstKeptEntryId")
    ids = index.ids
    start = next((at for at in range(place) if first is not None and ids[path[at]] == first), place)
    return [*path[start:place], *path[place + 1 :]]


def _message(index: TranscriptIndex, position: int) -> ContextMessage | None:
    kind = index.types[position]
    if kind == "message":
        return _stored_message(index, position)
    if kind == "custom_message":
        return _custom_message(index, position)
    if kind == "branch_summary":
        return _branch_summary(index, position)
    return None


class _Carrier(msgspec.Struct, gc=False):
    message: Raw = Raw()


_CARRIER = msgspec.json.Decoder(_Carrier)


def _stored_message(index: TranscriptIndex, position: int) -> ContextMessage | None:
    raw = index.raw(position)
    try:
        stored = _CARRIER.decode(raw).message
    except msgspec.DecodeError:
        # A lone surrogate stops the fast decoder.
        message = _fields(index, position).get("message")
        stored = Raw() if message is None else Raw(dumps(message))
    if bytes(memoryview(stored)[:1]) != b"{":
        return None
    return ContextMessage(position, index.role(position) or "", stored)


def _custom_message(index: TranscriptIndex, position: int) -> ContextMessage:
    fields = _fields(index, position)
    taken = _taken(fields, ("customType", "content", "display", "details"))
    return _made(position, "custom", {**taken, "timestamp": date_ms(fields.get("timestamp"))})


def _branch_summary(index: TranscriptIndex, position: int) -> ContextMessage | None:
    fields = _fields(index, position)
    if not fields.get("summary"):
        return None
    taken = _taken(fields, ("summary", "fromId"))
    return _made(position, "branchSummary", {**taken, "timestamp": date_ms(fields.get("timestamp"))})


def _compaction_summary(index: TranscriptIndex, position: int) -> ContextMessage:
    fields = _fields(index, position)
    taken = _taken(fields, ("summary", "tokensBefore"))
    return _made(position, "compactionSummary", {**taken, "timestamp": date_ms(fields.get("timestamp"))})


def _made(position: int, role: str, fields: dict[str, JsonValue]) -> ContextMessage:
    return ContextMessage(position, role, Raw(dumps({"role": role, **fields})))


def _taken(fields: dict[str, JsonValue], names: tuple[str, ...]) -> dict[str, JsonValue]:
    """Take fields in the order of ``names``; absent ones stay absent."""
    return {name: fields[name] for name in names if name in fields}


def _fields(index: TranscriptIndex, position: int) -> dict[str, JsonValue]:
    stored = loads(index.raw(position))
    return stored if isinstance(stored, dict) else {}
