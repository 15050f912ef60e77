"""One finding for compaction that comes every turn or far too early (case A15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.compaction.circumstances import ORDINARY
from strandline.compaction.early import (
    EARLY,
    EVERY_TURN,
    CompactionHistory,
    early_compaction,
    suggested_reserve,
)
from strandline.compaction.thresholds import lowest_active_compaction, thresholds
from strandline.settings.model_ids import ModelRef
from strandline.settings.policies import CompactionPolicy
from strandline.tokens.windows import WindowAnswer, Windows, WindowSource, resolve_windows
from token_cases import case_state, entries, rows, sessions_dir, settings_of

if TYPE_CHECKING:
    from strandline.findings import Finding

_A15 = case_state("A15")


def _windows(tokens: int) -> Windows:
    answer = WindowAnswer(tokens=tokens, source=WindowSource.CONFIGURED, why="")
    return Windows(run=answer, pressure=answer)


def _history() -> CompactionHistory:
    row = rows(_A15)["main"]
    read = list(entries(sessions_dir(_A15) / f"{row['sessionId']}.jsonl"))
    messages = [entry["message"] for entry in read if entry["type"] == "message"]
    return CompactionHistory(
        compactions=sum(entry["type"] == "compaction" for entry in read),
        questions=sum(message["role"] == "user" for message in messages),
        fresh_tokens=max(message["usage"]["totalTokens"] for message in messages if message["role"] == "assistant"),
    )


def _finding(config: str, model: str, history: CompactionHistory | None = None) -> Finding | None:
    settings = settings_of(_A15 / config)
    windows = resolve_windows(settings.agents, ModelRef("demo", model))
    return early_compaction(settings.compaction, windows, ORDINARY, where="agent:main:main", history=history)


def test_a_reserve_above_the_window_is_one_finding_with_its_arithmetic() -> None:
    """Case A15: five compactions for five questions give one error that says 32,000 − 40,000 = −8,000."""
    finding = _finding("openclaw.json", "demo-tiny", _history())
    assert finding is not None
    assert (finding.code, finding.severity, finding.where) == (EVERY_TURN, "error", "agent:main:main")
    assert finding.what == "Every turn compacts: 32,000 window − 40,000 reserve = −8,000."
    assert "5 compactions for 5 questions" in finding.evidence
    assert list(msgspec.to_builtins(finding)) == ["code", "severity", "what", "where", "evidence", "fix"]


def test_without_a_transcript_the_setting_alone_is_a_warning() -> None:
    """Mode ``safeguard`` caps the reserve inside a run, so the setting alone proves nothing yet."""
    finding = _finding("openclaw.json", "demo-tiny")
    assert finding is not None
    assert (finding.code, finding.severity) == (EVERY_TURN, "warning")


def test_a_reserve_as_large_as_the_window_leaves_no_room_either() -> None:
    """The edge itself counts: nothing is left of the window."""
    finding = early_compaction(CompactionPolicy(reserve_tokens=32_000), _windows(32_000), ORDINARY, where="x")
    assert finding is not None
    assert finding.code == EVERY_TURN


def test_seven_percent_is_flagged_as_early() -> None:
    """Case A15 b: 70,000 of a million is legal, but early."""
    finding = _finding("b-huge-reserve/openclaw.json", "demo-large")
    assert finding is not None
    assert (finding.code, finding.severity) == (EARLY, "warning")
    assert finding.what == "Compaction starts at 70,000 of 1,000,000 tokens (7 %)."


@pytest.mark.parametrize(
    ("config", "model"), [("c-floor/openclaw.json", "demo-tiny"), ("d-16k/openclaw.json", "demo-16k")]
)
def test_a_lifted_reserve_and_a_small_window_are_no_finding(config: str, model: str) -> None:
    """Case A15 c and d: the effective numbers are shown with the thresholds; nothing is wrong."""
    assert _finding(config, model) is None


def test_a_threshold_below_a_fresh_context_compacts_every_turn() -> None:
    """A context that is full again right after a compaction never gets below the line."""
    history = CompactionHistory(compactions=1, questions=9, fresh_tokens=13_000)
    finding = _finding("c-floor/openclaw.json", "demo-tiny", history)
    assert finding is not None
    assert finding.code == EVERY_TURN
    assert "holds 13,000" in finding.what
    edge = _finding("c-floor/openclaw.json", "demo-tiny", CompactionHistory(questions=9, fresh_tokens=8_000))
    assert edge is not None
    assert edge.code == EVERY_TURN


def test_in_default_mode_a_small_window_compacts_every_turn() -> None:
    """The agent library's reserve of 16,384 leaves nothing of a window of 16,000 when it compacts by itself."""
    finding = early_compaction(CompactionPolicy(mode="default"), _windows(16_000), ORDINARY, where="demo/demo-16k")
    assert finding is not None
    assert (finding.code, finding.severity) == (EVERY_TURN, "error")
    assert "−384" in finding.what


def test_seldom_compactions_are_no_finding() -> None:
    """Compactions with many questions between them are what compaction is for."""
    history = CompactionHistory(compactions=5, questions=80, fresh_tokens=30_000)
    assert early_compaction(CompactionPolicy(), _windows(200_000), ORDINARY, where="x", history=history) is None


@given(
    st.builds(
        CompactionPolicy,
        mode=st.sampled_from(["default", "safeguard"]),
        reserve_tokens=st.none() | st.integers(0, 2_000_000),
        reserve_tokens_floor=st.integers(0, 2_000_000),
    ),
    st.integers(20_000, 2_000_000),
)
def test_the_proposed_setting_helps(policy: CompactionPolicy, window: int) -> None:
    """Under the proposed reserve and floor compaction starts no sooner than a quarter of the window, and later."""
    reserve, floor = suggested_reserve(policy, window)
    better = msgspec.structs.replace(policy, reserve_tokens=reserve, reserve_tokens_floor=floor)
    lowest = lowest_active_compaction(thresholds(better, _windows(window)))
    assert lowest is not None
    assert lowest.tokens is not None
    assert lowest.tokens >= window // 2
    assert early_compaction(better, _windows(window), ORDINARY, where="x") is None
