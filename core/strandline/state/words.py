"""Words for people that several verdicts share."""

from __future__ import annotations

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60))


def duration(ms: float) -> str:
    """Say a length of time in its largest unit, as ``3 h`` or ``1.5 min``; below a second in ``ms``."""
    seconds = max(0.0, ms) / 1000
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    name, size = next(((name, size) for name, size in _UNITS if seconds >= size), ("s", 1))
    return f"{seconds / size:.1f} {name}".replace(".0 ", " ")
