"""Session keys: what a key means, and which spellings are the same key (spec 2026.5 §3).

A *session key* is the name of a row in ``sessions.json``. Rows keep the spelling they were stored with; every rule
here works on what the real program makes of that spelling.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from strandline.ecmascript import trim

DEFAULT_AGENT_ID = "main"

_AGENT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.IGNORECASE | re.ASCII)
_NOT_AGENT_ID = re.compile(r"[^a-z0-9_-]+", re.ASCII)
_SIGNAL_GROUP = re.compile(r"(^|:)(signal):(group):([^:]*)", re.IGNORECASE)
_TELEGRAM_TOPIC = re.compile(r"telegram:(?:group|channel|direct|dm):.+:topic:[^:]+", re.DOTALL)
_CHANNEL_POINTER = re.compile(r"[^:]+:(?:group|channel):.+", re.DOTALL)
_CRON_RUN = re.compile(r"cron:[^:]+:run:[^:]+(?::.*)?", re.DOTALL)
_TOPIC = re.compile(r"(?P<base>.+):topic:(?P<topic>[^:]+)", re.DOTALL)
_THREAD = ":thread:"
_AGENT_PARTS = 3
_LASTING_CHAT_TYPES = frozenset({"group", "channel", "thread"})


class SessionKind(StrEnum):
    """The kind that ``openclaw sessions`` prints (spec 2026.5 §3.2, ``classifySessionKind``)."""

    GLOBAL = "global"
    UNKNOWN = "unknown"
    CRON = "cron"
    SPAWN_CHILD = "spawn-child"
    GROUP = "group"
    DIRECT = "direct"


class KeyShape(StrEnum):
    """The shape of a key (spec 2026.5 §3.1): finer than the kind, and independent of the row."""

    MAIN = "main"
    DIRECT = "direct"
    GROUP = "group"
    CHANNEL = "channel"
    THREAD = "thread"
    TOPIC = "topic"
    CRON = "cron"
    CRON_RUN = "cron-run"
    HOOK = "hook"
    SUBAGENT = "subagent"
    ACP = "acp"
    NODE = "node"
    HEARTBEAT = "heartbeat"
    EXPLICIT = "explicit"
    DASHBOARD = "dashboard"
    GLOBAL = "global"
    UNKNOWN = "unknown"
    OTHER = "other"


class AgentKey(msgspec.Struct, frozen=True):
    """A key of the form ``agent:<agentId>:<rest>``, lower-cased as the real program parses it.

    Attributes:
        agent_id: the agent's segment, trimmed and lower-cased, otherwise as written.
        rest: everything after it.
    """

    agent_id: str
    rest: str


def normalise_agent_id(text: str) -> str:
    """Return the id an agent has on disk (spec 2026.5 §1.2); ``main`` when nothing is left."""
    trimmed = trim(text)
    if not trimmed:
        return DEFAULT_AGENT_ID
    if _AGENT_ID.fullmatch(trimmed):
        return trimmed.lower()
    cleaned = _NOT_AGENT_ID.sub("-", trimmed.lower()).strip("-")[:64]
    return cleaned or DEFAULT_AGENT_ID


def normalise_key(key: str) -> str:
    """Return the spelling under which the real program looks a key up.

    Everything is trimmed and lower-cased, except the segment after ``signal:group:``, whose base64 group ids differ
    by case.
    """
    trimmed = trim(key)
    if ":" not in trimmed or "signal" not in trimmed.lower():
        return trimmed.lower()
    out: list[str] = []
    last = 0
    for match in _SIGNAL_GROUP.finditer(trimmed):
        out.append(trimmed[last : match.start(4)].lower())
        out.append(trim(match.group(4)))
        last = match.end(4)
    out.append(trimmed[last:].lower())
    return "".join(out)


def parse_agent_key(key: str) -> AgentKey | None:
    """Split ``agent:<agentId>:<rest>``; ``None`` for a key of any other form. Empty parts are skipped."""
    parts = [part for part in normalise_key(key).split(":") if part]
    if len(parts) < _AGENT_PARTS or parts[0] != "agent":
        return None
    agent_id, rest = trim(parts[1]), ":".join(parts[2:])
    if not agent_id or not trim(rest):
        return None
    return AgentKey(agent_id, rest)


def agent_id_of(key: str) -> str:
    """Return the id of the agent a key belongs to; keys that name none belong to ``main``."""
    parsed = parse_agent_key(key)
    return normalise_agent_id(parsed.agent_id) if parsed else DEFAULT_AGENT_ID


def thread_of(key: str) -> tuple[str, str | None]:
    """Return ``(base key, thread id)``; the last ``:thread:`` wins, and the id keeps its case."""
    trimmed = trim(key)
    at = trimmed.lower().rfind(_THREAD)
    if at < 0:
        return trimmed, None
    thread = trim(trimmed[at + len(_THREAD) :])
    return trimmed[:at], thread or None


def subagent_depth(key: str) -> int:
    """Count how deep a sub-agent key is nested; 0 for every other key."""
    return normalise_key(key).count(":subagent:")


def classify_kind(key: str, *, chat_type: object = None, spawned_by: object = None) -> SessionKind:
    """Return the kind that ``openclaw sessions`` prints for a row stored under ``key``.

    Args:
        key: the key as stored; ``:group:`` and ``:channel:`` are looked for case-sensitively, as there.
        chat_type: the row's ``chatType``.
        spawned_by: the row's ``spawnedBy``.
    """
    if key == "global":
        return SessionKind.GLOBAL
    if key == "unknown":
        return SessionKind.UNKNOWN
    if ":cron:" in key.lower() and _rest_of(key)[1].startswith("cron:"):
        return SessionKind.CRON
    if isinstance(spawned_by, str) and trim(spawned_by):
        return SessionKind.SPAWN_CHILD
    if chat_type in {"group", "channel"} or ":group:" in key or ":channel:" in key:
        return SessionKind.GROUP
    return SessionKind.DIRECT


def is_synthetic(key: str) -> bool:
    """Tell whether a key is one that the program makes for itself: never protected (spec 2026.5 §3.2, rule 1)."""
    scoped, rest = _rest_of(key)
    return (
        rest.startswith(("subagent:", "acp:", "hook:", "node:"))
        or (scoped and rest.startswith("cron:"))
        or rest == "heartbeat"
        or rest.endswith(":heartbeat")
        or ":heartbeat:" in rest
    )


def is_protected(key: str, *, chat_type: object = None, origin_chat_type: object = None) -> bool:
    """Tell whether maintenance spares the row because something outside points at it (spec 2026.5 §3.2).

    Args:
        key: the key as stored.
        chat_type: the row's ``chatType``; when it is text it overrides the origin's.
        origin_chat_type: the row's ``origin.chatType``.
    """
    if is_synthetic(key):
        return False
    _, rest = _rest_of(key)
    if thread_of(key)[1] is not None:
        return True
    if _TELEGRAM_TOPIC.fullmatch(rest) or _CHANNEL_POINTER.fullmatch(rest):
        return True
    stated = chat_type if chat_type is not None else origin_chat_type
    return isinstance(stated, str) and trim(stated).lower() in _LASTING_CHAT_TYPES


def shape_of(key: str, *, main_key: str = "main") -> KeyShape:
    """Return the shape of a key (spec 2026.5 §3.1)."""
    if key in {"global", "unknown"}:
        return KeyShape(key)
    scoped, rest = _rest_of(key)
    head = rest.split(":", 1)[0]
    if rest in {"main", main_key}:
        return KeyShape.MAIN
    if rest == "heartbeat" or rest.endswith(":heartbeat") or ":heartbeat:" in rest:
        return KeyShape.HEARTBEAT
    if head == "cron" and ":" in rest:
        return KeyShape.CRON_RUN if scoped and _CRON_RUN.fullmatch(rest) else KeyShape.CRON
    named = _SHAPES_BY_HEAD.get(head)
    if named is not None and ":" in rest:
        return named
    if thread_of(key)[1] is not None:
        return KeyShape.THREAD
    if _TOPIC.fullmatch(rest):
        return KeyShape.TOPIC
    padded = f":{rest}"
    for marker, shape in _SHAPES_BY_MARKER:
        if marker in padded:
            return shape
    return KeyShape.OTHER


def main_key_of(agent_id: str, *, main_key: str = "main", scope: str = "per-sender") -> str:
    """Return the key of an agent's main session."""
    return "global" if scope == "global" else f"agent:{normalise_agent_id(agent_id)}:{main_key}"


def store_key(requested: str, agent_id: str, *, main_key: str = "main") -> str:
    """Return the key under which a request for ``requested`` is stored (spec 2026.5 §3.1, "Request→store")."""
    normalised = normalise_key(requested)
    if not normalised or normalised == "main":
        return main_key_of(agent_id, main_key=main_key)
    parsed = parse_agent_key(requested)
    if parsed is not None:
        return f"agent:{parsed.agent_id}:{parsed.rest}"
    if normalised.startswith("agent:"):
        return normalised
    return f"agent:{normalise_agent_id(agent_id)}:{normalised}"


def channel_segment(key: str) -> str | None:
    """Return the channel that a key names, as ``telegram`` in ``agent:main:telegram:group:1``; else ``None``."""
    _, rest = _rest_of(key)
    head, _, tail = rest.partition(":")
    if not tail or head in _SHAPES_BY_HEAD or head in _NOT_CHANNELS:
        return None
    return head


def _rest_of(key: str) -> tuple[bool, str]:
    """Return whether the key is scoped to an agent, and the part that its rules look at."""
    parsed = parse_agent_key(key)
    return (True, parsed.rest) if parsed else (False, normalise_key(key))


_SHAPES_BY_HEAD = {
    "hook": KeyShape.HOOK,
    "subagent": KeyShape.SUBAGENT,
    "acp": KeyShape.ACP,
    "node": KeyShape.NODE,
    "explicit": KeyShape.EXPLICIT,
    "dashboard": KeyShape.DASHBOARD,
}
_SHAPES_BY_MARKER = (
    (":direct:", KeyShape.DIRECT),
    (":dm:", KeyShape.DIRECT),
    (":group:", KeyShape.GROUP),
    (":channel:", KeyShape.CHANNEL),
    (":room:", KeyShape.CHANNEL),
)
_NOT_CHANNELS = frozenset(
    {"agent", "cron", "direct", "dm", "group", "channel", "room", "heartbeat", "main", "thread"}
)
