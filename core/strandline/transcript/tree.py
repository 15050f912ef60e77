"""Joins entries into a tree that ends, whatever the file says: every record stands in it exactly once.

Parents are found as the real program finds them: by id, the last record with an id wins (spec 2026.5 §6.2). Where that
leads into a loop, which hangs the real program, the loop is cut at its earliest record. Nothing here recurses.
"""

from __future__ import annotations

from operator import lt
from typing import TYPE_CHECKING

import msgspec

from strandline.ecmascript import date_ms, trim
from strandline.transcript.index import record_at
from strandline.transcript.records import Label, SessionInfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from strandline.transcript.index import TranscriptIndex


class Duplicate(msgspec.Struct, frozen=True):
    """An id that several records have.

    Attributes:
        id: the id.
        positions: the records in the order of the file; children belong to the last one.
    """

    id: str
    positions: tuple[int, ...]


class MissingParent(msgspec.Struct, frozen=True):
    """A record whose parent is not in the file; it is a root of its own.

    Attributes:
        position: the record.
        parent_id: the id that is not there.
    """

    position: int
    parent_id: str


class Loop(msgspec.Struct, frozen=True):
    """Records whose parents lead back to themselves.

    Attributes:
        ids: their ids, each followed by its parent's.
        cut: position of the record whose link was cut.
        parent: what it hangs from instead: an earlier record with the id it names; ``None`` makes it a root.
    """

    ids: tuple[str, ...]
    cut: int
    parent: int | None


class Run(msgspec.Struct, frozen=True):
    """Records in a row without a branch.

    Attributes:
        entries: positions, oldest first.
        parent: the run that this one branches off from, as a place in ``Tree.runs``; ``None`` for a root.
        level: branch points above it.
        active: whether its records lie on the active path; a run lies on it as a whole or not at all.
    """

    entries: tuple[int, ...]
    parent: int | None
    level: int
    active: bool


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """A transcript's entries joined; entries are named by their position.

    Attributes:
        parents: by position, the entry before; ``None`` at a root.
        first_children: by position, the oldest entry after it; ``None`` at an end.
        branches: by position, the entries after it, oldest first, where there are several.
        roots: entries without a parent, in the order of the file.
        leaf: the last entry of the file, whatever its type; ``None`` when there is none.
        path: root to leaf: what the talk is now.
        runs: every entry in runs, in the order in which a tree is read.
        duplicates: ids that several records have.
        missing: records whose parent is not in the file.
        loops: loops that were cut.
        labels: label by the id it names; the last one counts, an empty one takes it away.
        session_name: last name given to the session; ``None`` when it has none.
    """

    parents: tuple[int | None, ...]
    first_children: tuple[int | None, ...]
    branches: dict[int, tuple[int, ...]]
    roots: tuple[int, ...]
    leaf: int | None
    path: tuple[int, ...]
    runs: tuple[Run, ...]
    duplicates: tuple[Duplicate, ...]
    missing: tuple[MissingParent, ...]
    loops: tuple[Loop, ...]
    labels: dict[str, str]
    session_name: str | None

    def children(self, position: int) -> tuple[int, ...]:
        """Return the entries after one, oldest first."""
        return _children(self.first_children, self.branches, position)

    @property
    def side_entries(self) -> int:
        """How many entries lie on side branches."""
        return len(self.parents) - len(self.path)


class Links(msgspec.Struct, frozen=True):
    """Where each entry hangs, and what was odd on the way.

    Attributes:
        parents: by position, the entry before; following them always ends.
        duplicates: ids that several records have.
        missing: records whose parent is not in the file.
        loops: loops that were cut.
    """

    parents: tuple[int | None, ...]
    duplicates: tuple[Duplicate, ...]
    missing: tuple[MissingParent, ...]
    loops: tuple[Loop, ...]


def join(ids: Sequence[str | None], parent_ids: Sequence[str | None]) -> Links:
    """Find every entry's parent.

    Args:
        ids: ids by position.
        parent_ids: parents' ids by position.
    """
    last = {entry_id: position for position, entry_id in enumerate(ids)}
    last.pop(None, None)
    parents: list[int | None] = [None if wanted is None else last.get(wanted) for wanted in parent_ids]
    missing = tuple(
        MissingParent(position, wanted)
        for position, wanted in enumerate(parent_ids)
        if wanted is not None and parents[position] is None
    )
    doubles: dict[str, list[int]] = {}
    if len(last) + sum(entry_id is None for entry_id in ids) < len(ids):
        doubles = _doubles(ids, last)
    in_order = all(map(lt, (-1 if parent is None else parent for parent in parents), range(len(parents))))
    loops = () if in_order else _cut_loops(ids, parent_ids, parents, doubles)
    duplicates = tuple(Duplicate(entry_id, tuple(positions)) for entry_id, positions in doubles.items())
    return Links(tuple(parents), duplicates, missing, loops)


def path_to(parents: Sequence[int | None], position: int | None) -> tuple[int, ...]:
    """Return the entries from the root to ``position``; ``()`` for ``None``."""
    path: list[int] = []
    while position is not None:
        path.append(position)
        position = parents[position]
    path.reverse()
    return tuple(path)


def find_entry(ids: Sequence[str | None], entry_id: str) -> int | None:
    """Return the position of the last record with an id; ``None`` when there is none."""
    for position in range(len(ids) - 1, -1, -1):
        if ids[position] == entry_id:
            return position
    return None


def build_tree(index: TranscriptIndex) -> Tree:
    """Join a transcript's entries."""
    links = join(index.ids, index.parent_ids)
    count = len(links.parents)
    leaf = count - 1 if count else None
    path = path_to(links.parents, leaf)
    first: list[int | None] = [None] * count
    later: dict[int, list[int]] = {}
    roots: list[int] = []
    for position, parent in enumerate(links.parents):
        if parent is None:
            roots.append(position)
        elif (born := first[parent]) is None:
            first[parent] = position
        else:
            later.setdefault(parent, [born]).append(position)
    branches = {parent: _by_time(index, born) for parent, born in later.items()}
    for parent, siblings in branches.items():
        first[parent] = siblings[0]
    first_children = tuple(first)
    labels, session_name = _names(index)
    return Tree(
        parents=links.parents,
        first_children=first_children,
        branches=branches,
        roots=tuple(roots),
        leaf=leaf,
        path=path,
        runs=_runs(roots, first_children, branches, frozenset(path)),
        duplicates=links.duplicates,
        missing=links.missing,
        loops=links.loops,
        labels=labels,
        session_name=session_name,
    )


def walk(tree: Tree) -> Iterator[tuple[int, int]]:
    """Yield (depth, position) of every entry, parents before their children."""
    stack = [(0, root) for root in reversed(tree.roots)]
    while stack:
        depth, position = stack.pop()
        yield depth, position
        stack.extend((depth + 1, child) for child in reversed(tree.children(position)))


def _doubles(ids: Sequence[str | None], last: dict[str | None, int]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for position, entry_id in enumerate(ids):
        if entry_id is not None and last[entry_id] != position:
            found.setdefault(entry_id, []).append(position)
    for entry_id, positions in found.items():
        positions.append(last[entry_id])
    return found


_NEW, _WALKED, _SETTLED = 0, 1, 2


def _cut_loops(
    ids: Sequence[str | None],
    parent_ids: Sequence[str | None],
    parents: list[int | None],
    doubles: dict[str, list[int]],
) -> tuple[Loop, ...]:
    """Cut every loop in ``parents``; each entry is walked once."""
    loops: list[Loop] = []
    state = bytearray(len(parents))
    for start in range(len(parents)):
        walked: list[int] = []
        position: int | None = start
        while position is not None and state[position] == _NEW:
            state[position] = _WALKED
            walked.append(position)
            position = parents[position]
        if position is not None and state[position] == _WALKED:
            members = walked[walked.index(position) :]
            at = members.index(min(members))
            ring = members[at:] + members[:at]
            cut = ring[0]
            # An earlier record with the id, whose own way to a root is already known, is what was meant.
            earlier = [
                twin for twin in doubles.get(parent_ids[cut] or "", ()) if twin < cut and state[twin] == _SETTLED
            ]
            parents[cut] = earlier[-1] if earlier else None
            loops.append(Loop(tuple(ids[member] or "" for member in ring), cut, parents[cut]))
        for member in walked:
            state[member] = _SETTLED
    return tuple(loops)


def _by_time(index: TranscriptIndex, siblings: list[int]) -> tuple[int, ...]:
    timed: list[tuple[int, int]] = []
    for position in siblings:
        time = date_ms(index.entry(position).timestamp)
        if time is None:
            return tuple(siblings)
        timed.append((time, position))
    return tuple(position for _, position in sorted(timed))


def _children(first: Sequence[int | None], branches: dict[int, tuple[int, ...]], position: int) -> tuple[int, ...]:
    several = branches.get(position)
    if several is not None:
        return several
    only = first[position]
    return () if only is None else (only,)


def _runs(
    roots: list[int], first: Sequence[int | None], branches: dict[int, tuple[int, ...]], active: frozenset[int]
) -> tuple[Run, ...]:
    runs: list[Run] = []
    stack: list[tuple[int, int | None, int]] = [(root, None, 0) for root in reversed(roots)]
    while stack:
        position, parent, level = stack.pop()
        entries = [position]
        # The active path may end inside a row: what comes after the leaf in the tree is another run.
        on_path = position in active
        while (only := first[position]) is not None and position not in branches and (only in active) == on_path:
            position = only
            entries.append(position)
        place = len(runs)
        runs.append(Run(tuple(entries), parent, level, on_path))
        born = _children(first, branches, position)
        below = level + 1 if len(born) > 1 else level
        stack.extend((child, place, below) for child in reversed(born))
    return tuple(runs)


def _names(index: TranscriptIndex) -> tuple[dict[str, str], str | None]:
    labels: dict[str, str] = {}
    name: str | None = None
    for position, kind in enumerate(index.types):
        if kind not in _NAMING:
            continue
        record = record_at(index, position)
        if isinstance(record, Label) and isinstance(record.target_id, str):
            if isinstance(record.label, str) and record.label:
                labels[record.target_id] = record.label
            else:
                labels.pop(record.target_id, None)
        elif isinstance(record, SessionInfo):
            name = trim(record.name) or None if isinstance(record.name, str) else None
    return labels, name


_NAMING = frozenset({"label", "session_info"})
