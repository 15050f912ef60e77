"""Text and icons that take their colour from the tokens at the moment they are painted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from strandline_gui import icons
from strandline_gui.theme import Concept, Role, Size, Text, font, theme

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent, QResizeEvent


class TokenLabel(QLabel):
    """A label in a text style and a role's colour; wraps when asked to."""

    def __init__(self, text: str = "", style: Text = Text.BODY, role: Role = Role.TEXT, *, wrap: bool = False) -> None:
        super().__init__(text)
        self._role = role
        self.setFont(font(style))
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wrap)
        self._colour()
        theme().changed.connect(self._colour)

    def set_role(self, role: Role) -> None:
        """Change the role of the text's colour."""
        self._role = role
        self._colour()

    def _colour(self) -> None:
        palette = self.palette()
        palette.setColor(self.foregroundRole(), theme().tokens[self._role])
        self.setPalette(palette)


class ElidedLabel(TokenLabel):
    """One line that gives way: it is elided where it does not fit, and then its tooltip has all of it."""

    def __init__(self, text: str = "", style: Text = Text.BODY, role: Role = Role.TEXT) -> None:
        super().__init__("", style, role)
        self._full = text
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Change the text."""
        self._full = text
        self.setAccessibleName(text)
        self._elide()
        self.updateGeometry()

    def full_text(self) -> str:
        """Return all of the text."""
        return self._full

    def sizeHint(self) -> QSize:
        """Ask for room for all of the text."""
        metrics = QFontMetricsF(self.font())
        return QSize(int(metrics.horizontalAdvance(self._full)) + 2, int(metrics.height()) + 2)

    def minimumSizeHint(self) -> QSize:
        """Give way to everything else."""
        return QSize(0, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the text to the new width."""
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        metrics = QFontMetricsF(self.font())
        cut = metrics.elidedText(self._full, Qt.TextElideMode.ElideRight, self.width())
        self.setText(cut)
        self.setToolTip(self._full if cut != self._full else "")


class IconLabel(QWidget):
    """An icon that is not a control; it always stands beside its word."""

    def __init__(self, concept: Concept, role: Role = Role.MUTED, size: int = Size.ICON) -> None:
        super().__init__()
        self._concept, self._role, self._size = concept, role, size
        self.setFixedSize(size, size)

    def show_icon(self, concept: Concept, role: Role) -> None:
        """Show another icon."""
        self._concept, self._role = concept, role
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the icon."""
        painter = QPainter(self)
        icons.paint(painter, self._concept, QRectF(self.rect()), self._role)


class Ground(QWidget):
    """A plain area in a role's colour, with lines where it is told."""

    def __init__(self, role: Role, *, line_above: bool = False, line_below: bool = False) -> None:
        super().__init__()
        self._role, self._above, self._below = role, line_above, line_below

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint ground and lines."""
        tokens = theme().tokens
        painter = QPainter(self)
        painter.fillRect(self.rect(), tokens[self._role])
        if self._above:
            painter.fillRect(QRectF(0, 0, self.width(), 1), tokens[Role.LINE])
        if self._below:
            painter.fillRect(QRectF(0, self.height() - 1, self.width(), 1), tokens[Role.LINE])
