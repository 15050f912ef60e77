"""Tables as queries return them: plain records that a notebook shows by itself."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

import msgspec

from strandline.rows import SessionRow, TranscriptFacts
from strandline.state.file_classes import ClassifiedFile
from strandline.state.keys import read_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SHOWN_IN_NOTEBOOK = 50
_KIB = 1024
_PERCENT = 100


class SessionRecord(msgspec.Struct, frozen=True):
    """A row together with what is known of its transcript.

    Attributes:
        row: the row.
        facts: facts about its transcript; ``None`` while unknown.
    """

    row: SessionRow
    facts: TranscriptFacts | None


class SessionTable(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions, newest first.

    Attributes:
        records: the rows with their facts.
        total: rows there were before the filter.
        now_ms: the time that ages count to, ms since the epoch.
        damage: one sentence for each store that could not be read; its sessions are unknown.
    """

    records: tuple[SessionRecord, ...]
    total: int
    now_ms: int
    damage: tuple[str, ...] = ()

    @property
    def collisions(self) -> dict[str, tuple[str, ...]]:
        """Keys of one store that the real program looks up under one spelling: that spelling → the keys as stored."""
        found: dict[tuple[int, str], list[str]] = {}
        for record in self.records:
            found.setdefault((record.row.store, record.row.canonical_key), []).append(record.row.key)
        merged: dict[str, tuple[str, ...]] = {}
        for (_, canonical), keys in found.items():
            if len(keys) > 1:
                merged[canonical] = (*merged.get(canonical, ()), *keys)
        return merged

    def find(self, key: str) -> tuple[SessionRecord, ...]:
        """Return the rows that ``key`` means in any spelling; those stored in this very spelling come first."""
        canonical = read_key(key).normalised
        found = [record for record in self.records if key == record.row.key or canonical == record.row.canonical_key]
        return tuple(sorted(found, key=lambda record: record.row.key != key))

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[SessionRecord]:
        return iter(self.records)

    def __getitem__(self, index: int) -> SessionRecord:
        return self.records[index]

    def _repr_html_(self) -> str:
        head = ("session", "key", "agent", "kind", "channel", "context", "size", "last activity")
        body = (
            (
                record.row.name,
                record.row.key,
                record.row.agent_id,
                record.row.kind.value,
                record.row.channel,
                context_text(record.row),
                size_text(record.facts.bytes if record.facts else None),
                age_text(record.row.updated_at, self.now_ms),
            )
            for record in self.records[:_SHOWN_IN_NOTEBOOK]
        )
        shown = min(len(self.records), _SHOWN_IN_NOTEBOOK)
        return html_table(f"{shown:,} of {len(self.records):,} sessions", head, body, self.damage)


class FileTable(msgspec.Struct, frozen=True, kw_only=True):
    """Files below the sessions directories, each in exactly one class.

    Attributes:
        files: the files, by path.
    """

    files: tuple[ClassifiedFile, ...]

    @property
    def bytes(self) -> int:
        """Size of all of them."""
        return sum(file.bytes for file in self.files)

    def totals(self) -> dict[str, tuple[int, int]]:
        """Return class → (files, bytes), largest first."""
        found: dict[str, tuple[int, int]] = {}
        for file in self.files:
            count, size = found.get(file.file_class.value, (0, 0))
            found[file.file_class.value] = (count + 1, size + file.bytes)
        return dict(sorted(found.items(), key=lambda item: -item[1][1]))

    def _repr_html_(self) -> str:
        body = ((name, f"{count:,}", size_text(size)) for name, (count, size) in self.totals().items())
        return html_table(f"{len(self.files):,} files, {size_text(self.bytes)}", ("class", "files", "size"), body)


def html_table(caption: str, head: Sequence[str], body: Iterator[tuple[str, ...]], notes: Sequence[str] = ()) -> str:
    """Return an HTML table; every text is escaped."""
    titles = "".join(f"<th>{escape(text)}</th>" for text in head)
    rows = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in body)
    told = "".join(f"<p>{escape(note)}</p>" for note in notes)
    caption = f"<caption>{escape(caption)}</caption>"
    return f"{told}<table>{caption}<thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>"


def context_text(row: SessionRow) -> str:
    """Return how full the context is: ``74 %``, ``~62 %`` when the store does not vouch for it, ``–`` when unknown."""
    share = row.context_share
    if share is None:
        return "–"
    return f"{'' if row.total_tokens_fresh else '~'}{share * _PERCENT:.0f} %"


def size_text(count: float | None) -> str:
    """Return a size as ``41 MB`` (powers of 1024); ``–`` when unknown."""
    if count is None:
        return "–"
    size = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if size < _KIB or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"  # noqa: PLR2004 - two digits are enough
        size /= _KIB
    raise AssertionError("unreachable")


def age_text(then_ms: float | None, now_ms: int) -> str:
    """Return how long ago a time was, as ``now``, ``18 s``, ``6 min``, ``4 h``, ``2 d``; ``–`` when unknown."""
    if not then_ms:
        return "–"
    seconds = int((now_ms - then_ms) // 1000)
    if seconds < 0:
        return "in the future"
    for limit, size, unit in _AGES:
        if seconds < limit:
            return "now" if not unit else f"{seconds // size} {unit}"
    return f"{seconds // 86_400} d"


def time_text(then_ms: float | None) -> str:
    """Return a time in UTC to the second; ``–`` when unknown."""
    if not then_ms:
        return "–"
    return datetime.fromtimestamp(then_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


_AGES = ((5, 1, ""), (60, 1, "s"), (3600, 60, "min"), (86_400, 3600, "h"))
