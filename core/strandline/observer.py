"""Keeping up with a state directory: its stores, what was read of them, what changes. Nothing is written."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

import msgspec

from strandline.errors import DamagedData, EnvironmentFault
from strandline.events import Closed, EventBus
from strandline.holdings import Source, count_unindexed, recovery_names
from strandline.loading import READ_STORE, SLICE_ROWS, StoreJob, transcript_facts
from strandline.rows import (
    DirectoryUpdated,
    DirectoryView,
    FactsRead,
    LoadFinished,
    RowsRead,
    StoreReplaced,
    StoreState,
    StoreUpdated,
    StoreView,
    TranscriptState,
)
from strandline.settings.effective import BUILT_IN, Settings, read_settings
from strandline.state import discovery, fsys
from strandline.state.changes import WatchTargets
from strandline.state.keys import normalise_agent_id
from strandline.work.worker import run_in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from strandline.events import DomainEvent
    from strandline.rows import SessionRow, TranscriptFacts
    from strandline.state.changes import DirectoryChanges
    from strandline.state.discovery import Environment, StateDirectory, StoreLocation
    from strandline.work.worker import Worker

WORKER_BYTES = 2 * 1024**2


class DirectoryObserver:
    """Reads the stores of a directory, each once per change of its file, and tells what it read as events.

    Attributes:
        directory: the state directory.
        settings: its effective settings.
        environment: variables, home and clock.
        view: the directory as known right now.
        sources: every store, in the order of ``view.stores``.
    """

    def __init__(
        self,
        directory: StateDirectory,
        settings: Settings,
        locations: tuple[StoreLocation, ...],
        environment: Environment,
        worker: Worker | None,
        *,
        asked: Path | str | None = None,
    ) -> None:
        self._asked = asked
        self.directory = directory
        self.settings = settings
        self.environment = environment
        self.sources = [
            Source(location, newer=newer)
            for location in locations
            for newer in (False, True)
            if (location.newer_path is not None if newer else location.newer_path is None or _is_there(location.path))
        ]
        self.view = self._first_view()
        self._worker = worker
        self._bus = EventBus()
        self._revision = 0
        self._loading: asyncio.Task[None] | None = None
        self._refreshing = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None

    @classmethod
    async def discover(
        cls, path: Path | str | None, environment: Environment, worker: Worker | None
    ) -> DirectoryObserver:
        """Find out what there is to observe.

        Raises:
            EnvironmentFault: the directory is missing, is a file, or may not be read.
        """
        directory, settings, locations = await asyncio.to_thread(_discover, path, environment)
        return cls(directory, settings, locations, environment, worker, asked=path)

    def events(self) -> AsyncIterator[DomainEvent]:
        """Subscribe to every event from now on."""
        return self._bus.subscribe()

    def start_loading(self) -> None:
        """Start reading every store and fact, if that has not begun."""
        if self._loading is None:
            self._loading = asyncio.create_task(self._load(), name="first load")

    async def loaded(self) -> None:
        """Wait until every store and fact has been read."""
        self.start_loading()
        if self._loading is not None:
            await asyncio.shield(self._loading)

    async def read(self, index: int) -> None:
        """Read a store once; every further call waits for that one read."""
        source = self.sources[index]
        if source.reading is None:
            source.reading = asyncio.create_task(self._read_source(index, source), name=f"read {source.path}")
        await asyncio.shield(source.reading)

    def index_of(self, location: StoreLocation) -> int:
        """Return the index of a store; one that was not known yet is added."""
        same = [index for index, source in enumerate(self.sources) if source.location.path == location.path]
        json_first = sorted(same, key=lambda index: self.sources[index].newer)
        if json_first:
            return json_first[0]
        self.sources.append(Source(location, newer=False))
        self.view = msgspec.structs.replace(self.view, stores=(*self.view.stores, _first_store_view(self.sources[-1])))
        return len(self.sources) - 1

    async def refresh(self) -> None:
        """Look at the stores again; what changed is read once and told as events."""
        await self.loaded()
        async with self._refreshing:
            for index, source in enumerate(self.sources):
                if not source.newer and await asyncio.to_thread(self._moved, source):
                    await self._replace(index, source)

    def start_watching(self) -> None:
        """Follow changes on disk from now on, if that has not begun."""
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(), name="watch the directory")

    async def close(self) -> None:
        """Stop reading and watching, and end every subscription."""
        readings = (source.reading for source in self.sources)
        tasks = [task for task in (self._watching, self._loading, *readings) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._bus.publish(Closed(revision=self._revision))

    async def _load(self) -> None:
        for index in range(len(self.sources)):
            await self.read(index)
        for index in range(len(self.sources)):
            await self._read_facts(index)
        total = self._weigh()
        self._bus.publish(LoadFinished(revision=self._next_revision(), bytes_on_disk=total))

    def _weigh(self) -> int:
        """Put the bytes that the sessions directories hold into the view, and return them."""
        listings = {source.location.sessions_dir: source.listing for source in self.sources}
        total = sum(file.size for files in listings.values() for file in files.values() if file.is_file)
        self.view = msgspec.structs.replace(self.view, bytes_on_disk=total)
        return total

    async def _read_source(self, index: int, source: Source) -> None:
        try:
            if source.newer:
                await self._read_newer(index, source)
            else:
                async for rows in self._slices(index, source):
                    source.rows.extend(rows)
                    self._bus.publish(RowsRead(revision=self._next_revision(), store=index, rows=tuple(rows)))
        except (DamagedData, EnvironmentFault) as error:
            self._update(index, state=StoreState.DAMAGED, damage=str(error), row_count=len(source.rows))
        except Exception as error:  # noqa: BLE001 - told at the store it is about, or a window would wait for ever
            said = (
                f"Strandline met a bug of its own at {source.path} ({type(error).__name__}: {error}); please report it."
            )
            self._update(index, state=StoreState.DAMAGED, damage=said, row_count=len(source.rows))

    async def _slices(self, index: int, source: Source) -> AsyncIterator[list[SessionRow]]:
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
            agents=self.settings.agents,
            session=self.settings.session,
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

    async def _read_newer(self, index: int, source: Source) -> None:
        from strandline.remote.newer_store import look_at  # noqa: PLC0415 - sqlite3, which few directories need

        scratch = self.environment.scratch()
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
        source = self.sources[index]
        try:
            entries = await asyncio.to_thread(fsys.list_directory, source.location.sessions_dir)
        except EnvironmentFault as error:
            if self.view.stores[index].damage is None and not source.newer:
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
        recovery = recovery_names(source.location.path.name, entries)
        self._update(index, unindexed=count_unindexed(source, self.sources), recovery=recovery)
        for other, sharing in enumerate(self.sources):
            # Rows of this store may lead to transcripts that the stores beside it counted as nobody's.
            if other != index and sharing.location.sessions_dir == source.location.sessions_dir:
                counted, now = self.view.stores[other].unindexed, count_unindexed(sharing, self.sources)
                if counted is not None and counted != now:
                    self._update(other, unindexed=now)

    async def _replace(self, index: int, source: Source) -> None:
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

    async def _watch(self) -> None:
        from strandline.state.watching import DirectoryWatch  # noqa: PLC0415 - loads a watcher that a command needs not

        async with DirectoryWatch(self._targets(), self.environment.now_ms) as watch:
            await self.loaded()
            # What changed between the first load and the first event is caught by one look at every store.
            await self.refresh()
            async for changes in watch.changes():
                async with self._refreshing:
                    await self._take_in(changes)
                self._weigh()
                watch.retarget(self._targets())

    def _targets(self) -> WatchTargets:
        return WatchTargets(
            stores=tuple(source.path for source in self.sources),
            config_path=self.directory.config_path,
            agents_dir=self.directory.path / "agents",
        )

    async def _take_in(self, changes: DirectoryChanges) -> None:
        if changes.config or changes.agents:
            await self._rediscover()
        touched: dict[Path, set[str]] = {}
        for path in (*changes.transcripts, *changes.others):
            touched.setdefault(path.parent, set()).add(path.name)
        for index, source in enumerate(self.sources):
            if source.path in changes.stores or source.path.parent in changes.unknown:
                if source.newer:
                    await self._read_source(index, source)
                elif await asyncio.to_thread(self._moved, source):
                    await self._replace(index, source)
                    continue
            if source.location.sessions_dir in changes.unknown:
                await self._read_facts(index)
            elif source.location.sessions_dir in touched and not source.newer:
                await self._touch(index, touched[source.location.sessions_dir])

    async def _touch(self, index: int, names: set[str]) -> None:
        """Look again at some files of a sessions directory, and at the rows that they may belong to."""
        source = self.sources[index]
        entries = await asyncio.to_thread(
            lambda: {name: fsys.look_at_entry(source.location.sessions_dir / name) for name in names}
        )
        for name, entry in entries.items():
            if entry is None:
                source.listing.pop(name, None)
            else:
                source.listing[name] = entry
        rows = [row for row in source.rows if _may_concern(source.facts.get(row.key), names)]
        found: list[TranscriptFacts] = await asyncio.to_thread(
            list, transcript_facts(rows, source.location.sessions_dir, source.listing)
        )
        changed = tuple(fact for fact in found if source.facts.get(fact.key) != fact)
        source.facts.update((fact.key, fact) for fact in changed)
        if changed:
            self._bus.publish(FactsRead(revision=self._next_revision(), store=index, facts=changed))
        unindexed = count_unindexed(source, self.sources)
        if unindexed != self.view.stores[index].unindexed:
            self._update(index, unindexed=unindexed)

    async def _rediscover(self) -> None:
        """Read the configuration again and look for new agents; what is known of the others stays."""
        try:
            directory, settings, locations = await asyncio.to_thread(_discover, self._asked, self.environment)
        except EnvironmentFault:
            # The directory is out of reach for the moment; its stores tell that themselves.
            return
        self.directory, self.settings = directory, settings
        known = {source.location.path for source in self.sources}
        stores = self.view.stores
        self.view = msgspec.structs.replace(self._first_view(), stores=stores, bytes_on_disk=self.view.bytes_on_disk)
        self._bus.publish(DirectoryUpdated(revision=self._next_revision(), view=self.view))
        for location in locations:
            if location.path not in known:
                index = self.index_of(location)
                await self.read(index)
                await self._read_facts(index)

    def _moved(self, source: Source) -> bool:
        with suppress(EnvironmentFault):
            found = fsys.identify(source.path)
            now = (found.size, found.mtime_ns, found.inode, found.device) if found else None
            return now != source.identity
        return source.identity is not None

    def _first_view(self) -> DirectoryView:
        settings = self.settings
        mode = settings.maintenance.mode
        source = settings.source_of("session.maintenance.mode")
        return DirectoryView(
            path=str(self.directory.path),
            title=self._tilde(self.directory.path),
            found_by=self.directory.found_by,
            mode="observe",
            authority="remote" if settings.gateway.is_remote else "local",
            remote_url=settings.gateway.remote_url,
            sample=self.directory.sample,
            config_path=str(self.directory.config_path),
            problems=settings.sentences,
            maintenance=f"{mode} (built in)" if source == BUILT_IN else mode,
            stores=tuple(_first_store_view(each) for each in self.sources),
        )

    def _update(self, index: int, **changes: object) -> None:
        stores = list(self.view.stores)
        stores[index] = msgspec.structs.replace(stores[index], **changes)
        self.view = msgspec.structs.replace(self.view, stores=tuple(stores))
        self._bus.publish(StoreUpdated(revision=self._next_revision(), store=index, view=stores[index]))

    def _next_revision(self) -> int:
        self._revision += 1
        return self._revision

    def _tilde(self, path: Path) -> str:
        return discovery.tilde(path, self.environment)


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


def _first_store_view(source: Source) -> StoreView:
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


def _may_concern(facts: TranscriptFacts | None, names: set[str]) -> bool:
    """Tell whether a change of the files called ``names`` may change what is known of a row's transcript."""
    if facts is None or facts.name in names:
        return True
    return facts.state not in {TranscriptState.PRESENT, TranscriptState.ROW_NEWER, TranscriptState.NO_SESSION}
