"""``strandline status``: one look at a state directory (spec 2026.5 §13.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from strandline.cli.output import complain, put, put_json, table
from strandline.cli.result import exit_code, warn_of_settings
from strandline.gateway import open_gateway
from strandline.rows import StoreState
from strandline.tables import age_text, size_text

if TYPE_CHECKING:
    import argparse

    from strandline.cli.context import Context
    from strandline.gateway import Gateway
    from strandline.listing import StatusReport


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:  # noqa: ANN401 - argparse names no public type
    """Add the command to the parser."""
    commands.add_parser(
        "status",
        parents=[shared],
        allow_abbrev=False,
        help="what is in the state directory, and what takes the space",
        description="One look at a state directory. With --json: the sessions block of `openclaw status --json`.",
    )


async def run(_arguments: argparse.Namespace, context: Context) -> int:
    """Print the status and return the exit code."""
    async with open_gateway(context.state, environment=context.environment, eager=False) as gateway:
        warn_of_settings(gateway.settings, context)
        report = await gateway.status()
        problems = () if report.damage is UNSET else report.damage
        if context.json:
            put_json(report)
        else:
            await _print(gateway, report, context)
        for problem in problems:
            complain(problem.reason)
        return exit_code(gateway.settings, unreadable=len(problems), readable=report.sessions.count is not None)


async def _print(gateway: Gateway, report: StatusReport, context: Context) -> None:
    files = await gateway.files()
    view, now_ms = gateway.view, context.environment.now_ms()
    newer = {store.agent_id: f"{store.row_count:,}, newer" for store in view.stores if store.state is StoreState.NEWER}
    put(f"{view.title} ({view.found_by}), observing\n")
    put(f"maintenance: {view.maintenance}\n\n")
    put(
        table(
            ("agent", "sessions", "last active", "store"),
            [
                (
                    agent.agent_id,
                    f"{agent.count:,}" if agent.count is not None else newer.get(agent.agent_id, "unreadable"),
                    age_text(agent.recent[0].updated_at if agent.recent else None, now_ms),
                    agent.path,
                )
                for agent in report.sessions.by_agent
            ],
            right=frozenset({1, 2}),
        )
    )
    put("\n")
    put(
        table(
            ("what", "files", "size"),
            [
                *((name, f"{count:,}", size_text(size)) for name, (count, size) in files.totals().items()),
                ("all", f"{len(files.files):,}", size_text(files.bytes)),
            ],
            right=frozenset({1, 2}),
        )
    )
    for store in view.stores:
        if store.unindexed and store.state is StoreState.DAMAGED:
            context.tell(f"{store.unindexed} transcripts beside {store.path} belong to rows that cannot be read.")
            for name in store.recovery:
                context.tell(f"{name} may hold an earlier copy of the store.")
