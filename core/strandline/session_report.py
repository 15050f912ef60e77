"""What ``show`` answers about one session, as records that become its JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from strandline.compaction.thresholds import Threshold
from strandline.ecmascript import JsonValue, date_ms
from strandline.findings import Finding
from strandline.tokens.readings import Reading
from strandline.tokens.session_cost import SessionCost
from strandline.transcript.places import Damage, Oddity

if TYPE_CHECKING:
    from strandline.state.file_classes import ClassifiedFile
    from strandline.transcript.facts import Words


class ReportFile(msgspec.Struct, frozen=True, kw_only=True, rename={"file_class": "class", "mtime_ms": "mtimeMs"}):
    """A file that belongs to a session."""

    path: str
    file_class: str
    standing: str
    bytes: int
    mtime_ms: int

    @classmethod
    def of(cls, file: ClassifiedFile) -> ReportFile:
        """Report a file that was classified."""
        return cls(
            path=file.path,
            file_class=file.file_class.value,
            standing=file.standing.value,
            bytes=file.bytes,
            mtime_ms=file.mtime_ms,
        )


class SpokenWords(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Words at an end of a talk; ``at`` is ms since the epoch."""

    role: str
    text: str
    at: int | None

    @classmethod
    def of(cls, words: Words | None) -> SpokenWords | None:
        """Report words of a transcript; ``None`` when there were none."""
        return None if words is None else cls(role=words.role, text=words.text, at=date_ms(words.timestamp))


class TranscriptReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a transcript looks like.

    Attributes:
        path: the file.
        bytes: its size.
        version: version of its format; ``None`` when it has no header.
        entries: entries in all; ``None`` when only the ends were read.
        side_entries: entries that lie on side branches.
        compactions: compactions on the active path.
        leaf: id of the last entry.
        first_words: the first words of a person.
        last_words: the last words of a person or a model.
        damage: stretches that belong to no entry.
        oddities: what is odd although it reads well.
    """

    path: str
    bytes: int
    version: int | float | None
    entries: int | None
    side_entries: int | None
    compactions: int | None
    leaf: str | None
    first_words: SpokenWords | None
    last_words: SpokenWords | None
    damage: tuple[Damage, ...]
    oddities: tuple[Oddity, ...]


class SessionReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What ``show`` answers.

    Attributes:
        key: the key as stored.
        store_path: the store that holds it.
        entry: the row as stored.
        normalised: the row as OpenClaw holds it after loading; ``None`` when it drops the row.
        readings: every reading of how full the context is, the chosen one marked.
        thresholds: where flush and compaction lie, each with its arithmetic.
        files: files that belong to the session.
        findings: what is not as it should be.
        gauge: the outcome in one sentence.
        window: the run budget and where it comes from, in a sentence.
        transcript: what the transcript looks like; ``None`` when there is none to read.
        cost: what the session cost, earlier conversations of its line included, each call once.
        authority: ``remote`` when the gateway in use works with another machine's files; else absent.
    """

    key: str
    store_path: str
    entry: JsonValue
    normalised: JsonValue
    readings: tuple[Reading, ...]
    thresholds: tuple[Threshold, ...]
    files: tuple[ReportFile, ...]
    findings: tuple[Finding, ...]
    gauge: str
    window: str
    transcript: TranscriptReport | None
    cost: SessionCost
    authority: str | UnsetType = UNSET
