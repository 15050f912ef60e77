"""One row of ``sessions.json`` with every field that OpenClaw 2026.5.22 knows (spec 2026.5 §2.1).

Decoding is typed and takes one pass; nested values that weigh much stay raw bytes until someone asks. A row whose
fields have other types than these is still read: the fields that fit are typed, the others are kept as they are.
"""

from __future__ import annotations

import json
import re
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from strandline.ecmascript import JsonValue

if TYPE_CHECKING:
    from collections.abc import Callable

Text: TypeAlias = str | UnsetType | None
Number: TypeAlias = int | float | UnsetType | None
Flag: TypeAlias = bool | UnsetType | None
Nested: TypeAlias = Raw | UnsetType


class SessionEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A row as stored. ``UNSET`` is absent, ``None`` a stored null; times are ms since the epoch.

    Attributes are the stored names in snake case. Fields that are not among them stay in the row's bytes.
    """

    session_id: Text = UNSET
    updated_at: Number = UNSET
    session_file: Text = UNSET
    session_started_at: Number = UNSET
    last_interaction_at: Number = UNSET
    usage_family_key: Text = UNSET
    usage_family_session_ids: Nested = UNSET
    started_at: Number = UNSET
    ended_at: Number = UNSET
    runtime_ms: Number = UNSET
    status: Text = UNSET
    system_sent: Flag = UNSET
    aborted_last_run: Flag = UNSET
    abort_cutoff_message_sid: Text = UNSET
    abort_cutoff_timestamp: Number = UNSET
    spawned_by: Text = UNSET
    spawned_workspace_dir: Text = UNSET
    parent_session_key: Text = UNSET
    forked_from_parent: Flag = UNSET
    spawn_depth: Number = UNSET
    subagent_role: Text = UNSET
    subagent_control_scope: Text = UNSET
    inherited_tool_deny: Nested = UNSET
    inherited_tool_allow: Nested = UNSET
    plugin_owner_id: Text = UNSET
    subagent_recovery: Nested = UNSET
    quota_suspension: Nested = UNSET
    chat_type: Text = UNSET
    thinking_level: Text = UNSET
    fast_mode: Flag = UNSET
    verbose_level: Text = UNSET
    trace_level: Text = UNSET
    reasoning_level: Text = UNSET
    elevated_level: Text = UNSET
    tts_auto: Text = UNSET
    response_usage: Text = UNSET
    send_policy: Text = UNSET
    last_tts_read_latest_hash: Text = UNSET
    last_tts_read_latest_at: Number = UNSET
    exec_host: Text = UNSET
    exec_security: Text = UNSET
    exec_ask: Text = UNSET
    exec_node: Text = UNSET
    queue_mode: Text = UNSET
    queue_debounce_ms: Number = UNSET
    queue_cap: Number = UNSET
    queue_drop: Text = UNSET
    group_activation: Text = UNSET
    group_activation_needs_system_intro: Flag = UNSET
    provider_override: Text = UNSET
    model_override: Text = UNSET
    model_override_source: Text = UNSET
    model_override_fallback_origin_provider: Text = UNSET
    model_override_fallback_origin_model: Text = UNSET
    agent_runtime_override: Text = UNSET
    live_model_switch_pending: Flag = UNSET
    auth_profile_override: Text = UNSET
    auth_profile_override_source: Text = UNSET
    auth_profile_override_compaction_count: Number = UNSET
    model_provider: Text = UNSET
    model: Text = UNSET
    agent_harness_id: Text = UNSET
    fallback_notice_selected_model: Text = UNSET
    fallback_notice_active_model: Text = UNSET
    fallback_notice_reason: Text = UNSET
    input_tokens: Number = UNSET
    output_tokens: Number = UNSET
    total_tokens: Number = UNSET
    total_tokens_fresh: Flag = UNSET
    cache_read: Number = UNSET
    cache_write: Number = UNSET
    context_tokens: Number = UNSET
    estimated_cost_usd: Number = UNSET
    compaction_count: Number = UNSET
    compaction_checkpoints: Nested = UNSET
    memory_flush_at: Number = UNSET
    memory_flush_compaction_count: Number = UNSET
    memory_flush_context_hash: Text = UNSET
    pending_final_delivery: Flag = UNSET
    pending_final_delivery_created_at: Number = UNSET
    pending_final_delivery_last_attempt_at: Number = UNSET
    pending_final_delivery_attempt_count: Number = UNSET
    pending_final_delivery_last_error: Text = UNSET
    pending_final_delivery_text: Text = UNSET
    pending_final_delivery_context: Nested = UNSET
    pending_final_delivery_intent_id: Text = UNSET
    last_heartbeat_text: Text = UNSET
    last_heartbeat_sent_at: Number = UNSET
    heartbeat_isolated_base_session_key: Text = UNSET
    heartbeat_task_state: Nested = UNSET
    cli_session_ids: Nested = UNSET
    cli_session_bindings: Nested = UNSET
    claude_cli_session_id: Text = UNSET
    label: Text = UNSET
    display_name: Text = UNSET
    channel: Text = UNSET
    group_id: Text = UNSET
    subject: Text = UNSET
    group_channel: Text = UNSET
    space: Text = UNSET
    origin: Nested = UNSET
    route: Nested = UNSET
    delivery_context: Nested = UNSET
    last_channel: Text = UNSET
    last_to: Text = UNSET
    last_account_id: Text = UNSET
    last_thread_id: str | int | float | UnsetType | None = UNSET
    skills_snapshot: Nested = UNSET
    system_prompt_report: Nested = UNSET
    plugin_debug_entries: Nested = UNSET
    plugin_extensions: Nested = UNSET
    plugin_extension_slot_keys: Nested = UNSET
    plugin_next_turn_injections: Nested = UNSET
    acp: Nested = UNSET
    goal: Nested = UNSET
    # Written by older releases; renamed when the real program loads the row (spec 2026.5 §2.2).
    provider: Text = UNSET
    last_provider: Text = UNSET
    room: Nested = UNSET

    def raw(self, stored_name: str) -> JsonValue | UnsetType:
        """Return a stored field as plain JSON by its stored name; ``UNSET`` when it is absent."""
        return nested(getattr(self, _ATTRIBUTES[stored_name]))


class ReadEntry(msgspec.Struct, frozen=True):
    """A row that was decoded.

    Attributes:
        entry: the typed fields.
        mistyped: by stored name, values whose type is another than the real program writes.
    """

    entry: SessionEntry
    mistyped: dict[str, JsonValue]

    def raw(self, stored_name: str) -> JsonValue | UnsetType:
        """Return a stored field as plain JSON, whatever its type; ``UNSET`` when it is absent."""
        if stored_name in self.mistyped:
            return self.mistyped[stored_name]
        return self.entry.raw(stored_name)

    def take(self, fields: Fields) -> tuple[Any, ...]:
        """Return several fields at once in the order of their names, nested ones still as bytes (see ``nested``)."""
        taken = fields.get(self.entry)
        if not self.mistyped:
            return taken
        return tuple(self.mistyped.get(name, value) for name, value in zip(fields.names, taken, strict=True))


class Fields:
    """Names of fields, prepared to be taken from many rows.

    Attributes:
        names: stored names.
        get: reads their values from an entry, in that order.
    """

    def __init__(self, *names: str) -> None:
        self.names = names
        self.get: Callable[[SessionEntry], tuple[Any, ...]] = attrgetter(*(_ATTRIBUTES[name] for name in names))


STORED_NAMES: tuple[str, ...] = SessionEntry.__struct_encode_fields__
_ATTRIBUTES = dict(zip(STORED_NAMES, SessionEntry.__struct_fields__, strict=True))
_TYPES = {field.encode_name: field.type for field in msgspec.structs.fields(SessionEntry)}
_DECODER = msgspec.json.Decoder(SessionEntry)
_NOTHING: dict[str, Any] = {}


def decode_entry(raw: bytes | Raw) -> ReadEntry | None:
    """Decode the bytes of one row; ``None`` when it is no object.

    Raises:
        ValueError: the bytes are no JSON.
    """
    try:
        return ReadEntry(_DECODER.decode(raw), _NOTHING)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode_by_field(loads_lenient(bytes(raw)))


def nested(value: Any) -> JsonValue | UnsetType:  # noqa: ANN401 - any field of an entry
    """Return a field's value as plain JSON; nested values are decoded from their bytes.

    One that is nested more deeply than Python follows is ``None``: nothing that a program writes is.
    """
    if isinstance(value, Raw):
        try:
            return loads_lenient(bytes(value))
        except RecursionError:
            return None
    plain: JsonValue | UnsetType = value
    return plain


def loads_lenient(data: bytes) -> JsonValue:
    """Decode JSON as the real program does: bad UTF-8 becomes U+FFFD, lone surrogates stay, NaN is refused.

    Raises:
        ValueError: the bytes are no JSON.
    """
    text = data.decode("utf-8", "replace")
    value: JsonValue = json.loads(text, parse_constant=_refuse_constant, parse_int=_integer)
    return value


def dump_lenient(value: JsonValue) -> bytes:
    """Encode what ``loads_lenient`` gave so that it reads back the same; infinity, which JSON lacks, as ``1e999``."""
    try:
        return json.dumps(value, allow_nan=False).encode()
    except ValueError:
        text = _CONSTANT.sub(
            lambda found: found[0].replace("Infinity", "1e999") if found[1] else found[0], json.dumps(value)
        )
        return text.encode()


def _decode_by_field(stored: JsonValue) -> ReadEntry | None:
    if not isinstance(stored, dict):
        return None
    typed: dict[str, Any] = {}
    mistyped: dict[str, JsonValue] = {}
    for name, value in stored.items():
        kind = _TYPES.get(name)
        if kind is None:
            continue
        if kind == Nested:
            typed[_ATTRIBUTES[name]] = Raw(dump_lenient(value))
            continue
        try:
            typed[_ATTRIBUTES[name]] = msgspec.convert(value, kind)
        except (msgspec.ValidationError, UnicodeEncodeError):
            # Half an emoji, as JavaScript cuts text, is text all the same; msgspec has no string for it.
            mistyped[name] = value
    return ReadEntry(SessionEntry(**typed), mistyped)


def _refuse_constant(name: str) -> JsonValue:
    raise ValueError(f"{name} is no JSON")


def find_constant(text: str) -> int | None:
    """Return where ``NaN`` or ``Infinity`` stands outside strings, or ``None``."""
    return next((found.start() for found in _CONSTANT.finditer(text) if found[1]), None)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < _LONGEST_INTEGER else float(digits)


_CONSTANT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|(-?Infinity|NaN)', re.DOTALL)
# Beyond a double's largest number every integer is infinite, as in JavaScript; Python refuses to read very long ones.
_LONGEST_INTEGER = 400
