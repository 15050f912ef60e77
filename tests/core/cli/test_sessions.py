"""The command as people and scripts meet it: words, exit codes, what stands on stdout and what on stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from command_line import AS_NOBODY, run_in_process
from state_tree import NOON_MS, let_others_pass, tree_hash, write_config, write_store

if TYPE_CHECKING:
    from pathlib import Path

MINUTE = 60_000
POSIX = pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and users")


def _command(
    state: Path, *words: str, variables: dict[str, str] | None = None, nobody: bool = False
) -> subprocess.CompletedProcess[bytes]:
    """Run the command; in a process of its own where variables are set or ``nobody`` takes root's rights away."""
    if variables is None and not nobody:
        return run_in_process([*words, "--state", str(state), "--now", str(NOON_MS)])
    program = ["-c", AS_NOBODY] if nobody else ["-m", "strandline.cli.main"]
    return subprocess.run(
        [sys.executable, *program, *words, "--state", state, "--now", str(NOON_MS)],
        env={**os.environ, **(variables or {})},
        capture_output=True,
        timeout=60,
        check=False,
    )


def _json(state: Path, *words: str) -> Any:
    done = _command(state, *words, "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)


def _one_sentence(done: subprocess.CompletedProcess[bytes], code: int) -> str:
    err = done.stderr.decode()
    assert done.returncode == code, err
    assert "Traceback" not in err
    assert err.startswith("strandline: ")
    return err


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Two agents; rows of several ages, one without a time, one from the future."""
    path = tmp_path / "state"
    write_config(path, {"agents": {"list": [{"id": "main"}, {"id": "beta"}]}})
    times = {"a": -10, "b": -30, "c": -31, "future": 5}
    rows: dict[str, Any] = {f"agent:main:{name}": {"updatedAt": NOON_MS + at * MINUTE} for name, at in times.items()}
    write_store(path, {**rows, "agent:main:never": {}, "global": {"updatedAt": 5}})
    write_store(path, {"agent:beta:main": {"updatedAt": NOON_MS - MINUTE}, "main": {"updatedAt": 4}}, agent="beta")
    return path


# Words


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--active", "0"], "--active must be a positive number of minutes, for example --active 30."),
        (["--active", "abc"], "--active must be a positive number of minutes, for example --active 30."),
        (["--active=-3"], "--active must be a positive number of minutes, for example --active 30."),
        (["--limit", "0"], '--limit must be a positive integer or "all", for example --limit 25.'),
        (["--limit=-5"], '--limit must be a positive integer or "all", for example --limit 25.'),
        (["--limit", ""], '--limit must be a positive integer or "all", for example --limit 25.'),
        (["--limit", "1.5"], '--limit must be a positive integer or "all", for example --limit 25.'),
        (["--agent", "main", "--all-agents"], "--agent and --all-agents cannot be used together."),
        (["--store", "x", "--agent", "main"], "--store cannot be combined with --agent or --all-agents."),
        (["--store", "x", "--all-agents"], "--store cannot be combined with --agent or --all-agents."),
        (["--filter", "ctx:80"], 'Filter, column 5: "ctx" holds a number'),
        (["--filter", '"open'], "Filter, column 1: a quotation mark is not closed"),
        (["--limit"], "Argument --limit: expected one argument; see strandline sessions --help."),
        (["bogus"], "Unrecognized arguments: bogus; see strandline --help."),
        (["--all"], "Unrecognized arguments: --all; see strandline --help."),
        (["--lim", "3"], "Unrecognized arguments: --lim 3; see strandline --help."),
        (["--unknown"], "Unrecognized arguments: --unknown; see strandline --help."),
    ],
)
def test_words_outside_the_language_are_refused(words: list[str], sentence: str, state: Path) -> None:
    """Exit code 2, one sentence, nothing on stdout; no option may be shortened."""
    done = _command(state, "sessions", *words)
    assert sentence in _one_sentence(done, 2)
    assert done.stdout == b""


def test_wrong_words_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    """A wrong option is told even where the directory is missing; the words come first."""
    assert "--limit must be" in _one_sentence(_command(tmp_path / "missing", "sessions", "--limit", "0"), 2)
    assert "column 1" in _one_sentence(_command(tmp_path / "missing", "sessions", "--filter", "zz:1"), 2)


def test_unknown_agent_is_not_matched(state: Path) -> None:
    """Exit code 3; the sentence repeats the word as typed and names the agents there are."""
    done = _command(state, "sessions", "--agent", "Nobody", "--json")
    assert 'No agent "Nobody" is configured; configured are main, beta.' in _one_sentence(done, 3)
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("words", "limit", "count"),
    [([], 100, 6), (["--limit", "007"], 7, 6), (["--limit", " ALL "], None, 6), (["--limit", "2"], 2, 2)],
)
def test_limit(words: list[str], limit: int | None, count: int, state: Path) -> None:
    """Default 100, leading zeros, "all" in any case; totalCount counts before the limit."""
    answer = _json(state, "sessions", *words)
    assert (answer["limitApplied"], answer["count"], answer["totalCount"]) == (limit, count, 6)
    assert answer["hasMore"] is (count < 6)
    assert [row["key"] for row in answer["sessions"]][:2] == ["agent:main:future", "agent:main:a"]


def test_active_counts_its_own_minute_and_the_future(state: Path) -> None:
    """Thirty minutes include a row of exactly thirty; a row without a time is left out; "30x" is 30 as there."""
    for stated in ("30", "30x", " 30.9"):
        answer = _json(state, "sessions", "--active", stated)
        assert [row["key"] for row in answer["sessions"]] == ["agent:main:future", "agent:main:a", "agent:main:b"]
        assert (answer["activeMinutes"], answer["totalCount"]) == (30, 3)


def test_all_agents_and_single_agents(state: Path) -> None:
    """``--all-agents`` gives a null path and the stores; a key without an agent counts for its store's."""
    answer = _json(state, "sessions", "--all-agents")
    assert (answer["path"], answer["allAgents"]) == (None, True)
    assert [store["agentId"] for store in answer["stores"]] == ["main", "beta"]
    assert list(answer)[:4] == ["path", "stores", "allAgents", "count"]
    answer = _json(state, "sessions", "--agent", " BETA")
    assert [(row["key"], row["agentId"]) for row in answer["sessions"]] == [
        ("agent:beta:main", "beta"),
        ("main", "beta"),
    ]
    assert _json(state, "sessions", "--agent", "main", "--agent", "beta")["count"] == 2


def test_store_by_path(state: Path, tmp_path: Path) -> None:
    """A store file stands for the default agent; one that is missing has no rows, and nothing is created."""
    path = state / "agents" / "beta" / "sessions" / "sessions.json"
    answer = _json(state, "sessions", "--store", str(path))
    assert (answer["path"], answer["count"]) == (str(path), 2)
    assert {row["agentId"] for row in answer["sessions"]} == {"beta", "main"}
    before = tree_hash(tmp_path)
    answer = _json(state, "sessions", "--store", str(tmp_path / "no" / "{agentId}.json"))
    assert (answer["path"], answer["count"]) == (str(tmp_path / "no" / "main.json"), 0)
    assert tree_hash(tmp_path) == before


def test_filter_narrows_before_the_limit(state: Path) -> None:
    """totalCount counts the rows that pass."""
    answer = _json(state, "sessions", "--filter", "age<35m -future", "--limit", "1")
    assert (answer["count"], answer["totalCount"]) == (1, 3)


@pytest.mark.parametrize(
    "now", [str(NOON_MS), "2026-05-20T12:00:00Z", "2026-05-20T14:00:00+02:00", "2026-05-20T12:00:00"]
)
def test_now_is_a_time_or_milliseconds(now: str, state: Path) -> None:
    """ISO with and without a zone (UTC then) and milliseconds mean the same moment."""
    done = _command(state, "--now", now, "sessions", "--json", "--now", now)
    row = json.loads(done.stdout)["sessions"][1]
    assert (row["key"], row["ageMs"]) == ("agent:main:a", 10 * MINUTE)


@pytest.mark.parametrize("now", ["yesterday", "12:00", "-5", ""])
def test_wrong_now_is_refused(now: str, tmp_path: Path) -> None:
    """Exit code 2 with an example."""
    done = run_in_process(["sessions", f"--now={now}", "--state", str(tmp_path)])
    assert "is no time; write 2026-05-20T12:00:00Z" in _one_sentence(done, 2)


def test_quiet_leaves_the_messages_out_but_no_error(state: Path) -> None:
    """Messages for people go, errors stay, the table is the same."""
    write_store(state, {"agent:main:a": {}, "agent:main:b": 5})
    loud, quiet = _command(state, "sessions"), _command(state, "sessions", "--quiet")
    assert b"OpenClaw drops the row 'agent:main:b'" in loud.stderr
    assert (quiet.stderr, quiet.stdout) == (b"", loud.stdout)
    write_store(state, b"")
    assert b"it is empty (0 bytes)" in _command(state, "sessions", "--quiet").stderr


def test_a_filter_that_matches_nothing_is_said(state: Path) -> None:
    """Nothing on stdout, a word on stderr, and the exit code for "nothing matched"."""
    done = _command(state, "sessions", "--filter", "nothing-like-this")
    assert (done.returncode, done.stdout, done.stderr.strip()) == (3, b"", b"No sessions match.")


def test_an_empty_store_is_no_error(state: Path) -> None:
    """A readable store without rows is an answer: exit code 0, as in the real program."""
    write_store(state, {})
    assert _command(state, "sessions", "--json").returncode == 0


def test_table_takes_each_row_from_its_own_store(state: Path) -> None:
    """Two agents may have a row of the same key; each line shows its own name, and only listed stores speak."""
    write_store(state, {"global": {"label": "tide of main", "updatedAt": 9}})
    write_store(state, {"global": {"label": "reef of beta", "updatedAt": 8}, "agent:beta:x": 5}, agent="beta")
    both = _command(state, "sessions", "--all-agents").stdout.decode()
    assert "tide of main" in both
    assert "reef of beta" in both
    alone = _command(state, "sessions", "--agent", "main")
    assert "tide of main" in alone.stdout.decode()
    assert "reef of beta" not in alone.stdout.decode()
    assert alone.stderr == b""


# Bytes


@pytest.mark.parametrize(
    "variables", [{"LANG": "C", "LC_ALL": "C"}, {"PYTHONIOENCODING": "latin-1"}, {"PYTHONUTF8": "0", "LC_ALL": "POSIX"}]
)
def test_output_is_utf8_whatever_the_console_thinks(variables: dict[str, str], state: Path) -> None:
    """JSON and table are UTF-8 with plain line ends, also where the locale knows no ü and no crab."""
    write_store(state, {"agent:main:webchat:direct:größe-🦀": {"label": "Größe 会话 🦀"}})
    done = _command(state, "sessions", "--json", variables=variables)
    assert json.loads(done.stdout.decode("utf-8"))["sessions"][0]["key"].endswith("größe-🦀")
    done = _command(state, "sessions", variables=variables)
    assert "Größe 会话 🦀" in done.stdout.decode("utf-8")
    assert b"\r" not in done.stdout


def test_keys_cannot_move_the_cursor_and_half_characters_come_out_escaped(state: Path) -> None:
    """Control characters are shown as U+FFFD in the table; JSON keeps both kinds, escaped, and reads back the same."""
    keys = ["agent:main:\x1b[2Jx", "agent:main:\ud83e", "agent:main:a\nb", "agent:main:\u202egnp"]
    write_store(state, {key: {"label": key, "totalTokens": 10**30} for key in keys})
    answer = json.loads(_command(state, "sessions", "--json").stdout)
    assert [row["key"] for row in answer["sessions"]] == keys
    out = _command(state, "sessions").stdout.decode("utf-8")
    assert len(out.splitlines()) == 5
    assert not set(out) & {"\x1b", "\u202e"}
    assert out.count("\ufffd") >= 4


@POSIX
def test_reader_that_goes_away_is_no_error(state: Path) -> None:
    """``strandline sessions | head -1`` ends quietly with exit code 0."""
    write_store(state, {f"agent:main:webchat:direct:p{at}": {"label": "x" * 200} for at in range(5000)})
    for words in (["--json"], []):
        with subprocess.Popen(
            [sys.executable, "-m", "strandline.cli.main", "sessions", "--limit", "all", *words, "--state", state],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 0


# Bad input


@pytest.mark.parametrize("command", ["sessions", "status"])
def test_directory_that_is_none(command: str, tmp_path: Path) -> None:
    """Missing, and a file in its place: exit code 4, one sentence with what to do, nothing created."""
    (tmp_path / "file").write_text("x", "utf-8")
    before = tree_hash(tmp_path)
    err = _one_sentence(_command(tmp_path / "missing", command), 4)
    assert f"Cannot open {tmp_path / 'missing'}: no such file or directory; check the path" in err
    err = _one_sentence(_command(tmp_path / "file", command, "--json"), 4)
    assert "not a directory; name the directory that holds agents/, not a file" in err
    assert err.count("\n") == 1
    assert tree_hash(tmp_path) == before


@POSIX
@pytest.mark.parametrize("command", ["sessions", "status"])
@pytest.mark.parametrize(
    "closed", [".", "agents", "agents/main", "agents/main/sessions", "agents/main/sessions/sessions.json"]
)
def test_no_permission(closed: str, command: str, tmp_path: Path) -> None:
    """A closed directory or store at any depth: exit code 4, the sentence names the place, no traceback."""
    state = tmp_path / "state"
    write_store(state, {"agent:main:main": {}})
    let_others_pass(tmp_path)
    (state / closed).chmod(0)
    try:
        err = _one_sentence(_command(state, command, nobody=True), 4)
        assert "permission denied" in err
        assert str(state) in err
    finally:
        (state / closed).chmod(0o755)


@POSIX
def test_one_store_without_permission_among_others_is_done_in_part(state: Path, tmp_path: Path) -> None:
    """The readable rows are listed, the closed store is named, exit code 5."""
    let_others_pass(tmp_path)
    closed = state / "agents" / "beta"
    closed.chmod(0)
    try:
        done = _command(state, "sessions", "--all-agents", "--json", nobody=True)
        assert "permission denied" in _one_sentence(done, 5)
        answer = json.loads(done.stdout)
        assert (answer["count"], [damage["agentId"] for damage in answer["damage"]]) == (6, ["beta"])
    finally:
        closed.chmod(0o755)


@pytest.mark.parametrize(
    "content", [b"", b'{"agents": {"li', b'{"agents": \x00}', b"\x00" * 64, b"[]", b"\xff\xfe{\x00}\x00"]
)
def test_damaged_configuration_lists_the_default_places(content: bytes, tmp_path: Path) -> None:
    """A configuration of 0 bytes, cut, of NULs or no object: rows of the default places, the reason, exit code 5."""
    state = tmp_path / "state"
    write_store(state, {"agent:main:main": {}})
    write_config(state, content)
    before = tree_hash(state)
    for command in ("sessions", "status"):
        done = _command(state, command, "--json")
        err = _one_sentence(done, 5)
        assert "openclaw.json" in err
        assert "Showing what lies in the default places." in err
        assert "agent:main:main" in done.stdout.decode()
    assert tree_hash(state) == before


def test_directory_in_place_of_the_store(tmp_path: Path) -> None:
    """A directory called sessions.json is no store: exit code 4 and what to do."""
    state = tmp_path / "state"
    (state / "agents" / "main" / "sessions" / "sessions.json").mkdir(parents=True)
    assert "a directory stands where a file is expected" in _one_sentence(_command(state, "sessions"), 4)


def test_one_damaged_store_among_others_is_done_in_part(state: Path) -> None:
    """Exit code 5, rows of the other store, damage in the JSON; alone it is refused with 4."""
    write_store(state, b"{", agent="beta")
    done = _command(state, "sessions", "--all-agents", "--json")
    assert done.returncode == 5
    assert json.loads(done.stdout)["count"] == 6
    assert _command(state, "sessions", "--agent", "beta").returncode == 4
    assert _command(state, "sessions").returncode == 0


def test_remote_gateway_is_in_the_json(state: Path) -> None:
    """``authority`` comes with the list and the status when the configuration points elsewhere."""
    write_config(state, {"gateway": {"mode": "remote"}})
    for command in ("sessions", "status"):
        assert json.loads(_command(state, command, "--json").stdout)["authority"] == "remote"
