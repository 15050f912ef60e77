"""Typed records: every type, what no type fits, and older versions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import UNSET, Raw

import golden
from strandline.transcript.facts import text_of, usage_of, words_of
from strandline.transcript.index import record_at
from strandline.transcript.places import Evidence
from strandline.transcript.records import (
    KNOWN_TYPES,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummary,
    Compaction,
    Custom,
    CustomMessage,
    CustomMessageRecord,
    Label,
    MessageRecord,
    ModelChange,
    SessionHeader,
    SessionInfo,
    ThinkingLevelChange,
    ToolResultMessage,
    UnknownMessage,
    UnknownRecord,
    UserMessage,
    decode_message,
    decode_record,
)
from strandline.transcript.whole_file import WholeFile, read_transcript

if TYPE_CHECKING:
    from strandline.ecmascript import JsonValue

_SHAPES: dict[str, tuple[type[Any], dict[str, JsonValue]]] = {
    "session": (SessionHeader, {"version": 3, "cwd": "/w", "parentSession": "/p"}),
    "message": (MessageRecord, {"message": {"role": "user", "content": "x"}}),
    "thinking_level_change": (ThinkingLevelChange, {"thinkingLevel": "high"}),
    "model_change": (ModelChange, {"provider": "p", "modelId": "m"}),
    "compaction": (Compaction, {"summary": "s", "firstKeptEntryId": "k", "tokensBefore": 5}),
    "branch_summary": (BranchSummary, {"fromId": "root", "summary": "s"}),
    "custom": (Custom, {"customType": "c", "data": {"n": 1}}),
    "custom_message": (CustomMessageRecord, {"customType": "c", "content": "x", "display": True}),
    "label": (Label, {"targetId": "t", "label": "l"}),
    "session_info": (SessionInfo, {"name": "n"}),
}


def _plain(value: object) -> object:
    return json.loads(bytes(value)) if isinstance(value, Raw) else value


@pytest.mark.parametrize("kind", sorted(KNOWN_TYPES))
def test_every_type_is_decoded(kind: str) -> None:
    """Each record type gives its fields under their names, nested ones as raw JSON."""
    shape, fields = _SHAPES[kind]
    record = decode_record(kind, json.dumps({"type": kind, "id": "i", "timestamp": "t", **fields}).encode())
    assert isinstance(record, shape)
    names = dict(zip(shape.__struct_encode_fields__, shape.__struct_fields__, strict=True))
    assert {name: _plain(getattr(record, names[name])) for name in fields} == fields
    assert record.id == "i"


def test_unknown_types_and_shapes_are_kept() -> None:
    """An unknown type, and a known one whose fields do not fit, keep everything that they say."""
    future = {"type": "future_thing", "id": "a", "x": [1]}
    assert decode_record("future_thing", json.dumps(future).encode()) == UnknownRecord("future_thing", future)
    odd: dict[str, JsonValue] = {"type": "label", "id": "a", "label": 5}
    assert decode_record("label", json.dumps(odd).encode()) == UnknownRecord("label", odd)


@pytest.mark.parametrize(
    ("role", "shape"),
    [
        ("user", UserMessage),
        ("assistant", AssistantMessage),
        ("toolResult", ToolResultMessage),
        ("bashExecution", BashExecutionMessage),
        ("custom", CustomMessage),
    ],
)
def test_every_role_is_decoded(role: str, shape: type[Any]) -> None:
    """Each role gives its own message, also when a lone surrogate stops the fast decoder."""
    for text in ("plain", "\ud83d"):
        stored = {"role": role, "content": [{"type": "text", "text": text}], "command": text, "timestamp": 5}
        stored |= {"usage": {"input": 1}, "details": {"k": [text]}}
        message = decode_message(json.dumps(stored).encode())
        assert isinstance(message, shape)
        assert message.timestamp == 5
        if role != "bashExecution":
            assert [block.text for block in message.content] == [text]


@pytest.mark.parametrize("stored", [{"role": "oracle"}, {"content": "x"}, {"role": "user", "content": 5}])
def test_unknown_messages_are_kept(stored: dict[str, JsonValue]) -> None:
    """A message of an unknown role or shape keeps everything that it says."""
    assert decode_message(json.dumps(stored).encode()) == UnknownMessage(stored)


def test_images_stay_undecoded() -> None:
    """An image's data is raw JSON; unknown block types are blocks all the same."""
    blocks = [{"type": "image", "data": "QUJD", "mimeType": "image/png"}, {"type": "video", "frames": 3}]
    message = decode_message(json.dumps({"role": "user", "content": blocks}).encode())
    assert isinstance(message, UserMessage)
    assert isinstance(message.content, list)
    assert [(block.type, block.mime_type) for block in message.content] == [("image", "image/png"), ("video", UNSET)]
    assert _plain(message.content[0].data) == "QUJD"


def test_version_1_reads_as_it_would_be_migrated() -> None:
    """Version 1 gets ids in file order and an id for its index; an index that leads nowhere leaves none."""
    index = read_transcript(golden.TRANSCRIPTS / "legacy-v1.input.jsonl")
    assert index.version == 1
    assert list(index.parent_ids) == [None, *list(index.ids)[:-1]]
    compaction = record_at(index, 3)
    assert isinstance(compaction, Compaction)
    assert (compaction.first_kept_entry_id, compaction.first_kept_entry_index) == (index.ids[2], UNSET)
    assert index.entry(4).role == "custom"


@pytest.mark.parametrize(
    ("kept", "position"), [(1, 0), (2, 1), (0, None), (9, None), (3, None), (1.5, None), (-1, None)]
)
def test_kept_index_counts_the_header(kept: float, position: int | None) -> None:
    """The index of version 1 counts every parsed record; it must lead to an earlier entry."""
    lines = [
        {"type": "session", "id": "s"},
        {"type": "custom"},
        {"type": "compaction", "firstKeptEntryIndex": kept},
        {"type": "custom"},
    ]
    index = WholeFile("\n".join(map(json.dumps, lines)).encode())
    record = record_at(index, 1)
    assert isinstance(record, Compaction)
    assert record.first_kept_entry_id == (UNSET if position is None else index.ids[position])


def test_file_without_header_or_ids_is_linear() -> None:
    """Without a header, entries that have no ids at all follow each other."""
    index = WholeFile(b'{"type":"custom"}\n{"type":"custom"}\n')
    assert list(index.parent_ids) == [None, index.ids[0]]


def test_words_are_the_text_blocks() -> None:
    """Words are text blocks joined by a space, whatever else a message holds."""
    content = [{"type": "text", "text": "a"}, {"type": "image", "data": "x"}, {"type": "text", "text": "b"}]
    assert text_of(json.dumps({"message": {"content": content}}).encode()) == "a b"
    assert text_of(json.dumps({"message": {"content": [*content, {"type": "text", "text": "\ud83d"}]}}).encode())
    for odd in (b"{", b"[]", b'{"message":5}', b'{"message":{"content":[5,{"type":"text","text":7}]}}'):
        assert text_of(odd) == ""
    assert words_of(b'{"message":{"content":"  "}}', "user", None, Evidence(1, 0, 1)) is None


def test_usage_is_read_from_its_record() -> None:
    """A usage is an object or nothing, also where a lone surrogate stops the fast decoder."""
    assert usage_of(b'{"message":{"usage":{"input":1}}}') == {"input": 1}
    assert usage_of(b'{"message":{"x":"\\ud83d","usage":{"input":1}}}') == {"input": 1}
    for none in (
        b"{}",
        b'{"message":null}',
        b'{"message":{"usage":5}}',
        b'{"message":5}',
        b'{"message":{"x":"\\ud83d"}}',
    ):
        assert usage_of(none) is None


def test_costs_of_the_files_of_one_conversation() -> None:
    """A26: each file gives the cost of its own answers; which files are copies is for the rooms above to say."""
    costs: dict[str, float] = {}
    for path in golden.case_transcripts("A26-copies-counted-twice"):
        index = read_transcript(path)
        found: list[Any] = [usage for at in range(len(index)) if (usage := index.usage(at)) is not None]
        costs[path.name[35:]] = round(sum(usage["cost"]["total"] for usage in found), 2)
    assert costs == {
        "1.checkpoint.0000000c-0b00-4000-8000-000000000007.jsonl": 0.30,
        "1.jsonl": 0.50,
        "1.jsonl.bak.2026-05-20T06-00-00.000Z": 0.20,
        "2.jsonl.reset.2026-05-18T12-00-00.000Z": 0.25,
    }
