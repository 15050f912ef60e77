"""The sessions model without a window: order, filter, facts, replacement; Qt's model tester looks on."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester

from rows_factory import NOW_MS, make_facts, make_row
from strandline.filters import parse_filter
from strandline.rows import StoreReplaced
from strandline_gui.models.columns import COLUMNS, Column
from strandline_gui.models.sessions_model import RowRole, SessionsModel, SortRole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

UP, DOWN = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder


@pytest.fixture
def model(qapp: Any) -> Iterator[SessionsModel]:
    """A model under the eyes of Qt's tester, which fails the test by a warning."""
    made = SessionsModel(clock=lambda: NOW_MS)
    tester = QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Warning)
    yield made
    del tester
    assert qapp is not None


def names(model: SessionsModel) -> list[str]:
    """Return the names from top to bottom."""
    return [model.line(row).row.name for row in range(model.rowCount())]


def values(model: SessionsModel, column: Column) -> list[Any]:
    """Return the raw sort values from top to bottom."""
    return [model.data(model.index(row, column), SortRole) for row in range(model.rowCount())]


@pytest.mark.parametrize("order", [UP, DOWN])
@pytest.mark.parametrize("column", Column)
def test_sorts_by_raw_values(
    model: SessionsModel, rows: Callable[..., Any], facts_of: Callable[..., Any], column: Column, order: Qt.SortOrder
) -> None:
    """Every column sorts by its raw values both ways, what is unknown last, equal ones in the order of the file."""
    found = rows(60)
    model.append_rows(found)
    model.merge_facts(facts_of(found[:40]))
    model.sort(column, order)
    got = values(model, column)
    known = [value for value in got if value is not None]
    assert known == sorted(known, reverse=order == DOWN)
    assert got == known + [None] * (len(got) - len(known))
    positions: dict[Any, list[int]] = {}
    for row, value in enumerate(got):
        positions.setdefault(value, []).append(model.line(row).row.position)
    assert all(group == sorted(group) for group in positions.values())


def test_slices_take_their_place(model: SessionsModel, rows: Callable[..., Any]) -> None:
    """Rows that stream in stand where a sort of all of them would put them."""
    found = list(rows(200))
    whole = SessionsModel(clock=lambda: NOW_MS)
    whole.append_rows(found)
    for first in range(0, 200, 23):
        model.append_rows(found[first : first + 23])
    assert names(model) == names(whole)
    assert model.total == 200


def test_filters_plain_words_as_the_parser_says(model: SessionsModel, rows: Callable[..., Any]) -> None:
    """The prepared way of looking for words finds exactly what ``Filter.matches`` finds."""
    found = rows(100)
    model.append_rows(found)
    for text in (
        "tide",
        "-tide",
        "TIDE 1",
        "u9",
        '"reef 1"',
        "agent:main tide",
        "ctx:unknown",
        "channel:slack -buoy",
        "zzz",
    ):
        wanted = parse_filter(text)
        model.set_filter(wanted)
        expected = {row.key for row in found if wanted.matches(row, None, NOW_MS)}
        assert {model.key_at(row)[1] for row in range(model.rowCount())} == expected, text


def test_filter_keeps_the_order(model: SessionsModel, rows: Callable[..., Any]) -> None:
    """Filtered rows stand in the chosen order, before and after another sort and more rows."""
    model.append_rows(rows(50))
    model.set_filter(parse_filter("tide"))
    model.sort(Column.NAME, UP)
    model.append_rows(rows(50, first=50))
    model.sort(Column.CONTEXT, DOWN)
    got = values(model, Column.CONTEXT)
    known = [value for value in got if value is not None]
    assert known == sorted(known, reverse=True)
    assert all(name.startswith("tide") for name in names(model))
    model.set_filter(parse_filter(""))
    assert model.rowCount() == 100


def test_persistent_indexes_follow_their_session(model: SessionsModel, rows: Callable[..., Any]) -> None:
    """A sort moves every persistent index with its session."""
    model.append_rows(rows(80))
    kept = {model.key_at(row): QPersistentModelIndex(model.index(row, row % 10)) for row in range(80)}
    for column in Column:
        model.sort(column, DOWN)
        for key, index in kept.items():
            assert model.key_at(index.row()) == key


def test_large_numbers_arrive_whole(model: SessionsModel) -> None:
    """A transcript of 3 GB and a time in ms are right as text and as raw values: nothing is cut to 32 bits (A32)."""
    size = 3 * 1024**3
    moment = 1_779_278_400_123
    model.append_rows([make_row(updated_at=moment)])
    model.merge_facts([make_facts(bytes=size)])
    at_size, at_active = model.index(0, Column.SIZE), model.index(0, Column.ACTIVE)
    assert model.data(at_size) == "3.0 GB"
    assert model.data(at_size, Qt.ItemDataRole.ToolTipRole).endswith("3,221,225,472 bytes")
    assert model.data(at_size, SortRole) == size
    assert model.data(at_active, SortRole) == moment
    assert at_size.data(SortRole) == size  # through Qt and back
    assert at_active.data(SortRole) == moment
    assert at_size.data(RowRole).size == size
    assert "2026-05-20" in at_active.data(Qt.ItemDataRole.ToolTipRole)


def test_facts_find_their_row(model: SessionsModel) -> None:
    """Facts go by store and key, whatever the order; facts of a row that is gone are dropped."""
    model.append_rows([make_row(key="a", name="a"), make_row(key="a", name="b", store=1, position=1)])
    model.merge_facts([make_facts(key="a", store=1, bytes=7), make_facts(key="gone", bytes=9)])
    sizes = {model.line(row).row.name: model.line(row).size for row in range(2)}
    assert sizes == {"a": None, "b": 7}
    assert model.facts_known == 1


def test_dropped_rows_say_so(model: SessionsModel) -> None:
    """A row that OpenClaw drops is shown, with the reason."""
    model.append_rows([make_row(dropped="its sessionId is no text")])
    assert model.data(model.index(0, Column.STATUS)) == "OpenClaw drops this row: its sessionId is no text"


@pytest.mark.parametrize("seed", range(4))
def test_replacements_agree_with_a_fresh_start(
    model: SessionsModel, rows: Callable[..., Any], facts_of: Callable[..., Any], seed: int
) -> None:
    """After any run of slices, facts, filters, sorts and replacements the rows are those of a fresh model."""
    rng = random.Random(seed)
    found = {0: list(rows(40)), 1: list(rows(20, store=1))}
    model.append_rows(found[0])
    model.append_rows(found[1])
    for step in range(30):
        store = rng.randrange(2)
        match rng.randrange(4):
            case 0:
                kept = [row for row in found[store] if rng.random() > 0.2]
                new = [make_row(store=store, key=f"new-{step}", name=f"tide new {step}", position=99)]
                changed = [make_row(store=store, key=row.key, name=row.name, position=row.position) for row in kept[:3]]
                found[store] = [*changed, *kept[3:], *new]
                model.replace_store(
                    StoreReplaced(revision=step, store=store, rows=tuple(found[store]), changed=(), removed=())
                )
            case 1:
                model.set_filter(parse_filter(rng.choice(("", "tide", "-reef", "ctx>50%"))))
            case 2:
                model.sort(rng.choice(list(Column)), rng.choice((UP, DOWN)))
            case _:
                model.merge_facts(facts_of(tuple(found[store])))
    model.resort()
    expected = {
        (row.store, row.key) for group in found.values() for row in group if model.filter.matches(row, None, NOW_MS)
    }
    assert {model.key_at(row) for row in range(model.rowCount())} == expected
    assert model.total == len(found[0]) + len(found[1])
    got = values(model, model.sort_column)
    known = [value for value in got if value is not None]
    assert known == sorted(known, reverse=model.sort_order == DOWN)


def test_same_keys_replace_in_place(model: SessionsModel, rows: Callable[..., Any], qtbot: Any) -> None:
    """A replacement that adds and removes nothing moves no row and resets nothing."""
    found = rows(30)
    model.append_rows(found)
    before = [model.key_at(row) for row in range(30)]
    with qtbot.assertNotEmitted(model.modelReset), qtbot.waitSignal(model.dataChanged):
        newer = tuple(make_row(key=row.key, name=row.name, updated_at=NOW_MS + 1) for row in found)
        model.replace_store(StoreReplaced(revision=2, store=0, rows=newer, changed=(), removed=()))
    assert [model.key_at(row) for row in range(30)] == before


@pytest.mark.parametrize("column", Column)
def test_every_cell_speaks(model: SessionsModel, rows: Callable[..., Any], column: Column) -> None:
    """Every cell has a tooltip and a text for screen readers that names its column."""
    model.append_rows(rows(12))
    for row in range(12):
        index = model.index(row, column)
        assert model.data(index, Qt.ItemDataRole.ToolTipRole)
        spoken = model.data(index, Qt.ItemDataRole.AccessibleTextRole)
        assert isinstance(spoken, str)
        assert spoken.startswith(COLUMNS[column].spoken)
