"""One row: every known field, values of other types, what cannot be text."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from strandline.store.entry import (
    STORED_NAMES,
    Fields,
    ReadEntry,
    SessionEntry,
    decode_entry,
    dump_lenient,
    find_constant,
    loads_lenient,
    nested,
)

# The field list of spec 2026.5 §2.1, its abbreviations written out.
_SPEC_FIELDS = re.findall(
    r"\w+",
    """
    sessionId updatedAt sessionFile sessionStartedAt lastInteractionAt usageFamilyKey usageFamilySessionIds
    startedAt endedAt runtimeMs status systemSent abortedLastRun abortCutoffMessageSid abortCutoffTimestamp
    spawnedBy spawnedWorkspaceDir parentSessionKey forkedFromParent spawnDepth subagentRole subagentControlScope
    inheritedToolDeny inheritedToolAllow pluginOwnerId subagentRecovery quotaSuspension chatType thinkingLevel
    fastMode verboseLevel traceLevel reasoningLevel elevatedLevel ttsAuto responseUsage sendPolicy
    lastTtsReadLatestHash lastTtsReadLatestAt execHost execSecurity execAsk execNode queueMode queueDebounceMs
    queueCap queueDrop groupActivation groupActivationNeedsSystemIntro providerOverride modelOverride
    modelOverrideSource modelOverrideFallbackOriginProvider modelOverrideFallbackOriginModel
    agentRuntimeOverride liveModelSwitchPending authProfileOverride authProfileOverrideSource
    authProfileOverrideCompactionCount modelProvider model agentHarnessId fallbackNoticeSelectedModel
    fallbackNoticeActiveModel fallbackNoticeReason inputTokens outputTokens totalTokens totalTokensFresh
    cacheRead cacheWrite contextTokens estimatedCostUsd compactionCount compactionCheckpoints memoryFlushAt
    memoryFlushCompactionCount memoryFlushContextHash pendingFinalDelivery pendingFinalDeliveryCreatedAt
    pendingFinalDeliveryLastAttemptAt pendingFinalDeliveryAttemptCount pendingFinalDeliveryLastError
    pendingFinalDeliveryText pendingFinalDeliveryContext pendingFinalDeliveryIntentId lastHeartbeatText
    lastHeartbeatSentAt heartbeatIsolatedBaseSessionKey heartbeatTaskState cliSessionIds cliSessionBindings
    claudeCliSessionId label displayName channel groupId subject groupChannel space origin route deliveryContext
    lastChannel lastTo lastAccountId lastThreadId skillsSnapshot systemPromptReport pluginDebugEntries
    pluginExtensions pluginExtensionSlotKeys pluginNextTurnInjections acp
    """,
)
# What older releases wrote (spec 2026.5 §2.2), and the goal of the contract.
_BESIDES = {"provider", "lastProvider", "room", "goal"}


def _read(row: object) -> ReadEntry:
    read = decode_entry(json.dumps(row).encode())
    assert read is not None
    return read


def test_every_stored_name_of_the_specification_is_known() -> None:
    """No field is forgotten and none is invented."""
    assert set(STORED_NAMES) == {*_SPEC_FIELDS, *_BESIDES}
    assert len(_SPEC_FIELDS) == len(set(_SPEC_FIELDS)) == 114


def test_absent_null_and_blank_are_three_things() -> None:
    """An absent field is UNSET, a stored null is None, a blank text is a text."""
    read = _read({"label": None, "subject": ""})
    assert read.raw("label") is None
    assert read.raw("subject") == ""
    assert read.raw("model") is UNSET
    assert read.entry.session_id is UNSET


@pytest.mark.parametrize("name", STORED_NAMES)
@pytest.mark.parametrize("value", ["text", "", 5, 1.5, True, None, [], [1, "a"], {}, {"a": {"b": [None]}}])
def test_a_field_gives_back_what_was_stored(name: str, value: object) -> None:
    """Whatever the type, the raw value is the stored one, and a mistyped field leaves the others typed."""
    read = _read({"sessionId": "s1", "updatedAt": 7, name: value, "model": "m"} if name != "model" else {name: value})
    assert read.raw(name) == value
    assert type(read.raw(name)) is type(value)
    if name not in {"sessionId", "updatedAt", "model"}:
        assert (read.entry.session_id, read.entry.updated_at, read.entry.model) == ("s1", 7, "m")


@pytest.mark.parametrize(
    ("name", "value", "attribute"),
    [
        ("sessionId", 5, "session_id"),
        ("updatedAt", "7", "updated_at"),
        ("updatedAt", True, "updated_at"),
        ("systemSent", 1, "system_sent"),
        ("systemSent", "true", "system_sent"),
        ("chatType", ["group"], "chat_type"),
        ("lastThreadId", True, "last_thread_id"),
        ("compactionCount", {}, "compaction_count"),
    ],
)
def test_a_mistyped_field_is_kept_beside_the_typed_ones(name: str, value: object, attribute: str) -> None:
    """It is listed under its stored name, and its typed place stays empty."""
    read = _read({name: value, "label": "x"})
    assert read.mistyped == {name: value}
    assert getattr(read.entry, attribute) is UNSET
    assert read.entry.label == "x"


def test_fields_are_taken_at_once() -> None:
    """Typed and mistyped values come in the order of their names."""
    fields = Fields("updatedAt", "label", "model", "acp")
    assert _read({"label": "x", "updatedAt": 3}).take(fields) == (3, "x", UNSET, UNSET)
    assert _read({"label": 5, "updatedAt": 3, "model": None}).take(fields) == (3, 5, None, UNSET)
    with pytest.raises(KeyError):
        Fields("noSuchField")


def test_nested_values_wait_as_bytes() -> None:
    """They are decoded when someone asks; plain values pass through."""
    read = _read({"acp": {"mode": "x"}})
    assert isinstance(read.entry.acp, msgspec.Raw)
    assert nested(read.entry.acp) == {"mode": "x"}
    assert nested("text") == "text"
    assert nested(UNSET) is UNSET


def test_unknown_fields_are_no_fault() -> None:
    """They stay in the row's bytes, whatever they hold."""
    read = _read({"sessionId": "s1", "x-new": {"sessionId": [1]}, "__proto__": {"label": "no"}})
    assert read.entry.session_id == "s1"
    assert read.mistyped == {}
    assert read.raw("label") is UNSET


@pytest.mark.parametrize("row", [b"null", b"5", b"[]", b'"x"', b"true", b'[{"sessionId":"s1"}]'])
def test_what_is_no_object_is_none(row: bytes) -> None:
    """The real program drops such a row."""
    assert decode_entry(row) is None


@pytest.mark.parametrize(
    "row", [b"", b"{", b'{"label":"x}', b"{'label':1}", b'{"label":NaN}', b'{"label":1}}', b'{"label":"\x01"}']
)
def test_bytes_that_are_no_json_are_refused(row: bytes) -> None:
    """No half of a row is taken for a row."""
    with pytest.raises(ValueError, match=r".+"):
        decode_entry(row)


def test_half_a_surrogate_pair_survives() -> None:
    """JavaScript keeps it, in typed fields, in mistyped rows and in nested values."""
    row = b'{"label":"\\udc00x","subject":5,"acp":{"\\ud800":"\\ud83d"}}'
    read = decode_entry(row)
    assert read is not None
    assert read.raw("label") == "\udc00x"
    assert read.raw("subject") == 5
    assert read.raw("acp") == {"\ud800": "\ud83d"}


def test_bad_bytes_become_the_replacement_character() -> None:
    """As many as the real decoder writes, in typed and nested values."""
    read = decode_entry(b'{"label":"\xe2\x82","acp":["\xed\xa0\x80"]}')
    assert read is not None
    assert read.raw("label") == "\ufffd"
    assert read.raw("acp") == ["\ufffd" * 3]


def test_numbers_beyond_a_double_are_infinite() -> None:
    """Neither an exponent nor five thousand digits stops the reading of a row."""
    read = decode_entry(b'{"updatedAt":1e999,"acp":[-1e999],"inputTokens":' + b"9" * 5000 + b',"label":"x"}')
    assert read is not None
    assert read.raw("updatedAt") == float("inf")
    assert read.raw("acp") == [float("-inf")]
    assert read.raw("inputTokens") == float("inf")
    assert read.raw("label") == "x"


def test_a_value_nested_beyond_all_reason_is_none() -> None:
    """It is not decoded; the rest of the row is."""
    deep = msgspec.Raw(b"[" * 50_000 + b"]" * 50_000)
    assert nested(deep) is None


def test_the_last_of_two_equal_names_counts() -> None:
    """As in JavaScript."""
    read = decode_entry(b'{"label":"a","label":"b"}')
    assert read is not None
    assert read.entry.label == "b"


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=[]), max_size=5)
    | st.sampled_from(['"', "\\", "Infinity", "NaN", 'a"Infinity', "\\Infinity"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(STORED_NAMES) | st.text(max_size=5), _JSON, max_size=6))
def test_any_row_gives_back_its_values(row: dict[str, Any]) -> None:
    """For every known field of any row, raw value in is raw value out."""
    read = decode_entry(dump_lenient(row))
    assert read is not None
    assert isinstance(read.entry, SessionEntry)
    for name in STORED_NAMES:
        assert read.raw(name) == row.get(name, UNSET)


@given(_JSON)
def test_what_is_encoded_reads_back(value: object) -> None:
    """Infinity and half surrogates included, and words in strings are left alone."""
    assert loads_lenient(dump_lenient(value)) == value


@pytest.mark.parametrize(
    ("text", "place"),
    [('{"a": NaN}', 6), ('["NaN", "\\"NaN", -Infinity]', 17), ('["Infinity"]', None), ("[1e999]", None)],
)
def test_finds_words_that_are_no_json(text: str, place: int | None) -> None:
    """Only outside of strings."""
    assert find_constant(text) == place
