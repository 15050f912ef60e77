"""Observing a state directory of this machine: what is there, what it says, what changes. Nothing is written."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

import msgspec

from strandline.errors import BadRequest, DamagedData, EnvironmentFault, NothingMatched
from strandline.events import Closed, EventBus
from strandline.filters import parse_filter
from strandline.listing import AgentRows, StoreProblem, list_sessions, newest_first, report_status
from strandline.loading import READ_STORE, SLICE_ROWS, StoreJob, transcript_facts
from strandline.rows import (
    DirectoryView,
    FactsRead,
    LoadFinished,
    RowsRead,
    StoreReplaced,
    StoreState,
    StoreUpdated,
    StoreView,
)
from strandline.settings.effective import BUILT_IN, Settings, read_settings
from strandline.state import discovery, fsys
from strandline.state.file_classes import (
    ClassifiedFile,
    FileClass,
    classify,
    stand,
)
from strandline.state.keys import normalise_agent_id
from strandline.tables import FileTable, SessionRecord, SessionTable
from strandline.work.worker import run_in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
    from pathlib import Path

    from strandline.events import DomainEvent
    from strandline.listing import ListingRequest, SessionListing, StatusReport
    from strandline.rows import SessionRow, TranscriptFacts
    from strandline.state.discovery import Environment, StateDirectory, StoreLocation
    from strandline.state.fsys import FileEntry
    from strandline.work.worker import Worker

WORKER_BYTES = 2 * 1024**2
_TRANSCRIPT_ENDING = ".jsonl"


class _Source:
    """One store with what has been read of it."""

    def __init__(self, location: StoreLocation, *, newer: bool) -> None:
        self.location = location
        self.newer = newer
        self.rows: list[SessionRow] = []
        self.facts: dict[str, TranscriptFacts] = {}
        self.listing: dict[str, FileEntry] = {}
        self.identity: tuple[int, int, int, int] | None = None
        self.reading: asyncio.Task[None] | None = None

    @property
    def path(self) -> Path:
        return self.location.newer_path if self.newer and self.location.newer_path else self.location.path


class LocalGateway:
    """A gateway over files that something else owns (mode *observe*)."""

    def __init__(
        self,
        directory: StateDirectory,
        settings: Settings,
        locations: Iterable[StoreLocation],
        environment: Environment,
        worker: Worker | None,
    ) -> None:
        self._directory = directory
        self._settings = settings
        self._environment = environment
        self._worker = worker
        self._bus = EventBus()
        self._revision = 0
        self._loading: asyncio.Task[None] | None = None
        self._refreshing = asyncio.Lock()
        self._sources = [
            _Source(location, newer=newer)
            for location in locations
            for newer in (False, True)
            if (location.newer_path is not None if newer else location.newer_path is None or _is_there(location.path))
        ]
        self._view = self._first_view()

    @classmethod
    async def open(
        cls, path: Path | str | None, environment: Environment, *, worker: Worker | None, eager: bool
    ) -> LocalGateway:
        """Find out what there is to observe; with ``eager`` the first load starts at once.

        Raises:
            EnvironmentFault: the directory is missing, is a file, or may not be read.
        """
        directory, settings, locations = await asyncio.to_thread(_discover, path, environment)
        gateway = cls(directory, settings, locations, environment, worker)
        if eager:
            gateway.start_loading()
        return gateway

    @property
    def view(self) -> DirectoryView:
        """The directory as known right now."""
        return self._view

    @property
    def settings(self) -> Settings:
        """The effective settings."""
        return self._settings

    def events(self) -> AsyncIterator[DomainEvent]:
        """Subscribe to every event from now on."""
        return self._bus.subscribe()

    def start_loading(self) -> None:
        """Start reading every store and fact, if that has not begun."""
        if self._loading is None:
            self._loading = asyncio.create_task(self._load(), name="first load")

    async def sessions(self, filter_text: str = "") -> SessionTable:
        """Return every row with its facts, newest first, narrowed by a filter expression."""
        wanted = parse_filter(filter_text)
        await self._loaded()
        now_ms = self._environment.now_ms()
        rows = newest_first(row for source in self._sources for row in source.rows)
        records = (SessionRecord(row, self._sources[row.store].facts.get(row.key)) for row in rows)
        return SessionTable(
            records=tuple(record for record in records if wanted.matches(record.row, record.facts, now_ms)),
            total=len(rows),
            now_ms=now_ms,
            damage=tuple(store.damage for store in self._view.stores if store.damage),
        )

    async def listing(self, request: ListingRequest) -> SessionListing:
        """Return what ``openclaw sessions --json`` answers."""
        wanted = parse_filter(request.filter_text)
        groups, problems = await self._groups(self._listed_locations(request))
        now_ms = self._environment.now_ms()
        if wanted.needs_facts:
            await self._loaded()

        def keep(row: SessionRow) -> bool:
            facts = self._sources[row.store].facts.get(row.key) if 0 <= row.store < len(self._sources) else None
            return wanted.matches(row, facts, now_ms)

        answer = list_sessions(groups, request, self._settings.agents, now_ms, None if wanted.is_empty else keep)
        return msgspec.structs.replace(answer, **self._told(problems))

    async def status(self) -> StatusReport:
        """Return the ``sessions`` block of ``openclaw status --json``; lists what is on disk without a config too."""
        agents = self._settings.agents
        listed = {agent.id for agent in agents.listed}
        found = [] if listed else [normalise_agent_id(name) for name in self._agent_directories()]
        others = sorted({*listed, *found} - {agents.default_id}, key=_collation)
        locations = [self._location_of(agent_id) for agent_id in (agents.default_id, *others)]
        groups, problems = await self._groups(locations)
        report = report_status(groups, agents, self._environment.now_ms())
        return msgspec.structs.replace(report, **self._told(problems))

    async def files(self) -> FileTable:
        """Return every file below the sessions directories with class and standing."""
        await self._loaded()
        found = await asyncio.to_thread(lambda: sorted(self._classified(), key=lambda file: file.path))
        return FileTable(files=tuple(found))

    async def refresh(self) -> None:
        """Look at the stores again; what changed is read once and told as events."""
        await self._loaded()
        async with self._refreshing:
            for index, source in enumerate(self._sources):
                if not source.newer and await asyncio.to_thread(self._moved, source):
                    await self._replace(index, source)

    async def close(self) -> None:
        """Stop reading and end every subscription."""
        tasks = [task for task in (self._loading, *(source.reading for source in self._sources)) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._bus.publish(Closed(revision=self._revision))

    async def _loaded(self) -> None:
        self.start_loading()
        if self._loading is not None:
            await asyncio.shield(self._loading)

    async def _load(self) -> None:
        for index in range(len(self._sources)):
            await self._read(index)
        for index in range(len(self._sources)):
            await self._read_facts(index)
        total = sum(file.size for files in self._listings().values() for file in files.values() if file.is_file)
        self._view = msgspec.structs.replace(self._view, bytes_on_disk=total)
        self._bus.publish(LoadFinished(revision=self._next_revision(), bytes_on_disk=total))

    async def _read(self, index: int) -> None:
        """Read a store once; every further call waits for that one read."""
        source = self._sources[index]
        if source.reading is None:
            source.reading = asyncio.create_task(self._read_source(index, source), name=f"read {source.path}")
        await asyncio.shield(source.reading)

    async def _read_source(self, index: int, source: _Source) -> None:
        try:
            if source.newer:
                await self._read_newer(index, source)
            else:
                async for rows in self._slices(index, source):
                    source.rows.extend(rows)
                    self._bus.publish(RowsRead(revision=self._next_revision(), store=index, rows=tuple(rows)))
        except (DamagedData, EnvironmentFault) as error:
            self._update(index, state=StoreState.DAMAGED, damage=str(error), row_count=len(source.rows))

    async def _slices(self, index: int, source: _Source) -> AsyncIterator[list[SessionRow]]:
        source.identity = None
        found = await asyncio.to_thread(fsys.identify, source.path)
        if found is None:
            self._update(index, state=StoreState.MISSING, bytes=0, row_count=0, damage=None, remark=None)
            return
        self._update(index, state=StoreState.READING, bytes=found.size)
        job = StoreJob(
            store=index,
            path=str(source.path),
            agent_id=source.location.agent_id,
            agents=self._settings.agents,
            session=self._settings.session,
        )
        large = self._worker is not None and found.size > WORKER_BYTES
        slices = self._worker.run(READ_STORE, job) if large and self._worker else run_in_thread(READ_STORE, job)
        count = 0
        remark = None
        async with aclosing(slices):
            try:
                async for part in slices:
                    source.identity = part.identity
                    remark = part.remark
                    count += len(part.rows)
                    yield part.rows
            except DamagedData:
                # Damaged bytes stay damaged until the file changes; they are not read again before.
                source.identity = found.size, found.mtime_ns, found.inode, found.device
                raise
        self._update(index, state=StoreState.READ, row_count=count, damage=None, remark=remark)

    async def _read_newer(self, index: int, source: _Source) -> None:
        from strandline.remote.newer_store import look_at  # noqa: PLC0415 - sqlite3, which few directories need

        scratch = self._environment.scratch()
        found = await asyncio.to_thread(look_at, source.path, scratch)
        size = await asyncio.to_thread(fsys.identify, source.path)
        told = ", ".join(
            f"{count:,} {word}"
            for count, word in (
                (found.sessions, "sessions"),
                (found.transcripts, "transcripts"),
                (found.events, "entries"),
            )
            if count is not None
        )
        written = f", last written by OpenClaw {found.app_version}" if found.app_version else ""
        self._update(
            index,
            state=StoreState.NEWER,
            bytes=size.size if size else 0,
            row_count=found.sessions or 0,
            remark=(
                f"The sessions of agent {source.location.agent_id} live in the newer SQLite store "
                f"{self._tilde(source.path)}: {told} (schema {found.schema_version}{written}). "
                "Strandline counts them; it does not list them yet."
            ),
        )

    async def _read_facts(self, index: int) -> None:
        source = self._sources[index]
        try:
            entries = await asyncio.to_thread(fsys.list_directory, source.location.sessions_dir)
        except EnvironmentFault as error:
            if self._view.stores[index].damage is None and not source.newer:
                self._update(index, remark=str(error))
            return
        source.listing = {entry.name: entry for entry in entries}
        if source.newer:
            # Archives and originals of an import lie beside the newer store; which rows they belong to it alone knows.
            return
        source.facts = {}
        for first in range(0, len(source.rows), SLICE_ROWS):
            rows = source.rows[first : first + SLICE_ROWS]
            found = transcript_facts(rows, source.location.sessions_dir, source.listing)
            facts: list[TranscriptFacts] = await asyncio.to_thread(list, found)
            source.facts.update((fact.key, fact) for fact in facts)
            self._bus.publish(FactsRead(revision=self._next_revision(), store=index, facts=tuple(facts)))
        recovery = tuple(sorted(_recovery_names(source.location.path.name, entries)))
        self._update(index, unindexed=self._unindexed(source), recovery=recovery)
        for other, sharing in enumerate(self._sources):
            # Rows of this store may lead to transcripts that the stores beside it counted as nobody's.
            if other != index and sharing.location.sessions_dir == source.location.sessions_dir:
                counted, now = self._view.stores[other].unindexed, self._unindexed(sharing)
                if counted is not None and counted != now:
                    self._update(other, unindexed=now)

    async def _replace(self, index: int, source: _Source) -> None:
        before = {row.key: row for row in source.rows}
        rows: list[SessionRow] = []
        try:
            async for part in self._slices(index, source):
                rows.extend(part)
        except (DamagedData, EnvironmentFault) as error:
            # What was read before stays in view: a store that cannot be read says nothing about its sessions.
            self._update(index, state=StoreState.DAMAGED, damage=str(error), remark=None)
            await self._read_facts(index)
            return
        source.rows = rows
        after = {row.key: row for row in rows}
        self._bus.publish(
            StoreReplaced(
                revision=self._next_revision(),
                store=index,
                rows=tuple(rows),
                changed=tuple(key for key, row in after.items() if not _same_row(before.get(key), row)),
                removed=tuple(key for key in before if key not in after),
            )
        )
        await self._read_facts(index)

    def _moved(self, source: _Source) -> bool:
        with suppress(EnvironmentFault):
            found = fsys.identify(source.path)
            now = (found.size, found.mtime_ns, found.inode, found.device) if found else None
            return now != source.identity
        return source.identity is not None

    async def _groups(self, locations: Iterable[StoreLocation]) -> tuple[list[AgentRows], list[StoreProblem]]:
        groups: list[AgentRows] = []
        problems: dict[str, StoreProblem] = {}
        for location in locations:
            index = self._index_of(location)
            await self._read(index)
            view = self._view.stores[index]
            reason = view.damage or (view.remark if view.state is StoreState.NEWER else None)
            path = str(location.path)
            if reason is not None:
                problems[path] = StoreProblem(agent_id=location.agent_id, path=path, reason=reason)
            rows = None if reason is not None else tuple(self._sources[index].rows)
            groups.append(AgentRows(agent_id=location.agent_id, path=path, rows=rows))
        return groups, list(problems.values())

    def _listed_locations(self, request: ListingRequest) -> list[StoreLocation]:
        agents = self._settings.agents
        if request.agent and request.all_agents:
            raise BadRequest("--agent and --all-agents cannot be used together.")
        if request.store is not None:
            if request.agent or request.all_agents:
                raise BadRequest("--store cannot be combined with --agent or --all-agents.")
            path = discovery.resolve_store(request.store, agents.default_id, self._directory.path, self._environment)
            return [discovery.StoreLocation(agent_id=agents.default_id, path=path, configured=True)]
        if request.all_agents:
            return list(
                discovery.configured_stores(
                    agents, self._settings.session.store, self._directory.path, self._environment
                )
            )
        stated = (request.agent or "").strip()
        agent_id = normalise_agent_id(stated) if stated else agents.default_id
        if agent_id not in agents.ids:
            known = ", ".join(agents.ids)
            raise NothingMatched(f'No agent "{request.agent}" is configured; configured are {known}.')
        return [self._location_of(agent_id)]

    def _location_of(self, agent_id: str) -> StoreLocation:
        path = discovery.resolve_store(self._settings.session.store, agent_id, self._directory.path, self._environment)
        return discovery.StoreLocation(agent_id=agent_id, path=path, configured=True)

    def _index_of(self, location: StoreLocation) -> int:
        """Return the index of a store; one that was not known yet is added."""
        same = [index for index, source in enumerate(self._sources) if source.location.path == location.path]
        json_first = sorted(same, key=lambda index: self._sources[index].newer)
        if json_first:
            return json_first[0]
        self._sources.append(_Source(location, newer=False))
        self._view = msgspec.structs.replace(
            self._view, stores=(*self._view.stores, _first_store_view(self._sources[-1]))
        )
        return len(self._sources) - 1

    def _told(self, problems: list[StoreProblem]) -> dict[str, object]:
        told: dict[str, object] = {"damage": tuple(problems)} if problems else {}
        if self._settings.gateway.is_remote:
            told["authority"] = "remote"
        return told

    def _agent_directories(self) -> tuple[str, ...]:
        with suppress(EnvironmentFault):
            return discovery.agent_directories(self._directory.path)
        return ()

    def _listings(self) -> dict[Path, Mapping[str, FileEntry]]:
        return {source.location.sessions_dir: source.listing for source in self._sources}

    def _sharing(self, directory: Path) -> list[_Source]:
        """Return the sources whose rows may hold on to the files of a directory; a template can make it several."""
        return [source for source in self._sources if source.location.sessions_dir == directory]

    def _referenced(self, sources: Iterable[_Source]) -> set[str]:
        names = {fact.name for source in sources for fact in source.facts.values() if fact.name is not None}
        stems = {name.removesuffix(_TRANSCRIPT_ENDING) for name in names}
        beside = {f"{stem}{ending}" for stem in stems for ending in (".trajectory.jsonl", ".trajectory-path.json")}
        checkpoints = {name for source in sources for row in source.rows for name in row.checkpoints}
        return names | beside | checkpoints

    def _unindexed(self, source: _Source) -> int:
        referenced = self._referenced(self._sharing(source.location.sessions_dir))
        name = source.location.path.name
        return sum(
            1
            for entry in source.listing.values()
            if entry.is_file
            and classify(entry.name, store_name=name) is FileClass.TRANSCRIPT
            and entry.name not in referenced
        )

    def _classified(self) -> Iterator[ClassifiedFile]:
        for directory, listing in self._listings().items():
            sources = self._sharing(directory)
            stores = {source.location.path.name: source.location.agent_id for source in sources}
            readable = not any(self._is_dark(index) for index, each in enumerate(self._sources) if each in sources)
            referenced = self._referenced(sources)
            for entry in listing.values():
                if not entry.is_file:
                    continue
                own = next((name for name in stores if entry.name.startswith(name)), sources[0].location.path.name)
                file_class = classify(entry.name, store_name=own)
                yield ClassifiedFile(
                    path=_relative(directory / entry.name, self._directory.path),
                    file_class=file_class,
                    standing=stand(file_class, referenced=entry.name in referenced, store_readable=readable),
                    bytes=entry.size,
                    allocated=entry.allocated,
                    mtime_ms=entry.mtime_ms,
                    agent_id=stores[own],
                )

    def _is_dark(self, index: int) -> bool:
        """Tell whether what a store's rows hold on to is unknown: it is damaged, or of the newer kind."""
        return self._view.stores[index].state in {StoreState.DAMAGED, StoreState.NEWER}

    def _first_view(self) -> DirectoryView:
        settings = self._settings
        mode = settings.maintenance.mode
        source = settings.source_of("session.maintenance.mode")
        return DirectoryView(
            path=str(self._directory.path),
            title=self._tilde(self._directory.path),
            found_by=self._directory.found_by,
            mode="observe",
            authority="remote" if settings.gateway.is_remote else "local",
            remote_url=settings.gateway.remote_url,
            sample=self._directory.sample,
            config_path=str(self._directory.config_path),
            problems=settings.sentences,
            maintenance=f"{mode} (built in)" if source == BUILT_IN else mode,
            stores=tuple(_first_store_view(each) for each in self._sources),
        )

    def _update(self, index: int, **changes: object) -> None:
        stores = list(self._view.stores)
        stores[index] = msgspec.structs.replace(stores[index], **changes)
        self._view = msgspec.structs.replace(self._view, stores=tuple(stores))
        self._bus.publish(StoreUpdated(revision=self._next_revision(), store=index, view=stores[index]))

    def _next_revision(self) -> int:
        self._revision += 1
        return self._revision

    def _tilde(self, path: Path) -> str:
        return discovery.tilde(path, self._environment)


def _discover(
    path: Path | str | None, environment: Environment
) -> tuple[StateDirectory, Settings, tuple[StoreLocation, ...]]:
    directory = discovery.choose_directory(path, environment)
    fsys.check_directory(directory.path)
    settings = read_settings(discovery.read_config(directory.config_path), normalise_agent_id)
    locations = discovery.all_stores(settings.agents, settings.session.store, directory.path, environment)
    return directory, settings, locations


def _is_there(path: Path) -> bool:
    """Tell whether something stands at ``path``; a place that may not be looked at counts, so that it is told."""
    try:
        return fsys.identify(path) is not None
    except EnvironmentFault:
        return True


def _first_store_view(source: _Source) -> StoreView:
    return StoreView(
        agent_id=source.location.agent_id,
        path=str(source.path),
        configured=source.location.configured,
        state=StoreState.PENDING,
    )


def _same_row(before: SessionRow | None, now: SessionRow) -> bool:
    """Tell whether a row says the same, wherever it stands in the file now."""
    if before is None:
        return False
    return msgspec.structs.replace(before, offset=now.offset, position=now.position) == now


def _recovery_names(store_name: str, entries: Iterable[FileEntry]) -> Iterator[str]:
    for entry in entries:
        kind = classify(entry.name, store_name=store_name)
        if entry.is_file and kind in {FileClass.STORE_TEMPORARY, FileClass.STORE_BACKUP}:
            yield entry.name


def _relative(path: Path, state: Path) -> str:
    with suppress(ValueError):
        return path.relative_to(state).as_posix()
    return path.as_posix()


def _collation(agent_id: str) -> list[tuple[int, str]]:
    """Return the sort key under which ICU orders agent ids: ``_`` before ``-`` before digits before letters."""
    ranks = {"_": 0, "-": 1}
    return [(ranks.get(char, 2 if char.isdigit() else 3), char) for char in agent_id]
