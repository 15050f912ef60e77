"""Values as people read them."""

from __future__ import annotations

import pytest

from rows_factory import NOW_MS
from strandline_gui import wording


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "–"),
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KB"),
        (38 * 1024, "38 KB"),
        (10 * 1024 - 1, "10 KB"),
        (1024**2 - 1, "1.0 MB"),
        (8_598_323, "8.2 MB"),
        (43_000_000, "41 MB"),
        (3 * 1024**3, "3.0 GB"),
        (5 * 1024**5, "5.0 PB"),
    ],
)
def test_sizes(count: int | None, text: str) -> None:
    """A size has two or three figures and its unit."""
    assert wording.size_text(count) == text


@pytest.mark.parametrize(
    ("ago", "text"),
    [
        (0, "now"),
        (9_000, "now"),
        (18_000, "18 s"),
        (-30_000, "in 30 s"),
        (120_000, "2 min"),
        (3_600_000, "1 h"),
        (86_400_000 * 2.5, "2 d"),
        (86_400_000 * 800, "2 y"),
    ],
)
def test_ages(ago: float, text: str) -> None:
    """An age is told in its largest unit; what lies ahead says so."""
    assert wording.age_text(NOW_MS - ago, NOW_MS) == text


def test_unknown_is_not_zero() -> None:
    """What is not known is a dash, in words in the tooltip."""
    assert wording.age_text(None, NOW_MS) == wording.percent_text(None) == wording.count_text(None) == "–"
    assert wording.percent_text(0.0) == "0 %"
    assert wording.moment_text(None) == "time unknown"


@pytest.mark.parametrize("moment", [1e20, -1e20, 8.64e15 + 1])
def test_times_outside_the_calendar(moment: float) -> None:
    """A time that no calendar holds is named, not raised."""
    assert "calendar" in wording.moment_text(moment)
    assert wording.age_text(moment, NOW_MS)


def test_moments_carry_their_zone() -> None:
    """An absolute time names its zone and its offset."""
    assert wording.moment_text(NOW_MS).count("UTC") >= 1
    assert wording.moment_text(NOW_MS)[:4] == "2026"


@pytest.mark.parametrize(
    ("channel", "internal", "text"),
    [
        ("", False, "–"),
        ("telegram", False, "Telegram"),
        ("webchat", False, "Web chat"),
        ("cron", True, "cron"),
        ("acp", True, "ACP"),
        ("zulip", False, "Zulip"),
    ],
)
def test_channels(channel: str, internal: bool, text: str) -> None:
    """Channels are written as their makers write them; the program's own stay small."""
    assert wording.channel_text(channel, internal=internal) == text
