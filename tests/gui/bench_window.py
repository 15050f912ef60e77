"""Probes of the real window for ``tests/bench.py``: each prints one JSON object with its figures."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

os.environ["QT_API"] = "pyside6"

from PySide6.QtCore import QCoreApplication, Qt, QTimer

from strandline.filters import parse_filter
from strandline.frontend import WindowRequest
from strandline_gui.application import Session, StrandlineApplication, make_application
from strandline_gui.event_loop import WindowEventLoop
from strandline_gui.models.columns import Column

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

TICK_MS = 5
IDLE_SECONDS = 5
SAMPLES = ("tide", "-tide", "agent:main", "ctx>40%", "age<30d", "agent:main tide", "")


async def settle(session: Session) -> None:
    """Wait until rows and facts are there and painted."""
    assert session.window is not None
    while True:
        if session.window.page.settled:
            break
        await asyncio.sleep(0.02)
    session.window.repaint()


async def sort(session: Session) -> dict[str, float]:
    """Milliseconds for the slowest sort and the slowest filter, repaint included."""
    await settle(session)
    assert session.window is not None
    page = session.window.page
    figures: dict[str, float] = {}
    for column in Column:
        for order in (Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder):
            began = time.perf_counter()
            page.model.sort(column, order)
            page.table.viewport().repaint()
            figures[f"sort {column.name} {order.name}"] = (time.perf_counter() - began) * 1000
    for text in SAMPLES:
        wanted = parse_filter(text)
        began = time.perf_counter()
        page.model.set_filter(wanted)
        page.table.viewport().repaint()
        figures[f"filter {text}"] = (time.perf_counter() - began) * 1000
        await asyncio.sleep(0.01)
    return {
        "sort": max(value for name, value in figures.items() if name.startswith("sort")),
        "filter": max(value for name, value in figures.items() if name.startswith("filter")),
        **figures,
    }


async def gap(session: Session) -> dict[str, float]:
    """Gaps between ticks of a 5 ms timer while a directory loads."""
    return await gaps(session, lambda: settle(session))


async def gap_idle(session: Session) -> dict[str, float]:
    """The same over a window that has nothing to do."""
    await settle(session)
    return await gaps(session, lambda: asyncio.sleep(IDLE_SECONDS))


async def gaps(_session: Session, work: Callable[[], Awaitable[None]]) -> dict[str, float]:
    """Measure while ``work`` runs."""
    moments = [time.perf_counter()]
    timer = QTimer()
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    timer.timeout.connect(lambda: moments.append(time.perf_counter()))
    timer.start(TICK_MS)
    await work()
    timer.stop()
    found = sorted((after - before) * 1000 for before, after in pairwise(moments))
    return {
        "p50": statistics.median(found),
        "p99": found[int(len(found) * 0.99)],
        "max": found[-1],
        "ticks": len(found),
        "seconds": moments[-1] - moments[0],
    }


async def memory(session: Session) -> dict[str, float]:
    """Resident megabytes of the window and of its worker."""
    await settle(session)
    me = psutil.Process()
    children = sum(child.memory_info().rss for child in me.children(recursive=True))
    return {"window": me.memory_info().rss / 1024**2, "worker": children / 1024**2}


PROBES = {"sort": sort, "gap": gap, "gap-idle": gap_idle, "memory": memory}


async def run(app: StrandlineApplication, name: str, directory: str) -> dict[str, float]:
    """Open the window, probe it, close it."""
    session = Session(WindowRequest(path=directory, exit_after_first_rows=True), None, end_by_itself=False)
    running = asyncio.ensure_future(session.run())
    while True:
        if session.window is not None:
            break
        await asyncio.sleep(0)
    figures = await PROBES[name](session)
    session.stop_quietly()
    await running
    QCoreApplication.processEvents()
    del app
    return figures


def main() -> None:
    """Run one probe: ``bench_window.py sort|gap|gap-idle|memory [DIRECTORY]``."""
    name = sys.argv[1]
    directory = sys.argv[2] if len(sys.argv) > 2 else str(Path(__file__).parent)
    app = make_application()
    with asyncio.Runner(loop_factory=lambda: WindowEventLoop(app)) as runner, suppress(KeyboardInterrupt):
        print(json.dumps(runner.run(run(app, name, directory))))


if __name__ == "__main__":
    main()
