"""``runtimePolicySessionKey``: the rules of the recorded list, case by case."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.settings.policies import SessionPolicy
from strandline.store.policy_key import policy_key

_TELEGRAM = {"chatType": "direct", "lastChannel": "telegram", "lastTo": "telegram:42:topic:7", "lastAccountId": "Acc 1"}
_LINKED = SessionPolicy(identity_links={" alice ": (" Telegram:42 ",), "bob": ("7",)})


@pytest.mark.parametrize(
    ("key", "row", "result"),
    [
        ("agent:main:main", _TELEGRAM, "agent:main:telegram:acc-1:direct:42"),
        ("main", _TELEGRAM, "agent:main:telegram:acc-1:direct:42"),
        ("AGENT:Ops:MAIN", _TELEGRAM, "agent:ops:telegram:acc-1:direct:42"),
        ("agent:ops:main", {**_TELEGRAM, "chatType": " DM "}, "agent:ops:telegram:acc-1:direct:42"),
        # Not a main session: its own key, which is printed only when the stored one is padded.
        ("agent:main:telegram:direct:42", _TELEGRAM, None),
        (" agent:main:x ", {"chatType": "direct"}, "agent:main:x"),
        (" agent:main:main ", {"chatType": "direct"}, "agent:main:main"),
        # Not a direct chat.
        ("agent:main:main", {**_TELEGRAM, "chatType": "group"}, None),
        ("agent:main:main", {**_TELEGRAM, "chatType": None}, None),
        ("agent:main:main", {**_TELEGRAM, "chatType": 5}, None),
        ("agent:main:main", {**_TELEGRAM, "origin": {"chatType": "channel"}}, None),
        (
            "agent:main:main",
            {"origin": {"chatType": "direct"}, "lastChannel": "slack", "lastTo": "U1"},
            "agent:main:slack:default:direct:u1",
        ),
        # Nobody to name, or a chat on the web.
        ("agent:main:main", {"chatType": "direct", "lastChannel": "slack"}, None),
        ("agent:main:main", {"chatType": "direct", "lastTo": "U1"}, None),
        ("agent:main:main", {"chatType": "direct", "lastChannel": "WebChat", "lastTo": "U1"}, None),
        # The origin comes first, raw; its own person before any address.
        (
            "agent:main:main",
            {**_TELEGRAM, "origin": {"provider": "Slack", "to": "slack:U9", "accountId": "B"}},
            "agent:main:slack:b:direct:u9",
        ),
        (
            "agent:main:main",
            {**_TELEGRAM, "origin": {"nativeDirectUserId": " N1 "}},
            "agent:main:telegram:acc-1:direct:n1",
        ),
        (
            "agent:main:main",
            {"chatType": "direct", "origin": {"surface": "Signal", "from": "signal:+15:TOPIC:3"}},
            "agent:main:signal:default:direct:+15",
        ),
        # A prefix of another channel stays.
        (
            "agent:main:main",
            {"chatType": "direct", "lastChannel": "slack", "lastTo": "telegram:42"},
            "agent:main:slack:default:direct:telegram:42",
        ),
        # Delivery is what loading makes of it: a lone route fills it, an alias is resolved.
        (
            "agent:main:main",
            {"chatType": "direct", "route": {"channel": "imsg", "target": {"to": "+15"}}},
            "agent:main:imessage:default:direct:+15",
        ),
        (
            "agent:main:main",
            {"chatType": "direct", "deliveryContext": {"channel": "teams", "to": " U1 ", "accountId": "My Acct!"}},
            "agent:main:msteams:my-acct:direct:u1",
        ),
    ],
)
def test_the_key_a_direct_chat_would_have_had(key: str, row: dict[str, Any], result: str | None) -> None:
    """Only main sessions of direct chats have another key; it names agent, channel, account and person."""
    assert policy_key(key, row, SessionPolicy()) == result


def test_identity_links_name_the_person() -> None:
    """The peer, alone or behind its channel, is replaced by the name it is linked to."""
    assert policy_key("main", _TELEGRAM, _LINKED) == "agent:main:telegram:acc-1:direct:alice"
    row = {"chatType": "direct", "lastChannel": "slack", "lastTo": "slack:7"}
    assert policy_key("main", row, _LINKED) == "agent:main:slack:default:direct:bob"
    row["lastTo"] = "slack:8"
    assert policy_key("main", row, _LINKED) == "agent:main:slack:default:direct:8"


def test_one_session_for_all_is_a_main_session() -> None:
    """``global`` counts as one only while the scope says so."""
    assert policy_key("global", _TELEGRAM, SessionPolicy()) is None
    assert policy_key("global", _TELEGRAM, SessionPolicy(scope="global")) == "agent:main:telegram:acc-1:direct:42"


_VALUES = (
    st.sampled_from(["direct", "slack", "slack:U1", "", " ", "é"])
    | st.none()
    | st.integers()
    | st.lists(st.none(), max_size=1)
)
_FIELDS = ("chatType", "channel", "lastChannel", "lastTo", "lastAccountId", "lastThreadId", "deliveryContext", "route")
_ORIGIN = ("chatType", "provider", "surface", "to", "from", "accountId", "nativeDirectUserId", "threadId")


@given(
    st.sampled_from(["main", "agent:main:main", " main", "agent:a:b", "global"]),
    st.dictionaries(st.sampled_from(_FIELDS), _VALUES, max_size=6),
    _VALUES | st.dictionaries(st.sampled_from(_ORIGIN), _VALUES, max_size=6),
)
def test_any_row_has_an_answer(key: str, row: dict[str, Any], origin: object) -> None:
    """Mistyped fields count as absent; an answer is never the key itself."""
    answer = policy_key(key, {**row, "origin": origin, "chatType": "direct"}, SessionPolicy())
    assert answer != key
    assert answer is None or answer.strip() == answer
