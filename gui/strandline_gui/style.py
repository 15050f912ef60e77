"""The one style of the window: Fusion, with our focus ring and our measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QProxyStyle, QStyle

from strandline_gui.theme import Role, Size, theme

if TYPE_CHECKING:
    from PySide6.QtWidgets import QStyleHintReturn, QStyleOption, QWidget


class StrandlineStyle(QProxyStyle):
    """Fusion with the tokens' focus ring."""

    def __init__(self) -> None:
        super().__init__("Fusion")

    def drawPrimitive(
        self,
        element: QStyle.PrimitiveElement,
        option: QStyleOption,
        painter: QPainter,
        widget: QWidget | None = None,
    ) -> None:
        """Draw the focus ring ourselves, everything else as Fusion does."""
        if element == QStyle.PrimitiveElement.PE_FrameFocusRect:
            paint_focus_ring(painter, QRectF(option.rect))
            return
        super().drawPrimitive(element, option, painter, widget)

    def pixelMetric(
        self, metric: QStyle.PixelMetric, option: QStyleOption | None = None, widget: QWidget | None = None
    ) -> int:
        """Leave as much room for a scroll bar as ours takes."""
        if metric == QStyle.PixelMetric.PM_ScrollBarExtent:
            return Size.SCROLL
        return super().pixelMetric(metric, option, widget)

    def styleHint(
        self,
        hint: QStyle.StyleHint,
        option: QStyleOption | None = None,
        widget: QWidget | None = None,
        returnData: QStyleHintReturn | None = None,  # noqa: N803 - Qt's name
    ) -> int:
        """Let menus take the arrow keys at once and underline their letters only while Alt is held."""
        if hint == QStyle.StyleHint.SH_UnderlineShortcut:
            return 0
        return super().styleHint(hint, option, widget, returnData)


def paint_focus_ring(painter: QPainter, rect: QRectF) -> None:
    """Paint the ring that shows where the keyboard is, just inside ``rect``."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme().tokens[Role.ACCENT], Size.FOCUS))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    half = Size.FOCUS / 2
    painter.drawRoundedRect(rect.adjusted(half, half, -half, -half), Size.RADIUS, Size.RADIUS)
    painter.restore()
