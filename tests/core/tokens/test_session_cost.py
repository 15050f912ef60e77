"""What a session cost, from real files: copies, archives, damage, bounds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from strandline.tokens.session_cost import calls_of, session_cost
from strandline.transcript.whole_file import WHOLE_FILE_BYTES, read_transcript

if TYPE_CHECKING:
    from pathlib import Path

    from strandline.settings.model_ids import ModelRef
    from strandline.tokens.usage import Usage

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-05-20T10:00:00.000Z", "cwd": "/w"}


def _call(entry_id: str, usd: float | None, parent: str | None = None, **message: Any) -> dict[str, Any]:
    usage = {"input": 10, "output": 1, **({} if usd is None else {"cost": {"total": usd}})}
    said = {"role": "assistant", "content": "x", "provider": "demo", "model": "m", "usage": usage, **message}
    return {"type": "message", "id": entry_id, "parentId": parent, "timestamp": 5, "message": said}


def _write(path: Path, *records: dict[str, Any] | str) -> Path:
    lines = (record if isinstance(record, str) else json.dumps(record) for record in (HEADER, *records))
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def _dollar(_model: ModelRef, _usage: Usage, _at_ms: float | None) -> float | None:
    return 1.0


def test_side_branches_were_paid_for_too(tmp_path: Path) -> None:
    """Abandoned answers and those behind damage count; people's turns and OpenClaw's own notes do not."""
    path = _write(
        tmp_path / "s.jsonl",
        _call("a", 0.5),
        _call("b", 0.25, "a"),
        '{"broken',
        _call("c", 0.125, "a"),
        _call("d", 4, "c", role="user"),
        _call("e", 8, "c", provider="openclaw"),
        _call("f", 16, "c", usage=None),
    )
    assert [call.entry_id for call in calls_of(read_transcript(path), path.name)] == ["a", "b", "c"]
    assert session_cost([path]).usd == pytest.approx(0.875)


def test_what_only_a_copy_holds_still_counts(tmp_path: Path) -> None:
    """A backup keeps a call that the transcript lost; the others in it are copies."""
    live = _write(tmp_path / "s.jsonl", _call("b", 0.5))
    backup = _write(tmp_path / "s.jsonl.bak.2026-05-20T06-00-00.000Z", _call("a", 0.25), _call("b", 0.5))
    cost = session_cost([live, backup])
    assert cost.usd == pytest.approx(0.75)
    assert cost.words.startswith("0.75 USD for 2 replies, 1 copies not counted.")
    assert backup.name in cost.words


def test_unknown_is_not_nothing(tmp_path: Path) -> None:
    """Calls without a known price give ``None``; a price list fills in; no call at all costs 0."""
    path = _write(tmp_path / "s.jsonl", _call("a", None), _call("b", None))
    assert session_cost([path]).usd is None
    assert session_cost([path], _dollar).usd == pytest.approx(2.0)
    assert session_cost([]).usd == 0
    partly = _write(tmp_path / "t.jsonl", _call("a", None), _call("b", 0.5))
    assert "The cost of 1 replies is unknown and not in it." in session_cost([partly]).words


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """A missing file and one above the bound are said; the rest is counted; nothing read is unknown, not 0."""
    live = _write(tmp_path / "s.jsonl", _call("a", 0.5))
    huge = _write(tmp_path / "huge.jsonl", _call("b", 1))
    with huge.open("r+b") as file:
        file.truncate(WHOLE_FILE_BYTES + 1)
    cost = session_cost([tmp_path / "gone.jsonl", huge, live])
    assert cost.usd == pytest.approx(0.5)
    assert cost.words.endswith("Not read: gone.jsonl, huge.jsonl.")
    assert session_cost([huge]).usd is None
