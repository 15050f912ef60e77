"""The frame around the pages: top bar, navigation, status bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QMenu, QSizePolicy, QVBoxLayout, QWidget

from strandline_gui import icons
from strandline_gui.style import paint_focus_ring
from strandline_gui.theme import Concept, Opacity, Role, Size, Space, Text, Timing, font, theme
from strandline_gui.widgets.button import Button, Look
from strandline_gui.widgets.labels import ElidedLabel, Ground, IconLabel, TokenLabel
from strandline_gui.widgets.painting import draw_text, hairline, rounded_frame, text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QAction, QEnterEvent, QPaintEvent


class Line(QWidget):
    """An upright separator."""

    def __init__(self, height: int) -> None:
        super().__init__()
        self.setFixedSize(1, height)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the line."""
        hairline(QPainter(self), QPointF(0, 0), QPointF(0, self.height()), theme().tokens)


class SourceChip(QWidget):
    """What is open and in which mode: directory, mode, and whether it is sample data."""

    def __init__(self) -> None:
        super().__init__()
        self.button = Button("…", look=Look.QUIET, concept=Concept.DIRECTORY, opens=True)
        self._menu = QMenu(self)
        self._menu.setFont(font(Text.BODY))
        self.button.clicked.connect(self._open_menu)
        self._mode_icon = IconLabel(Concept.OBSERVE)
        self._mode = TokenLabel("", Text.BODY)
        self._sample = QWidget()
        sample = QHBoxLayout(self._sample)
        sample.setContentsMargins(0, 0, Space.M, 0)
        sample.setSpacing(Space.S)
        sample.addWidget(Line(Size.CONTROL - 2))
        sample.addSpacing(Space.XS)
        sample.addWidget(IconLabel(Concept.SAMPLE))
        sample.addWidget(TokenLabel(self.tr("Sample data"), Text.BODY, Role.MUTED))
        self._cells = layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(Space.S)
        layout.addWidget(self.button)
        self._mode_line = Line(Size.CONTROL - 2)
        layout.addWidget(self._mode_line)
        layout.addSpacing(Space.XS)
        layout.addWidget(self._mode_icon)
        layout.addWidget(self._mode)
        layout.addSpacing(Space.XS)
        layout.addWidget(self._sample)
        self.setFixedHeight(Size.CONTROL)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.show_source("", "", "", sample=False)

    def set_actions(self, actions: Sequence[QAction]) -> None:
        """Fill the menu behind the directory."""
        self._menu.addActions(list(actions))

    def show_source(self, title: str, path: str, mode: str, *, sample: bool) -> None:
        """Show a directory; without a title nothing is open."""
        title = title or self.tr("No directory")
        metrics = QFontMetricsF(font(Text.NAME))
        self.button.setText(metrics.elidedText(title, Qt.TextElideMode.ElideMiddle, Size.TITLE_MAXIMUM))
        self.button.setAccessibleName(self.tr("State directory: {title}").format(title=title))
        self.button.setToolTip(path)
        self.button.updateGeometry()
        self._mode.setText(mode)
        self._mode.setToolTip(self.tr("Strandline only looks; it writes nothing into this directory."))
        for widget in (self._mode_line, self._mode_icon, self._mode):
            widget.setVisible(bool(mode))
        self._sample.setVisible(sample)
        self._cells.setContentsMargins(0, 0, Space.S if mode and not sample else 0, 0)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the frame around the cells."""
        tokens = theme().tokens
        rounded_frame(QPainter(self), QRectF(self.rect()), fill=tokens[Role.SURFACE], edge=tokens[Role.EDGE])

    def _open_menu(self) -> None:
        self._menu.popup(self.button.mapToGlobal(self.button.rect().bottomLeft()))


class TopBar(Ground):
    """Mark and source."""

    def __init__(self) -> None:
        super().__init__(Role.SURFACE, line_below=True)
        self.chip = SourceChip()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(Space.L, 0, Space.L, 1)
        layout.setSpacing(Space.M)
        layout.addWidget(IconLabel(Concept.MARK, Role.TEXT, Size.NAV_ICON))
        layout.addWidget(self.chip)
        layout.addStretch(1)
        self.setFixedHeight(Size.TOP_BAR)


class NavigationItem(QAbstractButton):
    """One page in the navigation."""

    def __init__(self, text: str, concept: Concept) -> None:
        super().__init__()
        self._concept, self._count = concept, ""
        self.setText(text)
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setAccessibleName(text)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def show_count(self, count: str) -> None:
        """Show how much is behind the page."""
        self._count = count
        self.setAccessibleDescription(count)
        self.update()

    def sizeHint(self) -> QSize:
        """Return the height of an item; the bar gives the width."""
        return QSize(Size.NAV_NARROW, Size.NAV_ITEM)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Name the page where only its icon is to be seen."""
        self.setToolTip(self.text() if self.width() < Size.NAV // 2 else "")
        super().enterEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint ground, accent bar, icon, word and count."""
        tokens = theme().tokens
        painter = QPainter(self)
        rect = QRectF(self.rect()).adjusted(Space.S, 0, -Space.S, 0)
        if self.isChecked():
            rounded_frame(painter, rect, fill=tokens[Role.SELECT], edge=None)
            bar = QRectF(rect.left(), rect.center().y() - 10, Size.ACCENT_BAR, 20)
            painter.fillRect(bar, tokens[Role.ACCENT])
        elif self.underMouse():
            rounded_frame(painter, rect, fill=tokens.tint(Role.TEXT, Opacity.HOVER), edge=None)
        narrow = self.width() < Size.NAV // 2
        side = Size.NAV_ICON
        left = (self.width() - side) / 2 if narrow else side
        icon = QRectF(left, (self.height() - side) / 2, side, side)
        icons.paint(painter, self._concept, icon, Role.ACCENT if self.isChecked() else Role.MUTED)
        if not narrow:
            count = text_width(self._count, Text.CAPTION) + 2
            right = QRectF(self.width() - 17 - count, 0, count, self.height())
            draw_text(painter, right, self._count, Text.CAPTION, tokens[Role.MUTED], right=True)
            style = Text.STRONG if self.isChecked() else Text.NAME
            word = QRectF(Size.TOP_BAR, 0, right.left() - Size.TOP_BAR - Space.XS, self.height())
            draw_text(painter, word, self.text(), style, tokens[Role.TEXT])
        if self.hasFocus():
            paint_focus_ring(painter, rect)


class Navigation(Ground):
    """The pages there are."""

    def __init__(self) -> None:
        super().__init__(Role.WINDOW)
        self.sessions = NavigationItem(self.tr("Sessions"), Concept.SESSIONS)
        self.sessions.setChecked(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, Space.M, 0, Space.M)
        layout.setSpacing(Space.XS)
        layout.addWidget(self.sessions)
        layout.addStretch(1)
        self.setFixedWidth(Size.NAV)

    def fit(self, window_width: int) -> None:
        """Show icons only where the window is narrow."""
        self.setFixedWidth(Size.NAV_NARROW if window_width < Size.NAV_NARROW_BELOW else Size.NAV)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the ground and the line that parts it from the page."""
        super().paintEvent(event)
        end = float(self.width() - 1)
        hairline(QPainter(self), QPointF(end, 0), QPointF(end, self.height()), theme().tokens)


class StatusBar(Ground):
    """Facts about what is open, and the notice line."""

    dismissed = Signal()

    def __init__(self) -> None:
        super().__init__(Role.SURFACE, line_above=True)
        self._facts: list[TokenLabel] = []
        self._row = QHBoxLayout()
        self._row.setSpacing(Space.M)
        self._icon = IconLabel(Concept.INFORMATION)
        self.notice = ElidedLabel("", Text.CAPTION)
        self._close = Button(look=Look.QUIET, concept=Concept.CLOSE, name=self.tr("Dismiss the notice"))
        self._close.setFixedSize(Size.ROW, Size.ROW)
        self._close.clicked.connect(self.clear_notice)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(Space.L, 1, Space.S, 0)
        layout.setSpacing(Space.S)
        layout.addLayout(self._row)
        layout.addSpacing(Space.L)
        layout.addWidget(self._icon)
        layout.addWidget(self.notice, 1)
        layout.addWidget(self._close)
        layout.addStretch(0)
        self.setFixedHeight(Size.STATUS_BAR)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(Timing.NOTICE)
        self._timer.timeout.connect(self.clear_notice)
        self.clear_notice()

    def show_facts(self, facts: Sequence[str]) -> None:
        """Show these facts from left to right."""
        while len(self._facts) < len(facts):
            if self._facts:
                self._row.addWidget(Line(Space.M))
            label = TokenLabel("", Text.CAPTION, Role.MUTED if self._facts else Role.TEXT)
            self._facts.append(label)
            self._row.addWidget(label)
        for label, fact in zip(self._facts, facts, strict=False):
            label.setText(fact)
        for place in range(self._row.count()):
            item = self._row.itemAt(place)
            if (widget := item.widget() if item else None) is not None:
                widget.setVisible(place < 2 * len(facts) - 1)

    def tell(self, text: str, *, failed: bool) -> None:
        """Show a notice; a failure stays until it is dismissed."""
        self._icon.show_icon(Concept.DAMAGED if failed else Concept.DONE, Role.BAD if failed else Role.MUTED)
        self.notice.set_role(Role.BAD if failed else Role.MUTED)
        self.notice.set_text(text)
        for widget in (self._icon, self.notice, self._close):
            widget.show()
        if failed:
            self._timer.stop()
        else:
            self._timer.start()

    def clear_notice(self) -> None:
        """Take the notice away."""
        self._timer.stop()
        self.notice.set_text("")
        for widget in (self._icon, self.notice, self._close):
            widget.hide()
        self.dismissed.emit()
