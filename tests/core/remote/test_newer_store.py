"""The newer store: counted without leaving a trace, and never an empty table (spec 2026.9 §B1, §B2, §B5)."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import newer_files
import state_tree
from strandline.errors import DamagedData, EnvironmentFault
from strandline.gateway import open_gateway
from strandline.remote.newer_store import NewerStore, look_at
from strandline.rows import StoreState
from strandline.state.file_classes import FileClass, Standing

if TYPE_CHECKING:
    from pathlib import Path

    from strandline.rows import DirectoryView


def _look(state: Path, place: Path) -> DirectoryView:
    async def ask() -> DirectoryView:
        async with open_gateway(state, environment=state_tree.fixed(place)) as gateway:
            await gateway.sessions()
            return gateway.view

    return asyncio.run(ask())


def _command(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "strandline.cli.main", *words, "--state", state],
        env={**os.environ, "XDG_CACHE_HOME": str(state.parent / "cache")},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("wal", [True, False])
def test_counts_of_a_store_that_nobody_has_open(wal: bool, tmp_path: Path) -> None:
    """Sessions, transcripts and entries are counted, the version is read, and nothing beside the file changes."""
    path = newer_files.write_newer(tmp_path / "db" / "openclaw-agent.sqlite", wal=wal)
    before = state_tree.tree_hash(path.parent)
    found = look_at(path, tmp_path / "scratch")
    assert found == NewerStore(sessions=3, transcripts=3, events=12, schema_version=23, app_version="2026.9.6")
    assert state_tree.tree_hash(path.parent) == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert not (tmp_path / "scratch").exists()


def test_rows_that_stand_only_in_the_log_are_counted(tmp_path: Path) -> None:
    """With a writer alive the log counts too; files beside the database keep their bytes and times; no copy stays."""
    path = newer_files.write_newer(tmp_path / "db" / "openclaw-agent.sqlite")
    with newer_files.live_writer(path, rows=5):
        assert path.with_name(f"{path.name}-wal").stat().st_size > 0
        before = state_tree.tree_hash(path.parent)
        found = look_at(path, tmp_path / "scratch")
        assert found.sessions == 8
        assert state_tree.tree_hash(path.parent) == before
        assert list((tmp_path / "scratch").iterdir()) == []


def test_log_that_a_dead_writer_left_is_counted(tmp_path: Path) -> None:
    """A writer that was killed leaves its log; it is read from a copy and stays as it is."""
    path = newer_files.write_newer(tmp_path / "db" / "openclaw-agent.sqlite")
    with newer_files.live_writer(path, rows=2) as writer:
        writer.kill()
        writer.wait()
    before = state_tree.tree_hash(path.parent)
    assert look_at(path, tmp_path / "scratch").sessions == 5
    assert state_tree.tree_hash(path.parent) == before


def test_log_without_its_index_is_counted(tmp_path: Path) -> None:
    """A copied directory may hold -wal without -shm; the log counts and no -shm appears."""
    path = newer_files.write_newer(tmp_path / "db" / "openclaw-agent.sqlite")
    with newer_files.live_writer(path, rows=2) as writer:
        writer.kill()
        writer.wait()
    path.with_name(f"{path.name}-shm").unlink()
    before = state_tree.tree_hash(path.parent)
    assert look_at(path, tmp_path / "scratch").sessions == 5
    assert state_tree.tree_hash(path.parent) == before


def test_writer_that_never_rests_does_not_stop_the_count(tmp_path: Path) -> None:
    """While the log grows every few milliseconds, a count is still given, and it is one of a moment."""
    path = newer_files.write_newer(tmp_path / "db" / "openclaw-agent.sqlite")
    with newer_files.live_writer(path, busy=True):
        counts = [look_at(path, tmp_path / "scratch") for _ in range(5)]
    events = [found.events or 0 for found in counts]
    assert {found.sessions for found in counts} == {5}
    assert events == sorted(events)
    assert events[0] >= 12


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "holds no sessions tables"), (b"this is no database at all " * 50, "not a database")],
)
def test_file_that_is_no_database_is_damage(content: bytes, reason: str, tmp_path: Path) -> None:
    """Zero bytes and junk are damage with a sentence, not zero sessions."""
    path = tmp_path / "openclaw-agent.sqlite"
    path.write_bytes(content)
    with pytest.raises(DamagedData, match=reason):
        look_at(path, tmp_path / "scratch")
    assert path.read_bytes() == content


def test_database_without_sessions_tables_is_damage(tmp_path: Path) -> None:
    """Another program's database is not taken for an empty store."""
    path = tmp_path / "openclaw-agent.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE other (a)")
        database.commit()
    with pytest.raises(DamagedData, match="no sessions tables"):
        look_at(path, tmp_path / "scratch")


def test_older_schema_counts_what_it_has(tmp_path: Path) -> None:
    """A table that this schema lacks is unknown, which is not 0; the others are counted."""
    path = tmp_path / "openclaw-agent.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE session_nodes (session_key TEXT)")
        database.execute("INSERT INTO session_nodes VALUES ('a')")
        database.execute("CREATE TABLE schema_meta (other TEXT)")
        database.commit()
    assert look_at(path, tmp_path / "scratch") == NewerStore(
        sessions=1, transcripts=None, events=None, schema_version=0, app_version=None
    )


def test_missing_file_is_a_fault_of_the_environment(tmp_path: Path) -> None:
    """A store that went away is said as such and not created."""
    with pytest.raises(EnvironmentFault, match="no such file"):
        look_at(tmp_path / "openclaw-agent.sqlite", tmp_path / "scratch")
    assert list(tmp_path.iterdir()) == []


_AS_NOBODY = """
import os, sys
from pathlib import Path
from strandline.errors import StrandlineError
from strandline.remote.newer_store import look_at
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    print(look_at(Path(sys.argv[1]), Path(sys.argv[2])).sessions)
except StrandlineError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
@pytest.mark.parametrize(("mode", "answer"), [(0o444, "3"), (0o000, "EnvironmentFault")])
def test_store_that_may_not_be_written_or_read(mode: int, answer: str, tmp_path: Path) -> None:
    """A directory and file without write permission are counted; without read permission it is one clear sentence."""
    place = tmp_path.resolve()
    state_tree.let_others_pass(place)
    path = newer_files.write_newer(place / "db" / "openclaw-agent.sqlite")
    path.chmod(mode)
    path.parent.chmod(0o555)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, path, place / "scratch"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stdout.startswith(answer), (done.stdout, done.stderr)
        if mode == 0:
            assert "permission denied" in done.stdout
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    finally:
        path.parent.chmod(0o755)


# Through the gateway and the command


def test_directory_with_only_newer_stores_says_so(tmp_path: Path) -> None:
    """The store's state is NEWER, with the counts in words; the SQLite file is what the view names."""
    path = newer_files.write_newer(newer_files.place_of(tmp_path / "state"))
    (store,) = _look(tmp_path / "state", tmp_path).stores
    assert (store.state, store.row_count, store.path, store.damage) == (StoreState.NEWER, 3, str(path), None)
    assert store.bytes == path.stat().st_size
    assert store.remark is not None
    assert "3 sessions, 3 transcripts, 12 entries (schema 23, last written by OpenClaw 2026.9.6)" in store.remark


@pytest.mark.parametrize("command", ["sessions", "status"])
def test_command_refuses_instead_of_an_empty_table(command: str, tmp_path: Path) -> None:
    """Exit code 4 and the sentence with counts; the JSON's count is null."""
    newer_files.write_newer(newer_files.place_of(tmp_path / "state"))
    plain = _command(tmp_path / "state", command)
    assert plain.returncode == 4
    assert "3 sessions, 3 transcripts, 12 entries" in plain.stderr
    assert "No sessions match" not in plain.stderr
    if command == "sessions":
        assert plain.stdout == ""
    answer = json.loads(_command(tmp_path / "state", command, "--json").stdout)
    listed = answer if command == "sessions" else answer["sessions"]
    assert listed["count"] is None
    assert "newer SQLite store" in answer["damage"][0]["reason"]


def test_one_newer_store_among_json_stores_is_told_in_part(tmp_path: Path) -> None:
    """Rows of the readable store are listed, the newer one is named, exit code 5."""
    state = tmp_path / "state"
    state_tree.write_config(state, {"agents": {"list": [{"id": "main"}, {"id": "beta"}]}})
    state_tree.write_store(state, {"agent:main:main": {"updatedAt": 1}})
    newer_files.write_newer(newer_files.place_of(state, "beta"))
    done = _command(state, "sessions", "--all-agents", "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["count"]) == (5, 1)
    assert [damage["agentId"] for damage in answer["damage"]] == ["beta"]


def test_damaged_newer_store_is_damage(tmp_path: Path) -> None:
    """A zero-byte SQLite file is told as damage of that store, not as an empty agent."""
    path = newer_files.place_of(tmp_path / "state")
    path.parent.mkdir(parents=True)
    path.touch()
    (store,) = _look(tmp_path / "state", tmp_path).stores
    assert store.state is StoreState.DAMAGED
    assert store.damage is not None
    assert str(path) in store.damage
    assert _command(tmp_path / "state", "sessions").returncode == 4


def test_files_beside_a_newer_store_are_listed_and_never_called_unreferenced(tmp_path: Path) -> None:
    """Archives that the import left behind are counted; whose they are only the newer store knows."""
    state = tmp_path / "state"
    newer_files.write_newer(newer_files.place_of(state))
    folder = state / "agents" / "main" / "sessions"
    folder.mkdir()
    for name in ("a.jsonl", "b.jsonl.reset.2026-04-10T12-00-00.000Z"):
        (folder / name).write_text("{}\n", "utf-8")

    async def ask() -> dict[str, tuple[FileClass, Standing]]:
        async with open_gateway(state, environment=state_tree.fixed(tmp_path)) as gateway:
            return {file.path: (file.file_class, file.standing) for file in (await gateway.files()).files}

    assert asyncio.run(ask()) == {
        "agents/main/sessions/a.jsonl": (FileClass.TRANSCRIPT, Standing.UNREADABLE),
        "agents/main/sessions/b.jsonl.reset.2026-04-10T12-00-00.000Z": (FileClass.ARCHIVE, Standing.UNREADABLE),
    }


def test_both_eras_side_by_side_are_two_stores(tmp_path: Path) -> None:
    """A directory with sessions.json and a newer store shows both, the rows of the one and the counts of the other."""
    state = tmp_path / "state"
    newer_files.write_newer(newer_files.place_of(state))
    state_tree.write_store(state, {"agent:main:main": {"updatedAt": 1}})
    stores = _look(state, tmp_path).stores
    assert [store.state for store in stores] == [StoreState.READ, StoreState.NEWER]
