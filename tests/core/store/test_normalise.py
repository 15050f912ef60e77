"""Rows after loading: pairs that the real loader gave, and properties on made-up rows."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from strandline.store.delivery import delivery_channel, normalise_channel
from strandline.store.normalise import (
    Dropped,
    DropReason,
    normalise_model,
    normalise_row,
    normalise_session_id,
    normalise_updated_at,
)

if TYPE_CHECKING:
    from msgspec import UnsetType

    from strandline.ecmascript import JsonValue


def _expand(value: JsonValue) -> JsonValue:
    """Undo the short forms of the data file."""
    match value:
        case {"$repeat": [text, times]}:
            return text * times
        case {"$nest": depth}:
            return json.loads("[" * depth + "1" + "]" * depth)
        case {"$list": length}:
            return [0] * length
        case {"$keys": count}:
            return {f"k{number}": 0 for number in range(count)}
        case dict():
            return {key: _expand(member) for key, member in value.items()}
        case list():
            return [_expand(member) for member in value]
    return value


_PAIRS = json.loads((Path(__file__).parents[2] / "data" / "normalise.json").read_text("utf-8"))

# Values on both sides of the rules.
_CHARACTERS = 'aZ0 -_.:/@"\n\u0085\u00e9\u0130\u212a\ufeff\U0001f600'
_TEXTS = st.sampled_from(
    ["", "  ", "slack", " Slack ", "teams", "u", "A b", "7", "a:b", "s1", " s2 ", "x" * 129, "__proto__", "K\u212a"]
) | st.text(_CHARACTERS, max_size=8)
_NUMBERS = st.integers() | st.floats(allow_nan=False) | st.sampled_from([0, -0.5, 1.9, 1e21, 10**400, -(10**400)])
_SCALARS = st.none() | st.booleans() | _NUMBERS | _TEXTS
_JSON = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4), max_leaves=12
)


def _objects(**fields: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[dict[str, JsonValue]]:
    return st.fixed_dictionaries({}, optional=fields)


_CONTEXTS = _SCALARS | _objects(channel=_TEXTS, to=_SCALARS, accountId=_SCALARS, threadId=_SCALARS, extra=_JSON)
_ROUTES = _SCALARS | _objects(
    channel=_TEXTS,
    accountId=_SCALARS,
    target=_SCALARS | _objects(to=_SCALARS, rawTo=_SCALARS, chatType=_JSON),
    thread=_SCALARS | _objects(id=_SCALARS, kind=_JSON, source=_JSON),
)
_PLUGIN_MAPS = _JSON | st.dictionaries(_TEXTS, st.dictionaries(_TEXTS, _JSON, max_size=3), max_size=3)
_SETTLED = {
    "sessionId": st.sampled_from(["s1", " s2 ", "a:b", "a b", "a/b", "x" * 256]) | _SCALARS,
    "sessionFile": _SCALARS,
    "updatedAt": _JSON,
    "model": _SCALARS,
    "modelProvider": _SCALARS,
    "room": _SCALARS,
    "groupChannel": _SCALARS,
    "route": _ROUTES,
    "deliveryContext": _CONTEXTS,
    "lastChannel": _TEXTS | _SCALARS,
    "lastTo": _SCALARS,
    "lastAccountId": _SCALARS,
    "lastThreadId": _SCALARS,
    "pendingFinalDelivery": _JSON,
    "pendingFinalDeliveryText": _SCALARS,
    "pendingFinalDeliveryCreatedAt": _SCALARS,
    "pendingFinalDeliveryAttemptCount": _SCALARS,
    "pendingFinalDeliveryContext": _CONTEXTS,
    "pluginExtensions": _PLUGIN_MAPS,
    "pluginExtensionSlotKeys": _PLUGIN_MAPS,
    "skillsSnapshot": _SCALARS | _objects(prompt=_TEXTS, resolvedSkills=_JSON),
}
# Sources that the real program falls back to only once a blank field has gone, so one load later.
_FALLBACKS = {
    "channel": _TEXTS | _SCALARS,
    "provider": _TEXTS | _SCALARS,
    "lastProvider": _TEXTS | _SCALARS,
    "origin": _CONTEXTS,
}
_ROWS = _objects(**_SETTLED, **_FALLBACKS)


def _field(row: dict[str, JsonValue], name: str) -> JsonValue | UnsetType:
    return row.get(name, UNSET)


@pytest.mark.parametrize("pair", [pytest.param(pair, id=pair["name"]) for pair in _PAIRS])
def test_gives_what_the_real_loader_gave(pair: dict[str, JsonValue]) -> None:
    """Each pair of the real program is reproduced, the order of the keys included; null stands for a dropped row."""
    loaded = normalise_row(_expand(pair["stored"]))
    assert json.dumps(None if isinstance(loaded, Dropped) else loaded) == json.dumps(_expand(pair["loaded"]))


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        (None, DropReason.NOT_AN_OBJECT),
        ([], DropReason.NOT_AN_OBJECT),
        ({"sessionId": None}, DropReason.SESSION_ID_NOT_TEXT),
        ({"sessionId": 5}, DropReason.SESSION_ID_NOT_TEXT),
        ({"sessionId": " \ufeff"}, DropReason.SESSION_ID_BLANK),
        ({"sessionId": "x" * 256}, DropReason.SESSION_ID_TOO_LONG),
        ({"sessionId": "a/b"}, DropReason.SESSION_ID_SEPARATOR),
        ({"sessionId": "a\\b"}, DropReason.SESSION_ID_SEPARATOR),
        ({"sessionId": ".."}, DropReason.SESSION_ID_CHARACTERS),
        ({"sessionId": "a b"}, DropReason.SESSION_ID_CHARACTERS),
    ],
)
def test_says_why_a_row_is_dropped(stored: JsonValue, reason: DropReason) -> None:
    """A dropped row names its rule and has a sentence for people."""
    dropped = normalise_row(stored)
    assert isinstance(dropped, Dropped)
    assert dropped.reason is reason
    assert dropped.sentence.startswith(("it ", "its "))


def test_every_reason_has_its_own_sentence() -> None:
    """No two rules read alike to people."""
    rows: list[JsonValue] = [1, *({"sessionId": value} for value in (1, "", "x" * 256, "/", "é"))]
    dropped = [normalise_row(row) for row in rows]
    assert {each.reason for each in dropped if isinstance(each, Dropped)} == set(DropReason)
    assert len({each.sentence for each in dropped if isinstance(each, Dropped)}) == len(DropReason)


@given(_objects(**_SETTLED))
def test_loading_twice_changes_nothing_more(row: dict[str, JsonValue]) -> None:
    """A loaded row loads as itself when no fallback waits behind a field that the first load removed."""
    loaded = normalise_row(row)
    if isinstance(loaded, dict):
        assert json.dumps(normalise_row(loaded)) == json.dumps(loaded)


@given(_ROWS)
def test_loading_settles(row: dict[str, JsonValue]) -> None:
    """Even with fallbacks the rows stop changing, after the third load at the latest."""
    loaded = normalise_row(row)
    for _ in range(2):
        if isinstance(loaded, dict):
            loaded = normalise_row(loaded)
    if isinstance(loaded, dict):
        assert json.dumps(normalise_row(loaded)) == json.dumps(loaded)


@given(_ROWS, st.dictionaries(st.text(_CHARACTERS).map("x-".__add__), _JSON, max_size=4))
def test_keeps_fields_that_no_rule_names(row: dict[str, JsonValue], unknown: dict[str, JsonValue]) -> None:
    """Fields that the real program does not know survive as they were written, in their order."""
    loaded = normalise_row({**row, **unknown})
    if isinstance(loaded, dict):
        assert json.dumps({key: loaded[key] for key in loaded if key in unknown}) == json.dumps(unknown)


@given(_ROWS | _JSON)
def test_never_raises_and_never_changes_its_argument(stored: JsonValue) -> None:
    """Whatever a hand wrote into the file, there is an answer, and the stored value is left alone."""
    before = copy.deepcopy(stored)
    assert isinstance(normalise_row(stored), dict | Dropped)
    assert json.dumps(stored) == json.dumps(before)


@given(_ROWS)
def test_the_rules_of_single_fields_agree_with_the_row(row: dict[str, JsonValue]) -> None:
    """A reader that decodes only some fields comes to the same values as one that loads the whole row."""
    loaded = normalise_row(row)
    session_id = normalise_session_id(_field(row, "sessionId"), _field(row, "sessionFile"))
    if isinstance(loaded, Dropped):
        assert session_id == loaded
        return
    assert session_id == loaded.get("sessionId")
    if "updatedAt" in row:
        assert normalise_updated_at(row["updatedAt"]) == loaded["updatedAt"]
    model = normalise_model(_field(row, "model"), _field(row, "modelProvider"))
    assert model == (loaded.get("model"), loaded.get("modelProvider"))
    channel = delivery_channel(
        route=_field(row, "route"),
        delivery_context=_field(row, "deliveryContext"),
        channel=_field(row, "channel"),
        last_channel=_field(row, "lastChannel"),
        provider=_field(row, "provider"),
        last_provider=_field(row, "lastProvider"),
    )
    assert channel == loaded.get("lastChannel")


@given(_TEXTS)
def test_a_channel_id_is_its_own_id(name: str) -> None:
    """Resolving an alias gives an id that resolves to itself."""
    assert normalise_channel(normalise_channel(name)) == normalise_channel(name)


def test_a_channel_lost_to_a_blank_field_returns_at_the_second_load() -> None:
    """The real program is not idempotent here, and neither are we."""
    stored: JsonValue = {"lastChannel": "", "channel": "slack", "lastTo": "u"}
    first = normalise_row(stored)
    assert isinstance(first, dict)
    assert first["deliveryContext"] == {"to": "u"}
    second = normalise_row(first)
    assert isinstance(second, dict)
    assert second["deliveryContext"] == {"channel": "slack", "to": "u"}
