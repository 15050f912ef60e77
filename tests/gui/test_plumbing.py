"""Operations and the bridge: owned coroutines, events as signals in order and in small bites."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import QObject

from strandline.errors import Refused
from strandline.events import Closed, EventBus
from strandline.rows import RowsRead
from strandline_gui.bridge import Bridge
from strandline_gui.event_loop import WindowEventLoop
from strandline_gui.operations import Operations
from strandline_gui.options import Options, OptionsFile

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path


@pytest.fixture
def on_loop(qapp: Any) -> Callable[[Callable[[], Awaitable[None]]], None]:
    """Run a coroutine on the loop that the window runs on."""

    def run(work: Callable[[], Awaitable[None]]) -> None:
        with asyncio.Runner(loop_factory=lambda: WindowEventLoop(qapp)) as runner:
            runner.run(work())

    return run


def test_operations_report(on_loop: Any) -> None:
    """A result goes to its handler, a failure to its own or to the notice line, never nowhere."""

    async def work() -> None:
        owner = QObject()
        operations = Operations(owner)
        told: list[object] = []
        operations.failed.connect(told.append)

        async def succeed() -> int:
            return 7

        async def refuse() -> None:
            raise Refused("The store is damaged; nothing is planned.")

        operations.start(succeed(), on_success=told.append)
        operations.start(refuse(), on_failure=lambda error: told.append(type(error)))
        operations.start(refuse())
        await asyncio.sleep(0.05)
        assert told == [7, Refused, "The store is damaged; nothing is planned."]

    on_loop(work)


def test_operations_end_with_their_owner(on_loop: Any) -> None:
    """Closing cancels what runs, waits for its clean-up, and starts nothing any more."""

    async def work() -> None:
        owner = QObject()
        operations = Operations(owner)
        log: list[str] = []

        async def long() -> None:
            try:
                await asyncio.sleep(3600)
            finally:
                await asyncio.sleep(0)
                log.append("cleaned")

        operations.start(long(), on_success=lambda _: log.append("done"))
        await asyncio.sleep(0)
        await operations.close()
        assert log == ["cleaned"]
        assert operations.start(long()) is None

    on_loop(work)


def test_bridge_keeps_order_and_lets_go(on_loop: Any) -> None:
    """Thousands of events that wait at once arrive in order while the loop keeps turning."""

    async def work() -> None:
        bus, bridge = EventBus(), Bridge()
        events = bus.subscribe()
        got: list[int] = []

        def take(event: RowsRead) -> None:
            got.append(event.revision)
            time.sleep(0.0005)

        bridge.rows_read.connect(take)
        for revision in range(400):
            bus.publish(RowsRead(revision=revision, store=0, rows=()))
        bus.publish(Closed(revision=400))
        carrying = asyncio.ensure_future(bridge.carry(events))
        longest, last = 0.0, time.perf_counter()
        while not carrying.done():
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
        assert got == list(range(400))
        assert longest < 0.05

    on_loop(work)


def test_options_survive(on_loop: Any, tmp_path: Path) -> None:
    """Options come back as they were written; a disk that refuses is no error."""

    async def work() -> None:
        file = OptionsFile(tmp_path / "deep" / "window.json")
        assert file.read() == (Options(), "")
        wanted = Options(width=900, height=600, theme="dark", columns=("MODEL",), widths={"SIZE": 90})
        await file.write(wanted)
        assert file.read() == (wanted, "")
        assert [path.name for path in file.path.parent.iterdir()] == ["window.json"]
        await OptionsFile(tmp_path / "deep" / "window.json" / "below").write(wanted)

    on_loop(work)


@pytest.mark.parametrize("data", [b"", b"[]", b'{"theme": "pink"}', b"\xff\xfe", b'{"width": 1e400}'])
def test_unreadable_options(tmp_path: Path, data: bytes) -> None:
    """Options of any damage are left aside with a sentence that names the file."""
    file = OptionsFile(tmp_path / "window.json")
    file.path.write_bytes(data)
    options, sentence = file.read()
    assert options == Options()
    assert str(file.path) in sentence
