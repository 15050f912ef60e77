"""The worker: the same slices as in this process, whatever becomes of the child (contracts, "Worker process")."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec
import psutil
import pytest

import state_tree
from strandline.errors import DamagedData, EnvironmentFault
from strandline.gateway import open_gateway
from strandline.loading import READ_STORE, StoreJob, StoreSlice
from strandline.settings.policies import AgentsPolicy, SessionPolicy
from strandline.work import worker as worker_module
from strandline.work.worker import Worker, run_in_thread, worker_command

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

ROWS = 5000


def _rows(count: int = ROWS, padding: int = 0) -> dict[str, Any]:
    return {
        f"agent:main:webchat:direct:p{number}": {
            "sessionId": f"id-{number}",
            "updatedAt": number,
            "totalTokens": number * 3,
            "skillsSnapshot": {"prompt": "x" * padding},
        }
        for number in range(count)
    }


def _job(path: Path) -> StoreJob:
    return StoreJob(store=0, path=str(path), agent_id="main", agents=AgentsPolicy(), session=SessionPolicy())


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of several slices, above the size at which a worker is used."""
    return state_tree.write_store(tmp_path / "state", _rows(padding=400))


def _run(body: Callable[[Worker], Awaitable[None]]) -> None:
    """Run ``body`` with a worker and make sure that nothing of it is left."""

    async def whole() -> None:
        worker = Worker()
        try:
            async with asyncio.timeout(60):
                await body(worker)
        finally:
            await worker.close()
        assert worker.pid is None

    before = set(psutil.Process().children())
    asyncio.run(whole())
    assert set(psutil.Process().children()) == before


async def _in_thread(job: StoreJob) -> list[StoreSlice]:
    return [part async for part in run_in_thread(READ_STORE, job)]


def _keys(parts: list[StoreSlice]) -> list[str]:
    return [row.key for part in parts for row in part.rows]


async def _kill(worker: Worker) -> None:
    assert worker.pid is not None
    child = psutil.Process(worker.pid)
    child.kill()
    await asyncio.to_thread(child.wait, 10)


def test_slices_of_the_worker_equal_those_of_this_process(store: Path) -> None:
    """Rows, identity, order and cut of the slices are the same on both ways."""

    async def body(worker: Worker) -> None:
        theirs = [part async for part in worker.run(READ_STORE, _job(store))]
        assert theirs == await _in_thread(_job(store))
        assert len(theirs) > 3

    _run(body)


def test_jobs_in_sequence_share_one_child(store: Path) -> None:
    """A second and third job run in the child of the first; start() only warms it."""

    async def body(worker: Worker) -> None:
        await worker.start()
        first = worker.pid
        assert first is not None
        for _ in range(3):
            assert len(_keys([part async for part in worker.run(READ_STORE, _job(store))])) == ROWS
            assert worker.pid == first

    _run(body)


def test_jobs_at_the_same_time_wait_for_each_other(store: Path) -> None:
    """Two jobs asked for at once both come out whole, from one child."""

    async def body(worker: Worker) -> None:
        async def one() -> list[str]:
            return _keys([part async for part in worker.run(READ_STORE, _job(store))])

        first, second = await asyncio.gather(one(), one())
        assert first == second
        assert len(first) == ROWS

    _run(body)


@pytest.mark.parametrize("kills", [1, 2, 3])
def test_killed_in_the_middle_of_a_job_nothing_is_lost_or_doubled(kills: int, store: Path) -> None:
    """A child that dies is started once more and the job goes on; after a second death this process does the rest."""

    async def body(worker: Worker) -> None:
        expected = _keys(await _in_thread(_job(store)))
        given: list[StoreSlice] = []
        pids = []
        async for part in worker.run(READ_STORE, _job(store)):
            given.append(part)
            if len(given) <= kills and worker.pid is not None:
                pids.append(worker.pid)
                await _kill(worker)
        assert _keys(given) == expected
        assert len(set(pids)) == min(kills, 2)
        assert (worker.pid is None) == (kills >= 2)

    _run(body)


def test_killed_between_jobs_the_next_job_starts_a_child(store: Path) -> None:
    """A child that died idle is noticed by the next job, which comes out whole."""

    async def body(worker: Worker) -> None:
        await worker.start()
        await _kill(worker)
        assert len(_keys([part async for part in worker.run(READ_STORE, _job(store))])) == ROWS

    _run(body)


def test_child_that_cannot_start_is_done_without(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no process can be started the job runs in threads of this one."""
    monkeypatch.setattr(worker_module, "worker_command", lambda: [str(store.parent / "no-such-program")])

    async def body(worker: Worker) -> None:
        assert len(_keys([part async for part in worker.run(READ_STORE, _job(store))])) == ROWS
        assert worker.pid is None

    _run(body)


def test_program_that_ends_at_once_is_done_without(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that starts and dies each time is tried twice, then the job runs here."""
    monkeypatch.setattr(worker_module, "worker_command", lambda: [sys.executable, "-c", "raise SystemExit(3)"])

    async def body(worker: Worker) -> None:
        assert len(_keys([part async for part in worker.run(READ_STORE, _job(store))])) == ROWS

    _run(body)


def test_faults_arrive_as_what_they_are(tmp_path: Path) -> None:
    """Damage and a missing file raise DamagedData and EnvironmentFault here, and the child lives on."""
    damaged = state_tree.write_store(tmp_path / "state", b'{"a": {"b"')

    async def body(worker: Worker) -> None:
        with pytest.raises(DamagedData, match="ends too early at byte 10"):
            [part async for part in worker.run(READ_STORE, _job(damaged))]
        first = worker.pid
        with pytest.raises(EnvironmentFault, match="no such file"):
            [part async for part in worker.run(READ_STORE, _job(tmp_path / "missing.json"))]
        assert first is not None
        assert worker.pid == first

    _run(body)


def test_half_characters_and_huge_numbers_come_through(tmp_path: Path) -> None:
    """What no frame can carry, half an emoji and a number above 64 bits, is read in this process instead."""
    rows = _rows(1200)
    rows["agent:main:webchat:direct:p900"]["label"] = "harbour \ud83e"
    rows["agent:main:webchat:direct:p1100"]["totalTokens"] = 10**30
    path = state_tree.write_store(tmp_path / "state", rows)

    async def body(worker: Worker) -> None:
        parts = [part async for part in worker.run(READ_STORE, _job(path))]
        assert parts == await _in_thread(_job(path))
        assert len(_keys(parts)) == len(set(_keys(parts))) == 1200
        assert worker.pid is not None

    _run(body)


def test_closing_early_ends_the_child_and_the_next_job_has_a_new_one(store: Path) -> None:
    """An iterator that is closed after one slice leaves no child behind, again and again."""

    async def body(worker: Worker) -> None:
        for _ in range(3):
            async with aclosing(worker.run(READ_STORE, _job(store))) as parts:
                async for _part in parts:
                    child = psutil.Process(worker.pid)
                    break
            assert worker.pid is None
            assert not child.is_running()
        assert len(_keys([part async for part in worker.run(READ_STORE, _job(store))])) == ROWS
        assert worker.pid is not None

    _run(body)


def test_cancelled_job_leaves_no_child(store: Path) -> None:
    """Cancelling the task that reads ends the child too."""

    async def body(worker: Worker) -> None:
        started = asyncio.Event()

        async def read() -> None:
            async for _part in worker.run(READ_STORE, _job(store)):
                started.set()
                await asyncio.sleep(60)

        task = asyncio.create_task(read())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    _run(body)


def test_closed_worker_starts_again(store: Path) -> None:
    """After close() the next job has a child of its own."""

    async def body(worker: Worker) -> None:
        await worker.start()
        first = worker.pid
        await worker.close()
        assert len(_keys([part async for part in worker.run(READ_STORE, _job(store))])) == ROWS
        assert worker.pid not in {None, first}

    _run(body)


def test_library_names_in_the_working_directory_do_no_harm(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A json.py and a struct.py where someone works are not imported by the child."""
    for name in ("json.py", "struct.py", "strandline.py"):
        (tmp_path / name).write_text("raise SystemExit(9)\n", "utf-8")
    monkeypatch.chdir(tmp_path)

    async def body(worker: Worker) -> None:
        assert len(_keys([part async for part in worker.run(READ_STORE, _job(store))])) == ROWS
        assert worker.pid is not None

    _run(body)


_PARENT = """
import asyncio, sys
from strandline.work.worker import Worker

async def main():
    worker = Worker()
    await worker.start()
    print(worker.pid, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL; Windows ends pipes the same way")
def test_child_ends_when_its_owner_is_killed() -> None:
    """SIGKILL of the owner closes the pipe, and the child goes."""
    with subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        child = psutil.Process(int(owner.stdout.readline()))
        owner.send_signal(signal.SIGKILL)
    gone, _ = psutil.wait_procs([child], timeout=10)
    assert gone


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_child_is_deaf_to_an_interrupt() -> None:
    """Ctrl-C in a terminal reaches the child as well; the owner decides when it ends, by closing stdin."""
    with subprocess.Popen(worker_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        time.sleep(0.1)
        assert child.poll() is None
        child.stdin.close()
        assert child.wait(10) == 0


# Through a gateway


def test_gateway_reads_a_large_store_in_the_worker(store: Path, tmp_path: Path) -> None:
    """A store above 2 MB is decoded by the child; the table equals the one read without a worker."""
    state = tmp_path / "state"
    assert store.stat().st_size > 2 * 1024**2

    async def body(worker: Worker) -> None:
        async with open_gateway(state, environment=state_tree.fixed(tmp_path), worker=worker) as gateway:
            with_worker = await gateway.sessions()
        assert worker.pid is not None
        async with open_gateway(state, environment=state_tree.fixed(tmp_path)) as gateway:
            assert with_worker == await gateway.sessions()

    _run(body)


def test_gateway_closed_while_the_worker_reads(store: Path, tmp_path: Path) -> None:
    """Closing in the middle of a load ends at once and leaves no child, warning or pending task."""
    state = tmp_path / "state"
    assert store.exists()

    async def body(worker: Worker) -> None:
        for pause in (0, 0.05, 0.2):
            async with open_gateway(state, environment=state_tree.fixed(tmp_path), worker=worker):
                await asyncio.sleep(pause)
            assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []

    _run(body)


def test_half_an_emoji_in_a_large_store_is_no_bug(tmp_path: Path) -> None:
    """JavaScript cuts labels in the middle of a character; a large store with one is listed all the same."""
    rows = _rows(padding=400)
    rows["agent:main:webchat:direct:p4000"]["displayName"] = "tide \ud83e"
    state_tree.write_store(tmp_path / "state", rows)

    async def body(worker: Worker) -> None:
        async with open_gateway(tmp_path / "state", environment=state_tree.fixed(tmp_path), worker=worker) as gateway:
            assert len(await gateway.sessions()) == ROWS
            assert json.dumps(gateway.view.stores[0].damage) == "null"

    _run(body)


def test_records_of_the_job_survive_the_frames(store: Path) -> None:
    """A job and its slices are plain records: encoded and decoded they are equal."""
    job = _job(store)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(job), type=StoreJob) == job
