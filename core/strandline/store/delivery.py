"""Where a session answers: the delivery fields of a row, brought into agreement (spec 2026.5 §2.2).

A row says the same thing up to three times: ``route``, the ``last*`` fields and ``deliveryContext``. The real program
merges them at every load, ``route`` before ``last*`` before ``deliveryContext``, and rewrites all three from that.
"""

from __future__ import annotations

import math
import re
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from strandline.ecmascript import JsonValue, is_finite_number, is_number, trim

ThreadId: TypeAlias = str | int | float
RawField: TypeAlias = "JsonValue | UnsetType"
_T = TypeVar("_T")

# The catalogue of channels in the package; ids without an alias need no line. Plugins of a running gateway may add
# their own aliases; those are unknown to whoever reads the file.
_ALIASES = {
    "lark": "feishu",
    "qywx": "wecom",
    "wework": "wecom",
    "enterprise-wechat": "wecom",
    "gchat": "googlechat",
    "google-chat": "googlechat",
    "teams": "msteams",
    "nc-talk": "nextcloud-talk",
    "nc": "nextcloud-talk",
    "weixin": "openclaw-weixin",
    "wechat": "openclaw-weixin",
    "微信": "openclaw-weixin",
    "zl": "zalo",
    "yb": "yuanbao",
    "tencent-yuanbao": "yuanbao",
    "元宝": "yuanbao",
    "zlu": "zalouser",
    "imsg": "imessage",
    "internet-relay-chat": "irc",
    "twitch-chat": "twitch",
}
_ACCOUNT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)
_NOT_IN_ACCOUNT_ID = re.compile(r"[^a-z0-9_-]+", re.ASCII)
_ACCOUNT_ID_LENGTH = 64
_BLOCKED_ACCOUNT_IDS = frozenset({"__proto__", "prototype", "constructor"})
_MAX_EXACT = 2**53


class DeliveryContext(msgspec.Struct, frozen=True):
    """Where answers go; ``None`` stands for a part that is not known.

    Attributes:
        channel: the channel's id, aliases resolved.
        to: the address within the channel.
        account_id: the account of the channel that sends.
        thread_id: the thread below the address; a number is a whole one.
    """

    channel: str | None = None
    to: str | None = None
    account_id: str | None = None
    thread_id: ThreadId | None = None

    def as_json(self) -> dict[str, JsonValue]:
        """Return the context as a row holds it, unknown parts left out."""
        return _without_none(
            {"channel": self.channel, "to": self.to, "accountId": self.account_id, "threadId": self.thread_id}
        )


class _Route(msgspec.Struct, frozen=True):
    channel: str | None = None
    account_id: str | None = None
    to: str | None = None
    raw_to: str | None = None
    chat_type: JsonValue = None
    thread_id: ThreadId | None = None
    thread_kind: JsonValue = None
    thread_source: JsonValue = None

    def as_json(self) -> dict[str, JsonValue]:
        target = _without_none({"to": self.to, "rawTo": self.raw_to, "chatType": self.chat_type})
        thread = _without_none({"id": self.thread_id, "kind": self.thread_kind, "source": self.thread_source})
        return _without_none(
            {"channel": self.channel, "accountId": self.account_id, "target": target or None, "thread": thread or None}
        )


def stored_text(value: RawField) -> str | None:
    """Return a stored text without the space around it; ``None`` for blank ones and for anything else."""
    return (trim(value) or None) if isinstance(value, str) else None


def normalise_channel(name: str) -> str:
    """Return the id of the channel called ``name``: trimmed, lower-cased, aliases resolved (spec 2026.5 §2.2).

    A name that the channel catalogue does not hold is kept in lower case; a blank one gives the empty text.
    """
    lowered = trim(name).lower()
    return _ALIASES.get(lowered, lowered)


def delivery_channel(
    *,
    route: RawField = UNSET,
    delivery_context: RawField = UNSET,
    channel: RawField = UNSET,
    last_channel: RawField = UNSET,
    provider: RawField = UNSET,
    last_provider: RawField = UNSET,
) -> str | None:
    """Return the channel that a row has after loading, from the raw values of its fields (spec 2026.5 §2.2).

    It is ``lastChannel`` and ``deliveryContext.channel`` of the loaded row, for callers that show a table and do not
    need the rest. ``provider`` and ``lastProvider`` are the old names of ``channel`` and ``lastChannel``.
    """
    if not isinstance(channel, str) and isinstance(provider, str):
        channel = provider
    if not isinstance(last_channel, str) and isinstance(last_provider, str):
        last_channel = last_provider
    last = channel if last_channel is None or last_channel is UNSET else last_channel
    for candidate in (_member(route, "channel"), last, _member(delivery_context, "channel")):
        if isinstance(candidate, str) and (found := normalise_channel(candidate)):
            return found
    return None


def read_context(value: RawField) -> DeliveryContext | None:
    """Return the delivery context that a stored value describes; ``None`` when it says nothing usable."""
    return _context(
        _member(value, "channel"), _member(value, "to"), _member(value, "accountId"), _member(value, "threadId")
    )


def describes(value: RawField, context: DeliveryContext | None) -> bool:
    """Tell whether a stored value holds exactly ``context``; other keys beside it do not count."""
    context = context or DeliveryContext()
    return (
        _identical(_member(value, "channel"), context.channel)
        and _identical(_member(value, "to"), context.to)
        and _identical(_member(value, "accountId"), context.account_id)
        and _identical(_member(value, "threadId"), context.thread_id)
    )


def rewritten_delivery(row: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
    """Return what loading makes of the delivery fields of ``row`` (spec 2026.5 §2.2).

    Args:
        row: a row whose old names (``provider``, ``lastProvider``) have been replaced.

    Returns:
        ``None`` when the fields agree already and stay as they are, unknown keys inside them included. Otherwise all
        six fields in the order in which new ones are added; ``None`` as a value means that the field goes.
    """
    stored_context = row.get("deliveryContext")
    entry_route = _read_route(row.get("route"))
    # The real program reads the route twice; only account ids longer than 64 characters differ the second time.
    route = msgspec.structs.replace(entry_route, account_id=_account_id(entry_route.account_id))
    last = _context(
        _first(row.get("lastChannel"), row.get("channel")),
        row.get("lastTo"),
        row.get("lastAccountId"),
        _first(row.get("lastThreadId"), _member(stored_context, "threadId"), _member(row.get("origin"), "threadId")),
    )
    merged = _merge(
        _context(route.channel, route.to, route.account_id, route.thread_id), _merge(last, read_context(stored_context))
    )
    known = merged or DeliveryContext()
    merged_route = msgspec.structs.replace(
        route,
        channel=_first(route.channel, known.channel),
        account_id=_first(route.account_id, known.account_id),
        to=_first(route.to, known.to),
        thread_id=_first(route.thread_id, known.thread_id),
    )
    last_fields: dict[str, JsonValue] = {
        "lastChannel": known.channel,
        "lastTo": known.to,
        "lastAccountId": known.account_id,
        "lastThreadId": known.thread_id,
    }
    if (
        describes(stored_context, merged)
        and _same_route(entry_route, merged_route)
        and all(_holds(row, name, value) for name, value in last_fields.items())
    ):
        return None
    return {"route": merged_route.as_json() or None, "deliveryContext": known.as_json() or None, **last_fields}


def _read_route(value: JsonValue) -> _Route:
    target, thread = _member(value, "target"), _member(value, "thread")
    channel = stored_text(_member(value, "channel"))
    to = stored_text(_member(target, "to"))
    raw_to = stored_text(_member(target, "rawTo"))
    thread_id = _thread_id(_member(thread, "id"))
    return _Route(
        channel=channel.lower() if channel else None,  # aliases stay in a route
        account_id=_account_id(_member(value, "accountId")),
        to=to,
        raw_to=raw_to if to and raw_to != to else None,
        chat_type=_truthy(_member(target, "chatType")) if to else None,
        thread_id=thread_id,
        thread_kind=None if thread_id is None else _truthy(_member(thread, "kind")),
        thread_source=None if thread_id is None else _truthy(_member(thread, "source")),
    )


def _context(channel: JsonValue, to: JsonValue, account_id: JsonValue, thread_id: JsonValue) -> DeliveryContext | None:
    context = DeliveryContext(
        channel=(normalise_channel(channel) or None) if isinstance(channel, str) else None,
        to=stored_text(to),
        account_id=_account_id(_account_id(account_id)),  # cutting to 64 characters may uncover dashes at the end
        thread_id=_thread_id(thread_id),
    )
    return None if context == DeliveryContext() else context


def _merge(primary: DeliveryContext | None, fallback: DeliveryContext | None) -> DeliveryContext | None:
    if primary is None or fallback is None:
        return primary or fallback
    if primary.channel and fallback.channel and primary.channel != fallback.channel:
        return primary  # an address of one channel means nothing in another
    return DeliveryContext(
        channel=_first(primary.channel, fallback.channel),
        to=_first(primary.to, fallback.to),
        account_id=_first(primary.account_id, fallback.account_id),
        thread_id=fallback.thread_id if primary.thread_id is None else primary.thread_id,
    )


def _account_id(value: JsonValue) -> str | None:
    text = stored_text(value)
    if text is None:
        return None
    lowered = text.lower()
    if not _ACCOUNT_ID.fullmatch(text):
        lowered = _NOT_IN_ACCOUNT_ID.sub("-", lowered).strip("-")[:_ACCOUNT_ID_LENGTH]
    return None if not lowered or lowered in _BLOCKED_ACCOUNT_IDS else lowered


def _thread_id(value: JsonValue) -> ThreadId | None:
    if not is_number(value):
        return stored_text(value)
    if not is_finite_number(value):
        return None
    # Above 2**53 a double is whole anyway, and its digits are better left to whoever writes it.
    return math.trunc(value) if abs(value) < _MAX_EXACT else value


def _same_route(left: _Route, right: _Route) -> bool:
    return all(_identical(getattr(left, name), getattr(right, name)) for name in _Route.__struct_fields__)


def _holds(row: dict[str, JsonValue], name: str, value: JsonValue) -> bool:
    return name not in row if value is None else _identical(row.get(name), value)


def _identical(left: JsonValue, right: JsonValue) -> bool:
    """``===`` on decoded JSON: ``True`` is not 1, and objects are the same only when they are one object."""
    if left is right:
        return True
    if isinstance(left, str):
        return isinstance(right, str) and left == right
    return is_number(left) and is_number(right) and left == right


def _member(value: RawField, name: str) -> JsonValue:
    return value.get(name) if isinstance(value, dict) else None


def _truthy(value: JsonValue) -> JsonValue:
    return value if value or isinstance(value, list | dict) else None


def _first(*values: _T | None) -> _T | None:
    """``a ?? b ?? c``."""
    return next((value for value in values if value is not None), None)


def _without_none(members: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value for name, value in members.items() if value is not None}
