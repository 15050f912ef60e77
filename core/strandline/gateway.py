"""The one interface that front ends know: queries return frozen records, one stream of events tells the rest.

    async with open_gateway(path) as gateway:
        table = await gateway.sessions("kind:cron age>7d")

``Gateway`` is the protocol; ``open_gateway`` opens a state directory and observes it. Nothing is ever written there.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from strandline.local_gateway import LocalGateway
from strandline.state.discovery import Environment

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from pathlib import Path

    from strandline.events import DomainEvent
    from strandline.findings import Finding
    from strandline.listing import ListingRequest, SessionListing, StatusReport
    from strandline.rows import DirectoryView
    from strandline.session_report import SessionReport
    from strandline.settings.effective import Settings
    from strandline.tables import FileTable, SessionTable
    from strandline.transcript_answers import CheckAnswer, ContextAnswer, TreeAnswer
    from strandline.work.worker import Worker


class Gateway(Protocol):
    """What a front end may ask. Every query waits until what it needs has been read."""

    @property
    def view(self) -> DirectoryView:
        """The directory as known right now; never waits."""
        ...

    @property
    def settings(self) -> Settings:
        """The effective settings, each value with where it came from."""
        ...

    def events(self) -> AsyncIterator[DomainEvent]:
        """Subscribe: every event from this call on, in order, until the gateway closes.

        Subscribe before the first ``await`` after opening and no slice of the first load is missed.
        """
        ...

    async def sessions(self, filter_text: str = "") -> SessionTable:
        """Return every row with its facts, newest first, narrowed by a filter expression.

        Raises:
            BadRequest: the expression is wrong; the sentence names column and expectation.
        """
        ...

    async def listing(self, request: ListingRequest) -> SessionListing:
        """Return what ``openclaw sessions --json`` answers (spec 2026.5 §13.1)."""
        ...

    async def status(self) -> StatusReport:
        """Return the ``sessions`` block of ``openclaw status --json`` (spec 2026.5 §13.2)."""
        ...

    async def files(self) -> FileTable:
        """Return every file below the sessions directories with class and standing."""
        ...

    async def inspect(self, key: str, agent: str | None = None) -> SessionReport:
        """Return one session in depth: readings, thresholds, files, findings, each with its grounds.

        Args:
            key: the session key, in any spelling that OpenClaw takes for it.
            agent: the agent, where several stores hold the key.

        Raises:
            NothingMatched: no session has that key, or several stores hold it.
            EnvironmentFault, DamagedData: the store cannot be read; a transcript that cannot be is a finding.
        """
        ...

    async def findings(self) -> tuple[Finding, ...]:
        """Return everything that is not as it should be, the worst first."""
        ...

    async def context(self, target: str, *, at: str | None = None, agent: str | None = None) -> ContextAnswer:
        """Return what the model sees at an entry, or at the last one.

        Args:
            target: a transcript file, or a session key.
            at: id of an entry.
            agent: the agent, where several stores hold the key.

        Raises:
            NothingMatched: no such file, session or entry.
            Refused: the transcript is too large to be read as a whole.
            EnvironmentFault: it cannot be read.
        """
        ...

    async def tree(self, target: str, *, agent: str | None = None) -> TreeAnswer:
        """Return how the entries of a transcript hang together; see ``context``."""
        ...

    async def check(self, target: str, *, agent: str | None = None) -> CheckAnswer:
        """Return how a transcript is: damage with line and byte, oddities, findings; see ``context``."""
        ...

    async def refresh(self) -> None:
        """Look at the stores again; what changed is read once and told as events."""
        ...


@asynccontextmanager
async def open_gateway(
    path: Path | str | None = None,
    *,
    environment: Environment | None = None,
    worker: Worker | None = None,
    eager: bool = True,
    watch: bool = False,
) -> AsyncGenerator[Gateway, None]:
    """Open a state directory and observe it.

    Args:
        path: the state directory; without it the one that the real program would use is found.
        environment: variables, home and clock to go by; the process's own when left out.
        worker: a worker process that decodes stores above 2 MB, for callers whose loop must never wait; without one
            they are decoded in threads.
        eager: start reading everything at once; otherwise each query reads what it needs.
        watch: follow changes on disk and tell them as events within a second; ``refresh`` is not needed then.

    Raises:
        EnvironmentFault: the directory is missing, is a file, or may not be read.
    """
    gateway = await LocalGateway.open(
        path, environment or Environment.of_process(), worker=worker, eager=eager, watch=watch
    )
    try:
        yield gateway
    finally:
        await gateway.close()
