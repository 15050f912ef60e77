"""Where flush and compaction lie, against the real program's arithmetic (cases A15 and A20)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.compaction.circumstances import Circumstances
from strandline.compaction.thresholds import (
    Threshold,
    Trigger,
    effective_reserve,
    lowest_active_compaction,
    of_trigger,
    thresholds,
)
from strandline.settings.model_ids import ModelRef
from strandline.settings.policies import CompactionPolicy, MemoryFlushPolicy
from strandline.tokens.windows import WindowAnswer, Windows, WindowSource, resolve_windows
from token_cases import DATA, case_state, settings_of

if TYPE_CHECKING:
    from pathlib import Path

_RECORDED = json.loads((DATA / "tokens.json").read_text("utf-8"))["reserve"]
_A15 = case_state("A15")

_SIZES = st.integers(0, 2_000_000)
_POLICIES = st.builds(
    CompactionPolicy,
    mode=st.sampled_from(["default", "safeguard"]),
    reserve_tokens=st.none() | _SIZES,
    reserve_tokens_floor=_SIZES,
    max_active_transcript_bytes=st.none() | _SIZES,
    truncate_after_compaction=st.booleans(),
    memory_flush=st.builds(
        MemoryFlushPolicy,
        enabled=st.booleans(),
        soft_threshold_tokens=_SIZES,
        force_flush_transcript_bytes=_SIZES,
    ),
)
_WINDOW_SIZES = st.integers(1, 2_000_000)


def _windows(run: int, pressure: int | None = None) -> Windows:
    def answer(tokens: int) -> WindowAnswer:
        return WindowAnswer(tokens=tokens, source=WindowSource.CONFIGURED, why="")

    return Windows(run=answer(run), pressure=answer(run if pressure is None else pressure))


def _get(listed: tuple[Threshold, ...], trigger: Trigger) -> Threshold:
    found = of_trigger(listed, trigger)
    assert found is not None
    return found


def _of_config(config: Path, model: str) -> tuple[Threshold, ...]:
    settings = settings_of(config)
    return thresholds(settings.compaction, resolve_windows(settings.agents, ModelRef("demo", model)))


@pytest.mark.parametrize(
    ("config", "model", "precheck", "after_turn"),
    [
        ("openclaw.json", "demo-tiny", 8_000, -8_000),
        ("b-huge-reserve/openclaw.json", "demo-large", 70_000, 70_000),
        ("c-floor/openclaw.json", "demo-tiny", 12_000, 12_000),
        ("d-16k/openclaw.json", "demo-16k", 8_000, -384),
    ],
)
def test_the_four_configurations_of_a15(config: str, model: str, precheck: int, after_turn: int) -> None:
    """Case A15: the effective numbers of each configuration; the precheck caps the reserve, the library does not."""
    listed = _of_config(_A15 / config, model)
    assert _get(listed, "precheck").tokens == precheck
    assert _get(listed, "precheck").active
    assert _get(listed, "after-turn").tokens == after_turn
    assert not _get(listed, "after-turn").active


def test_the_arithmetic_is_said_in_words() -> None:
    """Cases A15 and A20: each number comes with its sum, lifted floors and capped reserves included."""
    tiny = _of_config(_A15 / "openclaw.json", "demo-tiny")
    assert _get(tiny, "after-turn").why.startswith("32,000 window − 40,000 reserve = −8,000")
    lifted = _get(_of_config(_A15 / "c-floor" / "openclaw.json", "demo-tiny"), "precheck").why
    assert lifted.startswith("32,000 window − 20,000 reserve = 12,000")
    assert "reserve 2,000 lifted to the floor 20,000" in lifted
    small = _get(_of_config(_A15 / "d-16k" / "openclaw.json", "demo-16k"), "precheck").why
    assert small.startswith("16,000 window − 8,000 reserve = 8,000")
    assert "floor 20,000 cut to 8,000 by the small window" in small
    flush = _get(_of_config(case_state("A20") / "openclaw.json", "demo-large"), "flush")
    assert flush.tokens == 176_000
    assert flush.why == "200,000 window − 20,000 floor − 4,000 soft = 176,000"


@pytest.mark.parametrize("row", _RECORDED, ids=lambda row: f"{row['window']}-{row['reserveTokens']}-{row['floor']}")
def test_every_threshold_is_that_of_the_real_program(row: dict[str, Any]) -> None:
    """Reserve, precheck, after-turn and flush equal the recorded answers for every mix of window, reserve and floor."""
    floor = 20_000 if row["floor"] is None else row["floor"]
    policy = CompactionPolicy(mode="default", reserve_tokens=row["reserveTokens"], reserve_tokens_floor=floor)
    reserve = effective_reserve(policy, row["window"])
    assert (reserve.tokens, reserve.in_run) == (row["reserve"], row["precheckReserve"])
    listed = thresholds(policy, _windows(row["window"]))
    assert _get(listed, "precheck").tokens == row["precheckBudget"]
    assert _get(listed, "after-turn").tokens == row["afterTurn"]
    assert (row["piAtLimit"], row["piAbove"]) == (False, True)
    for trigger in ("flush", "preflight"):
        assert _get(listed, trigger).active == (row["flush"] is not None)
        assert row["flush"] in {None, _get(listed, trigger).tokens}


def test_the_library_compacts_by_itself_in_default_mode_only() -> None:
    """After-turn is live in mode ``default``, off in ``safeguard``, for silent overflow and for a context engine."""
    windows = _windows(200_000)
    default = CompactionPolicy(mode="default")
    assert _get(thresholds(default, windows), "after-turn").active
    safeguard = _get(thresholds(CompactionPolicy(), windows), "after-turn")
    assert not safeguard.active
    assert "safeguard" in safeguard.why
    for around in (Circumstances(silent_overflow=True), Circumstances(engine_owns_compaction=True)):
        assert not _get(thresholds(default, windows, around), "after-turn").active


def test_a_compaction_provider_makes_it_safeguard(tmp_path: Path) -> None:
    """With ``compaction.provider`` stated, mode ``default`` does not hold, so the library's own compaction is off."""
    config = tmp_path / "openclaw.json"
    for provider, live in (("", True), ('"provider": "mine",', False)):
        config.write_text(f'{{"agents": {{"defaults": {{"compaction": {{{provider} "mode": "default"}}}}}}}}', "utf-8")
        assert _get(_of_config(config, "m"), "after-turn").active == live


def test_flush_and_preflight_go_by_the_other_window() -> None:
    """Where the resolvers disagree, flush and preflight use the pressure window, precheck the run budget."""
    listed = thresholds(CompactionPolicy(), _windows(200_000, 1_048_576))
    assert _get(listed, "flush").tokens == 1_024_576
    assert _get(listed, "preflight").tokens == 1_024_576
    assert _get(listed, "precheck").tokens == 180_000


def test_flush_is_off_when_something_stands_against_it() -> None:
    """Switched off, no plug-in, a read-only sandbox, a command-line provider: each is named."""
    off = CompactionPolicy(memory_flush=MemoryFlushPolicy(enabled=False))
    cases = [
        (off, Circumstances(), "memoryFlush.enabled is false"),
        (CompactionPolicy(), Circumstances(flush_plugin=False), "memory-core"),
        (CompactionPolicy(), Circumstances(read_only_sandbox=True), "sandbox"),
        (CompactionPolicy(), Circumstances(cli_provider=True), "command-line"),
    ]
    for policy, around, said in cases:
        listed = thresholds(policy, _windows(200_000), around)
        for trigger in ("flush", "flush-bytes"):
            assert not _get(listed, trigger).active
            assert said in _get(listed, trigger).why


def test_without_flush_the_preflight_forgets_the_soft_threshold() -> None:
    """With memory flush off the real program reckons with 4,000 whatever is configured."""
    flush = MemoryFlushPolicy(soft_threshold_tokens=10_000)
    on = CompactionPolicy(memory_flush=flush)
    off = CompactionPolicy(memory_flush=msgspec.structs.replace(flush, enabled=False))
    assert _get(thresholds(on, _windows(200_000)), "preflight").tokens == 170_000
    assert _get(thresholds(off, _windows(200_000)), "preflight").tokens == 176_000


def test_sizes_trigger_too() -> None:
    """A transcript's size forces a flush from 2 MiB unless 0; it compacts only when a new file follows."""
    listed = thresholds(CompactionPolicy(), _windows(200_000))
    assert _get(listed, "flush-bytes").bytes == 2 * 1024**2
    assert of_trigger(listed, "preflight-bytes") is None
    policy = CompactionPolicy(
        max_active_transcript_bytes=1_000, memory_flush=MemoryFlushPolicy(force_flush_transcript_bytes=0)
    )
    waiting = thresholds(policy, _windows(200_000))
    assert not _get(waiting, "flush-bytes").active
    assert "truncateAfterCompaction is not set" in _get(waiting, "preflight-bytes").why
    cutting = msgspec.structs.replace(policy, truncate_after_compaction=True)
    live = _get(thresholds(cutting, _windows(200_000)), "preflight-bytes")
    assert (live.active, live.tokens, live.bytes) == (True, None, 1_000)


def test_the_compact_tick_is_the_lowest_that_is_live() -> None:
    """The lowest active compaction trigger wins; flush is none, and what is off does not count."""
    listed = thresholds(CompactionPolicy(reserve_tokens=50_000), _windows(200_000))
    lowest = lowest_active_compaction(listed)
    assert lowest is not None
    assert (lowest.trigger, lowest.tokens) == ("precheck", 150_000)
    ordinary = lowest_active_compaction(thresholds(CompactionPolicy(), _windows(200_000)))
    assert ordinary is not None
    assert ordinary.trigger == "preflight"
    assert (
        lowest_active_compaction(thresholds(CompactionPolicy(), _windows(9), Circumstances(cli_provider=True))) is None
    )


def test_a_threshold_is_the_contracts_json() -> None:
    """Keys and order are those of ``show KEY``; only triggers by size carry their bytes."""
    listed = thresholds(CompactionPolicy(), _windows(200_000))
    for entry in listed:
        more = ["bytes"] if entry.trigger.endswith("-bytes") else []
        assert list(msgspec.to_builtins(entry)) == ["trigger", "tokens", "active", "why", *more]
    assert {entry.trigger for entry in listed} <= set(get_args(Trigger))


@given(_POLICIES, _WINDOW_SIZES, _WINDOW_SIZES)
def test_no_threshold_exceeds_its_window(policy: CompactionPolicy, run: int, pressure: int) -> None:
    """Every trigger lies within the window it goes by, and the precheck always leaves room for a prompt."""
    listed = thresholds(policy, _windows(run, pressure))
    for entry in listed:
        window = pressure if entry.trigger in {"flush", "preflight"} else run
        assert entry.tokens is None or entry.tokens <= window
        assert not entry.active or entry.tokens is None or entry.tokens > 0 or entry.trigger == "after-turn"
    assert (_get(listed, "precheck").tokens or 0) >= min(8_000, max(1, run // 2))


@given(_POLICIES, _WINDOW_SIZES, _SIZES, _SIZES)
def test_a_larger_reserve_never_compacts_later(policy: CompactionPolicy, window: int, one: int, other: int) -> None:
    """Thresholds fall, or stay, as the reserve or its floor grows."""
    less, more = sorted((one, other))
    for field in ("reserve_tokens", "reserve_tokens_floor"):
        early = thresholds(msgspec.structs.replace(policy, **{field: more}), _windows(window))
        late = thresholds(msgspec.structs.replace(policy, **{field: less}), _windows(window))
        for trigger in ("flush", "preflight", "precheck", "after-turn"):
            assert (_get(early, trigger).tokens or 0) <= (_get(late, trigger).tokens or 0)
