"""The window with everything behind it, from the first turn of the event loop to the last."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, QSocketNotifier, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from strandline_gui.capture import Capture
from strandline_gui.connection import Connection
from strandline_gui.main_window import MainWindow
from strandline_gui.operations import Operations, sentence_of
from strandline_gui.options import Options, OptionsFile
from strandline_gui.style import StrandlineStyle
from strandline_gui.theme import Size, Text, font, theme

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import FrameType

    from strandline.frontend import WindowRequest

ENVIRONMENT_FAULT = 4
# The process is gone within 3 s of being asked to go, whatever the core is doing.
CLOSE_SECONDS = 2.0


class StrandlineApplication(QApplication):
    """Qt's application, which turns the system's wish to quit into ours."""

    def __init__(self, arguments: Sequence[str] = ("strandline",)) -> None:
        super().__init__(list(arguments))
        self.on_quit: Callable[[], None] | None = None
        self.setApplicationName("strandline")
        self.setApplicationDisplayName("Strandline")
        self.setDesktopFileName("strandline")
        self.setQuitOnLastWindowClosed(False)

    def event(self, event: QEvent) -> bool:
        """Take ⌘Q, the Dock's Quit and a session's end on the one way out."""
        if event.type() == QEvent.Type.Quit and self.on_quit is not None:
            self.on_quit()
            return True
        return super().event(event)


class Session(QObject):
    """One run of the window: opens, wires, and takes everything down again in order.

    Args:
        request: how the window is to be opened.
        options_file: where choices are remembered; the user's own when left out, none for pictures.
        end_by_itself: whether a request for a picture or for first rows ends the run; a measurement looks on instead.
    """

    def __init__(self, request: WindowRequest, options_file: OptionsFile | None, *, end_by_itself: bool = True) -> None:
        super().__init__()
        self._request = request
        self._alone = request.screenshot is not None or request.exit_after_first_rows
        self._ends = end_by_itself
        self._options_file = None if self._alone else options_file or OptionsFile()
        self._stop: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._operations = Operations(self)
        self.connection = Connection()
        self.window: MainWindow | None = None
        self._written: Options | None = None

    def ask_stop(self, code: int = 0) -> None:
        """Begin the way out; asking again changes nothing."""
        if not self._stop.done():
            self._stop.set_result(code)

    def stop_quietly(self) -> None:
        """Begin the way out because a person or the system wants it."""
        self.ask_stop()

    async def run(self) -> int:
        """Show the window and return the exit code once it is closed."""
        try:
            self.connection.open(self._request.path)
            self.connection.warm_up()
            options, remark = Options(), ""
            if self._options_file is not None:
                options, remark = await asyncio.to_thread(self._options_file.read)
            if not self._stop.done():
                self._show(options, remark)
            return await self._stop
        finally:
            gc.enable()
            await self._close()

    def _show(self, options: Options, remark: str) -> None:
        request = self._request
        theme().choose(request.theme or options.theme)
        fixed_ms = self._request.now_ms
        window = self.window = MainWindow(options, clock=None if fixed_ms is None else lambda: fixed_ms)
        connection = self.connection
        connection.opened.connect(self._opened)
        connection.failed.connect(self._failed)
        connection.faulted.connect(window.tell_failure)
        self._operations.failed.connect(window.tell_failure)
        window.close_asked.connect(self.stop_quietly)
        window.directory_asked.connect(self._open)
        window.sample_asked.connect(self._open_sample)
        window.reload_asked.connect(connection.refresh)
        window.options_changed.connect(self._remember)
        if request.width and request.height:
            window.resize(request.width, request.height)
        window.show_opening(request.path or "")
        if connection.gateway is not None:
            self._opened()
        if request.filter_text:
            window.page.filter_field.set_text(request.filter_text)
        if remark:
            window.tell_failure(remark)
        if request.screenshot is not None:
            # Never on a screen: a window manager would give it another size.
            window.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
        window.show()
        window.page.table.setFocus()
        self._end_by_itself(window)

    def _end_by_itself(self, window: MainWindow) -> None:
        request = self._request
        if not (self._alone and self._ends):
            return
        capture = Capture(window)
        capture.ended.connect(self._captured)
        if request.screenshot is not None:
            width, height = request.width or Size.WINDOW_WIDTH, request.height or Size.WINDOW_HEIGHT
            capture.save_picture(request.screenshot, width, height)
        else:
            capture.prove_first_rows()

    def _captured(self, code: int, sentence: str) -> None:
        if self._stop.done():
            return
        if sentence:
            print(sentence, file=sys.stderr)  # noqa: T201 - whoever asked for a picture has no window to read it in
        self.ask_stop(code)

    def _opened(self) -> None:
        gateway, window = self.connection.gateway, self.window
        if gateway is not None and window is not None:
            window.show_directory(lambda: gateway.view, self.connection.bridge)
            self.connection.bridge.load_finished.connect(self._resume_collector)
            self._pause_collector()

    def _pause_collector(self) -> None:
        """Rows hold no cycles, and walking 50,000 of them for one stalls the window for 50 ms."""
        gc.unfreeze()
        gc.disable()

    def _resume_collector(self) -> None:
        gc.freeze()
        gc.enable()

    def _failed(self, sentence: str) -> None:
        if self.window is not None:
            self.window.show_failure(self.connection.path or "", sentence)
        if self._alone:
            self._captured(ENVIRONMENT_FAULT, sentence)

    def _open(self, path: str) -> None:
        if self.window is not None:
            self.window.show_opening(path)
        self.connection.open(path)

    def _open_sample(self) -> None:
        self._operations.start(asyncio.to_thread(_sample_path), on_success=lambda path: self._open(str(path)))

    def _remember(self) -> None:
        if self._options_file is not None and self.window is not None:
            options = self.window.options()
            if options != self._written:
                self._written = options
                self._operations.start(self._options_file.write(options))

    async def _close(self) -> None:
        """Take everything down: what runs, the gateway, the worker, then the window."""
        options = self.window.options() if self.window is not None else None
        ending = asyncio.ensure_future(self._end_core(options))
        await asyncio.wait([ending], timeout=CLOSE_SECONDS)
        ending.cancel()
        if self.window is not None:
            self.window.close_for_good()
            self.window.deleteLater()

    async def _end_core(self, options: Options | None) -> None:
        await self._operations.close()
        await self.connection.close()
        if self._options_file is not None and options is not None and options != self._written:
            await self._options_file.write(options)


class Signals:
    """Ctrl+C and SIGTERM as a call on the GUI thread, on every system.

    Python runs signal handlers between byte codes; while Qt waits there are none, so a byte on a socket wakes it.
    """

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read)
        self._notifier.activated.connect(self._drain)
        self._before_fd = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}

    def close(self) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._before_fd)
        self._notifier.setEnabled(False)
        self._notifier.deleteLater()
        self._reader.close()
        self._writer.close()

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self._call()

    def _drain(self) -> None:
        try:
            self._reader.recv(64)
        except OSError:
            return


def make_application() -> StrandlineApplication:
    """Return Qt's application with style, font and palette in place."""
    QGuiApplication.setHighDpiScaleFactorRoundingPolicy(Qt.HighDpiScaleFactorRoundingPolicy.PassThrough)
    app = StrandlineApplication()
    dress(app)
    return app


def dress(app: QApplication) -> None:
    """Give the application its style, font and palette."""
    app.setStyle(StrandlineStyle())
    app.setFont(font(Text.BODY))
    theme().follow()


async def run_session(
    app: StrandlineApplication, request: WindowRequest, options_file: OptionsFile | None = None
) -> int:
    """Run one session of the window on the present event loop and return its exit code."""
    session = Session(request, options_file)

    def report(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        sentence = sentence_of(error) if error is not None else str(context.get("message"))
        if session.window is not None:
            session.window.tell_failure(sentence)
        else:
            print(sentence, file=sys.stderr)  # noqa: T201 - there is no window to show it in

    asyncio.get_running_loop().set_exception_handler(report)
    app.on_quit = session.stop_quietly
    app.commitDataRequest.connect(session.stop_quietly)
    signals = Signals(session.stop_quietly)
    try:
        return await session.run()
    finally:
        signals.close()


def _sample_path() -> Path:
    import platformdirs  # noqa: PLC0415 - only for the sample

    from strandline.state.sample import ensure_sample  # noqa: PLC0415 - likewise

    data = platformdirs.user_data_path("strandline", appauthor=False)
    return ensure_sample(data, "harbour", time.time_ns() // 1_000_000)
