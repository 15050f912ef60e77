"""Trees, leaves and headers beside what the real session manager made of the same files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import golden
from strandline.transcript.places import OddityKind
from strandline.transcript.tree import build_tree, walk
from strandline.transcript.whole_file import read_transcript

if TYPE_CHECKING:
    from pathlib import Path

_PAIRS = [pytest.param(path, expected, id=path.name) for path, expected in golden.transcript_pairs()]


@pytest.mark.parametrize(("path", "expected"), _PAIRS)
def test_tree_is_the_recorded_one(path: Path, expected: dict[str, Any]) -> None:
    """Depths, order, types, labels, branch, leaf, name and header of every pair are the recorded ones."""
    index = read_transcript(path)
    tree = build_tree(index)
    if golden.loads_nothing(index.header, len(index)):
        assert [oddity.kind for oddity in index.oddities] == [OddityKind.NO_HEADER]
        assert not index.read_by_openclaw
        return
    names = dict(zip(golden.recorded_ids(path), index.ids, strict=True)) if index.version < 2 else {}
    expected = golden.renamed(expected, names)
    ids = index.ids
    flat = [[depth, ids[at], index.types[at], tree.labels.get(str(ids[at]))] for depth, at in walk(tree)]
    assert flat == expected["treeFlat"]
    assert [ids[at] for at in tree.path] == expected["branchIds"]
    assert (None if tree.leaf is None else ids[tree.leaf]) == expected["leafId"]
    assert tree.session_name == expected["sessionName"]
    assert len(index) == expected["entryCount"]
    if index.header is not None:
        header = json.loads(index.header.stored)
        assert (golden.migrated_header(header) if index.version < 3 else header) == expected["header"]


@pytest.mark.parametrize("path", [pytest.param(pair.values[0], id=pair.id) for pair in _PAIRS])
def test_runs_hold_every_entry_once(path: Path) -> None:
    """The runs of every pair hold each entry once, the active ones make up the branch."""
    tree = build_tree(read_transcript(path))
    entries = [at for run in tree.runs for at in run.entries]
    assert sorted(entries) == list(range(len(tree.parents)))
    assert sorted(at for run in tree.runs if run.active for at in run.entries) == sorted(tree.path)
    assert tree.side_entries == len(tree.parents) - len(tree.path)
