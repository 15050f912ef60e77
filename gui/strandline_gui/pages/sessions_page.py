"""The sessions page: which sessions are there, and how do they stand?"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QMenu, QVBoxLayout, QWidget

from strandline.errors import BadRequest
from strandline.filters import parse_filter
from strandline_gui.models.columns import COLUMNS, Column
from strandline_gui.models.sessions_model import SessionsModel
from strandline_gui.pages import store_states
from strandline_gui.pages.session_columns import SessionColumns
from strandline_gui.pages.store_states import Deeds
from strandline_gui.theme import Concept, Role, Size, Space, Text, Timing, font
from strandline_gui.widgets.button import Button, Look
from strandline_gui.widgets.filter_field import FilterField
from strandline_gui.widgets.labels import Ground, IconLabel, TokenLabel
from strandline_gui.widgets.page_state import PageState
from strandline_gui.widgets.session_table import SessionTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from strandline.rows import DirectoryView, FactsRead, LoadFinished, RowsRead, SessionRow, StoreReplaced
    from strandline_gui.bridge import Bridge
    from strandline_gui.models.sessions_model import RowKey


class SessionsPage(QWidget):
    """Filter, table, and the state they are in.

    Signals:
        open_sample_asked, open_directory_asked, retry_asked: a card or banner asks for it.
        rows_changed: the number of rows, or the newest change, is another one.
        told: something worth a notice happened.
    """

    open_sample_asked = Signal()
    open_directory_asked = Signal()
    retry_asked = Signal()
    rows_changed = Signal()
    told = Signal(str)

    def __init__(self, clock: Callable[[], int] | None = None) -> None:
        super().__init__()
        self.model = SessionsModel(self, clock=clock)
        self.table = SessionTable(self.model)
        self.state = PageState(self.table)
        self.filter_field = FilterField(self.tr("Filter sessions"))
        self.columns = SessionColumns(self.table, self.model)
        self._view: Callable[[], DirectoryView] | None = None
        self._failure = ""
        self._waiting: list[SessionRow] = []
        self._rows_finished = False
        self._finished = False
        self._show_partial = False
        self._current: RowKey | None = None
        self._top: RowKey | None = None
        self._build()
        self._wire()

    @property
    def settled(self) -> bool:
        """Whether the first load is complete and shown."""
        return bool(self._failure) or (self._finished and not self._waiting)

    @property
    def has_sorted_rows(self) -> bool:
        """Whether every row has been read and stands where it belongs."""
        return self._rows_finished and not self._waiting and self.model.rowCount() > 0

    def attach(self, view: Callable[[], DirectoryView], bridge: Bridge) -> None:
        """Show a directory; ``view`` says what is known of it at the time of the call."""
        self._reset()
        self._view = view
        bridge.rows_read.connect(self._take_rows)
        bridge.facts_read.connect(self._take_facts)
        bridge.store_updated.connect(self._update_state)
        bridge.store_replaced.connect(self._replace)
        bridge.load_finished.connect(self._finish)
        bridge.directory_updated.connect(self._update_state)
        self._update_state()

    def show_failure(self, sentence: str) -> None:
        """Show that the directory could not be opened."""
        self._reset()
        self._failure = sentence
        self._update_state()

    def show_opening(self) -> None:
        """Show that a directory is being opened."""
        self._reset()
        self._update_state()

    def copy_key(self) -> None:
        """Put the current session's whole key, as stored, on the clipboard."""
        row = self.table.currentIndex().row()
        if 0 <= row < self.model.rowCount():
            key = self.model.line(row).row.key
            QGuiApplication.clipboard().setText(key)
            self.told.emit(self.tr("Copied {key}").format(key=key))

    def copy_row(self) -> None:
        """Put the current session's visible cells on the clipboard, parted by tabs, the key first."""
        row = self.table.currentIndex().row()
        if 0 <= row < self.model.rowCount():
            line = self.model.line(row)
            cells = [
                COLUMNS[column].text(line, self.model.now_ms()) for column in Column if self.columns.is_on_show(column)
            ]
            QGuiApplication.clipboard().setText("\t".join([line.row.key, *cells]))
            self.told.emit(self.tr("Copied the row of {name}").format(name=line.row.name))

    def focus_filter(self) -> None:
        """Put the keyboard into the filter."""
        self.filter_field.edit.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.filter_field.edit.selectAll()

    def refresh_state(self) -> None:
        """Look at the directory's view again."""
        self._update_state()

    def _build(self) -> None:
        self._error_icon = IconLabel(Concept.DAMAGED, Role.BAD)
        self._error = TokenLabel("", Text.CAPTION, Role.BAD, wrap=True)
        self._count = TokenLabel("", Text.BODY, Role.MUTED)
        self._columns_button = Button(look=Look.QUIET, concept=Concept.COLUMNS, name=self.tr("Columns"))
        self.filter_field.setFixedWidth(Size.FILTER_WIDTH)
        self._tools = Ground(Role.SURFACE, line_below=True)
        row = QHBoxLayout(self._tools)
        row.setContentsMargins(Space.L, 0, Space.L - Space.XS, 0)
        row.setSpacing(Space.S)
        row.addWidget(self.filter_field)
        row.addSpacing(Space.XS)
        row.addWidget(self._error_icon)
        row.addWidget(self._error, 1)
        row.addStretch(0)
        row.addWidget(self._count)
        row.addWidget(self._columns_button)
        self._tools.setFixedHeight(Size.TOOL_ROW)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._tools)
        layout.addWidget(self.state, 1)
        self._error_icon.hide()
        self.table.setAccessibleName(self.tr("Sessions"))

    def _wire(self) -> None:
        self._flush = self._timer(Timing.FLUSH, self._flush_rows, single=True)
        self._idle = self._timer(Timing.IDLE, self._resort_when_idle, single=True)
        self._ages = self._timer(Timing.AGES, self._grow_ages, single=False)
        self._ages.start()
        self._patience = self._timer(Timing.SKELETON * 3, self._become_partial, single=True)
        self.filter_field.changed.connect(self._apply_filter)
        self.filter_field.left.connect(self.table.setFocus)
        self.table.copy_asked.connect(self.copy_key)
        self.table.customContextMenuRequested.connect(self._row_menu)
        self._columns_button.clicked.connect(self._open_columns)
        self.table.selectionModel().currentRowChanged.connect(self._remember_current)
        self.model.modelAboutToBeReset.connect(self._remember_top)
        self.model.modelReset.connect(self._restore_place)

    def _timer(self, interval: int, call: Callable[[], None], *, single: bool) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(single)
        timer.setInterval(interval)
        timer.timeout.connect(call)
        return timer

    def _reset(self) -> None:
        self._view, self._failure = None, ""
        self._rows_finished = self._finished = self._show_partial = False
        self._waiting.clear()
        self._flush.stop()
        self._patience.start()
        self._current = None
        self.model.clear()
        self.rows_changed.emit()

    def _take_rows(self, event: RowsRead) -> None:
        self._waiting.extend(event.rows)
        if not self.model.total:
            self._flush_rows()
        elif not self._flush.isActive():
            self._flush.start()

    def _flush_rows(self) -> None:
        first = not self.model.total and bool(self._waiting)
        rows, self._waiting = self._waiting, []
        self.model.append_rows(rows)
        if first:
            self.table.scrollToTop()
        self._update_state()
        self.rows_changed.emit()

    def _take_facts(self, event: FactsRead) -> None:
        self._flush_rows_now()
        self.model.merge_facts(event.facts)
        if self._finished:
            self._idle.start()
        else:
            self._update_state()

    def _flush_rows_now(self) -> None:
        if self._waiting:
            self._flush.stop()
            self._flush_rows()

    def _replace(self, event: StoreReplaced) -> None:
        self._flush_rows_now()
        self.model.replace_store(event)
        self._idle.start()
        self._update_state()
        self.rows_changed.emit()

    def _finish(self, _event: LoadFinished) -> None:
        self._flush_rows_now()
        self._finished = True
        if self.model.filter.needs_facts:
            self.model.refilter()
        self.model.resort()
        self._update_state()
        self.rows_changed.emit()

    def _become_partial(self) -> None:
        self._show_partial = True
        self._update_state()

    def _resort_when_idle(self) -> None:
        """Sort once nobody is pointing at a row that would move away."""
        if self.table.viewport().underMouse() and time.monotonic() - self.table.pointer_moved_at < Timing.IDLE / 1000:
            self._idle.start()
            return
        if self.model.filter.needs_facts:
            self.model.refilter()
        self.model.resort()

    def _grow_ages(self) -> None:
        self.model.tick()
        self.rows_changed.emit()

    def _apply_filter(self, text: str) -> None:
        try:
            wanted = parse_filter(text)
        except BadRequest as error:
            sentence = str(error)
        else:
            sentence = ""
            self.model.set_filter(wanted)
        self.filter_field.mark_wrong(sentence)
        self._error.setText(sentence)
        self._error.setToolTip(sentence)
        self._error_icon.setVisible(bool(sentence))
        self._update_state()

    def _update_state(self, _event: object = None) -> None:
        """Choose between rows, card and skeleton, and the banners above them."""
        model, view = self.model, self._view() if self._view else None
        self._tools.setVisible(model.total > 0)
        if self._failure:
            self.state.show_banners(())
            self.state.show_card(store_states.failure_card(self._failure, self._act))
            return
        if view is None:
            self.state.show_banners(())
            self.state.show_loading(self.tr("Opening the directory"), "", None)
            return
        model.set_stale(stale=view.authority == "remote")
        reading = store_states.is_reading(view)
        if not reading and self._waiting:
            self._flush.stop()
            self._flush_rows()
            return
        self._rows_finished = not reading
        banners = list(store_states.banners_of(view, self._act, with_rows=model.total > 0))
        if self._show_partial and not self._finished and not reading and model.total:
            banners.append(store_states.facts_banner(model.facts_known, model.total))
        self.state.show_banners(banners)
        self._count.setText(
            self.tr("{shown} of {total}").format(shown=f"{model.rowCount():,}", total=f"{model.total:,}")
        )
        if model.total and model.rowCount():
            self.state.show_content()
        elif model.total and not reading:
            self.state.show_card(store_states.no_match_card(self.filter_field.text(), self._act))
        elif reading or self._waiting:
            self.state.show_loading(self.tr("Reading sessions"), *store_states.read_share(view, model.total))
        else:
            self.state.show_card(store_states.card_without_rows(view, self._act))

    def _act(self, deed: Deeds) -> Callable[[], None]:
        return {
            Deeds.OPEN_SAMPLE: self.open_sample_asked.emit,
            Deeds.OPEN_DIRECTORY: self.open_directory_asked.emit,
            Deeds.RETRY: self.retry_asked.emit,
            Deeds.COPY_DETAILS: self._copy_details,
            Deeds.CLEAR_FILTER: self.filter_field.clear,
        }[deed]

    def _copy_details(self) -> None:
        view = self._view() if self._view else None
        text = store_states.details_of(store_states.damaged_stores(view)) if view else self._failure
        QGuiApplication.clipboard().setText(text)
        self.told.emit(self.tr("Copied the details"))

    def _open_columns(self) -> None:
        button = self._columns_button
        menu = self.columns.menu()
        at = QPoint(button.width() - menu.sizeHint().width(), button.height())
        menu.popup(button.mapToGlobal(at))

    def _row_menu(self, at: QPoint) -> None:
        if not self.table.indexAt(at).isValid():
            return
        menu = QMenu(self)
        menu.setFont(font(Text.BODY))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("Copy key"), self.copy_key)
        menu.addAction(self.tr("Copy row"), self.copy_row)
        menu.popup(self.table.viewport().mapToGlobal(at))

    def _remember_current(self) -> None:
        row = self.table.currentIndex().row()
        if 0 <= row < self.model.rowCount():
            self._current = self.model.key_at(row)

    def _remember_top(self) -> None:
        row = self.table.rowAt(0)
        self._top = self.model.key_at(row) if 0 <= row < self.model.rowCount() else None

    def _restore_place(self) -> None:
        """After a reset the same session is selected, and the same one stands at the top where that is possible."""
        if self._top is not None and (row := self.model.row_of(self._top)) >= 0:
            self.table.scrollTo(self.model.index(row, Column.NAME), self.table.ScrollHint.PositionAtTop)
        if self._current is not None and (row := self.model.row_of(self._current)) >= 0:
            top = self.table.verticalScrollBar().value()
            self.table.select_row(row)
            self.table.verticalScrollBar().setValue(top)
