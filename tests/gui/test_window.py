"""The whole window on real directories."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import QCoreApplication, QLocale, QTranslator
from PySide6.QtGui import QAction, QFontMetricsF, QImage
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QWidget

from strandline_gui.models.columns import Column
from strandline_gui.widgets.button import Button
from strandline_gui.widgets.labels import ElidedLabel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from strandline_gui.application import Session

    InWindow = Callable[..., None]
    Settle = Callable[[Session], Awaitable[None]]


def digest(folder: Path) -> str:
    """Hash names, contents, times and modes of everything below a folder."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        found.update(f"{path.relative_to(folder)} {status.st_mode} {status.st_mtime_ns} {status.st_size}\n".encode())
        if path.is_file():
            found.update(path.read_bytes())
    return found.hexdigest()


def focusable(window: QWidget) -> list[QWidget]:
    """Return every visible widget that the keyboard can stop at."""
    return [
        widget
        for widget in window.findChildren(QWidget)
        if widget.isVisible() and widget.isEnabled() and widget.focusPolicy().value & 1
    ]


def test_shows_the_sample(in_window: InWindow, harbour: Path, settle: Settle) -> None:
    """The window shows the sample: rows newest first, what it is, where it is, how much; nothing in it changes."""
    before = digest(harbour)

    async def act(session: Session) -> None:
        await settle(session)
        window = session.window
        assert window is not None
        model = window.page.model
        assert model.total > 30
        times = [model.line(row).row.updated_at for row in range(model.rowCount())]
        known = [moment for moment in times if moment]
        assert known == sorted(known, reverse=True)
        assert window.top_bar.chip._sample.isVisible()
        assert window.windowTitle().endswith("Strandline")
        assert window.status._facts[0].text().startswith(f"{model.total} sessions in ")
        assert window.navigation.sessions._count == str(model.total)

    in_window(harbour, act)
    assert digest(harbour) == before


def test_everything_has_a_name(in_window: InWindow, samples: Path, settle: Settle, until: Any) -> None:
    """Every widget that takes the keyboard tells a screen reader what it is, and Tab comes by all of them."""

    async def act(session: Session) -> None:
        await settle(session)
        await asyncio.sleep(0.05)
        window = session.window
        assert window is not None
        window.activateWindow()
        await until(window.isActiveWindow)
        stops = focusable(window)
        assert [widget for widget in stops if not widget.accessibleName()] == []
        assert len(stops) > 5
        window.page.table.setFocus()
        met: list[QWidget | None] = []
        for _ in range(3 * len(stops)):
            window.focusNextChild()
            met.append(QApplication.focusWidget())
        assert set(stops) <= set(met)

    in_window(samples / "damaged", act)


class Pseudo(QTranslator):
    """A language of its own: 40 % longer, in brackets, so that what is not translated or cut stands out."""

    def isEmpty(self) -> bool:  # noqa: N802 - the name Qt calls
        """Say that there is something here."""
        return False

    def translate(self, _context: str, text: str, _disambiguation: str = "", _n: int = -1) -> str:
        """Stretch a text."""
        return f"[!!{text}{'~' * round(len(text) * 0.4)}!!]"


@pytest.mark.parametrize("sample", ["harbour", "damaged"])
def test_everything_is_translatable(in_window: InWindow, samples: Path, settle: Settle, qapp: Any, sample: str) -> None:
    """In a made-up language that is 40 % longer every word is translated and none is cut."""
    pseudo = Pseudo()
    QCoreApplication.installTranslator(pseudo)

    async def act(session: Session) -> None:
        await settle(session)
        await asyncio.sleep(0.05)
        window = session.window
        assert window is not None
        data = (window.top_bar.chip.button.text(),)
        for widget in window.findChildren(QWidget):
            if not widget.isVisible():
                continue
            if isinstance(widget, Button | QLabel):
                text = widget.full_text() if isinstance(widget, ElidedLabel) else widget.text()
                translated = not text or "[!!" in text or text in data or not re.search(r"[A-Za-z]{3}", text)
                # What the core says about damage is a sentence of its own.
                assert translated or "sessions.json" in text, text
                if not isinstance(widget, ElidedLabel) and not (isinstance(widget, QLabel) and widget.wordWrap()):
                    assert widget.width() >= widget.minimumSizeHint().width(), text
        for action in window.findChildren(QAction):
            if action.text() and not action.isSeparator():
                assert "[!!" in action.text()
        for menu in window.findChildren(QMenu):
            assert not menu.title() or "[!!" in menu.title()
        header = window.page.table.horizontalHeader()
        for column in Column:
            title = str(window.page.model.headerData(column, header.orientation()))
            if title:
                assert "[!!" in title
            width = QFontMetricsF(window.page.table.font()).horizontalAdvance(title)
            assert header.isSectionHidden(column) or width > 0 or not title

    try:
        in_window(samples / sample, act)
    finally:
        QCoreApplication.removeTranslator(pseudo)
    assert qapp is not None


def test_other_locales_break_nothing(in_window: InWindow, harbour: Path, settle: Settle) -> None:
    """A locale that writes from right to left or counts otherwise shows the same rows."""
    before = QLocale()
    QLocale.setDefault(QLocale(QLocale.Language.Arabic))

    async def act(session: Session) -> None:
        await settle(session)
        assert session.window is not None
        session.window.grab()
        assert session.window.page.model.total > 30

    try:
        in_window(harbour, act)
    finally:
        QLocale.setDefault(before)


def test_opens_another_directory(in_window: InWindow, samples: Path, harbour: Path, settle: Settle, until: Any) -> None:
    """Another directory replaces the present one in the same window; a missing one says why; Retry finds it later."""
    missing = harbour.parent / "later"

    async def act(session: Session) -> None:
        window = session.window
        assert window is not None
        window.directory_asked.emit(str(samples / "damaged"))
        await settle(session)
        assert "damaged" in window.top_bar.chip.button.text()
        assert len(window.page.state.banners) >= 1
        window.directory_asked.emit(str(missing))
        await settle(session)
        card = window.page.state.card
        assert card is not None
        assert str(missing) in card.place
        assert window.page.model.total == 0
        await asyncio.to_thread(harbour.rename, missing)
        window.reload_asked.emit()
        await until(lambda: window.page.model.total >= 30)
        await settle(session)
        assert window.page.state.shows_content

    in_window(harbour, act)


def test_follows_a_changed_store(in_window: InWindow, harbour: Path, settle: Settle, until: Any) -> None:
    """A store that was written again shows its new rows by itself, with the selection where it was."""
    store = harbour / "agents" / "main" / "sessions" / "sessions.json"

    async def act(session: Session) -> None:
        await settle(session)
        window = session.window
        assert window is not None
        page = window.page
        total = page.model.total
        page.table.select_row(5)
        key = page.model.key_at(5)
        rows = json.loads(store.read_text("utf-8"))
        rows["agent:main:slack:direct:brandnew"] = {"sessionId": "brand-new", "updatedAt": time.time_ns() // 1_000_000}
        await asyncio.to_thread(store.write_text, json.dumps(rows), "utf-8")
        await until(lambda: page.model.total != total)
        assert page.model.total == total + 1
        assert page.model.key_at(page.table.currentIndex().row()) == key

    in_window(harbour, act)


def test_a_transcript_of_three_gigabytes(in_window: InWindow, harbour: Path, settle: Settle) -> None:
    """A sparse transcript of 3 GB sorts first and reads 3.0 GB (A32)."""

    async def act(session: Session) -> None:
        window = session.window
        assert window is not None
        await settle(session)
        page = window.page
        page.columns.sort_by(Column.SIZE)
        assert page.model.data(page.model.index(0, Column.SIZE)) == "3.0 GB"

    first = next(
        path
        for path in sorted((harbour / "agents" / "main" / "sessions").glob("*.jsonl"))
        if path.stem in (path.parent / "sessions.json").read_text("utf-8")
    )
    os.truncate(first, 3 * 1024**3)
    in_window(harbour, act)


def test_remembers_choices(in_window: InWindow, harbour: Path, settle: Settle, tmp_path: Path) -> None:
    """Size, theme and columns are there again the next time; the file holds nothing else."""

    async def change(session: Session) -> None:
        await settle(session)
        assert session.window is not None
        session.window.resize(1111, 777)
        session.window.page.columns.show({Column.MODEL, Column.ACTIVE})
        session.window._themes["dark"].trigger()

    async def look(session: Session) -> None:
        window = session.window
        assert window is not None
        assert (window.width(), window.height()) == (1111, 777)
        assert window.page.columns.is_on_show(Column.MODEL)
        assert not window.page.columns.is_on_show(Column.SIZE)
        assert window._themes["dark"].isChecked()

    in_window(harbour, change)
    assert set(json.loads((tmp_path / "options" / "window.json").read_text("utf-8"))) <= {
        "width",
        "height",
        "theme",
        "columns",
        "widths",
    }
    in_window(harbour, look)


def test_unreadable_options_are_left_aside(in_window: InWindow, harbour: Path, tmp_path: Path) -> None:
    """Options that cannot be read cost a notice, not the window."""
    file = tmp_path / "options" / "window.json"
    file.parent.mkdir()
    file.write_bytes(b'{"width": "wide"')

    async def act(session: Session) -> None:
        assert session.window is not None
        assert "options" in session.window.status.notice.full_text()

    in_window(harbour, act)


def test_failures_reach_the_notice_line(in_window: InWindow, harbour: Path, settle: Settle) -> None:
    """What fails behind the window is said in it and stays until it is dismissed."""

    async def fail() -> None:
        raise RuntimeError("the disk is on fire")

    async def act(session: Session) -> None:
        await settle(session)
        window = session.window
        assert window is not None
        session._operations.start(fail())
        await asyncio.sleep(0.02)
        assert "the disk is on fire" in window.status.notice.full_text()
        window.tell("done")
        assert window.status.notice.full_text() == "done"
        window.status.clear_notice()
        assert not window.status.notice.isVisible()

    in_window(harbour, act)


@pytest.mark.parametrize("factor", ["1", "1.25", "1.5", "2"])
@pytest.mark.parametrize("theme_name", ["light", "dark"])
def test_screenshots_have_their_size(
    run_program: Any, samples: Path, tmp_path: Path, factor: str, theme_name: str
) -> None:
    """A picture is as large as asked for, times the scale, and has content at its right and lower edge."""
    file = tmp_path / "shot.png"
    request = {
        "path": str(samples / "harbour"),
        "screenshot": str(file),
        "theme": theme_name,
        "width": 1280,
        "height": 800,
    }
    done = run_program(arguments_script(), json.dumps(request), QT_SCALE_FACTOR=factor)
    assert (done.returncode, done.stderr) == (0, "")
    image = QImage(str(file))
    scale = float(factor)
    assert (image.width(), image.height()) == (1280 * scale, 800 * scale)
    row = [image.pixelColor(x, int(200 * scale)).rgb() for x in range(int(1180 * scale), int(1270 * scale))]
    assert len(set(row)) > 3


def test_ages_count_to_the_time_that_is_named(run_program: Any, samples: Path, tmp_path: Path) -> None:
    """With a time given, a picture can be taken again and is the same; a day later it is another."""
    pictures: list[bytes] = []
    now_ms = time.time_ns() // 1_000_000
    for at, moment in enumerate((now_ms, now_ms, now_ms + 86_400_000)):
        file = tmp_path / f"{at}.png"
        request = {"path": str(samples / "harbour"), "screenshot": str(file), "now_ms": moment}
        assert run_program(arguments_script(), json.dumps(request)).returncode == 0
        pictures.append(file.read_bytes())
    assert pictures[0] == pictures[1]
    assert pictures[0] != pictures[2]


def arguments_script() -> str:
    """Return the program that opens the window as its argument says."""
    return (
        "import sys, msgspec\n"
        "from strandline.frontend import WindowRequest\n"
        "from strandline_gui.app import run_window\n"
        "sys.exit(run_window(msgspec.json.decode(sys.argv[1], type=WindowRequest)))\n"
    )


@pytest.mark.parametrize(
    ("mode", "expected"), [("screenshot", 4), ("first", 4), ("first-empty", 3), ("first-sample", 0)]
)
def test_exit_codes(run_program: Any, samples: Path, tmp_path: Path, mode: str, expected: int) -> None:
    """A directory that cannot be opened ends with 4 and one sentence; no rows with 3; rows that react with 0."""
    (tmp_path / "empty" / "agents").mkdir(parents=True)
    path = {"first-empty": tmp_path / "empty", "first-sample": samples / "harbour"}.get(mode, tmp_path / "missing")
    request: dict[str, object] = {"path": str(path), "exit_after_first_rows": mode != "screenshot"}
    if mode == "screenshot":
        request["screenshot"] = str(tmp_path / "shot.png")
    done = run_program(arguments_script(), json.dumps(request))
    assert done.returncode == expected
    assert len(done.stderr.splitlines()) == (1 if expected else 0)
    assert done.stdout == ""


def test_a_picture_needs_a_place(run_program: Any, samples: Path) -> None:
    """A picture that cannot be saved is our error 1 with a sentence."""
    request = {"path": str(samples / "harbour"), "screenshot": "/nowhere/at/all.png"}
    done = run_program(arguments_script(), json.dumps(request))
    assert done.returncode == 1
    assert "/nowhere/at/all.png" in done.stderr


def test_pictures_ignore_options(run_program: Any, samples: Path, tmp_path: Path) -> None:
    """A picture neither reads nor writes the remembered choices."""
    file = tmp_path / "config" / "strandline" / "window.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"width": 900, "height": 600, "theme": "dark"}', "utf-8")
    before = digest(file.parent)
    shot = tmp_path / "shot.png"
    done = run_program(arguments_script(), json.dumps({"path": str(samples / "harbour"), "screenshot": str(shot)}))
    assert (done.returncode, done.stderr) == (0, "")
    assert QImage(str(shot)).width() == 1440
    assert digest(file.parent) == before
