"""The two ways in which the window ends by itself: with a picture, or at the first rows that react."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent

if TYPE_CHECKING:
    from strandline_gui.main_window import MainWindow

_LOOK_MS = 2
_LIMIT_MS = 120_000
DONE, FAILED, NOTHING = 0, 1, 3


class Capture(QObject):
    """Watches a window until it can be left.

    Signals:
        ended: exit code, and a sentence where it is not 0.
    """

    ended = Signal(int, str)

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._limit = QTimer(self)
        self._limit.setSingleShot(True)
        self._limit.setInterval(_LIMIT_MS)
        self._limit.timeout.connect(lambda: self._end(FAILED, "The window did not settle within two minutes."))

    def save_picture(self, file: str, width: int, height: int) -> None:
        """Save one picture once rows and facts have settled."""
        self._watch(lambda: self._window.page.settled, lambda: self._save(file, width, height))

    def prove_first_rows(self) -> None:
        """End once sorted rows have been painted and one of them reacted to a key."""
        page = self._window.page
        self._watch(lambda: page.has_sorted_rows or page.settled, self._press_key)

    def _watch(self, ready: object, then: object) -> None:
        def look() -> None:
            if callable(ready) and callable(then) and ready():
                self._timer.stop()
                then()

        self._timer.timeout.connect(look)
        self._timer.start()
        self._limit.start()

    def _save(self, file: str, width: int, height: int) -> None:
        window = self._window
        window.resize(width, height)
        # Layouts and hidden columns follow the new size first.
        QCoreApplication.sendPostedEvents()
        picture = window.grab()
        ratio = picture.devicePixelRatio()
        if (round(picture.width() / ratio), round(picture.height() / ratio)) != (width, height):
            self._end(FAILED, f"The picture is {picture.width()} × {picture.height()}, not what was asked for.")
        elif not picture.save(file, "PNG"):
            self._end(FAILED, f"The picture cannot be saved as {file}; check the folder and its permission.")
        else:
            self._end(DONE, "")

    def _press_key(self) -> None:
        table = self._window.page.table
        if not self._window.page.model.rowCount():
            self._end(NOTHING, "There is no row to show.")
            return
        table.viewport().repaint()
        for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
            QCoreApplication.sendEvent(table, QKeyEvent(kind, Qt.Key.Key_Down, Qt.KeyboardModifier.NoModifier))
        reacted = table.selectionModel().hasSelection()
        table.viewport().repaint()
        self._end(*((DONE, "") if reacted else (FAILED, "The first row did not react to a key.")))

    def _end(self, code: int, sentence: str) -> None:
        self._timer.stop()
        self._limit.stop()
        self.ended.emit(code, sentence)
