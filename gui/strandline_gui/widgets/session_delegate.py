"""Paints the rows of the sessions table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate

from strandline_gui import icons, wording
from strandline_gui.models.columns import COLUMNS, Column, SessionLine
from strandline_gui.theme import Opacity, Role, Size, Space, Text, font, theme
from strandline_gui.widgets.context_bar import paint_context_bar
from strandline_gui.widgets.painting import draw_text, text_width

if TYPE_CHECKING:
    from PySide6.QtWidgets import QStyleOptionViewItem

    from strandline_gui.models.sessions_model import SessionsModel

_STATE_SHARE = 0.6


class SessionDelegate(QStyledItemDelegate):
    """One delegate for every column: text, icon and bar straight from the row, no style in between."""

    def __init__(self, model: SessionsModel) -> None:
        super().__init__(model)
        self._model = model

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint a cell."""
        tokens = theme().tokens
        rect: QRect = option.rect
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        column = Column(index.column())
        if selected:
            painter.fillRect(rect, tokens[Role.SELECT])
        line = self._model.line(index.row())
        match column:
            case Column.STATUS:
                self._paint_status(painter, rect, line, selected=selected)
            case Column.NAME:
                self._paint_name(painter, rect, line, selected=selected)
            case Column.CONTEXT:
                self._paint_context(painter, rect, line)
            case _:
                spec = COLUMNS[column]
                text = spec.text(line, self._model.now_ms())
                draw_text(
                    painter,
                    rect.adjusted(0, 0, -Space.L, 0),
                    text,
                    Text.BODY,
                    tokens[Role.MUTED if _is_muted(column, line) else Role.TEXT],
                    right=spec.right,
                )

    def _paint_status(self, painter: QPainter, rect: QRect, line: SessionLine, *, selected: bool) -> None:
        tokens = theme().tokens
        if selected:
            painter.fillRect(rect.left(), rect.top(), Size.ACCENT_BAR, rect.height(), tokens[Role.ACCENT])
        condition = wording.condition_of(line.row, line.facts)
        middle = rect.top() + rect.height() / 2
        if condition.concept is None:
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(tokens.tint(Role.MUTED, Opacity.IDLE))
            left = rect.left() + Space.L + (Size.ICON - Size.IDLE_DOT) / 2
            painter.drawEllipse(QRectF(left, middle - Size.IDLE_DOT / 2, Size.IDLE_DOT, Size.IDLE_DOT))
            painter.restore()
            return
        icon = QRectF(rect.left() + Space.L, middle - Size.ICON / 2, Size.ICON, Size.ICON)
        icons.paint(painter, condition.concept, icon, condition.role)

    def _paint_name(self, painter: QPainter, rect: QRect, line: SessionLine, *, selected: bool) -> None:
        """Paint name, key and state word; the key gives way first, then the word, then the name."""
        tokens = theme().tokens
        area = QRectF(rect.adjusted(0, 0, -Space.L, 0))
        style = Text.STRONG if selected else Text.NAME
        name_width = text_width(line.row.name, style)
        condition = wording.condition_of(line.row, line.facts)
        if condition.shown:
            wanted = text_width(condition.word, Text.STATE) + 1
            room = max(area.width() * _STATE_SHARE, area.width() - name_width - Space.M)
            width = min(wanted, room)
            word = QRectF(area.right() - width, area.top(), width, area.height())
            draw_text(painter, word, condition.word, Text.STATE, tokens[condition.role], right=True)
            area.setRight(word.left() - Space.M)
        draw_text(painter, area, line.row.name, style, tokens[Role.TEXT])
        area.setLeft(area.left() + name_width + Space.S)
        key = wording.short_key(line.row.key)
        if area.width() < Size.KEY_MINIMUM or key == line.row.name:
            return
        cut = QFontMetricsF(font(Text.CAPTION)).elidedText(key, Qt.TextElideMode.ElideMiddle, area.width())
        draw_text(painter, area.adjusted(0, 0, 1, 0), cut, Text.CAPTION, tokens[Role.MUTED])

    def _paint_context(self, painter: QPainter, rect: QRect, line: SessionLine) -> None:
        tokens = theme().tokens
        share = line.row.context_share
        width = min(Size.BAR_WIDTH, rect.width() // 2)
        top = rect.top() + (rect.height() - Size.BAR_HEIGHT) // 2
        paint_context_bar(painter, QRectF(rect.left(), top, width, Size.BAR_HEIGHT), share, fresh=line.fresh)
        text = wording.percent_text(share)
        sure = share is not None and line.fresh
        draw_text(
            painter,
            QRectF(rect.left() + width, rect.top(), rect.width() - width - Space.L, rect.height()),
            text if sure or share is None else f"~{text}",
            Text.BODY,
            tokens[Role.TEXT if sure else Role.MUTED],
            right=True,
        )


def _is_muted(column: Column, line: SessionLine) -> bool:
    if column is Column.CHANNEL:
        return line.row.internal or not line.row.channel
    return column is Column.ACTIVE or (column is Column.SIZE and line.size is None)
