"""Numbers in sentences."""

from __future__ import annotations


def count_text(tokens: float) -> str:
    """Return a count with thousands separators and a real minus sign, as ``200,000`` or ``−8,000``."""
    return f"{tokens:,}".replace("-", "−")


def percent_text(share: float) -> str:
    """Return a share as a percentage with at most one decimal, as ``10.5 %``."""
    return f"{share * 100:.1f}".removesuffix(".0") + " %"
