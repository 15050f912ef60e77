"""What findings about a row say: its place, what OpenClaw drops, what several rows share, counters that mislead."""

from __future__ import annotations

import pytest

from rows_factory import make_facts, make_row
from strandline.doctor.sessions import counter_finding, row_findings, shared_findings
from strandline.rows import TranscriptState
from strandline.tokens.evidence import StoreCounts
from strandline.tokens.readings import read_gauge

QUIET = {TranscriptState.PRESENT, TranscriptState.NO_SESSION, TranscriptState.UNKNOWN}


@pytest.mark.parametrize("state", list(TranscriptState))
def test_each_state_of_a_transcript(state: TranscriptState) -> None:
    """Every state that needs a person has a code of its own and says what to do; the others are silent."""
    found = list(row_findings(make_row(session_file="x.jsonl"), make_facts(state=state, note="Note.", name="s1.jsonl")))
    if state in QUIET:
        assert found == []
        return
    (finding,) = found
    assert (finding.what, finding.where) == ("Note.", make_row().key)
    assert finding.evidence == ("sessionFile: x.jsonl", "file here: s1.jsonl")
    calm = state is TranscriptState.ROW_NEWER
    assert (finding.severity, bool(finding.fix)) == (("info", False) if calm else ("warning", True))


def test_codes_are_told_apart() -> None:
    """No two states share a code."""
    found = [
        finding.code
        for state in TranscriptState
        for finding in row_findings(make_row(), make_facts(state=state, name=None))
    ]
    assert len(found) == len(set(found)) == len(TranscriptState) - len(QUIET)


def test_dropped_row_without_facts() -> None:
    """The reason stands in the sentence; nothing is said of a transcript that nobody looked for."""
    (found,) = row_findings(make_row(dropped="it is not an object", bytes=1500), None)
    assert (found.code, found.evidence) == ("row-dropped", ("1,500 bytes of the store",))
    assert "it is not an object" in found.what


def test_shared_transcripts() -> None:
    """Rows of one file are named together in store order; rows without a file share nothing."""
    names = {"a": "x.jsonl", "b": "y.jsonl", "c": "x.jsonl", "d": None, "e": None}
    pairs = [(make_row(key=key), make_facts(key=key, name=name)) for key, name in names.items()]
    (found,) = shared_findings([*pairs, (make_row(key="f"), None)], "store")
    assert (found.code, found.where, found.evidence) == ("transcript-shared", "store", ("a", "c"))


@pytest.mark.parametrize(
    ("total", "says"),
    [(5000, None), (None, None), (-5, "store holds no count"), (300_000, "sum over calls"), (200_000, "the window")],
)
def test_counter(total: int | None, says: str | None) -> None:
    """A count that holds and one that is absent are no finding; each way to mislead is named."""
    found = counter_finding(read_gauge(StoreCounts(total_tokens=total), None, 200_000), "k")
    assert (found is None) is (says is None)
    if found is not None and says is not None:
        assert says in found.what
        assert found.evidence
