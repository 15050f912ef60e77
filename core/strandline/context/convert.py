"""The messages of a context as a provider is sent them (spec 2026.5 §6.3, convertToLlm).

Only three roles exist there: user, assistant and toolResult. Summaries, custom messages and commands become user
messages; the sentences around them are ours, they are never stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Raw

from strandline.context.build import ContextMessage
from strandline.ecmascript import is_number, number_text
from strandline.transcript.envelope import dumps, loads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from strandline.ecmascript import JsonValue

_PASSED_ON = frozenset({"user", "assistant", "toolResult"})
_COMPACTION_INTRO = "Everything said before this point was condensed into this summary:"
_BRANCH_INTRO = "This summary tells of a branch that the conversation has left:"


def convert_messages(messages: Iterable[ContextMessage]) -> Iterator[ContextMessage]:
    """Yield the messages as a provider is sent them; those that none is sent are left out."""
    for message in messages:
        if message.role in _PASSED_ON:
            yield message
            continue
        stored = loads(bytes(message.stored))
        content = _content(message.role, stored) if isinstance(stored, dict) else None
        if not isinstance(stored, dict) or content is None:
            continue
        made: dict[str, JsonValue] = {"role": "user", "content": content}
        if "timestamp" in stored:
            made["timestamp"] = stored["timestamp"]
        yield ContextMessage(message.position, "user", Raw(dumps(made)))


def _content(role: str, stored: dict[str, JsonValue]) -> JsonValue:
    if role == "custom":
        content = stored.get("content")
        return [_text(content)] if isinstance(content, str) else content
    if role == "bashExecution":
        return None if stored.get("excludeFromContext") else [_text(_command_text(stored))]
    if role == "compactionSummary":
        return [_text(f"{_COMPACTION_INTRO}\n\n<summary>\n{stored.get('summary', '')}\n</summary>")]
    if role == "branchSummary":
        return [_text(f"{_BRANCH_INTRO}\n\n<summary>\n{stored.get('summary', '')}</summary>")]
    return None


def _text(text: str) -> JsonValue:
    return {"type": "text", "text": text}


def _command_text(stored: dict[str, JsonValue]) -> str:
    output = stored.get("output")
    text = f"Ran `{stored.get('command', '')}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    code = stored.get("exitCode")
    if stored.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif is_number(code) and code != 0:
        text += f"\n\nCommand exited with code {number_text(code)}"
    if stored.get("truncated") and stored.get("fullOutputPath"):
        text += f"\n\n[Output truncated. Full output: {stored['fullOutputPath']}]"
    return text
