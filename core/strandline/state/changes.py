"""What is watched on disk, and what a batch of changes says (platforms: watching)."""

from __future__ import annotations

from pathlib import Path

import msgspec

from strandline.state.file_classes import FileClass, classify

_SQLITE_TAILS = ("-wal", "-shm", "-journal")


class WatchTargets(msgspec.Struct, frozen=True, kw_only=True):
    """What is watched.

    Attributes:
        stores: store files, JSON or SQLite; each one's directory is watched with everything in it.
        config_path: the configuration; of its directory nothing else is told.
        agents_dir: ``<state>/agents``, where a new name is a new agent.
    """

    stores: tuple[Path, ...]
    config_path: Path | None = None
    agents_dir: Path | None = None

    @property
    def directories(self) -> frozenset[Path]:
        """Every directory to watch; it need not exist."""
        others = (self.config_path.parent if self.config_path else None, self.agents_dir)
        return frozenset({path.parent for path in self.stores} | {path for path in others if path is not None})


class DirectoryChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What changed since the last batch; a changed file may be new, different or gone.

    Attributes:
        at_ms: when the first of it was noticed, ms since the epoch.
        stores: store files.
        transcripts: transcripts.
        others: every other file beside a store: locks, archives, checkpoints …; temporary copies are left out.
        unknown: directories in which anything may have changed: new, gone, made anew, or too much at once.
        config: whether the configuration changed.
        agents: whether a directory of an agent came or went.
    """

    at_ms: int
    stores: tuple[Path, ...] = ()
    transcripts: tuple[Path, ...] = ()
    others: tuple[Path, ...] = ()
    unknown: tuple[Path, ...] = ()
    config: bool = False
    agents: bool = False


class WatchStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How changes are noticed right now.

    Attributes:
        polling_s: seconds between two looks; ``None`` when the system tells by itself, within a second.
        reason: why it is polled; empty otherwise.
        watched: directories that are watched.
        missing: directories that are not there, or may not be read; they are looked for once a second.
    """

    polling_s: float | None = None
    reason: str = ""
    watched: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def sort_changes(
    names: dict[Path, set[str]], unknown: set[Path], at_ms: int, targets: WatchTargets
) -> DirectoryChanges:
    """Sort changed names by what they mean.

    Args:
        names: changed names by directory.
        unknown: directories in which anything may have changed.
        at_ms: when the first of it was noticed, ms since the epoch.
        targets: what is watched.
    """
    store_names: dict[Path, set[str]] = {}
    for path in targets.stores:
        store_names.setdefault(path.parent, set()).add(path.name)
    stores: set[Path] = set()
    transcripts: set[Path] = set()
    others: set[Path] = set()
    for directory in names.keys() & store_names.keys():
        for name in names[directory]:
            store = next((each for each in store_names[directory] if name in _store_files(each)), None)
            kind = classify(name)
            if store is not None:
                stores.add(directory / store)
            elif kind is FileClass.TRANSCRIPT:
                transcripts.add(directory / name)
            elif kind is not FileClass.STORE_TEMPORARY:
                others.add(directory / name)
    config = targets.config_path
    return DirectoryChanges(
        at_ms=at_ms,
        stores=tuple(sorted(stores)),
        transcripts=tuple(sorted(transcripts)),
        others=tuple(sorted(others)),
        unknown=tuple(sorted(unknown)),
        config=config is not None and (config.parent in unknown or config.name in names.get(config.parent, ())),
        agents=targets.agents_dir is not None and (targets.agents_dir in unknown or targets.agents_dir in names),
    )


def _store_files(store_name: str) -> set[str]:
    return {store_name, *(store_name + tail for tail in _SQLITE_TAILS)}
