"""The filter grammar of the contract: every field, every operator, every refusal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows_factory import NOW_MS, make_facts, make_row
from strandline.errors import BadRequest
from strandline.filters import FIELD_NAMES, parse_filter
from strandline.rows import SessionRow, TranscriptFacts, TranscriptState
from strandline.state.keys import KeyShape, SessionKind

_DAY_MS = 86_400_000


def _found(text: str, row: SessionRow | None = None, facts: TranscriptFacts | None = None) -> bool:
    return parse_filter(text).matches(make_row() if row is None else row, facts, NOW_MS)


def test_an_empty_expression_lets_every_row_pass() -> None:
    """Nothing and white space are the same: no term, no wish for facts."""
    for text in ("", "  \t\n "):
        parsed = parse_filter(text)
        assert parsed.is_empty
        assert not parsed.needs_facts
        assert parsed.matches(make_row(), None, NOW_MS)
    assert not parse_filter("x").is_empty


_TEXT_CASES = [
    ("agent", {"agent_id": "main"}, "main", "ops"),
    ("kind", {"kind": SessionKind.SPAWN_CHILD, "shape": KeyShape.SUBAGENT}, "spawn-child", "cron"),
    ("kind", {"kind": SessionKind.SPAWN_CHILD, "shape": KeyShape.SUBAGENT}, "subagent", "group"),
    ("channel", {"channel": "telegram"}, "telegram", "tele"),
    ("model", {"model": "gpt-5.5", "model_provider": "openai"}, "gpt-5.5", "gpt"),
    ("model", {"model": "gpt-5.5", "model_provider": "openai"}, "openai/gpt-5.5", "openai"),
    ("status", {"status": "running"}, "running", "failed"),
    ("state", {"protected": True}, "protected", "removable"),
    ("state", {"protected": False}, "removable", "protected"),
    ("state", {"dropped": "its sessionId is blank"}, "dropped", "loaded"),
    ("state", {"dropped": None}, "loaded", "dropped"),
    ("state", {"internal": True}, "internal", "external"),
]


@pytest.mark.parametrize(("field", "changes", "value", "other"), _TEXT_CASES)
def test_a_word_field_compares_whole_and_case_folded(
    field: str, changes: dict[str, object], value: str, other: str
) -> None:
    """The value itself is found in any case, negated it is not; another value or a part is not equal."""
    row = make_row(**changes)
    assert _found(f"{field}:{value}", row)
    assert _found(f"{field.upper()}:{value.upper()}", row)
    assert not _found(f"-{field}:{value}", row)
    assert not _found(f"{field}:{other}", row)
    assert _found(f"-{field}:{other}", row)


def test_file_compares_the_state_of_the_transcript() -> None:
    """Words of a state may be joined by hyphens; without facts the state is unknown."""
    newer = make_facts(state=TranscriptState.ROW_NEWER)
    assert _found('file:"row newer than file"', facts=newer)
    assert _found("file:row-newer-than-file", facts=newer)
    assert not _found("file:present", facts=newer)
    assert _found("file:present", facts=make_facts())
    assert _found("file:unknown")
    assert not _found("file:present")


_NUMBER_CASES = [
    ("ctx", {"total_tokens": 150_000, "context_window": 200_000}, ("75", "75%"), ("76%", "200"), ("74%", "0")),
    ("tokens", {"total_tokens": 120_000}, ("120000", "120k", "0.12m"), ("121k",), ("119.9k",)),
    ("cmp", {"compaction_count": 3}, ("3", "3.0"), ("4",), ("2",)),
    ("age", {"updated_at": NOW_MS - 7 * _DAY_MS}, ("7d", "1w", "168h", "10080m", "604800s"), ("8d",), ("6.5d",)),
]


@pytest.mark.parametrize(("field", "changes", "equal", "above", "below"), _NUMBER_CASES)
def test_a_number_field_compares_in_its_units(
    field: str, changes: dict[str, object], equal: tuple[str, ...], above: tuple[str, ...], below: tuple[str, ...]
) -> None:
    """Every operator holds on its side of the value, in every unit and in any case."""
    row = make_row(**changes)
    for number in equal:
        held = [op for op in ("<", "<=", "=", ">=", ">") if _found(f"{field}{op}{number.upper()}", row)]
        assert held == ["<=", "=", ">="], number
    for number in above:
        held = [op for op in ("<", "<=", "=", ">=", ">") if _found(f"{field}{op}{number}", row)]
        assert held == ["<", "<="], number
    for number in below:
        held = [op for op in ("<", "<=", "=", ">=", ">") if _found(f"{field}{op}{number}", row)]
        assert held == [">=", ">"], number


@pytest.mark.parametrize("size", ["2048", "2048b", "2k", "2kb", "0.001953125m", "0.001953125mb"])
def test_size_comes_from_the_disk_in_powers_of_1024(size: str) -> None:
    """All spellings of 2 KiB are equal to a file of that size."""
    assert _found(f"size={size}", facts=make_facts(bytes=2048))
    assert not _found(f"size={size}", facts=make_facts(bytes=2049))


@pytest.mark.parametrize(
    ("field", "unknown"),
    [
        ("ctx", {"total_tokens": None}),
        ("ctx", {"context_window": None}),
        ("tokens", {"total_tokens": None}),
        ("cmp", {"compaction_count": None}),
        ("age", {"updated_at": None}),
        ("age", {"updated_at": 0}),
        ("size", {}),
    ],
)
def test_an_unknown_number_meets_no_comparison(field: str, unknown: dict[str, object]) -> None:
    """Neither small nor large nor equal; ``unknown`` finds it, and only it."""
    row = make_row(**unknown)
    unit = "s" if field == "age" else ""
    assert not any(_found(f"{field}{op}0{unit}", row) for op in ("<", "<=", "=", ">=", ">"))
    assert _found(f"{field}:unknown", row)
    assert not _found(f"-{field}:unknown", row)
    assert not _found(f"{field}:unknown", make_row(), make_facts())


def test_zero_is_known() -> None:
    """Zero tokens and zero compactions are values, not the want of one."""
    row = make_row(total_tokens=0, compaction_count=0)
    assert _found("tokens=0 cmp=0 ctx=0%", row)
    assert not _found("tokens:unknown", row)


@pytest.mark.parametrize("field", ["channel", "model", "status"])
def test_an_absent_word_is_unknown(field: str) -> None:
    """A row without the value is found by ``unknown`` and by no value."""
    row = make_row(channel="", model=None, model_provider=None, status=None)
    assert _found(f"{field}:unknown", row)
    assert not _found(f"{field}:slack", row)
    assert not _found(f"{field}:unknown", make_row(status="running"))


def test_commas_are_choices() -> None:
    """One equal value is enough; empty choices between commas are skipped."""
    row = make_row(channel="slack")
    assert _found("channel:telegram,slack", row)
    assert _found("channel:,slack,", row)
    assert not _found("channel:telegram,discord", row)
    assert not _found("-channel:telegram,slack", row)


@pytest.mark.parametrize(
    ("pattern", "model", "found"),
    [
        ("claude*", "claude-sonnet-4-6", True),
        ("*sonnet*", "claude-sonnet-4-6", True),
        ("*opus*", "claude-sonnet-4-6", False),
        ("*", "anything", True),
        ("sonnet*", "claude-sonnet-4-6", False),
        ("m?del*", "model-1", False),
        ("m?del*", "m?del-1", True),
        ("[ab]*", "a-model", False),
        ("[ab]*", "[ab]-model", True),
        ("*/claude*", "claude-sonnet-4-6", True),
    ],
)
def test_only_the_star_is_a_wildcard(pattern: str, model: str, found: bool) -> None:
    """``*`` stands for anything; question marks and brackets are text."""
    assert _found(f"model:{pattern}", make_row(model=model)) is found


def test_a_star_does_not_find_what_is_absent_unless_it_may_be_anything() -> None:
    """The word ``unknown`` stands for an absent value, so a lone star finds every row."""
    assert _found("status:*", make_row(status=None))
    assert not _found("status:run*", make_row(status=None))


def test_a_bare_word_is_looked_for_in_name_and_key() -> None:
    """Part of either is enough, in any case; several words must all be found."""
    row = make_row(name="Harbour Team", key="agent:main:slack:channel:C07")
    assert _found("bour", row)
    assert _found("c07", row)
    assert _found("HARBOUR team", row)
    assert not _found("harbour lisbon", row)
    assert _found("harbour -lisbon", row)
    assert not _found("-harbour", row)


def test_case_folding_goes_beyond_lower_case() -> None:
    """``STRASSE`` and ``straße`` are one word."""
    assert _found("STRASSE", make_row(name="Lange straße"))


def test_quotation_marks_keep_a_text_together() -> None:
    """Spaces, colons, comparisons and a hyphen in front are text inside them."""
    row = make_row(name="-5 agent:x ctx>80% Harbour Team")
    assert _found('"harbour team"', row)
    assert not _found('"team harbour"', row)
    assert _found('"agent:x"', row)
    assert _found('"ctx>80%"', row)
    assert _found('"-5"', row)
    assert not _found('-"-5"', row)
    assert not _found('-"harbour team"', row)


def test_a_lone_hyphen_is_text() -> None:
    """Nothing stands behind it that it could negate."""
    assert _found("-", make_row(name="a-b"))
    assert not _found("-", make_row(name="ab", key="k"))


def test_words_that_look_like_comparisons_stay_words() -> None:
    """Only a known field makes a comparison: ``a=b`` is looked for as it stands."""
    assert _found("a=b", make_row(name="if a=b then"))
    assert not _found("a=b", make_row(name="a b"))


def test_only_size_and_file_wait_for_the_disk() -> None:
    """Everything else is answered by the store alone."""
    assert {name for name in FIELD_NAMES if parse_filter(f"{name}:unknown").needs_facts} == {"size", "file"}
    assert parse_filter("agent:main -size>1mb").needs_facts


@pytest.mark.parametrize(
    ("text", "column", "expectation"),
    [
        ("foo:bar", 1, "agent"),
        ("agent:main  foo:bar", 13, "age, agent, channel, cmp, ctx, file, kind, model, size, state, status, tokens"),
        ("-foo:bar", 2, "quotation marks"),
        ("agent:", 7, "a value"),
        ("agent:,,", 7, "a value"),
        ("agent:main ctx:80", 16, '"ctx:unknown"'),
        ("agent>5", 6, '"agent:value"'),
        ("-kind<=5", 6, '"kind:value"'),
        ("ctx>", 5, "80%"),
        ("ctx>abc", 5, "80%"),
        ("ctx>8kb", 5, "80%"),
        ("age<7", 5, "s, m, h, d or w"),
        ("age<7y", 5, "7d"),
        ("size>=1tb", 7, "1mb"),
        ("tokens>-5", 8, "120k"),
        ("cmp>1k", 5, "as 3"),
        ("size>1.", 6, "500kb"),
        ('agent:main "harbour', 12, 'another "'),
        ("tokens>\u0665", 8, "120k"),
    ],
)
def test_a_refusal_names_column_and_expectation(text: str, column: int, expectation: str) -> None:
    """The sentence says where and what was expected there."""
    with pytest.raises(BadRequest) as refusal:
        parse_filter(text)
    sentence = str(refusal.value)
    assert sentence.startswith(f"Filter, column {column}: ")
    assert "expected" in sentence
    assert expectation in sentence.partition("expected")[2]
    assert refusal.value.exit_code == 2


_PIECES = st.sampled_from(
    [
        *FIELD_NAMES,
        ":",
        "<",
        "<=",
        ">",
        "=",
        "-",
        '"',
        " ",
        ",",
        "*",
        "[",
        "?",
        "80%",
        "7d",
        "1mb",
        "unknown",
        "x",
        "\u0130",
    ]
)
_TEXTS = st.lists(_PIECES, max_size=8).map("".join) | st.text(max_size=20)


@given(_TEXTS)
def test_parsing_never_raises_anything_but_a_refusal(text: str) -> None:
    """Any text is an expression or a sentence; an expression answers for every row, known or not."""
    try:
        parsed = parse_filter(text)
    except BadRequest as refusal:
        assert str(refusal).startswith("Filter, column ")  # noqa: PT017 - both ways are right
        return
    bare = make_row(
        total_tokens=None, context_window=None, compaction_count=None, updated_at=None, model=None, model_provider=None
    )
    for row, facts in ((make_row(), make_facts()), (bare, None)):
        assert isinstance(parsed.matches(row, facts, NOW_MS), bool)


@given(st.text(max_size=20).filter(lambda text: '"' not in text))
def test_a_quoted_name_always_finds_its_row(name: str) -> None:
    """Whatever a session is called, its name in quotation marks leads to it, and negated it hides it."""
    row = make_row(name=name, key="k")
    assert _found(f'"{name}"', row)
    assert not _found(f'-"{name}"', row)


@given(_TEXTS)
def test_a_negated_term_is_the_opposite(text: str) -> None:
    """A hyphen in front of one term turns its answer round."""
    try:
        parsed = parse_filter(text)
    except BadRequest:
        return
    if len(parsed.terms) != 1 or text.strip().startswith("-"):
        return
    row = make_row()
    assert _found(f"-{text.strip()}", row, make_facts()) is not parsed.matches(row, make_facts(), NOW_MS)
