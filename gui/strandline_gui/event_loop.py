"""Qt's event loop as asyncio's; the only importer of ``qasync``, which has no types."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from qasync import QEventLoop

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

    from PySide6.QtWidgets import QApplication


class WindowEventLoop(QEventLoop):
    """A loop that threads may call until it closes, and not a moment longer.

    qasync hands a thread's call over by a Qt signal. When the loop closes while a thread is still inside that emission
    (asyncio's thread that waits for a child is, just after it told the child's end), the thread frees the disconnected
    slot, a Python function, without the interpreter's lock, and the process dies. So closing waits for emissions.
    """

    def __init__(self, app: QApplication) -> None:
        self._handing_over = threading.RLock()
        self._closing = False
        super().__init__(app)  # pyright: ignore[reportUnknownMemberType]  # no types

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> None:
        """Call ``callback`` on the loop's thread; once the loop closes, nobody is there to do so: it is dropped."""
        with self._handing_over:
            if not self._closing:
                super().call_soon_threadsafe(  # pyright: ignore[reportUnknownMemberType]  # no types
                    callback, *args, context=context
                )

    def close(self) -> None:
        """Close the loop once no thread is handing over a call."""
        # Not held any longer: closing waits for the executor's threads, which may want to hand over a last call.
        with self._handing_over:
            self._closing = True
        super().close()
