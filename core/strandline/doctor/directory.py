"""Findings about a state directory as a whole: its configuration, its stores, who really uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.findings import Finding
from strandline.rows import StoreState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from strandline.rows import DirectoryView, StoreView
    from strandline.settings.effective import Settings
    from strandline.state.discovery import StateDirectory


def directory_findings(directory: StateDirectory, settings: Settings, view: DirectoryView) -> Iterator[Finding]:
    """Yield what is worth knowing about configuration, stores and place."""
    yield from _of_settings(settings)
    if directory.legacy_sessions is not None:
        yield Finding(
            code="legacy-sessions-directory",
            severity="warning",
            what="A sessions directory of an old release lies beside the agents; OpenClaw ignores it.",
            where=str(directory.legacy_sessions),
            evidence=("OpenClaw reads sessions below agents/<agent>/sessions only.",),
            fix="Run `openclaw doctor`, which moves it into the default agent's sessions.",
        )
    if directory.path.name == ".clawdbot" or directory.config_path.name == "clawdbot.json":
        yield Finding(
            code="legacy-path",
            severity="info",
            what="The directory or its configuration still has the name of an old release.",
            where=str(directory.config_path),
            evidence=(f"found by: {directory.found_by}",),
            fix="Nothing breaks; `openclaw doctor` renames it.",
        )
    yield from (finding for store in view.stores if (finding := store_finding(store)) is not None)


def store_finding(store: StoreView) -> Finding | None:
    """Return what is wrong with, or odd about, a store; ``None`` when it reads well."""
    if store.damage is not None:
        kept = f"{store.unindexed} transcripts beside it" if store.unindexed else "no transcripts beside it"
        return Finding(
            code="store-unreadable",
            severity="error",
            what=store.damage,
            where=store.path,
            evidence=(f"{store.bytes:,} bytes", kept, *(f"possible copy: {name}" for name in store.recovery)),
            fix=(
                f"Look at {store.recovery[0]}, and put a readable copy in place before a gateway writes the store anew."
                if store.recovery
                else "Restore the file from a backup before a gateway writes it anew; OpenClaw reads it as empty."
            ),
        )
    if store.state is StoreState.NEWER:
        return Finding(
            code="store-newer",
            severity="info",
            what=store.remark or "The sessions of this agent live in the newer SQLite store.",
            where=store.path,
            evidence=(f"{store.row_count:,} sessions",),
        )
    if store.remark is not None:
        return Finding(
            code="store-odd",
            severity="warning",
            what=store.remark,
            where=store.path,
            evidence=(f"{store.row_count:,} rows were read here",),
            fix="Save the file without the mark while no gateway runs.",
        )
    if not store.configured and store.row_count:
        return Finding(
            code="store-not-in-use",
            severity="info",
            what=f"The store of agent {store.agent_id} is on disk, but the configuration does not name that agent.",
            where=store.path,
            evidence=(f"{store.row_count:,} rows",),
            fix="Add the agent to agents.list if it should be in use.",
        )
    return None


def collision_findings(collisions: Iterable[tuple[str, tuple[str, ...]]], where: str) -> Iterator[Finding]:
    """Yield a finding for each set of keys that OpenClaw takes for one."""
    for canonical, keys in collisions:
        yield Finding(
            code="keys-collide",
            severity="warning",
            what=f"{len(keys)} rows have keys that OpenClaw looks up under one spelling, {canonical}.",
            where=where,
            evidence=tuple(repr(key) for key in keys),
            fix="OpenClaw keeps the row changed last and deletes the others at its next write; copy what you need.",
        )


def _of_settings(settings: Settings) -> Iterator[Finding]:
    path = settings.document.path
    if settings.document.damage is not None:
        yield Finding(
            code="config-unreadable",
            severity="error",
            what=settings.document.damage,
            where=path,
            evidence=("defaults are shown in the place of every setting",),
            fix="Mend the file, or restore it from a backup.",
        )
    for problem in settings.problems:
        yield Finding(
            code="config-refused",
            severity="error",
            what=problem.sentence,
            where=f"{path} {problem.path}",
            evidence=(problem.message,),
            fix="Mend the value; until then OpenClaw's commands refuse to start.",
        )
    for name in settings.document.includes:
        yield Finding(
            code="config-includes",
            severity="info",
            what=f"The configuration includes {name}, which is not read here.",
            where=path,
            evidence=("values from an included file may override what is shown",),
        )
    if settings.gateway.is_remote:
        yield Finding(
            code="gateway-elsewhere",
            severity="warning",
            what="This machine's files are not what the gateway in use works with.",
            where=path,
            evidence=(
                f"gateway.mode is {settings.gateway.mode}",
                f"gateway.remote.url is {settings.gateway.remote_url or 'not set'}",
            ),
            fix="Look at the machine where the gateway runs.",
        )
