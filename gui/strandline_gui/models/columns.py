"""The columns of the sessions table: what each shows, says and sorts by."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TypeAlias

import msgspec
from PySide6.QtCore import QCoreApplication

from strandline.rows import SessionRow, TranscriptFacts
from strandline_gui import wording
from strandline_gui.translation import QT_TRANSLATE_NOOP

SortValue: TypeAlias = float | str | None


class Column(IntEnum):
    """Columns in the order of the table."""

    STATUS = 0
    NAME = 1
    KIND = 2
    AGENT = 3
    MODEL = 4
    CHANNEL = 5
    CONTEXT = 6
    COMPACTIONS = 7
    SIZE = 8
    ACTIVE = 9


class SessionLine(msgspec.Struct, frozen=True):
    """A session as the table has it.

    Attributes:
        row: from the store.
        facts: from the disk; ``None`` until known.
        stale: whether what this directory says may be overtaken, as another machine owns the sessions.
    """

    row: SessionRow
    facts: TranscriptFacts | None
    stale: bool = False

    @property
    def fresh(self) -> bool:
        """Whether the token count can be taken at its word."""
        return self.row.total_tokens_fresh and not self.stale

    @property
    def size(self) -> int | None:
        """Bytes of the transcript, when known."""
        return self.facts.bytes if self.facts else None


class ColumnSpec(msgspec.Struct, frozen=True):
    """What a column is.

    Attributes:
        title: its heading; translated when shown.
        spoken: its name where the heading is an icon or too short.
        width: its first width in logical pixels; the name takes what is left.
        right: whether it is a column of figures.
        optional: whether it is hidden until asked for.
        from_facts: whether it sorts by what the disk says, which comes late.
        descending: whether the first click sorts the largest first.
        sort_value: the raw value it sorts by; ``None`` is unknown and always last.
        text: what a cell says.
        explanation: the tooltip of a cell.
    """

    title: str
    spoken: str
    width: int
    right: bool
    optional: bool
    from_facts: bool
    descending: bool
    sort_value: Callable[[SessionRow, TranscriptFacts | None], SortValue]
    text: Callable[[SessionLine, int], str]
    explanation: Callable[[SessionLine], str]


def title_of(column: Column) -> str:
    """Return a column's heading."""
    return QCoreApplication.translate("Columns", COLUMNS[column].title)


def spoken_title_of(column: Column) -> str:
    """Return a column's name in full, for menus and screen readers."""
    return QCoreApplication.translate("Columns", COLUMNS[column].spoken)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Columns", text)


def _explain_status(line: SessionLine) -> str:
    condition = wording.condition_of(line.row, line.facts)
    return f"{condition.word}\n{condition.explanation}" if condition.explanation else condition.word


def _explain_name(line: SessionLine) -> str:
    return f"{line.row.name}\n{line.row.key}\n{_explain_status(line)}"


def _context_text(line: SessionLine, _now_ms: int) -> str:
    share = line.row.context_share
    text = wording.percent_text(share)
    return text if share is None or line.fresh else f"~{text}"


def _explain_context(line: SessionLine) -> str:
    row = line.row
    if row.total_tokens is None or not row.context_window:
        return _tr("The store does not say how full the context is.")
    text = _tr("{used} of {window} tokens, as stored after the last call").format(
        used=wording.count_text(row.total_tokens), window=wording.count_text(row.context_window)
    )
    if not row.total_tokens_fresh:
        return text + "\n" + _tr("~ The store does not vouch for this count any more.")
    return text + "\n" + _tr("~ This directory may be overtaken.") if line.stale else text


def _explain_size(line: SessionLine) -> str:
    text = wording.exact_size_text(line.size)
    return f"{line.facts.name}\n{text}" if line.facts and line.facts.name else text


def _explain_model(line: SessionLine) -> str:
    row = line.row
    if row.model is None:
        return _tr("No turn was stored, so no model is known.")
    return f"{row.model_provider}/{row.model}" if row.model_provider else row.model


def _agent_explanation(line: SessionLine) -> str:
    return _tr("Agent {agent}").format(agent=line.row.agent_id)


COLUMNS: tuple[ColumnSpec, ...] = (
    ColumnSpec(
        title="",
        spoken=QT_TRANSLATE_NOOP("Columns", "Status"),
        width=40,
        right=False,
        optional=False,
        from_facts=True,
        descending=False,
        sort_value=wording.condition_rank,
        text=lambda line, _: wording.condition_of(line.row, line.facts).word,
        explanation=_explain_status,
    ),
    ColumnSpec(
        title=QT_TRANSLATE_NOOP("Columns", "Session"),
        spoken=QT_TRANSLATE_NOOP("Columns", "Session"),
        width=368,
        right=False,
        optional=False,
        from_facts=False,
        descending=False,
        sort_value=lambda row, _: row.name.casefold(),
        text=lambda line, _: line.row.name,
        explanation=_explain_name,
    ),
    ColumnSpec(
        title=QT_TRANSLATE_NOOP("Columns", "Kind"),
        spoken=QT_TRANSLATE_NOOP("Columns", "Kind"),
        width=104,
        right=False,
        optional=True,
        from_facts=False,
        descending=False,
        sort_value=lambda row, _: row.kind.value,
        text=lambda line, _: line.row.kind.value,
        explanation=lambda line: f"{line.row.kind.value} · {line.row.shape.value}",
    ),
    ColumnSpec(
        title=QT_TRANSLATE_NOOP("Columns", "Agent"),
        spoken=QT_TRANSLATE_NOOP("Columns", "Agent"),
        width=72,
        right=False,
        optional=False,
        from_facts=False,
        descending=False,
        sort_value=lambda row, _: row.agent_id,
        text=lambda line, _: line.row.agent_id,
        explanation=_agent_explanation,
    ),
    ColumnSpec(
        title=QT_TRANSLATE_NOOP("Columns", "Model"),
        spoken=QT_TRANSLATE_NOOP("Columns", "Model"),
        width=144,
        right=False,
        optional=True,
        from_facts=False,
        descending=False,
        sort_value=lambda row, _: row.model.casefold() if row.model else None,
        text=lambda line, _: line.row.model or wording.UNKNOWN,
        explanation=_explain_model,
    ),
    ColumnSpec(
        title=QT_TRANSLATE_NOOP("Columns", "Channel"),
        spoken=QT_TRANSLATE_NOOP("Columns", "Channel"),
        width=96,
        right=False,
        optional=False,
        from_facts=False,
        descending=False,
        sort_value=lambda row, _: row.channel or None,
        text=lambda line, _: wording.channel_text(line.row.channel, internal=line.row.internal),
        explanation=lambda line: line.row.channel or _tr("The row names no channel."),
    ),
    ColumnSpec(
        title=QT_TRANSLATE_NOOP("Columns", "Context"),
        spoken=QT_TRANSLATE_NOOP("Columns", "Context"),
        width=152,
        right=False,
        optional=False,
        from_facts=False,
        descending=True,
        sort_value=lambda row, _: row.context_share,
        text=_context_text,
        explanation=_explain_context,
    ),
    ColumnSpec(
        title=QT_TRANSLATE_NOOP("Columns", "Cmp."),
        spoken=QT_TRANSLATE_NOOP("Columns", "Compactions"),
        width=64,
        right=True,
        optional=True,
        from_facts=False,
        descending=True,
        sort_value=lambda row, _: row.compaction_count,
        text=lambda line, _: wording.count_text(line.row.compaction_count),
        explanation=lambda _: _tr("Completed compactions: old turns replaced by a summary so that the talk fits"),
    ),
    ColumnSpec(
        title=QT_TRANSLATE_NOOP("Columns", "Size"),
        spoken=QT_TRANSLATE_NOOP("Columns", "Size"),
        width=76,
        right=True,
        optional=False,
        from_facts=True,
        descending=True,
        sort_value=lambda _, facts: facts.bytes if facts else None,
        text=lambda line, _: wording.size_text(line.size),
        explanation=_explain_size,
    ),
    ColumnSpec(
        title=QT_TRANSLATE_NOOP("Columns", "Active"),
        spoken=QT_TRANSLATE_NOOP("Columns", "Last activity"),
        width=76,
        right=True,
        optional=False,
        from_facts=False,
        descending=True,
        sort_value=lambda row, _: row.updated_at or None,
        text=lambda line, now_ms: wording.age_text(line.row.updated_at, now_ms),
        explanation=lambda line: wording.moment_text(line.row.updated_at),
    ),
)
