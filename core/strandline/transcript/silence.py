"""Silent replies: what a model says when nobody is to hear it, and where that leaks out (spec 2026.5 §10)."""

from __future__ import annotations

import re

TOKENS = ("NO_REPLY", "HEARTBEAT_OK")

_EXACT = re.compile(rf"\s*(?:{'|'.join(TOKENS)})\s*", re.IGNORECASE)
_ENVELOPE = re.compile(r'\s*\{\s*"action"\s*:\s*"NO_REPLY"\s*\}\s*')
_TRAILING = re.compile(rf"(?:^|\s+|\*+)(?:{'|'.join(TOKENS)})\s*$", re.IGNORECASE)
_LEADING_GLUED = re.compile(rf"^(?:\s*(?:{'|'.join(TOKENS)}))+(?=[^\W_])", re.IGNORECASE)
_ANYWHERE = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(TOKENS)})(?![A-Za-z0-9_])")


def is_silent(text: str) -> bool:
    """Tell whether nothing of a reply is delivered: the bare token, its JSON form, or a token that ends nothing."""
    if _EXACT.fullmatch(text) or _ENVELOPE.fullmatch(text):
        return True
    return not _TRAILING.sub("", text).strip()


def leaked_token(text: str) -> str | None:
    """Return the token that people get to read when ``text`` is delivered; ``None`` when they read none."""
    if is_silent(text):
        return None
    delivered = _LEADING_GLUED.sub("", _TRAILING.sub("", text))
    found = _ANYWHERE.search(delivered)
    return found[0] if found else None
