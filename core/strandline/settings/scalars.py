"""Durations and sizes in the notation of openclaw.json (spec 2026.5 §5.1)."""

from __future__ import annotations

import math
import re

from strandline.ecmascript import number_text, round_half_up, trim

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

_UNIT_MS = {"ms": 1, "s": SECOND_MS, "m": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS}
_UNIT_BYTES = {
    "b": 1,
    "k": 1024,
    "kb": 1024,
    "m": 1024**2,
    "mb": 1024**2,
    "g": 1024**3,
    "gb": 1024**3,
    "t": 1024**4,
    "tb": 1024**4,
}
_ONE_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)?", re.ASCII)
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)", re.ASCII)
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([a-z]+)?", re.ASCII)


def parse_duration_ms(value: str | float, *, bare_unit: str) -> int | None:
    """Return a duration in milliseconds, or ``None`` when the real program would not read it.

    Args:
        value: ``"30d"``, ``"1h30m"``, ``"90m"`` or a number.
        bare_unit: what a number without a unit counts: ``"d"`` for maintenance, ``"h"`` for cron.
    """
    text = _scalar_text(value)
    one = _ONE_DURATION.fullmatch(text)
    if one is not None:
        return _rounded(float(one[1]) * _UNIT_MS[one[2] or bare_unit])
    total, end = 0.0, 0
    for part in _DURATION_PART.finditer(text):
        if part.start() != end:
            return None
        total += float(part[1]) * _UNIT_MS[part[2]]
        end = part.end()
    return _rounded(total) if end and end == len(text) else None


def parse_bytes(value: str | float) -> int | None:
    """Return a size in bytes (units are powers of 1024), or ``None`` when the real program would not read it."""
    match = _SIZE.fullmatch(_scalar_text(value))
    if match is None:
        return None
    unit = _UNIT_BYTES.get(match[2] or "b")
    return None if unit is None else _rounded(float(match[1]) * unit)


def _scalar_text(value: str | float) -> str:
    return trim(value if isinstance(value, str) else number_text(value)).lower()


def _rounded(value: float) -> int | None:
    return round_half_up(value) if math.isfinite(value) else None
