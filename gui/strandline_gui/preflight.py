"""What must be there before Qt is started: Qt ends a process without a word to catch when it is not.

Nothing here imports Qt.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Library → Debian's package. What PySide6 links against, then what its X11 plug-in does.
LIBRARIES: dict[str, str] = {
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libdbus-1.so.3": "libdbus-1-3",
}
XCB_LIBRARIES: dict[str, str] = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}


def choose_platform(*, picture: bool, platform: str, environment: Mapping[str, str]) -> tuple[str | None, str]:
    """Decide which platform plug-in Qt shall load.

    Returns:
        The plug-in to ask for (``None`` leaves it to Qt) and, where no window can be shown, a sentence that says so.
    """
    if environment.get("QT_QPA_PLATFORM") or platform in {"win32", "darwin"}:
        return None, ""
    if environment.get("WAYLAND_DISPLAY") or environment.get("DISPLAY"):
        return None, ""
    if picture:
        return "offscreen", ""
    return None, (
        "There is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set): "
        "use --screenshot FILE for a picture, or set QT_QPA_PLATFORM=offscreen."
    )


def missing_libraries(environment: Mapping[str, str], loads: Callable[[str], bool] | None = None) -> str:
    """Name the shared libraries that Qt's X11 plug-in would abort over; empty when all are there."""
    loads = loads or _loads
    plugin = environment.get("QT_QPA_PLATFORM", "").split(":")[0]
    if sys.platform != "linux" or (plugin or "xcb") != "xcb" or (not plugin and environment.get("WAYLAND_DISPLAY")):
        return ""
    return missing_sentence([name for name in XCB_LIBRARIES if not loads(name)])


def missing_sentence(names: list[str]) -> str:
    """Return one line that names what is missing and what installs it."""
    if not names:
        return ""
    known = {**LIBRARIES, **XCB_LIBRARIES}
    packages = " ".join(sorted({known[name] for name in names if name in known}))
    install = f"; on Debian and Ubuntu: apt-get install {packages}" if packages else ""
    verb = "is" if len(names) == 1 else "are"
    return f"Strandline cannot open its window: {', '.join(names)} {verb} missing on this system{install}."


def import_sentence(error: ImportError) -> str:
    """Return one line for an import of Qt that failed."""
    library = str(error).split(":", 1)[0].strip()
    if ".so" in library and " " not in library:
        return missing_sentence([library])
    return f"Strandline cannot open its window: {error}."


def problem(*, picture: bool) -> str:
    """Return why no window can be opened here, in one line; empty when one can. May choose the platform plug-in."""
    plugin, sentence = choose_platform(picture=picture, platform=sys.platform, environment=os.environ)
    if plugin is not None:
        os.environ["QT_QPA_PLATFORM"] = plugin
    return sentence or missing_libraries(os.environ)


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True
