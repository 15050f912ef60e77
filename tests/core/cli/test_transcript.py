"""``strandline transcript``: the recorded contexts and trees through the command, by file and by key; refusals."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import golden
from command_line import answer, run, run_as_nobody, sentence
from state_tree import let_others_pass, tree_hash, write_config, write_store
from strandline.transcript.whole_file import WHOLE_FILE_BYTES

if TYPE_CHECKING:
    from pathlib import Path

POSIX = pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and users")
KEY = "agent:main:webchat:direct:pair"
CONTEXT_KEYS = ["messages", "thinkingLevel", "model", "contextTokens", "perMessageTokens"]
TREE_KEYS = ["leafId", "sessionId", "sessionName", "header", "entryCount", "branchIds", "treeFlat"]
_PAIRS = [pytest.param(path, expected, id=path.name) for path, expected in golden.transcript_pairs()]
BY = pytest.mark.parametrize("by_key", [False, True], ids=["file", "key"])


def _place(tmp_path: Path, transcript: Path) -> tuple[Path, Path]:
    """Lay a transcript into a directory with one session and return (directory, file)."""
    state = tmp_path / "state"
    store = write_store(state, {KEY: {"sessionId": "s1", "sessionFile": transcript.name, "updatedAt": 5}})
    return state, shutil.copy(transcript, store.parent / transcript.name)


def _write(tmp_path: Path, data: bytes) -> tuple[Path, Path]:
    file = tmp_path / "s1.jsonl"
    file.write_bytes(data)
    return _place(tmp_path, file)


def _lines(*records: dict[str, Any]) -> bytes:
    header = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-05-20T10:00:00.000Z", "cwd": "/w"}
    return b"".join(json.dumps(record).encode() + b"\n" for record in (header, *records))


def _said(entry_id: str, parent: str | None, role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "id": entry_id, "parentId": parent, "message": {"role": role, "content": text}}


# What was recorded


@BY
@pytest.mark.parametrize(("path", "expected"), _PAIRS)
def test_context_is_the_recorded_one(path: Path, expected: dict[str, Any], *, by_key: bool, tmp_path: Path) -> None:
    """Messages, thinking level, model and estimates of every pair come out under the recorded keys, in order."""
    state, file = _place(tmp_path, path)
    before = tree_hash(state)
    found = answer(state, "transcript", "context", KEY if by_key else str(file))
    assert list(found) == CONTEXT_KEYS
    assert tree_hash(state) == before
    tree = answer(state, "transcript", "tree", str(file))
    if golden.loads_nothing(tree["header"], tree["entryCount"]):
        assert expected["context"]["messages"] == []
        assert found["messages"] != []
        return
    wanted = {**expected["context"], **{key: expected[key] for key in CONTEXT_KEYS[3:]}}
    assert json.dumps(found) == json.dumps({key: wanted[key] for key in CONTEXT_KEYS})


@BY
@pytest.mark.parametrize(("path", "expected"), _PAIRS)
def test_tree_is_the_recorded_one(path: Path, expected: dict[str, Any], *, by_key: bool, tmp_path: Path) -> None:
    """Leaf, name, header, branch and flat tree of every pair come out under the recorded keys, in order."""
    state, file = _place(tmp_path, path)
    found = answer(state, "transcript", "tree", KEY if by_key else str(file))
    assert list(found) == TREE_KEYS
    if found["header"] is None:
        assert (found["sessionId"], found["entryCount"]) == (None, len(found["treeFlat"]))
        return
    wanted = expected
    if (version := found["header"].get("version", 1)) < 3:
        found["header"] = golden.migrated_header(found["header"])
        if version < 2:
            names = [row[1] for row in sorted(found["treeFlat"], key=lambda row: int(row[1], 16))]
            wanted = golden.renamed(expected, dict(zip(golden.recorded_ids(path), names, strict=True)))
    assert found == {key: wanted[key] for key in TREE_KEYS}


@BY
@pytest.mark.parametrize(("path", "expected"), [pair for pair in _PAIRS if "contextAtLeaf" in pair.values[1]])
def test_context_at_an_entry_is_the_recorded_one(
    path: Path, expected: dict[str, Any], *, by_key: bool, tmp_path: Path
) -> None:
    """``--at`` looks from another entry, as recorded."""
    state, file = _place(tmp_path, path)
    at = expected["contextAtLeaf"]
    found = answer(state, "transcript", "context", KEY if by_key else str(file), "--at", at["leafId"])
    assert json.dumps({key: found[key] for key in CONTEXT_KEYS[:3]}) == json.dumps(at["context"])
    assert len(found["perMessageTokens"]) == len(found["messages"])


# For people


def test_words_for_people(tmp_path: Path) -> None:
    """Without --json: a table of messages, a tree that marks the active path, a health report."""
    records = [_said("a", None, "user", "ahoy"), _said("b", "a", "assistant", "x"), _said("c", "a", "assistant", "y")]
    state, file = _write(tmp_path, _lines(*records))
    context = run(state, "transcript", "context", str(file))
    assert context.returncode == 0
    assert context.stdout.startswith("2 messages, about ")
    assert "ahoy" in context.stdout
    tree = run(state, "transcript", "tree", str(file)).stdout.splitlines()
    assert tree == [
        "3 entries, 2 on the active path",
        "",
        "● a  message",
        "  ○ b  message",
        "  ● c  message",
    ]
    checked = run(state, "transcript", "check", str(file)).stdout
    assert "3 entries, 2 on the active path, 1 on side branches, format version 3" in checked
    assert "Every byte was read, and nothing is odd." in checked


def test_half_characters_come_out_escaped(tmp_path: Path) -> None:
    """Lone surrogates in texts, names and labels read back the same from JSON, and do not break the words."""
    half = "\ud83e"
    named = {"type": "session_info", "id": "n", "parentId": "a", "name": f"tide {half}"}
    label = {"type": "label", "id": "l", "parentId": "n", "targetId": "a", "label": f"reef {half}"}
    state, file = _write(tmp_path, _lines(_said("a", None, "user", f"ahoy {half}"), named, label))
    tree = answer(state, "transcript", "tree", str(file))
    assert (tree["sessionName"], tree["treeFlat"][0][3]) == (f"tide {half}", f"reef {half}")
    context = answer(state, "transcript", "context", str(file))
    assert context["messages"][0]["content"] == f"ahoy {half}"
    assert answer(state, "transcript", "check", str(file))["findings"] == []
    for question in ("context", "tree", "check"):
        assert run(state, "transcript", question, str(file)).returncode == 0


# What is not there


@pytest.mark.parametrize("question", ["context", "tree", "check"])
def test_unknown_file_and_key_match_nothing(question: str, tmp_path: Path) -> None:
    """Exit code 3 and one sentence, for a file, a key, a directory, and a session without a transcript."""
    state = tmp_path / "state"
    write_store(state, {"agent:main:gone": {"sessionId": "gone", "updatedAt": 5}, "agent:main:none": {"updatedAt": 5}})
    before = tree_hash(tmp_path)
    assert "check the path" in sentence(run(state, "transcript", question, str(tmp_path / "no.jsonl")), 3)
    assert 'No session has the key "no"' in sentence(run(state, "transcript", question, "no"), 3)
    assert "No session has the key" in sentence(run(state, "transcript", question, str(tmp_path)), 3)
    assert "gone.jsonl does not exist" in sentence(run(state, "transcript", question, "agent:main:gone"), 3)
    assert "has no transcript to read" in sentence(run(state, "transcript", question, "agent:main:none"), 3)
    assert tree_hash(tmp_path) == before


def test_unknown_entry_matches_nothing(tmp_path: Path) -> None:
    """Exit code 3 and the id that was asked for."""
    state, file = _write(tmp_path, _lines(_said("a", None, "user", "ahoy")))
    assert "nowhere" in sentence(run(state, "transcript", "context", str(file), "--at", "nowhere"), 3)
    assert answer(state, "transcript", "context", str(file), "--at", "a")["perMessageTokens"] != []


def test_key_of_two_agents_asks_which(tmp_path: Path) -> None:
    """Exit code 3 with both agents; --agent chooses one."""
    state = tmp_path / "state"
    for agent in ("main", "beta"):
        store = write_store(state, {"global": {"sessionId": "g", "updatedAt": 5}}, agent=agent)
        (store.parent / "g.jsonl").write_bytes(_lines(_said(agent, None, "user", agent)))
    assert sentence(run(state, "transcript", "tree", "global"), 3).endswith("say which with --agent: beta, main.")
    assert answer(state, "transcript", "tree", "global", "--agent", "beta")["leafId"] == "beta"
    assert sentence(run(state, "transcript", "tree", "global", "--agent", "night"), 3)


@pytest.mark.parametrize("question", ["context", "tree", "check"])
def test_too_large_is_refused(question: str, tmp_path: Path) -> None:
    """A transcript above the bound is refused with exit code 4; a sparse file costs nothing to make."""
    state, file = _write(tmp_path, _lines())
    with file.open("r+b") as opened:
        opened.truncate(WHOLE_FILE_BYTES + 1)
    assert str(file) in sentence(run(state, "transcript", question, KEY), 4)


@POSIX
@pytest.mark.parametrize("question", ["context", "tree", "check"])
def test_unreadable_is_refused(question: str, tmp_path: Path) -> None:
    """A transcript without permission is refused with exit code 4, the reason and the path."""
    state, file = _write(tmp_path, _lines())
    let_others_pass(tmp_path)
    file.chmod(0)
    done = run_as_nobody(state, "transcript", question, KEY)
    assert done.returncode == 4
    assert "permission denied" in done.stderr
    assert str(file) in done.stderr


@pytest.mark.parametrize("words", [["context"], ["colour", "x"], ["tree", "x", "--at"], ["tree", "x", "--ag", "main"]])
def test_wrong_words(words: list[str], tmp_path: Path) -> None:
    """Exit code 2 and one sentence; options cannot be shortened."""
    sentence(run(tmp_path, "transcript", *words), 2)


def test_remote_gateway_is_in_the_json(tmp_path: Path) -> None:
    """``authority`` comes last when the configuration points elsewhere."""
    state, file = _write(tmp_path, _lines())
    write_config(state, {"gateway": {"mode": "remote"}})
    for question in ("context", "tree", "check"):
        found = json.loads(run(state, "transcript", question, str(file), "--json").stdout)
        assert list(found.items())[-1] == ("authority", "remote")
