"""The window's event loop: threads may call it until it closes."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from strandline_gui.event_loop import WindowEventLoop

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication


def test_a_thread_is_heard(qapp: QApplication) -> None:
    """A call from a thread is made on the loop's thread."""
    heard: list[int] = []

    async def listen() -> None:
        loop = asyncio.get_running_loop()
        done = asyncio.Event()

        def hear() -> None:
            heard.append(threading.get_ident())
            done.set()

        threading.Thread(target=loop.call_soon_threadsafe, args=[hear]).start()
        await done.wait()

    with asyncio.Runner(loop_factory=lambda: WindowEventLoop(qapp)) as runner:
        runner.run(listen())
    assert heard == [threading.get_ident()]


def test_closing_waits_for_a_call_that_is_handed_over(qapp: QApplication) -> None:
    """The signal is not disconnected while a thread is inside its emission."""
    told: list[str] = []
    inside, release = threading.Event(), threading.Event()

    loop = WindowEventLoop(qapp)

    def hand_over() -> None:
        with loop._handing_over:
            inside.set()
            release.wait()
            told.append("handed over")

    thread = threading.Thread(target=hand_over)
    thread.start()
    inside.wait()
    threading.Timer(0.05, release.set).start()
    loop.close()
    told.append("closed")
    thread.join()
    assert told == ["handed over", "closed"]


def test_a_late_call_is_dropped(qapp: QApplication) -> None:
    """A thread that outlives the loop neither fails nor is answered."""
    loop = WindowEventLoop(qapp)
    loop.close()
    heard: list[int] = []
    thread = threading.Thread(target=loop.call_soon_threadsafe, args=[heard.append, 1])
    thread.start()
    thread.join()
    qapp.processEvents()
    assert loop.is_closed()
    assert heard == []
