"""Models and windows: the tables recorded from the real list and the real status, side by side."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.settings.document import parse_document
from strandline.settings.effective import read_settings
from strandline.settings.policies import AgentsPolicy
from strandline.state.keys import normalise_agent_id
from strandline.tokens.selection import DEFAULT_WINDOW, ListedModels, StatusModels, StoredModel

_KEY = "agent:main:x"


def _agents(config: object) -> AgentsPolicy:
    return read_settings(parse_document("C", json.dumps(config).encode()), normalise_agent_id).agents


def _listed(stored: StoredModel, config: object = None, key: str = _KEY) -> str:
    ref = ListedModels(_agents(config or {})).model_of(key, stored)
    return f"{ref.provider}#{ref.model}"


def _status(stored: StoredModel, config: object = None, agent: str | None = "main") -> str:
    ref = StatusModels(_agents(config or {})).model_of(stored, agent)
    return f"{ref.provider}#{ref.model}"


def _ran(model: str | None = None, provider: str | None = None) -> StoredModel:
    return StoredModel(model=model, provider=provider)


def _chosen(override: object = None, provider_override: object = None, **ran: str) -> StoredModel:
    return StoredModel(model_override=override, provider_override=provider_override, **ran)


@pytest.mark.parametrize(
    ("stored", "listed"),
    [
        (_ran(), "openai#gpt-5.5"),
        (_ran("anthropic/claude-x"), "anthropic#claude-x"),
        (_ran("anthropic/claude-x", "openrouter"), "anthropic#claude-x"),
        (_ran("pad", "prov"), "prov#pad"),
        (_ran("foo/"), "openai#foo/"),
        (_ran("/foo"), "openai#/foo"),
        (_ran("a / b"), "a#b"),
        (_ran("openrouter:auto"), "openai#openrouter:auto"),
        (_ran("opus"), "openai#opus"),
        (_ran("glm", "Z.AI"), "Z.AI#glm"),
        (_ran("gemini-3-pro", "google"), "google#gemini-3-pro"),
        (_ran(None, "anthropic"), "openai#gpt-5.5"),
        (_chosen("mm", "PP"), "PP#mm"),
        (_chosen("pp/mm", "PP"), "PP#mm"),
        (_chosen("qq/mm", "pp"), "qq#mm"),
        (_chosen(" mm "), "openai#mm"),
        (_chosen("mm", model="z", provider="anthropic"), "openai#mm"),
        (_chosen("mm", ""), "#mm"),
        (_chosen("pp/", "pp"), "pp#pp/"),
        (_chosen("  ", "pp", model="z", provider="anthropic"), "anthropic#z"),
        (_chosen(None, "pp"), "openai#gpt-5.5"),
        (_ran("anthropic/claude-opus-4-6", "claude-cli"), "anthropic#claude-opus-4-6"),
        (_ran("claude-opus-4-6", "claude-cli"), "openai#claude-opus-4-6"),
        (_ran("claude-cli/claude-opus-4-6"), "openai#claude-opus-4-6"),
        (_ran("claude-cli/q/r"), "q#r"),
        (_ran("z", "anthropic-cli"), "openai#z"),
        (_ran("z", "google-gemini-cli"), "openai#z"),
        (_ran("z", "codex-cli"), "codex-cli#z"),
        (_chosen("claude-cli/x"), "claude-cli#x"),
    ],
)
def test_the_list_splits_at_the_first_slash(stored: StoredModel, listed: str) -> None:
    """Without a configuration: overrides first, spellings untouched, command-line back ends named by their model."""
    assert _listed(stored) == listed


@pytest.mark.parametrize(
    ("key", "listed"),
    [
        ("agent:main:x", "anthropic#opus-4.6"),
        ("agent:zz:MAIN", "aa#bb"),
        ("agent:zz:x", "aa#bb"),
        ("AGENT:zz:x", "anthropic#opus-4.6"),
        (" agent:zz:x", "anthropic#opus-4.6"),
        ("agent:work:main", "anthropic#opus-4.6"),
        ("agent:Work:main", "cc#dd"),
        ("agent:none:x", "anthropic#opus-4.6"),
        ("global", "anthropic#opus-4.6"),
    ],
)
def test_the_list_finds_an_agent_by_its_stated_id(key: str, listed: str) -> None:
    """The raw key is compared with the id as written; other spellings get the default."""
    config = {
        "agents": {
            "defaults": {"model": {"primary": "anthropic/opus-4.6"}},
            "list": [{"id": "zz", "model": "aa/bb"}, {"id": "Work", "model": {"primary": " cc/dd "}}, {"id": "none"}],
        }
    }
    assert _listed(_ran(), config, key) == listed


def test_the_list_infers_who_provides_a_model_of_the_command_line() -> None:
    """Exactly one provider in the configuration is an answer; two are none."""
    one = {"agents": {"defaults": {"models": {"PP/claude-x": {}, "pp/*": {}}}}}
    assert _listed(_ran("claude-x", "claude-cli"), one) == "pp#claude-x"
    assert _listed(_ran("Claude-X", "claude-cli"), one) == "pp#Claude-X"
    two = {**one, "models": {"providers": {"qq": {"models": [{"id": "claude-x"}]}}}}
    assert _listed(_ran("claude-x", "claude-cli"), two) == "openai#claude-x"
    own = {"agents": {"defaults": {"cliBackends": {"My-CLI": {}}, "model": "my-cli/default"}}}
    assert _listed(_ran("m", "MY-cli"), own) == "my-cli#m"
    assert _listed(_ran("m", "my-cli"), {"agents": {"defaults": {"cliBackends": {"My-CLI": {}}}}}) == "openai#m"


@pytest.mark.parametrize(
    "model", ["claude-sonnet-4-6", "claude-opus-4-7", "gpt-5", "gpt-5.5", "gemini-3-pro", "qwen3:8b"]
)
def test_no_built_in_table_of_windows_is_reached(model: str) -> None:
    """Without a configuration every model has 200,000 tokens, in the list as in the status."""
    listed, status = ListedModels(AgentsPolicy()), StatusModels(AgentsPolicy())
    assert listed.window_of(None, model) == DEFAULT_WINDOW == 200_000
    assert status.window_of(None, status.model_of(_ran(model), "main")) == 200_000


_PROVIDERS = {
    "myprov": {"models": [{"id": "first", "contextWindow": 0}, {"id": "qwen3:8b", "contextTokens": 20_000}]},
    "ollama": {"models": [{"id": "qwen3:8b", "contextWindow": 32_768}, {"id": "zero", "contextTokens": 0}]},
    "pp": {"models": [{"id": "m1only", "contextWindow": 4_444}]},
}


@pytest.mark.parametrize(
    ("stored", "model", "listed"),
    [
        (None, "first", 200_000),
        (None, "qwen3:8b", 32_768),
        (None, "m1only", 4_444),
        (None, "zero", 200_000),
        (None, "never heard of", 200_000),
        (0, "m1only", 0),
        (-5, "m1only", -5),
        (1.5, "m1only", 1.5),
        ("12", "m1only", "12"),
        (False, "m1only", False),
    ],
)
def test_the_list_takes_a_stored_window_as_it_is(stored: object, model: str, listed: object) -> None:
    """Then the bare model id is looked up, whoever provides it; a later provider overwrites."""
    assert ListedModels(_agents({"models": {"providers": _PROVIDERS}})).window_of(stored, model) == listed


def test_the_list_falls_back_to_the_default_model_s_window() -> None:
    """Unknown models show it; a stated number of context tokens comes before every window."""
    config = {"models": {"providers": _PROVIDERS}, "agents": {"defaults": {"model": "pp/m1only"}}}
    assert ListedModels(_agents(config)).window_of(None, "never heard of") == 4_444
    config["agents"]["defaults"]["contextTokens"] = 123_456
    listed = ListedModels(_agents(config))
    assert [listed.window_of(None, model) for model in ("m1only", "x")] == [123_456, 123_456]
    assert listed.window_of(7, "x") == 7


@pytest.mark.parametrize(
    ("stored", "status"),
    [
        (_ran(), "openai#gpt-5.5"),
        (_chosen("pp/mm", "PP"), "pp#pp/mm"),
        (_chosen("qq/mm", "pp"), "pp#qq/mm"),
        (_chosen("mm"), "openai#mm"),
        (_chosen("gemini-3-pro", "google"), "google#gemini-3.1-pro-preview"),
        (_ran("gemini-3-pro", "google"), "google#gemini-3-pro"),
        (_ran("anthropic/opus-4.6"), "anthropic#claude-opus-4-6"),
        (_ran("anthropic/claude-x", "openrouter"), "openrouter#anthropic/claude-x"),
        (_ran("claude-opus-4-6", "claude-cli"), "claude-cli#claude-opus-4-6"),
        (_chosen("glm", "Z.AI"), "zai#glm"),
        (_chosen("opus"), "openai#opus"),
        (_ran("/foo"), "openai#/foo"),
        (_ran("openrouter:auto"), "openrouter#openrouter/auto"),
        (_chosen("OpenRouter:Auto"), "openrouter#openrouter/auto"),
        (_ran("nvidia/x"), "nvidia#nvidia/x"),
        (_ran("huggingface/huggingface/x"), "huggingface#x"),
        (_ran("xai/grok-code-fast"), "xai#grok-build-0.1"),
        (_ran("vercel-ai-gateway/opus-4.6"), "vercel-ai-gateway#anthropic/claude-opus-4-6"),
        (_ran("bedrock/x"), "amazon-bedrock#x"),
        (_chosen(5, "pp", model="m", provider="p"), "p#m"),
    ],
)
def test_the_status_rewrites_what_the_list_leaves(stored: StoredModel, status: str) -> None:
    """Without a configuration: providers and ids are normalised, but a stored pair is taken word for word."""
    assert _status(stored) == status


def test_the_status_knows_agents_only_where_they_are_listed() -> None:
    """A row listed across agents gets the general default; aliases are resolved in settings, never in rows."""
    config = {
        "agents": {
            "defaults": {"model": "Opus", "models": {"anthropic/claude-opus-4-7": {"alias": "opus"}}},
            "list": [{"id": "w1", "model": "aa/bb"}, {"id": "W2", "model": "cc/dd"}, {"id": "w3"}],
        }
    }
    assert _status(_ran(), config, "w1") == "aa#bb"
    assert _status(_ran(), config, None) == "anthropic#claude-opus-4-7"
    assert _status(_ran(), config, "w2") == "anthropic#claude-opus-4-7"
    assert _status(_ran(), config, "w3") == "anthropic#claude-opus-4-7"
    assert _status(_ran("mm"), config, "w1") == "aa#mm"
    assert _status(_ran("opus"), config, None) == "anthropic#opus"


def test_the_status_falls_back_to_the_first_provider() -> None:
    """Only while no default is stated and ``openai`` is not among the providers."""
    providers = {"empty": {}, "myprov": {"models": [{"id": "first"}, {"id": "second"}]}}
    assert _status(_ran(), {"models": {"providers": providers}}) == "myprov#first"
    with_openai = {"models": {"providers": {**providers, "openai": {}}}}
    assert _status(_ran(), with_openai) == "openai#gpt-5.5"
    stated = {"models": {"providers": providers}, "agents": {"defaults": {"model": "aa/bb"}}}
    assert _status(_ran(), stated) == "aa#bb"


@pytest.mark.parametrize(
    ("stored", "ran", "window"),
    [
        (None, _ran("first", "myprov"), 200_000),
        (None, _ran("qwen3:8b", "MyProv"), 20_000),
        (None, _ran("qwen3:8b", "ollama"), 32_768),
        (None, _ran("m1only", "pp"), 4_444),
        (None, _ran("m1only", "openai"), 123_456),
        (None, _ran("zero", "ollama"), 123_456),
        (None, _ran("x", "unknown"), 123_456),
        (0, _ran("m1only", "pp"), 4_444),
        (-5, _ran("m1only", "pp"), 4_444),
        ("12", _ran("m1only", "pp"), 4_444),
        (True, _ran("m1only", "pp"), 4_444),
        (1.5, _ran("m1only", "pp"), 1.5),
        (7, _ran("m1only", "pp"), 7),
    ],
)
def test_the_status_asks_the_provider_for_its_window(stored: object, ran: StoredModel, window: float) -> None:
    """A window above 0 that the row stores, else the provider's own, else the stated default."""
    config = {"models": {"providers": _PROVIDERS}, "agents": {"defaults": {"contextTokens": 123_456}}}
    status = StatusModels(_agents(config))
    assert status.window_of(stored, status.model_of(ran, "main")) == window


def test_the_status_has_a_default_line() -> None:
    """Its model is the configured one, its window the stated one, or the provider's."""
    providers = {"models": {"providers": _PROVIDERS}}
    status = StatusModels(_agents({**providers, "agents": {"defaults": {"model": "pp/m1only"}}}))
    assert (str(status.default), status.default_window) == ("pp/m1only", 4_444)
    status = StatusModels(_agents({**providers, "agents": {"defaults": {"model": "pp/m1only", "contextTokens": 9}}}))
    assert status.default_window == 9
    assert str(StatusModels(AgentsPolicy()).default) == "openai/gpt-5.5"


_TEXTS = (
    st.none()
    | st.sampled_from(["", " ", "/", "a/", "/b", "a/b", "a/b/c", "claude-cli", "opus", "Z.AI", "é"])
    | st.text(max_size=6)
)


@given(_TEXTS, _TEXTS, _TEXTS | st.integers(), _TEXTS | st.integers(), st.text(max_size=12))
def test_any_row_has_a_model(model: object, provider: object, override: object, chosen: object, key: str) -> None:
    """Both ways answer for every row, with a model that is not blank."""
    stored = StoredModel(
        model=(model or "").strip() or None,
        provider=(provider or "").strip() or None,
        model_override=override,
        provider_override=chosen,
    )
    assert ListedModels(AgentsPolicy()).model_of(key, stored).model
    assert StatusModels(AgentsPolicy()).model_of(stored, key).model
