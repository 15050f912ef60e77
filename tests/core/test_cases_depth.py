"""The recorded trouble cases of transcripts, through ``check``; and that no command writes over any case."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from command_line import answer, run
from state_tree import NAMES, copy_case, tree_hash
from strandline.transcript.places import DamageKind, OddityKind

if TYPE_CHECKING:
    from pathlib import Path

PEER = "agent:main:webchat:direct:"


def _check(state: Path, key: str) -> dict[str, Any]:
    found = answer(state, "transcript", "check", f"{PEER}{key}")
    assert list(found) == [
        "path",
        "entries",
        "active",
        "sideEntries",
        "version",
        "readByOpenclaw",
        "damage",
        "oddities",
        "findings",
    ]
    assert found["active"] + found["sideEntries"] == found["entries"]
    return found


def _places(found: list[dict[str, Any]]) -> list[tuple[str, int | None, int]]:
    return [(each["kind"], each["line"], each["offset"]) for each in found]


@pytest.mark.parametrize(
    ("key", "entries", "damage", "oddities"),
    [
        ("d0", 6, [(DamageKind.UNFINISHED, 8, 2225)], []),
        ("d1", 7, [(DamageKind.CUT_SHORT, 6, 1528)], [("glued", 6, 1598)]),
        ("d2", 8, [], [("glued", 5, 1045), ("glued", 5, 1527)]),
        ("d3", 7, [(DamageKind.NUL, 6, 1528)], []),
        ("d4", 8, [], [("lines", 5, 1045)]),
    ],
)
def test_torn_glued_and_nul(key: str, entries: int, damage: list[Any], oddities: list[Any], tmp_path: Path) -> None:
    """A22: what is whole is recovered, nothing after the damage is lost, line and byte are named."""
    state = copy_case("A22-torn-glued-nul", tmp_path)
    found = _check(state, key)
    assert found["entries"] == entries
    assert _places(found["damage"]) == damage
    assert [each[1:] for each in _places(found["oddities"])] == [each[1:] for each in oddities]
    tree = answer(state, "transcript", "tree", f"{PEER}{key}")
    assert len(tree["treeFlat"]) == tree["entryCount"] == entries
    last = answer(state, "transcript", "context", f"{PEER}{key}")["messages"][-1]
    assert last["content"][0]["text"] == ("answer 3" if key == "d0" else "answer 4")


@pytest.mark.parametrize(
    ("key", "entries", "kinds", "read"),
    [
        ("h0", 4, [OddityKind.BYTE_ORDER_MARK], True),
        ("h1", 4, [OddityKind.CARRIAGE_RETURNS], True),
        ("h2", 5, [OddityKind.LATE_HEADER], False),
        ("h3", 4, [OddityKind.NO_HEADER], False),
        ("h4", 4, [OddityKind.HEADER_NAME], True),
        ("h5", 4, [], True),
        ("h6", 0, [OddityKind.EMPTY], False),
        ("h7", 0, [], False),
    ],
)
def test_oddities_at_the_head(key: str, entries: int, kinds: list[Any], *, read: bool, tmp_path: Path) -> None:
    """A23: four messages each where there are four; what is odd is one finding; only UTF-16 is damage."""
    found = _check(copy_case("A23-file-head-oddities", tmp_path), key)
    assert (found["entries"], found["readByOpenclaw"]) == (entries, read)
    assert [each["kind"] for each in found["oddities"]] == kinds
    assert [each["kind"] for each in found["damage"]] == ([DamageKind.NOT_UTF8] if key == "h7" else [])
    assert len(found["findings"]) == len(kinds) + (key == "h7")


@pytest.mark.parametrize(
    ("key", "entries", "active", "codes"),
    [
        ("g0", 4, 3, ["transcript-loop", "transcript-id-repeated"]),
        ("g1", 2, 2, ["transcript-loop"]),
        ("g2", 3, 3, ["transcript-loop"]),
        ("g3", 4, 2, ["transcript-parent-missing"]),
    ],
)
def test_parent_loops(key: str, entries: int, active: int, codes: list[str], tmp_path: Path) -> None:
    """A24: every record once, loops cut and named, well under a second; the newest root's run is the active one."""
    state = copy_case("A24-parent-loops", tmp_path)
    began = time.process_time()
    found = _check(state, key)
    tree = answer(state, "transcript", "tree", f"{PEER}{key}")
    assert time.process_time() - began < 1
    assert (found["entries"], found["active"]) == (entries, active)
    assert [finding["code"] for finding in found["findings"]] == codes
    assert len(tree["treeFlat"]) == entries
    assert tree["branchIds"][-1] == tree["leafId"]
    assert run(state, "transcript", "tree", f"{PEER}{key}").stdout.count("message") == entries


def test_abandoned_siblings(tmp_path: Path) -> None:
    """A25: ten on the active path, four on side branches, ten messages in the context."""
    state = copy_case("A25-abandoned-siblings", tmp_path)
    found = answer(state, "transcript", "check", "agent:main:main")
    assert (found["entries"], found["active"], found["sideEntries"], found["findings"]) == (14, 10, 4, [])
    assert len(answer(state, "transcript", "context", "agent:main:main")["messages"]) == 10
    report = answer(state, "show", "agent:main:main")["transcript"]
    assert (report["entries"], report["sideEntries"]) == (14, 4)


@pytest.mark.parametrize("case", NAMES)
def test_commands_change_nothing(case: str, tmp_path: Path) -> None:
    """show, doctor and every question about every transcript leave bytes, times, modes and names as they were."""
    state = copy_case(case, tmp_path)
    files = sorted(state.rglob("*.jsonl*"))
    keys = [row["key"] for row in _listed(state)]
    before = tree_hash(tmp_path)
    for words in ([], ["--json"]):
        assert run(state, "doctor", *words).returncode == 0
        for key in (*keys, "agent:main:nobody"):
            assert run(state, "show", key, *words).returncode in {0, 3, 4}
        for target in (*files, *keys):
            for question in ("context", "tree", "check"):
                done = run(state, "transcript", question, str(target), *words)
                assert done.returncode in {0, 3, 4}, done.stderr
    assert tree_hash(tmp_path) == before


def _listed(state: Path) -> list[dict[str, Any]]:
    return list(json.loads(run(state, "sessions", "--limit", "all", "--json").stdout)["sessions"])
