"""Estimates of messages and contexts; the pairs of the real session manager are in tests/core/context."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from strandline.tokens.estimate import estimate_context_tokens, estimate_tokens

if TYPE_CHECKING:
    from strandline.ecmascript import JsonValue

_IMAGE = {"type": "image", "data": "QUJD", "mimeType": "image/png"}


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        ({"role": "user", "content": "12345"}, 2),
        ({"role": "user", "content": [_text("1234"), _IMAGE]}, 1),
        ({"role": "user", "content": "🎉🎉"}, 1),
        ({"role": "user", "content": "🎉🎉x"}, 2),
        ({"role": "user", "content": "\ud83d\ud83d\ud83d\ud83d\ud83d"}, 2),
        ({"role": "user"}, 0),
        ({"role": "toolResult", "content": [_text("see image"), _IMAGE]}, 1203),
        ({"role": "custom", "content": [_IMAGE]}, 1200),
        ({"role": "custom", "content": "hook"}, 1),
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": "1234"}, _text("5678")]}, 2),
        ({"role": "assistant", "content": [{"type": "toolCall", "name": "bash", "arguments": {"command": "ls"}}]}, 5),
        ({"role": "assistant", "content": [{"type": "toolCall", "name": "bash", "arguments": {"c": "\ud83d"}}]}, 5),
        ({"role": "assistant", "content": "a text in place of blocks"}, 0),
        ({"role": "assistant", "content": [5, {"type": 5}, {"type": "toolCall"}]}, 0),
        ({"role": "bashExecution", "command": "pwd", "output": "/home/alice/work"}, 5),
        ({"role": "branchSummary", "summary": "12345678"}, 2),
        ({"role": "compactionSummary", "summary": "1"}, 1),
        ({"role": "oracle", "content": "12345"}, 0),
        ([], 0),
    ],
)
def test_message_weighs_what_the_real_program_says(message: JsonValue, tokens: int) -> None:
    """Each role is weighed by its own rule, in UTF-16 units, rounded up."""
    assert estimate_tokens(json.dumps(message).encode()) == tokens


def _answer(**more: Any) -> bytes:
    return json.dumps({"role": "assistant", "content": [_text("1234")], "stopReason": "stop", **more}).encode()


@pytest.mark.parametrize(
    ("usage", "reason", "expected"),
    [
        ({"totalTokens": 70}, "stop", (71, 70, 1, 0)),
        ({"totalTokens": 0, "input": 5, "output": 1, "cacheRead": 2, "cacheWrite": 3}, "stop", (12, 11, 1, 0)),
        ({"totalTokens": 70}, "aborted", (2, 0, 2, None)),
        ({"totalTokens": 70}, "error", (2, 0, 2, None)),
        (None, "stop", (2, 0, 2, None)),
        ({}, "stop", (1, 0, 1, 0)),
    ],
)
def test_context_weighs_its_last_usage_and_what_follows(
    usage: JsonValue, reason: str, expected: tuple[int, int, int, int | None]
) -> None:
    """The last answered call counts as reported, what follows is estimated; without one, everything is."""
    found = estimate_context_tokens([_answer(usage=usage, stopReason=reason), b'{"role":"user","content":"1"}'])
    assert (found.tokens, found.usage_tokens, found.trailing_tokens, found.last_usage_index) == expected
