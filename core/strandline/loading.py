"""From a store's bytes to session rows, and from a directory listing to facts about transcripts.

These are the jobs that the worker process runs for a large store; for a small one they run where they are called.
Both give slices, so that whoever paints never waits for more than one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from strandline.ecmascript import JsonValue, is_finite_number, is_number, trim
from strandline.errors import EnvironmentFault
from strandline.rows import SessionRow, TranscriptFacts, TranscriptState
from strandline.settings.policies import AgentsPolicy, SessionPolicy
from strandline.state import fsys
from strandline.state.keys import KeyShape, read_key
from strandline.store.delivery import delivery_channel, normalise_channel, stored_text
from strandline.store.entry import Fields, nested
from strandline.store.location import locate_transcript
from strandline.store.normalise import (
    Dropped,
    normalise_model,
    normalise_row,
    normalise_session_id,
    normalise_updated_at,
)
from strandline.store.policy_key import policy_key
from strandline.store.reader import read_store
from strandline.tokens.selection import ListedModels, StoredModel
from strandline.work.jobs import Job

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from strandline.state.fsys import FileEntry, FileIdentity
    from strandline.store.entry import ReadEntry
    from strandline.store.reader import StoredRow

SLICE_ROWS = 400
ROW_NEWER_MS = 60 * 60 * 1000

# Fields that the real list and status print as they are stored (spec 2026.5 §13.1, §13.2).
_LISTED = (
    "systemSent",
    "abortedLastRun",
    "thinkingLevel",
    "fastMode",
    "verboseLevel",
    "traceLevel",
    "reasoningLevel",
    "elevatedLevel",
    "responseUsage",
    "groupActivation",
    "inputTokens",
    "outputTokens",
    "cacheRead",
    "cacheWrite",
    "totalTokens",
    "totalTokensFresh",
    "providerOverride",
    "modelOverride",
    "contextTokens",
)
_POLICY_FIELDS = (
    "chatType",
    "origin",
    "route",
    "deliveryContext",
    "channel",
    "lastChannel",
    "lastTo",
    "lastAccountId",
    "lastThreadId",
)
_NAME_FIELDS = ("label", "displayName", "subject", "groupChannel")
_TAKEN = Fields(
    "sessionId",
    "sessionFile",
    "updatedAt",
    "chatType",
    "spawnedBy",
    "status",
    "model",
    "modelProvider",
    "compactionCount",
    "origin",
    "acp",
    "compactionCheckpoints",
    *_NAME_FIELDS,
    "route",
    "deliveryContext",
    "channel",
    "lastChannel",
    "provider",
    "lastProvider",
    *_LISTED,
)
_NAMES_AT, _DELIVERY_AT, _LISTED_AT = 12, 16, 22
_INTERNAL_CHANNELS = {
    KeyShape.CRON: "cron",
    KeyShape.CRON_RUN: "cron",
    KeyShape.HOOK: "hook",
    KeyShape.SUBAGENT: "sub-agent",
    KeyShape.ACP: "acp",
    KeyShape.NODE: "node",
    KeyShape.HEARTBEAT: "heartbeat",
}


class StoreJob(msgspec.Struct, frozen=True, kw_only=True):
    """One store to read.

    Attributes:
        store: index of the store in ``DirectoryView.stores``.
        path: the file.
        agent_id: agent that rows count for whose keys name none.
        agents: models and windows of the configuration.
        session: scope and identity links.
    """

    store: int
    path: str
    agent_id: str
    agents: AgentsPolicy
    session: SessionPolicy


class StoreSlice(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of a store, in the order of the file.

    Attributes:
        rows: the slice.
        identity: (size, mtime_ns, inode, device) of the file that was read.
        remark: what a person should know although the store reads well.
        done: whether this is the last slice.
    """

    rows: list[SessionRow]
    identity: tuple[int, int, int, int]
    remark: str | None
    done: bool


def read_store_slices(job: StoreJob) -> Iterator[StoreSlice]:
    """Read a store once and give its rows in slices.

    Raises:
        EnvironmentFault: the file cannot be read.
        StoreDamage: its bytes are no store.
    """
    data, found = fsys.read_bytes(Path(job.path))
    content = read_store(job.path, data)
    identity = _identity(found)
    builder = RowBuilder(job)
    batch: list[SessionRow] = []
    for position, stored in enumerate(content.rows()):
        batch.append(builder.build(position, stored))
        if len(batch) == SLICE_ROWS:
            yield StoreSlice(rows=batch, identity=identity, remark=content.remark, done=False)
            batch = []
    yield StoreSlice(rows=batch, identity=identity, remark=content.remark, done=True)


class RowBuilder:
    """Turns stored rows of one store into session rows."""

    def __init__(self, job: StoreJob) -> None:
        self._job = job
        self._models = ListedModels(job.agents)

    def build(self, position: int, stored: StoredRow) -> SessionRow:
        """Return the session row of a stored row."""
        if stored.read is None:
            gone = normalise_row(None)
            return self._dropped(position, stored, gone if isinstance(gone, Dropped) else None)
        read = stored.read
        taken = read.take(_TAKEN)
        (stored_id, session_file, updated_at, chat_type, spawned_by, status, stored_model, stored_provider) = taken[:8]
        count, stored_origin, acp, checkpoints = taken[8:_NAMES_AT]
        session_id = normalise_session_id(stored_id, session_file)
        origin = nested(stored_origin)
        origin_type = origin.get("chatType") if isinstance(origin, dict) else None
        chat_type = _plain(chat_type)
        key = read_key(stored.key, chat_type=chat_type, origin_chat_type=origin_type, spawned_by=_plain(spawned_by))
        model, provider = normalise_model(stored_model, stored_provider)
        listed = {name: value for name, value in zip(_LISTED, taken[_LISTED_AT:], strict=True) if value is not UNSET}
        if acp is not UNSET and nested(acp) is not None:
            listed["acp"] = True
        policy = self._policy_key(stored.key, read, chat_type, origin_type)
        if policy:
            listed["runtimePolicySessionKey"] = policy
        tokens, fresh = stored_tokens(listed)
        internal = _INTERNAL_CHANNELS.get(key.shape)
        reference = self._models.model_of(stored.key, _stored_model(model, provider, listed))
        window = self._models.window_of(listed.get("contextTokens"), reference.model)
        return SessionRow(
            store=self._job.store,
            position=position,
            key=stored.key,
            canonical_key=key.normalised,
            agent_id=key.agent_id or self._job.agent_id,
            scoped=key.agent_id is not None,
            kind=key.kind,
            shape=key.shape,
            name=_name(taken[_NAMES_AT:_DELIVERY_AT], origin) or key.name or stored.key,
            channel=internal
            or _channel(*taken[_DELIVERY_AT:_LISTED_AT])
            or (normalise_channel(key.channel) if key.channel else ""),
            internal=internal is not None,
            session_id=None if isinstance(session_id, Dropped) else session_id,
            session_file=session_file if isinstance(session_file, str) else None,
            updated_at=None if updated_at is UNSET else normalise_updated_at(updated_at),
            status=status if isinstance(status, str) else None,
            model=model,
            model_provider=provider,
            total_tokens=tokens,
            total_tokens_fresh=fresh,
            context_window=window if is_number(window) and window > 0 else None,
            compaction_count=int(count) if is_finite_number(count) and count >= 0 else None,
            checkpoints=() if checkpoints is UNSET else tuple(_checkpoints(nested(checkpoints))),
            protected=key.protected,
            dropped=session_id.sentence if isinstance(session_id, Dropped) else None,
            bytes=stored.length,
            offset=stored.offset,
            listed=listed,
        )

    def _dropped(self, position: int, stored: StoredRow, reason: Dropped | None) -> SessionRow:
        key = read_key(stored.key)
        return SessionRow(
            store=self._job.store,
            position=position,
            key=stored.key,
            canonical_key=key.normalised,
            agent_id=key.agent_id or self._job.agent_id,
            scoped=key.agent_id is not None,
            kind=key.kind,
            shape=key.shape,
            name=key.name or stored.key,
            channel=normalise_channel(key.channel) if key.channel else "",
            internal=False,
            session_id=None,
            session_file=None,
            updated_at=None,
            status=None,
            model=None,
            model_provider=None,
            total_tokens=None,
            total_tokens_fresh=False,
            context_window=None,
            compaction_count=None,
            checkpoints=(),
            protected=key.protected,
            dropped=reason.sentence if reason else "it is no object",
            bytes=stored.length,
            offset=stored.offset,
            listed={},
        )

    def _policy_key(self, key: str, read: ReadEntry, chat_type: JsonValue, origin_type: JsonValue) -> str | None:
        if chat_type is None and origin_type is None:
            return None
        # Only main sessions and padded keys have a policy key of their own; the rest need not be decoded for it.
        if not key.rstrip().lower().endswith("main") and key == key.strip() and key != "global":
            return None
        row = {name: value for name in _POLICY_FIELDS if (value := read.raw(name)) is not UNSET}
        return policy_key(key, row, self._job.session)


def stored_tokens(listed: Mapping[str, JsonValue]) -> tuple[int | float | None, bool]:
    """Return ``totalTokens`` and whether the store vouches for it, as the real list reads them (spec 2026.5 §13.1)."""
    total = listed.get("totalTokens")
    if not is_number(total):
        return None, False
    known = total if is_finite_number(total) and total >= 0 else None
    return known, listed.get("totalTokensFresh") is not False


def transcript_facts(
    rows: Iterable[SessionRow], sessions_dir: Path, listing: Mapping[str, FileEntry]
) -> Iterator[TranscriptFacts]:
    """Tell for each row how it and its transcript fit together; nothing is opened.

    Args:
        rows: rows of one store.
        sessions_dir: directory of that store.
        listing: what lies in it, by name.
    """
    for row in rows:
        yield _facts(row, sessions_dir, listing)


def _facts(row: SessionRow, sessions_dir: Path, listing: Mapping[str, FileEntry]) -> TranscriptFacts:
    if row.dropped is not None:
        return _fact(row, TranscriptState.UNKNOWN)
    if row.session_id is None and not row.session_file:
        return _fact(row, TranscriptState.NO_SESSION)
    place = locate_transcript(row.session_id, row.session_file, sessions_dir, listing)
    if place.local_name is not None:
        note = f"The row names {place.elsewhere}; the file of that name lies here."
        return _fact(row, TranscriptState.MOVED, listing[place.local_name], note)
    if place.outside:
        note = f"The row leads out of the sessions directory, to {place.elsewhere}; it is not opened."
        return _fact(row, TranscriptState.OUTSIDE, note=note)
    if place.refused is not None:
        return _fact(row, TranscriptState.REFUSED_NAME, note=f"No file is looked for: {place.refused}.")
    if place.path is None:
        return _fact(row, TranscriptState.NO_SESSION)
    found = listing.get(place.path.name) if place.path.parent == sessions_dir else None
    if found is not None and found.is_dir:
        return _fact(row, TranscriptState.UNKNOWN, note=f"A directory stands where {found.name} is expected.")
    if found is None and place.elsewhere is None:
        # Below a subdirectory or a sibling agent, or known to the volume under another spelling.
        try:
            found = _look(place.path)
        except EnvironmentFault as error:
            return _fact(row, TranscriptState.UNKNOWN, note=str(error))
    if found is not None and place.elsewhere is None:
        if is_number(row.updated_at) and row.updated_at - found.mtime_ms > ROW_NEWER_MS:
            return _fact(row, TranscriptState.ROW_NEWER, found, "The row changed after its transcript last did.")
        return _fact(row, TranscriptState.PRESENT, found)
    named = place.elsewhere or place.path.name
    default = listing.get(f"{row.session_id}.jsonl") if row.session_file and row.session_id else None
    if default is not None:
        note = f"The row names {named}, which is missing; {default.name} lies beside it. OpenClaw calls it missing."
        return _fact(row, TranscriptState.POINTER_BROKEN, default, note)
    return _fact(row, TranscriptState.MISSING, note=f"The transcript {named} does not exist.")


def _look(path: Path) -> FileEntry | None:
    identity = fsys.identify(path)
    if identity is None:
        return None
    return fsys.FileEntry(
        name=path.name,
        size=identity.size,
        allocated=identity.size,
        mtime_ms=identity.mtime_ms,
        inode=identity.inode,
        is_file=True,
        is_dir=False,
    )


def _fact(row: SessionRow, state: TranscriptState, file: FileEntry | None = None, note: str = "") -> TranscriptFacts:
    return TranscriptFacts(
        store=row.store,
        key=row.key,
        state=state,
        name=file.name if file else None,
        bytes=file.size if file else None,
        mtime_ms=file.mtime_ms if file else None,
        note=note,
    )


def _stored_model(model: str | None, provider: str | None, listed: Mapping[str, JsonValue]) -> StoredModel:
    return StoredModel(
        model=model,
        provider=provider,
        model_override=listed.get("modelOverride"),
        provider_override=listed.get("providerOverride"),
    )


def _name(stored: tuple[JsonValue | msgspec.UnsetType, ...], origin: JsonValue | msgspec.UnsetType) -> str | None:
    for value in stored:
        if value is not UNSET and (found := stored_text(value)):
            return found
    return stored_text(origin.get("label")) if isinstance(origin, dict) else None


def _channel(
    route: msgspec.Raw | msgspec.UnsetType,
    delivery_context: msgspec.Raw | msgspec.UnsetType,
    *named: JsonValue | msgspec.UnsetType,
) -> str | None:
    channel, last_channel, provider, last_provider = named
    return delivery_channel(
        route=nested(route),
        delivery_context=nested(delivery_context),
        channel=channel,
        last_channel=last_channel,
        provider=provider,
        last_provider=last_provider,
    )


def _checkpoints(stored: JsonValue | msgspec.UnsetType) -> Iterator[str]:
    for checkpoint in stored if isinstance(stored, list) else ():
        before = checkpoint.get("preCompaction") if isinstance(checkpoint, dict) else None
        named = before.get("sessionFile") if isinstance(before, dict) else None
        if isinstance(named, str) and trim(named):
            yield fsys.foreign_name(trim(named)) or Path(trim(named)).name


def _plain(value: JsonValue | msgspec.UnsetType) -> JsonValue:
    return None if value is UNSET else value


def _identity(found: FileIdentity) -> tuple[int, int, int, int]:
    return found.size, found.mtime_ns, found.inode, found.device


READ_STORE = Job("strandline.loading:READ_STORE", read_store_slices, StoreJob, StoreSlice)
