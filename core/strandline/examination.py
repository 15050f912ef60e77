"""One session looked at closely, and a whole directory looked over: what `show`, `doctor` and `transcript` answer.

Everything here blocks on bounded reads; the gateway runs it in threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import UNSET

from strandline.compaction.circumstances import circumstances_of
from strandline.compaction.early import CompactionHistory, early_compaction
from strandline.compaction.memory_flush import FlushRecord, flush_finding, flush_standing, flush_tokens
from strandline.compaction.thresholds import thresholds
from strandline.context.build import build_context
from strandline.doctor.sessions import counter_finding, row_findings
from strandline.doctor.transcripts import (
    damage_findings,
    oddity_findings,
    silence_finding,
    tree_findings,
    unreadable_finding,
)
from strandline.ecmascript import JsonValue, date_ms, is_number
from strandline.errors import DamagedData, EnvironmentFault, Refused
from strandline.rows import SessionRow, TranscriptFacts
from strandline.session_report import ReportFile, SessionReport, SpokenWords, TranscriptReport
from strandline.settings.model_ids import ModelRef
from strandline.state import fsys
from strandline.state.file_classes import FileClass, parse_archive
from strandline.store.entry import loads_lenient
from strandline.store.location import locate_transcript
from strandline.store.normalise import Dropped, normalise_row
from strandline.tokens.evidence import StoreCounts, TranscriptTail
from strandline.tokens.readings import Gauge, read_gauge
from strandline.tokens.selection import ListedModels, StoredModel
from strandline.tokens.session_cost import session_cost
from strandline.tokens.transcript_tail import tail_of_ends, tail_of_path
from strandline.tokens.usage import normalise_usage
from strandline.tokens.windows import Windows, resolve_windows
from strandline.transcript.ends import Ends, read_ends
from strandline.transcript.tree import Tree, build_tree
from strandline.transcript.whole_file import WHOLE_FILE_BYTES, WholeFile, read_transcript

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strandline.findings import Finding
    from strandline.settings.effective import Settings
    from strandline.state.file_classes import ClassifiedFile
    from strandline.state.fsys import FileEntry
    from strandline.tokens.usage import Usage

FLUSH_PROMPT = "Pre-compaction memory flush"
SMALL_BYTES = 32 * 1024
_SUCCESSION_MS = 2_000
# A key is looked for this far before its value; escaped, a character takes two times ``\\uXXXX``.
_MOST_SPACE = 1024
_BYTES_OF_CHARACTER = 12
_AFTER_ID = (".", "-topic-")
_HOLD_CALLS = (FileClass.TRANSCRIPT, FileClass.ARCHIVE, FileClass.CHECKPOINT)

CatalogueWindow: TypeAlias = Callable[[ModelRef], int | None]


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """The session that is looked at.

    Attributes:
        row: its row.
        facts: what is known of its transcript's place.
        store_path: the store that holds the row.
        transcript: the transcript's file; ``None`` when there is none that may be opened.
    """

    row: SessionRow
    facts: TranscriptFacts | None
    store_path: str
    transcript: Path | None


def known_window(reference: ModelRef) -> int | None:
    """Return the context window that the offline catalogue knows for a model, in tokens."""
    from strandline.tokens.catalogue import look_up  # noqa: PLC0415 - loads a catalogue that few questions need

    entry = look_up(reference)
    return entry.window if entry is not None else None


def known_price(reference: ModelRef, usage: Usage, at_ms: float | None) -> float | None:
    """Return what the offline catalogue reckons for a call, in US dollars."""
    from strandline.tokens.catalogue import price_call  # noqa: PLC0415 - see known_window

    return price_call(reference, usage, at_ms)


def subject_of(
    row: SessionRow,
    facts: TranscriptFacts | None,
    store_path: Path,
    listing: Mapping[str, FileEntry],
) -> Subject:
    """Return the session of a row together with the file its transcript is, if that may be opened."""
    transcript = None
    if facts is not None and facts.name is not None:
        place = locate_transcript(row.session_id, row.session_file, store_path.parent, listing)
        named = place.path is not None and place.path.name == facts.name and not place.outside
        transcript = place.path if named else store_path.parent / facts.name
    return Subject(row=row, facts=facts, store_path=str(store_path), transcript=transcript)


def stored_row(subject: Subject) -> JsonValue:
    """Return a row as stored, read from its place in the store.

    Raises:
        EnvironmentFault: the store cannot be read.
        DamagedData: something else stands there now; the store has changed.
    """
    row, path = subject.row, Path(subject.store_path)
    with suppress(KeyError, TypeError, ValueError):
        if row.offset < 0:
            root: Any = loads_lenient(fsys.read_bytes(path)[0].removeprefix(b"\xef\xbb\xbf"))
            stored: JsonValue = root[row.key]
            return stored
        start = max(0, row.offset - _MOST_SPACE - _BYTES_OF_CHARACTER * len(row.key))
        found = fsys.read_range(path, start, row.offset - start + row.bytes)
        before, value = found[: row.offset - start], found[row.offset - start :]
        if len(value) == row.bytes and _ends_with_key(before, row.key):
            return loads_lenient(value)
    raise DamagedData(f"The store {path} changed while it was read; ask again.")


def _ends_with_key(before: bytes, key: str) -> bool:
    """Tell whether the bytes before a value are those of its key and a colon."""
    head = before.rstrip()
    if not head.endswith(b":"):
        return False
    head = head[:-1].rstrip()
    at = head.rfind(b'"', 0, -1)
    while at >= 0:
        with suppress(ValueError):
            if loads_lenient(head[at:]) == key:
                return True
        at = head.rfind(b'"', 0, at)
    return False


def examine(
    subject: Subject,
    settings: Settings,
    files: tuple[ClassifiedFile, ...],
    catalogue: CatalogueWindow,
    extra: tuple[Finding, ...] = (),
) -> SessionReport:
    """Look at one session closely.

    Args:
        subject: the session.
        settings: the effective settings.
        files: every file of its sessions directory.
        catalogue: the window that the offline catalogue knows for a model.
        extra: findings that others offer about it, as of locks and runs.
    """
    stored = stored_row(subject)
    loaded = normalise_row(stored)
    counts = StoreCounts.of(stored) if isinstance(stored, dict) else StoreCounts()
    reading = _Reading.of(subject)
    reference = model_of(subject.row, settings)
    windows = windows_of(subject.row, settings, reference, catalogue)
    gauge = read_gauge(counts, reading.tail, windows.run.tokens)
    circumstances = circumstances_of(reference, settings.agents)
    listed = thresholds(settings.compaction, windows, circumstances)
    early = early_compaction(
        settings.compaction, windows, circumstances, where=subject.row.key, history=reading.history
    )
    standing = flush_standing(
        FlushRecord.of(stored if isinstance(stored, dict) else {}),
        listed,
        flush_tokens(counts, reading.tail.last_usage if reading.tail else None),
        transcript_bytes=subject.facts.bytes if subject.facts else None,
        flush_turns_ms=reading.flush_turns_ms,
    )
    findings = (
        *row_findings(subject.row, subject.facts),
        *reading.findings(subject.row.key),
        *(found for found in (counter_finding(gauge, subject.row.key), early) if found is not None),
        *(found for found in (flush_finding(standing, subject.row.key),) if found is not None),
        *extra,
    )
    return SessionReport(
        key=subject.row.key,
        store_path=subject.store_path,
        entry=stored,
        normalised=None if isinstance(loaded, Dropped) else loaded,
        readings=gauge.readings,
        thresholds=listed,
        files=tuple(ReportFile.of(file) for file in files if belongs(file, subject)),
        findings=findings,
        gauge=gauge.words,
        window=windows.run.why if windows.disagreement is None else f"{windows.run.why} {windows.disagreement}",
        transcript=reading.report(),
        cost=session_cost(_call_files(subject, stored, files, reading.began_ms), known_price),
        authority="remote" if settings.gateway.is_remote else UNSET,
    )


def look_over(subject: Subject, settings: Settings, catalogue: CatalogueWindow) -> Iterator[Finding]:
    """Yield the findings about a session that a bounded look at both ends of its transcript shows."""
    yield from row_findings(subject.row, subject.facts)
    if subject.transcript is None:
        return
    try:
        ends = read_ends(subject.transcript)
        small = read_transcript(subject.transcript) if ends.identity.size <= SMALL_BYTES else None
    except EnvironmentFault as error:
        yield unreadable_finding(error, subject.transcript, subject.row.key)
        return
    if small is None:
        yield from ends_findings(ends, subject.row.key)
    else:
        yield from whole_findings(small, build_tree(small), ends, subject.row.key)
    tail = tail_of_ends(ends.tail) if ends.tail.decided else None
    counts = _listed_counts(subject.row)
    windows = windows_of(subject.row, settings, model_of(subject.row, settings), catalogue)
    found = counter_finding(read_gauge(counts, tail, windows.run.tokens), subject.row.key)
    if found is not None:
        yield found


def ends_findings(ends: Ends, where: str) -> Iterator[Finding]:
    """Yield the findings that both ends of a transcript show."""
    seen = {each.offset: each for each in (*ends.head.damage, *ends.tail.damage)}
    yield from damage_findings(seen.values(), where)
    yield from oddity_findings(ends.head.oddities, where)
    found = silence_finding(ends.tail.last_words, where)
    if found is not None:
        yield found


def whole_findings(whole: WholeFile, tree: Tree, ends: Ends, where: str) -> Iterator[Finding]:
    """Yield the findings that a transcript shows when it was read as a whole."""
    yield from damage_findings(whole.damage, where)
    yield from oddity_findings(whole.oddities, where)
    yield from tree_findings(tree, where)
    found = silence_finding(ends.tail.last_words, where)
    if found is not None:
        yield found


def gauge_of(subject: Subject, settings: Settings, catalogue: CatalogueWindow) -> Gauge:
    """Return how full a session is, from its row and the end of its transcript."""
    tail = None
    if subject.transcript is not None:
        ends = read_ends(subject.transcript)
        tail = tail_of_ends(ends.tail) if ends.tail.decided else None
    windows = windows_of(subject.row, settings, model_of(subject.row, settings), catalogue)
    return read_gauge(_listed_counts(subject.row), tail, windows.run.tokens)


def windows_of(row: SessionRow, settings: Settings, reference: ModelRef, catalogue: CatalogueWindow) -> Windows:
    """Return both context windows of a session."""
    stated = row.listed.get("contextTokens")
    ran = row.model is not None and reference.model == row.model
    last_run = float(stated) if is_number(stated) and stated > 0 and (ran or row.model is None) else None
    known = catalogue(reference) if last_run is None else None
    return resolve_windows(settings.agents, reference, last_run=last_run, catalogue=known)


def belongs(file: ClassifiedFile, subject: Subject) -> bool:
    """Tell whether a file belongs to a session: its transcript, copies, sidecars, archives and lock."""
    if not _is_beside(file, subject):
        return False
    name = file.path.rsplit("/", 1)[-1]
    own = subject.facts.name if subject.facts else None
    if name in subject.row.checkpoints or name == own:
        return True
    stems = [stem for stem in (subject.row.session_id, own.removesuffix(".jsonl") if own else None) if stem]
    return name.startswith(tuple(f"{stem}{mark}" for stem in stems for mark in _AFTER_ID))


def _is_beside(file: ClassifiedFile, subject: Subject) -> bool:
    """Tell whether a file, named from the state directory on, lies beside the session's store."""
    own, folder = Path(subject.store_path).parent.as_posix(), file.path.rpartition("/")[0]
    return own == folder or own.endswith(f"/{folder}")


def _call_files(
    subject: Subject, stored: JsonValue, files: tuple[ClassifiedFile, ...], began_ms: int | None
) -> tuple[Path, ...]:
    """Return the files that may hold calls of a session's line, those first whose calls count first.

    Earlier conversations are those whose ids the row lists. Where it lists none, the one conversation that was put
    aside at the moment when this one began is taken for its predecessor.
    """
    listed = stored.get("usageFamilySessionIds") if isinstance(stored, dict) else None
    family = [each for each in listed if isinstance(each, str) and each] if isinstance(listed, list) else []
    stems = tuple(f"{each}{mark}" for each in family for mark in _AFTER_ID)
    beside = {
        file.path.rpartition("/")[2]: file
        for file in files
        if file.file_class in _HOLD_CALLS and not file.path.endswith(".zst") and _is_beside(file, subject)
    }
    chosen = {name for name, file in beside.items() if name.startswith(stems) or belongs(file, subject)}
    before = [name for name in beside.keys() - chosen if began_ms is not None and _put_aside_at(name, began_ms)]
    if not stems and len(before) == 1:
        chosen.update(before)
    folder, own = Path(subject.store_path).parent, subject.transcript
    ordered = sorted(chosen, key=lambda name: (_HOLD_CALLS.index(beside[name].file_class), name))
    return (*((own,) if own is not None and own.name not in chosen else ()), *(folder / name for name in ordered))


def _put_aside_at(name: str, moment_ms: int) -> bool:
    archive = parse_archive(name)
    if archive is None or archive.reason == "bak" or archive.archived_ms is None:
        return False
    return abs(archive.archived_ms - moment_ms) <= _SUCCESSION_MS


class _Reading:
    """A transcript as far as it was read: as a whole up to a bound, else from both ends."""

    def __init__(
        self, path: Path | None, ends: Ends | None, whole: WholeFile | None, fault: EnvironmentFault | None = None
    ) -> None:
        self._path = path
        self._fault = fault
        self._ends = ends
        self._whole = whole
        self._tree: Tree | None = build_tree(whole) if whole is not None else None
        self.tail: TranscriptTail | None = None
        self.history: CompactionHistory | None = None
        self.flush_turns_ms: tuple[float, ...] = ()
        if whole is not None and self._tree is not None and ends is not None:
            estimate = build_context(whole).estimates()[1].tokens
            self.tail = tail_of_path(whole, self._tree.path, estimate=estimate, size=ends.identity.size)
            self.history, self.flush_turns_ms = _history(whole, self._tree.path)
        elif ends is not None and ends.tail.decided:
            self.tail = tail_of_ends(ends.tail)

    @classmethod
    def of(cls, subject: Subject) -> _Reading:
        if subject.transcript is None:
            return cls(None, None, None)
        try:
            ends = read_ends(subject.transcript)
        except EnvironmentFault as error:
            return cls(subject.transcript, None, None, error)
        whole = None
        if ends.identity.size <= WHOLE_FILE_BYTES:
            # It may have grown, or gone, since its ends were read; those still hold.
            with suppress(EnvironmentFault, Refused):
                whole = read_transcript(subject.transcript)
        return cls(subject.transcript, ends, whole)

    @property
    def began_ms(self) -> int | None:
        """When the transcript says that it began."""
        header = self._ends.head.header if self._ends is not None else None
        return date_ms(header.header.timestamp) if header is not None else None

    def findings(self, where: str) -> Iterator[Finding]:
        if self._path is not None and self._fault is not None:
            yield unreadable_finding(self._fault, self._path, where)
        if self._ends is None:
            return
        if self._whole is None or self._tree is None:
            yield from ends_findings(self._ends, where)
            return
        yield from whole_findings(self._whole, self._tree, self._ends, where)

    def report(self) -> TranscriptReport | None:
        ends, whole, tree = self._ends, self._whole, self._tree
        if ends is None or self._path is None:
            return None
        head, tail = ends.head, ends.tail
        header = whole.header if whole is not None else head.header
        return TranscriptReport(
            path=str(self._path),
            bytes=ends.identity.size,
            version=None if header is None else (header.header.version or 1),
            entries=len(whole) if whole is not None else None,
            side_entries=tree.side_entries if tree is not None else None,
            compactions=self.history.compactions if self.history is not None else None,
            leaf=tail.leaf.id if tail.leaf is not None else None,
            first_words=SpokenWords.of(head.first_words),
            last_words=SpokenWords.of(tail.last_words),
            damage=whole.damage if whole is not None else (*head.damage, *tail.damage),
            oddities=whole.oddities if whole is not None else head.oddities,
        )


def _history(index: WholeFile, path: tuple[int, ...]) -> tuple[CompactionHistory, tuple[float, ...]]:
    compactions = questions = asked = 0
    fresh: int | None = None
    after = False
    flushes: list[float] = []
    for position in path:
        entry = index.entry(position)
        if entry.type == "compaction":
            compactions, questions, after = compactions + 1, asked, True
            flushes.clear()
        elif entry.role == "user":
            asked += 1
            at = date_ms(entry.timestamp)
            if at is not None and FLUSH_PROMPT.encode() in index.raw(position)[:4096]:
                flushes.append(at)
        elif entry.role == "assistant" and after:
            stored = index.usage(position)
            usage = normalise_usage(stored) if stored is not None else None
            if usage is not None and usage.context:
                fresh, after = max(fresh or 0, usage.context), False
    return CompactionHistory(compactions=compactions, questions=questions, fresh_tokens=fresh), tuple(flushes)


def _listed_counts(row: SessionRow) -> StoreCounts:
    listed: dict[str, JsonValue] = dict(row.listed)
    listed["updatedAt"] = row.updated_at
    return StoreCounts.of(listed)


def model_of(row: SessionRow, settings: Settings) -> ModelRef:
    """Return provider and model that a session runs on, as the list names them."""
    stored = StoredModel(
        model=row.model,
        provider=row.model_provider,
        model_override=row.listed.get("modelOverride"),
        provider_override=row.listed.get("providerOverride"),
    )
    return ListedModels(settings.agents).model_of(row.key, stored)
