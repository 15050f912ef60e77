"""What a file below a sessions directory is, by its name, and how it stands to the rows (spec 2026.5 §1.2).

Two columns: the *class* says what kind of file the name promises; the *standing* says what holds on to it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from enum import StrEnum

import msgspec

STORE_NAME = "sessions.json"

_STAMP = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d{3})?Z"
_ARCHIVE = re.compile(rf"(?P<base>.+)\.(?P<reason>reset|deleted|bak)\.(?P<stamp>{_STAMP})", re.ASCII | re.DOTALL)
_NEWER_ARCHIVE = re.compile(
    rf"(?P<base>.+\.jsonl)\.(?P<reason>reset|deleted)\.(?P<stamp>{_STAMP})(?:\.[0-9a-z-]+)?\.zst",
    re.ASCII | re.DOTALL,
)
_CHECKPOINT = re.compile(
    r"(.+)\.checkpoint\.([0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})\.jsonl",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
_STORE_BACKUP = re.compile(r"\.bak\.\d+", re.ASCII)
_STORE_TEMPORARY = re.compile(r"\.fs-safe-replace\.\d+\.[0-9a-f-]{36}\.tmp", re.IGNORECASE | re.ASCII)
_REPAIR_BACKUP = re.compile(r".+\.jsonl\.bak-\d+-\d+", re.ASCII | re.DOTALL)
_REPAIR_TEMPORARY = re.compile(r".+\.repair\.\d+\.[0-9a-f-]{36}\.tmp", re.IGNORECASE | re.ASCII | re.DOTALL)
_SQLITE_PARTS = (".sqlite", ".sqlite-wal", ".sqlite-shm")


class FileClass(StrEnum):
    """The kind of file that a name promises; every file has exactly one."""

    STORE = "store"
    STORE_BACKUP = "store backup"
    STORE_TEMPORARY = "store temporary"
    TRANSCRIPT = "transcript"
    CHECKPOINT = "checkpoint"
    TRAJECTORY = "trajectory"
    TRAJECTORY_POINTER = "trajectory pointer"
    ARCHIVE = "archive"
    REPAIR_BACKUP = "repair backup"
    LOCK = "lock"
    RUN_LOG = "run log"
    QUARANTINE = "quarantine"
    SIGNAL_LOG = "signal log"
    NEWER_STORE = "newer store"
    OTHER = "other"


class Standing(StrEnum):
    """What holds on to a file."""

    REFERENCED = "referenced"
    EARLIER_CONVERSATION = "earlier conversation"
    UNREFERENCED = "unreferenced"
    PROTECTED = "protected"
    UNREADABLE = "unreadable"


class ClassifiedFile(msgspec.Struct, frozen=True):
    """A file with its class and standing.

    Attributes:
        path: path relative to the state directory, with ``/``.
        file_class: what the name promises.
        standing: what holds on to it.
        bytes: size.
        allocated: bytes taken on disk, where the system tells.
        mtime_ms: last modification in milliseconds since the epoch.
        agent_id: the agent whose sessions directory it lies in; ``None`` elsewhere.
        remark: a short word for people, as ``2 rows readable``; usually empty.
    """

    path: str
    file_class: FileClass
    standing: Standing
    bytes: int
    allocated: int
    mtime_ms: int
    agent_id: str | None
    remark: str = ""


class Archive(msgspec.Struct, frozen=True):
    """What an archive's name says.

    Attributes:
        base: the name the file had before it was put aside.
        reason: ``reset``, ``deleted`` or ``bak``.
        archived_ms: the stamp in the name, milliseconds since the epoch; ``None`` when no such time exists.
    """

    base: str
    reason: str
    archived_ms: int | None


def classify(name: str, *, store_name: str = STORE_NAME) -> FileClass:
    """Return the class of the file called ``name`` in a sessions directory.

    Any ``*.jsonl`` that is nothing else is a transcript, whatever it is called; a stamp that the real program does
    not recognise makes a file *other*, never an archive.

    Args:
        name: the file's name.
        store_name: the name of the store in that directory, which ``session.store`` may change.
    """
    if name == store_name:
        return FileClass.STORE
    if name.startswith(store_name):
        tail = name[len(store_name) :]
        if _STORE_BACKUP.fullmatch(tail):
            return FileClass.STORE_BACKUP
        if tail.startswith(".") and tail.endswith(".tmp"):
            return FileClass.STORE_TEMPORARY
    if _STORE_TEMPORARY.fullmatch(name):
        return FileClass.STORE_TEMPORARY
    if name.endswith(_SQLITE_PARTS):
        return FileClass.NEWER_STORE
    if name.endswith(".jsonl.lock"):
        return FileClass.LOCK
    if _ARCHIVE.fullmatch(name) or _NEWER_ARCHIVE.fullmatch(name):
        return FileClass.ARCHIVE
    if _REPAIR_BACKUP.fullmatch(name) or _REPAIR_TEMPORARY.fullmatch(name):
        return FileClass.REPAIR_BACKUP
    if name.endswith(".trajectory-path.json"):
        return FileClass.TRAJECTORY_POINTER
    if name.endswith(".trajectory.jsonl"):
        return FileClass.TRAJECTORY
    if _CHECKPOINT.fullmatch(name):
        return FileClass.CHECKPOINT
    if name.endswith(".jsonl"):
        return FileClass.TRANSCRIPT
    return FileClass.OTHER


def parse_archive(name: str) -> Archive | None:
    """Return what an archive's name says, or ``None`` when it is no archive of a session."""
    match = _ARCHIVE.fullmatch(name) or _NEWER_ARCHIVE.fullmatch(name)
    if match is None:
        return None
    return Archive(match["base"], match["reason"], _stamp_ms(match["stamp"]))


def checkpoint_base(name: str) -> str | None:
    """Return the transcript name (without ``.jsonl``) that a checkpoint was copied from; ``None`` for others."""
    match = _CHECKPOINT.fullmatch(name)
    return match.group(1) if match else None


def looks_like_checkpoint(name: str) -> bool:
    """Tell whether a file name reads as a checkpoint, which a session id must not (spec 2026.5 §1.2)."""
    return _CHECKPOINT.fullmatch(name) is not None


def stand(file_class: FileClass, *, referenced: bool, store_readable: bool) -> Standing:
    """Return a file's standing.

    Args:
        file_class: its class.
        referenced: whether a row, or something a row points at, leads to it.
        store_readable: whether the rows could be read; over an unreadable store nothing is called unreferenced.
    """
    if file_class in _ALWAYS_PROTECTED:
        return Standing.PROTECTED
    if referenced:
        return Standing.REFERENCED
    if not store_readable and file_class in _BELONGS_TO_ROWS:
        return Standing.UNREADABLE
    if file_class is FileClass.ARCHIVE:
        return Standing.EARLIER_CONVERSATION
    if file_class in _BELONGS_TO_ROWS:
        return Standing.UNREFERENCED
    return Standing.PROTECTED


_BELONGS_TO_ROWS = frozenset(
    {
        FileClass.TRANSCRIPT,
        FileClass.CHECKPOINT,
        FileClass.TRAJECTORY,
        FileClass.TRAJECTORY_POINTER,
        FileClass.ARCHIVE,
    }
)
_ALWAYS_PROTECTED = frozenset(
    {FileClass.STORE, FileClass.STORE_TEMPORARY, FileClass.LOCK, FileClass.SIGNAL_LOG, FileClass.NEWER_STORE}
)


def _stamp_ms(stamp: str) -> int | None:
    date, _, time = stamp.partition("T")
    form = "%Y-%m-%dT%H:%M:%S.%fZ" if "." in time else "%Y-%m-%dT%H:%M:%SZ"
    try:
        moment = datetime.strptime(f"{date}T{time.replace('-', ':')}", form).replace(tzinfo=UTC)
    except ValueError:
        return None
    return round(moment.timestamp() * 1000)
