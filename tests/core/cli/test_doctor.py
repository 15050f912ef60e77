"""``strandline doctor``: every kind of finding through the command, grouped for people, whole in JSON."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from command_line import answer, run, run_as_nobody, sentence
from state_tree import NOON_MS, copy_case, let_others_pass, tree_hash, write_config, write_store

if TYPE_CHECKING:
    from pathlib import Path

POSIX = pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and users")
KEY = "agent:main:main"
HEADER = '{"type":"session","version":3,"id":"s1","timestamp":"2026-05-20T10:00:00.000Z","cwd":"/w"}\n'


def _findings(state: Path) -> list[dict[str, Any]]:
    found = answer(state, "doctor")
    assert list(found) == ["findings"]
    assert all(
        list(each) == ["code", "severity", "what", "where", "evidence", "fix"]
        and each["what"]
        and each["where"]
        and "None" not in each["what"]
        for each in found["findings"]
    )
    return found["findings"]


def _codes(state: Path) -> Counter[str]:
    return Counter(finding["code"] for finding in _findings(state))


def _one(state: Path, code: str) -> dict[str, Any]:
    (found,) = [finding for finding in _findings(state) if finding["code"] == code]
    return found


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A directory with one healthy session."""
    path = tmp_path / "state"
    folder = write_store(path, {KEY: {"sessionId": "s1", "updatedAt": NOON_MS - 60_000}}).parent
    _transcript(folder, "s1", "ahoy")
    return path


def _transcript(folder: Path, name: str, text: str, *, padding: int = 0) -> Path:
    path = folder / f"{name}.jsonl"
    head = HEADER.replace("s1", name)
    filler = [
        {"type": "message", "id": f"f{at}", "parentId": f"f{at - 1}" if at else None, "message": {"role": "user"}}
        for at in range(padding)
    ]
    said = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    last = {"type": "message", "id": "a", "parentId": f"f{padding - 1}" if padding else None, "message": said}
    path.write_text(head + "".join(json.dumps(record) + "\n" for record in (*filler, last)), "utf-8")
    os.utime(path, ns=((NOON_MS - 60_000) * 1_000_000,) * 2)
    return path


# Form


def test_health_says_so_and_prints_nothing(state: Path) -> None:
    """A healthy directory: no finding, no output, a word on stderr, exit code 0."""
    assert _findings(state) == []
    done = run(state, "doctor")
    assert (done.returncode, done.stdout, done.stderr.strip()) == (0, "", "Nothing was found that needs a person.")
    assert run(state, "doctor", "--quiet").stderr == ""


def test_worst_comes_first(state: Path) -> None:
    """Errors before warnings before remarks."""
    write_config(state, b"{")
    (state / "sessions").mkdir()
    write_store(state, {"agent:beta:main": {"sessionId": "gone"}}, agent="beta")
    severities = [finding["severity"] for finding in json.loads(run(state, "doctor", "--json").stdout)["findings"]]
    assert severities == sorted(severities, key=("error", "warning", "info").index)
    assert set(severities) == {"error", "warning", "info"}


def test_forty_missing_transcripts_are_one_group(tmp_path: Path) -> None:
    """A28: one heading with the count, a few examples and how to see all; JSON holds all forty."""
    state = copy_case("A28-notice-storm", tmp_path)
    assert _codes(state) == {"transcript-missing": 40}
    out = run(state, "doctor").stdout
    assert out.splitlines()[0] == "transcript-missing · 40"
    assert out.count("transcript-missing") == 1
    assert out.count("warning: ") == 5
    assert "and 35 more of this kind; --all shows them" in out
    assert run(state, "doctor", "--all").stdout.count("warning: ") == 40


def test_group_shrinks_when_a_transcript_comes_back(tmp_path: Path) -> None:
    """A28: one transcript written, thirty-nine left; removed again, forty."""
    state = copy_case("A28-notice-storm", tmp_path)
    file = state / "agents" / "main" / "sessions" / "00000bca-0b00-4000-8000-000000000000.jsonl"
    file.write_text(HEADER.replace("s1", file.stem), "utf-8")
    os.utime(file, ns=(NOON_MS * 1_000_000,) * 2)
    assert _codes(state) == {"transcript-missing": 39}
    file.unlink()
    assert _codes(state) == {"transcript-missing": 40}


@pytest.mark.parametrize("place", ["missing", "file"])
def test_directory_that_is_none_is_refused(place: str, tmp_path: Path) -> None:
    """Exit code 4 and one sentence; nothing is created."""
    (tmp_path / "file").write_text("x", "utf-8")
    before = tree_hash(tmp_path)
    assert str(tmp_path / place) in sentence(run(tmp_path / place, "doctor"), 4)
    assert tree_hash(tmp_path) == before


# Cases


@pytest.mark.parametrize(
    ("case", "codes"),
    [
        ("A01-zero-byte-store", {"store-unreadable": 1}),
        (
            "A02-row-and-file-disagree",
            {"transcript-missing": 1, "transcript-pointer-broken": 1, "row-dropped": 3, "row-newer-than-file": 1},
        ),
        ("A09-keys-that-differ-by-case", {"keys-collide": 2, "row-newer-than-file": 2}),
        ("A11-paths-from-another-machine", {"transcript-moved": 3, "transcript-outside": 2}),
        ("A15-compaction-every-turn", {"compaction-every-turn": 1}),
        ("A19-counters-that-lie", {"counter-misleads": 4, "row-newer-than-file": 8}),
        ("A25-abandoned-siblings", {}),
        ("A26-copies-counted-twice", {}),
    ],
)
def test_cases(case: str, codes: dict[str, int], tmp_path: Path) -> None:
    """Each recorded trouble is found as often as it is there, and nothing else."""
    assert _codes(copy_case(case, tmp_path)) == codes


def test_setting_that_compacts_every_turn_is_one_finding(tmp_path: Path) -> None:
    """A15: the arithmetic, once per model however many sessions there are."""
    state = copy_case("A15-compaction-every-turn", tmp_path)
    row = {"model": "demo-tiny", "modelProvider": "demo", "contextTokens": 32_000}
    write_store(state, {f"agent:main:webchat:direct:p{at}": row for at in range(30)})
    found = _one(state, "compaction-every-turn")
    assert found["where"] == "demo/demo-tiny"
    assert any("32,000 window − 40,000 reserve = −8,000" in each for each in found["evidence"])
    assert "reserveTokens to 8,000" in found["fix"]


def test_huge_reserve_is_early_without_any_session(tmp_path: Path) -> None:
    """A15 b: the default model's window already shows it."""
    state = copy_case("A15-compaction-every-turn", tmp_path) / "b-huge-reserve"
    assert "70,000 of 1,000,000 tokens" in _one(state, "compaction-early")["what"]


@pytest.mark.parametrize("below", ["c-floor", "d-16k"])
def test_legal_settings_are_left_in_peace(below: str, tmp_path: Path) -> None:
    """A15 c, d: a reserve lifted to the floor and a small window are no trouble by themselves."""
    assert _findings(copy_case("A15-compaction-every-turn", tmp_path) / below) == []


def test_damage_inside_small_transcripts_is_found(tmp_path: Path) -> None:
    """A22: each of the five files has its finding, with line and byte."""
    state = copy_case("A22-torn-glued-nul", tmp_path)
    found = {finding["where"][-2:]: finding for finding in _findings(state) if finding["code"] != "row-newer-than-file"}
    assert found.keys() == {"d0", "d1", "d2", "d3", "d4"}
    assert all(finding["evidence"][0] for finding in found.values())
    assert _one(state, "transcript-unfinished")["where"].endswith("d0")
    damaged = [f["evidence"] for f in _findings(state) if f["code"] == "transcript-damaged"]
    assert damaged == [
        ["line 6, byte 1,528, 70 bytes: a record was cut short"],
        ["line 6, byte 1,528, 412 bytes: 412 NUL bytes"],
    ]


def test_oddities_at_the_head(tmp_path: Path) -> None:
    """A23: each file is read or has one clear finding; UTF-16 is one finding, not hundreds."""
    state = copy_case("A23-file-head-oddities", tmp_path)
    found = [(finding["where"][-2:], finding["code"]) for finding in _findings(state)]
    assert sorted(found) == [
        ("h0", "transcript-byte-order-mark"),
        ("h1", "transcript-carriage-returns"),
        ("h2", "transcript-late-header"),
        ("h3", "transcript-no-header"),
        ("h4", "transcript-header-name"),
        ("h6", "transcript-empty"),
        ("h7", "transcript-damaged"),
        ("on", "store-odd"),
    ]
    assert "UTF-16, not UTF-8" in _one(state, "transcript-damaged")["evidence"][0]


def test_loops_are_named_with_their_ids(tmp_path: Path) -> None:
    """A24: three loops with their ids in a ring, one missing parent, one repeated id."""
    state = copy_case("A24-parent-loops", tmp_path)
    rings = {f["where"][-2:]: f["evidence"] for f in _findings(state) if f["code"] == "transcript-loop"}
    assert rings == {
        "g0": ["aaaa0002 → aaaa0001 → aaaa0002"],
        "g1": ["bbbb0001 → bbbb0001"],
        "g2": ["cccc0001 → cccc0003 → cccc0002 → cccc0001"],
    }
    assert _one(state, "transcript-parent-missing")["evidence"] == ["99999999"]
    assert _one(state, "transcript-id-repeated")["evidence"] == ["aaaa0001"]


# Kinds


@pytest.mark.parametrize("padding", [0, 600])
@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("NO_REPLY\nbut here is more", "NO_REPLY"),
        ("**NO_REPLY**", "NO_REPLY"),
        ("NO", "NO"),
        ("NO_RE", "NO_RE"),
        ("NO_REPLY", None),
        ("The word `NO_REPLY` keeps me quiet.", None),
        ("NO_REPLYING today", None),
    ],
)
def test_silent_replies_that_leak(state: Path, text: str, token: str | None, padding: int) -> None:
    """The last reply of small and of large transcripts: a leak is a finding with the words, silence is none."""
    path = _transcript(state / "agents" / "main" / "sessions", "s1", text, padding=padding)
    assert (path.stat().st_size > 32 * 1024) is bool(padding)
    found = [finding for finding in _findings(state) if finding["code"] == "silent-reply-leaks"]
    assert [finding["evidence"] for finding in found] == ([[text]] if token else [])
    assert all(f" {token}" in finding["what"] for finding in found)


def test_shared_transcript(state: Path) -> None:
    """Two rows that lead to one file are named together; two stores with files of one name are not."""
    write_store(state, {KEY: {"sessionId": "s1"}, "agent:main:x": {"sessionId": "s9", "sessionFile": "s1.jsonl"}})
    folder = write_store(state, {"agent:beta:main": {"sessionId": "s1"}}, agent="beta").parent
    _transcript(folder, "s1", "ahoy")
    write_config(state, {"agents": {"list": [{"id": "main"}, {"id": "beta"}]}})
    found = _one(state, "transcript-shared")
    assert found["evidence"] == [KEY, "agent:main:x"]
    assert "s1.jsonl" in found["what"]


def test_colliding_keys(state: Path) -> None:
    """Keys that OpenClaw looks up under one spelling are shown exactly as stored."""
    write_store(state, {KEY: {"sessionId": "s1"}, "Agent:main:MAIN": {"updatedAt": 5}})
    assert _one(state, "keys-collide")["evidence"] == [repr(KEY), repr("Agent:main:MAIN")]


def test_settings(state: Path) -> None:
    """A refused value, an include and a gateway elsewhere are findings with the place in the configuration."""
    write_config(
        state,
        {
            "$include": "more.json",
            "gateway": {"mode": "remote", "remote": {"url": "wss://there:1"}},
            "session": {"maintenance": {"mode": "sometimes"}},
        },
    )
    done = run(state, "doctor", "--json")
    found = json.loads(done.stdout)
    assert found["authority"] == "remote"
    by_code = {finding["code"]: finding for finding in found["findings"]}
    assert by_code.keys() == {"config-refused", "config-includes", "gateway-elsewhere"}
    assert "session.maintenance.mode" in by_code["config-refused"]["where"]
    assert "more.json" in by_code["config-includes"]["what"]
    assert "gateway.remote.url is wss://there:1" in by_code["gateway-elsewhere"]["evidence"]


@pytest.mark.parametrize("content", [b"", b"{", b"\x00" * 9, b"[]"])
def test_unreadable_configuration(content: bytes, state: Path) -> None:
    """A damaged configuration is one error; the sessions are looked over all the same."""
    write_config(state, content)
    assert _codes(state) == {"config-unreadable": 1}


def test_legacy_places(state: Path, tmp_path: Path) -> None:
    """Sessions beside the agents, and a directory under its old name."""
    (state / "sessions").mkdir()
    assert _one(state, "legacy-sessions-directory")["where"] == str(state / "sessions")
    old = state.rename(tmp_path / ".clawdbot")
    assert _codes(old)["legacy-path"] == 1


def test_store_that_the_configuration_does_not_name(state: Path) -> None:
    """An agent found on disk only is said, without a word against its sessions."""
    write_config(state, {"agents": {"list": [{"id": "main"}]}})
    write_store(state, {"agent:old:main": {"updatedAt": 5}}, agent="old")
    assert "agent old" in _one(state, "store-not-in-use")["what"]


@POSIX
def test_unreadable_files(state: Path, tmp_path: Path) -> None:
    """A transcript and a store without permission: two errors with their paths, the rest is looked over."""
    folder = write_store(state, {"agent:beta:main": {"sessionId": "b"}}, agent="beta").parent
    write_config(state, {"agents": {"list": [{"id": "main"}, {"id": "beta"}]}})
    let_others_pass(tmp_path)
    (folder / "sessions.json").chmod(0)
    transcript = state / "agents" / "main" / "sessions" / "s1.jsonl"
    transcript.chmod(0)
    done = run_as_nobody(state, "doctor", "--json")
    assert done.returncode == 0, done.stderr
    found = {finding["code"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert found.keys() == {"store-unreadable", "transcript-unreadable"}
    assert found["transcript-unreadable"]["evidence"] == [str(transcript)]
    assert all("permission denied" in finding["what"] for finding in found.values())
