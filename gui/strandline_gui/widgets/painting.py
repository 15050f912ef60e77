"""Small pieces that several widgets paint the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QFontMetrics, QFontMetricsF, QPainter, QPen

from strandline_gui.theme import Role, Size, Text, Tokens, font

if TYPE_CHECKING:
    from PySide6.QtGui import QColor

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_ELIDE_FROM = 4


def draw_text(
    painter: QPainter, rect: QRect | QRectF, text: str, style: Text, colour: QColor, *, right: bool = False
) -> None:
    """Draw one line of text, elided at its end where it does not fit."""
    made = font(style)
    width = rect.width()
    metrics = QFontMetricsF(made)
    # Measuring every cell costs as much as drawing it; only what might not fit is measured.
    if len(text) > _ELIDE_FROM and metrics.horizontalAdvance(text) > width:
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
    painter.setFont(made)
    painter.setPen(colour)
    painter.drawText(QRectF(rect), _RIGHT if right else _LEFT, text)


def text_width(text: str, style: Text) -> int:
    """Return how wide a line of text is."""
    return QFontMetrics(font(style)).horizontalAdvance(text)


def rounded_frame(painter: QPainter, rect: QRectF, *, fill: QColor | None, edge: QColor | None) -> None:
    """Paint a control's ground: rounded, with a line of one pixel."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(edge, 1) if edge is not None else Qt.PenStyle.NoPen)
    painter.setBrush(fill if fill is not None else Qt.BrushStyle.NoBrush)
    inset = 0.5 if edge is not None else 0.0
    painter.drawRoundedRect(rect.adjusted(inset, inset, -inset, -inset), Size.RADIUS, Size.RADIUS)
    painter.restore()


def hairline(painter: QPainter, start: QPointF, end: QPointF, tokens: Tokens) -> None:
    """Paint a separator."""
    if start.y() == end.y():
        painter.fillRect(QRectF(start.x(), start.y(), end.x() - start.x(), 1), tokens[Role.LINE])
    else:
        painter.fillRect(QRectF(start.x(), start.y(), 1, end.y() - start.y()), tokens[Role.LINE])
