"""The tree of errors and the stream of events by themselves."""

from __future__ import annotations

import asyncio
import errno

import pytest

from strandline import errors
from strandline.errors import EnvironmentFault, StrandlineError
from strandline.events import Closed, DomainEvent, EventBus


def test_exit_codes_are_those_of_the_contract() -> None:
    """1 our error, 2 usage, 3 nothing matched, 4 refused: by the class of the error."""
    codes = {
        kind.__name__: kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, StrandlineError)
    }
    assert codes == {
        "StrandlineError": 1,
        "SafeToShow": 2,
        "BadRequest": 2,
        "NothingMatched": 3,
        "Refused": 4,
        "EnvironmentFault": 4,
        "DamagedData": 4,
        "Bug": 1,
    }


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.EACCES, "Cannot read /x: permission denied; give your user read permission on it"),
        (errno.ENOENT, "Cannot read /x: no such file or directory; check the path"),
        (errno.EISDIR, "Cannot read /x: is a directory; a directory stands where a file is expected"),
        (errno.EIO, "; check the disk and try again."),
    ],
)
def test_fault_of_the_system_is_one_sentence(number: int, sentence: str) -> None:
    """What, where, why and what to do."""
    message = str(EnvironmentFault.of(OSError(number, __import__("os").strerror(number)), "/x", "read"))
    assert sentence in message
    assert message.endswith(".")
    assert "\n" not in message


class _Tick(DomainEvent, frozen=True, kw_only=True):
    pass


def test_listener_gets_what_was_published_since_it_subscribed() -> None:
    """The subscription starts with the call, not with the first await, and ends after Closed."""

    async def body() -> tuple[list[DomainEvent], list[DomainEvent]]:
        bus = EventBus()
        bus.publish(_Tick(revision=0))
        first = bus.subscribe()
        bus.publish(_Tick(revision=1))
        second = bus.subscribe()
        bus.publish(_Tick(revision=2))
        bus.publish(Closed(revision=2))
        return [event async for event in first], [event async for event in second]

    first, second = asyncio.run(body())
    assert first == [_Tick(revision=1), _Tick(revision=2), Closed(revision=2)]
    assert second == first[1:]


def test_listener_that_leaves_is_forgotten() -> None:
    """A listener that breaks off takes its queue with it; the others hear on."""

    async def body() -> list[DomainEvent]:
        bus = EventBus()
        leaving, staying = bus.subscribe(), bus.subscribe()
        bus.publish(_Tick(revision=1))
        async for _event in leaving:
            break
        await leaving.aclose()
        assert len(bus._queues) == 1
        bus.publish(Closed(revision=1))
        return [event async for event in staying]

    assert len(asyncio.run(body())) == 2
