"""Sessions as every front end sees them: one row per key, what its transcript looks like on disk, the events of both.

A row comes from the store alone and is there first; facts about the transcript come from the disk and follow. Both are
plain values: they cross the worker's pipe as they are.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from strandline.ecmascript import JsonValue
from strandline.events import DomainEvent
from strandline.state.keys import KeyShape, SessionKind


class SessionRow(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """One row of a store, read the way the real program reads it, with what that program would do to it.

    Attributes:
        store: index of the row's store in ``DirectoryView.stores``.
        position: place of the row in its store's file, from 0.
        key: the session key exactly as stored.
        canonical_key: the spelling under which the real program looks the key up.
        agent_id: the agent that the row counts for.
        scoped: whether the key itself names that agent; otherwise it is the store's.
        kind: the kind ``openclaw sessions`` prints.
        shape: what the key says by itself; finer than ``kind``.
        name: what to call the session: its label, display name or subject, else what the key says.
        channel: lower-case channel id as ``telegram``; ``cron``, ``hook``, ``sub-agent``, ``acp`` … for sessions that
            the program made for itself; empty when unknown.
        internal: whether ``channel`` is one of the program's own.
        session_id: id of the current transcript; ``None`` when the row has none.
        session_file: the stored ``sessionFile``, untouched.
        updated_at: last change of the row in ms since the epoch; ``None`` when the row does not say.
        status: run status as stored (``running`` …); ``None`` when absent.
        model: model of the last stored turn; ``None`` when no turn was stored.
        model_provider: its provider.
        total_tokens: prompt size of the last call as stored; ``None`` is unknown, which is not 0.
        total_tokens_fresh: whether the store vouches for ``total_tokens``.
        context_window: tokens the model's context holds, as the real program's list resolves it.
        compaction_count: completed compactions; ``None`` when absent.
        checkpoints: names of the checkpoint files that the row's compactions point at.
        protected: whether maintenance spares the row (spec 2026.5 §3.2).
        dropped: why the real program drops the row when it loads the store; ``None`` when it keeps it.
        bytes: size of the row's value in the file.
        offset: where the value starts in the file.
        listed: the further fields that ``openclaw sessions`` prints, raw, by their stored name.
    """

    store: int
    position: int
    key: str
    canonical_key: str
    agent_id: str
    scoped: bool
    kind: SessionKind
    shape: KeyShape
    name: str
    channel: str
    internal: bool
    session_id: str | None
    session_file: str | None
    updated_at: int | float | None
    status: str | None
    model: str | None
    model_provider: str | None
    total_tokens: int | float | None
    total_tokens_fresh: bool
    context_window: int | float | None
    compaction_count: int | None
    checkpoints: tuple[str, ...]
    protected: bool
    dropped: str | None
    bytes: int
    offset: int
    listed: dict[str, JsonValue]

    @property
    def context_share(self) -> float | None:
        """How full the context is, as a share of the window (0.74 = 74 %); ``None`` when either side is unknown."""
        if self.total_tokens is None or not self.context_window:
            return None
        return self.total_tokens / self.context_window


class TranscriptState(StrEnum):
    """How a row and its transcript file fit together."""

    PRESENT = "present"
    ROW_NEWER = "row newer than file"
    MOVED = "moved"
    POINTER_BROKEN = "pointer broken"
    MISSING = "missing"
    OUTSIDE = "outside"
    REFUSED_NAME = "refused name"
    NO_SESSION = "no session yet"
    UNKNOWN = "unknown"


class TranscriptFacts(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What the disk says about a row's transcript.

    Attributes:
        store: index of the row's store.
        key: the row's key as stored.
        state: how row and file fit together.
        name: the file's name in the sessions directory; ``None`` when there is no file to name.
        bytes: its size; ``None`` when it is not there or must not be opened.
        mtime_ms: its last modification in ms since the epoch.
        note: one sentence for people when the state needs one, else empty.
    """

    store: int
    key: str
    state: TranscriptState
    name: str | None
    bytes: int | None
    mtime_ms: int | None
    note: str


class StoreState(StrEnum):
    """How far the reading of a store has come."""

    PENDING = "pending"
    READING = "reading"
    READ = "read"
    MISSING = "missing"
    DAMAGED = "damaged"
    NEWER = "newer"


class StoreView(msgspec.Struct, frozen=True, kw_only=True):
    """A store and what is known of it.

    Attributes:
        agent_id: the agent it belongs to; several agents may share one file.
        path: absolute path of ``sessions.json``, or of the SQLite file for a newer store.
        configured: whether the configuration names the agent; otherwise it was found on disk.
        state: how far the reading has come.
        bytes: size of the file; 0 when it is missing.
        row_count: rows read so far, dropped ones included; for a newer store what it counts itself.
        damage: one sentence with the place when the store cannot be read; else ``None``.
        unindexed: transcripts in the directory that no row leads to; ``None`` until known.
        recovery: names of files that may hold an earlier copy of the store.
        remark: a sentence worth knowing that is no damage, as a byte order mark; else ``None``.
    """

    agent_id: str
    path: str
    configured: bool
    state: StoreState
    bytes: int = 0
    row_count: int = 0
    damage: str | None = None
    unindexed: int | None = None
    recovery: tuple[str, ...] = ()
    remark: str | None = None


class DirectoryView(msgspec.Struct, frozen=True, kw_only=True):
    """A state directory as a front end presents it.

    Attributes:
        path: the directory, absolute.
        title: the directory as people write it (``~/.openclaw``).
        found_by: why this one: a flag, a variable, a default.
        mode: ``observe``: nothing is ever written here.
        authority: ``local``, or ``remote`` when the configuration points at a gateway elsewhere.
        remote_url: that gateway, when known.
        sample: whether this is Strandline's own sample data.
        config_path: the configuration file that applies; it may not exist.
        problems: sentences about the configuration: damage, refused values, files it includes.
        maintenance: the effective maintenance mode in words, as ``warn`` or ``enforce (built in)``.
        stores: every store, in the order of the agents.
        bytes_on_disk: size of all files below the sessions directories; ``None`` until counted.
    """

    path: str
    title: str
    found_by: str
    mode: str
    authority: str
    remote_url: str | None
    sample: bool
    config_path: str
    problems: tuple[str, ...]
    maintenance: str
    stores: tuple[StoreView, ...]
    bytes_on_disk: int | None = None


class StoreUpdated(DomainEvent, frozen=True, kw_only=True):
    """What is known of a store changed: its state, its damage, its counts.

    Attributes:
        store: index in ``DirectoryView.stores``.
        view: the store now.
    """

    store: int
    view: StoreView


class RowsRead(DomainEvent, frozen=True, kw_only=True):
    """The next slice of a store's rows, in the order of the file.

    Attributes:
        store: index of the store.
        rows: the slice; it follows the ones before it.
    """

    store: int
    rows: tuple[SessionRow, ...]


class StoreReplaced(DomainEvent, frozen=True, kw_only=True):
    """A store's file changed and was read again; its rows are now these.

    Attributes:
        store: index of the store.
        rows: every row now, in the order of the file.
        changed: keys that are new or differ.
        removed: keys that are gone.
    """

    store: int
    rows: tuple[SessionRow, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]


class FactsRead(DomainEvent, frozen=True, kw_only=True):
    """Facts about transcripts, for some rows of one store.

    Attributes:
        store: index of the store.
        facts: one per row.
    """

    store: int
    facts: tuple[TranscriptFacts, ...]


class LoadFinished(DomainEvent, frozen=True, kw_only=True):
    """Every store and every fact of the first load is there.

    Attributes:
        bytes_on_disk: size of all files below the sessions directories.
    """

    bytes_on_disk: int


class DirectoryUpdated(DomainEvent, frozen=True, kw_only=True):
    """What is known of the directory as a whole changed: its configuration, or which stores there are.

    Attributes:
        view: the directory now.
    """

    view: DirectoryView
