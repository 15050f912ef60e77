"""No display, missing libraries: one line that says what to do, and exit code 4 (A35)."""

from __future__ import annotations

from typing import Any

import pytest

from strandline_gui import preflight


@pytest.mark.parametrize(
    ("picture", "platform", "environment", "plugin", "said"),
    [
        (False, "linux", {}, None, True),
        (True, "linux", {}, "offscreen", False),
        (False, "linux", {"DISPLAY": ":0"}, None, False),
        (False, "linux", {"WAYLAND_DISPLAY": "wayland-0"}, None, False),
        (False, "linux", {"QT_QPA_PLATFORM": "offscreen"}, None, False),
        (False, "darwin", {}, None, False),
        (False, "win32", {}, None, False),
    ],
)
def test_display(
    picture: bool,
    platform: str,
    environment: dict[str, str],
    plugin: str | None,
    said: bool,
) -> None:
    """Without a display a picture is made without one, and a window is refused with the way out."""
    got = preflight.choose_platform(picture=picture, platform=platform, environment=environment)
    assert got[0] == plugin
    assert bool(got[1]) == said
    if said:
        assert "--screenshot" in got[1]
        assert "QT_QPA_PLATFORM=offscreen" in got[1]


@pytest.mark.parametrize(
    ("environment", "checked"),
    [
        ({"DISPLAY": ":0"}, True),
        ({"QT_QPA_PLATFORM": "xcb"}, True),
        ({"QT_QPA_PLATFORM": "offscreen"}, False),
        ({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, False),
    ],
)
def test_libraries_of_the_screen(
    environment: dict[str, str],
    checked: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What Qt's X11 plug-in would abort over is named with its package, and only where that plug-in is meant."""
    monkeypatch.setattr("sys.platform", "linux")
    sentence = preflight.missing_libraries(environment, lambda name: "cursor" not in name)
    assert bool(sentence) == checked
    if checked:
        assert "libxcb-cursor.so.0" in sentence
        assert "apt-get install libxcb-cursor0" in sentence


def test_import_errors_name_the_library() -> None:
    """Python's own message about a missing library becomes one line with the package."""
    error = ImportError("libGL.so.1: cannot open shared object file: No such file or directory")
    sentence = preflight.import_sentence(error)
    assert sentence.count("\n") == 0
    assert "libGL.so.1 is missing" in sentence
    assert "libgl1" in sentence
    assert "PySide6" in preflight.import_sentence(ModuleNotFoundError("No module named 'PySide6'"))


def test_no_display_is_one_line(run_program: Any) -> None:
    """The program itself says it in one line and ends with 4."""
    script = (
        "import os, sys\n"
        "for name in ('QT_QPA_PLATFORM', 'DISPLAY', 'WAYLAND_DISPLAY'): os.environ.pop(name, None)\n"
        "from strandline_gui.app import main\n"
        "sys.exit(main())"
    )
    done = run_program(script)
    assert done.returncode == 4
    assert done.stderr.startswith("There is no display here")
    assert len(done.stderr.splitlines()) == 1


def test_qt_that_will_not_load_is_one_line(run_program: Any) -> None:
    """A Qt whose libraries are missing ends with one line and 4."""
    script = (
        "import sys\n"
        "class Broken:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'PySide6.QtWidgets':\n"
        "            raise ImportError('libEGL.so.1: cannot open shared object file: No such file or directory')\n"
        "sys.meta_path.insert(0, Broken())\n"
        "from strandline_gui.app import main\n"
        "sys.exit(main())"
    )
    done = run_program(script)
    assert done.returncode == 4
    assert "libEGL.so.1 is missing" in done.stderr
    assert len(done.stderr.splitlines()) == 1
