"""Rules of a context that no recorded pair shows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import golden
from strandline.context.build import Context, build_context
from strandline.context.convert import convert_messages
from strandline.errors import NothingMatched
from strandline.transcript.whole_file import WholeFile, read_transcript

_TIME = "2026-05-20T10:00:00.000Z"
_HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": _TIME, "cwd": "/w"}


def _index(*entries: dict[str, Any]) -> WholeFile:
    """Chain entries in a row."""
    lines: list[dict[str, Any]] = [_HEADER]
    parent = None
    for number, entry in enumerate(entries):
        entry_id = f"e{number}"
        lines.append({"id": entry_id, "parentId": parent, "timestamp": _TIME, **entry})
        parent = entry_id
    return WholeFile("\n".join(map(json.dumps, lines)).encode())


def _said(text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": text, **more}}


def _stored(context: Context) -> list[dict[str, Any]]:
    return [json.loads(bytes(message.stored)) for message in context.messages]


def _texts(context: Context) -> list[str]:
    return [message.get("content", message.get("summary")) for message in _stored(context)]


@pytest.mark.parametrize(
    ("kept", "texts"), [("e1", ["S", "b", "d"]), ("gone", ["S", "d"]), ("e2", ["S", "d"]), (None, ["S", "d"])]
)
def test_compaction_keeps_from_its_first_kept_entry(kept: str | None, texts: list[str]) -> None:
    """What comes before the kept entry is gone; an id that is not on the path, or its own, keeps nothing."""
    compaction = {"type": "compaction", "summary": "S", "tokensBefore": 9}
    if kept is not None:
        compaction["firstKeptEntryId"] = kept
    context = build_context(_index(_said("a"), _said("b"), compaction, _said("d")))
    assert _texts(context) == texts
    assert context.compaction == 2


def test_only_the_last_compaction_counts() -> None:
    """An earlier compaction inside the kept range gives no message."""
    first = {"type": "compaction", "summary": "old", "firstKeptEntryId": "e0", "tokensBefore": 1}
    last = {"type": "compaction", "summary": "new", "firstKeptEntryId": "e0", "tokensBefore": 2}
    assert _texts(build_context(_index(_said("a"), first, _said("b"), last))) == ["new", "a", "b"]


def test_empty_branch_summary_gives_nothing() -> None:
    """A branch summary without words gives no message; unknown types, labels and custom entries neither."""
    entries = [{"type": kind} for kind in ("future", "label", "custom", "session_info")]
    context = build_context(_index({"type": "branch_summary", "summary": "", "fromId": "root"}, *entries))
    assert (context.messages, context.at) == ((), 4)


def test_settings_come_from_the_path() -> None:
    """Thinking level and model are the last on the path; an answer sets the model too."""
    index = _index(
        {"type": "model_change", "provider": "p", "modelId": "one"},
        {"type": "thinking_level_change", "thinkingLevel": "high"},
        _said("a", "assistant", provider="q", model="two"),
        {"type": "thinking_level_change"},
        {"type": "model_change", "provider": 5},
    )
    assert [build_context(index, f"e{at}").thinking_level for at in range(4)] == ["off", "high", "high", "off"]
    models = [build_context(index, f"e{at}").model for at in range(5)]
    assert [(model.provider, model.model_id) for model in models if model] == [
        ("p", "one"), ("p", "one"), ("q", "two"), ("q", "two"), (None, None)
    ]  # fmt: skip


def test_unknown_entry_matches_nothing() -> None:
    """An id that no entry has is an error with a sentence, not the whole talk."""
    with pytest.raises(NothingMatched, match="id nope"):
        build_context(_index(_said("a")), "nope")


def test_message_without_a_message_gives_nothing() -> None:
    """Records of type message that hold none are passed over."""
    assert (
        build_context(_index({"type": "message"}, {"type": "message", "message": None}, _said("a")))
        .messages[0]
        .position
        == 2
    )


def test_lone_surrogates_stay_escapes() -> None:
    """A message with a lone surrogate is JSON that every reader takes."""
    context = build_context(_index(_said("\ud83d")))
    assert bytes(context.messages[0].stored).isascii()
    assert _texts(context) == ["\ud83d"]
    assert context.estimates()[0] == (1,)


@pytest.mark.parametrize(
    ("place", "ours", "theirs"), [(0, 6, True), (1, 3, False), (2, 8, False), (3, 3, True), (4, 8, False)]
)
def test_salvaged_records_are_in_and_said(place: int, ours: int, theirs: bool) -> None:
    """A22: salvaged messages are in the context, which then says that the real program sees another one."""
    context = build_context(read_transcript(golden.case_transcripts("A22-torn-glued-nul")[place]))
    assert (len(context.messages), context.read_by_openclaw) == (ours, theirs)


def test_loops_are_said() -> None:
    """A24 g0: the real program hangs on a loop; ours gives the talk and says that it differs."""
    context = build_context(read_transcript(golden.case_transcripts("A24-parent-loops")[0]))
    assert (len(context.messages), context.read_by_openclaw) == (3, False)


def test_provider_is_sent_three_roles_only() -> None:
    """Commands, summaries and custom messages become a user's; excluded commands and unknown roles are not sent."""
    command = {"role": "bashExecution", "command": "ls", "output": "x", "timestamp": 7}
    index = _index(
        {"type": "message", "message": {**command, "exitCode": 2, "truncated": True, "fullOutputPath": "/f"}},
        {"type": "message", "message": {**command, "excludeFromContext": True}},
        {"type": "message", "message": {**command, "output": "", "cancelled": True}},
        {"type": "custom_message", "customType": "c", "content": "note", "display": True},
        {"type": "custom_message", "customType": "c", "content": [{"type": "text", "text": "b"}], "display": True},
        {"type": "branch_summary", "summary": "B", "fromId": "root"},
        _said("a"),
        _said("z", "oracle"),
    )
    sent = [json.loads(bytes(one.stored)) for one in convert_messages(build_context(index).messages)]
    assert {one["role"] for one in sent} == {"user"}
    texts = [one["content"] if isinstance(one["content"], str) else one["content"][0]["text"] for one in sent]
    assert texts[0] == "Ran `ls`\n```\nx\n```\n\nCommand exited with code 2\n\n[Output truncated. Full output: /f]"
    assert texts[1] == "Ran `ls`\n(no output)\n\n(command cancelled)"
    assert texts[2:4] == ["note", "b"]
    assert texts[4].endswith("<summary>\nB</summary>")
    assert texts[5:] == ["a"]
    assert [one.get("timestamp") for one in sent][:2] == [7, 7]


def test_compaction_summary_is_sent_between_tags() -> None:
    """The summary stands between tags on their own lines, under one sentence."""
    index = _index(_said("a"), {"type": "compaction", "summary": "S", "firstKeptEntryId": "e0", "tokensBefore": 1})
    first = next(convert_messages(build_context(index).messages))
    text = json.loads(bytes(first.stored))["content"][0]["text"]
    assert text.split("\n")[1:] == ["", "<summary>", "S", "</summary>"]


_ENTRIES = st.sampled_from(
    [
        _said("a"),
        _said("b", "assistant", provider="p", model="m", usage={"totalTokens": 5}),
        {"type": "compaction", "summary": "S", "firstKeptEntryId": "e1", "tokensBefore": 1},
        {"type": "branch_summary", "summary": "B", "fromId": "root"},
        {"type": "custom_message", "customType": "c", "content": "note"},
        {"type": "custom"},
    ]
)


@given(st.lists(_ENTRIES, max_size=12))
def test_context_holds_each_entry_at_most_once_in_order(entries: list[dict[str, Any]]) -> None:
    """Positions rise, but for the compaction's summary, which stands first; each message has an estimate."""
    context = build_context(_index(*entries))
    positions = [message.position for message in context.messages]
    rest = positions if context.compaction is None else positions[1:]
    assert rest == sorted(set(rest))
    assert context.compaction is None or positions[0] == context.compaction
    each, whole = context.estimates()
    assert len(each) == len(positions)
    assert whole.tokens >= whole.trailing_tokens
