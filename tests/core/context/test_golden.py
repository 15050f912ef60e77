"""What the model sees beside what the real session manager built from the same files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import golden
from strandline.context.build import build_context
from strandline.transcript.whole_file import read_transcript

if TYPE_CHECKING:
    from pathlib import Path

    from strandline.context.build import Context

_PAIRS = [pytest.param(path, expected, id=path.name) for path, expected in golden.transcript_pairs()]


def _as_recorded(context: Context) -> dict[str, Any]:
    return {
        "messages": [json.loads(bytes(message.stored)) for message in context.messages],
        "thinkingLevel": context.thinking_level,
        "model": msgspec.to_builtins(context.model),
    }


@pytest.mark.parametrize(("path", "expected"), _PAIRS)
def test_context_is_the_recorded_one(path: Path, expected: dict[str, Any]) -> None:
    """Messages with their keys in order, thinking level, model and estimates of every pair are the recorded ones."""
    index = read_transcript(path)
    context = build_context(index)
    if golden.loads_nothing(index.header, len(index)):
        assert len(context.messages) == len(index)
        assert not context.read_by_openclaw
        return
    assert json.dumps(_as_recorded(context)) == json.dumps(expected["context"])
    each, whole = context.estimates()
    assert list(each) == expected["perMessageTokens"]
    assert msgspec.to_builtins(whole) == expected["contextTokens"]
    assert [message.role for message in context.messages] == [one["role"] for one in expected["context"]["messages"]]


@pytest.mark.parametrize(("path", "expected"), [pair for pair in _PAIRS if "contextAtLeaf" in pair.values[1]])
def test_context_at_an_entry_is_the_recorded_one(path: Path, expected: dict[str, Any]) -> None:
    """Looked at from another entry, the context is the recorded one."""
    at = expected["contextAtLeaf"]
    context = build_context(read_transcript(path), at["leafId"])
    assert json.dumps(_as_recorded(context)) == json.dumps(at["context"])
