"""Newer stores to test with, made by SQLite itself: the counted tables of spec 2026.9 §B2, and a writer that lives."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA = """
CREATE TABLE schema_meta (meta_key TEXT PRIMARY KEY, role TEXT, schema_version INTEGER, agent_id TEXT,
                          app_version TEXT, created_at INTEGER, updated_at INTEGER) STRICT;
CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT NOT NULL,
                            entry_json TEXT NOT NULL, updated_at INTEGER) STRICT;
CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT NOT NULL
                              REFERENCES session_nodes ON DELETE CASCADE) STRICT;
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT,
                                PRIMARY KEY (session_id, seq)) STRICT;
INSERT INTO schema_meta VALUES ('primary', 'agent', 23, 'main', '2026.9.6', 0, 0);
PRAGMA user_version = 23;
"""

_WRITER = """
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA wal_autocheckpoint = 0")
for number in range(int(sys.argv[2])):
    database.execute("INSERT INTO session_nodes VALUES (?, ?, '{}', 0)", (f"agent:main:live:{number}", str(number)))
print("ready", flush=True)
number = 0
while sys.argv[3] == "busy":
    database.execute("INSERT INTO transcript_events VALUES ('live', ?, '{}')", (number,))
    number += 1
    time.sleep(0.002)
sys.stdin.read()
"""


def place_of(state: Path, agent: str = "main") -> Path:
    """Return where an agent's newer store lies."""
    return state / "agents" / agent / "agent" / "openclaw-agent.sqlite"


def write_newer(path: Path, *, sessions: int = 3, events: int = 4, wal: bool = True) -> Path:
    """Write a newer store with ``sessions`` rows of one window and ``events`` entries each; its log is folded in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        if wal:
            database.execute("PRAGMA journal_mode = WAL")
        database.executescript(SCHEMA)
        for number in range(sessions):
            database.execute(
                "INSERT INTO session_nodes VALUES (?, ?, '{}', 0)", (f"agent:main:s{number}", f"w{number}")
            )
            database.execute("INSERT INTO session_windows VALUES (?, ?)", (f"w{number}", f"agent:main:s{number}"))
            for seq in range(events):
                database.execute("INSERT INTO transcript_events VALUES (?, ?, '{}')", (f"w{number}", seq))
        database.commit()
    return path


@contextmanager
def live_writer(path: Path, *, rows: int = 2, busy: bool = False) -> Iterator[subprocess.Popen[str]]:
    """Keep a process that has the store open, with ``rows`` further sessions only in its log; ``busy`` writes on."""
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path), str(rows), "busy" if busy else "idle"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            yield writer
        finally:
            writer.kill()
