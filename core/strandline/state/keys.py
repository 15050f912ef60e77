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
_SIGNAL_GROUP = re.compile(r"(^|:)(signal):(group):([^:]*)", re.IGNORECASE | re.ASCII)
_TELEGRAM_TOPIC = re.compile(r"telegram:(?:group|channel|direct|dm):.+:topic:[^:]+", re.DOTALL)
_CHANNEL_POINTER = re.compile(r"[^:]+:(?:group|channel):.+", re.DOTALL)
_CRON_RUN = re.compile(r"cron:[^:]+:run:[^:]+(?::.*)?", re.DOTALL)
_THREAD = ":thread:"
_AGENT_PARTS = 3
_LASTING_CHAT_TYPES = frozenset({"group", "channel", "thread"})
_FALSY: tuple[object, ...] = (None, False, 0, "")  # to JavaScript; there an empty list is true


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
    lowered = trimmed.lower()
    if "signal:" not in lowered:
        return lowered
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
    return _split_agent(normalise_key(key))


def _split_agent(normalised: str) -> AgentKey | None:
    parts = normalised.split(":", 2)
    if len(parts) < _AGENT_PARTS or "::" in normalised or normalised[0] == ":" or normalised[-1] == ":":
        parts = [part for part in normalised.split(":") if part]
        parts[2:] = [":".join(parts[2:])] if len(parts) >= _AGENT_PARTS else []
    if len(parts) < _AGENT_PARTS or parts[0] != "agent":
        return None
    agent_id, rest = trim(parts[1]), parts[2]
    if not agent_id:
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
    return trim(key).lower().count(":subagent:")


class KeyReading(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a key says, together with the two fields of its row that bear on it.

    Attributes:
        normalised: the spelling under which the real program looks the key up.
        agent_id: the agent's segment, lower-cased; ``None`` when the key names no agent.
        kind: the kind ``openclaw sessions`` prints.
        shape: the shape of the key by itself.
        synthetic: a key that the program makes for itself; never protected.
        protected: whether maintenance spares the row because something outside points at it.
        channel: the channel that the key names, as ``telegram``; ``None`` when it names none.
        name: what to call the session when its row has no name of its own.
    """

    normalised: str
    agent_id: str | None
    kind: SessionKind
    shape: KeyShape
    synthetic: bool
    protected: bool
    channel: str | None
    name: str


def read_key(
    key: str, *, chat_type: object = None, origin_chat_type: object = None, spawned_by: object = None
) -> KeyReading:
    """Read a key together with what its row says (spec 2026.5 §3.1, §3.2).

    Args:
        key: the key as stored.
        chat_type: the row's ``chatType``; when it is stated it overrides the origin's.
        origin_chat_type: the row's ``origin.chatType``.
        spawned_by: the row's ``spawnedBy``.
    """
    normalised = normalise_key(key)
    agent = _split_agent(normalised)
    rest = agent.rest if agent else normalised
    synthetic = _is_synthetic(rest, scoped=agent is not None)
    thread = thread_of(key)[1] if _THREAD in normalised else None
    shape = _shape(key, rest, thread, scoped=agent is not None)
    return KeyReading(
        normalised=normalised,
        agent_id=agent.agent_id if agent else None,
        kind=_kind(key, rest, chat_type, spawned_by, scoped=agent is not None),
        shape=shape,
        synthetic=synthetic,
        protected=not synthetic
        and (
            thread is not None or _is_pointer(rest) or _lasts(chat_type if chat_type is not None else origin_chat_type)
        ),
        channel=_channel(rest),
        name=_name(rest, shape, agent),
    )


def _kind(key: str, rest: str, chat_type: object, spawned_by: object, *, scoped: bool) -> SessionKind:
    if key == "global":
        return SessionKind.GLOBAL
    if key == "unknown":
        return SessionKind.UNKNOWN
    if scoped and rest.startswith("cron:"):
        return SessionKind.CRON
    if spawned_by not in _FALSY:
        return SessionKind.SPAWN_CHILD
    # Looked for in the key as stored: "Group" with a capital makes no group there.
    if chat_type in ("group", "channel") or ":group:" in key or ":channel:" in key:
        return SessionKind.GROUP
    return SessionKind.DIRECT


def _is_synthetic(rest: str, *, scoped: bool) -> bool:
    return (
        rest.startswith(("subagent:", "acp:", "hook:", "node:"))
        or (scoped and rest.startswith("cron:"))
        or _is_heartbeat(rest)
    )


def _is_heartbeat(rest: str) -> bool:
    return "heartbeat" in rest and (rest == "heartbeat" or rest.endswith(":heartbeat") or ":heartbeat:" in rest)


def _is_pointer(rest: str) -> bool:
    return _CHANNEL_POINTER.fullmatch(rest) is not None or _TELEGRAM_TOPIC.fullmatch(rest) is not None


def _lasts(chat_type: object) -> bool:
    return isinstance(chat_type, str) and trim(chat_type).lower() in _LASTING_CHAT_TYPES


def _shape(key: str, rest: str, thread: str | None, *, scoped: bool) -> KeyShape:
    if key in {"global", "unknown"}:
        return KeyShape(key)
    head, colon, _ = rest.partition(":")
    if rest == "main":
        return KeyShape.MAIN
    if _is_heartbeat(rest):
        return KeyShape.HEARTBEAT
    if head == "cron" and colon:
        return KeyShape.CRON_RUN if scoped and _CRON_RUN.fullmatch(rest) else KeyShape.CRON
    if head in _SHAPES_BY_HEAD and colon:
        return _SHAPES_BY_HEAD[head]
    if thread is not None:
        return KeyShape.THREAD
    if ":topic:" in rest and not rest.endswith(":topic:"):
        return KeyShape.TOPIC
    padded = f":{rest}"
    return next((shape for marker, shape in _SHAPES_BY_MARKER if marker in padded), KeyShape.OTHER)


def _channel(rest: str) -> str | None:
    head, colon, _ = rest.partition(":")
    named = colon and head not in _SHAPES_BY_HEAD and head not in _NOT_CHANNELS
    return trim(head) or None if named else None


def _name(rest: str, shape: KeyShape, agent: AgentKey | None) -> str:
    head, _, tail = rest.partition(":")
    match shape:
        case KeyShape.MAIN:
            return agent.agent_id if agent else rest
        case KeyShape.CRON | KeyShape.CRON_RUN:
            return tail.split(":", 1)[0] or rest
        case KeyShape.SUBAGENT | KeyShape.ACP | KeyShape.HOOK | KeyShape.NODE | KeyShape.EXPLICIT | KeyShape.DASHBOARD:
            return f"{_WORDS_BY_HEAD.get(head, head)} {tail.rsplit(':', 1)[-1][:8]}"
        case KeyShape.DIRECT | KeyShape.GROUP | KeyShape.CHANNEL | KeyShape.THREAD | KeyShape.TOPIC:
            return _NAME_MARKER.sub("", rest, count=1) or rest
        case _:
            return rest


def is_acp_key(key: str) -> bool:
    """Tell whether a key belongs to an ACP session, with or without an agent."""
    parsed = parse_agent_key(key)
    return (parsed.rest if parsed else normalise_key(key)).startswith("acp:")


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


_NAME_MARKER = re.compile(r"\A(?:[^:]+:)*?(?:direct|dm|group|channel|room):")
_WORDS_BY_HEAD = {"subagent": "sub-agent", "acp": "ACP"}
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
_NOT_CHANNELS = frozenset({"agent", "cron", "direct", "dm", "group", "channel", "room", "heartbeat", "main", "thread"})
