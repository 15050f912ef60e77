"""``strandline sessions``: the rows of the stores, as the real program lists them (spec 2026.5 §13.1)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from strandline.cli.output import complain, put, put_json, shorten, table
from strandline.cli.result import NOTHING_MATCHED, exit_code, warn_of_settings
from strandline.errors import BadRequest
from strandline.filters import parse_filter
from strandline.gateway import open_gateway
from strandline.listing import DEFAULT_LIMIT, ListingRequest
from strandline.rows import TranscriptState
from strandline.tables import age_text, context_text, size_text

if TYPE_CHECKING:
    import argparse

    from strandline.cli.context import Context
    from strandline.gateway import Gateway
    from strandline.listing import ListedSession, SessionListing
    from strandline.tables import SessionRecord

_HEAD = ("session", "key", "agent", "kind", "context", "size", "active", "")
_RIGHT = frozenset({4, 5, 6})
_NAME_WIDTH, _KEY_WIDTH = 32, 44
_LIMIT = re.compile(r"[0-9]+", re.ASCII)


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:  # noqa: ANN401 - argparse names no public type
    """Add the command to the parser."""
    parser = commands.add_parser(
        "sessions",
        parents=[shared],
        allow_abbrev=False,
        help="list sessions, newest first",
        description="List sessions, newest first. With --json: the answer of `openclaw sessions --json`.",
    )
    parser.add_argument("--agent", metavar="ID", help="one configured agent (default: the default agent)")
    parser.add_argument("--all-agents", action="store_true", help="every configured agent")
    parser.add_argument("--store", metavar="PATH", help="one store file instead")
    parser.add_argument("--active", metavar="MIN", type=_minutes, help="only sessions changed within MIN minutes")
    parser.add_argument(
        "--limit", metavar="N|all", type=_limit, default=DEFAULT_LIMIT, help=f"at most N rows (default {DEFAULT_LIMIT})"
    )
    parser.add_argument(
        "--filter", metavar="F", default="", help='filter, as: agent:main kind:cron ctx>80%% size>1mb age>7d "text"'
    )


async def run(arguments: argparse.Namespace, context: Context) -> int:
    """Print the list and return the exit code."""
    request = ListingRequest(
        agent=arguments.agent or None,
        all_agents=arguments.all_agents,
        store=arguments.store,
        active_minutes=arguments.active,
        limit=arguments.limit,
        filter_text=arguments.filter,
    )
    parse_filter(request.filter_text)
    async with open_gateway(context.state, environment=context.environment, eager=False) as gateway:
        warn_of_settings(gateway.settings, context)
        listing = await gateway.listing(request)
        problems = () if listing.damage is UNSET else listing.damage
        if context.json:
            put_json(listing)
        else:
            await _print_table(gateway, listing, context)
            if not listing.sessions and not problems:
                context.tell("No sessions match.")
        for problem in problems:
            complain(problem.reason)
            if not context.json:
                await _tell_unindexed(gateway, problem.path, context)
        if request.filter_text and not listing.sessions and not problems:
            return NOTHING_MATCHED
        return exit_code(gateway.settings, unreadable=len(problems), readable=listing.count is not None)


async def _print_table(gateway: Gateway, listing: SessionListing, context: Context) -> None:
    records = await _listed_records(gateway, listing)
    # Two stores may hold the same key; both answers are in the same order, so the first goes to the first.
    known: dict[tuple[str, str], list[SessionRecord]] = {}
    for record in reversed(records):
        known.setdefault((record.row.agent_id, record.row.key), []).append(record)
    now_ms = context.environment.now_ms()
    rows: list[tuple[str, ...]] = []
    for session in listing.sessions:
        found = known.get((session.agent_id, session.key))
        rows.append(_cells(session, found.pop() if found else None, now_ms))
    if rows:
        put(table(_HEAD, rows, right=_RIGHT))
    for record in records:
        if record.row.dropped is not None:
            context.tell(f"OpenClaw drops the row {record.row.key!r}: {record.row.dropped}.")


async def _listed_records(gateway: Gateway, listing: SessionListing) -> list[SessionRecord]:
    """Return the rows of the stores that were listed, with their facts."""
    stores = () if listing.stores is UNSET else listing.stores
    paths = {listing.path, *(store.path for store in stores)}
    every = await gateway.sessions()
    return [record for record in every if gateway.view.stores[record.row.store].path in paths]


def _cells(session: ListedSession, record: SessionRecord | None, now_ms: int) -> tuple[str, ...]:
    facts = record.facts if record else None
    state = facts.state.value if facts and facts.state is not TranscriptState.PRESENT else ""
    return (
        shorten(record.row.name if record else session.key, _NAME_WIDTH),
        shorten(session.key, _KEY_WIDTH),
        session.agent_id,
        session.kind,
        context_text(record.row) if record else "–",
        size_text(facts.bytes if facts else None),
        age_text(session.updated_at, now_ms),
        state,
    )


async def _tell_unindexed(gateway: Gateway, path: str, context: Context) -> None:
    await gateway.sessions()
    for store in gateway.view.stores:
        if store.path == path and store.unindexed:
            context.tell(f"{store.unindexed} transcripts beside {path} belong to rows that cannot be read.")
            for name in store.recovery:
                context.tell(f"{name} may hold an earlier copy of the store.")


def _minutes(text: str) -> int:
    match = re.match(r"\s*([0-9]+)", text)
    if match is None or int(match[1]) <= 0:
        raise BadRequest("--active must be a positive number of minutes, for example --active 30.")
    return int(match[1])


def _limit(text: str) -> int | None:
    stated = text.strip().lower()
    if stated == "all":
        return None
    if not _LIMIT.fullmatch(stated) or int(stated) <= 0:
        raise BadRequest('--limit must be a positive integer or "all", for example --limit 25.')
    return int(stated)
