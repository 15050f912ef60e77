"""Domain events: what changed, told once to everyone who listens.

A listener gets every event published after it subscribed, in order. Each room defines the events that tell of its own
things as subclasses of ``DomainEvent``. Nothing here knows a thread: publish on the loop that the listeners run on.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class DomainEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every event.

    Attributes:
        revision: the gateway's snapshot number after the event; grows by one per change, starts at 0.
    """

    revision: int


class Closed(DomainEvent, frozen=True, kw_only=True):
    """The gateway is closing; no event follows."""


class EventBus:
    """Hands every published event to every open subscription, in order."""

    def __init__(self) -> None:
        self._queues: list[asyncio.Queue[DomainEvent]] = []
        self._closed = False

    def publish(self, event: DomainEvent) -> None:
        """Queue ``event`` for each subscription; never blocks."""
        if isinstance(event, Closed):
            self._closed = True
        for queue in self._queues:
            queue.put_nowait(event)

    def subscribe(self) -> AsyncIterator[DomainEvent]:
        """Iterate over the events from now on; ends after ``Closed``.

        The subscription starts with this call, not with the first ``await``, so nothing published in between is lost.
        """
        queue: asyncio.Queue[DomainEvent] = asyncio.Queue()
        if not self._closed:
            self._queues.append(queue)
        return self._drain(queue)

    async def _drain(self, queue: asyncio.Queue[DomainEvent]) -> AsyncIterator[DomainEvent]:
        if queue not in self._queues:
            return
        try:
            while True:
                event = await queue.get()
                yield event
                if isinstance(event, Closed):
                    return
        finally:
            self._queues.remove(queue)
