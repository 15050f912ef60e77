"""The filter grammar that table, command and notebook share.

    agent:main kind:cron,hook -status:failed ctx>80% size>=1mb age<7d "harbour team"

Terms are joined by AND; a leading ``-`` negates. ``field:value`` compares case-folded, with ``*`` for anything and
commas between choices; ``field>number`` compares numbers with their unit; any other word is looked for in name, key
and label. An unknown value meets no comparison: ``ctx:unknown`` finds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from operator import eq, ge, gt, le, lt
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from strandline.errors import BadRequest
from strandline.rows import SessionRow, TranscriptFacts, TranscriptState

if TYPE_CHECKING:
    from collections.abc import Iterator

UNKNOWN = "unknown"

_FIELD = re.compile(r"([A-Za-z]+)(:|<=|>=|<|>|=)")
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)([A-Za-z%]*)", re.ASCII)
_SECOND = 1000
_AGE_UNITS = {
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
    "d": 86_400 * _SECOND,
    "w": 7 * 86_400 * _SECOND,
}
_SIZE_UNITS = {"": 1, "b": 1, "k": 1024, "kb": 1024, "m": 1024**2, "mb": 1024**2, "g": 1024**3, "gb": 1024**3}
_COUNT_UNITS = {"": 1, "k": 1000, "m": 1_000_000}
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
    "=": eq,
}

Facts: TypeAlias = TranscriptFacts | None
TextField: TypeAlias = Callable[[SessionRow, Facts], tuple[str | None, ...]]
Predicate: TypeAlias = Callable[[SessionRow, Facts], bool]


class NumberField(msgspec.Struct, frozen=True):
    """A field that holds a number.

    Attributes:
        value: how to read it; ``None`` is unknown.
        units: unit → factor.
        units_in_words: the units for messages.
    """

    value: Callable[[SessionRow, Facts, int], float | None]
    units: Mapping[str, float]
    units_in_words: str


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """One term of an expression.

    Attributes:
        negated: whether it stands behind ``-``.
        field: lower-case field name; empty for a plain word.
        operator: ``:`` or a comparison; empty for a plain word.
        words: case-folded choices of ``:``, or the plain word.
        number: right side of a comparison, in the field's base unit.
    """

    negated: bool = False
    field: str = ""
    operator: str = ""
    words: tuple[str, ...] = ()
    number: float = 0.0


class Filter(msgspec.Struct, frozen=True):
    """A parsed expression.

    Attributes:
        terms: all of them must hold.
    """

    terms: tuple[Term, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether every row passes."""
        return not self.terms

    @property
    def needs_facts(self) -> bool:
        """Whether a term asks about the transcript on disk."""
        return any(term.field in {"size", "file"} for term in self.terms)

    def matches(self, row: SessionRow, facts: Facts, now_ms: int) -> bool:
        """Tell whether a row passes.

        Args:
            row: the row.
            facts: what is known of its transcript; ``None`` while unknown.
            now_ms: the time that ages count to, ms since the epoch.
        """
        return self.predicate(now_ms)(row, facts)

    def predicate(self, now_ms: int) -> Predicate:
        """Return the question to ask many rows, prepared once.

        Args:
            now_ms: the time that ages count to, ms since the epoch.
        """
        questions = [_question(term, now_ms) for term in self.terms]
        if len(questions) == 1:
            return questions[0]
        return lambda row, facts: all(question(row, facts) for question in questions)


def parse_filter(text: str) -> Filter:
    """Parse an expression.

    Raises:
        BadRequest: names the column, counted from 1, and what was expected there.
    """
    return Filter(
        tuple(_parse_term(at, body, negated=negated, quoted=quoted) for at, body, negated, quoted in _split(text))
    )


def _split(text: str) -> Iterator[tuple[int, str, bool, bool]]:
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        start = position
        # A hyphen in front negates; inside quotation marks, or alone, it is text.
        negated = text[position] == "-" and bool(text[position + 1 : position + 2].strip())
        position += negated
        at, quoted = position + 1, text[position] == '"'
        word = ""
        inside = False
        while position < len(text) and (inside or not text[position].isspace()):
            if text[position] == '"':
                inside = not inside
            else:
                word += text[position]
            position += 1
        if inside:
            raise BadRequest(f'Filter, column {start + 1}: a quotation mark is not closed; expected another ".')
        yield at, word, negated, quoted


def _parse_term(at: int, body: str, *, negated: bool, quoted: bool) -> Term:
    match = None if quoted else _FIELD.match(body)
    if match is None:
        return Term(negated=negated, words=(body.casefold(),))
    field, operator, right = match[1].lower(), match[2], body[match.end() :]
    known = field in _TEXT_FIELDS or field in _NUMBER_FIELDS
    if not known:
        if operator == ":":
            raise BadRequest(
                f'Filter, column {at}: "{match[1]}" is no field; expected one of {", ".join(sorted(FIELD_NAMES))}, '
                "or quotation marks around the text."
            )
        return Term(negated=negated, words=(body.casefold(),))
    after = at + match.end()
    if operator == ":":
        words = tuple(part.casefold() for part in right.split(",") if part)
        if not words:
            raise BadRequest(f'Filter, column {after}: nothing stands behind "{field}:"; expected a value.')
        if field in _NUMBER_FIELDS and words != (UNKNOWN,):
            raise BadRequest(
                f'Filter, column {after}: "{field}" holds a number; expected <, <=, >, >= or = before it, '
                f'or "{field}:unknown".'
            )
        return Term(negated=negated, field=field, operator=":", words=words)
    if field not in _NUMBER_FIELDS:
        raise BadRequest(f'Filter, column {after - len(operator)}: "{field}" holds words; expected "{field}:value".')
    return Term(
        negated=negated, field=field, operator=operator, number=_parse_number(right, _NUMBER_FIELDS[field], after)
    )


def _parse_number(text: str, field: NumberField, column: int) -> float:
    match = _NUMBER.fullmatch(text)
    if match is None or match[2].lower() not in field.units:
        raise BadRequest(f'Filter, column {column}: "{text}" is no number; expected one {field.units_in_words}.')
    return float(match[1]) * field.units[match[2].lower()]


def _question(term: Term, now_ms: int) -> Predicate:
    wanted = not term.negated
    if not term.field:
        needle = term.words[0]
        return lambda row, _: (needle in row.name.casefold() or needle in row.key.casefold()) is wanted
    if term.field in _TEXT_FIELDS:
        return _question_of_text(_TEXT_FIELDS[term.field], term.words, wanted=wanted)
    value_of, number = _NUMBER_FIELDS[term.field].value, term.number
    if term.operator == ":":
        return lambda row, facts: (value_of(row, facts, now_ms) is None) is wanted
    compare = _COMPARE[term.operator]

    def compares(row: SessionRow, facts: Facts) -> bool:
        value = value_of(row, facts, now_ms)
        return (value is not None and compare(value, number)) is wanted

    return compares


def _question_of_text(read: TextField, words: tuple[str, ...], *, wanted: bool) -> Predicate:
    # Thousands of rows share a few dozen values; each combination is compared once.
    known: dict[tuple[str | None, ...], bool] = {}

    def holds(row: SessionRow, facts: Facts) -> bool:
        values = read(row, facts)
        answer = known.get(values)
        if answer is None:
            folded = [value.casefold() for value in values if value] or [UNKNOWN]
            answer = any(_equal(value, word) for value in folded for word in words) is wanted
            known[values] = answer
        return answer

    return holds


def _equal(value: str, pattern: str) -> bool:
    if "*" not in pattern:
        return value == pattern
    # Only "*" is special in the grammar; fnmatch knows more.
    return fnmatchcase(value, re.sub(r"[\[?]", lambda found: f"[{found[0]}]", pattern))


def _states(row: SessionRow, _facts: Facts) -> tuple[str | None, ...]:
    return (
        "dropped" if row.dropped is not None else "loaded",
        "protected" if row.protected else "removable",
        "internal" if row.internal else None,
    )


def _context_percent(row: SessionRow, _facts: Facts, _now_ms: int) -> float | None:
    share = row.context_share
    return None if share is None else share * 100


def _age(row: SessionRow, _facts: Facts, now_ms: int) -> float | None:
    return now_ms - row.updated_at if row.updated_at else None


_TEXT_FIELDS: dict[str, TextField] = {
    "agent": lambda row, _: (row.agent_id,),
    "kind": lambda row, _: (row.kind.value, row.shape.value),
    "channel": lambda row, _: (row.channel,),
    "model": lambda row, _: (row.model, f"{row.model_provider}/{row.model}" if row.model_provider else None),
    "status": lambda row, _: (row.status,),
    "state": _states,
    "file": lambda _, facts: (
        (facts.state.value, facts.state.value.replace(" ", "-")) if facts else (TranscriptState.UNKNOWN.value,)
    ),
}
_NUMBER_FIELDS: dict[str, NumberField] = {
    "ctx": NumberField(_context_percent, {"": 1, "%": 1}, "in percent, as 80%"),
    "tokens": NumberField(lambda row, _, __: row.total_tokens, _COUNT_UNITS, "of tokens, as 120000 or 120k"),
    "cmp": NumberField(lambda row, _, __: row.compaction_count, {"": 1}, "of compactions, as 3"),
    "size": NumberField(lambda _, facts, __: facts.bytes if facts else None, _SIZE_UNITS, "of bytes, as 500kb or 1mb"),
    "age": NumberField(_age, _AGE_UNITS, "with a unit s, m, h, d or w, as 7d"),
}
FIELD_NAMES: tuple[str, ...] = (*_TEXT_FIELDS, *_NUMBER_FIELDS)
