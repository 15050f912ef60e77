"""What the start costs: which modules it imports, and that nothing is imported for nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = {
    "aiosqlite",
    "anthropic",
    "httpx",
    "importlib.metadata",
    "numpy",
    "openai",
    "pyqtgraph",
    "qtawesome",
    "qtpy",
    "sqlite3",
    "websockets",
}
FIRST_PAINT = """
import json, sys
from strandline.frontend import WindowRequest
from strandline_gui.app import run_window
code = run_window(WindowRequest(path=sys.argv[1], exit_after_first_rows=True))
print(json.dumps(sorted(sys.modules)))
sys.exit(code)
"""


def test_the_entry_needs_no_qt(run_program: Any) -> None:
    """Importing the entry point loads neither Qt nor an event loop of its own: it has to run where Qt cannot."""
    done = run_program("import json, sys, strandline_gui.app; print(json.dumps(sorted(sys.modules)))")
    loaded = {name.split(".")[0] for name in json.loads(done.stdout)}
    assert done.stderr == ""
    assert not loaded & {"PySide6", "shiboken6", "qasync", *HEAVY}


def test_first_paint_loads_nothing_heavy(run_program: Any, samples: Path) -> None:
    """Up to the first rows that react only what they need is imported."""
    done = run_program(FIRST_PAINT, str(samples / "harbour"))
    assert (done.returncode, done.stderr) == (0, "")
    loaded = set(json.loads(done.stdout))
    assert not loaded & HEAVY
    assert {name for name in loaded if name.startswith("PySide6.Qt")} == {
        "PySide6.QtCore",
        "PySide6.QtGui",
        "PySide6.QtWidgets",
    }
