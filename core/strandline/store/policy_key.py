"""The key whose policies a direct chat in the main session goes by (spec 2026.5 §13.1, ``runtimePolicySessionKey``).

With one main session for every direct chat, the real program still looks tool policies up per person: it works out the
key that the chat would have had if direct chats were kept apart.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from strandline.ecmascript import JsonValue, trim
from strandline.state.keys import agent_id_of, normalise_agent_id
from strandline.store.delivery import rewritten_delivery, stored_text

if TYPE_CHECKING:
    from strandline.settings.policies import SessionPolicy

_TOPIC = re.compile(r":topic:", re.IGNORECASE)


def policy_key(key: str, row: dict[str, JsonValue], policy: SessionPolicy) -> str | None:
    """Return the policy key of a row when it is another than its own; else ``None``.

    Args:
        key: the key as stored.
        row: the row's ``chatType``, ``origin`` and delivery fields as stored.
        policy: scope and identity links.
    """
    origin = row.get("origin")
    stated = _member(origin, "chatType")
    chat_type = stored_text(row.get("chatType") if stated is None else stated)
    if chat_type is None or chat_type.lower() not in {"direct", "dm"}:
        return None
    own = trim(key)
    result = _direct_key(own, row, origin, policy) if _is_main(own, policy) else own
    return None if result == key else result


def _is_main(key: str, policy: SessionPolicy) -> bool:
    lowered = key.lower()
    aliases = {"main", f"agent:{agent_id_of(key)}:main", "agent:main:main"}
    return lowered in aliases or (policy.scope == "global" and lowered == "global")


def _direct_key(key: str, row: dict[str, JsonValue], origin: JsonValue, policy: SessionPolicy) -> str:
    loaded = {**row, **(rewritten_delivery(row) or {})}
    delivery = loaded.get("deliveryContext")
    surface = _member(origin, "surface")
    channel = stored_text(
        _first(
            _member(origin, "provider"),
            _member(delivery, "channel"),
            loaded.get("lastChannel"),
            loaded.get("channel"),
            surface,
        )
    )
    to = stored_text(_first(_member(origin, "to"), _member(delivery, "to"), loaded.get("lastTo")))
    sender = stored_text(_member(origin, "from"))
    native = stored_text(_member(origin, "nativeDirectUserId"))
    peer = native or _without_channel(to, channel) or _without_channel(sender, channel)
    account = stored_text(
        _first(_member(origin, "accountId"), _member(delivery, "accountId"), loaded.get("lastAccountId"))
    )
    lowered = (channel or stored_text(surface) or "").lower()
    if not lowered or lowered == "webchat" or peer is None:
        return key
    person = _canonical(peer, lowered, policy)
    account_id = normalise_agent_id(account) if account else "default"
    return f"agent:{agent_id_of(key)}:{lowered}:{account_id}:direct:{trim(person).lower()}"


def _without_channel(address: str | None, channel: str | None) -> str | None:
    if address is None or channel is None or not address.lower().startswith(f"{channel.lower()}:"):
        return address
    return _TOPIC.split(address[len(channel) + 1 :], maxsplit=1)[0]


def _canonical(peer: str, channel: str, policy: SessionPolicy) -> str:
    wanted = {peer.lower(), f"{channel}:{peer}".lower()}
    for name, peers in policy.identity_links.items():
        if any(trim(known).lower() in wanted for known in peers):
            return trim(name)
    return peer


def _member(value: JsonValue, name: str) -> JsonValue:
    return value.get(name) if isinstance(value, dict) else None


def _first(*values: JsonValue) -> JsonValue:
    return next((value for value in values if value is not None), None)
