"""The table view of the sessions: keyboard as in a list, columns that give way, a slim scroll bar."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QItemSelectionModel, QRectF, Qt, Signal
from PySide6.QtGui import QKeySequence, QPainter
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QScrollBar, QTableView, QWidget

from strandline_gui import icons
from strandline_gui.models.columns import COLUMNS, Column
from strandline_gui.theme import Concept, Role, Size, Space, Text, theme
from strandline_gui.widgets.labels import Ground
from strandline_gui.widgets.painting import draw_text, text_width
from strandline_gui.widgets.session_delegate import SessionDelegate

if TYPE_CHECKING:
    from PySide6.QtCore import QModelIndex, QRect
    from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPaintEvent, QResizeEvent

    from strandline_gui.models.sessions_model import SessionsModel

_TYPING_SECONDS = 1.0


class SlimScrollBar(QScrollBar):
    """A thumb without a trough."""

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint ground and thumb."""
        tokens = theme().tokens
        painter = QPainter(self)
        painter.fillRect(self.rect(), tokens[Role.SURFACE])
        span = self.maximum() - self.minimum()
        if span <= 0:
            return
        upright = self.orientation() == Qt.Orientation.Vertical
        length = self.height() if upright else self.width()
        thumb = max(Size.SCROLL_MINIMUM, length * self.pageStep() / (span + self.pageStep()))
        at = (length - thumb) * (self.value() - self.minimum()) / span
        aside = (Size.SCROLL - Size.SCROLL_THUMB) / 2
        rect = QRectF(aside, at, Size.SCROLL_THUMB, thumb) if upright else QRectF(at, aside, thumb, Size.SCROLL_THUMB)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tokens[Role.CTL if self.underMouse() or self.isSliderDown() else Role.EDGE])
        painter.drawRoundedRect(rect, Size.SCROLL_THUMB / 2, Size.SCROLL_THUMB / 2)


class TableHeader(QHeaderView):
    """Headings in small type; the sorted one stands out and has its arrow."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.setFixedHeight(Size.HEADER)
        self.setMinimumSectionSize(Size.ROW)

    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:  # noqa: N803 - Qt's name
        """Paint one heading."""
        tokens = theme().tokens
        painter.fillRect(rect, tokens[Role.WINDOW])
        painter.fillRect(rect.left(), rect.bottom(), rect.width(), 1, tokens[Role.LINE])
        sorted_here = self.isSortIndicatorShown() and self.sortIndicatorSection() == logicalIndex
        spec = COLUMNS[logicalIndex]
        text = self.model().headerData(logicalIndex, Qt.Orientation.Horizontal) or ""
        area = QRectF(rect.adjusted(0, 0, -Space.L, -1))
        colour = tokens[Role.TEXT if sorted_here else Role.MUTED]
        if logicalIndex == Column.STATUS:
            area = QRectF(rect.left() + Space.L, rect.top(), Size.ICON, rect.height() - 1)
        draw_text(painter, area, str(text), Text.SECTION, colour, right=spec.right)
        if not sorted_here:
            return
        up = self.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder
        width = text_width(str(text), Text.SECTION)
        side = Space.M
        left = area.right() - width - Space.XS - side if spec.right else area.left() + width + (Space.XS if text else 0)
        arrow = QRectF(left, area.top() + (area.height() - side) / 2, side, side)
        icons.paint(painter, Concept.SORT_UP if up else Concept.SORT_DOWN, arrow, Role.TEXT)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the ground behind and beyond the headings."""
        painter = QPainter(self.viewport())
        tokens = theme().tokens
        painter.fillRect(self.viewport().rect(), tokens[Role.WINDOW])
        painter.fillRect(0, self.height() - 1, self.width(), 1, tokens[Role.LINE])
        painter.end()
        super().paintEvent(event)


class SessionTable(QTableView):
    """The sessions, one tab stop, whole rows.

    Signals:
        resized: the table has another width now.
        copy_asked: a person wants the key of the current session on the clipboard.
    """

    resized = Signal()
    copy_asked = Signal()

    def __init__(self, model: SessionsModel) -> None:
        super().__init__()
        self._sessions = model
        self._typed, self._typed_at = "", 0.0
        self.pointer_moved_at = 0.0
        header = TableHeader(self)
        self.setHorizontalHeader(header)
        self.setModel(model)
        self.setItemDelegate(SessionDelegate(model))
        self.setVerticalScrollBar(SlimScrollBar(Qt.Orientation.Vertical, self))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.verticalScrollBar().setFixedWidth(Size.SCROLL)
        # The band of the headings goes on above the scroll bar.
        self._corner = Ground(Role.WINDOW, line_below=True)
        self.addScrollBarWidget(self._corner, Qt.AlignmentFlag.AlignTop)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setCornerButtonEnabled(False)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setMouseTracking(True)
        rows = self.verticalHeader()
        rows.setVisible(False)
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setMinimumSectionSize(Size.ROW)
        rows.setDefaultSectionSize(Size.ROW)
        for column in Column:
            header.setSectionResizeMode(
                column,
                QHeaderView.ResizeMode.Stretch
                if column is Column.NAME
                else QHeaderView.ResizeMode.Fixed
                if column is Column.STATUS
                else QHeaderView.ResizeMode.Interactive,
            )
            if column is not Column.NAME:
                header.resizeSection(column, COLUMNS[column].width)

    def select_row(self, row: int) -> None:
        """Make a row the current one."""
        index = self._sessions.index(row, Column.NAME)
        self.selectionModel().setCurrentIndex(
            index, QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        )

    def moveCursor(self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier) -> QModelIndex:
        """Move by rows only: Home and End go to the first and the last one."""
        last = self._sessions.rowCount() - 1
        if last < 0:
            return super().moveCursor(action, modifiers)
        match action:
            case QAbstractItemView.CursorAction.MoveHome:
                return self._sessions.index(0, Column.NAME)
            case QAbstractItemView.CursorAction.MoveEnd:
                return self._sessions.index(last, Column.NAME)
            case QAbstractItemView.CursorAction.MoveLeft | QAbstractItemView.CursorAction.MoveRight:
                return self.currentIndex()
            case _:
                return super().moveCursor(action, modifiers)

    def keyboardSearch(self, search: str) -> None:
        """Go to the next session whose name starts with what is typed."""
        now = time.monotonic()
        fresh = now - self._typed_at > _TYPING_SECONDS
        self._typed = search if fresh else self._typed + search
        self._typed_at = now
        current = self.currentIndex().row()
        row = self._sessions.find_name(self._typed, current + 1 if fresh else max(current, 0))
        if row >= 0:
            self.select_row(row)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy the key with the system's copy shortcut."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_asked.emit()
            return
        super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Stand on a row as soon as the keyboard is here, so that it shows where it is."""
        super().focusInEvent(event)
        if not self.selectionModel().hasSelection() and self._sessions.rowCount():
            self.select_row(max(self.currentIndex().row(), 0))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Remember that the pointer is at work here."""
        self.pointer_moved_at = time.monotonic()
        super().mouseMoveEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Tell that the width may have changed."""
        super().resizeEvent(event)
        self._corner.setFixedHeight(self.horizontalHeader().height())
        self.resized.emit()
