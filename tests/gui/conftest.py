"""The window under test: the real application object, the real event loop, real directories."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["QT_API"] = "pyside6"

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication

from rows_factory import NOW_MS, make_facts, make_row
from strandline.frontend import WindowRequest
from strandline.rows import DirectoryView, RowsRead, SessionRow, StoreState, StoreView
from strandline.state.sample import build_sample
from strandline_gui.application import Session, StrandlineApplication, dress
from strandline_gui.bridge import Bridge
from strandline_gui.event_loop import WindowEventLoop
from strandline_gui.options import OptionsFile
from strandline_gui.pages.sessions_page import SessionsPage
from strandline_gui.theme import theme

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

NAMES = ("tide", "reef", "buoy")
NO_HINTS = "This plugin does not support propagateSizeHints"
ROOT = Path(__file__).parent.parent.parent
RUN = """
import sys, msgspec
from strandline.frontend import WindowRequest
from strandline_gui.app import run_window
sys.exit(run_window(msgspec.json.decode(sys.argv[1], type=WindowRequest)))
"""


@pytest.fixture(scope="session")
def qapp_cls() -> type[QApplication]:
    """Tests run on the application that the program runs on."""
    return StrandlineApplication


@pytest.fixture(autouse=True)
def _dressed(qapp: QApplication) -> Iterator[None]:
    if not qapp.property("dressed"):
        dress(qapp)
        qapp.setProperty("dressed", True)
    yield
    theme().choose("light")


@pytest.fixture(scope="module", autouse=True)
def _collected() -> Iterator[None]:
    """Free here what a module left in cycles: a later collection may run in a thread, where Qt objects must not die."""
    yield
    gc.unfreeze()
    gc.collect()


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both samples, built once; a test that changes one copies it."""
    folder = tmp_path_factory.mktemp("samples")
    for name in ("harbour", "damaged"):
        build_sample(folder / name, name, time.time_ns() // 1_000_000)
    return folder


@pytest.fixture
def harbour(samples: Path, tmp_path: Path) -> Path:
    """The sample, to do with as one likes."""
    return Path(shutil.copytree(samples / "harbour", tmp_path / "state"))


@pytest.fixture
def rows() -> Callable[..., tuple[SessionRow, ...]]:
    """Make a number of different rows of one store."""

    def make(count: int, *, store: int = 0, first: int = 0, **changes: Any) -> tuple[SessionRow, ...]:
        channels = ("telegram", "slack", "discord", "signal", "")
        return tuple(
            make_row(
                **{
                    "store": store,
                    "position": number,
                    "key": f"agent:main:slack:direct:u{number}",
                    "name": f"{NAMES[number % 3]} {number}",
                    "channel": channels[number % 5],
                    "updated_at": None if number % 11 == 0 else NOW_MS - (number * 7919 % 1000) * 60_000,
                    "total_tokens": None if number % 7 == 0 else (number * 104_729) % 200_000,
                    "total_tokens_fresh": number % 5 != 0,
                    "status": (None, "running", "done", "failed")[number % 4],
                    **changes,
                }
            )
            for number in range(first, first + count)
        )

    return make


@pytest.fixture
def facts_of() -> Callable[..., tuple[Any, ...]]:
    """Make facts for rows."""

    def make(found: tuple[SessionRow, ...], **changes: Any) -> tuple[Any, ...]:
        return tuple(
            make_facts(**{"store": row.store, "key": row.key, "bytes": row.position * 1000, **changes}) for row in found
        )

    return make


@pytest.fixture
def directory() -> Callable[..., DirectoryView]:
    """Make a view of a directory."""

    def make(*stores: StoreView, **changes: Any) -> DirectoryView:
        fields: dict[str, Any] = {
            "path": "/home/ada/.openclaw",
            "title": "~/.openclaw",
            "found_by": "the default",
            "mode": "observe",
            "authority": "local",
            "remote_url": None,
            "sample": False,
            "config_path": "/home/ada/.openclaw/openclaw.json",
            "problems": (),
            "maintenance": "warn",
            "stores": stores
            or (StoreView(agent_id="main", path="/s/sessions.json", configured=True, state=StoreState.READ),),
        }
        return DirectoryView(**{**fields, **changes})

    return make


@pytest.fixture
def page(
    qtbot: Any, directory: Callable[..., DirectoryView]
) -> Iterator[tuple[SessionsPage, Bridge, list[DirectoryView]]]:
    """A page on show, the bridge that feeds it, and a cell with the view that it sees."""
    made = SessionsPage(clock=lambda: NOW_MS)
    qtbot.addWidget(made)
    bridge, view = Bridge(made), [directory()]
    made.resize(1000, 600)
    made.show()
    # Without a window manager a window has the keyboard only once it asks for it.
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    made.attach(lambda: view[0], bridge)
    yield made, bridge, view
    made.hide()


@pytest.fixture
def fill(page: tuple[SessionsPage, Bridge, list[DirectoryView]]) -> Callable[[tuple[SessionRow, ...]], None]:
    """Hand rows to the page as a gateway does."""

    def give(found: tuple[SessionRow, ...]) -> None:
        page[1].rows_read.emit(RowsRead(revision=1, store=found[0].store, rows=found))
        page[0]._flush_rows_now()

    return give


@pytest.fixture
def in_window(qapp: QApplication, tmp_path: Path) -> Callable[..., None]:
    """Open the window on a directory, run a coroutine against it, close it as a person does."""

    def run(path: Path | str | None, act: Callable[[Session], Awaitable[None]], **request: Any) -> None:
        async def live() -> int:
            asked = WindowRequest(path=None if path is None else str(path), **request)
            session = Session(asked, OptionsFile(tmp_path / "options" / "window.json"))
            running = asyncio.ensure_future(session.run())
            await until(lambda: session.window is not None)
            assert session.window is not None
            try:
                await act(session)
            finally:
                session.window.close()
                code = await running
            return code

        with asyncio.Runner(loop_factory=lambda: WindowEventLoop(qapp)) as runner:
            assert runner.run(live()) == 0
        qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    return run


async def until(holds: Callable[[], bool]) -> None:
    """Let the loop turn until something holds; it is a failure when it never does."""
    for _ in range(2000):
        if holds():
            return
        await asyncio.sleep(0.01)
    pytest.fail("waited for something that did not happen")


@pytest.fixture(name="until")
def _until() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    return until


@pytest.fixture
def settle() -> Callable[[Session], Awaitable[None]]:
    """Wait until the first load is on show."""

    async def wait(session: Session) -> None:
        window = session.window
        assert window is not None
        await until(lambda: window.page.settled)

    return wait


@pytest.fixture
def run_program(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the window as a process of its own, with a home of its own."""

    def run(script: str = RUN, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", script, *arguments],
            env=program_environment(tmp_path, **variables),
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        # The platform without a screen says so of every dialog.
        done.stderr = "".join(line for line in done.stderr.splitlines(keepends=True) if NO_HINTS not in line)
        return done

    return run


@pytest.fixture
def program_variables(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Environment for a process of its own."""
    return lambda **variables: program_environment(tmp_path, **variables)


def program_environment(home: Path, **variables: str) -> dict[str, str]:
    """Return the environment of a test's own process."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("core", "gui", "resources")),
        "QT_QPA_PLATFORM": "offscreen",
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        **variables,
    }


@pytest.fixture
def click() -> Callable[[Any, QPoint], None]:
    """Press and release the left button on a widget."""

    def press(widget: Any, at: QPoint) -> None:
        for kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease):
            where = QPointF(at)
            button = Qt.MouseButton.LeftButton
            none = Qt.KeyboardModifier.NoModifier
            event = QMouseEvent(kind, where, widget.mapToGlobal(where), button, button, none)
            QApplication.sendEvent(widget, event)

    return press
