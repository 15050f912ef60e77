"""Every colour, size and font of the window, in one place, and the scheme that is in force.

Widgets read ``theme().tokens`` when they paint, so a change of the colour scheme is a repaint and nothing else.
"""

from __future__ import annotations

from enum import Enum, StrEnum
from functools import cache
from importlib import resources
from typing import Final, Literal, TypeAlias

import msgspec
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette

ThemeChoice: TypeAlias = Literal["system", "light", "dark"]


class Role(StrEnum):
    """What a colour is for."""

    WINDOW = "window"
    SURFACE = "surface"
    RAISED = "raised"
    LINE = "line"
    EDGE = "edge"
    CTL = "ctl"
    TEXT = "text"
    MUTED = "muted"
    BAR = "bar"
    ACCENT = "accent"
    ONACCENT = "onaccent"
    SELECT = "select"
    OK = "ok"
    WARN = "warn"
    BAD = "bad"


LIGHT: Final = {
    Role.WINDOW: "#F4F6F7",
    Role.SURFACE: "#FFFFFF",
    Role.RAISED: "#FFFFFF",
    Role.LINE: "#D9DFE3",
    Role.EDGE: "#BCC6CD",
    Role.CTL: "#84909A",
    Role.TEXT: "#1B2126",
    Role.MUTED: "#56616B",
    Role.BAR: "#6F7B85",
    Role.ACCENT: "#0B6B75",
    Role.ONACCENT: "#FFFFFF",
    Role.SELECT: "#D3EAEC",
    Role.OK: "#24703A",
    Role.WARN: "#8A5300",
    Role.BAD: "#B3261E",
}
DARK: Final = {
    Role.WINDOW: "#15191C",
    Role.SURFACE: "#1D2226",
    Role.RAISED: "#262D32",
    Role.LINE: "#343C42",
    Role.EDGE: "#4A555E",
    Role.CTL: "#6F7C86",
    Role.TEXT: "#E6EAED",
    Role.MUTED: "#9CA8B2",
    Role.BAR: "#83909A",
    Role.ACCENT: "#56BFC8",
    Role.ONACCENT: "#10181A",
    Role.SELECT: "#183B40",
    Role.OK: "#6CC788",
    Role.WARN: "#E3AE55",
    Role.BAD: "#F28B82",
}


class Space:
    """Distances, in logical pixels."""

    XS = 4
    S = 8
    M = 12
    L = 16
    XL = 24


class Size:
    """Extents that several widgets share, in logical pixels."""

    RADIUS = 4
    CONTROL = 28
    ROW = 24
    ICON = 16
    NAV_ICON = 20
    HERO_ICON = 32
    FOCUS = 2
    ACCENT_BAR = 3
    IDLE_DOT = 5
    TOP_BAR = 48
    STATUS_BAR = 28
    NAV = 160
    NAV_NARROW = 56
    NAV_ITEM = 32
    NAV_NARROW_BELOW = 1180
    TOOL_ROW = 44
    HEADER = 28
    SCROLL = 11
    SCROLL_THUMB = 5
    SCROLL_MINIMUM = 28
    BAR_WIDTH = 88
    BAR_HEIGHT = 8
    BAR_RADIUS = 2
    DASH = 3
    BANNER = 48
    FILTER_WIDTH = 320
    KEY_MINIMUM = 96
    CARD = 460
    TITLE_MAXIMUM = 360
    WINDOW_WIDTH = 1440
    WINDOW_HEIGHT = 900
    WINDOW_MINIMUM_WIDTH = 720
    WINDOW_MINIMUM_HEIGHT = 420
    CHANNEL_HIDES_BELOW = 760
    AGENT_HIDES_BELOW = 560


class Opacity:
    """Strengths of tints, from 0 to 1."""

    IDLE = 0.55
    SKELETON = 0.62
    BANNER = 0.10
    HOVER = 0.06
    DISABLED = 0.45


class Timing:
    """Delays in milliseconds."""

    SKELETON = 150
    FLUSH = 100
    IDLE = 1500
    FILTER = 120
    AGES = 5000
    NOTICE = 10_000


class Text(Enum):
    """Text styles: pixel size, weight, letter spacing."""

    BODY = (13, 400, 0.0)
    NAME = (13, 500, 0.0)
    STRONG = (13, 600, 0.0)
    CAPTION = (11, 400, 0.1)
    STATE = (11, 500, 0.0)
    SECTION = (11, 600, 0.0)
    HEADING = (16, 600, 0.0)
    FIGURE = (23, 600, -0.3)


class Concept(StrEnum):
    """What an icon stands for; the value is its glyph among the Material Design Icons."""

    MARK = "waves"
    DIRECTORY = "folder-outline"
    OBSERVE = "eye-outline"
    OPENS = "chevron-down"
    SESSIONS = "table-large"
    FILTER = "filter-outline"
    SORT_UP = "arrow-up"
    SORT_DOWN = "arrow-down"
    COPY = "content-copy"
    RETRY = "refresh"
    CLOSE = "close"
    SAMPLE = "flask-outline"
    EMPTY = "inbox-outline"
    NO_DIRECTORY = "folder-open-outline"
    NEWER = "database-outline"
    DAMAGED = "alert-circle-outline"
    WARNING = "alert-outline"
    LIVE = "play-circle-outline"
    DONE = "check-circle-outline"
    STOPPED = "stop-circle-outline"
    DROPPED = "cancel"
    PARTIAL = "progress-clock"
    REMOTE = "server-network"
    INFORMATION = "information-outline"
    COLUMNS = "view-column-outline"


@cache
def load_fonts() -> str:
    """Load the fonts that are shipped and return their family; the system's own when they are missing."""
    family = ""
    for name in ("Inter-Regular.otf", "Inter-Medium.otf", "Inter-SemiBold.otf"):
        data = resources.files("strandline_resources").joinpath("fonts", name).read_bytes()
        font_id = QFontDatabase.addApplicationFontFromData(data)
        families = QFontDatabase.applicationFontFamilies(font_id) if font_id >= 0 else []
        family = family or (families[0] if families else "")
    return family or QGuiApplication.font().family()


@cache
def font(style: Text) -> QFont:
    """Return the font of a text style; digits are tabular, so that columns of numbers line up."""
    pixels, weight, spacing = style.value
    made = QFont(load_fonts())
    made.setPixelSize(pixels)
    made.setWeight(QFont.Weight(weight))
    made.setFeature(QFont.Tag("tnum"), 1)
    if spacing:
        made.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, spacing)
    return made


class Tokens(msgspec.Struct, frozen=True):
    """The colours of one scheme.

    Attributes:
        dark: whether it is the dark scheme.
        colours: one colour per role.
    """

    dark: bool
    colours: dict[Role, QColor]

    def __getitem__(self, role: Role) -> QColor:
        return self.colours[role]

    def tint(self, role: Role, opacity: float) -> QColor:
        """Return a role's colour at less than full strength."""
        colour = QColor(self.colours[role])
        colour.setAlphaF(opacity)
        return colour

    def over(self, role: Role, opacity: float, ground: Role) -> QColor:
        """Return the opaque colour that a tint of ``role`` gives on ``ground``."""
        top, below = self.colours[role], self.colours[ground]
        red, green, blue = (
            round(a * opacity + b * (1 - opacity))
            for a, b in (
                (top.red(), below.red()),
                (top.green(), below.green()),
                (top.blue(), below.blue()),
            )
        )
        return QColor(red, green, blue)


@cache
def tokens_of(*, dark: bool) -> Tokens:
    """Return the tokens of the dark or the light scheme."""
    return Tokens(dark, {role: QColor(value) for role, value in (DARK if dark else LIGHT).items()})


class Theme(QObject):
    """The scheme in force; follows the system unless a person chose one.

    Signals:
        changed: the tokens are different now.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._choice: ThemeChoice = "system"
        self._tokens = tokens_of(dark=False)

    @property
    def tokens(self) -> Tokens:
        """The colours to paint with right now."""
        return self._tokens

    @property
    def choice(self) -> ThemeChoice:
        """What was chosen; ``system`` follows the desktop."""
        return self._choice

    def follow(self) -> None:
        """Apply the present scheme and keep following the desktop's."""
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._refresh)
        self._apply(force=True)

    def choose(self, choice: ThemeChoice) -> None:
        """Override the desktop's scheme, or follow it again."""
        self._choice = choice
        self._apply(force=False)

    def _refresh(self) -> None:
        self._apply(force=False)

    def _apply(self, *, force: bool) -> None:
        wanted = tokens_of(dark=system_is_dark() if self._choice == "system" else self._choice == "dark")
        if not force and wanted is self._tokens:
            return
        self._tokens = wanted
        QGuiApplication.setPalette(palette_of(wanted))
        self.changed.emit()


def system_is_dark() -> bool:
    """Tell whether the desktop asks for dark windows."""
    return QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark


def palette_of(tokens: Tokens) -> QPalette:
    """Return the palette that the style paints ordinary controls from."""
    palette = QPalette()
    group, role = QPalette.ColorGroup, QPalette.ColorRole
    for target, source in {
        role.Window: Role.WINDOW,
        role.WindowText: Role.TEXT,
        role.Base: Role.SURFACE,
        role.AlternateBase: Role.WINDOW,
        role.Text: Role.TEXT,
        role.Button: Role.SURFACE,
        role.ButtonText: Role.TEXT,
        role.BrightText: Role.BAD,
        role.ToolTipBase: Role.RAISED,
        role.ToolTipText: Role.TEXT,
        role.PlaceholderText: Role.MUTED,
        role.Highlight: Role.SELECT,
        role.HighlightedText: Role.TEXT,
        role.Link: Role.ACCENT,
        role.LinkVisited: Role.ACCENT,
        role.Light: Role.RAISED,
        role.Midlight: Role.LINE,
        role.Mid: Role.EDGE,
        role.Dark: Role.CTL,
        role.Shadow: Role.EDGE,
        role.Accent: Role.ACCENT,
    }.items():
        palette.setColor(target, tokens[source])
    for target in (role.WindowText, role.Text, role.ButtonText, role.HighlightedText):
        palette.setColor(group.Disabled, target, tokens[Role.MUTED])
    return palette


@cache
def theme() -> Theme:
    """Return the one theme of this process."""
    return Theme()
