"""The command run in this process or as a user without rights: exit code, stdout, stderr."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from state_tree import NOON_MS
from strandline.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

# Once with every right, to import what the other user may have no right to read; then as nobody.
AS_NOBODY = """
import os, sys
from strandline.cli.main import main
kept = os.dup(1), os.dup(2)
nowhere = os.open(os.devnull, os.O_WRONLY)
os.dup2(nowhere, 1)
os.dup2(nowhere, 2)
main(sys.argv[1:])
os.dup2(kept[0], 1)
os.dup2(kept[1], 2)
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.exit(main(sys.argv[1:]))
"""


def run(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command over a directory, at the clock of the cases, in this process."""
    done = run_in_process([*words, "--state", str(state), "--now", str(NOON_MS)])
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def run_in_process(words: list[str]) -> subprocess.CompletedProcess[bytes]:
    """Run the command as it is, on a console that knows only ASCII."""
    out, err = io.BytesIO(), io.BytesIO()
    out_text = io.TextIOWrapper(out, "ascii", write_through=True)
    err_text = io.TextIOWrapper(err, "utf-8", "backslashreplace", write_through=True)
    with contextlib.redirect_stdout(out_text), contextlib.redirect_stderr(err_text):
        try:
            code = main(words)
        except SystemExit as end:
            code = int(str(end.code))
    out_text.detach()
    err_text.detach()
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def run_as_nobody(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process that has no rights beyond those of any user."""
    return subprocess.run(
        [sys.executable, "-c", AS_NOBODY, *words, "--state", str(state), "--now", str(NOON_MS)],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def answer(state: Path, *words: str) -> Any:
    """Return what the command answers as JSON; nothing else may be said."""
    done = run(state, *words, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def sentence(done: subprocess.CompletedProcess[str], code: int) -> str:
    """Return the one sentence with which the command ended."""
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("strandline: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stdout == ""
    return done.stderr.strip()
