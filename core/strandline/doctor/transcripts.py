"""Findings about what stands in a transcript: damage, oddities, replies that were meant to stay silent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.findings import Finding
from strandline.transcript.places import DamageKind, OddityKind
from strandline.transcript.silence import leaked_token

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from strandline.transcript.facts import Words
    from strandline.transcript.places import Damage, Oddity
    from strandline.transcript.tree import Tree

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
            what=f"{len(broken)} stretches of this transcript belong to no entry; everything else was read.",
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
    """Yield a finding for each thing that is odd although it reads well."""
    for oddity in oddities:
        yield Finding(
            code=f"transcript-{oddity.kind.name.lower().replace('_', '-')}",
            severity="info" if oddity.kind in _CALM else "warning",
            what=oddity.note,
            where=where,
            evidence=() if oddity.line is None else (f"line {oddity.line}, byte {oddity.offset:,}",),
        )


def tree_findings(tree: Tree, where: str) -> Iterator[Finding]:
    """Yield what is wrong with how the entries hang together."""
    for loop in tree.loops:
        yield Finding(
            code="transcript-loop",
            severity="error",
            what="Entries of this transcript name each other as parents; the loop was cut, every entry is shown once.",
            where=where,
            evidence=(str(loop),),
        )
    if tree.missing:
        yield Finding(
            code="transcript-parent-missing",
            severity="warning",
            what=f"{len(tree.missing)} entries name a parent that is not in the file; each is a root of its own.",
            where=where,
            evidence=tuple(each.parent_id for each in tree.missing[:_SHOWN]),
        )
    if tree.duplicates:
        yield Finding(
            code="transcript-id-repeated",
            severity="warning",
            what=f"{len(tree.duplicates)} ids stand at several entries; the last one counts.",
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
        what=f"The last reply holds {token} together with other text, so people read the token.",
        where=where,
        evidence=(words.text[:200],),
        fix="Tell the agent to answer with the bare token, or with text alone.",
    )


def _place(damage: Damage) -> str:
    line = "" if damage.line is None else f"line {damage.line}, "
    return f"{line}byte {damage.offset:,}, {damage.length:,} bytes"
