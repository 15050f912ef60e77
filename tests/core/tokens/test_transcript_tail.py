"""From ends or entries to the evidence of readings: both ways agree where both can see."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import golden
from strandline.tokens.transcript_tail import tail_of_ends, tail_of_path
from strandline.transcript.ends import read_ends
from strandline.transcript.tree import build_tree
from strandline.transcript.whole_file import read_transcript

if TYPE_CHECKING:
    from pathlib import Path

    from strandline.tokens.evidence import TranscriptTail

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-05-20T10:00:00.000Z", "cwd": "/w"}
_CASES = [
    pytest.param(path, id=f"{name[:3]}-{path.name[-10:]}")
    for name in ("A15-compaction-every-turn", "A19-counters-that-lie", "A20-memory-flush", "A25-abandoned-siblings")
    for path in golden.case_transcripts(name)
]


def _both(path: Path) -> tuple[TranscriptTail, TranscriptTail]:
    ends, index = read_ends(path), read_transcript(path)
    whole = tail_of_path(index, build_tree(index).path, estimate=None, size=ends.identity.size)
    return tail_of_ends(ends.tail), whole


def _write(tmp_path: Path, *records: dict[str, Any]) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in (HEADER, *records)), "utf-8")
    return path


def _reply(entry_id: str, parent: str | None, tokens: int | None, **message: Any) -> dict[str, Any]:
    usage = {} if tokens is None else {"usage": {"input": tokens, "output": 0, "totalTokens": tokens}}
    said = {"role": "assistant", "content": "x", **usage, **message}
    time = f"2026-05-20T10:00:0{len(entry_id)}.000Z"
    return {"type": "message", "id": entry_id, "parentId": parent, "timestamp": time, "message": said}


def _compaction(entry_id: str, parent: str) -> dict[str, Any]:
    time = "2026-05-20T11:00:00.000Z"
    return {"type": "compaction", "id": entry_id, "parentId": parent, "timestamp": time, "summary": "s"}


@pytest.mark.parametrize("path", _CASES)
def test_both_ways_agree(path: Path) -> None:
    """What counts after the last compaction is the same from the ends as from every entry."""
    ends, whole = _both(path)
    assert ends.usage_after_compaction == whole.usage_after_compaction
    assert ends.current == whole.current
    if ends.current is not None:
        assert ends.last_usage_at_ms == whole.last_usage_at_ms
    assert ends.bytes == whole.bytes == path.stat().st_size


def test_compaction_supersedes_what_was_counted_before(tmp_path: Path) -> None:
    """After a compaction without a reply nothing is current; with one, the old count is kept as superseded."""
    records = [_reply("a", None, 900), _compaction("b", "a")]
    ends, whole = _both(_write(tmp_path, *records))
    assert (ends.current, whole.current) == (None, None)
    assert not whole.usage_after_compaction
    assert whole.compacted_at_ms == ends.compacted_at_ms == 1_779_274_800_000
    assert whole.superseded is not None
    assert whole.superseded.context == 900
    ends, whole = _both(_write(tmp_path, *records, _reply("c", "b", 100)))
    assert ends.current is not None
    assert whole.current is not None
    assert (ends.current.context, whole.current.context) == (100, 100)
    assert whole.superseded is not None
    assert whole.superseded.context == 900


@pytest.mark.parametrize("reason", ["aborted", "error"])
def test_calls_without_an_answer_measure_nothing(reason: str, tmp_path: Path) -> None:
    """An aborted or failed call leaves the count of the one before."""
    ends, whole = _both(_write(tmp_path, _reply("a", None, 900), _reply("b", "a", 5, stopReason=reason)))
    assert whole.current is not None
    assert whole.current.context == 900
    assert ends.current == whole.current


def test_side_branches_measure_nothing(tmp_path: Path) -> None:
    """A later answer on an abandoned branch does not count."""
    records = [_reply("a", None, 900), _reply("b", "a", 7000), {**_reply("c", "a", None), "type": "message"}]
    ends, whole = _both(_write(tmp_path, *records))
    assert whole.current is not None
    assert whole.current.context == 900
    assert ends.current == whole.current


@pytest.mark.parametrize(("estimate", "kept"), [(None, None), (12.9, 12), (0, 0)])
def test_estimate_is_passed_on(estimate: float | None, kept: int | None, tmp_path: Path) -> None:
    """The estimate is whole tokens; unknown stays unknown."""
    index = read_transcript(_write(tmp_path))
    tail = tail_of_path(index, build_tree(index).path, estimate=estimate, size=None)
    assert (tail.estimate_tokens, tail.bytes, tail.current) == (kept, None, None)
