"""``strandline show``: one session with every number's grounds, in the contract's form."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from command_line import answer, run, run_as_nobody, sentence
from state_tree import NOON_MS, copy_case, fixed, let_others_pass, tree_hash, write_config, write_store
from strandline.errors import DamagedData, EnvironmentFault
from strandline.gateway import open_gateway

if TYPE_CHECKING:
    from pathlib import Path

    from strandline.session_report import SessionReport

POSIX = pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and users")
KEY = "agent:main:main"
CONTRACT = {
    "": ["key", "storePath", "entry", "normalised", "readings", "thresholds", "files", "findings"],
    "readings": ["name", "value", "unit", "source", "asOf", "fresh", "chosen", "why"],
    "thresholds": ["trigger", "tokens", "active", "why"],
    "files": ["path", "class", "standing", "bytes", "mtimeMs"],
    "findings": ["code", "severity", "what", "where", "evidence", "fix"],
}


def _header(session_id: str, at: str = "2026-05-20T10:00:00.000Z") -> dict[str, Any]:
    return {"type": "session", "version": 3, "id": session_id, "timestamp": at, "cwd": "/w"}


def _reply(entry_id: str, usd: float, text: str = "answer") -> dict[str, Any]:
    usage = {"input": 900, "output": 40, "totalTokens": 940, "cost": {"total": usd}}
    message = {"role": "assistant", "content": text, "provider": "demo", "model": "m", "usage": usage}
    time = "2026-05-20T10:00:40.000Z"
    return {"type": "message", "id": entry_id, "parentId": None, "timestamp": time, "message": message}


def _write_lines(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def _codes(report: Any) -> list[str]:
    return [finding["code"] for finding in report["findings"]]


def _chosen(report: Any) -> dict[str, Any] | None:
    found = [reading for reading in report["readings"] if reading["chosen"]]
    assert len(found) <= 1
    return found[0] if found else None


def _thresholds(report: Any) -> dict[str, tuple[int | None, bool]]:
    return {each["trigger"]: (each["tokens"], each["active"]) for each in report["thresholds"]}


# Form


@pytest.mark.parametrize(
    ("case", "key"),
    [
        ("A02-row-and-file-disagree", "agent:main:webchat:direct:peer-b"),
        ("A15-compaction-every-turn", KEY),
        ("A19-counters-that-lie", KEY),
        ("A26-copies-counted-twice", KEY),
    ],
)
def test_json_has_the_keys_of_the_contract_in_order(case: str, key: str, tmp_path: Path) -> None:
    """The contract's keys come first and in its order at every level; ours follow at the top level only."""
    state = copy_case(case, tmp_path)
    report = answer(state, "show", key)
    assert list(report) == [*CONTRACT[""], "gauge", "window", "transcript", "cost"]
    for name in list(CONTRACT)[1:]:
        # A trigger by size carries its bytes besides.
        extra = ["bytes"] if name == "thresholds" else []
        assert all(list(each) in (CONTRACT[name], [*CONTRACT[name], *extra]) for each in report[name]), name
    store = state / "agents" / "main" / "sessions" / "sessions.json"
    assert report["storePath"] == str(store)
    assert report["entry"] == json.loads(store.read_text("utf-8"))[key]


def test_entry_is_as_stored_and_normalised_is_as_loaded(tmp_path: Path) -> None:
    """Unknown fields, floats and order stay in ``entry``; ``normalised`` is what OpenClaw holds after loading."""
    state = tmp_path / "state"
    row = {"zeta": 1.5, "sessionId": " s1 ", "updatedAt": 5, "newer": {"b": [1, None], "a": "ü"}, "provider": "x"}
    write_store(state, {KEY: row})
    report = answer(state, "show", KEY)
    assert json.dumps(report["entry"]) == json.dumps(row)
    assert report["normalised"]["sessionId"] == "s1"


@pytest.mark.parametrize("spelling", [KEY, "AGENT:MAIN:MAIN", " agent:main:main "])
def test_any_spelling_finds_the_session(spelling: str, tmp_path: Path) -> None:
    """The key is answered as stored, however it was asked for."""
    state = tmp_path / "state"
    write_store(state, {"Agent:Main:main": {"sessionId": "s1", "updatedAt": 5}})
    assert answer(state, "show", spelling)["key"] == "Agent:Main:main"


def test_stored_spelling_is_preferred(tmp_path: Path) -> None:
    """Of two rows that fold to one key each is shown under its own spelling."""
    state = copy_case("A09-keys-that-differ-by-case", tmp_path)
    for key in ("agent:main:matrix:channel:!AbCdEf:hs.example", "agent:main:matrix:channel:!abcdef:hs.example"):
        assert answer(state, "show", key)["key"] == key


def test_bare_key_of_several_stores_asks_which(tmp_path: Path) -> None:
    """Exit code 3 with the agents listed; --agent chooses in any spelling; a wrong agent matches nothing."""
    state = tmp_path / "state"
    for agent in ("main", "beta"):
        write_store(state, {"global": {"sessionId": f"of-{agent}", "updatedAt": 5}}, agent=agent)
    before = tree_hash(state)
    assert sentence(run(state, "show", "global"), 3).endswith("say which with --agent: beta, main.")
    assert answer(state, "show", "global", "--agent", "Beta")["entry"]["sessionId"] == "of-beta"
    assert "No session has the key" in sentence(run(state, "show", "global", "--agent", "night"), 3)
    assert "No session has the key" in sentence(run(state, "show", "agent:main:nobody", "--json"), 3)
    assert tree_hash(state) == before


@pytest.mark.parametrize("broken", [b"", b"{", b"[]"])
def test_unreadable_store_is_not_an_empty_one(broken: bytes, tmp_path: Path) -> None:
    """Over a store that cannot be read no session is shown, and the exit code is not 0."""
    state = tmp_path / "state"
    write_store(state, broken)
    done = run(state, "show", KEY)
    assert done.returncode in {3, 4}
    assert done.stdout == ""


def test_dropped_rows_can_be_shown(tmp_path: Path) -> None:
    """A02: rows that OpenClaw drops are answered as stored, with the reason, without a normalised form."""
    state = copy_case("A02-row-and-file-disagree", tmp_path)
    for peer, stored in (("c", None), ("d", "bad id/.."), ("e", "just a string")):
        report = answer(state, "show", f"agent:main:webchat:direct:peer-{peer}")
        entry = report["entry"]
        assert (entry if peer == "e" else entry["sessionId"]) == stored
        assert report["normalised"] is None
        assert "row-dropped" in _codes(report)
        assert run(state, "show", f"agent:main:webchat:direct:peer-{peer}").returncode == 0


def test_row_without_a_transcript(tmp_path: Path) -> None:
    """A02: no session yet: nothing is measured, nothing is missing, nothing is made up."""
    report = answer(copy_case("A02-row-and-file-disagree", tmp_path), "show", "agent:main:webchat:direct:peer-a")
    assert (report["transcript"], report["files"], report["findings"]) == (None, [], [])
    assert _chosen(report) is None
    assert report["gauge"].startswith("Unknown.")
    assert report["cost"]["usd"] == 0


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("telegram:group:-100200300:topic:1", "row-newer-than-file"),
        ("telegram:group:-100200300:topic:2", "transcript-missing"),
        ("webchat:direct:peer-b", "transcript-pointer-broken"),
    ],
)
def test_row_and_file_that_disagree(key: str, code: str, tmp_path: Path) -> None:
    """A02: each way to disagree is a finding of its own kind."""
    assert _codes(answer(copy_case("A02-row-and-file-disagree", tmp_path), "show", f"agent:main:{key}")) == [code]


def test_paths_from_another_machine(tmp_path: Path) -> None:
    """A11: a moved file is read here; a path that leads outside is text, neither opened nor sized."""
    state = copy_case("A11-paths-from-another-machine", tmp_path)
    before = tree_hash(tmp_path)
    for key in ("main", "webchat:direct:a", "webchat:direct:b"):
        report = answer(state, "show", f"agent:main:{key}")
        assert "transcript-moved" in _codes(report)
        assert report["transcript"]["path"].startswith(str(state))
        assert "would drop this row" in report["findings"][0]["fix"]
    for key in ("c", "d"):
        report = answer(state, "show", f"agent:main:webchat:direct:{key}")
        assert _codes(report) == ["transcript-outside"]
        assert (report["transcript"], report["files"]) == (None, [])
    assert tree_hash(tmp_path) == before


# Values


def test_compaction_every_turn(tmp_path: Path) -> None:
    """A15: effective thresholds and exactly one finding, which carries the arithmetic and what happened."""
    report = answer(copy_case("A15-compaction-every-turn", tmp_path), "show", KEY)
    assert _thresholds(report) == {
        "flush": (8000, True),
        "flush-bytes": (None, True),
        "preflight": (8000, True),
        "precheck": (8000, True),
        "after-turn": (-8000, False),
    }
    (finding,) = report["findings"]
    assert (finding["code"], finding["severity"]) == ("compaction-every-turn", "error")
    assert "32,000 window − 40,000 reserve = −8,000" in finding["what"]
    assert "5 compactions for 5 questions" in finding["evidence"]


@pytest.mark.parametrize(
    ("config", "model", "line", "codes"),
    [
        ("b-huge-reserve", "demo-large", 70_000, ["compaction-early"]),
        ("c-floor", "demo-tiny", 12_000, []),
        ("d-16k", "demo-16k", 8_000, []),
    ],
)
def test_effective_thresholds(config: str, model: str, line: int, codes: list[str], tmp_path: Path) -> None:
    """A15: a huge reserve is early, a small one is lifted to the floor, a small window keeps half for the prompt."""
    state = copy_case("A15-compaction-every-turn", tmp_path) / config
    write_store(state, {KEY: {"updatedAt": 5, "model": model, "modelProvider": "demo"}})
    report = answer(state, "show", KEY)
    assert _thresholds(report)["precheck"] == (line, True)
    assert _codes(report) == codes


@pytest.mark.parametrize(
    ("key", "chosen", "misleads"),
    [
        ("main", 9010, True),
        ("webchat:direct:null", 21010, False),
        ("webchat:direct:sum", 51510, True),
        ("webchat:direct:capped", 120010, True),
        ("webchat:direct:notfresh", 64010, False),
        ("webchat:direct:justcompacted", None, False),
        ("webchat:direct:nousage", None, False),
        ("webchat:direct:neg", 5010, True),
    ],
)
def test_counters_that_lie(key: str, chosen: int | None, *, misleads: bool, tmp_path: Path) -> None:
    """A19: the last usage after the last compaction is chosen; unknown is not 0; what misleads is a finding."""
    report = answer(copy_case("A19-counters-that-lie", tmp_path), "show", f"agent:main:{key}")
    reading = _chosen(report)
    assert (reading["value"] if reading else None) == chosen
    assert report["gauge"].startswith("Unknown." if chosen is None else f"{chosen:,} of 200,000 tokens")
    assert ("counter-misleads" in _codes(report)) is misleads


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("main", "Memory flush repeated: notes were saved more than once in one compaction cycle."),
        ("webchat:direct:zero-zero", "The next memory flush will be skipped though it never ran."),
        ("webchat:direct:due", None),
        ("webchat:direct:absent", None),
        ("webchat:direct:below", None),
    ],
)
def test_memory_flush(key: str, sentence: str | None, tmp_path: Path) -> None:
    """A20: the flush line lies at 176,000; a repeated and a skipped flush are told apart from healthy ones."""
    report = answer(copy_case("A20-memory-flush", tmp_path), "show", f"agent:main:{key}")
    assert _thresholds(report)["flush"] == (176_000, True)
    flush = [finding["what"] for finding in report["findings"] if "flush" in finding["code"]]
    assert flush == ([sentence] if sentence else [])


# Cost


def test_copies_are_not_counted_twice(tmp_path: Path) -> None:
    """A26: 0.50 live and 0.25 of the conversation that was reset before; the archive is named, copies are not added."""
    report = answer(copy_case("A26-copies-counted-twice", tmp_path), "show", KEY)
    assert report["cost"]["usd"] == pytest.approx(0.75)
    words = report["cost"]["words"]
    assert words.startswith("0.75 USD for 6 replies, 5 copies not counted.")
    assert "00000baa-0b00-4000-8000-000000000002.jsonl.reset.2026-05-18T12-00-00.000Z" in words


def test_earlier_conversations_are_those_that_the_row_lists(tmp_path: Path) -> None:
    """Ids of the session's line count, a conversation put aside at the same moment but not listed does not."""
    state = tmp_path / "state"
    row = {"sessionId": "s2", "updatedAt": 5, "usageFamilySessionIds": ["s1", 7, "s2"]}
    folder = write_store(state, {KEY: row}).parent
    _write_lines(folder / "s2.jsonl", _header("s2"), _reply("b", 0.5))
    _write_lines(folder / "s1.jsonl.reset.2026-05-01T10-00-00.000Z", _header("s1"), _reply("a", 0.25))
    _write_lines(folder / "s11.jsonl.reset.2026-05-20T10-00-00.000Z", _header("s11"), _reply("c", 8))
    _write_lines(folder / "s2.checkpoint.0000000c-0b00-4000-8000-000000000007.jsonl", _header("s2"), _reply("b", 0.5))
    cost = answer(state, "show", KEY)["cost"]
    assert cost["usd"] == pytest.approx(0.75)
    assert "1 copies not counted" in cost["words"]


def test_two_possible_predecessors_are_none(tmp_path: Path) -> None:
    """Where two conversations were put aside at the moment this one began, neither is counted."""
    state = tmp_path / "state"
    folder = write_store(state, {KEY: {"sessionId": "s2", "updatedAt": 5}}).parent
    _write_lines(folder / "s2.jsonl", _header("s2"), _reply("b", 0.5))
    _write_lines(folder / "s1.jsonl.reset.2026-05-20T10-00-00.000Z", _header("s1"), _reply("a", 0.25))
    assert answer(state, "show", KEY)["cost"]["usd"] == pytest.approx(0.75)
    _write_lines(folder / "s0.jsonl.deleted.2026-05-20T10-00-01.000Z", _header("s0"), _reply("a", 0.125))
    assert answer(state, "show", KEY)["cost"]["usd"] == pytest.approx(0.5)


# Files


def test_files_of_another_agent_are_not_the_sessions_own(tmp_path: Path) -> None:
    """Two agents hold a session of one id: each shows the files beside its own store."""
    state = tmp_path / "state"
    for agent in ("main", "beta"):
        folder = write_store(state, {f"agent:{agent}:main": {"sessionId": "s1", "updatedAt": 5}}, agent=agent).parent
        _write_lines(folder / "s1.jsonl", _header("s1"), _reply("b", 0.5 if agent == "main" else 0.25))
        (folder / "s1.trajectory.jsonl").write_text("{}\n", "utf-8")
        (folder / "s10.jsonl").write_text("{}\n", "utf-8")
    for agent, usd in (("main", 0.5), ("beta", 0.25)):
        report = answer(state, "show", f"agent:{agent}:main")
        names = [file["path"] for file in report["files"]]
        assert names == [f"agents/{agent}/sessions/s1.jsonl", f"agents/{agent}/sessions/s1.trajectory.jsonl"]
        assert report["cost"]["usd"] == usd


@POSIX
def test_unreadable_transcript_is_a_finding(tmp_path: Path) -> None:
    """Without permission the row is still shown; readings fall back, the reason and the path are told."""
    state = tmp_path / "state"
    folder = write_store(state, {KEY: {"sessionId": "s1", "updatedAt": NOON_MS, "totalTokens": 5000}}).parent
    _write_lines(folder / "s1.jsonl", _header("s1"), _reply("a", 1)).chmod(0)
    let_others_pass(tmp_path)
    done = run_as_nobody(state, "show", KEY, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    (finding,) = [finding for finding in report["findings"] if finding["code"] == "transcript-unreadable"]
    assert "permission denied" in finding["what"]
    assert report["cost"] == {"usd": None, "words": report["cost"]["words"]}
    assert "Not read: s1.jsonl." in report["cost"]["words"]
    assert report["transcript"] is None


def test_large_transcript_is_read_from_both_ends(tmp_path: Path) -> None:
    """Above the bound the ends still tell usage and words; what needs every entry is unknown."""
    state = tmp_path / "state"
    folder = write_store(state, {KEY: {"sessionId": "s1", "updatedAt": 5}}).parent
    path = _write_lines(folder / "s1.jsonl", _header("s1"), _reply("a", 1))
    with path.open("ab") as file:
        file.truncate(65 * 1024**2)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + json.dumps(_reply("b", 1, "last words")).encode() + b"\n")
    report = answer(state, "show", KEY)
    assert report["transcript"]["entries"] is None
    assert report["transcript"]["lastWords"]["text"] == "last words"
    reading = _chosen(report)
    assert reading is not None
    assert reading["value"] == 940
    assert (report["cost"]["usd"], "Not read: s1.jsonl." in report["cost"]["words"]) == (None, True)


# A store that changes


def _inspect_after(state: Path, place: Path, change: Any) -> SessionReport:
    async def ask() -> SessionReport:
        async with open_gateway(state, environment=fixed(place), eager=False) as gateway:
            await gateway.sessions()
            change()
            return await gateway.inspect(KEY)

    return asyncio.run(ask())


def test_store_that_changes_before_it_is_shown(tmp_path: Path) -> None:
    """Rows that swap places, a row that goes, a cut store: never another row's entry, but a word to ask again."""
    one, two = {"sessionId": "s1", "updatedAt": 5}, {"sessionId": "s2", "updatedAt": 6}
    other = "agent:main:mail"
    for now in ({other: two, KEY: one}, {other: two}, {}, b"", b'{"agent:main:mail": 5', {KEY: {**one, "x": 1}}):
        state = tmp_path / "state"
        store = write_store(state, {KEY: one, other: two})

        def rewrite(store: Path = store, now: Any = now) -> None:
            store.write_bytes(now if isinstance(now, bytes) else json.dumps(now).encode())

        with pytest.raises(DamagedData, match="changed while it was read; ask again"):
            _inspect_after(state, tmp_path, rewrite)
        shutil.rmtree(state)


def test_store_that_goes_before_it_is_shown(tmp_path: Path) -> None:
    """A store that was taken away is told as missing."""
    store = write_store(tmp_path / "state", {KEY: {"sessionId": "s1", "updatedAt": 5}})
    with pytest.raises(EnvironmentFault, match="no such file"):
        _inspect_after(tmp_path / "state", tmp_path, store.unlink)


@pytest.mark.parametrize("ending", ["", " \n\t ", '"', "\\", "\ud83e", "größe-🦀", "a:b\\u0022"])
def test_any_key_is_found_again_in_its_store(ending: str, tmp_path: Path) -> None:
    """Quotes, escapes, half characters and white space in keys do not hide the row; compact and spaced stores alike."""
    state = tmp_path / "state"
    key = f"agent:main:webchat:direct:x{ending}y"
    rows = {key: {"sessionId": "s1", "updatedAt": 5}, "agent:main:z": {}}
    for text in (json.dumps(rows), json.dumps(rows, indent=4), json.dumps(rows, separators=(",", " \n\t : "))):
        write_store(state, text.encode())

        async def ask() -> SessionReport:
            async with open_gateway(state, environment=fixed(tmp_path), eager=False) as gateway:
                return await gateway.inspect(key)

        assert asyncio.run(ask()).entry == rows[key]


@pytest.mark.parametrize("prefix", [b"\xef\xbb\xbf", b""])
def test_byte_order_mark_and_half_characters(prefix: bytes, tmp_path: Path) -> None:
    """A store with a mark in front and lone surrogates in it is answered; JSON reads back the same."""
    state = tmp_path / "state"
    row = {"sessionId": "s1", "updatedAt": 5, "label": "x\ud83e", "deep": {"\udc00": ["\ud800"]}}
    write_store(state, prefix + json.dumps({KEY: row}).encode())
    report = json.loads(run(state, "show", KEY, "--json").stdout)
    assert report["entry"] == row
    assert run(state, "show", KEY).returncode == 0


# Words


def test_words_for_people(tmp_path: Path) -> None:
    """Without --json: the gauge, each reading and threshold with its grounds, files, cost, findings with fixes."""
    out = run(copy_case("A19-counters-that-lie", tmp_path), "show", KEY).stdout
    for part in ("9,010 of 200,000 tokens (4.5 %)", "▸", "after-turn", "transcript", "cost ", "warning: ", "  do: "):
        assert part in out
    assert "None" not in out


def test_control_characters_cannot_move_the_cursor(tmp_path: Path) -> None:
    """Keys, words and stored texts lose their control characters on the way to a terminal."""
    state = tmp_path / "state"
    key = "agent:main:webchat:direct:\x1b[2Jx"
    rows = {key: {"sessionId": "s1", "updatedAt": 5}, f"{key}2": {"sessionId": "s2", "sessionFile": "\x1b[2J.jsonl"}}
    folder = write_store(state, rows).parent
    _write_lines(folder / "s1.jsonl", _header("s1"), _reply("a", 1, "ahoy \x1b[31m NO_REPLY \u202e more"))
    for words in (["show", key], ["doctor"], ["transcript", "check", key], ["transcript", "context", key]):
        done = run(state, *words)
        assert done.returncode == 0, done.stderr
        assert not set(done.stdout) & {"\x1b", "\u202e"}
    assert "\x1b" not in sentence(run(state, "show", f"{key}3"), 3)


def test_remote_gateway_is_in_the_json(tmp_path: Path) -> None:
    """``authority`` comes last when the configuration points elsewhere."""
    state = tmp_path / "state"
    write_store(state, {KEY: {"sessionId": "s1", "updatedAt": 5}})
    write_config(state, {"gateway": {"mode": "remote", "remote": {"url": "wss://there:1"}}})
    done = run(state, "show", KEY, "--json")
    assert done.returncode == 0
    assert list(json.loads(done.stdout).items())[-1] == ("authority", "remote")
    assert "wss://there:1" in done.stderr


def test_report_of_the_gateway_is_the_json(tmp_path: Path) -> None:
    """What the command prints is the gateway's record and nothing else."""
    state = copy_case("A26-copies-counted-twice", tmp_path)
    report = _inspect_after(state, tmp_path, lambda: None)
    assert json.loads(msgspec.json.encode(report)) == answer(state, "show", KEY)
