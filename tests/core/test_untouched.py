"""Looking changes nothing: names, bytes, times and modes of the whole directory are the same before and after."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import newer_files
from state_tree import NAMES, copy_case, fixed, tree_hash, write_config, write_store
from strandline.gateway import open_gateway
from strandline.listing import ListingRequest
from strandline.work.worker import Worker

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = (
    ["sessions"],
    ["sessions", "--json"],
    ["sessions", "--all-agents", "--limit", "all", "--json"],
    ["sessions", "--active", "60", "--filter", "size>1kb file:present"],
    ["sessions", "--store", "no/such/{agentId}/store.json"],
    ["status"],
    ["status", "--json"],
)


def _every_query(state: Path, place: Path) -> None:
    async def ask() -> None:
        worker = Worker()
        try:
            async with open_gateway(state, environment=fixed(place), worker=worker) as gateway:
                await gateway.sessions()
                await gateway.sessions("size>1kb kind:direct")
                await gateway.listing(ListingRequest(limit=None))
                await gateway.listing(ListingRequest(all_agents=True))
                await gateway.status()
                (await gateway.files()).totals()
                await gateway.refresh()
        finally:
            await worker.close()

    asyncio.run(ask())


def _every_command(state: Path) -> None:
    home = state.parent / "home"
    home.mkdir(exist_ok=True)
    variables = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "strandline.cli.main", *words, "--state", state],
            env=variables,
            cwd=home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words in COMMANDS
    ]
    for process in running:
        _, err = process.communicate(timeout=60)
        assert process.returncode in {0, 3, 4, 5}, err
        assert "Traceback" not in err


def _like_make_state(state: Path) -> None:
    write_config(state, {"agents": {"list": [{"id": "main"}, {"id": "work"}]}})
    for agent in ("main", "work", "disk"):
        rows = {
            f"agent:{agent}:webchat:direct:p{at}": {"sessionId": f"{agent}-{at}", "updatedAt": at} for at in range(40)
        }
        folder = write_store(state, rows, agent=agent).parent
        for at in range(30):
            (folder / f"{agent}-{at}.jsonl").write_text('{"type":"session"}\n' * at, "utf-8")
        (folder / f"{agent}-1.jsonl.reset.2026-04-10T12-00-00.000Z").write_text("{}\n", "utf-8")
        (folder / f"{agent}-2.trajectory.jsonl").write_text("{}\n", "utf-8")
        (folder / f"{agent}-3.jsonl.lock").write_text("{}", "utf-8")
        (folder / "subdir").mkdir()
    (state / "cron" / "runs").mkdir(parents=True)
    (state / "cron" / "runs" / "job.jsonl").write_text("{}\n", "utf-8")


@pytest.mark.parametrize("case", NAMES)
def test_queries_change_nothing_in_a_case(case: str, tmp_path: Path) -> None:
    """Every query over every recorded case leaves it as it was."""
    state = copy_case(case, tmp_path / "data")
    before = tree_hash(tmp_path / "data")
    _every_query(state, tmp_path)
    assert tree_hash(tmp_path / "data") == before


def test_queries_and_commands_change_nothing_in_a_common_directory(tmp_path: Path) -> None:
    """A directory as OpenClaw leaves it: three agents, archives, sidecars, locks, run logs."""
    state = tmp_path / "state"
    _like_make_state(state)
    before = tree_hash(state)
    _every_query(state, tmp_path)
    _every_command(state)
    assert tree_hash(state) == before


@pytest.mark.parametrize("case", ["A01-zero-byte-store", "A11-paths-from-another-machine"])
def test_commands_change_nothing_in_a_case(case: str, tmp_path: Path) -> None:
    """Every command over damage and foreign paths leaves the directory as it was."""
    state = copy_case(case, tmp_path / "data")
    before = tree_hash(tmp_path / "data" / case / "state")
    _every_command(state)
    assert tree_hash(state) == before


def test_newer_store_that_nobody_has_open_stays_alone(tmp_path: Path) -> None:
    """No -wal, -shm or journal appears beside it, and its own time stays."""
    state = tmp_path / "state"
    newer_files.write_newer(newer_files.place_of(state))
    before = tree_hash(state)
    _every_query(state, tmp_path)
    _every_command(state)
    assert tree_hash(state) == before


def test_newer_store_with_a_live_writer_keeps_its_files(tmp_path: Path) -> None:
    """Database, log and index keep bytes and times while their owner lives."""
    state = tmp_path / "state"
    path = newer_files.write_newer(newer_files.place_of(state))
    with newer_files.live_writer(path):
        before = tree_hash(state)
        _every_query(state, tmp_path)
        _every_command(state)
        assert tree_hash(state) == before


def test_the_hash_sees_what_it_should(tmp_path: Path) -> None:
    """A new name, a byte, a time and a mode each change it."""
    file = tmp_path / "top" / "a"
    file.parent.mkdir()
    file.write_text("x", "utf-8")
    seen = {tree_hash(tmp_path / "top")}
    os.utime(file, ns=(1, 1))
    seen.add(tree_hash(tmp_path / "top"))
    file.chmod(0o400)
    seen.add(tree_hash(tmp_path / "top"))
    (file.parent / "b").touch()
    seen.add(tree_hash(tmp_path / "top"))
    assert len(seen) == (3 if os.name == "nt" else 4)
