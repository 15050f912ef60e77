"""What a row keeps of the values that plugins store in it (spec 2026.5 §2.2).

Both maps are ``plugin id -> name -> value``. A part that breaks a rule disappears alone; a map that empties that way
disappears too, whereas one that was stored empty stays.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from strandline.ecmascript import is_finite_number, number_text, property_order, trim
from strandline.store.delivery import stored_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from strandline.ecmascript import JsonValue

    _Rule: TypeAlias = Callable[[JsonValue], JsonValue | UnsetType]

_MAX_DEPTH = 32
_MAX_NODES = 4096
_MAX_KEYS = 512
_MAX_TEXT = 64 * 1024
_MAX_SERIALISED = 256 * 1024

_SLOT_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
# Fields of a row, and what every JavaScript object answers to.
_RESERVED_SLOT_KEYS = frozenset(
    """
    constructor prototype lastHeartbeatText lastHeartbeatSentAt heartbeatIsolatedBaseSessionKey
    heartbeatTaskState pluginExtensions pluginExtensionSlotKeys pluginNextTurnInjections sessionId
    updatedAt sessionFile spawnedBy spawnedWorkspaceDir parentSessionKey forkedFromParent spawnDepth
    subagentRole subagentControlScope inheritedToolDeny inheritedToolAllow subagentRecovery pluginOwnerId
    systemSent abortedLastRun sessionStartedAt lastInteractionAt startedAt endedAt runtimeMs status
    abortCutoffMessageSid abortCutoffTimestamp chatType thinkingLevel fastMode verboseLevel traceLevel
    reasoningLevel elevatedLevel ttsAuto lastTtsReadLatestHash lastTtsReadLatestAt execHost execSecurity
    execAsk execNode responseUsage usageFamilyKey usageFamilySessionIds providerOverride modelOverride
    agentRuntimeOverride modelOverrideSource modelOverrideFallbackOriginProvider
    modelOverrideFallbackOriginModel authProfileOverride authProfileOverrideSource
    authProfileOverrideCompactionCount liveModelSwitchPending groupActivation
    groupActivationNeedsSystemIntro sendPolicy queueMode queueDebounceMs queueCap queueDrop inputTokens
    outputTokens totalTokens pendingFinalDelivery pendingFinalDeliveryCreatedAt
    pendingFinalDeliveryLastAttemptAt pendingFinalDeliveryAttemptCount pendingFinalDeliveryLastError
    pendingFinalDeliveryText pendingFinalDeliveryContext pendingFinalDeliveryIntentId totalTokensFresh
    estimatedCostUsd cacheRead cacheWrite modelProvider model agentHarnessId fallbackNoticeSelectedModel
    fallbackNoticeActiveModel fallbackNoticeReason contextTokens compactionCount compactionCheckpoints
    memoryFlushAt memoryFlushCompactionCount memoryFlushContextHash cliSessionIds cliSessionBindings
    claudeCliSessionId label displayName channel groupId subject groupChannel space origin route
    deliveryContext lastChannel lastTo lastAccountId lastThreadId skillsSnapshot systemPromptReport
    pluginDebugEntries acp quotaSuspension
    hasOwnProperty isPrototypeOf propertyIsEnumerable toString valueOf toLocaleString
    """.split()  # noqa: SIM905 - a hundred quoted lines would hide that these are only names
)


def kept_extensions(stored: JsonValue) -> JsonValue | UnsetType:
    """Return what is left of ``pluginExtensions``; ``UNSET`` when the field goes.

    A value counts as too large above 32 levels, 4,096 nodes, 512 keys in one object, 65,536 UTF-16 units in one text
    or 262,144 bytes of JSON.
    """
    return _kept(stored, lambda value: value if _within_limits(value) else UNSET)


def kept_slot_keys(stored: JsonValue) -> JsonValue | UnsetType:
    """Return what is left of ``pluginExtensionSlotKeys``; ``UNSET`` when the field goes."""
    return _kept(stored, _slot_key)


def _slot_key(value: JsonValue) -> JsonValue | UnsetType:
    name = stored_text(value)
    return name if name and _SLOT_KEY.fullmatch(name) and name not in _RESERVED_SLOT_KEYS else UNSET


def _kept(stored: JsonValue, rule: _Rule) -> JsonValue | UnsetType:
    if not isinstance(stored, dict):
        return UNSET
    plugins: dict[str, JsonValue] = {}
    changed = False
    for stored_id, state in stored.items():
        plugin_id = trim(stored_id)
        names, names_changed = _kept_names(state, rule) if isinstance(state, dict) else ({}, True)
        if plugin_id and names:
            plugins[plugin_id] = names
            changed = changed or names_changed or plugin_id != stored_id
        else:
            changed = True
    return (_as_object(plugins) or UNSET) if changed else stored


def _kept_names(state: dict[str, JsonValue], rule: _Rule) -> tuple[dict[str, JsonValue], bool]:
    names: dict[str, JsonValue] = {}
    changed = False
    for stored_name, value in state.items():
        name = trim(stored_name)
        kept = rule(value)
        if name and kept is not UNSET:
            names[name] = kept
            changed = changed or name != stored_name or (kept is not value and kept != value)
        else:
            changed = True
    return _as_object(names), changed


def _as_object(members: dict[str, JsonValue]) -> dict[str, JsonValue]:
    # Assigning to __proto__ makes no member, so the real program loses it whenever it builds the map anew.
    return {name: members[name] for name in property_order(members) if name != "__proto__"}


class _Measure(msgspec.Struct):
    nodes: int = 0
    size: int = 0


def _within_limits(value: JsonValue) -> bool:
    measure = _Measure()
    return _measured(value, 0, measure) and measure.size <= _MAX_SERIALISED


def _measured(value: JsonValue, depth: int, measure: _Measure) -> bool:
    """Add ``value`` to ``measure``; tell whether it keeps the limits that hold for a part."""
    measure.nodes += 1
    if measure.nodes > _MAX_NODES or depth > _MAX_DEPTH:
        return False
    if isinstance(value, dict):
        measure.size += max(2, 1 + 2 * len(value))  # braces, commas and colons
        return len(value) <= _MAX_KEYS and all(
            _measured_text(key, measure) and _measured(member, depth + 1, measure) for key, member in value.items()
        )
    if isinstance(value, list):
        measure.size += max(2, 1 + len(value))  # brackets and commas
        return all(_measured(member, depth + 1, measure) for member in value)
    if isinstance(value, str):
        return _measured_text(value, measure)
    if value is None or isinstance(value, bool):
        measure.size += 5 if value is False else 4
        return True
    if not is_finite_number(value):
        return False
    measure.size += len(number_text(value))
    return True


def _measured_text(text: str, measure: _Measure) -> bool:
    units = len(text) + sum(character > "\uffff" for character in text) if not text.isascii() else len(text)
    if units > _MAX_TEXT:
        return False
    # JSON.stringify writes a lone surrogate as six characters, which is what this error handler does.
    measure.size += len(json.dumps(text, ensure_ascii=False).encode(errors="backslashreplace"))
    return True
