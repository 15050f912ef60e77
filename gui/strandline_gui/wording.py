"""Values as people read them: sizes, times, shares, channels, and the condition of a session in a word."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QCoreApplication

from strandline.rows import TranscriptState
from strandline_gui.theme import Concept, Role
from strandline_gui.translation import QT_TRANSLATE_NOOP

if TYPE_CHECKING:
    from strandline.rows import SessionRow, TranscriptFacts

UNKNOWN = "–"  # stands for "not known", which is not 0
_KILO = 1024
_WHOLE_FROM = 10
_SECOND, _MINUTE, _HOUR, _DAY, _YEAR = 1, 60, 3600, 86_400, 365 * 86_400
_JUST_NOW = 10

_CHANNELS = {
    "acp": "ACP",
    "bluebubbles": "BlueBubbles",
    "googlechat": "Google Chat",
    "imessage": "iMessage",
    "irc": "IRC",
    "msteams": "MS Teams",
    "webchat": "Web chat",
    "whatsapp": "WhatsApp",
}


class Condition(NamedTuple):
    """How a session stands.

    Attributes:
        rank: for sorting; the lower, the more a person is needed.
        concept: its icon; ``None`` is the small dot of an idle session.
        role: colour of icon and word.
        word: the condition in a word or two.
        shown: whether the word stands in the row because a person is needed; else it is in the tooltip only.
        explanation: one sentence; empty when the word says it all.
    """

    rank: int
    concept: Concept | None
    role: Role
    word: str
    shown: bool
    explanation: str


# state of a transcript → icon, colour, word; the translation happens when a row is shown
_TRANSCRIPTS: dict[TranscriptState, tuple[int, Concept, Role, str]] = {
    TranscriptState.MISSING: (0, Concept.DAMAGED, Role.BAD, QT_TRANSLATE_NOOP("Condition", "transcript missing")),
    TranscriptState.POINTER_BROKEN: (0, Concept.DAMAGED, Role.BAD, QT_TRANSLATE_NOOP("Condition", "pointer broken")),
    TranscriptState.OUTSIDE: (2, Concept.WARNING, Role.WARN, QT_TRANSLATE_NOOP("Condition", "transcript outside")),
    TranscriptState.REFUSED_NAME: (2, Concept.WARNING, Role.WARN, QT_TRANSLATE_NOOP("Condition", "file name refused")),
    TranscriptState.MOVED: (2, Concept.WARNING, Role.WARN, QT_TRANSLATE_NOOP("Condition", "transcript moved")),
}
_RUNS: dict[str, tuple[int, Concept, Role, str, bool]] = {
    "failed": (1, Concept.DAMAGED, Role.BAD, QT_TRANSLATE_NOOP("Condition", "run failed"), True),
    "timeout": (3, Concept.WARNING, Role.WARN, QT_TRANSLATE_NOOP("Condition", "run timed out"), True),
    "running": (4, Concept.LIVE, Role.OK, QT_TRANSLATE_NOOP("Condition", "running"), False),
    "killed": (5, Concept.STOPPED, Role.MUTED, QT_TRANSLATE_NOOP("Condition", "run was killed"), False),
    "done": (6, Concept.DONE, Role.MUTED, QT_TRANSLATE_NOOP("Condition", "run done"), False),
}
_DROPPED_RANK, _IDLE_RANK = 2, 7


def condition_of(row: SessionRow, facts: TranscriptFacts | None) -> Condition:
    """Return how a session stands; what needs a person comes before what merely is so."""
    if row.dropped is not None:
        sentence = _tr("OpenClaw drops this row: {reason}").format(reason=row.dropped)
        return Condition(_DROPPED_RANK, Concept.DROPPED, Role.WARN, sentence, True, "")
    if facts is not None and (found := _TRANSCRIPTS.get(facts.state)):
        rank, concept, role, word = found
        return Condition(rank, concept, role, _tr(word), True, facts.note)
    if row.status is not None and (run := _RUNS.get(row.status)):
        rank, concept, role, word, shown = run
        return Condition(rank, concept, role, _tr(word), shown, facts.note if facts else "")
    return Condition(_IDLE_RANK, None, Role.MUTED, _tr("idle"), False, facts.note if facts else "")


def condition_rank(row: SessionRow, facts: TranscriptFacts | None) -> int:
    """Return the rank of ``condition_of`` without its words."""
    if row.dropped is not None:
        return _DROPPED_RANK
    if facts is not None and (found := _TRANSCRIPTS.get(facts.state)):
        return found[0]
    if row.status is not None and (run := _RUNS.get(row.status)):
        return run[0]
    return _IDLE_RANK


def size_text(count: int | None) -> str:
    """Return a size as ``8.2 MB``."""
    if count is None:
        return UNKNOWN
    value, units = float(count), ("B", "KB", "MB", "GB", "TB", "PB")
    step = 0
    # 999.6 KB would read as 1000 KB.
    while value >= _KILO - 0.5 and step < len(units) - 1:
        value /= _KILO
        step += 1
    digits = 1 if step and value < _WHOLE_FROM - 0.05 else 0
    return f"{value:.{digits}f} {units[step]}"


def exact_size_text(count: int | None) -> str:
    """Return a size in bytes, for a tooltip."""
    return _tr("size unknown") if count is None else _tr("{count} bytes").format(count=f"{count:,}")


def age_text(then_ms: float | None, now_ms: int) -> str:
    """Return how long ago something was, as ``5 min``."""
    if not then_ms:
        return UNKNOWN
    seconds = (now_ms - then_ms) / 1000
    if abs(seconds) < _JUST_NOW:
        return _tr("now")
    ahead, seconds = seconds < 0, abs(seconds)
    for unit, template in (
        (_YEAR, _tr("{count} y")),
        (_DAY, _tr("{count} d")),
        (_HOUR, _tr("{count} h")),
        (_MINUTE, _tr("{count} min")),
        (_SECOND, _tr("{count} s")),
    ):
        if seconds >= unit:
            text = template.format(count=int(seconds // unit))
            return _tr("in {time}").format(time=text) if ahead else text
    return _tr("now")


def moment_text(then_ms: float | None) -> str:
    """Return a moment with its zone, for a tooltip."""
    if not then_ms:
        return _tr("time unknown")
    try:
        moment = datetime.fromtimestamp(then_ms / 1000, UTC).astimezone()
    except (OverflowError, ValueError, OSError):
        return _tr("a time outside the calendar ({ms} ms)").format(ms=then_ms)
    offset = f"{moment:%z}"
    return f"{moment:%Y-%m-%d %H:%M:%S} {moment:%Z} (UTC{offset[:3]}:{offset[3:]})"


def percent_text(share: float | None) -> str:
    """Return a share as ``74 %``."""
    return UNKNOWN if share is None else f"{share * 100:.0f} %"


def channel_text(channel: str, *, internal: bool) -> str:
    """Return a channel's name as its maker writes it."""
    if not channel:
        return UNKNOWN
    known = _CHANNELS.get(channel)
    return known or (channel if internal else channel[:1].upper() + channel[1:])


def short_key(key: str) -> str:
    """Return a key without the word every key starts with."""
    return key.removeprefix("agent:")


def count_text(count: float | None) -> str:
    """Return a count with thousands parted."""
    return UNKNOWN if count is None else f"{count:,.0f}"


def sessions_text(count: int) -> str:
    """Return ``1 session`` or ``301 sessions``."""
    return _tr("1 session") if count == 1 else _tr("{count} sessions").format(count=f"{count:,}")


def agents_text(count: int) -> str:
    """Return ``1 agent`` or ``3 agents``."""
    return _tr("1 agent") if count == 1 else _tr("{count} agents").format(count=f"{count:,}")


def _tr(text: str) -> str:
    return QCoreApplication.translate("Condition", text)
