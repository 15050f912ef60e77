"""What the real program makes of one row when it loads the store (spec 2026.5 §2.2).

It drops rows, removes and rewrites fields before anything looks at them, and writes the outcome back at its next
save. Whoever shows a stored row as the agent sees it, or writes one, applies the same rules. The rules are pure; one
that a single field needs is also to be had alone, for readers that decode only some fields.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from strandline.ecmascript import is_finite_number, trim
from strandline.state.file_classes import looks_like_checkpoint
from strandline.store.delivery import describes, read_context, rewritten_delivery, stored_text
from strandline.store.plugin_values import kept_extensions, kept_slot_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from strandline.ecmascript import JsonValue

_MAX_SESSION_ID = 255
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]*", re.ASCII)
_FILE_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)


class DropReason(StrEnum):
    """The rule by which the real program drops a row."""

    NOT_AN_OBJECT = "not-an-object"
    SESSION_ID_NOT_TEXT = "session-id-not-text"
    SESSION_ID_BLANK = "session-id-blank"
    SESSION_ID_TOO_LONG = "session-id-too-long"
    SESSION_ID_SEPARATOR = "session-id-separator"
    SESSION_ID_CHARACTERS = "session-id-characters"


class Dropped(msgspec.Struct, frozen=True):
    """Stands for a row that the real program drops when it loads the store.

    Attributes:
        reason: the rule.
        sentence: the same for people, to follow "the row is dropped because".
    """

    reason: DropReason
    sentence: str


def normalise_row(stored: JsonValue) -> dict[str, JsonValue] | Dropped:
    """Return the row as the real program holds it after loading (spec 2026.5 §2.2).

    Fields that no rule names stay as they are. Fields keep their place; new ones follow at the end. Loading the
    result once more may change it again where the real program does so too: a blank ``lastChannel`` removed by the
    first load lets the second one fall back to ``channel``, likewise ``lastThreadId`` to ``origin.threadId``.

    Args:
        stored: the decoded value; it is not changed, and the result may share unchanged parts with it.

    Returns:
        The row, or why it is dropped.
    """
    if not isinstance(stored, dict):
        return _dropped(DropReason.NOT_AN_OBJECT)
    row = dict(stored)
    _replace_old_names(row)
    session_id = normalise_session_id(row.get("sessionId", UNSET), row.get("sessionFile", UNSET))
    if isinstance(session_id, Dropped):
        return session_id
    _put(row, "sessionId", session_id)
    if not isinstance(row.get("sessionFile"), str):
        row.pop("sessionFile", None)
    if "updatedAt" in row:
        row["updatedAt"] = normalise_updated_at(row["updatedAt"])
    model, model_provider = normalise_model(row.get("model"), row.get("modelProvider"))
    _put(row, "model", model)
    _put(row, "modelProvider", model_provider)
    for name, value in (rewritten_delivery(row) or {}).items():
        _put(row, name, value)
    for name, rule in _FIELD_RULES.items():
        if name in row:
            kept = rule(row[name])
            if kept is UNSET:
                del row[name]
            else:
                row[name] = kept
    return row


def normalise_session_id(value: JsonValue | UnsetType, session_file: JsonValue | UnsetType) -> str | Dropped | None:
    """Return the session id after loading (spec 2026.5 §2.2).

    Args:
        value: the stored ``sessionId``; ``UNSET`` when the row has none.
        session_file: the stored ``sessionFile``; ``UNSET`` when the row has none.

    Returns:
        The id without the space around it; ``None`` when there is none, or when it cannot be a file name and no
        ``sessionFile`` names the file instead; why the whole row is dropped.
    """
    if value is UNSET:
        return None
    if not isinstance(value, str):
        return _dropped(DropReason.SESSION_ID_NOT_TEXT)
    session_id = trim(value)
    if not session_id:
        return _dropped(DropReason.SESSION_ID_BLANK)
    if len(session_id) > _MAX_SESSION_ID:
        return _dropped(DropReason.SESSION_ID_TOO_LONG)
    if "/" in session_id or "\\" in session_id:
        return _dropped(DropReason.SESSION_ID_SEPARATOR)
    if not _SESSION_ID.fullmatch(session_id):
        return _dropped(DropReason.SESSION_ID_CHARACTERS)
    names_a_file = _FILE_SESSION_ID.fullmatch(session_id) and not looks_like_checkpoint(f"{session_id}.jsonl")
    return session_id if names_a_file or stored_text(session_file) else None


def normalise_updated_at(value: JsonValue) -> int | float:
    """Return ``updatedAt`` after loading: itself, or 0, so long ago, when it is no time (spec 2026.5 §2.2).

    A row without ``updatedAt`` stays without; that is no value to ask about.
    """
    return value if is_finite_number(value) and value >= 0 else 0


def normalise_model(
    model: JsonValue | UnsetType, model_provider: JsonValue | UnsetType
) -> tuple[str | None, str | None]:
    """Return ``model`` and ``modelProvider`` after loading; without a model no provider stays (spec 2026.5 §2.2)."""
    name = stored_text(model)
    return (name, stored_text(model_provider)) if name else (None, None)


def _replace_old_names(row: dict[str, JsonValue]) -> None:
    for old, new in (("provider", "channel"), ("lastProvider", "lastChannel"), ("room", "groupChannel")):
        if isinstance(row.get(old), str) and not isinstance(row.get(new), str):
            row[new] = row.pop(old)
    row.pop("room", None)  # the other two stay beside their successors as fields nobody knows


def _put(row: dict[str, JsonValue], name: str, value: JsonValue) -> None:
    if value is None:
        row.pop(name, None)
    else:
        row[name] = value


def _true(value: JsonValue) -> JsonValue | UnsetType:
    return True if value is True else UNSET


def _text_or_null(value: JsonValue) -> JsonValue | UnsetType:
    return value if value is None or isinstance(value, str) else UNSET


def _time(value: JsonValue) -> JsonValue | UnsetType:
    return value if is_finite_number(value) and value >= 0 else UNSET


def _count(value: JsonValue) -> JsonValue | UnsetType:
    return value if is_finite_number(value) and value >= 0 and value == int(value) else UNSET


def _pending_context(value: JsonValue) -> JsonValue | UnsetType:
    context = read_context(value)
    if context and not (context.channel and context.to):
        context = None
    if describes(value, context):
        return value
    return context.as_json() if context else UNSET


def _without_resolved_skills(value: JsonValue) -> JsonValue | UnsetType:
    if not isinstance(value, dict):
        return value
    return {name: member for name, member in value.items() if name != "resolvedSkills"}


_FIELD_RULES: dict[str, Callable[[JsonValue], JsonValue | UnsetType]] = {
    "pendingFinalDelivery": _true,
    "pendingFinalDeliveryText": _text_or_null,
    "pendingFinalDeliveryCreatedAt": _time,
    "pendingFinalDeliveryLastAttemptAt": _time,
    "pendingFinalDeliveryAttemptCount": _count,
    "pendingFinalDeliveryLastError": _text_or_null,
    "pendingFinalDeliveryContext": _pending_context,
    "pendingFinalDeliveryIntentId": _text_or_null,
    "pluginExtensions": kept_extensions,
    "pluginExtensionSlotKeys": kept_slot_keys,
    "skillsSnapshot": _without_resolved_skills,
}

_SENTENCES = {
    DropReason.NOT_AN_OBJECT: "it is not an object",
    DropReason.SESSION_ID_NOT_TEXT: "its sessionId is not a text",
    DropReason.SESSION_ID_BLANK: "its sessionId is blank",
    DropReason.SESSION_ID_TOO_LONG: f"its sessionId is longer than {_MAX_SESSION_ID} characters",
    DropReason.SESSION_ID_SEPARATOR: "its sessionId holds a slash or a backslash",
    DropReason.SESSION_ID_CHARACTERS: "its sessionId holds characters that are not allowed in one",
}


def _dropped(reason: DropReason) -> Dropped:
    return Dropped(reason, _SENTENCES[reason])
