"""Tables as a notebook shows them, and the words for sizes and ages."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from state_tree import NOON_MS, fixed, write_store
from strandline.gateway import open_gateway
from strandline.tables import age_text, size_text, time_text

if TYPE_CHECKING:
    from pathlib import Path

    from strandline.tables import FileTable, SessionTable


def _tables(rows: Any, place: Path) -> tuple[SessionTable, FileTable]:
    write_store(place / "state", rows)

    async def ask() -> tuple[SessionTable, FileTable]:
        async with open_gateway(place / "state", environment=fixed(place)) as gateway:
            return await gateway.sessions(), await gateway.files()

    return asyncio.run(ask())


def test_html_is_escaped(tmp_path: Path) -> None:
    """A name or key that is markup is shown as text."""
    table, _ = _tables({"agent:main:<b>x</b>": {"label": "<script>alert('tide')</script>&"}}, tmp_path)
    html = table._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;alert(&#x27;tide&#x27;)&lt;/script&gt;&amp;" in html
    assert "agent:main:&lt;b&gt;x&lt;/b&gt;" in html


def test_long_table_shows_its_head_and_says_so(tmp_path: Path) -> None:
    """Fifty rows are shown of sixty; the table itself holds all, newest first."""
    table, files = _tables({f"agent:main:x{at}": {"updatedAt": at} for at in range(60)}, tmp_path)
    assert table._repr_html_().count("<tr>") == 51
    assert "50 of 60 sessions" in table._repr_html_()
    assert [record.row.updated_at for record in table] == list(range(59, -1, -1))
    assert table[0].row.key == "agent:main:x59"
    assert "1 files" in files._repr_html_()


def test_damage_stands_above_the_table(tmp_path: Path) -> None:
    """A table over an unreadable store says so where the rows would be."""
    table, _ = _tables(b"", tmp_path)
    assert table._repr_html_().startswith("<p>The store ")


def test_unknown_is_a_dash_and_an_unvouched_share_has_a_tilde(tmp_path: Path) -> None:
    """Unknown context is not 0 %."""
    table, _ = _tables(
        {
            "agent:main:a": {"totalTokens": 148_000, "updatedAt": 3},
            "agent:main:b": {"totalTokens": 124_000, "totalTokensFresh": False, "updatedAt": 2},
            "agent:main:c": {"updatedAt": 1},
        },
        tmp_path,
    )
    html = table._repr_html_()
    assert "<td>74 %</td>" in html
    assert "<td>~62 %</td>" in html
    assert "<td>–</td>" in html


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, "–"), (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KB"), (10 * 1024, "10 KB"), (5 * 1024**4, "5120 GB")],
)
def test_sizes(count: float | None, text: str) -> None:
    """Powers of 1024; one decimal below ten."""
    assert size_text(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "now"), (18, "18 s"), (360, "6 min"), (4 * 3600, "4 h"), (50 * 3600, "2 d"), (-5, "in the future")],
)
def test_ages(seconds: int, text: str) -> None:
    """One unit, rounded down."""
    assert age_text(NOON_MS - seconds * 1000, NOON_MS) == text


def test_unknown_times_are_dashes() -> None:
    """No time and time 0 are both unknown."""
    assert age_text(None, NOON_MS) == age_text(0, NOON_MS) == time_text(None) == "–"
    assert time_text(NOON_MS) == "2026-05-20 12:00:00 UTC"
