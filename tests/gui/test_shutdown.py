"""Closing at any moment, by any way: the process ends soon, with 0, and has nothing to complain about (A29, A30)."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CLOSING = """
import sys
from PySide6.QtCore import QCoreApplication, QEvent, QTimer, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from strandline.frontend import WindowRequest
from strandline_gui import application
from strandline_gui.app import run_window

path, way, delay = sys.argv[1], sys.argv[2], int(sys.argv[3])
shown = application.Session._show

def close(window):
    if way == "close":
        window.close()
    elif way == "twice":
        window.close()
        QTimer.singleShot(1, window.close)
        window.close()
    elif way == "key":
        window.activateWindow()
        QTest.keyClick(window, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    elif way == "system":
        QCoreApplication.sendEvent(QCoreApplication.instance(), QEvent(QEvent.Type.Quit))
    elif way == "dialog":
        window._about()
        window._choose_directory()
        window.close()
    elif way == "reopen":
        window.directory_asked.emit(path)
        window.sample_asked.emit()
        window.reload_asked.emit()
        window.close()
    elif way == "quit":
        QCoreApplication.quit()

def show(session, *arguments):
    shown(session, *arguments)
    if delay < 0:
        close(session.window)
    else:
        QTimer.singleShot(delay, lambda: close(session.window))

application.Session._show = show
sys.exit(run_window(WindowRequest(path=path)))
"""
LIMIT = 3.0


@pytest.mark.parametrize(
    ("way", "delay"),
    [
        *(
            (way, delay)
            for way in ("close", "twice", "system", "quit", "dialog", "reopen")
            for delay in (-1, 0, 50, 200)
        ),
        # A shortcut needs a window that is already active.
        ("key", 100),
        ("key", 200),
    ],
)
def test_closing_is_clean(run_program: Any, samples: Path, way: str, delay: int) -> None:
    """Every way of closing, from the first turn of the loop on, ends with 0 and an empty stderr."""
    done = run_program(CLOSING, str(samples / "harbour"), way, str(delay))
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


@pytest.mark.parametrize("delay", [0, 50, 200])
def test_closing_is_clean_under_debug(run_program: Any, samples: Path, delay: int) -> None:
    """asyncio's debug mode sees no task and no transport left behind."""
    done = run_program(
        CLOSING, str(samples / "harbour"), "close", str(delay), PYTHONASYNCIODEBUG="1", PYTHONWARNINGS="error"
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("delay", [0.0, 0.3, 0.6, 1.2])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends processes without a signal")
def test_signals_end_the_window(
    program_variables: Callable[..., dict[str, str]], samples: Path, number: signal.Signals, delay: float
) -> None:
    """SIGTERM and Ctrl+C take the same way out within three seconds, whatever the window is doing."""
    script = (
        "import sys; from strandline.frontend import WindowRequest; from strandline_gui import application, app\n"
        "first = application.Signals.__init__\n"
        "def ready(self, call):\n    first(self, call)\n    print('ready', flush=True)\n"
        "application.Signals.__init__ = ready\n"
        "sys.exit(app.run_window(WindowRequest(path=sys.argv[1])))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(samples / "harbour")],
        env=program_variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(delay)
        process.send_signal(number)
        began = time.monotonic()
        _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (0, "")
    assert time.monotonic() - began < LIMIT


def test_a_core_that_hangs_does_not_hold_the_window(run_program: Any, samples: Path) -> None:
    """A gateway that will not close is left behind: the process ends within three seconds all the same."""
    script = (
        "import asyncio, time\n"
        "from strandline import gateway as g\n"
        "from strandline_gui import connection\n"
        "async def never(self):\n    await asyncio.sleep(3600)\n"
        "connection.Connection.close = never\n" + CLOSING
    )
    began = time.monotonic()
    done = run_program(script, str(samples / "harbour"), "close", "50")
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - began < LIMIT + 2  # the start of the process counts here


@pytest.mark.soak
def test_closing_fifty_times(run_program: Any, samples: Path) -> None:
    """Fifty runs closed at fifty moments of the first 200 ms are all clean."""
    for delay in range(0, 200, 4):
        done = run_program(CLOSING, str(samples / "harbour"), "close", str(delay), PYTHONASYNCIODEBUG="1")
        assert (delay, done.returncode, done.stderr) == (delay, 0, "")
