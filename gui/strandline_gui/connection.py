"""The gateway behind the window: opened, listened to, closed; one at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from strandline.errors import StrandlineError
from strandline.gateway import open_gateway
from strandline.work.worker import Worker
from strandline_gui.bridge import Bridge
from strandline_gui.operations import Operations, sentence_of

if TYPE_CHECKING:
    from pathlib import Path

    from strandline.gateway import Gateway


class Connection(QObject):
    """Holds at most one gateway open.

    Signals:
        opened: a gateway is there; nothing of it has been told yet.
        failed: the directory could not be opened; one sentence for a person.
        faulted: something broke while it was open; one sentence.
    """

    opened = Signal()
    failed = Signal(str)
    faulted = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.gateway: Gateway | None = None
        self.bridge = Bridge(self)
        self.path: str | None = None
        self._worker = Worker()
        self._operations = Operations(self)
        self._operations.failed.connect(self.faulted)
        self._run: asyncio.Task[None] | None = None
        self._warming: asyncio.Future[None] | None = None

    def open(self, path: str | None) -> None:
        """Close what is open and open a directory; ``None`` finds the one that the real program would use."""
        before, self.path = self._run, path
        if before is not None:
            before.cancel()
        self._run = self._operations.start(self._hold(path, before), name="gateway")

    def warm_up(self) -> None:
        """Start the worker, so that it is ready when a large store asks for it."""
        self._warming = asyncio.ensure_future(self._worker.start())

    def refresh(self) -> None:
        """Look at the stores again, or try once more to open what could not be opened."""
        if self.gateway is not None:
            self._operations.start(self.gateway.refresh(), name="refresh")
        elif self._run is None or self._run.done():
            self.open(self.path)

    async def close(self) -> None:
        """Stop listening, close the gateway, end the worker."""
        await self._operations.close()
        if self._warming is not None:
            # A child that is just being started is waited for; cancelled half-way it would be left behind.
            await asyncio.wait([self._warming])
        await self._worker.close()

    async def _hold(self, path: Path | str | None, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        bridge = Bridge(self)
        try:
            async with open_gateway(path, worker=self._worker, watch=True) as gateway:
                # Before the first await, so that no slice of the first load is missed.
                events = gateway.events()
                self.gateway, self.bridge = gateway, bridge
                try:
                    self.opened.emit()
                    await bridge.carry(events)
                finally:
                    self.gateway = None
                    bridge.deleteLater()
        except (StrandlineError, OSError) as error:
            self.failed.emit(sentence_of(error))
