"""Session keys: what the real program answered for each, and properties on any text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.ecmascript import trim
from strandline.state.keys import (
    KeyShape,
    SessionKind,
    agent_id_of,
    is_acp_key,
    main_key_of,
    normalise_agent_id,
    normalise_key,
    parse_agent_key,
    read_key,
    store_key,
    subagent_depth,
    thread_of,
)

_RECORDS: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "data" / "keys.json").read_text("utf-8"))
_EACH = pytest.mark.parametrize("real", [pytest.param(real, id=ascii(real["key"])) for real in _RECORDS])

# Pieces on both sides of every rule.
_PIECES = (
    *("agent", "AGENT", "main", "Main", "signal", "SIGNAL", "group", "Group", "channel", "direct", "dm", "thread"),
    *("THREAD", "topic", "telegram", "cron", "run", "subagent", "SUBAGENT", "hook", "acp", "node", "heartbeat", "room"),
    *(":", "::", " ", "", "AbC=", "é", "\u0130", "\u017f", "\ufeff", "\u0085", "-", "7", "\n"),
)
_KEYS = st.lists(st.sampled_from(_PIECES), max_size=9).map(":".join) | st.lists(
    st.sampled_from(_PIECES), max_size=9
).map("".join)
_TEXTS = _KEYS | st.text(max_size=30)
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["group", "GROUP ", "direct", "thread", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)


@_EACH
def test_normalises_and_splits_as_the_real_program(real: dict[str, Any]) -> None:
    """Spelling for look-up, agent and rest are those that were recorded."""
    parsed = parse_agent_key(real["key"])
    assert normalise_key(real["key"]) == real["normalised"]
    assert (parsed and {"agentId": parsed.agent_id, "rest": parsed.rest}) == real["parsed"]
    assert agent_id_of(real["key"]) == real["agentIdFromKey"]


@_EACH
def test_finds_thread_and_depth_as_the_real_program(real: dict[str, Any]) -> None:
    """The thread keeps its case; for a blank key the real program gives no base, ours an empty one."""
    base, thread = thread_of(real["key"])
    assert thread == real["threadId"]
    assert (base or None) == (real["baseSessionKey"] or None)
    assert subagent_depth(real["key"]) == real["subagentDepth"]


@_EACH
def test_classifies_and_protects_as_the_real_program(real: dict[str, Any]) -> None:
    """Kind and protection agree, for a row without a chat type and for each chat type."""
    reading = read_key(real["key"])
    assert reading.kind.value == real["kind"]
    assert reading.protected is real["protected"]
    assert reading.normalised == real["normalised"]
    assert reading.agent_id == (real["parsed"] and real["parsed"]["agentId"])
    by_type = {chat: read_key(real["key"], chat_type=chat).protected for chat in real["protectedByChatType"]}
    assert by_type == real["protectedByChatType"]
    by_origin = {chat: read_key(real["key"], origin_chat_type=chat).protected for chat in real["protectedByChatType"]}
    assert by_origin == real["protectedByChatType"]


@_EACH
def test_recognises_the_program_s_own_keys(real: dict[str, Any]) -> None:
    """ACP, sub-agent and cron keys are told as the real program tells them, and none of them is protected."""
    reading = read_key(real["key"])
    assert is_acp_key(real["key"]) is real["isAcp"]
    assert (reading.shape is KeyShape.CRON_RUN) is real["isCronRun"]
    assert (reading.kind is SessionKind.CRON) is real["isCron"]
    if reading.shape is not KeyShape.HEARTBEAT:
        assert (reading.shape is KeyShape.SUBAGENT) is real["isSubagent"]
    if real["isAcp"] or real["isSubagent"] or real["isCron"]:
        assert reading.synthetic
        assert not any(real["protectedByChatType"].values())


@_EACH
def test_stores_a_request_under_the_recorded_key(real: dict[str, Any]) -> None:
    """A request made for agent ``work`` lands where the real program puts it."""
    assert store_key(real["key"], "work") == real["storeKey_agentWork"]
    assert store_key(real["key"], "work", main_key="work") == real["storeKey_agentWork_mainKeyWork"]


@pytest.mark.parametrize(
    ("text", "agent_id"),
    [
        ("Main", "main"),
        (" a b ", "a-b"),
        ("A_b-C", "a_b-c"),
        ("-x-", "x"),
        ("_x", "_x"),
        ("é", "main"),
        ("a.b", "a-b"),
        ("日本", "main"),
        ("x" * 70, "x" * 64),
        ("x" * 63 + " -y", "x" * 63 + "-"),
        ("--", "main"),
        ("a/b", "a-b"),
        ("", "main"),
        ("a--b ..c", "a--b-c"),
        ("\ufeffwork\u3000", "work"),
        ("K\u212a", "kk"),
    ],
)
def test_writes_agent_ids_as_directories(text: str, agent_id: str) -> None:
    """Ids become lower-case names of letters, digits, ``_`` and ``-``, at most 64 of them."""
    assert normalise_agent_id(text) == agent_id


def test_the_main_key_depends_on_the_scope() -> None:
    """One session for all is called ``global``, whoever asks."""
    assert main_key_of("Work Bot") == "agent:work-bot:main"
    assert main_key_of("ops", main_key="home") == "agent:ops:home"
    assert main_key_of("ops", scope="global") == "global"


@pytest.mark.parametrize(
    ("key", "shape", "channel", "name"),
    [
        ("agent:ops:main", KeyShape.MAIN, None, "ops"),
        ("main", KeyShape.MAIN, None, "main"),
        ("agent:main:direct:+1555", KeyShape.DIRECT, None, "+1555"),
        ("agent:main:whatsapp:default:direct:+1555", KeyShape.DIRECT, "whatsapp", "+1555"),
        ("agent:main:signal:group:AbC=", KeyShape.GROUP, "signal", "AbC="),
        ("agent:main:slack:channel:C7", KeyShape.CHANNEL, "slack", "c7"),
        ("agent:main:slack:room:C7", KeyShape.CHANNEL, "slack", "c7"),
        ("agent:main:slack:channel:C7:thread:17.1", KeyShape.THREAD, "slack", "c7:thread:17.1"),
        ("agent:main:foo:xgroup:1:thread:2", KeyShape.THREAD, "foo", "foo:xgroup:1:thread:2"),
        ("agent:main:telegram:group:-1:topic:7", KeyShape.TOPIC, "telegram", "-1:topic:7"),
        ("agent:main:cron:job1", KeyShape.CRON, None, "job1"),
        ("agent:main:cron:job1:run:r1", KeyShape.CRON_RUN, None, "job1"),
        ("cron:job1:run:r1", KeyShape.CRON, None, "job1"),
        ("hook:0123456789", KeyShape.HOOK, None, "hook 01234567"),
        ("agent:main:subagent:a:subagent:0123456789", KeyShape.SUBAGENT, None, "sub-agent 01234567"),
        ("agent:main:acp:u1", KeyShape.ACP, None, "ACP u1"),
        ("node:n1", KeyShape.NODE, None, "node n1"),
        ("agent:main:slack:channel:c1:heartbeat", KeyShape.HEARTBEAT, "slack", "slack:channel:c1:heartbeat"),
        ("agent:main:explicit:s1", KeyShape.EXPLICIT, None, "explicit s1"),
        ("agent:main:dashboard:u1", KeyShape.DASHBOARD, None, "dashboard u1"),
        ("global", KeyShape.GLOBAL, None, "global"),
        ("unknown", KeyShape.UNKNOWN, None, "unknown"),
        ("Global", KeyShape.OTHER, None, "global"),
        ("agent:main:telegram:slash:1", KeyShape.OTHER, "telegram", "telegram:slash:1"),
        (":thread:9", KeyShape.THREAD, None, ":thread:9"),
    ],
)
def test_shape_channel_and_name(key: str, shape: KeyShape, channel: str | None, name: str) -> None:
    """The key alone says what a session is, where it lives and what to call it."""
    reading = read_key(key)
    assert (reading.shape, reading.channel, reading.name) == (shape, channel, name)


def test_every_shape_has_a_key() -> None:
    """No shape is unreachable: the recorded keys and two more show each of them."""
    keys = [*(real["key"] for real in _RECORDS), "agent:main:explicit:x", "agent:main:node:x"]
    assert {read_key(key).shape for key in keys} == set(KeyShape)


@pytest.mark.parametrize(
    ("chat_type", "origin", "protected"),
    [
        ("direct", "group", False),
        (None, "group", True),
        ("GROUP ", None, True),
        ("thread", None, True),
        (5, "group", False),
        ([], None, False),
        ({"group": 1}, None, False),
    ],
)
def test_a_stated_chat_type_overrides_the_origin(chat_type: object, origin: object, protected: bool) -> None:
    """Only an absent chat type lets the origin speak; a mistyped one is stated."""
    assert read_key("agent:main:x", chat_type=chat_type, origin_chat_type=origin).protected is protected


@pytest.mark.parametrize("spawned_by", ["agent:main:main", 1, True, [], {}, [0], {"a": 1}])
def test_whatever_javascript_calls_true_is_a_parent(spawned_by: object) -> None:
    """An empty list is true there."""
    assert read_key("agent:main:slack:group:g", spawned_by=spawned_by).kind is SessionKind.SPAWN_CHILD


@pytest.mark.parametrize("spawned_by", [None, False, 0, 0.0, ""])
def test_whatever_javascript_calls_false_is_none(spawned_by: object) -> None:
    """A blank parent leaves the kind to the key."""
    assert read_key("agent:main:slack:group:g", spawned_by=spawned_by).kind is SessionKind.GROUP


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"spawned_by": "x", "chat_type": "group"}, SessionKind.SPAWN_CHILD),
        ({"chat_type": "group"}, SessionKind.GROUP),
        ({"chat_type": "channel"}, SessionKind.GROUP),
        ({"chat_type": "GROUP"}, SessionKind.DIRECT),
        ({"chat_type": "thread"}, SessionKind.DIRECT),
        ({"chat_type": ["group"]}, SessionKind.DIRECT),
        ({"origin_chat_type": "group"}, SessionKind.DIRECT),
    ],
)
def test_the_row_s_fields_bear_on_the_kind(changes: dict[str, object], kind: SessionKind) -> None:
    """A parent comes before the chat type, whose spelling must be exact; the origin has no say."""
    assert read_key("agent:main:x", **changes).kind is kind


def test_depth_counts_below_an_opaque_group_id_too() -> None:
    """The id keeps its case in the normalised key; the depth is counted in lower case."""
    assert subagent_depth("agent:main:signal:group:SUBAGENT:x") == 1
    assert normalise_key("agent:main:signal:group:SUBAGENT:x") == "agent:main:signal:group:SUBAGENT:x"


def test_only_ascii_letters_spell_signal() -> None:
    """JavaScript does not fold a long s to s, so no id behind it keeps its case."""
    assert normalise_key("signal:x:\u017fignal:group:AbC") == "signal:x:\u017fignal:group:abc"


def test_a_rest_of_white_space_is_a_rest() -> None:
    """The real program asks for a non-empty rest, not for a visible one."""
    parsed = parse_agent_key("agent:a: :")
    assert parsed is not None
    assert (parsed.agent_id, parsed.rest) == ("a", " ")


@given(_TEXTS)
def test_normalising_twice_changes_nothing_more(key: str) -> None:
    """The spelling for look-up is its own spelling for look-up, and it is trimmed."""
    once = normalise_key(key)
    assert normalise_key(once) == once
    assert trim(once) == once


@given(_TEXTS, st.sampled_from(["", " ", "\ufeff", "\n"]))
def test_padding_does_not_make_another_key(key: str, pad: str) -> None:
    """White space around a key is no part of it."""
    assert normalise_key(f"{pad}{key}{pad}") == normalise_key(key)


@given(_TEXTS, _JSON, _JSON, _JSON)
def test_any_text_with_any_row_reads(key: str, chat_type: object, origin: object, spawned_by: object) -> None:
    """Nothing raises, and what is read agrees with itself."""
    reading = read_key(key, chat_type=chat_type, origin_chat_type=origin, spawned_by=spawned_by)
    parsed = parse_agent_key(key)
    assert reading.normalised == normalise_key(key)
    assert reading.agent_id == (parsed.agent_id if parsed else None)
    assert not (reading.synthetic and reading.protected)
    assert reading.channel is None or trim(reading.channel)
    assert bool(reading.name) or not reading.normalised
    if parsed is not None:
        assert parse_agent_key(f"agent:{parsed.agent_id}:{parsed.rest}") == parsed
        assert not parsed.rest.startswith(":")


@given(_TEXTS)
def test_a_stored_request_is_found_again(key: str) -> None:
    """The stored key belongs to the agent it names, whoever asks for it next."""
    stored = store_key(key, "work")
    parsed = parse_agent_key(stored)
    again = store_key(stored, "other")
    assert again.startswith(f"agent:{parsed.agent_id}:") if parsed else again == stored


@given(_TEXTS)
def test_agent_ids_settle(text: str) -> None:
    """An id on disk is its own id, short and of plain letters."""
    agent_id = normalise_agent_id(text)
    assert agent_id
    assert len(agent_id) <= 64
    assert agent_id.isascii()
    assert normalise_agent_id(agent_id) == agent_id


def test_a_long_key_reads_in_time() -> None:
    """No rule backtracks: a key of a megabyte with every marker takes no noticeable time."""
    key = "agent:main:" + "a:" * 250_000 + "signal:" * 50_000 + "telegram:direct:topic:" * 5_000
    reading = read_key(key)
    assert reading.shape is KeyShape.TOPIC
    assert reading.agent_id == "main"
