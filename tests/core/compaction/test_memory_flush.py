"""Flushes that are due, done, repeated or skipped (case A20)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.compaction.memory_flush import (
    REPEATED,
    SKIPPED,
    FlushRecord,
    FlushStanding,
    FlushTokens,
    FlushVerdict,
    flush_finding,
    flush_standing,
    flush_tokens,
)
from strandline.compaction.thresholds import Threshold, thresholds
from strandline.settings.model_ids import ModelRef
from strandline.settings.policies import CompactionPolicy, MemoryFlushPolicy
from strandline.tokens.evidence import StoreCounts
from strandline.tokens.usage import Usage
from strandline.tokens.windows import resolve_windows
from token_cases import DATA, case_state, entries, rows, sessions_dir, settings_of, tail_of

if TYPE_CHECKING:
    from strandline.ecmascript import JsonValue

_STATE = case_state("A20")
_ROWS = rows(_STATE)
_RECORDED = json.loads((DATA / "tokens.json").read_text("utf-8"))["flushed"]
_SETTINGS = settings_of(_STATE / "openclaw.json")
_JSON = st.none() | st.booleans() | st.integers(0, 3) | st.floats() | st.text(max_size=2) | st.just([])


def _listed(policy: CompactionPolicy = _SETTINGS.compaction) -> tuple[Threshold, ...]:
    return thresholds(policy, resolve_windows(_SETTINGS.agents, ModelRef("demo", "demo-large"), last_run=200_000))


def _standing(name: str) -> FlushStanding:
    row = _ROWS[name]
    path = sessions_dir(_STATE) / f"{row['sessionId']}.jsonl"
    tail = tail_of(path)
    turns = tuple(
        entry["message"]["timestamp"]
        for entry in entries(path)
        if entry.get("message", {}).get("role") == "user"
        and entry["message"]["content"][0]["text"].startswith("Pre-compaction memory flush")
    )
    return flush_standing(
        FlushRecord.of(row),
        _listed(),
        flush_tokens(StoreCounts.of(row), tail.last_usage),
        transcript_bytes=tail.bytes,
        flush_turns_ms=turns,
    )


@pytest.mark.parametrize(
    ("name", "verdict", "said"),
    [
        ("main", FlushVerdict.REPEATED, "3 flush turns within 150 s"),
        ("zero-zero", FlushVerdict.SKIPPED, "equals compactionCount (0)"),
        ("due", FlushVerdict.DUE, "190,040 tokens reach 200,000 window − 20,000 floor − 4,000 soft = 176,000"),
        ("absent", FlushVerdict.DUE, "176,000"),
        ("below", FlushVerdict.NOT_DUE, "90,040 tokens are below"),
    ],
)
def test_due_done_repeated_and_skipped_are_told_apart(name: str, verdict: FlushVerdict, said: str) -> None:
    """Case A20: each row gets its verdict, with the numbers."""
    standing = _standing(name)
    assert standing.verdict is verdict
    assert said in standing.why


def test_repeated_and_skipped_are_findings_and_nothing_else_is() -> None:
    """Case A20: two rows have a finding, each with its code."""
    found = {name: flush_finding(_standing(name), name) for name in _ROWS}
    assert {name: finding.code for name, finding in found.items() if finding} == {
        "main": REPEATED,
        "zero-zero": SKIPPED,
    }


def test_where_the_real_program_distrusts_the_row_it_is_said() -> None:
    """A row without ``totalTokensFresh`` yields to the transcript there; the verdict stays and the doubt is named."""
    assert "counts only 940" in _standing("due").why
    trusted = StoreCounts(total_tokens=190_000, total_tokens_fresh=True)
    assert flush_tokens(trusted, Usage(input=900, output=40)) == FlushTokens(tokens=190_040)


@pytest.mark.parametrize("pair", _RECORDED, ids=lambda pair: json.dumps(pair["entry"]))
def test_the_cycle_counts_as_in_the_real_program(pair: dict[str, Any]) -> None:
    """Done or not, due or not: equal to the recorded answers for every pair of counters."""
    record = FlushRecord.of(pair["entry"])
    assert record.done_this_cycle == pair["already"]
    standing = flush_standing(record, _listed(), flush_tokens(StoreCounts.of(pair["entry"]), None))
    assert (standing.verdict is FlushVerdict.DUE) == pair["run"]


def test_a_flush_that_ran_in_this_cycle_is_done() -> None:
    """Equal counts with a time are an ordinary end of the matter."""
    record = FlushRecord(compaction_count=2, flushed_at_count=2, flushed_at_ms=5)
    assert flush_standing(record, _listed(), FlushTokens(tokens=199_000)).verdict is FlushVerdict.DONE


def test_one_flush_in_a_cycle_is_not_repeated() -> None:
    """A single flush turn is what is meant to happen."""
    record = FlushRecord(compaction_count=0, flushed_at_count=0, flushed_at_ms=5)
    standing = flush_standing(record, _listed(), FlushTokens(tokens=199_000), flush_turns_ms=(5,))
    assert standing.verdict is FlushVerdict.DONE


def test_a_count_that_is_no_number_equals_none() -> None:
    """``true`` is not 1 in the real program, so the flush is not taken for done."""
    assert not FlushRecord(compaction_count=True, flushed_at_count=1).done_this_cycle
    assert not FlushRecord(compaction_count=1, flushed_at_count=True).done_this_cycle


def test_size_alone_makes_a_flush_due() -> None:
    """A transcript of 2 MiB is enough, whatever its tokens; below it, without a count, nothing is known."""
    unknown = FlushTokens(tokens=None)
    big = flush_standing(FlushRecord(), _listed(), unknown, transcript_bytes=2 * 1024**2)
    assert big.verdict is FlushVerdict.DUE
    assert "2,097,152 bytes" in big.why
    assert flush_standing(FlushRecord(), _listed(), unknown, transcript_bytes=5).verdict is FlushVerdict.UNKNOWN


def test_a_flush_that_is_off_is_never_due() -> None:
    """Switched off, nothing makes it due."""
    off = _listed(CompactionPolicy(memory_flush=MemoryFlushPolicy(enabled=False)))
    standing = flush_standing(FlushRecord(), off, FlushTokens(tokens=10**6), transcript_bytes=10**9)
    assert standing.verdict is FlushVerdict.OFF
    assert "memoryFlush.enabled is false" in standing.why


def test_a_negative_threshold_leaves_the_size_as_only_trigger() -> None:
    """In a window smaller than floor and soft threshold, only the transcript's size can make a flush due."""
    listed = thresholds(CompactionPolicy(), resolve_windows(_SETTINGS.agents, ModelRef("d", "m"), last_run=16_000))
    assert flush_standing(FlushRecord(), listed, FlushTokens(tokens=15_000)).verdict is FlushVerdict.NOT_DUE


@given(_JSON, _JSON, _JSON, st.none() | st.integers(0, 300_000), st.none() | st.integers(0, 2**22))
def test_every_row_gets_a_verdict(
    count: JsonValue, flushed: JsonValue, at: JsonValue, tokens: int | None, size: int | None
) -> None:
    """Whatever a row holds, there is one verdict and one sentence."""
    record = FlushRecord.of({"compactionCount": count, "memoryFlushCompactionCount": flushed, "memoryFlushAt": at})
    standing = flush_standing(record, _listed(), FlushTokens(tokens=tokens), transcript_bytes=size)
    assert standing.verdict in FlushVerdict
    assert standing.why
