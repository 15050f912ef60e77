"""What sessions cost, and that copies are not counted again (case A26)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.settings.model_ids import ModelRef
from strandline.tokens.cost import CallRecord, CostSource, cost_of, spend, stated_cost
from strandline.tokens.usage import Usage, normalise_usage
from token_cases import case_state, entries, sessions_dir

if TYPE_CHECKING:
    from pathlib import Path

    from strandline.ecmascript import JsonValue


def _records(folder: Path) -> list[CallRecord]:
    return [
        CallRecord(
            file=path.name,
            entry_id=entry["id"],
            position=position,
            at_ms=entry["message"]["timestamp"],
            usage=normalise_usage(entry["message"]["usage"]),
            stated_usd=stated_cost(entry["message"]["usage"]),
            model=ModelRef(entry["message"]["provider"], entry["message"]["model"]),
        )
        for path in folder.glob("*.jsonl*")
        for position, entry in enumerate(entries(path))
        if entry.get("message", {}).get("role") == "assistant"
    ]


def _dollar(_model: ModelRef, _usage: Usage, _at_ms: float | None) -> float | None:
    return 1.0


def _call(file: str = "a.jsonl", entry_id: str | None = "e1", position: int = 0, **more: float) -> CallRecord:
    return CallRecord(file=file, entry_id=entry_id, position=position, at_ms=1, stated_usd=more.get("usd"))


def test_checkpoints_and_backups_are_copies() -> None:
    """Case A26: 0.50 live and 0.25 of the session archived by a reset; five copied replies are left out."""
    total = spend(_records(sessions_dir(case_state("A26"))))
    assert total.usd == pytest.approx(0.75)
    assert (total.counted, total.copies, total.unpriced) == (6, 5, 0)
    assert total.archives == ("00000baa-0b00-4000-8000-000000000002.jsonl.reset.2026-05-18T12-00-00.000Z",)
    assert total.words.startswith("0.75 USD for 6 replies, 5 copies not counted.")
    assert {file.file.split(".")[1] + ("" if file.counted else " (copy)") for file in total.files} == {
        "jsonl",
        "checkpoint (copy)",
        "jsonl (copy)",
    }


def test_equal_ids_of_different_sessions_are_different_calls() -> None:
    """An entry id is unique in one session only; time, usage and cost tell calls apart."""
    one = _call("a.jsonl", usd=0.5)
    other = CallRecord(file="b.jsonl", entry_id="e1", position=0, at_ms=2, stated_usd=0.5)
    assert spend([one, other]).usd == 1.0
    assert spend([one, _call("b.jsonl", usd=0.5)]).usd == 0.5


def test_entries_without_ids_are_told_apart_by_place() -> None:
    """Old transcripts have no ids: two equal calls in one file are two, their copy in a backup is none."""
    live = [_call("a.jsonl", None, position, usd=0.25) for position in (1, 2)]
    backup = [_call("a.jsonl.bak.2026-05-20T06-00-00.000Z", None, 1, usd=0.25)]
    total = spend([*backup, *live])
    assert (total.usd, total.copies) == (0.5, 1)


def test_a_call_is_counted_for_the_file_that_stands_highest() -> None:
    """Of several copies the transcript's counts, else that of a reset or deletion, a ``.bak``, last a checkpoint."""
    ranked = [
        "a.jsonl",
        "z.jsonl.reset.2026-05-18T12-00-00.000Z",
        "b.jsonl.bak.2026-05-18T12-00-00.000Z",
        "a.checkpoint.0000000c-0b00-4000-8000-000000000007.jsonl",
    ]
    while ranked:
        total = spend([_call(file, usd=0.5) for file in reversed(ranked)])
        assert [file.file for file in total.files if file.counted] == ranked[:1]
        ranked.pop(0)


def test_cost_comes_from_the_transcript_then_the_catalogue_then_nowhere() -> None:
    """A stated cost is not reckoned again; without one the catalogue is asked; what stays unknown is not 0."""
    model, usage = ModelRef("p", "m"), Usage(input=1)
    stated = CallRecord(file="a", entry_id="1", position=0, usage=usage, model=model, stated_usd=0.5)
    silent = CallRecord(file="a", entry_id="2", position=1, usage=usage, model=model)
    bare = CallRecord(file="a", entry_id="3", position=2)
    assert cost_of(stated, _dollar).source is CostSource.TRANSCRIPT
    assert cost_of(silent, _dollar).usd == 1.0
    assert cost_of(bare, _dollar).usd is None
    total = spend([stated, silent, bare], _dollar)
    assert (total.usd, total.from_transcripts, total.from_catalogue, total.unpriced) == (1.5, 0.5, 1.0, 1)
    assert "The cost of 1 replies is unknown" in total.words


def test_nothing_priced_is_unknown_and_no_calls_cost_nothing() -> None:
    """Calls without any known cost give an unknown sum; no calls at all give 0."""
    assert spend([_call()]).usd is None
    assert spend([]).usd == 0


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"cost": {"total": 0.25}}, 0.25),
        ({"cost": {"total": 0}}, 0.0),
        ({"cost": {"total": -1}}, None),
        ({"cost": {"total": "1"}}, None),
        ({"cost": 1}, None),
        ({}, None),
        (None, None),
    ],
)
def test_only_a_sound_stated_cost_is_taken(raw: JsonValue, expected: float | None) -> None:
    """The transcript's total is taken when it is a finite number of at least 0."""
    assert stated_cost(raw) == expected


@given(st.lists(st.tuples(st.sampled_from(["1", "2", "3", None]), st.floats(0, 5)), max_size=8), st.integers(1, 4))
def test_copies_never_change_the_sum(calls: list[tuple[str | None, float]], times: int) -> None:
    """However many files repeat a transcript, the sum is that of the transcript."""
    live = [_call("a.jsonl", name, place, usd=usd) for place, (name, usd) in enumerate(calls)]
    copies = [
        _call(f"a.jsonl.bak.2026-05-20T06-00-0{number}.000Z", name, place, usd=usd)
        for number in range(times)
        for place, (name, usd) in enumerate(calls)
    ]
    assert spend([*copies, *live]).usd == spend(live).usd
