"""One session looked at closely, below the command: which file it is, which files are its own, bounded looks."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from state_tree import NOON_MS, copy_case, fixed, write_config, write_store
from strandline.errors import DamagedData, EnvironmentFault
from strandline.examination import (
    SMALL_BYTES,
    CatalogueWindow,
    Subject,
    belongs,
    ends_findings,
    gauge_of,
    known_price,
    known_window,
    look_over,
    stored_row,
    subject_of,
)
from strandline.gateway import open_gateway
from strandline.settings.model_ids import ModelRef
from strandline.state import fsys
from strandline.state.file_classes import ClassifiedFile, FileClass, Standing
from strandline.tokens.usage import normalise_usage
from strandline.transcript.ends import read_ends
from token_cases import settings_of

if TYPE_CHECKING:
    from pathlib import Path

KEY = "agent:main:main"


def _subjects(state: Path, place: Path) -> dict[str, Subject]:
    async def ask() -> dict[str, Subject]:
        async with open_gateway(state, environment=fixed(place)) as gateway:
            table = await gateway.sessions()
            return {
                record.row.key: subject_of(record.row, record.facts, path, _listing(path))
                for record in table
                for path in [state / "agents" / record.row.agent_id / "sessions" / "sessions.json"]
            }

    return asyncio.run(ask())


def _listing(store: Path) -> dict[str, fsys.FileEntry]:
    return {entry.name: entry for entry in fsys.list_directory(store.parent)}


def _no_window(_reference: ModelRef) -> int | None:
    return None


CATALOGUE: CatalogueWindow = _no_window


def _file(path: str) -> ClassifiedFile:
    return ClassifiedFile(path, FileClass.OTHER, Standing.PROTECTED, 0, 0, 0, "main")


def test_transcript_that_may_be_opened(tmp_path: Path) -> None:
    """A02, A11: the file that is here, the moved one by its name, and nothing outside."""
    for case, opened in (("A02-row-and-file-disagree", 2), ("A11-paths-from-another-machine", 3)):
        state = copy_case(case, tmp_path)
        paths = [subject.transcript for subject in _subjects(state, tmp_path).values()]
        found = [path for path in paths if path is not None]
        assert len(found) == opened
        assert all(path.is_file() and path.is_relative_to(state) for path in found)


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("s1.jsonl", True),
        ("s1.trajectory.jsonl", True),
        ("s1.jsonl.lock", True),
        ("s1.jsonl.reset.2026-05-18T12-00-00.000Z", True),
        ("s1-topic-4.jsonl", True),
        ("c.checkpoint.jsonl", True),
        ("s10.jsonl", False),
        ("s1", False),
        ("xs1.jsonl", False),
        ("sessions.json", False),
    ],
)
def test_own_files(name: str, *, own: bool, tmp_path: Path) -> None:
    """By id and what follows it, and only beside the session's own store."""
    state = tmp_path / "state"
    folder = write_store(state, {KEY: {"sessionId": "s1", "updatedAt": 5}}).parent
    (folder / "s1.jsonl").write_text("{}\n", "utf-8")
    subject = _subjects(state, tmp_path)[KEY]
    row = msgspec.structs.replace(subject.row, checkpoints=("c.checkpoint.jsonl",))
    subject = msgspec.structs.replace(subject, row=row)
    assert belongs(_file(f"agents/main/sessions/{name}"), subject) is own
    assert belongs(_file((folder / name).as_posix()), subject) is own
    assert not belongs(_file(f"agents/beta/sessions/{name}"), subject)
    assert not belongs(_file(f"essions/{name}"), subject)


def test_stored_row_is_never_another_ones(tmp_path: Path) -> None:
    """Bytes that moved, or a place past the end, are told as a change; a missing store as missing."""
    state = tmp_path / "state"
    store = write_store(state, {KEY: {"a": 1}, "agent:main:x": {"a": 2}})
    subject = _subjects(state, tmp_path)[KEY]
    assert stored_row(subject) == {"a": 1}
    for offset in (subject.row.offset + 1, subject.row.offset - 1, 10_000_000, 0):
        moved = msgspec.structs.replace(subject, row=msgspec.structs.replace(subject.row, offset=offset))
        with pytest.raises(DamagedData, match="ask again"):
            stored_row(moved)
    unplaced = msgspec.structs.replace(subject, row=msgspec.structs.replace(subject.row, offset=-1))
    assert stored_row(unplaced) == {"a": 1}
    for content in (b"[]", b"{", b"{}", b'{"agent:main:x": 1}'):
        store.write_bytes(content)
        with pytest.raises(DamagedData, match="ask again"):
            stored_row(unplaced)
    store.unlink()
    with pytest.raises(EnvironmentFault, match="no such file"):
        stored_row(subject)


@pytest.mark.parametrize("padding", [0, SMALL_BYTES])
def test_look_over_reads_small_files_whole_and_large_ones_at_both_ends(padding: int, tmp_path: Path) -> None:
    """Damage in the middle shows in a small transcript; a large one is left at what its ends show."""
    state = tmp_path / "state"
    folder = write_store(state, {KEY: {"sessionId": "s1", "updatedAt": NOON_MS}}).parent
    usage = {"input": 5, "output": 1}
    entries = [
        json.dumps({"type": "session", "version": 3, "id": "s1"}),
        json.dumps({"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "ahoy"}}),
        "x" * 10 + '{"broken' + " " * padding,
        json.dumps(
            {
                "type": "message",
                "id": "b",
                "parentId": "a",
                "message": {"role": "assistant", "content": "aye", "usage": usage},
            }
        ),
    ]
    path = folder / "s1.jsonl"
    path.write_text("\n".join(entries) + "\n", "utf-8")
    subject = _subjects(state, tmp_path)[KEY]
    settings = settings_of(write_config(state, {}))
    codes = {finding.code for finding in look_over(subject, settings, CATALOGUE)}
    assert ("transcript-damaged" in codes) is not bool(padding)
    assert not [finding for finding in ends_findings(read_ends(path), KEY) if finding.code == "transcript-damaged"]
    path.unlink()
    assert "transcript-unreadable" in {finding.code for finding in look_over(subject, settings, CATALOGUE)}


def test_gauge_from_both_ends(tmp_path: Path) -> None:
    """A19: the bounded look chooses what the whole look chooses."""
    state = copy_case("A19-counters-that-lie", tmp_path)
    settings = settings_of(state / "openclaw.json")
    subjects = _subjects(state, tmp_path)
    chosen = {
        key.rsplit(":", 1)[-1]: gauge_of(subject, settings, CATALOGUE).tokens for key, subject in subjects.items()
    }
    assert chosen == {
        "main": 9010,
        "null": 21010,
        "sum": 51510,
        "capped": 120010,
        "notfresh": 64010,
        "justcompacted": None,
        "nousage": None,
        "neg": 5010,
    }


def test_offline_catalogue_knows_windows_and_prices() -> None:
    """A known model has both, an unknown one neither."""
    known, unknown = ModelRef("anthropic", "claude-sonnet-4-5"), ModelRef("demo", "no-such-model")
    usage = normalise_usage({"input": 1000, "output": 100})
    assert usage is not None
    assert (known_window(known) or 0) >= 200_000
    assert (known_price(known, usage, None) or 0) > 0
    assert (known_window(unknown), known_price(unknown, usage, None)) == (None, None)
