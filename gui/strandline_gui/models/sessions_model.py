"""The sessions as a table model: plain rows, an own order array, selection by key.

Sorting and filtering happen in Python over raw values; Qt is told the outcome. Milliseconds and byte counts leave the
model as text or as floats, since an ``int`` would be cut to 32 bits on its way through Qt.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from strandline.filters import Filter, Term
from strandline_gui.models.columns import COLUMNS, Column, SessionLine, SortValue, spoken_title_of, title_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from strandline.rows import SessionRow, StoreReplaced, TranscriptFacts

Index: TypeAlias = QModelIndex | QPersistentModelIndex
RowKey: TypeAlias = tuple[int, str]

SortRole = Qt.ItemDataRole.UserRole + 1
RowRole = Qt.ItemDataRole.UserRole + 2
_ROOT = QModelIndex()


class SessionsModel(QAbstractTableModel):
    """Rows of all stores in the order a person chose.

    While rows stream in they keep that order. Rows that change later stay where they are until ``resort``.
    """

    def __init__(self, parent: QObject | None = None, *, clock: Callable[[], int] | None = None) -> None:
        super().__init__(parent)
        self._clock = clock or (lambda: time.time_ns() // 1_000_000)
        self._now_ms = self._clock()
        self._rows: list[SessionRow] = []
        self._facts: list[TranscriptFacts | None] = []
        self._known = 0
        self._newest = 0.0
        self._stale = False
        self._places: dict[RowKey, int] = {}
        self._column = Column.ACTIVE
        self._descending = True
        self._filter = Filter()
        self._order: list[int] = []  # every row, sorted
        self._shown: list[int] = []  # those of ``_order`` that pass the filter
        self._sort_keys: dict[Column, list[SortValue]] = {}
        self._haystacks: list[str] = []

    @property
    def total(self) -> int:
        """Rows in all, filtered or not."""
        return len(self._rows)

    @property
    def facts_known(self) -> int:
        """Rows whose facts have arrived."""
        return self._known

    @property
    def sort_column(self) -> Column:
        """The column the rows are sorted by."""
        return self._column

    @property
    def sort_order(self) -> Qt.SortOrder:
        """The direction they are sorted in."""
        return Qt.SortOrder.DescendingOrder if self._descending else Qt.SortOrder.AscendingOrder

    @property
    def filter(self) -> Filter:
        """The filter in force."""
        return self._filter

    @property
    def newest_change(self) -> float | None:
        """The newest change of any row, filtered or not, in ms since the epoch."""
        return self._newest or None

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Return how many rows pass the filter."""
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Return the number of columns, hidden ones included."""
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return text, tooltip, raw sort value (a float or text) or the whole line of a cell."""
        if not index.isValid() or index.row() >= len(self._shown):
            return None
        spec = COLUMNS[index.column()]
        line = self.line(index.row())
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return spec.text(line, self._now_ms)
            case Qt.ItemDataRole.ToolTipRole:
                return spec.explanation(line)
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{spoken_title_of(Column(index.column()))}: {spec.text(line, self._now_ms)}"
            case Qt.ItemDataRole.AccessibleDescriptionRole:
                return spec.explanation(line)
            case Qt.ItemDataRole.TextAlignmentRole:
                side = Qt.AlignmentFlag.AlignRight if spec.right else Qt.AlignmentFlag.AlignLeft
                return side | Qt.AlignmentFlag.AlignVCenter
            case _ if role == SortRole:
                value = spec.sort_value(line.row, line.facts)
                return value if value is None or isinstance(value, str) else float(value)
            case _ if role == RowRole:
                return line
            case _:
                return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return a column's heading, its full name for screen readers, or its alignment."""
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(COLUMNS):
            return None
        column = Column(section)
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return title_of(column)
            case Qt.ItemDataRole.AccessibleTextRole | Qt.ItemDataRole.ToolTipRole:
                return spoken_title_of(column)
            case Qt.ItemDataRole.TextAlignmentRole:
                side = Qt.AlignmentFlag.AlignRight if COLUMNS[section].right else Qt.AlignmentFlag.AlignLeft
                return side | Qt.AlignmentFlag.AlignVCenter
            case _:
                return None

    def line(self, row: int) -> SessionLine:
        """Return the session in a row of the table."""
        place = self._shown[row]
        return SessionLine(self._rows[place], self._facts[place], self._stale)

    def now_ms(self) -> int:
        """Return the time that ages are counted to."""
        return self._now_ms

    def key_at(self, row: int) -> RowKey:
        """Return what identifies the session in a row over every change."""
        session = self._rows[self._shown[row]]
        return session.store, session.key

    def row_of(self, key: RowKey) -> int:
        """Return the row that shows a session, or -1 when none does."""
        place = self._places.get(key)
        if place is None:
            return -1
        try:
            return self._shown.index(place)
        except ValueError:
            return -1

    def find_name(self, start: str, after: int) -> int:
        """Return the next row whose name starts with ``start``, going round; -1 when there is none."""
        wanted, count = start.casefold(), len(self._shown)
        for step in range(count):
            row = (after + step) % count
            if self._rows[self._shown[row]].name.casefold().startswith(wanted):
                return row
        return -1

    def clear(self) -> None:
        """Forget every row; order and filter stay."""
        self.beginResetModel()
        self._rows, self._facts, self._places, self._known, self._newest = [], [], {}, 0, 0.0
        self._order, self._shown, self._sort_keys, self._haystacks = [], [], {}, []
        self.endResetModel()

    def append_rows(self, rows: Sequence[SessionRow]) -> None:
        """Add rows while a store is read; they take their place in the present order."""
        if not rows:
            return
        self._now_ms = self._clock()
        first = len(self._rows)
        self._add(rows)
        new = range(first, len(self._rows))
        passing = self._passing(new)
        self._order.extend(new)
        if passing:
            at = len(self._shown)
            self.beginInsertRows(_ROOT, at, at + len(passing) - 1)
            self._shown.extend(passing)
            self.endInsertRows()
        self.resort()

    def merge_facts(self, facts: Iterable[TranscriptFacts]) -> None:
        """Take in what the disk says about some rows; each fact finds its row by key."""
        stale = [column for column in self._sort_keys if COLUMNS[column].from_facts]
        for fact in facts:
            place = self._places.get((fact.store, fact.key))
            if place is None:
                continue
            self._known += self._facts[place] is None
            self._facts[place] = fact
            for column in stale:
                self._sort_keys[column][place] = COLUMNS[column].sort_value(self._rows[place], fact)
        self._repaint_all()

    def replace_store(self, event: StoreReplaced) -> None:
        """Take over a store that was read again: rows keep their place, new ones stand at the end until ``resort``."""
        kept = {row.key: row for row in event.rows}
        known = {row.key for row in self._rows if row.store == event.store}
        self._note_newest(event.rows)
        if known == kept.keys():
            for key, row in kept.items():
                self._put(self._places[event.store, key], row)
            self._repaint_all()
            return
        self.beginResetModel()
        before = [(self._rows[place].store, self._rows[place].key) for place in self._order]
        others = [place for place, row in enumerate(self._rows) if row.store != event.store]
        facts = {key: self._facts[place] for key, place in self._places.items()}
        self._rows = [*(self._rows[place] for place in others), *event.rows]
        self._places = {(row.store, row.key): place for place, row in enumerate(self._rows)}
        self._facts = [facts.get((row.store, row.key)) for row in self._rows]
        self._known = sum(fact is not None for fact in self._facts)
        self._sort_keys, self._haystacks = {}, []
        staying = dict.fromkeys(self._places[key] for key in before if key in self._places)
        self._order = [*staying, *(place for place in range(len(self._rows)) if place not in staying)]
        self._shown = self._passing(self._order)
        self.endResetModel()

    def set_filter(self, wanted: Filter) -> None:
        """Show only the rows that pass."""
        self._now_ms = self._clock()
        self._filter = wanted
        shown = self._passing(self._order)
        if shown == self._shown:
            return
        self.beginResetModel()
        self._shown = shown
        self.endResetModel()

    def set_stale(self, *, stale: bool) -> None:
        """Mark every row as possibly overtaken, or take the mark away."""
        if stale != self._stale:
            self._stale = stale
            self._repaint_all()

    def refilter(self) -> None:
        """Apply the filter again, for one whose outcome moves with time or with facts."""
        self.set_filter(self._filter)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column's raw values, unknown ones last."""
        self._column, self._descending = Column(column), order == Qt.SortOrder.DescendingOrder
        # From the order of the files, so that equal values always come out the same way.
        self._order = list(range(len(self._rows)))
        self.resort()

    def resort(self) -> None:
        """Put rows that changed where they belong now."""
        keys = self._keys_of(self._column)
        known = [place for place in self._order if keys[place] is not None]
        # The keys of one column are of one type; that is beyond what the annotation can say.
        known.sort(key=keys.__getitem__, reverse=self._descending)  # type: ignore[arg-type]
        if len(known) != len(self._order):
            known += [place for place in self._order if keys[place] is None]
        self._order = known
        if len(self._shown) != len(self._rows):
            shown = set(self._shown)
            self._rearrange([place for place in known if place in shown])
        else:
            self._rearrange(list(known))

    def tick(self) -> None:
        """Let ages grow."""
        self._now_ms = self._clock()
        if self._shown:
            self.dataChanged.emit(
                self.index(0, Column.ACTIVE),
                self.index(len(self._shown) - 1, Column.ACTIVE),
                [Qt.ItemDataRole.DisplayRole],
            )

    def _rearrange(self, shown: list[int]) -> None:
        if shown == self._shown:
            return
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        places = [self._shown[index.row()] for index in before]
        wanted = set(places)
        self._shown = shown
        rows = {place: row for row, place in enumerate(shown) if place in wanted} if wanted else {}
        after = [self.index(rows[place], index.column()) for index, place in zip(before, places, strict=True)]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    def _add(self, rows: Sequence[SessionRow]) -> None:
        for row in rows:
            self._places[row.store, row.key] = len(self._rows)
            self._rows.append(row)
            self._facts.append(None)
        self._note_newest(rows)
        for column, keys in self._sort_keys.items():
            keys.extend(COLUMNS[column].sort_value(row, None) for row in rows)
        if self._haystacks:
            self._haystacks.extend(map(_haystack, rows))

    def _note_newest(self, rows: Iterable[SessionRow]) -> None:
        self._newest = max([self._newest, *(row.updated_at for row in rows if row.updated_at)])

    def _put(self, place: int, row: SessionRow) -> None:
        self._rows[place] = row
        for column, keys in self._sort_keys.items():
            keys[place] = COLUMNS[column].sort_value(row, self._facts[place])
        if self._haystacks:
            self._haystacks[place] = _haystack(row)

    def _keys_of(self, column: Column) -> list[SortValue]:
        if column not in self._sort_keys:
            value = COLUMNS[column].sort_value
            self._sort_keys[column] = [value(row, facts) for row, facts in zip(self._rows, self._facts, strict=True)]
        return self._sort_keys[column]

    def _passing(self, places: Iterable[int]) -> list[int]:
        passing = list(places)
        rest: list[Term] = []
        for term in self._filter.terms:
            if term.field:
                rest.append(term)
                continue
            # Plain words are what people type; over prepared text they cost a fiftieth of a whole match.
            if not self._haystacks:
                self._haystacks = list(map(_haystack, self._rows))
            word, texts = term.words[0], self._haystacks
            if term.negated:
                passing = [place for place in passing if word not in texts[place]]
            else:
                passing = [place for place in passing if word in texts[place]]
        if rest:
            matches, rows, facts = Filter(tuple(rest)).predicate(self._now_ms), self._rows, self._facts
            passing = [place for place in passing if matches(rows[place], facts[place])]
        return passing

    def _repaint_all(self) -> None:
        """Tell that cells changed; views repaint what is visible, so one range is cheapest."""
        if self._shown:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._shown) - 1, len(COLUMNS) - 1))


def _haystack(row: SessionRow) -> str:
    # Parted by a character that a filter cannot hold, so that no word matches across.
    return f"{row.name.casefold()}\n{row.key.casefold()}"
