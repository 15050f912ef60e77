"""A process table for tests: what lives is what the test says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from strandline.state.processes import Process


class Table:
    """Processes given one by one, with the variables of some of them."""

    def __init__(self, *processes: Process, environments: Mapping[int, Mapping[str, str]] | None = None) -> None:
        self._processes = {process.pid: process for process in processes}
        self._environments = environments or {}

    def look_up(self, pid: int) -> Process | None:
        """See ``ProcessTable``."""
        return self._processes.get(pid)

    def running(self) -> Iterable[Process]:
        """See ``ProcessTable``."""
        return self._processes.values()

    def environment(self, pid: int) -> Mapping[str, str] | None:
        """See ``ProcessTable``."""
        return self._environments.get(pid)
