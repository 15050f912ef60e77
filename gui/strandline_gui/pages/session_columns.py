"""Which columns of the sessions table are on show, and which one it is sorted by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtWidgets import QMenu

from strandline_gui.models.columns import COLUMNS, Column, spoken_title_of
from strandline_gui.theme import Size, Text, font

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from strandline_gui.models.sessions_model import SessionsModel
    from strandline_gui.widgets.session_table import SessionTable

ALWAYS = frozenset({Column.STATUS, Column.NAME})
USUAL = frozenset(column for column in Column if not COLUMNS[column].optional)


class SessionColumns(QObject):
    """The columns a person asked for, less those that the width has no room for.

    Signals:
        changed: a person chose another set.
    """

    changed = Signal()

    def __init__(self, table: SessionTable, model: SessionsModel) -> None:
        super().__init__(table)
        self._table, self._model = table, model
        self.wanted = USUAL
        header = table.horizontalHeader()
        header.setSortIndicatorShown(True)
        header.setSortIndicator(model.sort_column, model.sort_order)
        header.sectionClicked.connect(self.sort_by)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._open_menu)
        table.resized.connect(self._fit)
        self._fit()

    def is_on_show(self, column: Column) -> bool:
        """Tell whether a column is to be seen right now."""
        return not self._table.isColumnHidden(column)

    def show(self, columns: Iterable[Column]) -> None:
        """Show these columns; status and name are always there."""
        self.wanted = frozenset(columns) | ALWAYS
        self._fit()

    def menu(self) -> QMenu:
        """Return a menu that shows and hides columns; it goes when it closes."""
        menu = QMenu(self._table)
        menu.setFont(font(Text.BODY))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.fill_menu(menu)
        return menu

    def fill_menu(self, menu: QMenu) -> None:
        """Put one line per column that can be hidden into a menu."""
        menu.clear()
        for column in Column:
            if column in ALWAYS:
                continue
            action = menu.addAction(spoken_title_of(column))
            action.setCheckable(True)
            action.setChecked(column in self.wanted)
            action.triggered.connect(self._toggler(column))

    def fill_sort_menu(self, menu: QMenu) -> None:
        """Put one line per column into a menu that sorts by it."""
        menu.clear()
        for column in Column:
            action = menu.addAction(spoken_title_of(column))
            action.setCheckable(True)
            action.setChecked(column is self._model.sort_column)
            action.triggered.connect(self._sorter(column))

    def sort_by(self, section: int) -> None:
        """Sort by a column; a second time turns the direction."""
        column = Column(section)
        if self._model.sort_column is column:
            down = self._model.sort_order == Qt.SortOrder.AscendingOrder
        else:
            down = COLUMNS[column].descending
        order = Qt.SortOrder.DescendingOrder if down else Qt.SortOrder.AscendingOrder
        self._table.horizontalHeader().setSortIndicator(column, order)
        self._model.sort(column, order)

    def _fit(self) -> None:
        width = self._table.viewport().width() if self._table.isVisible() else Size.WINDOW_WIDTH
        gone: set[Column] = set()
        if width < Size.CHANNEL_HIDES_BELOW:
            gone.add(Column.CHANNEL)
        if width < Size.AGENT_HIDES_BELOW:
            gone.add(Column.AGENT)
        for column in Column:
            self._table.setColumnHidden(column, column in gone or column not in self.wanted)

    def _open_menu(self, at: QPoint) -> None:
        self.menu().popup(self._table.horizontalHeader().mapToGlobal(at))

    def _toggler(self, column: Column) -> Callable[[], None]:
        def toggle() -> None:
            self.show(self.wanted ^ {column})
            self.changed.emit()

        return toggle

    def _sorter(self, column: Column) -> Callable[[], None]:
        return lambda: self.sort_by(column)
