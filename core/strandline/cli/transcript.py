"""``strandline transcript``: what the model sees, how entries hang together, how a file is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from strandline.cli.output import put, put_json, shorten, table
from strandline.cli.result import DONE
from strandline.cli.show import print_findings
from strandline.gateway import open_gateway

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from strandline.cli.context import Context
    from strandline.gateway import Gateway
    from strandline.transcript_answers import CheckAnswer, ContextAnswer, TreeAnswer

_TEXT = 100


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:  # noqa: ANN401 - argparse names no public type
    """Add the command to the parser."""
    parser = commands.add_parser(
        "transcript",
        parents=[shared],
        allow_abbrev=False,
        help="one transcript: its context, its tree, its health",
        description="Look at one transcript, named by its file or by a session key. Nothing is written.",
    )
    parser.add_argument("question", choices=("context", "tree", "check"), help="what to answer")
    parser.add_argument("target", metavar="FILE|KEY", help="a transcript file, or a session key")
    parser.add_argument("--at", metavar="ENTRY", help="the context as seen from this entry (default: the last one)")
    parser.add_argument("--agent", metavar="ID", help="the agent, when several have a session of that key")


async def run(arguments: argparse.Namespace, context: Context) -> int:
    """Print the answer and return the exit code."""
    async with open_gateway(context.state, environment=context.environment, eager=False) as gateway:
        match arguments.question:
            case "context":
                seen = await gateway.context(arguments.target, at=arguments.at, agent=arguments.agent)
                _put(seen, gateway) if context.json else _print_context(seen)
            case "tree":
                tree = await gateway.tree(arguments.target, agent=arguments.agent)
                _put(tree, gateway) if context.json else _print_tree(tree)
            case _:
                checked = await gateway.check(arguments.target, agent=arguments.agent)
                _put(checked, gateway) if context.json else _print_check(checked)
        return DONE


def _put(answer: ContextAnswer | TreeAnswer | CheckAnswer, gateway: Gateway) -> None:
    remote = gateway.settings.gateway.is_remote
    put_json(msgspec.structs.replace(answer, authority="remote") if remote else answer)


def _print_context(answer: ContextAnswer) -> None:
    model = f"{answer.model.provider}/{answer.model.model_id}" if answer.model else "no model chosen"
    put(f"{len(answer.messages):,} messages, about {answer.context_tokens.tokens:,} tokens, {model}\n\n")
    rows = [
        (f"{at + 1}", f"{tokens:,}", shorten(" ".join(bytes(message).decode("utf-8", "replace").split()), _TEXT))
        for at, (message, tokens) in enumerate(zip(answer.messages, answer.per_message_tokens, strict=True))
    ]
    put(table(("", "tokens", "message"), rows, right=frozenset({0, 1})))


def _print_tree(answer: TreeAnswer) -> None:
    active = set(answer.branch_ids)
    put(f"{answer.entry_count:,} entries, {len(answer.branch_ids):,} on the active path\n\n")
    levels = _levels([row[0] for row in answer.tree_flat])
    for level, (_, entry_id, kind, label) in zip(levels, answer.tree_flat, strict=True):
        mark = "●" if entry_id in active else "○"
        put(f"{'  ' * level}{mark} {entry_id or '–'}  {kind}{f'  “{label}”' if label else ''}\n")


def _levels(depths: Sequence[int]) -> list[int]:
    """Return how far each entry is indented: a talk is a chain, so by the branches above it, not by its depth."""
    parents: list[int | None] = []
    above: list[int] = []
    for place, depth in enumerate(depths):
        del above[depth:]
        parents.append(above[-1] if above else None)
        above.append(place)
    children = Counter(parents)
    levels: list[int] = []
    for parent in parents:
        levels.append(0 if parent is None else levels[parent] + (children[parent] > 1))
    return levels


def _print_check(answer: CheckAnswer) -> None:
    put(f"{answer.path}\n{answer.entries:,} entries, {answer.active:,} on the active path, ")
    put(f"{answer.side_entries:,} on side branches, format version {answer.version}\n")
    if not answer.findings:
        put("Every byte was read, and nothing is odd.\n")
    print_findings(answer.findings)
