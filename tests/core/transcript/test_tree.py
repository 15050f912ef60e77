"""Joining entries: loops, copies, missing parents, branches; it ends on any graph."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import golden
from strandline.transcript.tree import Tree, build_tree, find_entry, join, path_to, walk
from strandline.transcript.whole_file import WholeFile, read_transcript


def _tree(place: int) -> tuple[WholeFile, Tree]:
    index = read_transcript(golden.case_transcripts("A24-parent-loops")[place])
    return index, build_tree(index)


def _assert_each_entry_once(tree: Tree) -> None:
    count = len(tree.parents)
    assert sorted(at for _, at in walk(tree)) == list(range(count))
    assert sorted(at for run in tree.runs for at in run.entries) == list(range(count))


@pytest.mark.parametrize("place", range(4))
def test_odd_graphs_open_fast_and_show_each_record_once(place: int) -> None:
    """A24: every file opens in under a second and shows every record once."""
    started = time.perf_counter()
    index, tree = _tree(place)
    assert time.perf_counter() - started < 1
    _assert_each_entry_once(tree)
    assert len(tree.parents) == len(index)


def test_repeated_id_that_closes_a_loop() -> None:
    """A24 g0: the loop and the doubled id are named; the talk hangs from the earlier record with that id."""
    index, tree = _tree(0)
    assert [(loop.ids, loop.cut, loop.parent) for loop in tree.loops] == [(("aaaa0002", "aaaa0001"), 1, 0)]
    assert [(double.id, double.positions) for double in tree.duplicates] == [("aaaa0001", (0, 2))]
    assert tree.path == (0, 1, 3)
    assert [index.ids[at] for at in tree.path] == ["aaaa0001", "aaaa0002", "aaaa0003"]


def test_record_that_is_its_own_parent() -> None:
    """A24 g1: a record that names itself is a root and named as a loop."""
    _, tree = _tree(1)
    assert [loop.ids for loop in tree.loops] == [("bbbb0001",)]
    assert (tree.roots, tree.path) == ((0,), (0, 1))


def test_loop_without_a_root() -> None:
    """A24 g2: a loop of three is cut at its first record and named with its three ids."""
    _, tree = _tree(2)
    assert [loop.ids for loop in tree.loops] == [("cccc0001", "cccc0003", "cccc0002")]
    assert (tree.roots, tree.path) == ((0,), (0, 1, 2))


def test_missing_parent_and_second_root() -> None:
    """A24 g3: two separate runs, both there; the newest is the active one, the missing parent is told."""
    _, tree = _tree(3)
    assert [(gap.position, gap.parent_id) for gap in tree.missing] == [(0, "99999999")]
    assert [(run.entries, run.active) for run in tree.runs] == [((0, 1), False), ((2, 3), True)]
    assert tree.loops == ()


def test_abandoned_siblings_are_counted_apart() -> None:
    """A25: ten records on the active path, four on side branches, none twice."""
    index = read_transcript(golden.case_transcripts("A25-abandoned-siblings")[0])
    tree = build_tree(index)
    assert (len(tree.path), tree.side_entries) == (10, 4)
    assert sum(len(run.entries) for run in tree.runs if run.active) == 10
    assert sum(len(run.entries) for run in tree.runs if not run.active) == 4
    roles = [index.entry(at).role for at in tree.path]
    assert roles == ["user", "assistant"] * 5
    _assert_each_entry_once(tree)


def test_lost_record_parts_the_talk() -> None:
    """A22 d3: what hung from a lost record is a root of its own, and said."""
    index = read_transcript(golden.case_transcripts("A22-torn-glued-nul")[3])
    tree = build_tree(index)
    assert [gap.parent_id for gap in tree.missing] == ["a0000005"]
    assert len(tree.roots) == 2
    assert [index.ids[at] for at in tree.path] == ["a0000006", "a0000007", "a0000008"]


def test_long_row_is_one_run() -> None:
    """A hundred thousand records in a row are one run, joined without recursion."""
    ids = [f"{number:x}" for number in range(100_000)]
    links = join(ids, [None, *ids[:-1]])
    assert path_to(links.parents, 99_999) == tuple(range(100_000))
    assert (links.loops, links.missing, links.duplicates) == ((), (), ())


def test_record_is_found_by_the_last_use_of_its_id() -> None:
    """An id leads to its last record; an unknown one to none."""
    assert find_entry(["a", "b", "a"], "a") == 2
    assert find_entry(["a"], "x") is None


_IDS = st.sampled_from([*"abcdef", None])


@given(st.lists(st.tuples(_IDS, _IDS | st.just("gone")), max_size=30))
def test_joining_ends_on_any_graph(links: list[tuple[str | None, str | None]]) -> None:
    """On any parents whatsoever each record has one place, and following parents ends at a root."""
    lines = [
        f'{{"type":"custom","id":{_text(own)},"parentId":{_text(parent)},"timestamp":"2026-05-20T10:00:00.000Z"}}'
        for own, parent in links
    ]
    header = '{"type":"session","version":3,"id":"s","timestamp":"2026-05-20T10:00:00.000Z"}'
    index = WholeFile("\n".join([header, *lines]).encode())
    tree = build_tree(index)
    _assert_each_entry_once(tree)
    for position in range(len(links)):
        path = path_to(tree.parents, position)
        assert len(set(path)) == len(path)
        assert path[0] in tree.roots
    cut = {loop.cut for loop in tree.loops}
    gaps = {gap.position for gap in tree.missing}
    for position, (_, parent) in enumerate(links):
        named = tree.parents[position]
        if position not in cut | gaps and parent is not None:
            assert named is not None
            assert index.ids[named] == parent
    assert sorted(at for run in tree.runs if run.active for at in run.entries) == sorted(tree.path)


def _text(value: str | None) -> str:
    return "null" if value is None else f'"{value}"'
