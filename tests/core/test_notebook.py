"""docs/notebook.md in a real kernel: its blocks run in order and show what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from state_tree import write_store

PAGE = Path(__file__).parents[2] / "docs" / "notebook.md"

_SETUP = re.compile(r"<!-- notebook: setup\n(.*?)-->", re.DOTALL)
_BLOCK = re.compile(r"(<!-- notebook: skip[^>]*-->\n)?```python\n(.*?)```", re.DOTALL)

pytestmark = [
    # The jupyter stack asks the event loop policy and warns of its own old names; none of it is ours.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    # Its kernel client leaves zmq sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore:.*zmq.*:ResourceWarning"),
]


def _cells() -> list[str]:
    text = PAGE.read_text("utf-8")
    (setup,) = _SETUP.findall(text)
    return [setup, *(code for skipped, code in _BLOCK.findall(text) if not skipped)]


def _shown(cell: Any) -> dict[str, str]:
    (result,) = [output for output in cell.outputs if output.output_type == "execute_result"]
    return dict(result.data)


def test_every_block_runs_in_a_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions and files come out as escaped HTML or plain values, events in their order."""
    state = tmp_path / "state"
    rows = {"agent:main:cron:<b>": {"sessionId": "c1", "label": "<script>tide</script>", "updatedAt": 2}}
    path = write_store(state, {**rows, "agent:main:main": {"sessionId": "m1", "updatedAt": 1}})
    (path.parent / "m1.jsonl").write_text("x" * 500, "utf-8")
    (path.parent / "c1.jsonl").write_text("x" * 100, "utf-8")
    monkeypatch.setenv("STRANDLINE_NOTEBOOK_STATE", str(state))
    for variable in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / "jupyter"))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in _cells()])
    nbclient.NotebookClient(
        notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    _, cron, largest, totals, seen = notebook.cells
    html = _shown(cron)["text/html"]
    assert "1 of 1 sessions" in html
    assert "<script>" not in html
    assert "&lt;script&gt;tide&lt;/script&gt;" in html
    assert "[('agent:main:main', 500), ('agent:main:cron:<b>', 100)]" in _shown(largest)["text/plain"]
    assert "'transcript': (2, 600)" in _shown(totals)["text/plain"]
    assert _shown(seen)["text/plain"].startswith("['StoreUpdated',\n 'RowsRead'")
    assert "'LoadFinished',\n 'Closed']" in _shown(seen)["text/plain"]
