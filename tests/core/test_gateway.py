"""The gateway: events in order, one reading per change, and a load that may be closed at any moment."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

import state_tree
from state_tree import fixed, write_config, write_store
from strandline.errors import BadRequest, EnvironmentFault, NothingMatched
from strandline.events import Closed
from strandline.gateway import open_gateway
from strandline.listing import ListingRequest
from strandline.rows import (
    FactsRead,
    LoadFinished,
    RowsRead,
    StoreReplaced,
    StoreState,
    StoreUpdated,
    TranscriptState,
)
from strandline.state.file_classes import FileClass, Standing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from strandline.events import DomainEvent
    from strandline.gateway import Gateway
    from strandline.tables import SessionRecord


def _row(number: int = 0, **more: Any) -> dict[str, Any]:
    return {"sessionId": f"id-{number}", "updatedAt": 1000 + number, **more}


class _Listener:
    """Everything that a gateway told, taken up in the background."""

    def __init__(self, gateway: Gateway) -> None:
        self.told: list[DomainEvent] = []
        self._events = gateway.events()
        self._task = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async for event in self._events:
            self.told.append(event)

    async def finish(self) -> list[DomainEvent]:
        """Wait for the end of the stream."""
        await self._task
        return self.told

    async def since(self, count: int) -> list[DomainEvent]:
        """Return what came after the first ``count`` events."""
        await asyncio.sleep(0.01)
        return self.told[count:]

    def of(self, kind: type[DomainEvent]) -> list[Any]:
        """Return the events of one kind."""
        return [event for event in self.told if isinstance(event, kind)]


def _with(state: Path, body: Callable[[Gateway, _Listener], Awaitable[None]], **options: Any) -> list[DomainEvent]:
    """Open a gateway, listen from the first moment, run ``body``; return every event until the end."""

    async def whole() -> list[DomainEvent]:
        async with asyncio.timeout(60):
            async with open_gateway(state, environment=fixed(state.parent), **options) as gateway:
                listener = _Listener(gateway)
                await body(gateway, listener)
            return await listener.finish()

    return asyncio.run(whole())


async def _loaded(gateway: Gateway, _listener: _Listener) -> None:
    await gateway.sessions()


def _replace(path: Path, rows: Any) -> None:
    """Write a store as its owner does: a file beside it, then a rename."""
    beside = path.with_name("sessions.json.7.tmp")
    beside.write_text(json.dumps(rows), "utf-8")
    beside.replace(path)


# The stream


def test_events_tell_a_load_in_order(tmp_path: Path) -> None:
    """Reading, rows, read, then facts, then the end of the load and of the stream; revisions grow by one."""
    write_store(tmp_path / "state", {f"agent:main:x{number}": _row(number) for number in range(900)})
    told = _with(tmp_path / "state", _loaded)
    kinds = [type(event) for event in told]
    assert kinds == [
        StoreUpdated,
        RowsRead,
        RowsRead,
        RowsRead,
        StoreUpdated,
        FactsRead,
        FactsRead,
        FactsRead,
        StoreUpdated,
        LoadFinished,
        Closed,
    ]
    states = [event.view.state for event in told if isinstance(event, StoreUpdated)]
    assert states == [StoreState.READING, StoreState.READ, StoreState.READ]
    assert [event.revision for event in told] == [*range(1, 11), 10]
    keys = [row.key for event in told if isinstance(event, RowsRead) for row in event.rows]
    assert keys == [f"agent:main:x{number}" for number in range(900)]


def test_every_listener_hears_everything_from_its_first_moment(tmp_path: Path) -> None:
    """Two subscriptions get the same events; one made after the load hears only the end."""
    write_store(tmp_path / "state", {"agent:main:main": _row()})

    async def whole() -> tuple[list[DomainEvent], list[DomainEvent], list[DomainEvent]]:
        async with open_gateway(tmp_path / "state", environment=fixed(tmp_path)) as gateway:
            first, second = _Listener(gateway), _Listener(gateway)
            await gateway.sessions()
            late = _Listener(gateway)
        return await first.finish(), await second.finish(), await late.finish()

    first, second, late = asyncio.run(whole())
    assert first == second
    assert [type(event) for event in late] == [Closed]


def test_subscription_after_the_end_is_empty(tmp_path: Path) -> None:
    """Nobody waits for events of a closed gateway."""
    write_store(tmp_path / "state", {})

    async def whole() -> list[DomainEvent]:
        async with open_gateway(tmp_path / "state", environment=fixed(tmp_path)) as gateway:
            pass
        return [event async for event in gateway.events()]

    assert asyncio.run(whole()) == []


def test_without_eager_nothing_is_read_before_it_is_asked_for(tmp_path: Path) -> None:
    """A command that lists one store reads that store only."""
    state = tmp_path / "state"
    write_config(state, {"agents": {"list": [{"id": "main"}, {"id": "beta"}]}})
    for agent in ("main", "beta"):
        write_store(state, {f"agent:{agent}:main": _row()}, agent=agent)

    async def body(gateway: Gateway, listener: _Listener) -> None:
        await asyncio.sleep(0.05)
        assert listener.told == []
        answer = await gateway.listing(ListingRequest(agent="beta"))
        assert [row.key for row in answer.sessions] == ["agent:beta:main"]
        assert {store.state for store in gateway.view.stores} == {StoreState.PENDING, StoreState.READ}

    _with(state, body, eager=False)


def test_queries_at_the_same_time_share_one_reading(tmp_path: Path) -> None:
    """Ten queries during the load read the store once."""
    write_store(tmp_path / "state", {"agent:main:main": _row()})

    async def body(gateway: Gateway, listener: _Listener) -> None:
        tables = await asyncio.gather(*(gateway.sessions() for _ in range(5)), *(gateway.status() for _ in range(5)))
        assert len(tables) == 10
        assert len(listener.of(RowsRead)) == 1

    _with(tmp_path / "state", body)


def test_two_gateways_on_one_directory_do_not_know_each_other(tmp_path: Path) -> None:
    """Each reads for itself, and closing one leaves the other at work."""
    path = write_store(tmp_path / "state", {"agent:main:main": _row()})

    async def whole() -> None:
        async with open_gateway(tmp_path / "state", environment=fixed(tmp_path)) as first:
            async with open_gateway(tmp_path / "state", environment=fixed(tmp_path)) as second:
                assert (await first.sessions()).records == (await second.sessions()).records
            _replace(path, {"agent:main:main": _row(), "agent:main:y": _row(1)})
            await first.refresh()
            assert len(await first.sessions()) == 2

    asyncio.run(whole())


@pytest.mark.parametrize("pause", [0, 0.001, 0.01])
def test_closed_while_it_loads(pause: float, tmp_path: Path) -> None:
    """Closing in the middle ends the stream with Closed and leaves no task behind."""
    write_store(tmp_path / "state", {f"agent:main:x{number}": _row(number) for number in range(3000)})

    async def whole() -> list[DomainEvent]:
        async with open_gateway(tmp_path / "state", environment=fixed(tmp_path)) as gateway:
            listener = _Listener(gateway)
            await asyncio.sleep(pause)
        told = await listener.finish()
        assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []
        return told

    assert isinstance(asyncio.run(whole())[-1], Closed)


# Changes of the store


def test_nothing_changed_nothing_read(tmp_path: Path) -> None:
    """Refreshing an unchanged directory tells nothing at all."""
    write_store(tmp_path / "state", {"agent:main:main": _row()})

    async def body(gateway: Gateway, listener: _Listener) -> None:
        await gateway.sessions()
        before = len(await listener.since(0))
        for _ in range(3):
            await gateway.refresh()
        assert await listener.since(before) == []

    _with(tmp_path / "state", body)


def test_replaced_store_is_read_once_and_the_change_is_exact(tmp_path: Path) -> None:
    """Changed, new and removed keys are named; a row that only moved within the file is not among them."""
    path = write_store(tmp_path / "state", {"agent:main:a": _row(1), "agent:main:b": _row(2), "agent:main:c": _row(3)})

    async def body(gateway: Gateway, listener: _Listener) -> None:
        await gateway.sessions()
        _replace(path, {"agent:main:new": _row(9), "agent:main:c": _row(3), "agent:main:b": _row(2, label="tide")})
        await asyncio.gather(gateway.refresh(), gateway.refresh(), gateway.refresh())
        (event,) = listener.of(StoreReplaced)
        assert set(event.changed) == {"agent:main:new", "agent:main:b"}
        assert event.removed == ("agent:main:a",)
        assert [row.key for row in event.rows] == ["agent:main:new", "agent:main:c", "agent:main:b"]
        assert len(await gateway.sessions()) == 3
        assert gateway.view.stores[0].row_count == 3

    _with(tmp_path / "state", body)


def test_store_written_in_place_is_read_again(tmp_path: Path) -> None:
    """An owner that writes into the same file is noticed by size and time."""
    path = write_store(tmp_path / "state", {"agent:main:a": _row(1)})

    async def body(gateway: Gateway, listener: _Listener) -> None:
        await gateway.sessions()
        text = path.read_text("utf-8").removesuffix("}") + ', "agent:main:b": {}}'
        path.write_text(text, "utf-8")
        await gateway.refresh()
        (event,) = listener.of(StoreReplaced)
        assert (event.changed, event.removed) == (("agent:main:b",), ())

    _with(tmp_path / "state", body)


@pytest.mark.parametrize("content", [b"", b'{"agent:main:a": {"sess', b"[]"])
def test_damage_after_the_fact_keeps_the_rows_in_view(content: bytes, tmp_path: Path) -> None:
    """A store that becomes unreadable says nothing about its sessions: they stay, damage is told once, and heals."""
    path = write_store(tmp_path / "state", {"agent:main:a": _row(1)})

    async def body(gateway: Gateway, listener: _Listener) -> None:
        await gateway.sessions()
        path.write_bytes(content)
        path.with_name("sessions.json.5.tmp").write_text("{}", "utf-8")
        await gateway.refresh()
        count = len(await listener.since(0))
        await gateway.refresh()
        assert await listener.since(count) == []
        table = await gateway.sessions()
        (store,) = gateway.view.stores
        assert [record.row.key for record in table] == ["agent:main:a"]
        assert table.damage == (store.damage,)
        assert store.state is StoreState.DAMAGED
        assert store.recovery == ("sessions.json.5.tmp",)
        assert listener.of(StoreReplaced) == []
        _replace(path, {"agent:main:b": _row(2)})
        await gateway.refresh()
        (store,) = gateway.view.stores
        assert (store.state, store.damage) == (StoreState.READ, None)
        assert [record.row.key for record in await gateway.sessions()] == ["agent:main:b"]

    _with(tmp_path / "state", body)


def test_deleted_store_is_empty_and_comes_back(tmp_path: Path) -> None:
    """A store that goes away is missing, its rows are removed once; when it returns they are new."""
    path = write_store(tmp_path / "state", {"agent:main:a": _row(1)})

    async def body(gateway: Gateway, listener: _Listener) -> None:
        await gateway.sessions()
        path.unlink()
        await gateway.refresh()
        (store,) = gateway.view.stores
        assert (store.state, store.bytes, store.row_count) == (StoreState.MISSING, 0, 0)
        (gone,) = listener.of(StoreReplaced)
        assert gone.removed == ("agent:main:a",)
        await gateway.refresh()
        assert len(listener.of(StoreReplaced)) == 1
        write_store(tmp_path / "state", {"agent:main:a": _row(1)})
        await gateway.refresh()
        assert listener.of(StoreReplaced)[1].changed == ("agent:main:a",)
        assert gateway.view.stores[0].state is StoreState.READ

    _with(tmp_path / "state", body)


def test_missing_store_that_appears_is_read(tmp_path: Path) -> None:
    """An agent without a store is told as missing; its first store is read at the next look."""
    (tmp_path / "state").mkdir()

    async def body(gateway: Gateway, listener: _Listener) -> None:
        assert len(await gateway.sessions()) == 0
        assert gateway.view.stores[0].state is StoreState.MISSING
        write_store(tmp_path / "state", {"agent:main:a": _row(1)})
        await gateway.refresh()
        assert len(await gateway.sessions()) == 1
        assert len(listener.of(StoreReplaced)) == 1

    _with(tmp_path / "state", body)


# Rows, facts and files


def test_names_that_no_file_can_have_do_not_stop_the_load(tmp_path: Path) -> None:
    """NUL, half a character and 300 letters in a stored path are told per row; every other row has its facts."""
    state = tmp_path / "state"
    folder = state / "agents" / "main" / "sessions"
    names = ("a\x00b.jsonl", "\ud83e.jsonl", "x" * 300 + ".jsonl", "sub/a\x00b.jsonl", "\ud83e/\ud83e.jsonl")
    rows = {f"agent:main:r{at}": _row(at, sessionFile=name) for at, name in enumerate(names)}
    rows |= {f"agent:main:a{at}": _row(at, sessionFile=f"{folder}/{name}") for at, name in enumerate(names)}
    write_store(state, {**rows, "agent:main:fine": _row(99)})
    (folder / "id-99.jsonl").write_text("{}\n", "utf-8")

    async def body(gateway: Gateway, _listener: _Listener) -> None:
        table = await gateway.sessions()
        (fine,) = table.find("agent:main:fine")
        assert fine.facts is not None
        assert fine.facts.state is TranscriptState.PRESENT
        assert all(record.facts is not None for record in table)
        assert [record.row.key for record in table if record.facts and record.facts.bytes] == ["agent:main:fine"]

    _with(state, body)


def test_stores_that_share_a_directory_count_each_file_once(tmp_path: Path) -> None:
    """With ``session.store`` in one directory a transcript of either store is referenced, and nothing counts twice."""
    state = tmp_path / "state"
    folder = state / "stores"
    write_config(
        state,
        {"session": {"store": str(folder / "{agentId}.json")}, "agents": {"list": [{"id": "main"}, {"id": "beta"}]}},
    )
    folder.mkdir()
    for at, agent in enumerate(("main", "beta")):
        (folder / f"{agent}.json").write_text(json.dumps({f"agent:{agent}:x": _row(at)}), "utf-8")
        (folder / f"id-{at}.jsonl").write_text("{}\n", "utf-8")
    (folder / "stray.jsonl").write_text("{}\n", "utf-8")

    async def body(gateway: Gateway, _listener: _Listener) -> None:
        files = await gateway.files()
        found = {file.path: (file.file_class, file.standing) for file in files.files}
        assert len(files.files) == len(found) == 5
        assert found["stores/beta.json"][0] is found["stores/main.json"][0] is FileClass.STORE
        assert found["stores/id-0.jsonl"][1] is found["stores/id-1.jsonl"][1] is Standing.REFERENCED
        assert found["stores/stray.jsonl"][1] is Standing.UNREFERENCED
        assert [store.unindexed for store in gateway.view.stores] == [1, 1]
        assert files.bytes == gateway.view.bytes_on_disk == sum(path.stat().st_size for path in folder.iterdir())

    _with(state, body)


def test_filter_asks_for_facts_and_is_refused_with_its_column(tmp_path: Path) -> None:
    """A filter on size waits for the facts; a wrong one says where before anything is read."""
    state = tmp_path / "state"
    write_store(state, {"agent:main:a": _row(1), "agent:main:b": _row(2)})
    (state / "agents" / "main" / "sessions" / "id-1.jsonl").write_text("x" * 2048, "utf-8")

    async def body(gateway: Gateway, listener: _Listener) -> None:
        with pytest.raises(BadRequest, match="column 1"):
            await gateway.sessions("nonsense:x")
        assert listener.told == []
        answer = await gateway.listing(ListingRequest(filter_text="size>=2kb"))
        assert [row.key for row in answer.sessions] == ["agent:main:a"]
        assert len(await gateway.sessions("file:missing")) == 1

    _with(state, body, eager=False)


# The directory itself


@pytest.mark.parametrize("remote", [{"mode": "remote"}, {"mode": "remote", "remote": {"url": "ws://10.0.0.1:1"}}])
def test_remote_mode_is_told_everywhere(remote: dict[str, Any], tmp_path: Path) -> None:
    """With ``gateway.mode: remote`` these files are not what that gateway uses; view and both answers say so."""
    state = tmp_path / "state"
    write_config(state, {"gateway": remote})
    write_store(state, {"agent:main:main": _row()})

    async def body(gateway: Gateway, _listener: _Listener) -> None:
        assert gateway.view.authority == "remote"
        assert gateway.view.remote_url == remote.get("remote", {}).get("url")
        assert (await gateway.listing(ListingRequest())).authority == "remote"
        assert (await gateway.status()).authority == "remote"

    _with(state, body)


def test_directory_that_cannot_be_opened_is_one_sentence(tmp_path: Path) -> None:
    """Missing, and a file in its place: a fault of the environment with what to do."""
    (tmp_path / "file").write_text("x", "utf-8")

    async def ask(name: str) -> None:
        async with open_gateway(tmp_path / name, environment=fixed(tmp_path)):
            pass

    with pytest.raises(EnvironmentFault, match="no such file or directory; check the path"):
        asyncio.run(ask("missing"))
    with pytest.raises(EnvironmentFault, match="not a directory; name the directory that holds agents/"):
        asyncio.run(ask("file"))


def test_agents_are_asked_for_by_their_configured_ids(tmp_path: Path) -> None:
    """Spelling and blanks do not matter; an agent found only on disk is not a configured one; blank is the default."""
    state = tmp_path / "state"
    write_config(state, {"agents": {"list": [{"id": "Beta", "default": True}]}})
    for agent in ("beta", "disk"):
        write_store(state, {f"agent:{agent}:main": _row()}, agent=agent)

    async def body(gateway: Gateway, _listener: _Listener) -> None:
        for stated in (" BETA ", "beta", "", "  ", None):
            answer = await gateway.listing(ListingRequest(agent=stated))
            assert [row.key for row in answer.sessions] == ["agent:beta:main"]
        with pytest.raises(NothingMatched, match='No agent "disk" is configured; configured are beta'):
            await gateway.listing(ListingRequest(agent="disk"))
        with pytest.raises(BadRequest, match="--agent and --all-agents cannot be used together"):
            await gateway.listing(ListingRequest(agent="beta", all_agents=True))
        assert {record.row.agent_id for record in await gateway.sessions()} == {"beta", "disk"}
        assert [store.configured for store in gateway.view.stores] == [True, False]

    _with(state, body)


@pytest.mark.skipif(os.name == "nt", reason="directory links need a privilege on Windows")
def test_agent_directory_that_is_a_link_is_left_alone(tmp_path: Path) -> None:
    """As in the real program, a link below agents/ is no agent."""
    state = tmp_path / "state"
    write_store(state, {"agent:main:main": _row()})
    elsewhere = write_store(tmp_path / "other", {"agent:x:main": _row()}, agent="x")
    (state / "agents" / "linked").symlink_to(elsewhere.parent.parent)

    async def body(gateway: Gateway, _listener: _Listener) -> None:
        assert [store.agent_id for store in gateway.view.stores] == ["main"]

    _with(state, body)


def test_case_directories_are_what_they_were(tmp_path: Path) -> None:
    """A refresh writes nothing either."""
    state = state_tree.copy_case("A05-what-is-this-file", tmp_path)
    before = state_tree.tree_hash(tmp_path)

    async def body(gateway: Gateway, _listener: _Listener) -> None:
        await gateway.sessions()
        await gateway.refresh()

    _with(state, body)
    assert state_tree.tree_hash(tmp_path) == before


def test_a_directory_is_no_transcript(tmp_path: Path) -> None:
    """What bears a transcript's name but is a directory is not called present."""
    state = tmp_path / "state"
    write_store(state, {"agent:main:a": {"sessionId": "a", "updatedAt": 1}})
    (state / "agents" / "main" / "sessions" / "a.jsonl").mkdir()

    async def run() -> SessionRecord:
        async with open_gateway(state, environment=fixed(tmp_path)) as gateway:
            return (await gateway.sessions()).records[0]

    facts = asyncio.run(run()).facts
    assert facts is not None
    assert (facts.state, facts.bytes) == (TranscriptState.UNKNOWN, None)
    assert "directory" in facts.note
