"""The command's JSON beside what the real program printed for the same directory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import golden
from strandline.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


def _answer(words: list[str], state: Path, now_ms: int, capfdbinary: pytest.CaptureFixture[bytes]) -> Any:
    capfdbinary.readouterr()
    code = main([*words, "--state", str(state), "--now", str(now_ms)])
    out = capfdbinary.readouterr()
    assert (code, out.err) == (0, b"")
    assert out.out.endswith(b"\n")
    return json.loads(out.out)


def _same(ours: Any, real: Any, state: Path) -> None:
    assert golden.masked(ours, state) == golden.masked(real, state)
    assert golden.key_orders(ours) == golden.key_orders(real)
    ours_ages, real_ages = golden.ages(ours), golden.ages(real)
    assert len(ours_ages) == len(real_ages)
    for one, other in zip(ours_ages, real_ages, strict=True):
        assert (one is None) == (other is None)
        assert one is None or abs(one - other) <= golden.AGE_TOLERANCE_MS


@pytest.mark.parametrize(("command", "answer"), [(0, "run"), (1, "2")])
def test_list_equals_the_recorded_one(
    command: int, answer: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """`sessions --json` gives the recorded rows, values, key order and counts."""
    case, expected = golden.load_case("25-sessions-list-json")
    state = tmp_path / "state"
    golden.build_state(case, state)
    ours = _answer(case["commands"][command].split(), state, case["nowMs"], capfdbinary)
    _same(ours, expected[answer], state)


def test_status_equals_the_recorded_one(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """`status --json` gives the recorded sessions block."""
    case, expected = golden.load_case("26-status-json-with-config")
    state = tmp_path / "state"
    golden.build_state(case, state)
    ours = _answer(["status", "--json"], state, case["nowMs"], capfdbinary)
    _same(ours["sessions"], expected["run"]["sessions"], state)


def test_status_without_a_config_file_lists_what_is_on_disk(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Where the real status shows nothing for want of a config file, ours lists the sessions: the named difference."""
    case, expected = golden.load_case("25-sessions-list-json")
    state = tmp_path / "state"
    golden.build_state(case, state)
    ours = _answer(["status", "--json"], state, case["nowMs"], capfdbinary)
    assert expected["3"]["sessions"]["count"] == 0
    assert ours["sessions"]["count"] == 6
