"""Buttons, painted from the tokens: filled, outlined, quiet, as a link."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from strandline_gui import icons
from strandline_gui.style import paint_focus_ring
from strandline_gui.theme import Concept, Opacity, Role, Size, Space, Text, theme
from strandline_gui.widgets.painting import draw_text, rounded_frame, text_width

if TYPE_CHECKING:
    from PySide6.QtGui import QEnterEvent, QPaintEvent
    from PySide6.QtWidgets import QWidget


class Look(Enum):
    """How much a button asks for attention."""

    FILLED = auto()
    OUTLINED = auto()
    QUIET = auto()
    LINK = auto()


class Button(QAbstractButton):
    """A push button; without a text it is an icon whose name only screen readers and the tooltip tell."""

    def __init__(
        self,
        text: str = "",
        *,
        look: Look = Look.OUTLINED,
        concept: Concept | None = None,
        opens: bool = False,
        name: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._look = look
        self._concept = concept
        self._opens = opens
        self.setText(text)
        self.setAccessibleName(name or text)
        if not text:
            self.setToolTip(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor if look is Look.LINK else Qt.CursorShape.ArrowCursor)

    def sizeHint(self) -> QSize:
        """Return room for icon and text in one line."""
        pad = Space.XS if self._look is Look.LINK else Space.S if not self.text() else Space.M
        width = 2 * pad
        if self.text():
            width += text_width(self.text(), Text.NAME) + 1
        if self._concept is not None:
            width += Size.ICON + (Space.S if self.text() else 0)
        if self._opens:
            width += Size.ICON + Space.XS
        return QSize(max(width, Size.CONTROL), Size.CONTROL)

    def minimumSizeHint(self) -> QSize:
        """Return the whole size: a button is never cut."""
        return self.sizeHint()

    def enterEvent(self, event: QEnterEvent) -> None:
        """Show that the pointer is here."""
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """Show that it has left."""
        super().leaveEvent(event)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint ground, icon, text and focus ring."""
        tokens = theme().tokens
        painter = QPainter(self)
        rect = QRectF(self.rect())
        ink = Role.TEXT
        match self._look:
            case Look.FILLED:
                rounded_frame(painter, rect, fill=tokens[Role.ACCENT], edge=None)
                ink = Role.ONACCENT
            case Look.OUTLINED:
                rounded_frame(painter, rect, fill=tokens[Role.SURFACE], edge=tokens[Role.EDGE])
            case Look.LINK:
                ink = Role.ACCENT
            case Look.QUIET:
                pass
        if not self.isEnabled():
            painter.setOpacity(Opacity.DISABLED)
        elif self.isDown() or self.underMouse():
            rounded_frame(painter, rect, fill=tokens.tint(ink, Opacity.HOVER * (2 if self.isDown() else 1)), edge=None)
        self._paint_content(painter, rect, ink)
        if self.hasFocus():
            paint_focus_ring(painter, rect)

    def _paint_content(self, painter: QPainter, rect: QRectF, ink: Role) -> None:
        pad = Space.XS if self._look is Look.LINK else Space.S if not self.text() else Space.M
        left = rect.left() + pad
        top = rect.top() + (rect.height() - Size.ICON) / 2
        if self._concept is not None:
            if not self.text():
                left = rect.left() + (rect.width() - Size.ICON) / 2
            icons.paint(painter, self._concept, QRectF(left, top, Size.ICON, Size.ICON), ink)
            left += Size.ICON + Space.S
        right = rect.right() - pad
        if self._opens:
            icons.paint(painter, Concept.OPENS, QRectF(right - Size.ICON, top, Size.ICON, Size.ICON), Role.MUTED)
            right -= Size.ICON + Space.XS
        text = QRectF(left, rect.top(), right - left + 1, rect.height())
        draw_text(painter, text, self.text(), Text.NAME, theme().tokens[ink])
