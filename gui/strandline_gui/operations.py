"""Coroutines started from the window: owned, cancelled with their owner, never lost when they fail."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import QObject, Signal

from strandline.errors import StrandlineError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

ResultT = TypeVar("ResultT")


class Operations(QObject):
    """The running coroutines of one owner.

    Signals:
        failed: a coroutine without its own failure handler failed; the sentence is fit to be shown.
    """

    failed = Signal(str)

    def __init__(self, owner: QObject) -> None:
        super().__init__(owner)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    def start(
        self,
        work: Coroutine[Any, Any, ResultT],
        *,
        on_success: Callable[[ResultT], None] | None = None,
        on_failure: Callable[[Exception], None] | None = None,
        name: str | None = None,
    ) -> asyncio.Task[ResultT] | None:
        """Run ``work`` on the event loop.

        After ``close`` nothing starts any more and ``None`` is returned.
        """
        if self._closed:
            work.close()
            return None
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)

        def settled(done: asyncio.Task[ResultT]) -> None:
            self._tasks.discard(done)
            if done.cancelled():
                return
            error = done.exception()
            if error is None:
                if on_success is not None and not self._closed:
                    on_success(done.result())
            elif on_failure is not None and isinstance(error, Exception):
                on_failure(error)
            else:
                self.failed.emit(sentence_of(error))

        task.add_done_callback(settled)
        return task

    async def close(self) -> None:
        """Cancel everything that runs and wait until it has ended."""
        self._closed = True
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def sentence_of(error: BaseException) -> str:
    """Return what to show a person: our own sentences as they are, anything else named as our mistake."""
    if isinstance(error, StrandlineError):
        return str(error)
    return f"Something went wrong in Strandline: {type(error).__name__}: {error}"
