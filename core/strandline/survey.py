"""A whole directory looked over: what `doctor` answers. Blocks on bounded reads; the gateway runs it in a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from strandline.compaction.circumstances import circumstances_of
from strandline.compaction.early import early_compaction
from strandline.doctor.directory import collision_findings, directory_findings
from strandline.doctor.sessions import shared_findings
from strandline.errors import DamagedData, EnvironmentFault
from strandline.examination import CatalogueWindow, Subject, look_over, model_of, stored_row, subject_of, windows_of
from strandline.rows import DirectoryView, StoreState
from strandline.settings.effective import Settings
from strandline.state.discovery import Environment, StateDirectory
from strandline.state.locks import LockRules, LockState, LockVerdict, lock_findings, read_locks
from strandline.state.owners import OwnerQuestion, find_owners
from strandline.state.processes import is_shared
from strandline.state.run_states import GatewayFact, RunRow, judge_runs, run_findings
from strandline.tokens.selection import ListedModels, StoredModel
from strandline.tokens.windows import resolve_windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from strandline.findings import Finding
    from strandline.holdings import Source
    from strandline.rows import SessionRow
    from strandline.settings.model_ids import ModelRef


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a directory when it is looked over.

    Attributes:
        directory: the state directory.
        settings: its effective settings.
        view: its stores as they are shown.
        environment: variables, clock, process table.
        catalogue: the window that the offline catalogue knows for a model.
    """

    directory: StateDirectory
    settings: Settings
    view: DirectoryView
    environment: Environment
    catalogue: CatalogueWindow


def survey(around: Surroundings, sources: Sequence[Source]) -> tuple[Finding, ...]:
    """Return every finding of a directory, the worst first."""
    found = [*directory_findings(around.directory, around.settings, around.view)]
    found.extend(_of_compaction([row for source in sources for row in source.rows], around))
    gateway = gateway_fact(around)
    locks = {folder: _locks_in(folder, around) for folder in {source.location.sessions_dir for source in sources}}
    held = _held(verdict for verdicts in locks.values() for verdict in verdicts)
    keys = _row_keys(around, sources)
    for index, source in enumerate(sources):
        if source.newer or around.view.stores[index].state is not StoreState.READ:
            continue
        subjects = [
            subject_of(row, source.facts.get(row.key), source.location.path, source.listing) for row in source.rows
        ]
        where = str(source.location.path)
        found.extend(collision_findings(collisions_of(source), where))
        found.extend(shared_findings(((subject.row, subject.facts) for subject in subjects), where))
        for subject in subjects:
            found.extend(look_over(subject, around.settings, around.catalogue))
        found.extend(_of_runs(subjects, where, _Carriers(around.environment.now_ms(), gateway, held, keys)))
    for sessions_dir in dict.fromkeys(source.location.sessions_dir for source in sources):
        found.extend(lock_findings(locks[sessions_dir]))
    return tuple(sorted(found, key=lambda finding: _RANKS[finding.severity]))


def collisions_of(source: Source) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (spelling, keys as stored) where OpenClaw takes several keys of a store for one."""
    by_spelling: dict[str, list[str]] = {}
    for row in source.rows:
        by_spelling.setdefault(row.canonical_key, []).append(row.key)
    return ((spelling, tuple(keys)) for spelling, keys in by_spelling.items() if len(keys) > 1)


def gateway_fact(around: Surroundings) -> GatewayFact:
    """Return what is known of the gateway that would carry this directory's runs."""
    environment = around.environment
    question = OwnerQuestion(
        state=around.directory.path,
        config_path=around.directory.config_path,
        temporary=environment.temporary(),
        uid=environment.user_id,
        now_ms=environment.now_ms(),
        shared=is_shared(around.directory.path),
    )
    try:
        owners = find_owners(question, environment.processes)
    except EnvironmentFault:
        return GatewayFact()
    living = [owner for owner in owners if owner.may_live]
    since = [owner.since_ms for owner in living if owner.since_ms is not None]
    return GatewayFact(may_live=bool(living), since_ms=min(since) if since else None)


def session_findings(around: Surroundings, subject: Subject, sources: Sequence[Source]) -> tuple[Finding, ...]:
    """Return what lock and run state say about one session."""
    path = subject.transcript
    verdicts = () if path is None else _locks_in(path.parent, around)
    own = [verdict for verdict in verdicts if verdict.path == f"{path}.lock"]
    carriers = _Carriers(around.environment.now_ms(), gateway_fact(around), _held(own), _row_keys(around, sources))
    return (*lock_findings(own), *_of_runs([subject], subject.store_path, carriers))


def _of_compaction(rows: Iterable[SessionRow], around: Surroundings) -> Iterator[Finding]:
    """Yield one finding per model for which compaction comes too soon, however many sessions run on it."""
    settings = around.settings
    agents = settings.agents
    usual = ListedModels(agents).model_of(f"agent:{agents.default_id}:main", StoredModel())
    pairs = {(usual, resolve_windows(agents, usual, catalogue=around.catalogue(usual))): None}
    for row in rows:
        reference = model_of(row, settings)
        pairs[reference, windows_of(row, settings, reference, around.catalogue)] = None
    told: set[tuple[str, ModelRef]] = set()
    for reference, windows in pairs:
        found = early_compaction(
            settings.compaction,
            windows,
            circumstances_of(reference, agents),
            where=f"{reference.provider}/{reference.model}",
        )
        if found is not None and (found.code, reference) not in told:
            told.add((found.code, reference))
            yield found


class _Carriers(NamedTuple):
    """What can carry a run, and when: the clock, the gateway, the locks that are held, the keys of every row."""

    now_ms: float
    gateway: GatewayFact
    held: frozenset[str]
    keys: frozenset[str] | None


def _row_keys(around: Surroundings, sources: Sequence[Source]) -> frozenset[str] | None:
    """Return the keys of every row; ``None`` when a store cannot be read, whose rows are unknown, not gone."""
    if any(view.state not in {StoreState.READ, StoreState.MISSING} for view in around.view.stores):
        return None
    # A session may have been started by one of another agent, under any spelling of its key.
    return frozenset(key for source in sources for row in source.rows for key in (row.key, row.canonical_key))


def _held(verdicts: Iterable[LockVerdict]) -> frozenset[str]:
    return frozenset(verdict.path for verdict in verdicts if verdict.state is LockState.HELD)


def _locks_in(sessions_dir: Path, around: Surroundings) -> tuple[LockVerdict, ...]:
    rules = LockRules(
        now_ms=around.environment.now_ms(),
        stale_ms=around.settings.write_lock.stale_ms,
        shared=is_shared(sessions_dir),
    )
    try:
        return read_locks(sessions_dir, around.environment.processes, rules)
    except EnvironmentFault:
        # The directory's own finding tells that it cannot be listed.
        return ()


def _of_runs(subjects: Iterable[Subject], where: str, carriers: _Carriers) -> tuple[Finding, ...]:
    told = (_run_row(subject, carriers.held) for subject in subjects if subject.row.status is not None)
    rows = [row for row in told if row is not None]
    keys = carriers.keys
    if keys is None:
        keys = frozenset(row.spawned_by for row in rows if row.spawned_by is not None)
    return run_findings(judge_runs(rows, carriers.now_ms, gateway=carriers.gateway, known_keys=keys), where)


def _run_row(subject: Subject, held: frozenset[str]) -> RunRow | None:
    try:
        stored = stored_row(subject)
    except (DamagedData, EnvironmentFault):
        return None
    if not isinstance(stored, dict):
        return None
    mtime = subject.facts.mtime_ms if subject.facts is not None else None
    return msgspec.structs.replace(
        RunRow.of_entry(subject.row.key, stored),
        transcript_mtime_ms=mtime,
        transcript_known=True,
        lock_held=f"{subject.transcript}.lock" in held,
    )


_RANKS = {"error": 0, "warning": 1, "info": 2}
