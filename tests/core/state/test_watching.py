"""Changes on disk: real events and real polling, replaced files, vanished directories, many changes at once."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from strandline.errors import Bug
from strandline.state import watch_sources, watching
from strandline.state.changes import DirectoryChanges, WatchTargets, sort_changes
from strandline.state.watch_sources import EventSource, PollSource, SourceFailed
from strandline.state.watching import MOST_NAMES, DirectoryWatch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

_PATIENCE_S = 60
_POLL_S = 0.05
_BOTH = pytest.mark.parametrize("polling", [None, "asked for by the test"])


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _run(coroutine: Coroutine[object, object, None]) -> None:
    """Run to the end; no thread of ours may outlive it."""
    before = set(threading.enumerate())
    asyncio.run(asyncio.wait_for(coroutine, _PATIENCE_S))
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name == "watch for changes"]


def _targets(state: Path) -> WatchTargets:
    sessions = state / "agents" / "main" / "sessions"
    return WatchTargets(
        stores=(sessions / "sessions.json",), config_path=state / "openclaw.json", agents_dir=state / "agents"
    )


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Make a state directory with one agent's sessions directory."""
    (tmp_path / "state" / "agents" / "main" / "sessions").mkdir(parents=True)
    return tmp_path / "state"


class _Reader:
    """Takes batches until one fits, and keeps them all."""

    def __init__(self, watch: DirectoryWatch) -> None:
        self.watch = watch
        self.batches: list[DirectoryChanges] = []
        self._changes = watch.changes()

    async def until(self, fits: Callable[[DirectoryChanges], bool]) -> DirectoryChanges:
        async for batch in self._changes:
            self.batches.append(batch)
            if fits(batch):
                return batch
        raise AssertionError

    async def missing(self, wanted: bool) -> None:
        while bool(self.watch.status.missing) is not wanted:  # noqa: ASYNC110 - the status is told by a thread
            await asyncio.sleep(0.02)


@asynccontextmanager
async def _watching(targets: WatchTargets, polling: str | None = None) -> AsyncIterator[_Reader]:
    async with DirectoryWatch(targets, _now_ms, polling=polling, poll_s=_POLL_S) as watch:
        yield _Reader(watch)


def _replace(path: Path, data: bytes) -> None:
    """Replace a file as the real program does."""
    temporary = path.with_name(f".fs-safe-replace.{os.getpid()}.00000000-0000-4000-8000-000000000000.tmp")
    temporary.write_bytes(data)
    temporary.replace(path)


@_BOTH
def test_appends_and_atomic_replaces_are_seen_again_and_again(state: Path, polling: str | None) -> None:
    """A watch on the directory survives every replacement of a file in it."""

    async def scenario() -> None:
        sessions = state / "agents" / "main" / "sessions"
        store, transcript = sessions / "sessions.json", sessions / "s.jsonl"
        async with _watching(_targets(state), polling) as reader:
            for turn in range(3):
                _replace(store, b"{}" + b" " * turn)
                await reader.until(lambda batch: store in batch.stores)
                with transcript.open("ab") as file:
                    file.write(b"{}\n")
                await reader.until(lambda batch: transcript in batch.transcripts)
            store.unlink()
            await reader.until(lambda batch: store in batch.stores)
        assert not any(batch.unknown or batch.config for batch in reader.batches)

    _run(scenario())


@_BOTH
def test_a_new_agent_and_a_changed_configuration_are_told(state: Path, polling: str | None) -> None:
    """Beside the stores only these two things of the state directory count; other files there do not."""

    async def scenario() -> None:
        async with _watching(_targets(state), polling) as reader:
            (state / "notes.txt").write_bytes(b"x")
            _replace(state / "openclaw.json", b"{}")
            await reader.until(lambda batch: batch.config)
            (state / "agents" / "work" / "sessions").mkdir(parents=True)
            await reader.until(lambda batch: batch.agents)
            new = state / "agents" / "work" / "sessions" / "sessions.json"
            reader.watch.retarget(WatchTargets(stores=(*_targets(state).stores, new)))
            await reader.until(lambda batch: new.parent in batch.unknown)
            new.write_bytes(b"{}")
            await reader.until(lambda batch: new in batch.stores)
        assert not any(batch.others for batch in reader.batches)

    _run(scenario())


@_BOTH
def test_a_directory_made_anew_is_watched_again(state: Path, polling: str | None) -> None:
    """Deleted and made again, at once or later: anything in it may differ, and later changes are seen."""

    async def scenario() -> None:
        sessions = state / "agents" / "main" / "sessions"
        async with _watching(_targets(state), polling) as reader:
            shutil.rmtree(sessions)
            await reader.until(lambda batch: sessions in batch.unknown)
            await reader.missing(wanted=True)
            sessions.mkdir()
            await reader.until(lambda batch: sessions in batch.unknown)
            await reader.missing(wanted=False)
            (sessions / "a.jsonl").write_bytes(b"x")
            await reader.until(lambda batch: sessions / "a.jsonl" in batch.transcripts)
            sessions.rename(state / "away")
            sessions.mkdir()
            await reader.until(lambda batch: sessions in batch.unknown)
            (sessions / "b.jsonl").write_bytes(b"x")
            await reader.until(lambda batch: sessions / "b.jsonl" in batch.transcripts or sessions in batch.unknown)

    _run(scenario())


@_BOTH
def test_a_root_that_is_not_there_is_looked_for(tmp_path: Path, polling: str | None) -> None:
    """Nothing to watch at first, everything gone in between: the watch waits and says what is missing."""

    async def scenario() -> None:
        state = tmp_path / "later"
        sessions = state / "agents" / "main" / "sessions"
        async with _watching(_targets(state), polling) as reader:
            assert len(reader.watch.status.missing) == 3
            for _ in range(2):
                sessions.mkdir(parents=True)
                await reader.until(lambda batch: sessions in batch.unknown)
                await reader.missing(wanted=False)
                (sessions / "a.jsonl").write_bytes(b"x")
                await reader.until(lambda batch: sessions / "a.jsonl" in batch.transcripts)
                shutil.rmtree(state)
                await reader.until(lambda batch: sessions in batch.unknown)
                await reader.missing(wanted=True)

    _run(scenario())


def test_thousands_of_changes_become_few_batches(state: Path) -> None:
    """Every changed file is named, in far fewer batches than changes, never closer than a quarter of a second."""

    async def scenario() -> None:
        sessions = state / "agents" / "main" / "sessions"
        names = [sessions / f"{number}.jsonl" for number in range(200)]
        seen: set[Path] = set()

        def write() -> None:
            for _ in range(20):
                for path in names:
                    with path.open("ab") as file:
                        file.write(b"x\n")

        def complete(batch: DirectoryChanges) -> bool:
            seen.update(batch.transcripts)
            taken.append(time.monotonic())
            return seen >= set(names)

        taken: list[float] = []
        async with _watching(_targets(state)) as reader:
            writing = asyncio.create_task(asyncio.to_thread(write))
            await reader.until(complete)
            await writing
        gaps = [later - earlier for earlier, later in itertools.pairwise(taken)]
        assert all(gap > watching.BATCH_GAP_S * 0.9 for gap in gaps)

    _run(scenario())


def test_a_slow_reader_costs_no_memory(state: Path) -> None:
    """What nobody takes is merged: too many names become one directory in which anything may have changed."""
    sessions = state / "agents" / "main" / "sessions"
    watch = DirectoryWatch(_targets(state), _now_ms)
    for first in range(0, 3 * MOST_NAMES, 100):
        watch._merge({sessions: {f"{number}.jsonl" for number in range(first, first + 100)}}, ())
        assert sum(len(names) for names in watch._names.values()) <= MOST_NAMES + 100
    batch = watch._take()
    assert batch is not None
    assert batch.unknown == (sessions,)
    assert watch._take() is None


@pytest.mark.skipif(sys.platform != "linux", reason="open handles are counted in /proc")
def test_handles_do_not_grow_with_files_nor_with_time(state: Path) -> None:
    """One set of handles per watch, whatever the number of files, and none is left after the end."""

    def handles() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async def at_most(number: int) -> None:
        # The backend's own thread closes them a moment after it was told to.
        while handles() > number:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.02)

    async def scenario() -> None:
        sessions = state / "agents" / "main" / "sessions"
        for number in range(500):
            (sessions / f"{number}.jsonl").write_bytes(b"x")
        outside = handles()
        async with _watching(_targets(state)) as reader:
            inside = handles()
            assert inside - outside < 16
            for _ in range(3):
                shutil.rmtree(sessions)
                await reader.until(lambda batch: sessions in batch.unknown)
                sessions.mkdir()
                await reader.until(lambda batch: sessions in batch.unknown)
                await reader.missing(wanted=False)
            await at_most(inside)
        await at_most(outside)

    _run(scenario())


def test_watching_opens_no_file_and_changes_nothing(state: Path) -> None:
    """Neither events nor polling reads a file: one that may not be opened is reported like any other."""

    async def scenario(polling: str | None) -> None:
        pipe = state / "agents" / "main" / "sessions" / "p.jsonl"
        async with _watching(_targets(state), polling) as reader:
            os.mkfifo(pipe)  # opening it would wait for ever
            await reader.until(lambda batch: pipe in batch.transcripts)
            pipe.unlink()
            await reader.until(lambda batch: pipe in batch.transcripts)

    if hasattr(os, "mkfifo"):
        _run(scenario(None))
        _run(scenario("asked for by the test"))


def test_stopping_ends_a_waiting_reader(state: Path) -> None:
    """A reader that waits for the next change comes to its end, and stopping twice is fine."""

    async def scenario() -> None:
        async with DirectoryWatch(_targets(state), _now_ms) as watch:
            reading = asyncio.create_task(_all(watch))
            await asyncio.sleep(0)
            await watch.stop()
            assert await reading == []

    async def _all(watch: DirectoryWatch) -> list[DirectoryChanges]:
        return [batch async for batch in watch.changes()]

    _run(scenario())


def test_a_refusal_of_the_system_leads_to_polling(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where watches have run out it is polled; reason and interval are shown."""

    class Refused(EventSource):
        def __init__(self, directories: object) -> None:  # noqa: ARG002 - the shape of what it stands for
            raise SourceFailed("the system refuses to watch it (no space left)")

    async def scenario() -> None:
        sessions = state / "agents" / "main" / "sessions"
        async with _watching(_targets(state)) as reader:
            assert reader.watch.status.polling_s is not None
            assert reader.watch.status.reason == "the system refuses to watch it (no space left)"
            (sessions / "a.jsonl").write_bytes(b"x")
            await reader.until(lambda batch: sessions / "a.jsonl" in batch.transcripts)

    monkeypatch.setattr(watching, "EventSource", Refused)
    _run(scenario())


def test_a_change_that_sent_no_event_is_noticed(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that came without an event are noticed by the directory's own time."""

    class Deaf(EventSource):
        def collect(self, stop: threading.Event, patience_s: float) -> tuple[dict[Path, set[str]], set[Path]]:
            super().collect(stop, patience_s)
            return {}, set()

    async def scenario() -> None:
        sessions = state / "agents" / "main" / "sessions"
        async with _watching(_targets(state)) as reader:
            (sessions / "a.jsonl").write_bytes(b"x")
            await reader.until(lambda batch: batch.unknown == (sessions,))

    monkeypatch.setattr(watching, "EventSource", Deaf)
    _run(scenario())


def test_a_broken_thread_is_told(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug in the thread reaches the reader; it never just falls silent."""

    async def scenario() -> None:
        async with DirectoryWatch(_targets(state), _now_ms) as watch:
            with pytest.raises(Bug, match="out of cheese"):
                await anext(watch.changes())

    def broken(_: object) -> None:
        raise RuntimeError("out of cheese")

    monkeypatch.setattr(watching, "shared_file_system", broken)
    _run(scenario())


def test_a_slow_drive_is_looked_at_less_often(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking takes a twentieth of the time at most; the interval says so."""
    sessions = state / "agents" / "main" / "sessions"
    listing = watch_sources.fsys.list_directory

    def slow(directory: Path) -> object:
        time.sleep(0.05)
        return listing(directory)

    source = PollSource([sessions], 0.0, {})
    monkeypatch.setattr(watch_sources.fsys, "list_directory", slow)
    source.collect(threading.Event(), 1.0)
    assert source.interval_s >= 0.05 * watch_sources.SLOWEST_SHARE


def test_names_are_sorted_by_what_they_mean(tmp_path: Path) -> None:
    """Stores with their SQLite companions, transcripts, the rest; the real program's temporary files are left out."""
    new = tmp_path / "agent" / "openclaw-agent.sqlite"
    targets = WatchTargets(stores=(tmp_path / "sessions.json", new))
    temporary = ".fs-safe-replace.1.00000000-0000-4000-8000-000000000000.tmp"
    names = {
        tmp_path: {"sessions.json", "a.jsonl", "a.jsonl.lock", temporary, "a.trajectory.jsonl"},
        new.parent: {"openclaw-agent.sqlite-wal"},
        tmp_path / "elsewhere": {"b.jsonl"},
    }
    assert sort_changes(names, set(), 5, targets) == DirectoryChanges(
        at_ms=5,
        stores=(new, tmp_path / "sessions.json"),
        transcripts=(tmp_path / "a.jsonl",),
        others=(tmp_path / "a.jsonl.lock", tmp_path / "a.trajectory.jsonl"),
    )


def test_the_expensive_libraries_are_loaded_on_first_use_only() -> None:
    """Neither the watcher's library nor the process table's is part of every start."""
    code = (
        "import sys, strandline.state.watching, strandline.state.owners, strandline.state.locks; "
        "print(sorted({'watchfiles', 'anyio', 'psutil'} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
