"""Text and number habits of JavaScript; the expected values were taken from Node."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.ecmascript import is_finite_number, is_number, number_text, property_order, round_half_up, trim


@pytest.mark.parametrize("space", list("\t\n\v\f\r \u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"))
def test_trim_takes_every_space_of_the_language(space: str) -> None:
    """White space and line ends of ECMA-262 go on both sides and stay inside."""
    assert trim(f"{space}a{space}b{space}") == f"a{space}b"


@pytest.mark.parametrize("other", list("\x00\x1c\x1d\x1e\x1f\x85\u180e\u200b\u2060"))
def test_trim_leaves_what_only_python_calls_space(other: str) -> None:
    """Separators U+001C to U+001F and U+0085 are text to JavaScript."""
    assert trim(f"{other}a{other}") == f"{other}a{other}"


@pytest.mark.parametrize(
    ("value", "number", "finite"),
    [
        (0, True, True),
        (-1.5, True, True),
        (10**400, True, False),
        (math.inf, True, False),
        (math.nan, True, False),
        (True, False, False),
        ("5", False, False),
        (None, False, False),
        ([], False, False),
    ],
)
def test_tells_numbers_apart(value: object, number: bool, finite: bool) -> None:
    """``true`` is no number; an integer beyond a double is infinite."""
    assert is_number(value) is number
    assert is_finite_number(value) is finite


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (0.5, 1),
        (1.5, 2),
        (2.5, 3),
        (-0.5, 0),
        (-1.5, -1),
        (-2.6, -3),
        (0.49999999999999994, 0),
        (4503599627370497.0, 4503599627370497),
        (9007199254740991.0, 9007199254740991),
        (8.64e27, 8.64e27),
    ],
)
def test_rounds_halves_up(value: float, rounded: float) -> None:
    """``Math.round``: towards positive infinity, and no double is moved that is whole already."""
    assert round_half_up(value) == rounded


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_is_the_nearest_whole_number(value: float) -> None:
    """The result lies within a half of the value, above it when there is a tie."""
    rounded = round_half_up(value)
    assert -0.5 < rounded - value <= 0.5


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-1.7, "-1.7"),
        (1e21, "1e+21"),
        (123456789012345680000.0, "123456789012345680000"),
        (12345678901234567890, "12345678901234567000"),
        (2.0**53, "9007199254740992"),
        (1e16, "10000000000000000"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e300, "1.5e+300"),
        (-5e-324, "-5e-324"),
        (0.1, "0.1"),
        (1.2345e-6, "0.0000012345"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (10**400, "Infinity"),
        (-(10**400), "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_writes_numbers_as_javascript_does(value: float, text: str) -> None:
    """Exponents appear only below 1e-6 and from 1e21 on."""
    assert number_text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_written_number_reads_back(value: float) -> None:
    """The text is the shortest that means the same double, without a trailing ``.0``."""
    text = number_text(value)
    assert float(text) == value
    assert not text.endswith(".0")


@given(st.integers(-(2**53), 2**53))
def test_a_safe_integer_is_written_with_its_digits(value: int) -> None:
    """No integer that JavaScript holds exactly gets a point or an exponent."""
    assert number_text(float(value)) == str(value)


def test_integer_like_keys_come_first() -> None:
    """Array indices ascend in front; everything else keeps its order, near misses included."""
    keys = ["b", "10", "2", "01", "-1", "4294967294", "4294967295", "1.5", "", "0", "\u0661", "1e3", " 1"]
    assert property_order(keys) == [
        "0",
        "2",
        "10",
        "4294967294",
        *(key for key in keys if key not in {"0", "2", "10", "4294967294"}),
    ]


@given(st.lists(st.text("0123-a", max_size=4), unique=True))
def test_ordering_loses_and_repeats_nothing(keys: list[str]) -> None:
    """The same keys come out, and ordering them again changes nothing."""
    ordered = property_order(keys)
    assert sorted(ordered) == sorted(keys)
    assert property_order(ordered) == ordered
