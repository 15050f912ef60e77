"""The sessions page with real widgets: filter, selection, columns, states."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QMenu

from rows_factory import NOW_MS, make_facts, make_row
from strandline.rows import (
    FactsRead,
    LoadFinished,
    RowsRead,
    StoreReplaced,
    StoreState,
    StoreUpdated,
    StoreView,
    TranscriptState,
)
from strandline_gui.bridge import Bridge
from strandline_gui.models.columns import Column
from strandline_gui.pages import store_states
from strandline_gui.pages.session_columns import USUAL
from strandline_gui.widgets.button import Button

if TYPE_CHECKING:
    from collections.abc import Callable

    from strandline.rows import DirectoryView, SessionRow
    from strandline_gui.pages.sessions_page import SessionsPage

    Page = tuple[SessionsPage, Bridge, list[DirectoryView]]
    Fill = Callable[[tuple[SessionRow, ...]], None]


def store(agent: str = "main", state: StoreState = StoreState.READ, **changes: Any) -> StoreView:
    """Return a store in a state."""
    return StoreView(agent_id=agent, path=f"/s/{agent}/sessions.json", configured=True, state=state, **changes)


def press(page: SessionsPage, text: str) -> None:
    """Type into the filter and wait until it applies."""
    page.filter_field.set_text(text)


def test_slash_and_escape(page: Page, fill: Fill, rows: Any, qtbot: Any) -> None:
    """Esc in the filter clears it first and goes back to the table then; Down goes to the table at once."""
    shown = page[0]
    fill(rows(30))
    shown.focus_filter()
    qtbot.waitUntil(shown.filter_field.edit.hasFocus)
    QTest.keyClicks(shown.filter_field.edit, "tide")
    qtbot.waitUntil(lambda: shown.model.rowCount() == 10)
    QTest.keyClick(shown.filter_field.edit, Qt.Key.Key_Escape)
    assert shown.filter_field.text() == ""
    assert shown.model.rowCount() == 30
    QTest.keyClick(shown.filter_field.edit, Qt.Key.Key_Escape)
    assert shown.table.hasFocus()
    shown.focus_filter()
    QTest.keyClick(shown.filter_field.edit, Qt.Key.Key_Down)
    assert shown.table.hasFocus()


def test_filter_error_in_place(page: Page, fill: Fill, rows: Any) -> None:
    """A filter that is not understood keeps the rows and says what is wrong and where; mending it takes that away."""
    shown = page[0]
    fill(rows(10))
    press(shown, "agent:main ctx>x")
    assert "column 16" in shown._error.text()
    assert shown._error_icon.isVisible()
    assert shown.model.rowCount() == 10
    assert "column 16" in shown.filter_field.edit.accessibleDescription()
    press(shown, "agent:main")
    assert shown._error.text() == ""
    assert not shown._error_icon.isVisible()


def test_nothing_matches(page: Page, fill: Fill, rows: Any, qtbot: Any) -> None:
    """A filter that lets nothing through says so and offers to clear itself."""
    shown = page[0]
    fill(rows(10))
    press(shown, "zzz")
    card = shown.state.card
    assert card is not None
    assert "zzz" in card.text
    button = next(found for found in shown.state.findChildren(Button) if found.text() == "Clear the filter")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert shown.state.shows_content
    assert shown.model.rowCount() == 10
    assert shown._count.text() == "10 of 10"


def test_selection_follows_the_session(page: Page, fill: Fill, rows: Any, qapp: Any) -> None:
    """Whatever happens to the rows, the selected session stays selected while it is on show (A31)."""
    shown, bridge, _ = page
    tester = QAbstractItemModelTester(shown.model, QAbstractItemModelTester.FailureReportingMode.Warning)
    found = list(rows(300))
    fill(tuple(found))
    key = shown.model.key_at(120)
    shown.table.select_row(120)
    rng = random.Random(31)
    for step in range(100):
        press(shown, rng.choice(("", "tide", "reef", "buoy", "-tide", "agent:main", "u1")))
        if step % 3 == 0:
            changed = [row for row in found if (0, row.key) == key or rng.random() > 0.05]
            found = [*changed, make_row(key=f"new-{step}", name=f"reef {step}", position=900 + step)]
            bridge.store_replaced.emit(StoreReplaced(revision=step, store=0, rows=tuple(found), changed=(), removed=()))
        if step % 5 == 0:
            shown.columns.sort_by(rng.choice(list(Column)))
        qapp.processEvents()
        row = shown.model.row_of(key)
        selected = shown.table.selectionModel().selectedRows()
        assert [index.row() for index in selected] == ([row] if row >= 0 else [])
    press(shown, "")
    assert shown.model.key_at(shown.table.currentIndex().row()) == key
    del tester


def test_rows_wait_under_the_pointer(page: Page, fill: Fill, rows: Any) -> None:
    """Rows that change stay where they are until the table is idle, then they are sorted in."""
    shown, bridge, _ = page
    found = rows(20, updated_at=NOW_MS - 60_000)
    fill(found)
    last = shown.model.key_at(19)
    newer = tuple(
        make_row(key=row.key, name=row.name, updated_at=NOW_MS if row.key == last[1] else row.updated_at)
        for row in found
    )
    bridge.store_replaced.emit(StoreReplaced(revision=2, store=0, rows=newer, changed=(last[1],), removed=()))
    assert shown.model.row_of(last) == 19
    assert shown._idle.isActive()
    shown._resort_when_idle()
    assert shown.model.row_of(last) == 0


def test_keyboard_moves_by_rows(page: Page, fill: Fill, rows: Any) -> None:
    """Arrow keys, Home, End and typing move from session to session; the columns are no stops."""
    shown = page[0]
    fill(rows(50))
    table = shown.table
    table.setFocus()
    for key, row in (
        (Qt.Key.Key_Home, 0),
        (Qt.Key.Key_Down, 1),
        (Qt.Key.Key_Right, 1),
        (Qt.Key.Key_End, 49),
        (Qt.Key.Key_Up, 48),
    ):
        QTest.keyClick(table, key)
        assert table.currentIndex().row() == row
    shown.model.sort(Column.NAME, Qt.SortOrder.AscendingOrder)
    QTest.keyClicks(table, "tide 1")
    assert shown.model.line(table.currentIndex().row()).row.name.startswith("tide 1")
    assert not table.tabKeyNavigation()


def test_copies_the_stored_key(page: Page, fill: Fill) -> None:
    """The copy shortcut takes the whole key as stored; copying the row puts it before the cells."""
    shown = page[0]
    fill((make_row(key="Agent:MAIN:slack:direct:U1 ", name="odd"),))
    shown.table.select_row(0)
    QTest.keyClick(shown.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "Agent:MAIN:slack:direct:U1 "
    shown.copy_row()
    cells = QGuiApplication.clipboard().text().split("\t")
    assert cells[:3] == ["Agent:MAIN:slack:direct:U1 ", "idle", "odd"]


def test_columns_give_way(page: Page, fill: Fill, rows: Any, qtbot: Any) -> None:
    """A narrow table hides the channel, then the agent; a wide one shows what was asked for."""
    shown = page[0]
    fill(rows(5))
    for width, hidden in ((1000, set()), (740, {Column.CHANNEL}), (540, {Column.CHANNEL, Column.AGENT})):
        shown.resize(width, 500)
        qtbot.waitUntil(lambda hidden=hidden: {c for c in USUAL if not shown.columns.is_on_show(c)} == hidden)
    shown.resize(1000, 500)
    menu = QMenu(shown)
    shown.columns.fill_menu(menu)
    model = next(action for action in menu.actions() if action.text() == "Model")
    assert not model.isChecked()
    with qtbot.waitSignal(shown.columns.changed):
        model.trigger()
    assert shown.columns.is_on_show(Column.MODEL)


def test_header_sorts(page: Page, fill: Fill, rows: Any, qtbot: Any, click: Any) -> None:
    """A click on a heading sorts by it, the largest first for figures; a second one turns it round."""
    shown = page[0]
    fill(rows(20))
    header = shown.table.horizontalHeader()
    at = QPoint(header.sectionViewportPosition(Column.CONTEXT) + 20, 10)
    click(header.viewport(), at)
    assert (shown.model.sort_column, shown.model.sort_order) == (Column.CONTEXT, Qt.SortOrder.DescendingOrder)
    qtbot.wait(10)
    click(header.viewport(), at)
    assert shown.model.sort_order == Qt.SortOrder.AscendingOrder
    assert header.sortIndicatorSection() == Column.CONTEXT


@pytest.mark.parametrize(
    ("stores", "heading", "text"),
    [
        ((store(state=StoreState.MISSING),), "No sessions here yet", "first message that an agent answers"),
        (
            (store(state=StoreState.DAMAGED, damage="/s: byte 7: cut", recovery=("sessions.json.bak",)),),
            "The store of agent main cannot be read",
            "sessions.json.bak",
        ),
        (
            (store(state=StoreState.DAMAGED), store("work", StoreState.DAMAGED)),
            "2 stores cannot be read",
            "unharmed",
        ),
        (
            (
                store(state=StoreState.NEWER, row_count=9, remark="9 sessions live there"),
                store("b", StoreState.MISSING),
            ),
            "The sessions live in the newer store",
            "nothing was changed",
        ),
    ],
)
def test_says_why_there_is_no_row(
    page: Page, directory: Any, stores: tuple[StoreView, ...], heading: str, text: str
) -> None:
    """An empty, a damaged and a newer directory each say what they are; none is an empty table."""
    shown, bridge, view = page
    view[0] = directory(*stores)
    bridge.store_updated.emit(StoreUpdated(revision=1, store=0, view=stores[0]))
    card = shown.state.card
    assert card is not None
    assert card.heading == heading
    assert text in card.text
    assert not shown.state.shows_content
    assert card.choices


def test_readable_stores_stay_usable(page: Page, fill: Fill, rows: Any, directory: Any, qtbot: Any) -> None:
    """One damaged store is a banner with details over the rows of the others; its details can be copied."""
    shown, bridge, view = page
    damaged = store("work", StoreState.DAMAGED, damage="/s/work: byte 2,412,118: the text ends inside a string")
    view[0] = directory(store(), damaged)
    fill(rows(5))
    bridge.store_updated.emit(StoreUpdated(revision=1, store=1, view=damaged))
    assert shown.state.shows_content
    assert [banner.title for banner in shown.state.banners] == [
        "The store of agent work cannot be read; its sessions are not in the list"
    ]
    qtbot.waitUntil(lambda: any(found.isVisible() for found in shown.state.findChildren(Button)))
    buttons = {found.text(): found for found in shown.state.findChildren(Button) if found.isVisible()}
    qtbot.mouseClick(buttons["Copy details"], Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == damaged.damage
    with qtbot.waitSignal(shown.retry_asked):
        qtbot.mouseClick(buttons["Retry"], Qt.MouseButton.LeftButton)


def test_remote_and_problems_are_told(page: Page, fill: Fill, rows: Any, directory: Any) -> None:
    """A remote gateway and a damaged configuration each stand above the rows."""
    shown, _, view = page
    view[0] = directory(authority="remote", remote_url="wss://box.example", problems=("line 3: odd", "line 9: odd"))
    fill(rows(3))
    titles = [banner.title for banner in shown.state.banners]
    assert titles == [
        "This machine's files are not what the gateway at wss://box.example uses",
        "The configuration has 2 problems",
    ]


def test_loading_then_partial_then_whole(page: Page, rows: Any, facts_of: Any, directory: Any, qtbot: Any) -> None:
    """While it loads: nothing for a moment, then a skeleton; rows at once; how many facts are there; then only rows."""
    shown, _, view = page
    bridge = Bridge(shown)
    view[0] = directory(store(state=StoreState.READING), store("work", StoreState.PENDING))
    shown.attach(lambda: view[0], bridge)
    assert shown.state._stack.currentWidget() is shown.state._blank
    qtbot.waitUntil(lambda: shown.state._stack.currentWidget() is shown.state._skeleton)
    assert not shown.settled
    found = rows(20)
    bridge.rows_read.emit(RowsRead(revision=1, store=0, rows=found))
    assert shown.state.shows_content
    assert not shown.has_sorted_rows
    view[0] = directory(store(), store("work"))
    bridge.store_updated.emit(StoreUpdated(revision=2, store=0, view=view[0].stores[0]))
    assert shown.has_sorted_rows
    bridge.facts_read.emit(FactsRead(revision=3, store=0, facts=facts_of(found[:7])))
    shown._become_partial()
    assert [banner.title for banner in shown.state.banners] == ["Facts for 7 of 20"]
    bridge.facts_read.emit(FactsRead(revision=4, store=0, facts=facts_of(found[7:])))
    bridge.load_finished.emit(LoadFinished(revision=5, bytes_on_disk=100))
    assert shown.state.banners == ()
    assert shown.settled


def test_slices_gather_before_they_show(page: Page, rows: Any, directory: Any, qtbot: Any) -> None:
    """The first slice shows at once; later ones are taken in together, and none is lost at the end."""
    shown, bridge, view = page
    view[0] = directory(store(state=StoreState.READING))
    for first in range(0, 100, 10):
        bridge.rows_read.emit(RowsRead(revision=first, store=0, rows=rows(10, first=first)))
    assert shown.model.total == 10
    view[0] = directory()
    bridge.store_updated.emit(StoreUpdated(revision=200, store=0, view=view[0].stores[0]))
    assert shown.model.total == 100
    qtbot.wait(150)
    assert shown.model.total == 100


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (TranscriptState.MISSING, "transcript missing"),
        (TranscriptState.MOVED, "transcript moved"),
        (TranscriptState.POINTER_BROKEN, "pointer broken"),
        (TranscriptState.OUTSIDE, "transcript outside"),
        (TranscriptState.REFUSED_NAME, "file name refused"),
        (TranscriptState.ROW_NEWER, "idle"),
    ],
)
def test_transcript_states_in_words(page: Page, fill: Fill, state: TranscriptState, word: str) -> None:
    """Every trouble with a transcript has its words; what is merely so does not shout."""
    shown, bridge, _ = page
    row = make_row(status=None)
    fill((row,))
    bridge.facts_read.emit(FactsRead(revision=2, store=0, facts=(make_facts(state=state, note="A sentence."),)))
    index = shown.model.index(0, Column.STATUS)
    assert shown.model.data(index) == word
    assert shown.model.data(index, Qt.ItemDataRole.ToolTipRole) == f"{word}\nA sentence."


def test_unreadable_is_not_counted_as_none(directory: Any) -> None:
    """A damaged store makes no "0 sessions"; what a newer store holds is counted."""
    dark = directory(store(state=StoreState.DAMAGED))
    assert store_states.count_of(dark, 0) == "–"
    assert store_states.summary_of(dark, 0, None, NOW_MS)[0] == "1 store unreadable"
    newer = directory(store(state=StoreState.NEWER, row_count=412))
    assert store_states.count_of(newer, 0) == "412"
    assert store_states.summary_of(newer, 0, None, NOW_MS)[0] == "412 sessions in 1 agent"
    assert store_states.summary_of(directory(), 1, NOW_MS, NOW_MS)[-1] == "last change just now"
