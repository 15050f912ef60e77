"""Findings about rows and the transcripts they point at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.findings import Finding
from strandline.rows import TranscriptState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from strandline.rows import SessionRow, TranscriptFacts
    from strandline.tokens.readings import Gauge

_CODES = {
    TranscriptState.MISSING: ("transcript-missing", "warning"),
    TranscriptState.POINTER_BROKEN: ("transcript-pointer-broken", "warning"),
    TranscriptState.MOVED: ("transcript-moved", "warning"),
    TranscriptState.OUTSIDE: ("transcript-outside", "warning"),
    TranscriptState.REFUSED_NAME: ("transcript-name-refused", "warning"),
    TranscriptState.ROW_NEWER: ("row-newer-than-file", "info"),
}
_FIXES = {
    TranscriptState.MISSING: "Nothing is lost by looking; OpenClaw starts a new transcript at the next message.",
    TranscriptState.POINTER_BROKEN: "Point sessionFile at the file that is there, or remove the field.",
    TranscriptState.MOVED: "Do not run `sessions cleanup --fix-missing`: it would drop this row; its file is here.",
    TranscriptState.OUTSIDE: "Check the path; Strandline neither opens nor removes what lies outside.",
    TranscriptState.REFUSED_NAME: "Give the session a name that is a file name on every system.",
    TranscriptState.ROW_NEWER: "",
}


def row_findings(row: SessionRow, facts: TranscriptFacts | None) -> Iterator[Finding]:
    """Yield what is wrong with a row by itself and with its transcript's place."""
    if row.dropped is not None:
        yield Finding(
            code="row-dropped",
            severity="warning",
            what=f"OpenClaw drops this row when it loads the store: {row.dropped}.",
            where=row.key,
            evidence=(f"{row.bytes:,} bytes of the store",),
            fix="Copy what you need from it: the row is gone with the next write of the store.",
        )
    if facts is not None and facts.state in _CODES:
        code, severity = _CODES[facts.state]
        yield Finding(
            code=code,
            severity="warning" if severity == "warning" else "info",
            what=facts.note,
            where=row.key,
            evidence=tuple(
                text
                for text in (
                    f"sessionFile: {row.session_file}" if row.session_file else "",
                    f"file here: {facts.name}" if facts.name else "",
                )
                if text
            ),
            fix=_FIXES[facts.state],
        )


def shared_findings(pairs: Iterable[tuple[SessionRow, TranscriptFacts | None]], where: str) -> Iterator[Finding]:
    """Yield a finding for each transcript that several rows of a store lead to."""
    by_name: dict[str, list[str]] = {}
    for row, facts in pairs:
        if facts is not None and facts.name is not None:
            by_name.setdefault(facts.name, []).append(row.key)
    for name, keys in by_name.items():
        if len(keys) > 1:
            yield Finding(
                code="transcript-shared",
                severity="warning",
                what=f"{len(keys)} rows lead to one transcript, {name}.",
                where=where,
                evidence=tuple(keys),
                fix="What one session says lands in the other's talk; start one of them anew (/new).",
            )


def counter_finding(gauge: Gauge, where: str) -> Finding | None:
    """Return a finding when the store vouches for a count that does not hold; ``None`` when it does not."""
    if not gauge.store_misleads and not gauge.oddities:
        return None
    return Finding(
        code="counter-misleads",
        severity="warning",
        what=f"The store's token count does not hold: {gauge.verdict}.",
        where=where,
        evidence=(gauge.words, *gauge.oddities),
        fix="Go by the transcript; the next turn writes a new count.",
    )
