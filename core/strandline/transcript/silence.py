"""Silent replies: what a model says when nobody is to hear it, and where that leaks out (spec 2026.5 §10)."""

from __future__ import annotations

import re

TOKENS = ("NO_REPLY", "HEARTBEAT_OK")

_EXACT = re.compile(rf"\s*(?:{'|'.join(TOKENS)})\s*", re.IGNORECASE)
_ENVELOPE = re.compile(r'\s*\{\s*"action"\s*:\s*"NO_REPLY"\s*\}\s*')
_TRAILING = re.compile(rf"(?:^|\s+|\*+)(?:{'|'.join(TOKENS)})\s*$", re.IGNORECASE)
_LEADING_GLUED = re.compile(rf"^(?:\s*(?:{'|'.join(TOKENS)}))+(?=[^\W_])", re.IGNORECASE)
_MENTION = re.compile(rf"[`\"'“„‘«](?:{'|'.join(TOKENS)})[`\"'”“’»]")
_CUT = re.compile(r"[A-Z_]{2,}")
_ANYWHERE = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(TOKENS)})(?![A-Za-z0-9_])")


def is_silent(text: str) -> bool:
    """Tell whether nothing of a reply is delivered: the bare token, its JSON form, or a token that ends nothing."""
    if _EXACT.fullmatch(text) or _ENVELOPE.fullmatch(text):
        return True
    return not _TRAILING.sub("", text).strip()


def leaked_token(text: str) -> str | None:
    """Return the token, or what is left of one, that people get to read of ``text``; ``None`` when they read none.

    A token behind the text is taken off before the text goes out; one in quotes is only talked about. ``NO`` and
    ``NO_RE`` are what a token looks like when the reply was cut.
    """
    whole = text.strip()
    if _CUT.fullmatch(whole) and any(token.startswith(whole) for token in TOKENS) and ("_" in whole or whole == "NO"):
        return whole if whole not in TOKENS else None
    folded = text.upper()
    if not any(token in folded for token in TOKENS) or is_silent(text):
        return None
    delivered = _MENTION.sub("", _LEADING_GLUED.sub("", _TRAILING.sub("", text)))
    found = _ANYWHERE.search(delivered)
    return found[0] if found else None
