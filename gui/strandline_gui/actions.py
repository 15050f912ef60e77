"""Every command of the window as data: words, shortcut, place in the menus."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QKeySequence

from strandline_gui.translation import QT_TRANSLATE_NOOP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from PySide6.QtCore import QObject


class Command(Enum):
    """What a person can do."""

    OPEN_DIRECTORY = auto()
    OPEN_SAMPLE = auto()
    RELOAD = auto()
    QUIT = auto()
    COPY_KEY = auto()
    COPY_ROW = auto()
    COPY_PATH = auto()
    FILTER = auto()
    ABOUT = auto()


class Spec(msgspec.Struct, frozen=True):
    """How a command presents itself.

    Attributes:
        text: its words; translated when shown.
        shortcut: a standard key or a sequence; ``None`` has none.
        role: where macOS wants to see it.
    """

    text: str
    shortcut: QKeySequence.StandardKey | str | None = None
    role: QAction.MenuRole = QAction.MenuRole.NoRole


COMMANDS: dict[Command, Spec] = {
    Command.OPEN_DIRECTORY: Spec(QT_TRANSLATE_NOOP("Actions", "&Open directory…"), QKeySequence.StandardKey.Open),
    Command.OPEN_SAMPLE: Spec(QT_TRANSLATE_NOOP("Actions", "Open the &sample")),
    Command.RELOAD: Spec(QT_TRANSLATE_NOOP("Actions", "&Reload"), QKeySequence.StandardKey.Refresh),
    Command.QUIT: Spec(QT_TRANSLATE_NOOP("Actions", "&Quit"), "Ctrl+Q", QAction.MenuRole.QuitRole),
    Command.COPY_KEY: Spec(QT_TRANSLATE_NOOP("Actions", "&Copy key"), "Ctrl+Shift+C"),
    Command.COPY_ROW: Spec(QT_TRANSLATE_NOOP("Actions", "Copy &row")),
    Command.COPY_PATH: Spec(QT_TRANSLATE_NOOP("Actions", "Copy &path")),
    Command.FILTER: Spec(QT_TRANSLATE_NOOP("Actions", "&Filter sessions"), "/"),
    Command.ABOUT: Spec(QT_TRANSLATE_NOOP("Actions", "&About Strandline"), None, QAction.MenuRole.AboutRole),
}


def make_actions(owner: QObject, handlers: Mapping[Command, Callable[[], None]]) -> dict[Command, QAction]:
    """Return one action per command, wired to its handler."""
    made: dict[Command, QAction] = {}
    for command, spec in COMMANDS.items():
        action = QAction(QCoreApplication.translate("Actions", spec.text), owner)
        action.setMenuRole(spec.role)
        if spec.shortcut is not None:
            action.setShortcut(QKeySequence(spec.shortcut))
        action.triggered.connect(_without_arguments(handlers[command]))
        made[command] = action
    return made


def _without_arguments(run: Callable[[], None]) -> Callable[[], None]:
    """Wrap a handler, which may be a signal's ``emit``, so that Qt does not hand it the state of a check mark."""

    def slot() -> None:
        run()

    return slot
