"""The five states of a page: empty, loading, partial, damaged, stale; data, or the reason why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QRectF, Qt, QTimer
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QHBoxLayout, QStackedLayout, QVBoxLayout, QWidget

from strandline_gui.theme import Concept, Opacity, Role, Size, Space, Text, Timing, theme
from strandline_gui.widgets.banner import Banner, BannerText, Choice
from strandline_gui.widgets.button import Button, Look
from strandline_gui.widgets.labels import Ground, IconLabel, TokenLabel
from strandline_gui.widgets.painting import draw_text, rounded_frame, text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QPaintEvent

# Lengths of the skeleton's bars as shares of their column; uneven, so that it reads as a list of names.
_BARS = (0.52, 0.38, 0.61, 0.44, 0.33, 0.56, 0.47, 0.40, 0.58, 0.36)


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no data, and what to do.

    Attributes:
        concept: its icon.
        role: the icon's colour: muted, or ``BAD`` for damage.
        heading: what is the matter.
        place: where; shown in a box that can be selected and copied.
        text: what it means and what to do.
        choices: what can be done, the primary one first.
    """

    concept: Concept
    role: Role = Role.MUTED
    heading: str
    place: str = ""
    text: str = ""
    choices: tuple[Choice, ...] = ()


class PageState(QWidget):
    """Shows a page's content under its banners, or a card, or a skeleton while it loads.

    *Partial* and *stale* are banners over content; *empty* and *damaged* are cards.
    """

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        self._content = content
        self._skeleton = Skeleton()
        self._card = CardView()
        self._blank = Ground(Role.SURFACE)
        self._banners: tuple[BannerText, ...] = ()
        self._strips = QVBoxLayout()
        self._strips.setSpacing(0)
        self._stack = QStackedLayout()
        for page in (self._blank, content, self._skeleton, self._card):
            self._stack.addWidget(page)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(self._strips)
        layout.addLayout(self._stack, 1)
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(Timing.SKELETON)
        self._patience.timeout.connect(lambda: self._stack.setCurrentWidget(self._skeleton))

    @property
    def shows_content(self) -> bool:
        """Whether the data is on show."""
        return self._stack.currentWidget() is self._content

    @property
    def card(self) -> Card | None:
        """The card on show, if any."""
        return self._card.card if self._stack.currentWidget() is self._card else None

    @property
    def banners(self) -> tuple[BannerText, ...]:
        """The banners on show."""
        return self._banners

    def show_content(self) -> None:
        """Show the data."""
        self._patience.stop()
        self._stack.setCurrentWidget(self._content)

    def show_loading(self, what: str, done: str, share: float | None) -> None:
        """Show a skeleton once waiting becomes noticeable.

        Args:
            what: what is being done.
            done: how far, as ``1,204 of 5,000``; empty when unknown.
            share: the same from 0 to 1; ``None`` when unknown.
        """
        self._skeleton.show_progress(what, done, share)
        if self._stack.currentWidget() is not self._skeleton and not self._patience.isActive():
            self._stack.setCurrentWidget(self._blank)
            self._patience.start()

    def show_card(self, card: Card) -> None:
        """Show why there is no data."""
        self._patience.stop()
        self._card.show_card(card)
        self._stack.setCurrentWidget(self._card)

    def show_banners(self, banners: Sequence[BannerText]) -> None:
        """Show these banners and no others."""
        if tuple(banners) == self._banners:
            return
        self._banners = tuple(banners)
        _clear(self._strips)
        for text in banners:
            self._strips.addWidget(Banner(text))


class Skeleton(Ground):
    """The shape of a list that is on its way, with a count where one is known."""

    def __init__(self) -> None:
        super().__init__(Role.SURFACE)
        self._what, self._done, self._share = "", "", 0.0
        self._known = False

    def show_progress(self, what: str, done: str, share: float | None) -> None:
        """Say what is being done and how far it is."""
        self._what, self._done, self._known, self._share = what, done, share is not None, share or 0.0
        self.setAccessibleName(f"{what} {done}".strip())
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint heading, progress and the bars of rows."""
        super().paintEvent(event)
        tokens = theme().tokens
        painter = QPainter(self)
        left, right, top = Space.L, self.width() - Space.L, Space.L
        count = text_width(self._done, Text.BODY) + 1
        heading = QRectF(left, top, right - left - count - Space.M, Size.ROW)
        draw_text(painter, heading, self._what, Text.BODY, tokens[Role.TEXT])
        draw_text(painter, QRectF(right - count, top, count, Size.ROW), self._done, Text.BODY, tokens[Role.MUTED])
        top += Size.ROW + Space.XS
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        if self._known:
            track = QRectF(left, top, right - left, Space.XS)
            for width, role in ((track.width(), Role.LINE), (track.width() * min(self._share, 1.0), Role.ACCENT)):
                painter.setBrush(tokens[role])
                painter.drawRoundedRect(QRectF(track.left(), track.top(), width, Space.XS), 2, 2)
        top += Space.L + Space.XS
        painter.setBrush(tokens.tint(Role.LINE, Opacity.SKELETON))
        name = (right - left) * 0.5
        row = 0
        while top + Size.ROW <= self.height():
            middle = top + Size.ROW / 2
            half = Size.BAR_HEIGHT / 2
            painter.drawEllipse(QRectF(left, middle - half - 1, Space.S + 2, Space.S + 2))
            painter.drawRoundedRect(QRectF(left + Space.XL, middle - half, name * _BARS[row % 10], Space.S), 4, 4)
            for offset, width in ((0.58, 0.08), (0.70, 0.14), (0.92, 0.08)):
                bar = QRectF(left + (right - left) * offset, middle - half, (right - left) * width, Space.S)
                painter.drawRoundedRect(bar, 4, 4)
            top += Size.ROW
            row += 1


class PlaceBox(TokenLabel):
    """The place of a damage, ready to be selected and copied."""

    def __init__(self, text: str) -> None:
        super().__init__(text, Text.CAPTION, wrap=True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setContentsMargins(Space.S, Space.S, Space.S, Space.S)
        self.setAccessibleName(text)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the box behind the text."""
        tokens = theme().tokens
        painter = QPainter(self)
        rounded_frame(painter, QRectF(self.rect()), fill=tokens[Role.WINDOW], edge=tokens[Role.LINE])
        painter.end()
        super().paintEvent(event)


class CardView(Ground):
    """One card in the middle of the page."""

    def __init__(self) -> None:
        super().__init__(Role.SURFACE)
        self.card: Card | None = None
        layout = QHBoxLayout(self)
        layout.setContentsMargins(Space.XL, Space.XL, Space.XL, Space.XL)
        self._column = QVBoxLayout()
        self._column.setSpacing(0)
        layout.addStretch(1)
        layout.addLayout(self._column)
        layout.addStretch(1)

    def show_card(self, card: Card) -> None:
        """Lay out a card anew."""
        if card == self.card:
            return
        self.card = card
        _clear(self._column)
        column = self._column
        column.addStretch(2)
        column.addWidget(IconLabel(card.concept, card.role, Size.HERO_ICON), 0, Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(Space.M)
        column.addWidget(self._words(card.heading, Text.HEADING, Role.TEXT), 0, Qt.AlignmentFlag.AlignHCenter)
        if card.place:
            column.addSpacing(Space.M)
            box = PlaceBox(card.place)
            box.setFixedWidth(Size.CARD)
            column.addWidget(box, 0, Qt.AlignmentFlag.AlignHCenter)
        if card.text:
            column.addSpacing(Space.S)
            column.addWidget(self._words(card.text, Text.BODY, Role.MUTED), 0, Qt.AlignmentFlag.AlignHCenter)
        if card.choices:
            column.addSpacing(Space.L)
            buttons = QHBoxLayout()
            buttons.setSpacing(Space.S)
            buttons.addStretch(1)
            for choice in card.choices:
                look = Look.FILLED if choice.primary else Look.OUTLINED
                button = Button(choice.text, look=look, concept=choice.concept)
                button.clicked.connect(choice.act)
                buttons.addWidget(button)
            buttons.addStretch(1)
            column.addLayout(buttons)
        column.addStretch(3)

    def _words(self, text: str, style: Text, role: Role) -> TokenLabel:
        label = TokenLabel(text, style, role, wrap=True)
        label.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        label.setFixedWidth(Size.CARD)
        return label


def _clear(layout: QVBoxLayout | QHBoxLayout) -> None:
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()
        elif isinstance(inner := item.layout(), QVBoxLayout | QHBoxLayout):
            _clear(inner)
