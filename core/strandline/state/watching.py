"""Changes on disk as one stream of batches (platforms: watching).

    async with DirectoryWatch(targets, now_ms) as watch:
        async for changes in watch.changes():
            ...

One thread listens; what it hears is merged until the reader takes it, so thousands of quick changes become at most
four batches a second and a slow reader costs no memory. Directories that are not there yet, vanish or are made anew
are looked for once a second. No watched file is ever opened.
"""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Self

import msgspec

from strandline.errors import Bug
from strandline.state.changes import DirectoryChanges, WatchStatus, WatchTargets, sort_changes
from strandline.state.processes import shared_file_system
from strandline.state.watch_sources import EventSource, PollSource, SourceFailed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from pathlib import Path
    from types import TracebackType

    from strandline.state.watch_sources import Source

BATCH_GAP_S = 0.25
TEND_S = 1.0
POLL_S = 2.0
MOST_NAMES = 4096


class _Mark(msgspec.Struct, frozen=True):
    """What tells whether a directory is the one that is watched, and whether names in it came or went."""

    inode: int
    device: int
    mtime_ns: int


class DirectoryWatch:
    """Watches directories from ``async with`` on; one reader at a time takes the changes."""

    def __init__(
        self, targets: WatchTargets, now_ms: Callable[[], int], *, polling: str | None = None, poll_s: float = POLL_S
    ) -> None:
        """Prepare; nothing is touched yet.

        Args:
            targets: what to watch.
            now_ms: the clock, ms since the epoch.
            polling: a reason to poll from the start; without one the system's events are tried first.
            poll_s: shortest time between two looks where it is polled, seconds.
        """
        self._targets = targets
        self._now_ms = now_ms
        self._polling = polling
        self._poll_s = poll_s
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._names: dict[Path, set[str]] = {}
        self._unknown: set[Path] = set()
        self._first_ms: int | None = None
        self._failure: Exception | None = None
        self._status = WatchStatus()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = asyncio.Event()
        self._listening = asyncio.Event()
        self._ended = asyncio.Event()
        self._thread: threading.Thread | None = None
        # Touched by the thread alone.
        self._source: Source | None = None
        self._marks: dict[Path, _Mark] = {}
        self._suspects: set[Path] = set()
        self._heard: set[Path] = set()
        self._tend_at = 0.0

    async def __aenter__(self) -> Self:
        """Start; every change from here on is told."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="watch for changes", daemon=True)
        self._thread.start()
        try:
            await self._listening.wait()
        except asyncio.CancelledError:
            # Whoever waits gave up; without this nobody would end the thread.
            await self.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        await self.stop()

    @property
    def status(self) -> WatchStatus:
        """How changes are noticed right now."""
        return self._status

    def retarget(self, targets: WatchTargets) -> None:
        """Watch these from now on; directories that stay are not interrupted."""
        with self._guard:
            self._targets = targets
        self._tend_at = 0.0

    async def stop(self) -> None:
        """End the thread and every iteration; takes no longer than one step of waiting."""
        self._stop.set()
        self._ready.set()
        if self._thread is not None:
            await self._ended.wait()
            self._thread.join()

    async def changes(self) -> AsyncIterator[DirectoryChanges]:
        """Iterate over batches of changes until ``stop``; two batches are a quarter of a second apart at least.

        Raises:
            Bug: the watching thread broke.
        """
        loop = asyncio.get_running_loop()
        earliest = loop.time()
        while not self._stop.is_set():
            await self._ready.wait()
            await asyncio.sleep(max(0.0, earliest - loop.time()))
            self._ready.clear()
            if self._failure is not None:
                raise Bug(f"Watching for changes broke: {self._failure}") from self._failure
            batch = self._take()
            if batch is not None and not self._stop.is_set():
                earliest = loop.time() + BATCH_GAP_S
                yield batch

    def _take(self) -> DirectoryChanges | None:
        with self._guard:
            names, unknown, first_ms, targets = self._names, self._unknown, self._first_ms, self._targets
            self._names, self._unknown, self._first_ms = {}, set(), None
        if first_ms is None:
            return None
        changes = sort_changes(names, unknown, first_ms, targets)
        return None if changes == DirectoryChanges(at_ms=first_ms) else changes

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                if time.monotonic() >= self._tend_at:
                    self._tend()
                self._call(self._listening.set)
                if self._source is None:
                    self._stop.wait(TEND_S)
                    continue
                names, lost = self._source.collect(self._stop, TEND_S)
                self._hear(names, lost)
        except Exception as error:  # noqa: BLE001 - the reader raises it
            self._failure = error
        finally:
            if self._source is not None:
                self._source.close()
                self._source = None
            self._call(self._listening.set)
            self._call(self._ready.set)
            self._call(self._ended.set)

    def _call(self, function: Callable[[], None]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(function)

    def _hear(self, names: dict[Path, set[str]], lost: set[Path]) -> None:
        self._heard |= names.keys()
        for directory in lost:
            self._marks.pop(directory, None)
            self._tend_at = 0.0
        self._merge(names, lost)

    def _merge(self, names: dict[Path, set[str]], unknown: Iterable[Path]) -> None:
        new = set(unknown)
        if not names and not new:
            return
        with self._guard:
            waiting = self._first_ms is not None
            if not waiting:
                self._first_ms = self._now_ms()
            self._unknown |= new
            for directory, some in names.items():
                known = self._names.setdefault(directory, set())
                known |= some
                if len(known) > MOST_NAMES:
                    known.clear()
                    self._unknown.add(directory)
        if not waiting:
            self._call(self._ready.set)

    def _tend(self) -> None:
        """Look whether the directories are still the ones that are watched, and whether a change went unheard."""
        with self._guard:
            targets = self._targets
        now = {path: mark for path in targets.directories if (mark := _mark(path)) is not None}
        moved = {
            path
            for path in self._marks.keys() | now.keys()
            if path in targets.directories and not _same_directory(self._marks.get(path), now.get(path))
        }
        begun = self._source is not None or bool(self._status.missing)
        unheard = {path for path in self._suspects if path in now and path not in self._heard}
        if moved or unheard or self._marks.keys() - now.keys():
            self._marks = now if self._listen(now) else {}
            if begun:
                self._merge({}, moved | unheard)
        self._suspects = {
            path
            for path, mark in now.items()
            if isinstance(self._source, EventSource)
            and path not in self._heard
            and path in self._marks
            and self._marks[path].mtime_ns != mark.mtime_ns
        }
        self._heard = set()
        self._marks = {path: mark for path, mark in now.items() if path in self._marks}
        self._tend_at = time.monotonic() + TEND_S
        self._tell(targets)

    def _listen(self, directories: Iterable[Path]) -> bool:
        """Turn to these directories; what was heard before the turn is not lost. ``False`` asks for another try."""
        wanted = tuple(directories)
        before, self._source = self._source, None
        try:
            if wanted:
                self._source = self._open(wanted, before)
        except FileNotFoundError:
            return False
        finally:
            if before is not None:
                if isinstance(before, EventSource):
                    names, _ = before.collect(self._stop, 0.0)
                    self._merge(names, ())
                before.close()
        return True

    def _open(self, directories: tuple[Path, ...], before: Source | None) -> Source:
        shared = (shared_file_system(path) for path in directories) if self._polling is None else ()
        reason = self._polling or next((each for each in shared if each is not None), None)
        if reason is None:
            try:
                return EventSource(directories)
            except SourceFailed as error:
                reason = str(error)
        self._status = msgspec.structs.replace(self._status, reason=reason)
        return PollSource(directories, self._poll_s, before.listings if isinstance(before, PollSource) else {})

    def _tell(self, targets: WatchTargets) -> None:
        polling_s = self._source.interval_s if self._source is not None else None
        self._status = WatchStatus(
            polling_s=polling_s,
            reason=self._status.reason if polling_s is not None else "",
            watched=tuple(sorted(str(path) for path in self._marks)),
            missing=tuple(sorted(str(path) for path in targets.directories - self._marks.keys())),
        )


def _mark(path: Path) -> _Mark | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return _Mark(status.st_ino, status.st_dev, status.st_mtime_ns)


def _same_directory(one: _Mark | None, other: _Mark | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.inode, one.device) == (other.inode, other.device)
