"""Domain events of a gateway as Qt signals, a bounded amount of work per turn of the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from strandline.rows import DirectoryUpdated, FactsRead, LoadFinished, RowsRead, StoreReplaced, StoreUpdated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from strandline.events import DomainEvent

TURN_SECONDS = 0.004
# A pause long enough for the window to paint and to take a key before the next slice is handled.
PAUSE_SECONDS = 0.001


class Bridge(QObject):
    """Turns the event stream of one gateway into signals.

    Signals:
        rows_read: the next slice of a store's rows (``RowsRead``).
        facts_read: facts about some transcripts (``FactsRead``).
        store_updated: what is known of a store changed (``StoreUpdated``).
        store_replaced: a store was read again (``StoreReplaced``).
        load_finished: the first load is complete (``LoadFinished``).
        directory_updated: configuration or set of stores changed (``DirectoryUpdated``).
    """

    rows_read = Signal(object)
    facts_read = Signal(object)
    store_updated = Signal(object)
    store_replaced = Signal(object)
    load_finished = Signal(object)
    directory_updated = Signal(object)

    async def carry(self, events: AsyncIterator[DomainEvent]) -> None:
        """Emit a signal per event until the stream ends."""
        began = time.perf_counter()
        try:
            async for event in events:
                self._emit(event)
                # An iterator whose queue is full never suspends by itself.
                if time.perf_counter() - began > TURN_SECONDS:
                    await asyncio.sleep(PAUSE_SECONDS)
                    began = time.perf_counter()
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()

    def _emit(self, event: DomainEvent) -> None:
        match event:
            case RowsRead():
                self.rows_read.emit(event)
            case FactsRead():
                self.facts_read.emit(event)
            case StoreUpdated():
                self.store_updated.emit(event)
            case StoreReplaced():
                self.store_replaced.emit(event)
            case LoadFinished():
                self.load_finished.emit(event)
            case DirectoryUpdated():
                self.directory_updated.emit(event)
            case _:
                pass
