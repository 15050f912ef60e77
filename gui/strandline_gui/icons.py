"""Icons as vectors out of QtAwesome's Material Design Icons; the only module that knows where they come from.

The font is read straight from the installed package: importing ``qtawesome`` costs 100 ms and loads every family.
Pixmaps are kept per glyph, colour, size and device pixel ratio, so they stay sharp on every screen.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

import msgspec
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QPainterPath, QPixmap, QRawFont

from strandline_gui.theme import Concept, Role, theme

_FONT = "materialdesignicons6-webfont-*.ttf"
_GLYPHS = "materialdesignicons6-webfont-charmap-*.json"
_LOADED_SIZE = 96.0


def paint(painter: QPainter, concept: Concept, rect: QRectF, role: Role) -> None:
    """Paint an icon, centred in ``rect``, as large as its shorter side."""
    side = min(rect.width(), rect.height())
    ratio = painter.device().devicePixelRatio()
    picture = pixmap(concept, role, round(side), ratio)
    painter.drawPixmap(QPointF(rect.center().x() - side / 2, rect.center().y() - side / 2), picture)


def pixmap(concept: Concept, role: Role, size: int, ratio: float) -> QPixmap:
    """Return an icon in a role's colour of the present scheme, ``size`` logical pixels wide."""
    return _pixmap(concept, theme().tokens[role].rgba(), size, ratio)


def has_glyph(concept: Concept) -> bool:
    """Tell whether the icon font knows the concept's glyph."""
    return not _outline(concept).isEmpty()


@lru_cache(maxsize=512)
def _pixmap(concept: Concept, rgba: int, size: int, ratio: float) -> QPixmap:
    # An image, not a pixmap: on a screen of 16 bits a pixmap that becomes transparent forgets its ratio.
    side = round(size * ratio)
    picture = QImage(side, side, QImage.Format.Format_ARGB32_Premultiplied)
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.scale(size / _LOADED_SIZE, size / _LOADED_SIZE)
    painter.fillPath(_outline(concept), QColor.fromRgba(rgba))
    painter.end()
    return QPixmap.fromImage(picture)


@cache
def _outline(concept: Concept) -> QPainterPath:
    """Return the glyph's outline in a square of ``_LOADED_SIZE``; empty when the icons are not installed."""
    raw, glyphs = _font()
    code = glyphs.get(concept.value)
    if raw is None or code is None:
        return QPainterPath()
    indexes = raw.glyphIndexesForString(chr(int(code, 16)))
    return raw.pathForGlyph(indexes[0]).translated(0, _BASELINE * _LOADED_SIZE)


# The family is drawn on a square of 512 units whose baseline stands at 448.
_BASELINE = 0.875


@cache
def _font() -> tuple[QRawFont | None, dict[str, str]]:
    spec = find_spec("qtawesome")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place) / "fonts"
        font, glyphs = next(folder.glob(_FONT), None), next(folder.glob(_GLYPHS), None)
        if font and glyphs:
            raw = QRawFont(str(font), _LOADED_SIZE, QFont.HintingPreference.PreferNoHinting)
            return raw, msgspec.json.decode(glyphs.read_bytes(), type=dict[str, str])
    return None, {}
