"""Reading openclaw.json: JSON5, byte order mark and all (spec 2026.5 §1.1).

A document that cannot be read is damaged, never empty; a document that is not there means that every default holds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import pyjson5

from strandline.ecmascript import JsonValue

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEAR = re.compile(r"near (\d+)")
_BLANK = re.compile(r"(?:\s|\ufeff|//[^\r\n\u2028\u2029]*|/\*.*?\*/)*", re.DOTALL)
_LINE_END = re.compile(r"[\r\n]")
_REASONS = (
    ("NulByte", "a NUL byte"),
    ("IllegalCharacter", "a character that cannot stand here"),
    ("ExtraData", "something after the end of the object"),
    ("IllegalType", "a value of no known kind"),
    ("EOF", "the text ends too early"),
    ("NestingTooDeep", "nested too deeply"),
)


class ConfigDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What openclaw.json holds.

    Attributes:
        path: the file.
        exists: whether it is there; if not, every default holds.
        root: the decoded object; ``{}`` when there is no file or no readable object.
        damage: why the file could not be read, with line and column, as one sentence; else ``None``.
        includes: files named by ``$include``, as written; they are not followed here.
    """

    path: str
    exists: bool
    root: dict[str, JsonValue]
    damage: str | None = None
    includes: tuple[str, ...] = ()


def absent_document(path: str) -> ConfigDocument:
    """Return the document of a file that is not there."""
    return ConfigDocument(path=path, exists=False, root={})


def unreadable_document(path: str, reason: str) -> ConfigDocument:
    """Return the document of a file that the system does not let us read."""
    return ConfigDocument(path=path, exists=True, root={}, damage=reason)


def parse_document(path: str, data: bytes) -> ConfigDocument:
    """Decode the bytes of openclaw.json.

    Bytes that are no UTF-8 become U+FFFD and a byte order mark is white space, as in the real program. Whatever is not
    an object is damage.
    """
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if not text.strip():
        return unreadable_document(path, _damage(path, "it is empty", ""))
    try:
        root: JsonValue = pyjson5.decode(text, maxdepth=200)
    except pyjson5.Json5Exception as error:
        return unreadable_document(path, _damage(path, *_reason_and_place(text, error)))
    if not isinstance(root, dict):
        kind = "a list" if isinstance(root, list) else "a bare value"
        return unreadable_document(path, _damage(path, f"it holds {kind}, not an object", ""))
    return ConfigDocument(path=path, exists=True, root=root, includes=tuple(dict.fromkeys(_includes(root))))


def _includes(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        named = value.get("$include")
        for name in named if isinstance(named, list) else [named]:
            if isinstance(name, str):
                yield name
        for inner in value.values():
            yield from _includes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _includes(inner)


def _damage(path: str, reason: str, place: str) -> str:
    return (
        f"The configuration {path} cannot be read: {reason}{place}; "
        "its settings are unknown, mend the file or restore it from a backup."
    )


def _reason_and_place(text: str, error: Exception) -> tuple[str, str]:
    name, message = type(error).__name__, str(error)
    reason = next((words for part, words in _REASONS if part in name), "it is not JSON5")
    near = _NEAR.search(message)
    offset = min(int(near[1]), len(text)) if near else len(text)
    if "ExtraData" in name:
        blank = _BLANK.match(text, offset)
        offset = blank.end() if blank else offset
    elif "EOF" not in name:
        offset = max(offset - 1, 0)  # the reader has taken the character that it complains about
    elif "NumericLiteral" in message:
        return "a number that cannot be read", _place(text, max(offset - 1, 0))
    elif "string" in message and (line_end := _LINE_END.search(text, offset)):
        return "a line ends inside a string", _place(text, line_end.start())
    else:
        offset = len(text)
    return reason, _place(text, offset)


def _place(text: str, offset: int) -> str:
    before = text[:offset]
    line, column = before.count("\n") + 1, offset - before.rfind("\n")
    return f" at line {line}, column {column}"
