"""A strip above the data that says what to know about it; the data stays usable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from strandline_gui.theme import Concept, Opacity, Role, Size, Space, Text, theme
from strandline_gui.widgets.button import Button, Look
from strandline_gui.widgets.labels import ElidedLabel, IconLabel, TokenLabel

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent


class Choice(msgspec.Struct, frozen=True):
    """Something a person can do about a state.

    Attributes:
        text: the verb on the button.
        act: what it does.
        primary: whether it is the one filled button.
        concept: its icon.
    """

    text: str
    act: Callable[[], None]
    primary: bool = False
    concept: Concept | None = None


class BannerText(msgspec.Struct, frozen=True, kw_only=True):
    """What a banner says.

    Attributes:
        concept: its icon.
        role: its tone: ``MUTED`` informs, ``WARN`` and ``BAD`` need a person.
        title: what is the matter.
        detail: more about it in one sentence.
        choices: what can be done.
        expands: whether the detail may be unfolded where it does not fit in a line.
    """

    concept: Concept
    role: Role
    title: str
    detail: str = ""
    choices: tuple[Choice, ...] = ()
    expands: bool = False


class Banner(QWidget):
    """Icon, what is the matter, and what can be done."""

    def __init__(self, text: BannerText) -> None:
        super().__init__()
        self._role = text.role
        self.setAccessibleName(f"{text.title} {text.detail}".strip())
        self._short = ElidedLabel(text.detail, Text.CAPTION, Role.MUTED)
        self._long = TokenLabel(text.detail, Text.CAPTION, Role.TEXT, wrap=True)
        self._long.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._long.hide()
        words = QVBoxLayout()
        words.setContentsMargins(0, 0, 0, 0)
        words.setSpacing(0)
        words.addStretch(1)
        words.addWidget(ElidedLabel(text.title, Text.NAME))
        if text.detail:
            words.addWidget(self._short)
            words.addWidget(self._long)
        words.addStretch(1)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(Space.L, Space.XS, Space.L - Space.XS, Space.XS)
        layout.setSpacing(Space.S)
        layout.addWidget(IconLabel(text.concept, text.role))
        layout.addLayout(words, 1)
        if text.expands and text.detail:
            more = Button(self.tr("Details"), look=Look.LINK)
            more.setCheckable(True)
            more.toggled.connect(self._unfold)
            layout.addWidget(more)
        for choice in text.choices:
            button = Button(choice.text, look=Look.LINK)
            button.clicked.connect(choice.act)
            layout.addWidget(button)
        self.setMinimumHeight(Size.BANNER if text.detail else Size.BANNER - Space.M)

    def _unfold(self, unfolded: bool) -> None:  # noqa: FBT001 - a slot
        self._short.setVisible(not unfolded)
        self._long.setVisible(unfolded)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the ground in the banner's tone."""
        tokens = theme().tokens
        painter = QPainter(self)
        if self._role is Role.MUTED:
            painter.fillRect(self.rect(), tokens[Role.WINDOW])
        else:
            painter.fillRect(self.rect(), tokens.over(self._role, Opacity.BANNER, Role.SURFACE))
        painter.fillRect(QRectF(0, self.height() - 1, self.width(), 1), tokens[Role.LINE])
