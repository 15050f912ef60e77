"""The newer store: sessions in one SQLite file per agent (spec 2026.9 §B1, §B2, §B5). Counted, not decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from strandline.errors import DamagedData
from strandline.remote.foreign_sqlite import read_foreign

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

_COUNTED = {"session_nodes": "sessions", "session_windows": "transcripts", "transcript_events": "events"}


class NewerStore(msgspec.Struct, frozen=True, kw_only=True):
    """What a read-only look at a newer store tells.

    Attributes:
        sessions: rows of ``session_nodes``; ``None`` when this schema has no such table.
        transcripts: rows of ``session_windows``.
        events: rows of ``transcript_events``.
        schema_version: the store's own version number.
        app_version: the program version that wrote it last, when it says so.
    """

    sessions: int | None
    transcripts: int | None
    events: int | None
    schema_version: int
    app_version: str | None


def look_at(path: Path, scratch: Path) -> NewerStore:
    """Count what an agent's SQLite store holds, leaving no trace.

    Args:
        path: ``openclaw-agent.sqlite``.
        scratch: directory of our own for a copy when the store is in use.

    Raises:
        EnvironmentFault: the file cannot be read.
        DamagedData: it is no database, or holds no sessions tables.
    """

    def read(database: sqlite3.Connection) -> NewerStore:
        tables = {str(name) for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables & _COUNTED.keys():
            raise DamagedData(f"The database {path} holds no sessions tables; it may belong to another release.")
        counts = {word: _count(database, table) for table, word in _COUNTED.items() if table in tables}
        version: int = database.execute("PRAGMA user_version").fetchone()[0]
        return NewerStore(
            sessions=counts.get("sessions"),
            transcripts=counts.get("transcripts"),
            events=counts.get("events"),
            schema_version=version,
            app_version=_app_version(database) if "schema_meta" in tables else None,
        )

    return read_foreign(path, scratch, read)


def _count(database: sqlite3.Connection, table: str) -> int:
    found: int = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - one of three names above
    return found


def _app_version(database: sqlite3.Connection) -> str | None:
    columns = {str(row[1]) for row in database.execute("PRAGMA table_info(schema_meta)")}
    if not {"meta_key", "app_version"} <= columns:
        return None
    row = database.execute("SELECT app_version FROM schema_meta WHERE meta_key = 'primary'").fetchone()
    return str(row[0]) if row and row[0] is not None else None
