"""The bar that shows how full a context is, and how far the figure can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen

from strandline_gui.theme import Role, Size, theme

if TYPE_CHECKING:
    from strandline_gui.theme import Tokens


def paint_context_bar(painter: QPainter, rect: QRectF, share: float | None, *, fresh: bool) -> None:
    """Paint a bar into ``rect``.

    Args:
        painter: where to paint.
        rect: the track.
        share: how full, 0.74 for 74 %; ``None`` is unknown: a dashed track without a fill.
        fresh: whether the figure is vouched for; otherwise it is an outline.
    """
    tokens = theme().tokens
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if share is None:
        _outline(painter, rect, tokens, Role.EDGE, dashed=True)
    elif fresh:
        _fill(painter, rect, rect.width(), tokens, Role.LINE)
        _fill(painter, rect, _width(rect, share), tokens, Role.BAR)
    else:
        _outline(painter, rect, tokens, Role.LINE, dashed=False)
        _outline(painter, QRectF(rect.left(), rect.top(), _width(rect, share), rect.height()), tokens, Role.MUTED)
    painter.restore()


def _width(rect: QRectF, share: float) -> float:
    return rect.width() * min(max(share, 0.0), 1.0)


def _fill(painter: QPainter, rect: QRectF, width: float, tokens: Tokens, role: Role) -> None:
    """Fill the left part of the track; only the track's own ends are round."""
    track = QPainterPath()
    track.addRoundedRect(rect, Size.BAR_RADIUS, Size.BAR_RADIUS)
    painter.save()
    painter.setClipRect(QRectF(rect.left(), rect.top(), width, rect.height()), Qt.ClipOperation.IntersectClip)
    painter.fillPath(track, tokens[role])
    painter.restore()


def _outline(painter: QPainter, rect: QRectF, tokens: Tokens, role: Role, *, dashed: bool = False) -> None:
    pen = QPen(tokens[role], 1)
    if dashed:
        pen.setDashPattern([Size.DASH, Size.DASH - 1])
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    if rect.width() >= 2:  # noqa: PLR2004 - narrower than its own two lines it would turn inside out
        painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), Size.BAR_RADIUS, Size.BAR_RADIUS)
