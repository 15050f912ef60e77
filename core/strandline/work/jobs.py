"""What the worker can be asked to do: a job takes one record and gives records in slices."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from strandline.errors import Bug

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RequestT = TypeVar("RequestT")
SliceT = TypeVar("SliceT")


class Job(Generic[RequestT, SliceT]):
    """A function that the worker can run, by the name under which the worker finds it.

    Attributes:
        name: ``package.module:ATTRIBUTE`` of this very object.
        run: takes the request and yields slices.
        request: record type of the request.
        slice: record type of a slice.
    """

    def __init__(
        self,
        name: str,
        run: Callable[[RequestT], Iterator[SliceT]],
        request: type[RequestT],
        slice_type: type[SliceT],
    ) -> None:
        self.name = name
        self.run = run
        self.request = request
        self.slice = slice_type


def find_job(name: str) -> Job[Any, Any]:
    """Return the job called ``name``.

    Raises:
        Bug: no such job in this package.
    """
    module, _, attribute = name.partition(":")
    if not module.startswith("strandline."):
        raise Bug(f"The worker was asked for {name}, which is not Strandline's.")
    job: Job[Any, Any] | None = getattr(importlib.import_module(module), attribute, None)
    if not isinstance(job, Job):
        raise Bug(f"The worker was asked for {name}, which is no job.")
    return job
