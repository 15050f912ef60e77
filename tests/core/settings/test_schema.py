"""What the real program's own schema said to 845 values, compared with ours path by path."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.settings.schema import CONFIG, Problem, validate

_RECORDS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data" / "config-validation.json").read_text("utf-8")
)

# Only what Strandline reads is declared (schema.py), so these records of the real program have no answer here. Each
# line has its reason; a path or value that is declared later must leave this list.
_ANOTHER_SUBJECT = "Strandline reads nothing of it"
_OPEN = "the object holds settings that Strandline does not read, so a key unknown to us is no mistake"
_UNDECLARED_PATHS = {
    "cron.retry": _ANOTHER_SUBJECT,
    "cron.failureAlert": _ANOTHER_SUBJECT,
    "cron.failureDestination": _ANOTHER_SUBJECT,
    "cron.webhook": _ANOTHER_SUBJECT,
    "gateway.bind": _ANOTHER_SUBJECT,
    "$schema": _ANOTHER_SUBJECT,
    "meta": _ANOTHER_SUBJECT,
    "env": _ANOTHER_SUBJECT,
}
_UNDECLARED_VALUES: dict[tuple[str, str], str] = {
    ("agents.defaults", '{"foo": 1}'): _OPEN,
    ("agents.list", '[{"id": "a", "foo": 1}]'): _OPEN,
    ("agents.list", '[{"id": "a", "compaction": {}}]'): _OPEN,
    ("agents.list", '[{"id": "a", "agentDir": "/x"}, {"id": "b", "agentDir": "/x"}]'): _ANOTHER_SUBJECT,
    ("gateway", '{"foo": 1}'): _OPEN,
    ("gateway.remote", '{"foo": 1}'): _OPEN,
    ("gateway.remote", '{"remotePort": 0}'): _ANOTHER_SUBJECT,
    ("gateway.remote", '{"remotePort": 65536}'): _ANOTHER_SUBJECT,
    ("gateway.remote", '{"transport": "x"}'): _ANOTHER_SUBJECT,
    ("gateway.remote", '{"token": 5}'): _ANOTHER_SUBJECT,
    ("cron", '{"foo": 1}'): _OPEN,
    ("foo", "1"): _OPEN,
}
# JSON has no infinity and no NaN; the record holds their names. For a duration "NaN" was tried as a text.
_NAMES = {"Infinity": math.inf, "NaN": math.nan}
_DURATIONS = ("pruneAfter", "resetArchiveRetention", "sessionRetention")


def _undeclared(record: dict[str, Any]) -> str | None:
    path: str = record["path"]
    for declared, reason in _UNDECLARED_PATHS.items():
        if path == declared or path.startswith(f"{declared}."):
            return reason
    return _UNDECLARED_VALUES.get((path, json.dumps(record["value"])))


def _document(path: str, value: object) -> object:
    if path == "<root>":
        return value
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


def _answer(record: dict[str, Any]) -> str:
    value = record["value"]
    if value == "Infinity" or (value == "NaN" and not record["path"].endswith(_DURATIONS)):
        value = _NAMES[value]
    found = validate(CONFIG, _document(record["path"], value), "")
    return " ;; ".join(f"{problem.path}: {problem.message}" for problem in found) or "OK"


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(record, id=f"{record['path']}={ascii(record['value'])[:40]}")
        for record in _RECORDS
        if _undeclared(record) is None
    ],
)
def test_answers_as_the_real_schema(record: dict[str, Any]) -> None:
    """Path, message and order of the issues are those of the real program."""
    assert _answer(record) == record["result"]


def test_every_undeclared_record_is_listed_because_it_has_to_be() -> None:
    """A value that we refuse as the real program does needs no line in the list; each line stands for a record."""
    left_out = [record for record in _RECORDS if _undeclared(record) is not None]
    assert all(_answer(record) == "OK" for record in left_out)
    refused = {(record["path"], json.dumps(record["value"])) for record in left_out if record["result"] != "OK"}
    assert set(_UNDECLARED_VALUES) <= refused
    for path in _UNDECLARED_PATHS:
        assert any(found == path or found.startswith(f"{path}.") for found, _ in refused), path


def test_most_of_the_record_is_compared() -> None:
    """The list of exceptions does not eat the test."""
    compared = [record for record in _RECORDS if _undeclared(record) is None]
    assert len(compared) >= 750
    assert sum(record["result"] != "OK" for record in compared) >= 400


def test_a_required_field_is_missed() -> None:
    """An agent without an id and a rule without an action are refused where the field should stand."""
    root = {"agents": {"list": [{}]}, "session": {"sendPolicy": {"rules": [{}]}}}
    assert list(validate(CONFIG, root, "")) == [
        Problem("agents.list.0.id", "Invalid input"),
        Problem("session.sendPolicy.rules.0.action", 'Invalid input (allowed: "allow", "deny")'),
    ]


def test_a_problem_has_a_sentence() -> None:
    """It names place and message, and what it means for the whole file."""
    sentence = Problem("session.scope", "Invalid input").sentence
    assert sentence == "session.scope: Invalid input; OpenClaw refuses the whole file until this is mended."


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted({record["path"] for record in _RECORDS})), _JSON)
def test_any_value_is_accepted_or_refused(path: str, value: object) -> None:
    """Nothing raises, and every problem lies at or below the value, or where the parent's keys are counted."""
    for problem in validate(CONFIG, _document(path, value), ""):
        assert problem.message
        assert path in {"<root>", problem.path} or problem.path.startswith(f"{path}.")
