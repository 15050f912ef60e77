"""What the command hands to a front end that runs in the same process, such as the window.

A front end announces itself in the entry-point group ``strandline.frontends``; the command finds it there and never
imports it by name.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

FRONTENDS_GROUP = "strandline.frontends"
PAGES = ("sessions",)

Theme: TypeAlias = Literal["light", "dark"]


class WindowRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How a window is to be opened.

    Attributes:
        path: the state directory; ``None`` finds the one that the real program would use.
        sample: whether ``path`` is Strandline's own sample data.
        screenshot: file to save one settled picture to, after which the program ends.
        page: name of the page to show.
        theme: colour scheme; ``None`` follows the system.
        width: width in logical pixels; 0 leaves the choice to the window.
        height: height in logical pixels; 0 leaves the choice to the window.
        exit_after_first_rows: end after the first painted, sorted rows react to a key.
        filter_text: filter expression to start with.
        now_ms: the time that ages count to, ms since the epoch; ``None`` is the system's clock.
    """

    path: str | None = None
    sample: bool = False
    screenshot: str | None = None
    page: str = "sessions"
    theme: Theme | None = None
    width: int = 0
    height: int = 0
    exit_after_first_rows: bool = False
    filter_text: str = ""
    now_ms: int | None = None
