"""Which file a row's transcript is, and how the two fit (spec 2026.5 §1.2, cases of moved directories).

The real program follows a stored path wherever it leads, out of the directory included. Here a path that leads outside
is shown as text and never opened, sized or removed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from strandline.ecmascript import trim
from strandline.state import fsys
from strandline.state.file_classes import looks_like_checkpoint
from strandline.state.keys import normalise_agent_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strandline.state.fsys import FileEntry

_AGENT_FILE = 3  # parts of <agent>/sessions/<file>
_FILE_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}", re.IGNORECASE | re.ASCII)


class TranscriptPath(msgspec.Struct, frozen=True):
    """Where a row's transcript should be.

    Attributes:
        path: the file the real program would use; ``None`` when the row leads to none.
        outside: whether that file lies outside the sessions directory.
        elsewhere: the stored path when it belongs to another place or machine, as text; else ``None``.
        local_name: name of a file in the sessions directory that has the stored path's last name; else ``None``.
        refused: why the session id must not become a file name on every system; else ``None``.
    """

    path: Path | None
    outside: bool = False
    elsewhere: str | None = None
    local_name: str | None = None
    refused: str | None = None


def is_file_id(session_id: str) -> bool:
    """Tell whether the real program lets a session id become a file name (spec 2026.5 §1.2)."""
    return _FILE_ID.fullmatch(session_id) is not None and not looks_like_checkpoint(f"{session_id}.jsonl")


def locate_transcript(
    session_id: str | None, session_file: str | None, sessions_dir: Path, listing: Mapping[str, FileEntry]
) -> TranscriptPath:
    """Find out which file a row's transcript is, without opening or creating anything.

    Args:
        session_id: the row's id after load-time normalising.
        session_file: the row's ``sessionFile``, as stored.
        sessions_dir: directory of the store.
        listing: what lies in it, by name.
    """
    default = f"{session_id}.jsonl" if session_id and is_file_id(session_id) else None
    refused = fsys.refused_name(default) if default else None
    stored = trim(session_file) if session_file else ""
    fallback = (
        _inside(sessions_dir / default, sessions_dir, listing, refused=refused) if default else TranscriptPath(None)
    )
    if not stored:
        return fallback
    foreign = fsys.foreign_name(stored)
    if foreign is not None:
        return _elsewhere(stored, foreign, fallback, listing)
    if not Path(stored).is_absolute():
        if stored == default or (os.sep not in stored and "/" not in stored and stored not in {".", ".."}):
            if stored.startswith(".."):
                return fallback  # the real program takes two dots in front for a way out, whatever follows
            return _inside(sessions_dir / stored, sessions_dir, listing, refused=fsys.refused_name(stored))
        joined = Path(os.path.normpath(sessions_dir / stored))
        if fsys.is_within(joined, sessions_dir) and joined != sessions_dir:
            return TranscriptPath(joined)
        return TranscriptPath(joined, outside=True, elsewhere=stored)
    path = Path(stored)
    if path == sessions_dir:
        return fallback
    if path.name == "..":
        return TranscriptPath(path, outside=True, elsewhere=stored)
    if path.parent == sessions_dir:
        return _inside(path, sessions_dir, listing)
    if fsys.is_within(path, sessions_dir):
        return TranscriptPath(path)
    if path.name in listing:
        return _elsewhere(stored, path.name, fallback, listing)
    if _is_sibling(path, sessions_dir):
        return TranscriptPath(path)
    return TranscriptPath(path, outside=True, elsewhere=stored)


def _inside(
    path: Path, sessions_dir: Path, listing: Mapping[str, FileEntry], *, refused: str | None = None
) -> TranscriptPath:
    """Return a path that lies in the sessions directory by its name; a link there may still lead out."""
    entry = listing.get(path.name)
    if (
        entry is None
        or entry.is_file
        or entry.is_dir
        or fsys.is_within(path, sessions_dir)
        or _is_sibling(path, sessions_dir)
    ):
        return TranscriptPath(path, refused=refused)
    return TranscriptPath(path, outside=True, elsewhere=os.path.realpath(path))


def _elsewhere(stored: str, name: str, fallback: TranscriptPath, listing: Mapping[str, FileEntry]) -> TranscriptPath:
    local = name if name in listing and listing[name].is_file else None
    return TranscriptPath(fallback.path, elsewhere=stored, local_name=local)


def _is_sibling(path: Path, sessions_dir: Path) -> bool:
    """Tell whether a path leads into the sessions of another agent of the same state, which the real program takes."""
    agents = sessions_dir.parent.parent
    if agents.name != "agents" or not fsys.is_within(path, agents):
        return False
    parts = Path(os.path.realpath(path)).relative_to(os.path.realpath(agents)).parts
    return len(parts) >= _AGENT_FILE and parts[1] == "sessions" and normalise_agent_id(parts[0]) == parts[0].lower()
