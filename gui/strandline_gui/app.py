"""Where the window begins: what must be there is checked before Qt is touched, then the two event loops become one.

Importing this module costs nothing and needs no Qt, so that a system without it gets a sentence instead of an abort.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from strandline_gui import preflight

if TYPE_CHECKING:
    from strandline.frontend import WindowRequest

ENVIRONMENT_FAULT = 4


def run_window(request: WindowRequest) -> int:
    """Open the window and return the exit code once it is closed."""
    sentence = preflight.problem(picture=request.screenshot is not None)
    if not sentence:
        # qasync picks the first Qt it finds unless told.
        os.environ["QT_API"] = "pyside6"
        try:
            import_module("PySide6.QtWidgets")
        except ImportError as error:
            sentence = preflight.import_sentence(error)
    if sentence:
        print(sentence, file=sys.stderr)  # noqa: T201 - without a window this is the place to say it
        return ENVIRONMENT_FAULT
    return _run(request)


def main() -> int:
    """Open the window on the directory that the real program would use."""
    from strandline.frontend import WindowRequest  # noqa: PLC0415 - the command brings its own

    return run_window(WindowRequest())


def _run(request: WindowRequest) -> int:
    from strandline_gui.application import (  # noqa: PLC0415 - after Qt is known to load
        make_application,
        run_session,
    )
    from strandline_gui.event_loop import WindowEventLoop  # noqa: PLC0415 - likewise

    # Under PYTHONASYNCIODEBUG it warns about every callback that paints.
    logging.getLogger("qasync").setLevel(logging.ERROR)
    app = make_application()
    with asyncio.Runner(loop_factory=lambda: WindowEventLoop(app)) as runner:
        return runner.run(run_session(app, request))


if __name__ == "__main__":
    sys.exit(main())
