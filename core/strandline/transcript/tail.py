"""What the last bytes of a transcript say: its leaf, the last words, the last usage since the last compaction.

The file is read from its end in windows that grow fourfold, along the active path: from the leaf to its parent and on,
passing over what lies on side branches. It ends as soon as everything is known, or at the bound, and then says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UnsetType

from strandline.state.fsys import BoundedFile
from strandline.transcript.envelope import HEADER_TYPE, Envelope, ReadEnvelope
from strandline.transcript.facts import NO_ANSWER, UsageFact, Words, context_tokens, usage_of, words_of
from strandline.transcript.lines import UTF16_REASON, looks_like_utf16, read_record, read_stretch
from strandline.transcript.places import Damage, DamageKind, Evidence

if TYPE_CHECKING:
    from pathlib import Path

FIRST_WINDOW = 16 * 1024
LARGEST_TAIL = 4 * 1024**2
_GROWTH = 4
_BLANK = b" \t\r"
_SPEAKERS = frozenset({"user", "assistant"})


class Leaf(msgspec.Struct, frozen=True):
    """The last entry of a transcript.

    Attributes:
        type: record type.
        id: its id; ``None`` when it has none.
        timestamp: its time as stored.
        evidence: where it stands.
    """

    type: str
    id: str | None
    timestamp: str | int | float | None
    evidence: Evidence


class Tail(msgspec.Struct, frozen=True, kw_only=True):
    """What the tail of a transcript says. Places have no line: nobody counted from the start.

    Attributes:
        leaf: the last entry, whatever its type; ``None`` when there is none.
        last_words: the last words on the active path, of a person or a model; ``None`` when there are none.
        last_usage: the last usage on the active path since the last compaction, of a call that was answered and
            used something; ``None`` when there is none.
        compaction: the last compaction, when it was met before a usage: then no call has measured the context since.
        trailing_bytes: bytes behind the record of ``last_usage``; all that was read when there is none.
        damage: what was broken on the way; an unfinished last record is normal while the file is written.
        size: bytes of the file.
        bytes_read: bytes that were read for this.
        decided: whether more reading would change nothing; ``False`` when the bound was met first, and then what is
            ``None`` here is unknown.
    """

    leaf: Leaf | None
    last_words: Words | None
    last_usage: UsageFact | None
    compaction: Leaf | None
    trailing_bytes: int
    damage: tuple[Damage, ...]
    size: int
    bytes_read: int
    decided: bool


def read_tail(path: Path, *, linear: bool = False, limit: int = LARGEST_TAIL) -> Tail:
    """Read the tail of a transcript.

    Args:
        path: the file; opened, read and closed.
        linear: entries follow each other in file order, as in version 1 of the format.
        limit: bytes after which the search is given up.

    Raises:
        EnvironmentFault: it cannot be read.
    """
    with BoundedFile(path) as file:
        return tail_of(file, linear=linear, limit=limit)


def tail_of(file: BoundedFile, *, linear: bool = False, limit: int = LARGEST_TAIL) -> Tail:
    """Read the tail of an open transcript; see ``read_tail``."""
    search = _Search(_Backwards(file, limit), linear=linear)
    search.run()
    return search.result()


class _Backwards:
    """Gives the physical lines of a file from its end."""

    def __init__(self, file: BoundedFile, limit: int) -> None:
        self.size = file.identity.size
        self.bytes_read = 0
        self.exhausted = False
        self._file = file
        self._limit = min(limit, self.size)
        self._window = FIRST_WINDOW
        self._data = b""
        self._base = self.size
        self._grow()
        self.utf16 = looks_like_utf16(self._data)
        self._end = len(self._data)
        self.open_end = not self._data.endswith(b"\n")
        if not self.open_end:
            self._end -= 1

    def line(self) -> tuple[int, bytes] | None:
        """Return (offset, bytes) of the next line; ``None`` at the start of the file or at the bound."""
        if self._end < 0:
            return None
        searched = self._end
        while (line_feed := self._data.rfind(b"\n", 0, searched)) < 0 and self._base > 0:
            grown = self._grow()
            if not grown:
                self.exhausted = True
                return None
            searched = grown
            self._end += grown
        line = self._data[line_feed + 1 : self._end]
        offset = self._base + line_feed + 1
        self._end = line_feed
        return offset, line

    def _grow(self) -> int:
        length = min(self._window, self._limit) - (self.size - self._base)
        if length <= 0:
            return 0
        self._window *= _GROWTH
        more = self._file.read(self._base - length, length)
        self.bytes_read += len(more)
        self._data = more + self._data
        self._base -= length
        return length


class _Search:
    """Follows the active path backwards until everything is known."""

    def __init__(self, lines: _Backwards, *, linear: bool) -> None:
        self._lines = lines
        self._linear = linear
        self._leaf: Leaf | None = None
        self._wanted: str | None = None
        self._words: Words | None = None
        self._usage: UsageFact | None = None
        self._compaction: Leaf | None = None
        self._damage: list[Damage] = []
        self._done = False
        # Lines that cannot be read, the last one first.
        self._broken: list[bytes] = []
        self._broken_end = 0

    def run(self) -> None:
        """Search."""
        if self._lines.utf16:
            self._damage.append(Damage(None, 0, self._lines.size, DamageKind.NOT_UTF8, UTF16_REASON))
            return
        while not self._done and (found := self._lines.line()) is not None:
            self._take(*found)
        if not self._done and not self._lines.exhausted:
            self._search_stretch()

    def result(self) -> Tail:
        """Return what was found."""
        lines = self._lines
        usage = self._usage
        return Tail(
            leaf=self._leaf,
            last_words=self._words,
            last_usage=usage,
            compaction=self._compaction,
            trailing_bytes=lines.size - usage.evidence.offset - usage.evidence.length if usage else lines.bytes_read,
            damage=tuple(reversed(self._damage)),
            size=lines.size,
            bytes_read=lines.bytes_read,
            decided=not lines.exhausted,
        )

    def _take(self, offset: int, line: bytes) -> None:
        body = line.strip(_BLANK)
        if not body:
            if self._broken:
                self._broken.append(line)
            return
        try:
            read = read_record(body)
        except ValueError:
            if not self._broken:
                self._broken_end = offset + len(line)
            self._broken.append(line)
            return
        except RecursionError:
            read = None
        self._search_stretch()
        if self._done:
            return
        start = offset + len(line) - len(line.lstrip(_BLANK))
        if read is None:
            self._damage.append(Damage(None, start, len(body), DamageKind.NO_OBJECT, "no object that can be read"))
            return
        self._weigh(read, body, Evidence(None, start, len(body)))

    def _search_stretch(self) -> None:
        if not self._broken:
            return
        stretch = b"\n".join(reversed(self._broken))
        self._broken = []
        start = self._broken_end - len(stretch)
        open_end = self._lines.open_end and self._broken_end == self._lines.size
        for piece in reversed(read_stretch(stretch, open_end=open_end)):
            place = Evidence(None, start + piece.start, piece.end - piece.start)
            if piece.read is None:
                self._damage.append(Damage(None, place.offset, place.length, piece.kind, piece.reason))
            elif not self._done:
                self._weigh(piece.read, stretch[piece.start : piece.end], place)

    def _weigh(self, read: ReadEnvelope, body: bytes, place: Evidence) -> None:
        envelope = read.envelope
        if envelope.type == HEADER_TYPE:
            return
        entry_id = envelope.id if isinstance(envelope.id, str) else None
        if self._leaf is None:
            self._leaf = _leaf_of(envelope, place)
        elif not self._linear and (entry_id is None or entry_id != self._wanted):
            return
        self._note(envelope, read.clean or body, place)
        parent = envelope.parent_id
        self._wanted = parent if isinstance(parent, str) and parent else None
        at_root = not self._linear and (self._wanted is None or self._wanted == entry_id)
        measured = self._usage is not None or self._compaction is not None
        self._done = at_root or (measured and self._words is not None)

    def _note(self, envelope: Envelope, body: bytes, place: Evidence) -> None:
        measured = self._usage is not None or self._compaction is not None
        if envelope.type == "compaction" and not measured:
            self._compaction = _leaf_of(envelope, place)
        message = envelope.message
        if envelope.type != "message" or not message or not isinstance(message.role, str):
            return
        timestamp = _leaf_of(envelope, place).timestamp
        if self._words is None and message.role in _SPEAKERS:
            self._words = words_of(body, message.role, timestamp, place)
        if measured or message.role != "assistant" or message.stop_reason in NO_ANSWER:
            return
        usage = usage_of(body)
        if usage is None or not (tokens := context_tokens(usage)):
            return
        provider = message.provider if isinstance(message.provider, str) else None
        model = message.model if isinstance(message.model, str) else None
        self._usage = UsageFact(usage, tokens, provider, model, timestamp, place)


def _leaf_of(envelope: Envelope, place: Evidence) -> Leaf:
    return Leaf(
        envelope.type,
        envelope.id if isinstance(envelope.id, str) else None,
        None if isinstance(envelope.timestamp, UnsetType) else envelope.timestamp,
        place,
    )
