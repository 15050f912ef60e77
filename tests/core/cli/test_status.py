"""``strandline status`` for people: agents, stores, and what takes the space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_tree import NOON_MS, copy_case, write_config, write_store
from strandline.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def _status(state: Path, capfdbinary: pytest.CaptureFixture[bytes], *words: str) -> tuple[int, str, str]:
    capfdbinary.readouterr()
    code = main(["status", "--state", str(state), "--now", str(NOON_MS), *words])
    out = capfdbinary.readouterr()
    return code, out.out.decode(), out.err.decode()


def test_status_names_agents_stores_and_space(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """The directory and its mode, one line per agent, one per file class, and the sum."""
    state = copy_case("A05-what-is-this-file", tmp_path)
    code, out, err = _status(state, capfdbinary)
    lines = {words[0]: words for line in out.splitlines() if (words := line.split())}
    assert (code, err) == (0, "")
    assert "maintenance: enforce" in out
    assert lines["main"][1] == "2"
    assert lines["archive"][1] == "3"
    assert lines["all"][1] == "18"


def test_agents_found_on_disk_are_counted_without_a_list(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Without ``agents.list`` agents on disk appear, the default one first; with one they do not."""
    state = tmp_path / "state"
    for agent in ("zed", "b-c", "b_c", "main"):
        write_store(state, {f"agent:{agent}:main": {"updatedAt": NOON_MS}}, agent=agent)
    _, out, _ = _status(state, capfdbinary)
    rows = [line.split()[0] for line in out.splitlines() if "sessions.json" in line]
    assert rows == ["main", "b_c", "b-c", "zed"]
    write_config(state, {"agents": {"list": [{"id": "zed"}]}})
    _, out, _ = _status(state, capfdbinary)
    assert [line.split()[0] for line in out.splitlines() if "sessions.json" in line] == ["zed"]


def test_unreadable_store_is_not_zero(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """The count of a damaged store is "unreadable", and the exit code says that it was all."""
    code, out, err = _status(copy_case("A01-zero-byte-store", tmp_path), capfdbinary)
    assert code == 4
    assert "unreadable" in out
    assert "3 transcripts beside" in err
