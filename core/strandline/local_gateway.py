"""The gateway over files that something else owns: answers questions from what the observer has read."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from strandline.errors import BadRequest, EnvironmentFault, NothingMatched
from strandline.examination import examine, known_window, subject_of
from strandline.filters import parse_filter
from strandline.holdings import classified_files
from strandline.listing import AgentRows, StoreProblem, list_sessions, newest_first, report_status
from strandline.observer import DirectoryObserver
from strandline.rows import StoreState
from strandline.state import discovery, fsys
from strandline.state.keys import normalise_agent_id
from strandline.survey import Surroundings, session_findings, survey
from strandline.tables import FileTable, SessionRecord, SessionTable
from strandline.transcript_answers import check_answer, context_answer, tree_answer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from pathlib import Path

    from strandline.events import DomainEvent
    from strandline.examination import Subject
    from strandline.findings import Finding
    from strandline.listing import ListingRequest, SessionListing, StatusReport
    from strandline.rows import DirectoryView, SessionRow
    from strandline.session_report import SessionReport
    from strandline.settings.effective import Settings
    from strandline.state.discovery import Environment, StoreLocation
    from strandline.transcript_answers import CheckAnswer, ContextAnswer, TreeAnswer
    from strandline.work.worker import Worker


class LocalGateway:
    """A gateway over files that something else owns (mode *observe*)."""

    def __init__(self, observer: DirectoryObserver) -> None:
        self._observer = observer

    @classmethod
    async def open(
        cls, path: Path | str | None, environment: Environment, *, worker: Worker | None, eager: bool, watch: bool
    ) -> LocalGateway:
        """Find out what there is to observe; with ``eager`` the first load starts at once, with ``watch`` it goes on.

        Raises:
            EnvironmentFault: the directory is missing, is a file, or may not be read.
        """
        observer = await DirectoryObserver.discover(path, environment, worker)
        if eager:
            observer.start_loading()
        if watch:
            observer.start_watching()
        return cls(observer)

    @property
    def view(self) -> DirectoryView:
        """The directory as known right now."""
        return self._observer.view

    @property
    def settings(self) -> Settings:
        """The effective settings."""
        return self._observer.settings

    def events(self) -> AsyncIterator[DomainEvent]:
        """Subscribe to every event from now on."""
        return self._observer.events()

    async def sessions(self, filter_text: str = "") -> SessionTable:
        """Return every row with its facts, newest first, narrowed by a filter expression."""
        wanted = parse_filter(filter_text)
        await self._observer.loaded()
        now_ms = self._observer.environment.now_ms()
        passes = wanted.predicate(now_ms)
        rows = newest_first(row for source in self._observer.sources for row in source.rows)
        records = (SessionRecord(row, self._observer.sources[row.store].facts.get(row.key)) for row in rows)
        return SessionTable(
            records=tuple(record for record in records if passes(record.row, record.facts)),
            total=len(rows),
            now_ms=now_ms,
            damage=tuple(store.damage for store in self._observer.view.stores if store.damage),
        )

    async def listing(self, request: ListingRequest) -> SessionListing:
        """Return what ``openclaw sessions --json`` answers."""
        wanted = parse_filter(request.filter_text)
        groups, problems = await self._groups(self._listed_locations(request))
        now_ms = self._observer.environment.now_ms()
        if wanted.needs_facts:
            await self._observer.loaded()

        passes = wanted.predicate(now_ms)

        def keep(row: SessionRow) -> bool:
            facts = (
                self._observer.sources[row.store].facts.get(row.key)
                if 0 <= row.store < len(self._observer.sources)
                else None
            )
            return passes(row, facts)

        answer = list_sessions(
            groups, request, self._observer.settings.agents, now_ms, None if wanted.is_empty else keep
        )
        return msgspec.structs.replace(answer, **self._told(problems))

    async def status(self) -> StatusReport:
        """Return the ``sessions`` block of ``openclaw status --json``; lists what is on disk without a config too."""
        agents = self._observer.settings.agents
        listed = {agent.id for agent in agents.listed}
        found = [] if listed else [normalise_agent_id(name) for name in self._agent_directories()]
        others = sorted({*listed, *found} - {agents.default_id}, key=_collation)
        locations = [self._location_of(agent_id) for agent_id in (agents.default_id, *others)]
        groups, problems = await self._groups(locations)
        report = report_status(groups, agents, self._observer.environment.now_ms())
        return msgspec.structs.replace(report, **self._told(problems))

    async def files(self) -> FileTable:
        """Return every file below the sessions directories with class and standing."""
        await self._observer.loaded()
        observer = self._observer
        found = classified_files(observer.sources, observer.view.stores, observer.directory.path)
        return FileTable(files=tuple(await asyncio.to_thread(sorted, found, key=attrgetter("path"))))

    async def inspect(self, key: str, agent: str | None = None) -> SessionReport:
        """Return one session in depth; see ``Gateway.inspect``."""
        subject = await self._subject(key, agent)
        files = await self.files()
        around = self._surroundings()
        extra = await asyncio.to_thread(session_findings, around, subject, self._observer.sources)
        return await asyncio.to_thread(examine, subject, around.settings, files.files, around.catalogue, extra)

    async def findings(self) -> tuple[Finding, ...]:
        """Return everything that is not as it should be; see ``Gateway.findings``."""
        await self._observer.loaded()
        return await asyncio.to_thread(survey, self._surroundings(), tuple(self._observer.sources))

    async def context(self, target: str, *, at: str | None = None, agent: str | None = None) -> ContextAnswer:
        """Return what the model sees; see ``Gateway.context``."""
        return await asyncio.to_thread(context_answer, await self._transcript(target, agent), at)

    async def tree(self, target: str, *, agent: str | None = None) -> TreeAnswer:
        """Return how a transcript's entries hang together; see ``Gateway.tree``."""
        return await asyncio.to_thread(tree_answer, await self._transcript(target, agent))

    async def check(self, target: str, *, agent: str | None = None) -> CheckAnswer:
        """Return how a transcript is; see ``Gateway.check``."""
        return await asyncio.to_thread(check_answer, await self._transcript(target, agent))

    async def refresh(self) -> None:
        """Look at the stores again; what changed is read once and told as events."""
        await self._observer.refresh()

    async def close(self) -> None:
        """Stop reading and end every subscription."""
        await self._observer.close()

    async def _subject(self, key: str, agent: str | None) -> Subject:
        table = await self.sessions()
        found = [
            record for record in table.find(key) if agent is None or record.row.agent_id == normalise_agent_id(agent)
        ]
        exact = [record for record in found if record.row.key == key]
        chosen = exact if len(exact) == 1 else found
        if not chosen:
            raise NothingMatched(f'No session has the key "{key}"; `strandline sessions` lists them.')
        if len({record.row.store for record in chosen}) > 1:
            agents = ", ".join(sorted({record.row.agent_id for record in chosen}))
            raise NothingMatched(f'Several stores hold the key "{key}"; say which with --agent: {agents}.')
        record = chosen[0]
        source = self._observer.sources[record.row.store]
        return subject_of(record.row, record.facts, source.location.path, source.listing)

    async def _transcript(self, target: str, agent: str | None) -> Path:
        named = discovery.resolve_path(target, self._observer.environment)
        if await asyncio.to_thread(fsys.is_file, named):
            return named
        if target.endswith(".jsonl"):
            raise NothingMatched(f"There is no transcript {named}; check the path.")
        subject = await self._subject(target, agent)
        if subject.transcript is None:
            note = subject.facts.note if subject.facts is not None and subject.facts.note else "It has none yet."
            raise NothingMatched(f'The session "{target}" has no transcript to read. {note}')
        return subject.transcript

    def _surroundings(self) -> Surroundings:
        observer = self._observer
        return Surroundings(
            directory=observer.directory,
            settings=observer.settings,
            view=observer.view,
            environment=observer.environment,
            catalogue=known_window,
        )

    async def _groups(self, locations: Iterable[StoreLocation]) -> tuple[list[AgentRows], list[StoreProblem]]:
        groups: list[AgentRows] = []
        problems: dict[str, StoreProblem] = {}
        for location in locations:
            index = self._observer.index_of(location)
            await self._observer.read(index)
            view = self._observer.view.stores[index]
            reason = view.damage or (view.remark if view.state is StoreState.NEWER else None)
            path = str(location.path)
            if reason is not None:
                problems[path] = StoreProblem(agent_id=location.agent_id, path=path, reason=reason)
            rows = None if reason is not None else tuple(self._observer.sources[index].rows)
            groups.append(AgentRows(agent_id=location.agent_id, path=path, rows=rows))
        return groups, list(problems.values())

    def _listed_locations(self, request: ListingRequest) -> list[StoreLocation]:
        agents = self._observer.settings.agents
        if request.agent and request.all_agents:
            raise BadRequest("--agent and --all-agents cannot be used together.")
        if request.store is not None:
            if request.agent or request.all_agents:
                raise BadRequest("--store cannot be combined with --agent or --all-agents.")
            path = discovery.resolve_store(
                request.store, agents.default_id, self._observer.directory.path, self._observer.environment
            )
            return [discovery.StoreLocation(agent_id=agents.default_id, path=path, configured=True)]
        if request.all_agents:
            return list(
                discovery.configured_stores(
                    agents,
                    self._observer.settings.session.store,
                    self._observer.directory.path,
                    self._observer.environment,
                )
            )
        stated = (request.agent or "").strip()
        agent_id = normalise_agent_id(stated) if stated else agents.default_id
        if agent_id not in agents.ids:
            known = ", ".join(agents.ids)
            raise NothingMatched(f'No agent "{request.agent}" is configured; configured are {known}.')
        return [self._location_of(agent_id)]

    def _location_of(self, agent_id: str) -> StoreLocation:
        path = discovery.resolve_store(
            self._observer.settings.session.store, agent_id, self._observer.directory.path, self._observer.environment
        )
        return discovery.StoreLocation(agent_id=agent_id, path=path, configured=True)

    def _told(self, problems: list[StoreProblem]) -> dict[str, object]:
        told: dict[str, object] = {"damage": tuple(problems)} if problems else {}
        if self._observer.settings.gateway.is_remote:
            told["authority"] = "remote"
        return told

    def _agent_directories(self) -> tuple[str, ...]:
        with suppress(EnvironmentFault):
            return discovery.agent_directories(self._observer.directory.path)
        return ()


def _collation(agent_id: str) -> list[tuple[int, str]]:
    """Return the sort key under which ICU orders agent ids: ``_`` before ``-`` before digits before letters."""
    ranks = {"_": 0, "-": 1}
    return [(ranks.get(char, 2 if char.isdigit() else 3), char) for char in agent_id]
