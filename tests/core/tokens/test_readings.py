"""Which reading of a context is chosen, and what is said of the others (case A19)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.tokens.evidence import StoreCounts, TranscriptTail
from strandline.tokens.readings import Gauge, Verdict, read_gauge
from strandline.tokens.usage import Usage
from token_cases import case_state, rows, sessions_dir, tail_of

_STATE = case_state("A19")
_ROWS = rows(_STATE)
_JSON = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just([]) | st.just({})
_COUNT = st.none() | st.integers(0, 400_000)
_USAGES = st.none() | st.builds(Usage, input=_COUNT, output=_COUNT, cache_read=_COUNT, total=_COUNT)
_TIMES = st.none() | st.integers(0, 10)


def _gauge(name: str) -> Gauge:
    row = _ROWS[name]
    tail = tail_of(sessions_dir(_STATE) / f"{row['sessionId']}.jsonl")
    return read_gauge(StoreCounts.of(row), tail, row["contextTokens"])


def _counted(prompt: int, reply: int = 10) -> Usage:
    return Usage(input=prompt, output=reply, total=prompt + reply)


@pytest.mark.parametrize(
    ("name", "tokens", "verdict", "said"),
    [
        ("main", 9_010, Verdict.STALE, "counted before the last compaction"),
        ("null", 21_010, Verdict.TRANSCRIPT, "(10.5 %)"),
        ("sum", 51_510, Verdict.SUMMED, "a sum over calls"),
        ("capped", 120_010, Verdict.CLAMPED, "exactly the window"),
        ("notfresh", 64_010, Verdict.MARKED_STALE, "marks it as not fresh"),
        ("justcompacted", None, Verdict.COMPACTED, "before the last compaction"),
        ("nousage", None, Verdict.NOTHING, "nothing was measured"),
        ("neg", 5_010, Verdict.ODD, "−5, which is no count"),
    ],
)
def test_counters_that_lie_are_seen_through(name: str, tokens: int | None, verdict: Verdict, said: str) -> None:
    """Case A19: each row gives the right count, or none, and says what is wrong with the store's."""
    gauge = _gauge(name)
    assert gauge.tokens == tokens
    assert gauge.verdict is verdict
    assert said in gauge.words
    store = next(reading for reading in gauge.readings if reading.name == "store totalTokens")
    assert not store.fresh
    assert not store.chosen


def test_the_stale_the_summed_and_the_clamped_are_flagged() -> None:
    """Case A19: where the store vouches for a count that does not hold, the gauge is marked."""
    assert {name for name in _ROWS if _gauge(name).store_misleads} == {"main", "sum", "capped", "neg"}


def test_odd_values_are_reported_field_by_field() -> None:
    """Case A19: a negative total and a count in quotes are each named."""
    assert _gauge("neg").oddities == (
        "totalTokens is −5, which is no count of tokens.",
        "inputTokens is “12”, which is no count of tokens.",
    )


def test_after_a_compaction_the_estimate_is_shown_but_not_chosen() -> None:
    """Summary and kept messages can be estimated; the gauge stays unknown, and the old figure is superseded."""
    row = _ROWS["justcompacted"]
    tail = tail_of(sessions_dir(_STATE) / f"{row['sessionId']}.jsonl")
    gauge = read_gauge(StoreCounts.of(row), msgspec.structs.replace(tail, estimate_tokens=4), 200_000)
    values = {reading.name: reading.value for reading in gauge.readings}
    assert gauge.tokens is None
    assert gauge.share is None
    assert values["transcript estimate"] == 4
    assert values["before compaction"] == 181_010
    assert not any(reading.chosen for reading in gauge.readings)


def test_what_a_compaction_left_is_believed_when_the_row_vouches_for_it() -> None:
    """A smaller total, marked fresh and written after the compaction, is the count after it."""
    tail = TranscriptTail(last_usage=_counted(181_000), usage_after_compaction=False, compacted_at_ms=50)
    left = StoreCounts(total_tokens=12_000, total_tokens_fresh=True, updated_at_ms=60)
    gauge = read_gauge(left, tail, 200_000)
    assert (gauge.tokens, gauge.verdict) == (12_000, Verdict.STORE)
    older = msgspec.structs.replace(left, updated_at_ms=40)
    assert read_gauge(older, tail, 200_000).tokens is None


def test_an_unmeasured_reply_after_a_compaction_does_not_bring_the_old_count_back() -> None:
    """When the only reply since the compaction counted nothing, the store's older total stays out."""
    zero = Usage(input=0, output=0, total=0)
    tail = TranscriptTail(last_usage=zero, compacted_at_ms=50, superseded_usage=_counted(181_000))
    for total in (181_000, 150_000):
        assert read_gauge(StoreCounts(total_tokens=total, updated_at_ms=60), tail, 200_000).tokens is None


@pytest.mark.parametrize("total", [990, 1_000, 1_005, 1_010])
def test_one_reply_apart_is_agreement(total: int) -> None:
    """The store leaves the reply out, the transcript keeps it; that is no staleness."""
    tail = TranscriptTail(last_usage=_counted(1_000), last_usage_at_ms=5)
    gauge = read_gauge(StoreCounts(total_tokens=total, updated_at_ms=9), tail, 200_000)
    assert (gauge.tokens, gauge.verdict) == (1_010, Verdict.AGREED)


def test_a_row_older_than_the_transcript_is_behind_not_lying() -> None:
    """While a turn runs the transcript is ahead of the row."""
    tail = TranscriptTail(last_usage=_counted(5_000), last_usage_at_ms=20)
    gauge = read_gauge(StoreCounts(total_tokens=1_000, updated_at_ms=10), tail, 200_000)
    assert (gauge.tokens, gauge.verdict, gauge.store_misleads) == (5_010, Verdict.BEHIND, False)
    newer = read_gauge(StoreCounts(total_tokens=1_000, updated_at_ms=30), tail, 200_000)
    assert (newer.verdict, newer.store_misleads) == (Verdict.STALE, True)


def test_the_store_is_chosen_when_it_is_all_there_is() -> None:
    """Without a transcript a fresh total is shown; a total of 0, or one marked stale, is not."""
    assert read_gauge(StoreCounts(total_tokens=7_000), None, None).tokens == 7_000
    assert read_gauge(StoreCounts(total_tokens=0), None, None).tokens is None
    assert read_gauge(StoreCounts(total_tokens=7_000, total_tokens_fresh=False), None, None).tokens is None


def test_a_reading_is_the_contracts_json() -> None:
    """Keys and order are those of ``show KEY``."""
    reading = msgspec.to_builtins(_gauge("main").readings[0])
    assert list(reading) == ["name", "value", "unit", "source", "asOf", "fresh", "chosen", "why"]


@given(
    st.builds(StoreCounts, total_tokens=_JSON, total_tokens_fresh=_JSON, context_tokens=_JSON, updated_at_ms=_TIMES),
    st.none()
    | st.builds(
        TranscriptTail,
        last_usage=_USAGES,
        last_usage_at_ms=_TIMES,
        usage_after_compaction=st.booleans(),
        compacted_at_ms=_TIMES,
        superseded_usage=_USAGES,
        estimate_tokens=_COUNT,
    ),
    st.none() | st.integers(1, 400_000),
)
def test_at_most_one_reading_is_chosen_and_it_is_the_gauge(
    store: StoreCounts, tail: TranscriptTail | None, window: int | None
) -> None:
    """Whatever the row holds, the gauge shows the one chosen reading or nothing; never 0, never below it."""
    gauge = read_gauge(store, tail, window)
    chosen: list[Any] = [reading.value for reading in gauge.readings if reading.chosen]
    assert chosen == ([] if gauge.tokens is None else [gauge.tokens])
    assert gauge.tokens is None or gauge.tokens > 0
    assert all(reading.value is None or reading.value >= 0 for reading in gauge.readings)
