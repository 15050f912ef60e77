"""Both context windows, against the real program's two resolvers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.settings.document import ConfigDocument
from strandline.settings.effective import read_settings
from strandline.settings.model_ids import ModelRef
from strandline.settings.policies import AgentsPolicy, ModelWindow
from strandline.state.keys import normalise_agent_id
from strandline.tokens.windows import WindowAnswer, WindowSource, guard_window, resolve_windows
from token_cases import DATA

_RECORDED = json.loads((DATA / "tokens.json").read_text("utf-8"))
_SOURCES = {
    "modelsConfig": WindowSource.CONFIGURED,
    "model": WindowSource.CATALOGUE,
    "default": WindowSource.DEFAULT,
    "agentContextTokens": WindowSource.CAP,
}


def _agents(config: dict[str, Any]) -> AgentsPolicy:
    return read_settings(ConfigDocument(path="openclaw.json", exists=True, root=config), normalise_agent_id).agents


_AGENTS = [_agents(config) for config in _RECORDED["configs"]]


def _answer(tokens: int) -> WindowAnswer:
    return WindowAnswer(tokens=tokens, source=WindowSource.DEFAULT, why="")


@pytest.mark.parametrize(
    "pair", _RECORDED["windows"], ids=lambda p: f"{p['cfg']}-{p['provider']}-{p['model']}-{p['own']}"
)
def test_both_windows_are_those_of_the_real_program(pair: dict[str, Any]) -> None:
    """Run budget and pressure window equal the recorded answers; where the real one has none, ours is not sure."""
    windows = resolve_windows(_AGENTS[pair["cfg"]], ModelRef(pair["provider"], pair["model"]), catalogue=pair["own"])
    assert windows.run.tokens == pair["run"]["tokens"]
    assert windows.run.source is _SOURCES[pair["run"]["source"]]
    if pair["second"] is None:
        assert not windows.pressure.sure
    else:
        assert windows.pressure.tokens == pair["second"]


def test_claude_4_is_taken_for_a_million_in_one_place_only() -> None:
    """A configured window of 200,000 holds inside the run, but flush and preflight go by 1,048,576; it is said."""
    agents = AgentsPolicy(
        windows=(ModelWindow("anthropic", "claude-opus-4-6", 200_000),),
        provider_models={"anthropic": ("claude-opus-4-6",)},
    )
    windows = resolve_windows(agents, ModelRef("anthropic", "claude-opus-4-6"))
    assert (windows.run.tokens, windows.pressure.tokens) == (200_000, 1_048_576)
    assert windows.pressure.source is WindowSource.MILLION_RULE
    assert windows.disagreement is not None
    assert "200,000" in windows.disagreement
    assert "1,048,576" in windows.disagreement


def test_agents_context_tokens_caps_one_and_replaces_the_other() -> None:
    """``agents.defaults.contextTokens`` is a cap for the run, but an override for flush and preflight."""
    agents = AgentsPolicy(
        context_tokens=700_000,
        windows=(ModelWindow("demo", "m", 9_000),),
        provider_models={"demo": ("m",)},
    )
    windows = resolve_windows(agents, ModelRef("demo", "m"))
    assert (windows.run.tokens, windows.pressure.tokens) == (9_000, 700_000)


def test_the_last_run_stands_in_for_the_models_own_list() -> None:
    """Without a configured window the row's last run is evidence; the catalogue comes after it, then the default."""
    ref = ModelRef("demo", "demo-large")
    assert resolve_windows(AgentsPolicy(), ref, last_run=64_000.0, catalogue=1).run.source is WindowSource.LAST_RUN
    assert resolve_windows(AgentsPolicy(), ref, last_run=0, catalogue=5_000).run.tokens == 5_000
    unknown = resolve_windows(AgentsPolicy(), ref)
    assert (unknown.run.tokens, unknown.run.sure, unknown.disagreement) == (200_000, False, None)


@pytest.mark.parametrize("row", _RECORDED["guard"], ids=lambda row: str(row["tokens"]))
def test_small_windows_are_warned_of_and_refused_as_there(row: dict[str, Any]) -> None:
    """The guard's limits and both verdicts equal the recorded ones."""
    guard = guard_window(_answer(row["tokens"]))
    assert (guard.hard_minimum, guard.warn_below) == (row["hardMin"], row["warnBelow"])
    assert (guard.refuses, guard.warns) == (row["block"], row["warn"])


@given(st.integers(1, 2**40), st.none() | st.integers(1, 2**40), st.text(max_size=5), st.text(max_size=5))
def test_a_window_is_always_a_whole_number_above_zero(window: int, cap: int | None, provider: str, model: str) -> None:
    """Whatever is configured, both answers are usable, and the cap is never exceeded by the run budget."""
    agents = AgentsPolicy(
        context_tokens=cap, windows=(ModelWindow(provider, model, window),), provider_models={provider: (model,)}
    )
    windows = resolve_windows(agents, ModelRef(provider, model))
    assert windows.run.tokens >= 1
    assert windows.pressure.tokens >= 1
    assert cap is None or windows.run.tokens <= cap
