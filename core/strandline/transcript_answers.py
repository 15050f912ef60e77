"""What `strandline transcript` answers about one file: its context, its tree, its health.

The keys are those under which the real session manager's answers were recorded, so that both can be laid side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from strandline.context.build import ModelChoice, build_context
from strandline.doctor.transcripts import damage_findings, oddity_findings, tree_findings
from strandline.findings import Finding
from strandline.tokens.estimate import ContextEstimate
from strandline.transcript.places import Damage, Oddity
from strandline.transcript.tree import build_tree, walk
from strandline.transcript.whole_file import read_transcript

if TYPE_CHECKING:
    from pathlib import Path


class ContextAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the model sees (spec 2026.5 §6.3).

    Attributes:
        messages: the messages as JSON, in order.
        thinking_level: as last set.
        model: as last chosen or answered; ``None`` when nobody did.
        context_tokens: estimate of the whole, in tokens (§7).
        per_message_tokens: estimate of each message.
        authority: ``remote`` when another machine's files are those in use; else absent.
    """

    messages: tuple[msgspec.Raw, ...]
    thinking_level: str
    model: ModelChoice | None
    context_tokens: ContextEstimate
    per_message_tokens: tuple[int, ...]
    authority: str | UnsetType = UNSET


class TreeAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How the entries hang together (spec 2026.5 §6.2).

    Attributes:
        leaf_id: id of the last entry; ``None`` when there is none.
        session_id: id in the header; ``None`` without a header.
        session_name: last name given to the session.
        header: the header as stored.
        entry_count: entries in all.
        branch_ids: ids from the root to the leaf.
        tree_flat: (depth, id, type, label) of every entry, parents first.
        authority: ``remote`` when another machine's files are those in use; else absent.
    """

    leaf_id: str | None
    session_id: str | None
    session_name: str | None
    header: msgspec.Raw | None
    entry_count: int
    branch_ids: tuple[str | None, ...]
    tree_flat: tuple[tuple[int, str | None, str, str | None], ...]
    authority: str | UnsetType = UNSET


class CheckAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How a transcript is.

    Attributes:
        path: the file.
        entries: entries that were read.
        active: entries on the active path.
        side_entries: entries on side branches.
        version: version of the format.
        read_by_openclaw: whether the real program reads anything of it.
        damage: bytes that belong to no entry.
        oddities: what is odd although it reads well.
        findings: the same and more, in words.
        authority: ``remote`` when another machine's files are those in use; else absent.
    """

    path: str
    entries: int
    active: int
    side_entries: int
    version: int | float
    read_by_openclaw: bool
    damage: tuple[Damage, ...]
    oddities: tuple[Oddity, ...]
    findings: tuple[Finding, ...]
    authority: str | UnsetType = UNSET


def context_answer(path: Path, at: str | None) -> ContextAnswer:
    """Build what the model sees at an entry, or at the leaf.

    Raises:
        EnvironmentFault: the file cannot be read.
        Refused: it is too large to be read as a whole.
        NothingMatched: no entry has that id.
    """
    context = build_context(read_transcript(path), at)
    each, whole = context.estimates()
    return ContextAnswer(
        messages=tuple(message.stored for message in context.messages),
        thinking_level=context.thinking_level,
        model=context.model,
        context_tokens=whole,
        per_message_tokens=each,
    )


def tree_answer(path: Path) -> TreeAnswer:
    """Join the entries of a transcript; see ``context_answer`` for what it raises."""
    index = read_transcript(path)
    tree = build_tree(index)
    ids, types = index.ids, index.types
    header = index.header
    return TreeAnswer(
        leaf_id=None if tree.leaf is None else ids[tree.leaf],
        session_id=header.header.id if header is not None and isinstance(header.header.id, str) else None,
        session_name=tree.session_name,
        header=None if header is None else msgspec.Raw(header.stored),
        entry_count=len(index),
        branch_ids=tuple(ids[position] for position in tree.path),
        tree_flat=tuple(
            (depth, ids[position], types[position], tree.labels.get(ids[position] or ""))
            for depth, position in walk(tree)
        ),
    )


def check_answer(path: Path) -> CheckAnswer:
    """Say how a transcript is; see ``context_answer`` for what it raises."""
    index = read_transcript(path)
    tree = build_tree(index)
    where = str(path)
    return CheckAnswer(
        path=where,
        entries=len(index),
        active=len(tree.path),
        side_entries=tree.side_entries,
        version=index.version,
        read_by_openclaw=index.read_by_openclaw,
        damage=index.damage,
        oddities=index.oddities,
        findings=(
            *damage_findings(index.damage, where),
            *oddity_findings(index.oddities, where),
            *tree_findings(tree, where),
        ),
    )
