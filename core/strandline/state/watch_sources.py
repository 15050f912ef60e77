"""Where changes on disk are heard of: events of the system, or listings compared (platforms: watching).

Directories are watched, never files, and no watched file is opened. A source belongs to the one thread that asks it.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from strandline.errors import EnvironmentFault
from strandline.state import fsys

if TYPE_CHECKING:
    import threading
    from collections.abc import Collection, Mapping

    from strandline.state.fsys import FileEntry

WINDOW_MS = 200
STEP_MS = 50
SLOWEST_SHARE = 20

_ADDED, _MODIFIED = 1, 2


class SourceFailed(Exception):  # noqa: N818 - internal, never shown; its text is the reason
    """The system sends no events for these directories; the text says why."""


class Source(Protocol):
    """Something that tells which names changed in some directories."""

    @property
    def interval_s(self) -> float | None:
        """Seconds between two looks; ``None`` when the system tells by itself."""
        ...

    def collect(self, stop: threading.Event, patience_s: float) -> tuple[dict[Path, set[str]], set[Path]]:
        """Wait at most ``patience_s`` for changes.

        Returns:
            The changed names by directory, and the directories that may no longer be watched.
        """
        ...

    def close(self) -> None:
        """Let go of every handle."""
        ...


class EventSource:
    """Events of the system, grouped by ``watchfiles`` outside the interpreter."""

    interval_s = None

    def __init__(self, directories: Collection[Path]) -> None:
        """Start to listen.

        Raises:
            FileNotFoundError: one of the directories is gone.
            SourceFailed: the system refuses, mostly for a limit on watches.
        """
        # 35 ms and 91 modules, so only where something is watched. This way in is documented (API, "Rust backend").
        from watchfiles._rust_notify import (  # noqa: PLC0415 - see above
            RustNotify,
            WatchfilesRustInternalError,
        )

        self._directories = {_spelling(each): each for each in directories}
        # macOS reports real paths, whatever was asked for.
        self._directories |= {_spelling(Path(os.path.realpath(each))): each for each in directories}
        try:
            self._notify = RustNotify(
                [str(each) for each in directories],
                debug=False,
                force_polling=False,
                poll_delay_ms=0,
                recursive=False,
                ignore_permission_denied=True,
            )
        except FileNotFoundError:
            raise
        except (OSError, WatchfilesRustInternalError) as error:
            raise SourceFailed(f"the system refuses to watch it ({error})") from error

    def collect(self, stop: threading.Event, patience_s: float) -> tuple[dict[Path, set[str]], set[Path]]:
        """See ``Source``."""
        found = self._notify.watch(WINDOW_MS, STEP_MS, max(1, round(patience_s * 1000)), stop)
        names: dict[Path, set[str]] = {}
        lost: set[Path] = set()
        if isinstance(found, str):
            return names, lost
        for kind, path in found:
            itself = self._directories.get(_spelling(path))
            if itself is not None and kind not in {_ADDED, _MODIFIED}:
                lost.add(itself)
            parent, name = os.path.split(path)
            directory = self._directories.get(_spelling(parent))
            if directory is not None:
                names.setdefault(directory, set()).add(name)
        return names, lost

    def close(self) -> None:
        """See ``Source``."""
        self._notify.close()


class PollSource:
    """Listings compared, for network drives and where the system's watches have run out."""

    def __init__(
        self, directories: Collection[Path], interval_s: float, before: Mapping[Path, Mapping[str, FileEntry]]
    ) -> None:
        self._shortest_s = interval_s
        self._interval_s = interval_s
        self.listings: dict[Path, Mapping[str, FileEntry]] = {}
        for each in directories:
            self.listings[each] = before[each] if each in before else self._list(each)
        self._due = time.monotonic() + interval_s

    @property
    def interval_s(self) -> float:
        """See ``Source``; grows on a slow drive so that looking takes at most a twentieth of the time."""
        return self._interval_s

    def collect(self, stop: threading.Event, patience_s: float) -> tuple[dict[Path, set[str]], set[Path]]:
        """See ``Source``."""
        names: dict[Path, set[str]] = {}
        left = self._due - time.monotonic()
        if stop.wait(max(0.0, min(left, patience_s))) or left > patience_s:
            return names, set()
        started = time.monotonic()
        for directory, before in self.listings.items():
            now = self._list(directory)
            changed = {name for name, entry in now.items() if before.get(name) != entry} | (before.keys() - now.keys())
            if changed:
                names[directory] = changed
            self.listings[directory] = now
        took = time.monotonic() - started
        self._interval_s = max(self._shortest_s, took * SLOWEST_SHARE)
        self._due = time.monotonic() + self._interval_s
        return names, set()

    def close(self) -> None:
        """See ``Source``."""

    @staticmethod
    def _list(directory: Path) -> Mapping[str, FileEntry]:
        try:
            return {entry.name: entry for entry in fsys.list_directory(directory)}
        except EnvironmentFault:
            return {}


def _spelling(path: Path | str) -> str:
    return os.path.normcase(str(path))
