"""Findings about what stands in a transcript: damage, oddities, replies that were meant to stay silent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.findings import Finding
from strandline.transcript.places import DamageKind, OddityKind
from strandline.transcript.silence import TOKENS, leaked_token

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from strandline.errors import EnvironmentFault
    from strandline.transcript.facts import Words
    from strandline.transcript.places import Damage, Oddity
    from strandline.transcript.tree import Loop, Tree

_CALM = frozenset({OddityKind.BYTE_ORDER_MARK, OddityKind.CARRIAGE_RETURNS, OddityKind.EMPTY})
_SHOWN = 20


def damage_findings(damage: Iterable[Damage], where: str) -> Iterator[Finding]:
    """Yield one finding for all broken places of a transcript, and one for an unfinished last record."""
    broken = [each for each in damage if each.kind is not DamageKind.UNFINISHED]
    unfinished = next((each for each in damage if each.kind is DamageKind.UNFINISHED), None)
    if broken:
        yield Finding(
            code="transcript-damaged",
            severity="error",
            what=(
                "A stretch of this transcript belongs to no entry; everything else was read."
                if len(broken) == 1
                else f"{len(broken):,} stretches of this transcript belong to no entry; everything else was read."
            ),
            where=where,
            evidence=tuple(f"{_place(each)}: {each.reason}" for each in broken[:_SHOWN]),
            fix="OpenClaw skips these lines and drops them at its next repair; copy the file first if they matter.",
        )
    if unfinished is not None:
        yield Finding(
            code="transcript-unfinished",
            severity="info",
            what="The last record is unfinished: normal while the file is written, torn when nothing writes it.",
            where=where,
            evidence=(f"{_place(unfinished)}: {unfinished.reason}",),
        )


def oddity_findings(oddities: Iterable[Oddity], where: str) -> Iterator[Finding]:
    """Yield a finding for each kind of thing that is odd although it reads well, with the places where it is."""
    by_kind: dict[OddityKind, list[Oddity]] = {}
    for oddity in oddities:
        by_kind.setdefault(oddity.kind, []).append(oddity)
    for kind, found in by_kind.items():
        yield Finding(
            code=f"transcript-{kind.name.lower().replace('_', '-')}",
            severity="info" if kind in _CALM else "warning",
            what=found[0].note if len(found) == 1 else f"{found[0].note} It is so in {len(found):,} places.",
            where=where,
            evidence=tuple(
                f"line {each.line}, byte {each.offset:,}" for each in found[:_SHOWN] if each.line is not None
            ),
        )


def tree_findings(tree: Tree, where: str) -> Iterator[Finding]:
    """Yield what is wrong with how the entries hang together."""
    for loop in tree.loops:
        yield Finding(
            code="transcript-loop",
            severity="error",
            what="Entries of this transcript name each other as parents; the loop was cut, every entry is shown once.",
            where=where,
            evidence=(_ring(loop),),
        )
    if tree.missing:
        yield Finding(
            code="transcript-parent-missing",
            severity="warning",
            what=(
                "An entry names a parent that is not in the file; it is a root of its own."
                if len(tree.missing) == 1
                else f"{len(tree.missing):,} entries name a parent that is not in the file; each is a root of its own."
            ),
            where=where,
            evidence=tuple(each.parent_id for each in tree.missing[:_SHOWN]),
        )
    if tree.duplicates:
        yield Finding(
            code="transcript-id-repeated",
            severity="warning",
            what=(
                "An id stands at several entries; the last one counts."
                if len(tree.duplicates) == 1
                else f"{len(tree.duplicates):,} ids stand at several entries; the last one of each counts."
            ),
            where=where,
            evidence=tuple(each.id for each in tree.duplicates[:_SHOWN]),
        )


def silence_finding(words: Words | None, where: str) -> Finding | None:
    """Return a finding when the last reply shows people a token that was meant to keep it silent."""
    if words is None or words.role != "assistant":
        return None
    token = leaked_token(words.text)
    if token is None:
        return None
    return Finding(
        code="silent-reply-leaks",
        severity="warning",
        what=(
            f"The last reply holds {token} together with other text, so people read the token."
            if token in TOKENS
            else f"The last reply is {token}, the beginning of a token that keeps replies silent; people read it."
        ),
        where=where,
        evidence=(words.text[:200],),
        fix="Tell the agent to answer with the bare token, or with text alone.",
    )


def unreadable_finding(error: EnvironmentFault, path: Path, where: str) -> Finding:
    """Return the finding that a transcript cannot be read."""
    return Finding(code="transcript-unreadable", severity="error", what=str(error), where=where, evidence=(str(path),))


def _ring(loop: Loop) -> str:
    """Return the ids of a loop, each followed by its parent, long ones cut in the middle."""
    ids = loop.ids if len(loop.ids) <= _SHOWN else (*loop.ids[: _SHOWN - 1], "…")
    return " → ".join((*ids, loop.ids[0]))


def _place(damage: Damage) -> str:
    line = "" if damage.line is None else f"line {damage.line}, "
    return f"{line}byte {damage.offset:,}, {damage.length:,} bytes"
