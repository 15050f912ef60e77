"""Words that are marked for translation where they stand as data, and translated where they are shown."""

from __future__ import annotations


def QT_TRANSLATE_NOOP(_context: str, text: str) -> str:
    """Mark ``text`` for ``lupdate``, which looks for this name; Qt's own is not typed."""
    return text
