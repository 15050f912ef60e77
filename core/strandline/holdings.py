"""Stores with what was read of them, and the files that their rows hold on to."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from strandline.rows import StoreState
from strandline.state.file_classes import ClassifiedFile, FileClass, classify, stand

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from strandline.rows import SessionRow, StoreView, TranscriptFacts
    from strandline.state.discovery import StoreLocation
    from strandline.state.fsys import FileEntry

_TRANSCRIPT_ENDING = ".jsonl"
_SIDECAR_ENDINGS = (".trajectory.jsonl", ".trajectory-path.json")
# Over such a store nothing is known of what its rows hold on to.
_DARK = frozenset({StoreState.DAMAGED, StoreState.NEWER})


class Source:
    """One store with what has been read of it.

    Attributes:
        location: where it lies.
        newer: whether it is the agent's SQLite store.
        rows: its rows, in the order of the file.
        facts: what is known of each row's transcript, by key.
        listing: what lies in its directory, by name.
        identity: (size, mtime_ns, inode, device) of the bytes that were read; ``None`` when none were.
        reading: the first read, for which every caller waits; ``None`` before anybody asked.
    """

    def __init__(self, location: StoreLocation, *, newer: bool) -> None:
        self.location = location
        self.newer = newer
        self.rows: list[SessionRow] = []
        self.facts: dict[str, TranscriptFacts] = {}
        self.listing: dict[str, FileEntry] = {}
        self.identity: tuple[int, int, int, int] | None = None
        self.reading: asyncio.Task[None] | None = None

    @property
    def path(self) -> Path:
        """The file that holds the sessions."""
        return self.location.newer_path if self.newer and self.location.newer_path else self.location.path


def sharing(sources: Iterable[Source], directory: Path) -> list[Source]:
    """Return the sources whose rows may hold on to the files of a directory; a template can make it several."""
    return [source for source in sources if source.location.sessions_dir == directory]


def referenced_names(sources: Sequence[Source]) -> set[str]:
    """Return the names of files that rows lead to: transcripts, their sidecars, checkpoints."""
    names = {fact.name for source in sources for fact in source.facts.values() if fact.name is not None}
    stems = {name.removesuffix(_TRANSCRIPT_ENDING) for name in names}
    beside = {f"{stem}{ending}" for stem in stems for ending in _SIDECAR_ENDINGS}
    checkpoints = {name for source in sources for row in source.rows for name in row.checkpoints}
    return names | beside | checkpoints


def count_unindexed(source: Source, sources: Iterable[Source]) -> int:
    """Count the transcripts beside a store that no row leads to."""
    referenced = referenced_names(sharing(sources, source.location.sessions_dir))
    name = source.location.path.name
    return sum(
        1
        for entry in source.listing.values()
        if entry.is_file
        and classify(entry.name, store_name=name) is FileClass.TRANSCRIPT
        and entry.name not in referenced
    )


def classified_files(sources: Sequence[Source], views: Sequence[StoreView], state: Path) -> Iterator[ClassifiedFile]:
    """Yield every file below the sessions directories with class and standing.

    Args:
        sources: every store.
        views: the same stores as they are shown.
        state: the state directory, which paths are relative to.
    """
    for directory, listing in {source.location.sessions_dir: source.listing for source in sources}.items():
        beside = sharing(sources, directory)
        agents = {source.location.path.name: source.location.agent_id for source in beside}
        readable = not any(view.state in _DARK for source, view in zip(sources, views, strict=True) if source in beside)
        referenced = referenced_names(beside)
        for entry in listing.values():
            if not entry.is_file:
                continue
            own = next((name for name in agents if entry.name.startswith(name)), beside[0].location.path.name)
            file_class = classify(entry.name, store_name=own)
            yield ClassifiedFile(
                path=_relative(directory / entry.name, state),
                file_class=file_class,
                standing=stand(file_class, referenced=entry.name in referenced, store_readable=readable),
                bytes=entry.size,
                allocated=entry.allocated,
                mtime_ms=entry.mtime_ms,
                agent_id=agents[own],
            )


def recovery_names(store_name: str, entries: Iterable[FileEntry]) -> tuple[str, ...]:
    """Return the names of files that may hold an earlier copy of a store."""
    kinds = {FileClass.STORE_TEMPORARY, FileClass.STORE_BACKUP}
    return tuple(
        sorted(
            entry.name for entry in entries if entry.is_file and classify(entry.name, store_name=store_name) in kinds
        )
    )


def _relative(path: Path, state: Path) -> str:
    with suppress(ValueError):
        return path.relative_to(state).as_posix()
    return path.as_posix()
