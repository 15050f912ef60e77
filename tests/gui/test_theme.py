"""Tokens: contrast, one place for them, a scheme that changes while the window runs (A34)."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication

from strandline_gui import icons
from strandline_gui.theme import Concept, Role, Text, font, load_fonts, theme, tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from strandline_gui.application import Session

GUI = Path(__file__).parent.parent.parent / "gui" / "strandline_gui"
SOURCES = sorted(GUI.rglob("*.py"))
GROUNDS = (Role.WINDOW, Role.SURFACE, Role.SELECT)
TEXTS = (Role.TEXT, Role.MUTED, Role.ACCENT, Role.OK, Role.WARN, Role.BAD)


def luminance(colour: QColor) -> float:
    """Return the relative luminance of WCAG."""
    channels = (colour.redF(), colour.greenF(), colour.blueF())
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def alike(first: QColor, second: QColor) -> bool:
    """Tell whether two colours are one on a screen of 16 bits."""
    pairs = zip(first.getRgb(), second.getRgb(), strict=True)
    return all(abs(one - other) <= 8 for one, other in pairs)


def contrast(first: QColor, second: QColor) -> float:
    """Return the contrast of two colours."""
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("text", TEXTS)
def test_text_stands_out(text: Role, ground: Role, dark: bool) -> None:
    """Every text colour reaches 4.5 on window, surface and selection."""
    tokens = tokens_of(dark=dark)
    assert contrast(tokens[text], tokens[ground]) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
def test_controls_stand_out(dark: bool) -> None:
    """The edge of a field reaches 3, and the text of the filled button 4.5."""
    tokens = tokens_of(dark=dark)
    assert contrast(tokens[Role.CTL], tokens[Role.SURFACE]) >= 3
    assert contrast(tokens[Role.ONACCENT], tokens[Role.ACCENT]) >= 4.5
    for role in (Role.WARN, Role.BAD):
        assert contrast(tokens[Role.TEXT], tokens.over(role, 0.10, Role.SURFACE)) >= 4.5
        assert contrast(tokens[Role.MUTED], tokens.over(role, 0.10, Role.SURFACE)) >= 4.5


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_no_literal_looks(source: Path) -> None:
    """No module but the theme names a colour, a font or a font size."""
    text = source.read_text("utf-8")
    if source.name != "theme.py":
        found = re.findall(
            r"#[0-9A-Fa-f]{6}\b|QColor\(\s*[\"'0-9]|GlobalColor\.(?!transparent)|setPixelSize|setPointSize|QFont\(\"|setStyleSheet",
            text,
        )
        assert not found


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_no_nested_loop(source: Path) -> None:
    """Nothing runs a dialog's own loop: other tasks would never wake again."""
    text = source.read_text("utf-8")
    assert not re.findall(r"\.exec_?\(|QMessageBox|QInputDialog|QFileDialog\.get|asyncSlot|asyncClose", text)


@pytest.mark.parametrize("concept", Concept)
def test_every_concept_has_a_glyph(concept: Concept) -> None:
    """The icon font knows every icon that the window uses."""
    assert icons.has_glyph(concept)


def test_icons_are_sharp_and_kept() -> None:
    """An icon has the pixels of its screen, and is painted once per colour, size and ratio."""
    double = icons.pixmap(Concept.DIRECTORY, Role.TEXT, 16, 2.0)
    assert (double.width(), double.devicePixelRatio()) == (32, 2.0)
    assert icons.pixmap(Concept.DIRECTORY, Role.TEXT, 16, 2.0).cacheKey() == double.cacheKey()
    assert icons.pixmap(Concept.DIRECTORY, Role.TEXT, 16, 1.25).width() == 20


def test_digits_are_tabular() -> None:
    """The shipped font is in use and its digits are equally wide."""
    from PySide6.QtGui import QFontMetricsF  # noqa: PLC0415 - after the application exists

    assert load_fonts() == "Inter"
    metrics = QFontMetricsF(font(Text.BODY))
    assert metrics.horizontalAdvance("1111") == metrics.horizontalAdvance("8888")


def test_scheme_switches_while_running(
    in_window: Callable[..., None],
    harbour: Path,
    settle: Callable[[Session], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The desktop goes dark and light again: palette and pixels follow both ways, and come out the same (A34)."""

    async def act(session: Session) -> None:
        await settle(session)
        window = session.window
        assert window is not None
        theme().choose("system")
        hints = QGuiApplication.styleHints()
        pictures = []
        for scheme in (Qt.ColorScheme.Light, Qt.ColorScheme.Dark, Qt.ColorScheme.Light):
            dark = scheme == Qt.ColorScheme.Dark
            # The platform without a screen has no desktop to ask; what follows its signal is all ours.
            monkeypatch.setattr("strandline_gui.theme.system_is_dark", lambda dark=dark: dark)
            hints.colorSchemeChanged.emit(scheme)
            await asyncio.sleep(0.05)
            assert theme().tokens is tokens_of(dark=dark)
            picture = window.grab().toImage()
            pictures.append(picture)
            corner = window.page.table.mapTo(window, window.page.table.rect().bottomLeft())
            assert alike(picture.pixelColor(corner), tokens_of(dark=dark)[Role.SURFACE])
        assert pictures[0] == pictures[2]
        assert pictures[0] != pictures[1]

    in_window(harbour, act)
