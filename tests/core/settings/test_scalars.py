"""Durations and sizes: what the real program read each notation as."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.ecmascript import is_number
from strandline.settings.scalars import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, parse_bytes, parse_duration_ms

_DATA: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[2] / "data" / "durations-bytes.json").read_text("utf-8")
)
# Other types are refused before anything is parsed (test_schema.py).
_DURATIONS = [real for real in _DATA["dur"] if isinstance(real["in"], str) or is_number(real["in"])]
_SIZES = [real for real in _DATA["bytes"] if isinstance(real["in"], str) or is_number(real["in"])]


def _number(recorded: float | str) -> float | None:
    return recorded if is_number(recorded) else None


@pytest.mark.parametrize("real", [pytest.param(real, id=ascii(real["in"])) for real in _DURATIONS])
def test_reads_durations_as_the_real_program(real: dict[str, Any]) -> None:
    """A bare number counts days in maintenance and hours in cron; what was an error there is none here."""
    assert parse_duration_ms(real["in"], bare_unit="d") == _number(real["d"])
    assert parse_duration_ms(real["in"], bare_unit="h") == _number(real["h"])


@pytest.mark.parametrize("real", [pytest.param(real, id=ascii(real["in"])) for real in _SIZES])
def test_reads_sizes_as_the_real_program(real: dict[str, Any]) -> None:
    """Units are powers of 1024; what was an error there is none here."""
    assert parse_bytes(real["in"]) == _number(real["parseByteSize"])


def test_the_record_holds_readings_and_errors() -> None:
    """Both outcomes are compared, so that neither rule can fall away unseen."""
    for real, field in ((_DURATIONS, "d"), (_SIZES, "parseByteSize")):
        outcomes = [is_number(each[field]) for each in real]
        assert outcomes.count(True) >= 10
        assert outcomes.count(False) >= 10


@pytest.mark.parametrize("unit", ["ms", "s", "m", "h", "d", "MS", "D"])
def test_a_number_with_a_unit_ignores_the_bare_unit(unit: str) -> None:
    """The unit that is written counts, in either case."""
    factor = {"ms": 1, "s": SECOND_MS, "m": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS}[unit.lower()]
    assert parse_duration_ms(f"3{unit}", bare_unit="d") == 3 * factor
    assert parse_duration_ms(f"3{unit}", bare_unit="h") == 3 * factor


_PART = st.tuples(st.integers(0, 500), st.sampled_from(["ms", "s", "m", "h", "d"]))


@given(st.lists(_PART, min_size=1, max_size=5))
def test_parts_add_up(parts: list[tuple[int, str]]) -> None:
    """A composite duration is the sum of its parts; a gap between them makes it none."""
    texts = [f"{count}{unit}" for count, unit in parts]
    whole = parse_duration_ms("".join(texts), bare_unit="d")
    assert whole == sum(parse_duration_ms(text, bare_unit="d") or 0 for text in texts)
    if len(texts) > 1:
        assert parse_duration_ms(" ".join(texts), bare_unit="d") is None


@given(st.text("0123456789.kmgtbdhs -+e\u0665\ufeff", max_size=12) | st.floats() | st.integers())
def test_any_scalar_is_a_number_or_none(value: str | float) -> None:
    """Nothing raises, and what is read is whole and not negative."""
    for read in (parse_bytes(value), parse_duration_ms(value, bare_unit="d")):
        assert read is None or (isinstance(read, int) and read >= 0)
