r"""The only place that prints: UTF-8 with ``\\n`` on every system, whatever the console thinks."""

from __future__ import annotations

import json
import sys
import unicodedata
from typing import TYPE_CHECKING

import msgspec

from strandline.store.entry import loads_lenient

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDE = frozenset("WF")


def put(text: str) -> None:
    """Write text to stdout, as UTF-8; control characters besides line ends are shown as U+FFFD.

    Keys, names and words come from files: none of them may move the cursor.
    """
    sys.stdout.buffer.write(_plain_lines(text).encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def put_json(record: object) -> None:
    """Write a record to stdout as JSON with two spaces of indentation, like the real program."""
    try:
        text = msgspec.json.format(msgspec.json.encode(record), indent=2)
    except (UnicodeEncodeError, msgspec.DecodeError):
        # Lone surrogates have no UTF-8, and are refused where stored JSON holds them escaped; JSON can escape them.
        plain = msgspec.to_builtins(record, enc_hook=_unwrap)
        text = json.dumps(plain, indent=2).encode("ascii")
    sys.stdout.buffer.write(text + b"\n")
    sys.stdout.buffer.flush()


def _unwrap(value: object) -> object:
    """Return what a piece of stored JSON holds, for an encoder that cannot pass it through."""
    if isinstance(value, msgspec.Raw):
        return loads_lenient(bytes(value))
    raise TypeError(type(value).__name__)


def say(message: str) -> None:
    """Write a message for people to stderr."""
    print(_plain_lines(message), file=sys.stderr, flush=True)


def complain(message: str) -> None:
    """Write an error to stderr, marked with the program's name."""
    print(f"strandline: {_plain_lines(message)}", file=sys.stderr, flush=True)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset()) -> str:
    """Lay out a table in columns.

    Args:
        head: titles.
        rows: cells; control characters are shown as U+FFFD so that a name cannot move the cursor.
        right: indexes of columns that are set flush right.
    """
    cells = [list(head), *([_plain(cell) for cell in row] for row in rows)]
    widths = [max(_width(row[column]) for row in cells) for column in range(len(head))]
    lines: list[str] = []
    for row in cells:
        padded = [
            (" " * (widths[at] - _width(cell)) + cell) if at in right else cell + " " * (widths[at] - _width(cell))
            for at, cell in enumerate(row)
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines) + "\n"


def shorten(text: str, width: int) -> str:
    """Return ``text`` cut in the middle to ``width`` columns."""
    if _width(text) <= width:
        return text
    half = (width - 1) // 2
    return f"{text[: width - 1 - half]}…{text[-half:]}"


def _plain_lines(text: str) -> str:
    return "\n".join(map(_plain, text.split("\n")))


def _plain(cell: str) -> str:
    if cell.isprintable():
        return cell
    return "".join("\ufffd" if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} else char for char in cell)


def _width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in _WIDE else 1 for char in text
    )
