"""Liveness against real processes: running, killed, not yet collected; arguments as OpenClaw reads them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from process_table import Table
from strandline.state.lock_payload import Content, LockPayload
from strandline.state.locks import LockRules, LockState, judge_lock
from strandline.state.processes import (
    Process,
    SystemProcesses,
    in_container,
    is_gateway,
    is_openclaw,
    is_shared,
    looks_like_openclaw,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="start ticks and zombies are read from /proc")
_PATIENCE_S = 60


@contextmanager
def _child(*arguments: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Python child that waits until its input closes, with arguments of its own."""
    code = "import sys; sys.stdout.write('up'); sys.stdout.flush(); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **variables},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.read(2) == b"up"
        try:
            yield child
        finally:
            child.kill()


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _lock_of(process: Process) -> LockPayload:
    return LockPayload(
        content=Content.WHOLE, pid=process.pid, created_ms=time.time() * 1000, start_ticks=process.start_ticks
    )


def _judge(payload: LockPayload) -> LockState:
    path = Path("s.jsonl.lock")
    now_ms = time.time() * 1000
    return judge_lock(path, payload, round(now_ms), SystemProcesses(), LockRules(now_ms=now_ms)).state


def test_a_running_child_is_described() -> None:
    """Arguments, start and parentage of a real process are read."""
    with _child("openclaw") as child:
        found = SystemProcesses().look_up(child.pid)
        assert found is not None
        assert found.argv is not None
        assert found.argv[0] == sys.executable
        assert found.argv[-1] == "openclaw"
        assert found.started_ms == pytest.approx(time.time() * 1000, abs=_PATIENCE_S * 1000)
        assert (found.zombie, found.signalable) == (False, True)
        assert child.pid in {each.pid for each in SystemProcesses().running()}


def test_a_lock_is_held_until_its_owner_is_killed() -> None:
    """The verdict follows the process: held while it runs, stale once it is gone."""
    with _child("openclaw") as child:
        process = SystemProcesses().look_up(child.pid)
        assert process is not None
        payload = _lock_of(process)
        assert _judge(payload) is LockState.HELD
        child.kill()
        child.wait(_PATIENCE_S)
        assert _judge(payload) is LockState.STALE
        assert SystemProcesses().look_up(child.pid) is None


@_LINUX
def test_a_zombie_is_no_owner() -> None:
    """A killed child that nobody collected still has a number, and holds nothing."""
    with _child("openclaw") as child:
        process = SystemProcesses().look_up(child.pid)
        assert process is not None
        child.kill()
        _until(lambda: (found := SystemProcesses().look_up(child.pid)) is not None and found.zombie)
        assert _judge(_lock_of(process)) is LockState.STALE


@_LINUX
def test_start_ticks_are_field_22() -> None:
    """The number that OpenClaw writes into its locks, even when the command's name holds brackets and spaces."""
    with _child() as child:
        line = Path(f"/proc/{child.pid}/stat").read_text("utf-8")
        found = SystemProcesses().look_up(child.pid)
        assert found is not None
        assert found.start_ticks == int(line.rsplit(") ", 1)[1].split()[19])


def test_the_variables_of_a_child_can_be_read() -> None:
    """What a process was started with tells which directory it uses."""
    with _child(OPENCLAW_STATE_DIR="/somewhere") as child:
        variables = SystemProcesses().environment(child.pid)
        assert variables is not None
        assert variables["OPENCLAW_STATE_DIR"] == "/somewhere"
    child.wait(_PATIENCE_S)
    assert SystemProcesses().environment(child.pid) is None


@pytest.mark.parametrize("pid", [0, -1, 2**31, 2**80])
def test_impossible_numbers_are_no_process(pid: int) -> None:
    """A lock may hold any number; none of them crashes the look-up."""
    assert SystemProcesses().look_up(pid) is None


@pytest.mark.parametrize(
    ("argv", "owner", "gateway"),
    [
        (["openclaw"], True, False),
        (["openclaw", "gateway"], True, True),
        (["/usr/bin/OpenClaw", "gateway"], True, True),
        (["C:\\Tools\\openclaw.exe", "gateway"], True, True),
        (["openclaw.cmd"], True, False),
        (["/opt/openclaw-gateway"], True, False),
        (["openclaw-gateway"], False, False),
        (["node", "/x/openclaw.mjs", "gateway"], True, True),
        (["node", "/x/dist/index.js", "gateway"], True, True),
        (["node", "/x/dist/index.js", "agent"], True, False),
        (["node", "/x/dist/index.js"], False, False),
        (["python", "app.py", "openclaw"], True, False),
        (["python", "app.py", "--openclaw"], False, False),
        (["python", "gateway"], False, False),
        (["", " "], False, False),
        ([], False, False),
    ],
)
def test_arguments_are_read_as_openclaw_reads_them(argv: list[str], owner: bool, gateway: bool) -> None:
    """The rule for owners of locks and the one for gateways are two, and neither knows the title of a gateway."""
    assert is_openclaw(argv) is owner
    assert is_gateway(argv) is gateway


@pytest.mark.parametrize("title", ["openclaw", "openclaw-gateway", "/usr/bin/openclaw-gateway"])
def test_people_recognise_a_gateway_by_its_title(title: str) -> None:
    """A real gateway shows "openclaw" and blanks, or "openclaw-gateway", in place of its arguments."""
    assert looks_like_openclaw([title])
    assert not looks_like_openclaw(["bash", "-c", "true"])
    assert not looks_like_openclaw([])


def test_a_container_is_recognised_by_number_and_start() -> None:
    """Every container has a process 1; only the same start makes it the one the lock names."""
    table = Table(Process(pid=900, inner_pid=1, start_ticks=5), Process(pid=901, inner_pid=1, start_ticks=6))
    found = in_container(table, 1, 6)
    assert found is not None
    assert found.pid == 901
    assert in_container(table, 1, 7) is None
    assert in_container(table, 1, None) is None


def test_a_directory_of_this_machine_is_not_shared(tmp_path: Path) -> None:
    """A temporary directory is this system's own, or there is a reason in words."""
    reason = is_shared(tmp_path)
    assert reason is None or "container" in reason
