"""A gateway that follows its directory: every change on disk is told, once, to whoever listens."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from state_tree import fixed, write_store
from strandline.gateway import open_gateway
from strandline.rows import DirectoryUpdated, FactsRead, RowsRead, StoreReplaced, StoreUpdated, TranscriptState

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from strandline.gateway import Gateway

PATIENCE_S = 20


class Listener:
    """Keeps every event and waits for one that fits."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.events: list[Any] = []
        self._news = asyncio.Event()
        self.task = asyncio.create_task(self._listen(gateway.events()))

    async def _listen(self, events: AsyncIterator[Any]) -> None:
        async for event in events:
            self.events.append(event)
            self._news.set()

    async def wait_for(self, fits: Callable[[Any], bool]) -> Any:
        """Return the first event that fits, past or to come."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found = next((event for event in self.events if fits(event)), None)
                if found is not None:
                    return found
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def _live(state: Path) -> AsyncIterator[Listener]:
    async with open_gateway(state, environment=fixed(state.parent), watch=True) as gateway:
        listener = Listener(gateway)
        await gateway.sessions()
        yield listener
    await listener.task


def _store(state: Path) -> Path:
    return state / "agents" / "main" / "sessions" / "sessions.json"


def test_a_replaced_store_is_told_with_its_keys(tmp_path: Path) -> None:
    """An atomic replace of the store tells exactly which rows changed and which are gone."""
    state = tmp_path / "state"
    write_store(state, {"agent:main:a": {"updatedAt": 1}, "agent:main:b": {"updatedAt": 2}})

    async def run() -> StoreReplaced:
        async with _live(state) as listener:
            fresh = _store(state).with_name(".new")
            fresh.write_text('{"agent:main:a": {"updatedAt": 9}, "agent:main:c": {"updatedAt": 3}}', "utf-8")
            os.replace(fresh, _store(state))  # noqa: PTH105 - the very call that the owner makes
            told: StoreReplaced = await listener.wait_for(lambda event: isinstance(event, StoreReplaced))
            return told

    told = asyncio.run(run())
    assert set(told.changed) == {"agent:main:a", "agent:main:c"}
    assert told.removed == ("agent:main:b",)


def test_a_transcript_that_appears_and_vanishes_is_told(tmp_path: Path) -> None:
    """A file beside the store changes the facts of its own row and of no other."""
    state = tmp_path / "state"
    write_store(state, {f"agent:main:{name}": {"sessionId": name, "updatedAt": 1} for name in "ab"})
    transcript = _store(state).with_name("a.jsonl")

    async def run() -> None:
        async with _live(state) as listener:
            transcript.write_text("{}\n", "utf-8")
            await listener.wait_for(lambda event: _says(event, "agent:main:a", TranscriptState.PRESENT))
            listener.events.clear()
            transcript.unlink()
            await listener.wait_for(lambda event: _says(event, "agent:main:a", TranscriptState.MISSING))
            assert not any(_says(event, "agent:main:b", TranscriptState.PRESENT) for event in listener.events)

    asyncio.run(run())


def test_a_new_agent_and_another_configuration_are_told(tmp_path: Path) -> None:
    """A directory below agents/ adds a store; a changed configuration changes the view."""
    state = tmp_path / "state"
    write_store(state, {"agent:main:a": {"updatedAt": 1}})

    async def run() -> Gateway:
        async with _live(state) as listener:
            write_store(state, {"agent:lab:x": {"updatedAt": 2}}, agent="lab")
            await listener.wait_for(lambda event: isinstance(event, RowsRead) and event.rows[0].agent_id == "lab")
            (state / "openclaw.json").write_text('{gateway: {mode: "remote"}}', "utf-8")
            await listener.wait_for(
                lambda event: isinstance(event, DirectoryUpdated) and event.view.authority == "remote"
            )
            return listener.gateway

    gateway = asyncio.run(run())
    assert {store.agent_id for store in gateway.view.stores} == {"main", "lab"}


def test_a_damaged_store_keeps_its_rows_in_view_and_recovers(tmp_path: Path) -> None:
    """A store cut in mid-write is damage; the rows read before stay, and the whole file is read when it is back."""
    state = tmp_path / "state"
    write_store(state, {"agent:main:a": {"updatedAt": 1}})

    async def run() -> None:
        async with _live(state) as listener:
            whole = _store(state).read_text("utf-8")
            _store(state).write_text(whole[:-5], "utf-8")
            await listener.wait_for(lambda event: isinstance(event, StoreUpdated) and event.view.damage is not None)
            assert len(await listener.gateway.sessions()) == 1
            _store(state).write_text(whole.replace("1", "2"), "utf-8")
            await listener.wait_for(lambda event: isinstance(event, StoreReplaced))
            assert listener.gateway.view.stores[0].damage is None

    asyncio.run(run())


@pytest.mark.parametrize("delay_s", [0.0, 0.05])
def test_closing_while_it_watches_leaves_nothing_behind(delay_s: float, tmp_path: Path) -> None:
    """The gateway closes at any moment; the watching thread is gone with it."""
    state = tmp_path / "state"
    write_store(state, {"agent:main:a": {"updatedAt": 1}})

    async def run() -> None:
        async with open_gateway(state, environment=fixed(tmp_path), watch=True):
            await asyncio.sleep(delay_s)

    asyncio.run(run())
    assert not [thread for thread in threading.enumerate() if thread.name == "watch for changes"]


def _says(event: object, key: str, state: TranscriptState) -> bool:
    return isinstance(event, FactsRead) and any((fact.key, fact.state) == (key, state) for fact in event.facts)
