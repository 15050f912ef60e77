"""Our list and status beside those of the real OpenClaw 2026.5.22, on state directories made up from a seed.

Needs ``STRANDLINE_PEER_NODE`` (a node that runs it) and ``STRANDLINE_PEER_OPENCLAW_5`` (its ``openclaw.mjs``).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import golden

if TYPE_CHECKING:
    from collections.abc import Iterator

NODE = os.environ.get("STRANDLINE_PEER_NODE")
OPENCLAW = os.environ.get("STRANDLINE_PEER_OPENCLAW_5")

pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(
        not (NODE and OPENCLAW),
        reason="STRANDLINE_PEER_NODE and STRANDLINE_PEER_OPENCLAW_5 name no real OpenClaw 2026.5",
    ),
]

SECONDS = 120
MINUTE = 60_000
ABSENT = object()
SEEDS = range(1, 21)
STATUS_SEEDS = [seed for seed in SEEDS if seed % 4 == 0]

_ID = "00000000-0000-4000-8000-{:012d}"
_KEYS = (
    "main",
    "global",
    "unknown",
    "Global",
    "agent:main:main",
    "Agent:MAIN:Main",
    " agent:main:pad ",
    "agent:main",
    "agent::main:x",
    "agent:a b:x",
    "agent:main:telegram:group:-100123",
    "agent:main:telegram:group:-100123:topic:5",
    "agent:main:discord:channel:99",
    "agent:main:slack:Group:x",
    "telegram:channel:77",
    "group:x",
    "agent:main:cron:job1",
    "agent:main:cron:job1:run:r1",
    "agent:main:CRON:j",
    "Agent:MAIN:Cron:x",
    "cron:x",
    "agent:main:subagent:q",
    "agent:main:subagent:q:subagent:r",
    "agent:main:acp:a1",
    "agent:beta:acp:b1",
    "acp:foo",
    "hook:gmail:1",
    "agent:main:hook:x",
    "agent:main:signal:group:QmFzZTY0R3JwPT0=",
    "agent:main:signal:group:qmfzzty0r3jwpt0=",
    "agent:beta:main",
    "agent:Beta:MAIN",
    "agent:ghost:main",
    "agent:main:webchat:direct:größe",
    "agent:main:webchat:direct:\U0001f99e",
    "agent:main:webchat:direct:\ud83d",
    "agent:main:webchat:direct:a\u0000b",
    "agent:main:webchat:direct:\u2028",
    "agent:main:heartbeat",
    "2",
    "10",
    "007",
    "4294967295",
    "constructor",
    "",
    " ",
    ":::",
)
_MISTYPED = (ABSENT, "high", "", " padded ", 5, 0, -1, 1.5, None, True, False, {}, [1], {"a": "b"}, 10**22, "\ud800")
_MODELS = (
    ABSENT,
    "claude-opus-4-6",
    "gpt-5.5",
    "  pad ",
    "anthropic/claude-x",
    "anthropic/opus-4.6",
    "opus",
    "opus-4.6",
    "openrouter:auto",
    "foo/",
    "/foo",
    "qwen3:8b",
    "gemini-3-pro",
    "myprov/m1",
    "m1",
    "z-ai/glm",
    " ",
    "",
    5,
    None,
)
_PROVIDERS = (
    ABSENT,
    ABSENT,
    "anthropic",
    "openai",
    " prov ",
    "claude-cli",
    "Z.AI",
    "openrouter",
    "google",
    "PP",
    "",
    7,
    None,
)
_TOKENS = (ABSENT, 0, 12, 1000, 120_000, 10**9, 10**22, -5, 1.5, "12", None)
_CHAT_TYPES = (ABSENT, ABSENT, "direct", "dm", "group", "channel", "GROUP", "thread", " Direct ", None, 5)
_CHANNELS = (ABSENT, "telegram", "Discord", " imsg ", "webchat", "slack", "teams", "", 5, None)
_PEERS = (ABSENT, "42", "telegram:42", " telegram:42:topic:7 ", "channel:C1", "user:U1", "", 42, None)


class Made(NamedTuple):
    """A state directory to make: the configuration, stores by path, and the words to list it with."""

    config: dict[str, Any] | None
    stores: dict[str, dict[str, Any]]
    words: list[str]


class Answers(NamedTuple):
    """What the real program answered, and when."""

    sessions: Any
    status: Any
    now_ms: int
    state: Path


def _row(chance: random.Random, number: int, now_ms: int) -> Any:
    if chance.random() < 0.05:
        return chance.choice([5, None, [], "x", True, {}, [{}]])
    minutes = chance.choice([1, 5, 20, 100, 500, 500, 5000, 100_000])
    fields: dict[str, Any] = {
        "sessionId": chance.choice([_ID.format(number)] * 8 + [ABSENT, None, 5, " ", "a/b", "a:b", f"  id{number} "]),
        "sessionFile": chance.choice([ABSENT] * 5 + [f"{_ID.format(number)}-topic-5.jsonl", "x.jsonl", " ", 5]),
        "updatedAt": chance.choice(
            [now_ms - minutes * MINUTE] * 8
            + [now_ms - minutes * MINUTE - 0.5, now_ms + 90 * MINUTE, 0, -4, None, "5", ABSENT, 1e15]
        ),
        "model": chance.choice(_MODELS),
        "modelProvider": chance.choice(_PROVIDERS),
        "totalTokens": chance.choice(_TOKENS),
        "contextTokens": chance.choice((ABSENT, ABSENT, *_TOKENS)),
        "chatType": chance.choice(_CHAT_TYPES),
    }
    if chance.random() < 0.3:
        # The real program dies of an override that is no text ("providerOverride?.trim is not a function").
        fields["modelOverride"] = chance.choice([value for value in _MODELS if value != 5])
        fields["providerOverride"] = chance.choice([value for value in _PROVIDERS if value != 7])
    if chance.random() < 0.2:
        fields["acp"] = chance.choice([{"backend": "acpx"}, {}, False, None, "x"])
    if chance.random() < 0.2:
        fields["spawnedBy"] = chance.choice(["agent:main:main", "", None, 5])
    for name in (
        "totalTokensFresh",
        "inputTokens",
        "outputTokens",
        "cacheRead",
        "cacheWrite",
        "systemSent",
        "abortedLastRun",
        "thinkingLevel",
        "fastMode",
        "verboseLevel",
        "traceLevel",
        "reasoningLevel",
        "elevatedLevel",
        "responseUsage",
        "groupActivation",
        "label",
        "status",
        "compactionCount",
        "unknownField",
    ):
        if chance.random() < 0.2:
            fields[name] = chance.choice(_MISTYPED)
    for name in ("channel", "lastChannel", "provider", "lastProvider"):
        if chance.random() < 0.2:
            fields[name] = chance.choice(_CHANNELS)
    for name in ("lastTo", "lastAccountId", "lastThreadId", "room", "groupId"):
        if chance.random() < 0.15:
            fields[name] = chance.choice(_PEERS)
    if chance.random() < 0.3:
        fields["origin"] = chance.choice([None, "x", [], _origin(chance), _origin(chance), _origin(chance)])
    if chance.random() < 0.2:
        fields["deliveryContext"] = chance.choice([None, "x", _delivery(chance), _delivery(chance)])
    return _present(fields)


def _origin(chance: random.Random) -> dict[str, Any]:
    return _present(
        {
            "provider": chance.choice(_CHANNELS),
            "surface": chance.choice(_CHANNELS),
            "chatType": chance.choice(_CHAT_TYPES),
            "from": chance.choice(_PEERS),
            "to": chance.choice(_PEERS),
            "accountId": chance.choice((ABSENT, "default", " Acc 1 ", 5)),
            "label": chance.choice((ABSENT, "a label", "")),
            "nativeDirectUserId": chance.choice((ABSENT, " +49 ", "")),
        }
    )


def _delivery(chance: random.Random) -> dict[str, Any]:
    return _present(
        {
            "channel": chance.choice(_CHANNELS),
            "to": chance.choice(_PEERS),
            "accountId": chance.choice((ABSENT, "default", "Acc 1", "")),
            "threadId": chance.choice((ABSENT, 7, "7", "")),
        }
    )


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not ABSENT}


def _store(chance: random.Random, now_ms: int) -> dict[str, Any]:
    keys = chance.sample(_KEYS, chance.randint(4, 40))
    return {key: _row(chance, number, now_ms) for number, key in enumerate(keys, 1)}


def _config(chance: random.Random, *, needed: bool) -> dict[str, Any] | None:
    if not needed and chance.random() < 0.2:
        return None
    config: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    if chance.random() < 0.6:
        model = chance.choice(["anthropic/opus-4.6", "myprov/m1", "gpt-5", "opus", "google/gemini-3-pro"])
        defaults["model"] = chance.choice([model, {"primary": model}])
    if chance.random() < 0.3:
        defaults["contextTokens"] = chance.choice([1, 4444, 123_456])
    if chance.random() < 0.4:
        defaults["models"] = {"anthropic/claude-opus-4-7": {}, "myprov/m1": {"alias": "Quick"}}
    agents: dict[str, Any] = {"defaults": defaults} if defaults else {}
    if chance.random() < 0.6:
        listed: list[dict[str, Any]] = [{"id": "main"}, {"id": "beta"}, {"id": "Alpha"}]
        chance.shuffle(listed)
        listed = listed[: chance.randint(1, 3)]
        if chance.random() < 0.5:
            chance.choice(listed)["default"] = True
        if chance.random() < 0.5:
            chance.choice(listed)["model"] = chance.choice(["aa/bb", {"primary": "myprov/m1"}])
        if chance.random() < 0.3:
            chance.choice(listed)["runtime"] = {"type": "acp", "acp": {"agent": "Claude"}}
        agents["list"] = listed
    if agents:
        config["agents"] = agents
    if chance.random() < 0.5:
        model = {"id": "m1", "name": "M1", "contextWindow": chance.choice([4444, 32_768])}
        first = {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "models": [model]}
        config["models"] = {"providers": {"myprov": first}}
        if chance.random() < 0.5:
            second = {"id": "m1", "name": "M1", "contextWindow": 9999, "contextTokens": 777}
            other = {"id": "opus-4.6", "name": "O", "contextWindow": 50_000}
            config["models"]["providers"]["anthropic"] = {**first, "models": [second, other]}
    session: dict[str, Any] = {}
    if chance.random() < 0.3:
        session["store"] = chance.choice(["$STATE/shared.json", "$STATE/stores/{agentId}.json"])
    if chance.random() < 0.2:
        session["mainKey"] = "main"
    if chance.random() < 0.3:
        session["dmScope"] = chance.choice(["main", "per-peer", "per-channel-peer"])
    if session:
        config["session"] = session
    if chance.random() < 0.2:
        config["acp"] = {"defaultAgent": "Claude", "allowedAgents": [" ", "*", "codex"]}
    return config


def make(seed: int, now_ms: int) -> Made:
    """Make up a state directory from a seed."""
    chance = random.Random(seed)
    config = _config(chance, needed=seed in STATUS_SEEDS)
    session = (config or {}).get("session", {})
    listed = [agent["id"].lower() for agent in (config or {}).get("agents", {}).get("list", [])]
    template = session.get("store")
    stores: dict[str, dict[str, Any]] = {}
    for agent in {*listed, "main", "beta", "diskonly"}:
        place = template.removeprefix("$STATE/").replace("{agentId}", agent) if template else None
        stores[place or f"agents/{agent}/sessions/sessions.json"] = {}
    for path in sorted(stores):
        stores[path] = _store(chance, now_ms)
    words = chance.choice(
        [
            [],
            ["--all-agents", "--limit", "all"],
            ["--all-agents", "--limit", "all"],
            ["--active", "60"],
            ["--limit", "7"],
            ["--agent", listed[-1] if listed else "MAIN"],
        ]
    )
    return Made(config, stores, words)


def _lay_out(made: Made, state: Path) -> None:
    state.mkdir(parents=True)
    if made.config is not None:
        (state / "openclaw.json").write_text(json.dumps(made.config).replace("$STATE", str(state)), "utf-8")
    (state / "agents" / "Zed").mkdir(parents=True)
    (state / "agents" / "diskonly" / "sessions").mkdir(parents=True)
    for path, rows in made.stores.items():
        (state / path).parent.mkdir(parents=True, exist_ok=True)
        (state / path).write_text(json.dumps(rows), "utf-8")


def _ask_real(words: list[str], state: Path) -> Any:
    home = state.parent / "home"
    home.mkdir(exist_ok=True)
    variables = {
        "HOME": str(home),
        "PATH": f"{Path(str(NODE)).parent}:/usr/bin:/bin",
        "OPENCLAW_STATE_DIR": str(state),
        "OPENCLAW_CONFIG_PATH": str(state / "openclaw.json"),
        "TMPDIR": str(home),
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        [str(NODE), str(OPENCLAW), *words], env=variables, cwd=home, capture_output=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, (words, done.stderr[-2000:], done.stdout[-500:])
    return json.loads(done.stdout)


def _ask_both(seed: int, folder: Path) -> Answers:
    state = folder / "state"
    made = make(seed, time.time_ns() // 1_000_000)
    _lay_out(made, state)
    sessions = _ask_real(["sessions", "--json", *made.words], state)
    status = _ask_real(["status", "--json"], state) if seed in STATUS_SEEDS else None
    return Answers(sessions, status, time.time_ns() // 1_000_000, state)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Future[Answers]]]:
    """Ask the real program everything, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        yield {seed: pool.submit(_ask_both, seed, tmp_path_factory.mktemp(f"seed{seed}")) for seed in SEEDS}


def _ask_ours(words: list[str], answers: Answers) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "strandline.cli.main", *words, "--state", answers.state, "--now", str(answers.now_ms)],
        cwd=answers.state.parent,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _assert_same(ours: Any, real: Any, state: Path) -> None:
    for one, other in zip(_rows(ours), _rows(real), strict=False):
        assert golden.masked(one, state) == golden.masked(other, state)
    assert golden.masked(ours, state) == golden.masked(real, state)
    assert golden.key_orders(ours) == golden.key_orders(real)
    assert [age is None for age in golden.ages(ours)] == [age is None for age in golden.ages(real)]


def _rows(answer: Any) -> list[Any]:
    return answer.get("sessions", answer.get("recent", []))


@pytest.mark.parametrize("seed", SEEDS)
def test_list_equals_the_real_one(seed: int, asked: dict[int, Future[Answers]]) -> None:
    """`sessions --json` gives the real program's rows, values and key order for a made-up directory."""
    answers = asked[seed].result()
    words = make(seed, 0).words
    _assert_same(_ask_ours(["sessions", "--json", *words], answers), answers.sessions, answers.state)


@pytest.mark.parametrize("seed", STATUS_SEEDS)
def test_status_equals_the_real_one(seed: int, asked: dict[int, Future[Answers]]) -> None:
    """`status --json` gives the real program's sessions block for a made-up directory with a configuration."""
    answers = asked[seed].result()
    ours = _ask_ours(["status", "--json"], answers)["sessions"]
    _assert_same(ours, answers.status["sessions"], answers.state)
