"""The field that narrows a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from strandline_gui import icons
from strandline_gui.style import paint_focus_ring
from strandline_gui.theme import Concept, Role, Size, Space, Text, Timing, font, theme
from strandline_gui.widgets.button import Button, Look
from strandline_gui.widgets.painting import draw_text, rounded_frame, text_width

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

SHORTCUT = "/"


class KeyHint(QWidget):
    """The key that leads here, drawn as a key."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedSize(text_width(SHORTCUT, Text.CAPTION) + 2 * (Space.XS + 2), Size.CONTROL - 2 * (Space.XS + 1))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the key."""
        tokens = theme().tokens
        painter = QPainter(self)
        rect = QRectF(self.rect())
        rounded_frame(painter, rect, fill=tokens[Role.WINDOW], edge=tokens[Role.LINE])
        draw_text(painter, rect.adjusted(Space.XS + 2, 0, 0, 0), SHORTCUT, Text.CAPTION, tokens[Role.MUTED])


class FilterField(QWidget):
    """A filter expression with its icon, its shortcut and a button that clears it.

    Signals:
        changed: the text is another one, told once typing pauses.
        left: a person is done here and wants back to the table.
    """

    changed = Signal(str)
    left = Signal()

    def __init__(self, placeholder: str) -> None:
        super().__init__()
        self._wrong = False
        self.edit = QLineEdit(self)
        self.edit.setFrame(False)
        self.edit.setFont(font(Text.BODY))
        self.edit.setPlaceholderText(placeholder)
        self.edit.setAccessibleName(placeholder)
        self.edit.setTextMargins(0, 0, 0, 0)
        self.edit.installEventFilter(self)
        self._clear = Button(look=Look.QUIET, concept=Concept.CLOSE, name=self.tr("Clear the filter"))
        self._clear.clicked.connect(self.clear)
        self._clear.setFixedSize(Size.CONTROL - Space.XS, Size.CONTROL - Space.XS)
        self._clear.hide()
        self._hint = KeyHint()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(Space.S + Size.ICON + Space.S, 2, Space.XS // 2, 2)
        layout.setSpacing(Space.XS)
        layout.addWidget(self.edit, 1)
        layout.addWidget(self._hint)
        layout.addSpacing(Space.XS)
        layout.addWidget(self._clear)
        self.setFixedHeight(Size.CONTROL)
        self.setFocusProxy(self.edit)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(Timing.FILTER)
        self._pause.timeout.connect(self._tell)
        self.edit.textChanged.connect(self._edited)

    def text(self) -> str:
        """Return the expression as typed."""
        return self.edit.text()

    def set_text(self, text: str) -> None:
        """Put in an expression; it applies at once."""
        self.edit.setText(text)
        self._tell()

    def clear(self) -> None:
        """Empty the field; it applies at once."""
        self.set_text("")
        self.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def mark_wrong(self, sentence: str) -> None:
        """Show that the expression is not understood; empty takes the mark away."""
        self._wrong = bool(sentence)
        self.edit.setAccessibleDescription(sentence)
        self.update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take Esc (clear, then leave), Down and Return (to the table), and repaint for the focus ring."""
        if watched is self.edit:
            if event.type() in {QEvent.Type.FocusIn, QEvent.Type.FocusOut}:
                self._show_hint()
            elif event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
                if event.key() == Qt.Key.Key_Escape:
                    if self.text():
                        self.clear()
                    else:
                        self.left.emit()
                    return True
                if event.key() in {Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                    self._tell()
                    self.left.emit()
                    return True
        return super().eventFilter(watched, event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint frame and icon."""
        tokens = theme().tokens
        painter = QPainter(self)
        rect = QRectF(self.rect())
        edge = tokens[Role.BAD if self._wrong else Role.CTL]
        rounded_frame(painter, rect, fill=tokens[Role.SURFACE], edge=edge)
        icon = QRectF(Space.S, (self.height() - Size.ICON) / 2, Size.ICON, Size.ICON)
        icons.paint(painter, Concept.FILTER, icon, Role.MUTED)
        if self.edit.hasFocus():
            paint_focus_ring(painter, rect)

    def _show_hint(self) -> None:
        self._hint.setVisible(not self.text() and not self.edit.hasFocus())
        self.update()

    def _edited(self) -> None:
        self._show_hint()
        self._clear.setVisible(bool(self.text()))
        self._pause.start()

    def _tell(self) -> None:
        self._pause.stop()
        self.changed.emit(self.text())
