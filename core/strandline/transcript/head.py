"""What the first bytes of a transcript say: its header, and the first words of a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UnsetType

from strandline.state.fsys import BoundedFile
from strandline.transcript.envelope import HEADER_TYPE, ReadEnvelope
from strandline.transcript.facts import Words, words_of
from strandline.transcript.index import HeaderFact, header_fact, name_oddity
from strandline.transcript.lines import BOM, UTF16_REASON, looks_like_utf16, read_record, read_stretch
from strandline.transcript.places import Damage, DamageKind, Evidence, Oddity, OddityKind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIRST_WINDOW = 16 * 1024
LARGEST_HEAD = 256 * 1024
_GROWTH = 4
_BLANK = b" \t\r"


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What the head of a transcript says.

    Attributes:
        header: the first header met; ``None`` when there was none.
        first_words: the first words of a person; ``None`` when there were none.
        damage: what was broken on the way.
        oddities: what was odd on the way: byte order mark, late or missing header, an id that is not the file's.
        size: bytes of the file.
        bytes_read: bytes that were read for this.
        decided: whether more reading would change nothing; ``False`` when the bound was met first.
    """

    header: HeaderFact | None
    first_words: Words | None
    damage: tuple[Damage, ...]
    oddities: tuple[Oddity, ...]
    size: int
    bytes_read: int
    decided: bool


def read_head(path: Path, *, limit: int = LARGEST_HEAD) -> Head:
    """Read the head of a transcript.

    Args:
        path: the file; opened, read and closed.
        limit: bytes after which the search is given up.

    Raises:
        EnvironmentFault: it cannot be read.
    """
    with BoundedFile(path) as file:
        return head_of(file, limit=limit)


def head_of(file: BoundedFile, *, limit: int = LARGEST_HEAD) -> Head:
    """Read the head of an open transcript; see ``read_head``."""
    size = file.identity.size
    window = min(FIRST_WINDOW, limit)
    data = file.read(0, window)
    search = _Search(file.path.name)
    while not search.look(data, complete=len(data) >= size) and len(data) < min(size, limit):
        window = min(window * _GROWTH, limit)
        data += file.read(len(data), window - len(data))
    return Head(
        header=search.header,
        first_words=search.words,
        damage=tuple(search.damage),
        oddities=tuple(search.finish(size)),
        size=size,
        bytes_read=len(data),
        decided=search.settled or len(data) >= size,
    )


class _Search:
    """Looks through the lines of a window that grows, going on where it stopped."""

    def __init__(self, name: str) -> None:
        self.header: HeaderFact | None = None
        self.words: Words | None = None
        self.damage: list[Damage] = []
        self.settled = False
        self._name = name
        self._oddities: list[Oddity] = []
        self._position = 0
        self._line = 1
        self._records = 0
        self._late = False

    def look(self, data: bytes, *, complete: bool) -> bool:
        """Go on; ``True`` once everything is found. The window's last line counts only if the file ends with it."""
        if self._position == 0 and self._start(data):
            return True
        while not self.settled and self._position < len(data):
            line_end = data.find(b"\n", self._position)
            if line_end < 0 and not complete:
                break
            stop = len(data) if line_end < 0 else line_end
            self._take(data, self._position, stop, at_end=line_end < 0)
            self._position = stop + 1
            self._line += 1
        return self.settled

    def finish(self, size: int) -> Iterator[Oddity]:
        """Yield what was odd about the head as a whole."""
        if size == 0:
            yield Oddity(None, 0, 0, OddityKind.EMPTY, "The file is empty.")
        elif self.header is None and self._records:
            note = "No header; OpenClaw loads nothing of this file and starts it anew when it opens it."
            yield Oddity(None, 0, 0, OddityKind.NO_HEADER, note)
        elif self.header is not None:
            place = self.header.evidence
            if self._late:
                note = "The header is not the first record; OpenClaw loads nothing of this file."
                yield Oddity(place.line, place.offset, place.length, OddityKind.LATE_HEADER, note)
            named = name_oddity(self.header, self._name)
            if named is not None:
                yield named
        yield from self._oddities

    def _start(self, data: bytes) -> bool:
        if data.startswith(BOM):
            self._position = len(BOM)
            note = "It starts with a byte order mark; it reads the same."
            self._oddities.append(Oddity(1, 0, len(BOM), OddityKind.BYTE_ORDER_MARK, note))
        elif looks_like_utf16(data):
            self.damage.append(Damage(1, 0, len(data), DamageKind.NOT_UTF8, UTF16_REASON))
            self.settled = True
        return self.settled

    def _take(self, data: bytes, start: int, stop: int, *, at_end: bool) -> None:
        line = data[start:stop]
        body = line.strip(_BLANK)
        if not body:
            return
        offset = start + len(line) - len(line.lstrip(_BLANK))
        try:
            read = read_record(body)
        except (ValueError, RecursionError):
            for piece in read_stretch(body, open_end=at_end):
                place = Evidence(self._line, offset + piece.start, piece.end - piece.start)
                if piece.read is None:
                    self.damage.append(Damage(place.line, place.offset, place.length, piece.kind, piece.reason))
                else:
                    self._weigh(piece.read, body[piece.start : piece.end], place)
            return
        place = Evidence(self._line, offset, len(body))
        if read is None:
            reason = "a JSON value that is no object"
            self.damage.append(Damage(place.line, offset, len(body), DamageKind.NO_OBJECT, reason))
            return
        self._weigh(read, body, place)

    def _weigh(self, read: ReadEnvelope, body: bytes, place: Evidence) -> None:
        envelope = read.envelope
        self._records += 1
        if envelope.type == HEADER_TYPE:
            if self.header is None:
                self._late = self._records > 1
                self.header = header_fact(read.clean or body, place)
        elif envelope.type == "message" and envelope.message and envelope.message.role == "user":
            timestamp = None if isinstance(envelope.timestamp, UnsetType) else envelope.timestamp
            self.words = words_of(read.clean or body, "user", timestamp, place)
        # A header that has not come before the first words is looked for no further.
        self.settled = self.words is not None
