"""The trap of PySide6 6.12 on Python 3.11: a reference lost per signal and per call without a result."""

from __future__ import annotations

import sys
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

TIMES = 20_000
SLACK = 200


class Emitter(QObject):
    """Something that emits."""

    told = Signal()
    told_value = Signal(bool)


def test_signals_and_calls_lose_no_reference(qtbot: Any) -> None:
    """20,000 emits and 20,000 updates leave the reference counts of None and True where they were."""
    emitter, widget = Emitter(), QWidget()
    qtbot.addWidget(widget)
    emitter.told.connect(lambda: None)
    emitter.told_value.connect(lambda _value: None)
    before = sys.getrefcount(None), sys.getrefcount(True)
    for _ in range(TIMES):
        emitter.told.emit()
        emitter.told_value.emit(True)
        widget.update()
    after = sys.getrefcount(None), sys.getrefcount(True)
    assert abs(after[0] - before[0]) < SLACK
    assert abs(after[1] - before[1]) < SLACK
