"""Which directory, which configuration, which stores: real trees, and nothing created by looking."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

import pytest

from strandline.errors import BadRequest, EnvironmentFault
from strandline.settings.policies import AgentPolicy, AgentsPolicy
from strandline.state.discovery import (
    SAMPLE_MARKER,
    Environment,
    agent_directories,
    all_stores,
    candidate_directories,
    choose_directory,
    configured_stores,
    home_of,
    looks_like_state,
    read_config,
    resolve_store,
    tilde,
)

_POSIX = pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")


def _environment(place: Path, **variables: str) -> Environment:
    return Environment(variables=variables, home=place / "home", working_directory=place / "work")


def _lay(place: Path, *names: str) -> None:
    for name in names:
        path = place / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("{}", "utf-8")


def _tree(place: Path) -> dict[str, tuple[int, int]]:
    return {str(path.relative_to(place)): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in place.rglob("*")}


def _agents(*ids: str) -> AgentsPolicy:
    return AgentsPolicy(listed=tuple(AgentPolicy(id=each, stated_id=each) for each in ids))


@pytest.mark.parametrize(
    ("variables", "home"),
    [
        ({}, "home"),
        ({"HOME": "/h"}, "/h"),
        ({"HOME": " /h "}, "/h"),
        ({"HOME": "undefined", "USERPROFILE": "/u"}, "/u"),
        ({"HOME": "", "USERPROFILE": "null"}, "home"),
        ({"HOME": "/h", "OPENCLAW_HOME": "/o"}, "/o"),
        ({"HOME": "/h", "OPENCLAW_HOME": "~"}, "/h"),
        ({"HOME": "/h", "OPENCLAW_HOME": "~/o"}, "/h/o"),
        ({"HOME": "/h", "OPENCLAW_HOME": "~//o"}, "/h/o"),
        ({"HOME": "/h", "OPENCLAW_HOME": "~foo"}, "work/~foo"),
        ({"HOME": "/h", "OPENCLAW_HOME": "rel"}, "work/rel"),
        ({"HOME": "/h", "OPENCLAW_HOME": "undefined"}, "/h"),
        ({"HOME": "/h", "OPENCLAW_HOME": "  "}, "/h"),
    ],
)
def test_home(variables: dict[str, str], home: str, tmp_path: Path) -> None:
    """The program's own variable comes first; words that mean nothing are skipped."""
    assert home_of(_environment(tmp_path, **variables)) == tmp_path / home


# What lies there, variables and profile; then state directory, configuration and the reason.
_Choice: TypeAlias = tuple[list[str], dict[str, str], str | None, str, str, str]
_CHOICES: list[_Choice] = [
    ([], {}, None, "home/.openclaw", "home/.openclaw/openclaw.json", "the default place"),
    (["home/.openclaw/openclaw.json"], {}, None, "home/.openclaw", "home/.openclaw/openclaw.json", "the default place"),
    (
        ["home/.clawdbot/x"],
        {},
        None,
        "home/.clawdbot",
        "home/.clawdbot/openclaw.json",
        "~/.clawdbot of an older release",
    ),
    (
        ["home/.clawdbot/clawdbot.json"],
        {},
        None,
        "home/.clawdbot",
        "home/.clawdbot/clawdbot.json",
        "~/.clawdbot of an older release",
    ),
    (
        ["home/.openclaw/", "home/.clawdbot/clawdbot.json"],
        {},
        None,
        "home/.openclaw",
        "home/.clawdbot/clawdbot.json",
        "the default place",
    ),
    (
        ["home/.openclaw/clawdbot.json", "home/.openclaw/openclaw.json"],
        {},
        None,
        "home/.openclaw",
        "home/.openclaw/openclaw.json",
        "the default place",
    ),
    ([], {"OPENCLAW_HOME": "~/o"}, None, "home/o/.openclaw", "home/o/.openclaw/openclaw.json", "the default place"),
    (["st/clawdbot.json"], {"OPENCLAW_STATE_DIR": "../st"}, None, "st", "st/clawdbot.json", "OPENCLAW_STATE_DIR"),
    ([], {"OPENCLAW_STATE_DIR": " ~/s "}, None, "home/s", "home/s/openclaw.json", "OPENCLAW_STATE_DIR"),
    (
        [],
        {"OPENCLAW_STATE_DIR": "undefined"},
        None,
        "work/undefined",
        "work/undefined/openclaw.json",
        "OPENCLAW_STATE_DIR",
    ),
    (
        ["home/.openclaw/openclaw.json"],
        {"OPENCLAW_STATE_DIR": "~/s"},
        None,
        "home/s",
        "home/s/openclaw.json",
        "OPENCLAW_STATE_DIR",
    ),
    (
        ["home/.openclaw/openclaw.json"],
        {"OPENCLAW_CONFIG_PATH": "~/c.json5"},
        None,
        "home/.openclaw",
        "home/c.json5",
        "the default place",
    ),
    ([], {}, "Foo", "home/.openclaw-Foo", "home/.openclaw-Foo/openclaw.json", "profile Foo"),
    ([], {"OPENCLAW_PROFILE": "dev"}, None, "home/.openclaw-dev", "home/.openclaw-dev/openclaw.json", "profile dev"),
    ([], {"OPENCLAW_PROFILE": "dev"}, "ops", "home/.openclaw-ops", "home/.openclaw-ops/openclaw.json", "profile ops"),
    ([], {}, "Default", "home/.openclaw", "home/.openclaw/openclaw.json", "the default place"),
    ([], {"OPENCLAW_STATE_DIR": "/s"}, "ops", "/s", "/s/openclaw.json", "OPENCLAW_STATE_DIR"),
]


@pytest.mark.parametrize("choice", _CHOICES)
def test_chooses_as_the_real_program(choice: _Choice, tmp_path: Path) -> None:
    """Environment, profile and what lies on the disk lead to one directory and one configuration, and say why."""
    lies, variables, profile, state, config, why = choice
    _lay(tmp_path, "home/", "work/", *lies)
    before = _tree(tmp_path)
    chosen = choose_directory(None, _environment(tmp_path, **variables), profile=profile)
    assert chosen.path == tmp_path / state
    assert chosen.config_path == tmp_path / config
    assert chosen.found_by == why
    assert _tree(tmp_path) == before


@pytest.mark.parametrize("profile", ["a b", "a/b", "..", "é", "a.b"])
def test_a_profile_that_is_no_name_is_refused(profile: str, tmp_path: Path) -> None:
    """It would become a directory name."""
    with pytest.raises(BadRequest, match="is no name"):
        choose_directory(None, _environment(tmp_path), profile=profile)


def test_a_named_directory_comes_before_every_variable(tmp_path: Path) -> None:
    """Neither state, profile nor configuration of the environment applies to it."""
    _lay(tmp_path, "home/", "work/", "other/openclaw.json")
    environment = _environment(
        tmp_path, OPENCLAW_STATE_DIR="/s", OPENCLAW_CONFIG_PATH="/c.json", OPENCLAW_PROFILE="x y"
    )
    chosen = choose_directory("../other", environment)
    assert (chosen.path, chosen.found_by) == (tmp_path / "other", "named")
    assert chosen.config_path == tmp_path / "other" / "openclaw.json"


def test_says_what_else_a_directory_holds(tmp_path: Path) -> None:
    """Sample data are marked; the sessions of old releases, which the real program ignores, are named."""
    _lay(tmp_path, f"sample/{SAMPLE_MARKER}", "old/sessions/sessions.json", "plain/")
    sample, old, plain = (
        choose_directory(tmp_path / name, _environment(tmp_path)) for name in ("sample", "old", "plain")
    )
    assert (sample.sample, sample.legacy_sessions) == (True, None)
    assert (old.sample, old.legacy_sessions) == (False, tmp_path / "old" / "sessions")
    assert (plain.sample, plain.legacy_sessions) == (False, None)


@pytest.mark.parametrize(
    ("template", "agent", "path"),
    [
        (None, "Work", "state/agents/work/sessions/sessions.json"),
        ("", "w", "state/agents/w/sessions/sessions.json"),
        ("~/x/{agentId}/s.json", "Work Bot", "home/x/work-bot/s.json"),
        ("~", "a", "home"),
        ("~x/y", "a", "work/~x/y"),
        ("rel/{agentId}.json", "a", "work/rel/a.json"),
        ("/a/{agentId}/{agentId}.json", "B", "/a/b/b.json"),
        ("/a/{AgentId}/s", "b", "/a/{AgentId}/s"),
        ("/dir/", "b", "/dir"),
        ("/a/../b/./s.json", "b", "/b/s.json"),
        ("${HOME}/s", "b", "work/${HOME}/s"),
        ("  /pad/s.json ", "a", "work/  /pad/s.json "),
        pytest.param("~\\q", "a", "home\\q", marks=pytest.mark.skipif(os.name == "nt", reason="a separator there")),
    ],
)
def test_a_store_template_resolves_as_in_the_real_program(
    template: str | None, agent: str, path: str, tmp_path: Path
) -> None:
    """Every ``{agentId}`` and a leading tilde are replaced, nothing is trimmed, nothing has to exist."""
    found = resolve_store(template, agent, tmp_path / "state", _environment(tmp_path))
    assert found == Path(f"{tmp_path}/{path}") if not path.startswith("/") else found == Path(path)


def test_configured_agents_have_their_stores_in_order(tmp_path: Path) -> None:
    """One store per agent, missing ones too; ACP agents follow those that are listed."""
    agents = AgentsPolicy(listed=_agents("beta", "alpha").listed, acp_ids=("claude", "alpha"))
    stores = configured_stores(agents, None, tmp_path, _environment(tmp_path))
    assert [store.agent_id for store in stores] == ["beta", "alpha", "claude"]
    assert all(store.configured and store.newer_path is None for store in stores)
    assert stores[0].path == tmp_path / "agents" / "beta" / "sessions" / "sessions.json"
    assert stores[0].sessions_dir == tmp_path / "agents" / "beta" / "sessions"


def test_a_shared_store_counts_for_its_first_agent(tmp_path: Path) -> None:
    """Without ``{agentId}`` one file serves all."""
    stores = configured_stores(_agents("beta", "alpha"), "~/all.json", tmp_path, _environment(tmp_path))
    assert [(store.agent_id, store.path) for store in stores] == [("beta", tmp_path / "home" / "all.json")]


def test_agents_on_the_disk_follow_the_configured_ones(tmp_path: Path) -> None:
    """Directories with sessions are found by their names; what is no agent is not."""
    _lay(
        tmp_path,
        "agents/main/sessions/sessions.json",
        "agents/Bad Id/sessions/",
        "agents/zed/sessions/s.jsonl",
        "agents/empty/",
        "agents/日本/sessions/",
        "agents/file",
    )
    before = _tree(tmp_path)
    stores = all_stores(_agents("main", "gone"), None, tmp_path, _environment(tmp_path))
    assert [(store.agent_id, store.configured) for store in stores] == [
        ("main", True),
        ("gone", True),
        ("bad-id", False),
        ("zed", False),
    ]
    assert stores[2].path == tmp_path / "agents" / "Bad Id" / "sessions" / "sessions.json"
    assert agent_directories(tmp_path) == ("Bad Id", "empty", "main", "zed", "日本")
    assert _tree(tmp_path) == before


@_POSIX
def test_a_linked_agent_is_not_followed(tmp_path: Path) -> None:
    """A link below ``agents`` makes no agent, wherever it leads."""
    _lay(tmp_path, "agents/main/sessions/sessions.json", "elsewhere/sessions/sessions.json")
    (tmp_path / "agents" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "agents" / "broken").symlink_to(tmp_path / "nowhere")
    stores = all_stores(AgentsPolicy(), None, tmp_path, _environment(tmp_path))
    assert [store.agent_id for store in stores] == ["main"]


@_POSIX
def test_one_file_under_two_paths_is_one_store(tmp_path: Path) -> None:
    """A configured store that is the file on the disk is not listed again."""
    _lay(tmp_path, "state/agents/zed/sessions/sessions.json", "home/")
    (tmp_path / "alias").symlink_to(tmp_path / "state")
    template = str(tmp_path / "alias" / "agents" / "zed" / "sessions" / "sessions.json")
    stores = all_stores(_agents("zed"), template, tmp_path / "state", _environment(tmp_path))
    assert [(store.agent_id, store.configured) for store in stores] == [("zed", True)]


def test_a_newer_store_is_noticed(tmp_path: Path) -> None:
    """The SQLite file of a newer release is found beside the old store, alone, and with a store elsewhere."""
    _lay(
        tmp_path,
        "agents/main/sessions/sessions.json",
        "agents/main/agent/openclaw-agent.sqlite",
        "agents/new/agent/openclaw-agent.sqlite",
        "agents/not/agent/openclaw-agent.sqlite/",
    )
    environment = _environment(tmp_path)
    stores = {store.agent_id: store for store in all_stores(AgentsPolicy(), None, tmp_path, environment)}
    assert set(stores) == {"main", "new"}
    assert stores["main"].newer_path == tmp_path / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    assert stores["new"].newer_path == tmp_path / "agents" / "new" / "agent" / "openclaw-agent.sqlite"
    (moved,) = configured_stores(AgentsPolicy(), "/else/{agentId}.json", tmp_path, environment)
    assert moved.newer_path == tmp_path / "agents" / "main" / "agent" / "openclaw-agent.sqlite"


def test_a_directory_without_agents_has_the_default_store(tmp_path: Path) -> None:
    """``main`` is named although nothing is there."""
    (store,) = all_stores(AgentsPolicy(), None, tmp_path, _environment(tmp_path))
    assert (store.agent_id, store.path.exists()) == ("main", False)
    assert agent_directories(tmp_path) == ()


@pytest.mark.parametrize(
    ("name", "state"),
    [("agents/", True), ("openclaw.json", True), ("clawdbot.json", True), ("sessions/", False), ("notes.txt", False)],
)
def test_a_state_directory_is_known_by_what_it_holds(name: str, state: bool, tmp_path: Path) -> None:
    """Agents or a configuration, of either release."""
    _lay(tmp_path, f"place/{name}")
    assert looks_like_state(tmp_path / "place") is state


def test_candidates_are_the_directories_of_this_machine(tmp_path: Path) -> None:
    """The default one first, then legacy and profiles by name, each with its own configuration; others are left out."""
    _lay(
        tmp_path,
        "work/",
        "home/.openclaw/agents/",
        "home/.openclaw-ops/openclaw.json",
        "home/.openclaw-empty/",
        "home/.clawdbot/clawdbot.json",
        "home/Documents/agents/",
    )
    before = _tree(tmp_path)
    found = candidate_directories(_environment(tmp_path))
    assert [(each.path.name, each.found_by, each.config_path.name) for each in found] == [
        (".openclaw", "the default place", "clawdbot.json"),
        (".clawdbot", "~/.clawdbot", "clawdbot.json"),
        (".openclaw-ops", "profile ops", "openclaw.json"),
    ]
    assert _tree(tmp_path) == before


def test_a_directory_that_a_variable_names_is_a_candidate_once(tmp_path: Path) -> None:
    """It keeps the first place and the reason it was found by."""
    _lay(tmp_path, "home/.openclaw/agents/", "home/.openclaw-ops/agents/")
    found = candidate_directories(_environment(tmp_path, OPENCLAW_STATE_DIR="~/.openclaw-ops"))
    assert [(each.path.name, each.found_by) for each in found] == [
        (".openclaw-ops", "OPENCLAW_STATE_DIR"),
        (".openclaw", "~/.openclaw"),
    ]


def test_a_machine_without_a_state_has_no_candidates(tmp_path: Path) -> None:
    """Neither an empty home nor a missing one is a fault."""
    assert candidate_directories(_environment(tmp_path)) == ()
    (tmp_path / "home").mkdir()
    assert candidate_directories(_environment(tmp_path)) == ()


@pytest.mark.parametrize(
    ("path", "written"),
    [("home/.openclaw", "~/.openclaw"), ("home", "~"), ("homely/x", None), ("else", None)],
)
def test_paths_below_home_are_written_with_a_tilde(path: str, written: str | None, tmp_path: Path) -> None:
    """Only what lies below the home directory, not what merely begins alike."""
    full = tmp_path / path
    expected = str(full) if written is None else written.replace("/", os.sep)
    assert tilde(full, _environment(tmp_path)) == expected
    assert tilde(str(full), _environment(tmp_path)) == expected


@pytest.mark.parametrize(
    ("content", "exists", "damage"),
    [(None, False, None), (b"{a: 1}", True, None), (b"", True, "it is empty"), (b"{", True, "ends too early")],
)
def test_reads_the_configuration(content: bytes | None, exists: bool, damage: str | None, tmp_path: Path) -> None:
    """Missing is absent, readable is read, everything else is damage."""
    path = tmp_path / "openclaw.json"
    if content is not None:
        path.write_bytes(content)
    document = read_config(path)
    assert document.exists is exists
    assert (document.damage is None) is (damage is None)
    assert damage is None or damage in str(document.damage)


def test_a_directory_in_the_configuration_s_place_is_damage(tmp_path: Path) -> None:
    """The sentence says that a directory stands there."""
    (tmp_path / "openclaw.json").mkdir()
    document = read_config(tmp_path / "openclaw.json")
    assert document.exists
    assert document.damage is not None
    assert document.damage.startswith("Cannot read ")


def test_the_process_s_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Variables and working directory are those of now."""
    monkeypatch.setenv("OPENCLAW_STATE_DIR", "here")
    monkeypatch.chdir(tmp_path)
    environment = Environment.of_process()
    chosen = choose_directory(None, environment)
    assert chosen.path == tmp_path / "here"
    assert environment.now_ms() > 1_600_000_000_000


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps a directory that somebody works in")
def test_a_removed_working_directory_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what is wrong and what to do."""
    place = tmp_path / "gone"
    place.mkdir()
    monkeypatch.chdir(place)
    place.rmdir()
    with pytest.raises(EnvironmentFault, match="change into another directory"):
        Environment.of_process()
