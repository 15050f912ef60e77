"""What a start of the core loads: no window, no numbers library, no database."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

_LOADED = "import json, sys; import {module}; print(json.dumps(sorted(sys.modules)))"
_HEAVY = {"PySide6", "shiboken6", "qasync", "qtawesome", "numpy", "sqlite3", "platformdirs", "psutil", "IPython"}
# The two dependencies of a start, and what they themselves load where it is installed.
_THIRD_PARTY = {"msgspec", "pyjson5", "typing_extensions", "cython_runtime"}


@pytest.mark.parametrize("module", ["strandline.gateway", "strandline.cli.main", "strandline.work.__main__"])
def test_start_loads_no_window_and_no_database(module: str) -> None:
    """A fresh process with the core holds neither Qt nor sqlite3, and of others' packages only two with theirs."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", _LOADED.format(module=module)], capture_output=True, timeout=60, check=True
    )
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert not loaded & _HEAVY
    # Modules of site-packages that every process of this environment starts with are none of ours.
    bare = subprocess.run(
        [sys.executable, "-I", "-c", "import json, sys; print(json.dumps(sorted(sys.modules)))"],
        capture_output=True,
        timeout=60,
        check=True,
    )
    always = {name.partition(".")[0] for name in json.loads(bare.stdout)}
    others = {name for name in loaded - always if name not in sys.stdlib_module_names and not name.startswith("_")}
    assert others - {"strandline"} <= _THIRD_PARTY
    assert not {name for name in loaded if name.startswith("strandline_")}
