"""Pictures of the page in every state, both schemes, two sizes, two scales, on one contact sheet: ``dev.py shots``."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["QT_API"] = "pyside6"

import msgspec
from PySide6.QtCore import QRectF, Qt, QTimer
from PySide6.QtGui import QFont, QGuiApplication, QImage, QPainter

from strandline.frontend import WindowRequest
from strandline.state.sample import build_sample

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
OUT = ROOT / "build" / "shots"
SIZES = ((1280, 800), (1920, 1080))
SCALES = (1, 2)
THEMES = ("light", "dark")
TILE = 640
GAP, CAPTION = 16, 22
PROGRAM = """
import sys, msgspec
from strandline.frontend import WindowRequest
from strandline_gui.app import run_window
import shots
request = msgspec.json.decode(sys.argv[1], type=WindowRequest)
sys.exit(shots.take(request, sys.argv[2]))
"""


class Shot(NamedTuple):
    """One picture to take."""

    state: str
    theme: str
    width: int
    height: int
    scale: int

    @property
    def file(self) -> Path:
        """Where the picture goes."""
        return OUT / f"{self.state}-{self.theme}-{self.width}x{self.height}-{self.scale * 100}.png"


class State(NamedTuple):
    """A state of the page: the directory that shows it, a filter, and what is done to the window first."""

    directory: str
    filter_text: str = ""
    deed: str = ""


STATES: dict[str, State] = {
    "rows": State("harbour"),
    "selected": State("harbour", deed="select"),
    "filtered": State("harbour", "kind:group,direct -status:running"),
    "filter-error": State("harbour", "agent:main ctx>lots"),
    "no-match": State("harbour", "kraken"),
    "all-columns": State("harbour", deed="columns"),
    "partly-damaged": State("damaged"),
    "damaged": State("all-damaged"),
    "empty": State("empty"),
    "newer": State("newer"),
    "remote": State("remote"),
    "missing": State("missing"),
    "loading": State("harbour", deed="loading"),
    "partial": State("harbour", deed="partial"),
    "notice": State("harbour", deed="notice"),
}


def main() -> int:
    """Take every picture and put them on one sheet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("states", nargs="*", help=f"some of: {', '.join(STATES)}")
    words = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    wanted = words.states or list(STATES)
    shots = [
        Shot(state, theme, width, height, scale)
        for state in wanted
        for theme in THEMES
        for width, height in SIZES
        for scale in SCALES
    ]
    with tempfile.TemporaryDirectory(prefix="strandline-shots-") as folder:
        build_states(Path(folder))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            failures = [words for words in pool.map(lambda shot: run(shot, Path(folder)), shots) if words]
    for failure in failures:
        print(failure, file=sys.stderr)
    print(sheet(shots))
    return 1 if failures else 0


def build_states(folder: Path) -> None:
    """Build the directories that the states are seen in."""
    now_ms = time.time_ns() // 1_000_000
    for name in ("harbour", "damaged"):
        build_sample(folder / name, name, now_ms)
    (folder / "empty" / "agents" / "main" / "sessions").mkdir(parents=True)
    dark = folder / "all-damaged" / "agents" / "work" / "sessions"
    dark.mkdir(parents=True)
    (dark / "sessions.json").write_text('{"agent:work:main": {"sessionId": "5f0', "utf-8")
    (dark / "sessions.json.bak").write_text("{}", "utf-8")
    build_sample(folder / "remote", "harbour", now_ms)
    (folder / "remote" / "openclaw.json").write_text(
        json.dumps({"gateway": {"mode": "remote", "remote": {"url": "wss://harbour.example:18789"}}}), "utf-8"
    )
    sys.path.insert(0, str(ROOT / "tests"))
    from newer_files import place_of, write_newer  # noqa: PLC0415 - shared with the core's tests

    write_newer(place_of(folder / "newer"), sessions=412, events=12)


def run(shot: Shot, folder: Path) -> str:
    """Take one picture in a process of its own and return what went wrong."""
    state = STATES[shot.state]
    request = WindowRequest(
        path=str(folder / state.directory),
        screenshot=str(shot.file),
        theme="dark" if shot.theme == "dark" else "light",
        width=shot.width,
        height=shot.height,
        filter_text=state.filter_text,
    )
    paths = [ROOT / "core", ROOT / "gui", ROOT / "resources", ROOT / "tests"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, msgspec.json.encode(request).decode(), state.deed],
        env={
            **os.environ,
            "QT_SCALE_FACTOR": str(shot.scale),
            "QT_QPA_PLATFORM": "offscreen",
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    fine = done.returncode == 0 or (shot.state == "missing" and shot.file.exists())
    return "" if fine else f"{shot.file.name}: {done.returncode} {done.stderr}"


def take(request: WindowRequest, deed: str) -> int:
    """Open the window, bring it into a state, take the picture."""
    from strandline_gui import application  # noqa: PLC0415 - in the child only
    from strandline_gui.app import run_window  # noqa: PLC0415 - likewise
    from strandline_gui.capture import Capture  # noqa: PLC0415 - likewise
    from strandline_gui.models.columns import Column  # noqa: PLC0415 - likewise
    from strandline_gui.pages import store_states  # noqa: PLC0415 - likewise

    save = Capture._save

    def prepared(capture: Capture, file: str, width: int, height: int) -> None:
        window = capture._window
        page = window.page
        match deed:
            case "select":
                page.table.select_row(4)
            case "columns":
                page.columns.show(Column)
            case "notice":
                window.tell_failure("Cannot read ~/.openclaw/agents/lab: permission denied.")
            case "loading":
                page.state._skeleton.show_progress("Reading sessions", "1,204 so far", 0.4)
                page.state._stack.setCurrentWidget(page.state._skeleton)
            case "partial":
                page.state.show_banners([store_states.facts_banner(1204, 5000)])
            case _:
                pass
        window.resize(width, height)
        QTimer.singleShot(60, lambda: save(capture, file, width, height))

    Capture._save = prepared
    # A directory that cannot be opened is a state to be looked at as well.
    failed = application.Session._failed
    application.Session._failed = _patient(failed)
    return run_window(request)


def _patient(failed: Callable[..., None]) -> Callable[..., None]:
    def wait(session: object, sentence: str) -> None:
        vars(session)["_alone"] = False
        failed(session, sentence)

    return wait


def sheet(shots: list[Shot]) -> Path:
    """Put the pictures on one sheet, a row per state."""
    app = QGuiApplication.instance() or QGuiApplication(["shots"])
    columns = len(THEMES) * len(SIZES) * len(SCALES)
    tile = round(TILE * 10 / 16)
    rows = (len(shots) + columns - 1) // columns
    image = QImage(columns * (TILE + GAP) + GAP, rows * (tile + CAPTION + GAP) + GAP, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.lightGray)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    painter.setFont(QFont("Inter", 11))
    for number, shot in enumerate(shots):
        left = GAP + number % columns * (TILE + GAP)
        top = GAP + number // columns * (tile + CAPTION + GAP)
        painter.drawText(left, top + CAPTION - 8, shot.file.stem)
        picture = QImage(str(shot.file)).scaled(
            TILE, tile, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
        )
        painter.drawImage(QRectF(left, top + CAPTION, picture.width(), picture.height()), picture)
    painter.end()
    target = OUT.parent / "shots.png"
    image.save(str(target))
    del app
    return target


if __name__ == "__main__":
    sys.exit(main())
