"""Lengths and times as JavaScript counts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from strandline.ecmascript import date_ms, stringified_length, utf16_length

if TYPE_CHECKING:
    from strandline.ecmascript import JsonValue


@pytest.mark.parametrize(
    ("source", "length"),
    [
        ("{}", 2),
        (' { "a" : 1.0 } ', 7),
        ("[1e3,1E-7,-0,-0.0,1e21,0.10]", len("[1000,1e-7,0,0,1e+21,0.1]")),
        ("[12345678901234567890,1e400]", len("[12345678901234567000,null]")),
        (f"[{'9' * 5_000}]", len("[null]")),
        ('"\\ud83d\\ude00"', 4),
        ('"\\ud83d"', 8),
        ('"\\u2028\\u001f\\u007f\\/"', len('"\u2028\\u001f\u007f/"')),
        ('{"a":1,"a":22}', 8),
    ],
)
def test_length_of_stringified_json(source: str, length: int) -> None:
    """Numbers, escapes and doubled keys take the characters that JavaScript writes for them."""
    assert stringified_length(source) == length


def test_utf16_length() -> None:
    """Characters beyond U+FFFF count twice, lone surrogates once."""
    assert [utf16_length(text) for text in ("", "ab", "é", "🎉", "\ud83d")] == [0, 2, 1, 2, 1]


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("2026-03-01T10:00:25.123Z", 1772359225123),
        ("2026-03-01T12:00:25.123+02:00", 1772359225123),
        ("2026-03-01", 1772323200000),
        (1772359225123, 1772359225123),
        (1e300, None),
        ("soon", None),
        (True, None),
        (None, None),
    ],
)
def test_times_as_milliseconds(value: JsonValue, ms: int | None) -> None:
    """ISO times and numbers become milliseconds; anything else is no time."""
    assert date_ms(value) == ms
