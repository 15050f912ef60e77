"""The worker as its owner sees it: started once, restarted once, done without when it will not run."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

import msgspec

from strandline.errors import Bug, DamagedData, EnvironmentFault, StrandlineError
from strandline.work.frames import HEADER, decode_frame, encode_frame

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from strandline.work.frames import Frame
    from strandline.work.jobs import Job, RequestT, SliceT

WORKER_FLAG = "--strandline-worker"

_STARTS = 2
_STOP_SECONDS = 1.0
_FAULTS: dict[str, type[StrandlineError]] = {
    "environment": EnvironmentFault,
    "damaged": DamagedData,
    "bug": Bug,
}


class _UnfitError(Exception):
    """A slice holds what a frame cannot carry; it is made in this process instead."""


class Worker:
    """A child process that decodes; one job at a time.

    When the child dies it is started once more and the job goes on where it stood; when it dies again, or cannot be
    started, jobs run in threads of this process, slice by slice.
    """

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._starts = 0
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """Process id of the running child; ``None`` when there is none."""
        alive = self._process is not None and self._process.returncode is None
        return self._process.pid if self._process is not None and alive else None

    async def start(self) -> None:
        """Start the child ahead of the first job, so that it is warm."""
        async with self._turn:
            await self._started()

    async def run(self, job: Job[RequestT, SliceT], request: RequestT) -> AsyncGenerator[SliceT, None]:
        """Run a job and yield its slices.

        Closing the iterator early ends the child, since what it still has to say is of no use; the next job starts a
        new one.

        Raises:
            EnvironmentFault, DamagedData, Bug: as the job raised it.
        """
        given = 0
        async with self._turn:
            while (process := await self._started()) is not None:
                finished = False
                try:
                    skip = given
                    async for part in self._ask(process, job, request):
                        if skip:
                            skip -= 1
                            continue
                        given += 1
                        yield part
                    finished = True
                except (asyncio.IncompleteReadError, ConnectionError):
                    await self._stop()
                    continue
                except _UnfitError:
                    finished = True
                    break
                except StrandlineError:
                    finished = True
                    raise
                finally:
                    if not finished and process.returncode is None:
                        await self._stop()
                        self._starts = min(self._starts, 1)
                return
        # The child will not run, or a slice does not fit into a frame.
        async with aclosing(run_in_thread(job, request, skip=given)) as rest:
            async for part in rest:
                yield part

    async def close(self) -> None:
        """End the child; the worker can be started again."""
        await self._stop()
        self._starts = 0

    async def _started(self) -> asyncio.subprocess.Process | None:
        if self._process is not None and self._process.returncode is None:
            return self._process
        if self._starts >= _STARTS:
            return None
        self._starts += 1
        try:
            self._process = await asyncio.create_subprocess_exec(
                *worker_command(), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
            )
        except (OSError, NotImplementedError):
            self._process = None
        return self._process

    async def _ask(
        self, process: asyncio.subprocess.Process, job: Job[RequestT, SliceT], request: RequestT
    ) -> AsyncGenerator[SliceT, None]:
        if process.stdin is None or process.stdout is None:
            raise Bug("The worker was started without pipes.")
        process.stdin.write(encode_frame("run", job.name, request))
        await process.stdin.drain()
        decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(job.slice)
        while True:
            frame = await _next_frame(process.stdout)
            if frame.kind == "slice":
                yield decoder.decode(frame.payload)
            elif frame.kind == "done":
                return
            elif frame.kind == "unfit":
                raise _UnfitError
            else:
                raise _FAULTS.get(frame.kind, Bug)(frame.name)

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):
                await process.wait()
        if process.stdin is not None:
            process.stdin.close()


async def run_in_thread(
    job: Job[RequestT, SliceT], request: RequestT, *, skip: int = 0
) -> AsyncGenerator[SliceT, None]:
    """Run a job in threads of this process, one slice at a time, leaving out the first ``skip`` slices."""
    slices = job.run(request)
    while (part := await asyncio.to_thread(next, slices, None)) is not None:
        if skip:
            skip -= 1
            continue
        yield part


def worker_command() -> list[str]:
    """Return the command that starts a worker; a frozen program starts itself with a hidden flag."""
    if getattr(sys, "frozen", False):
        return [sys.executable, WORKER_FLAG]
    # -P: a random.py in the directory that someone works in must not stand in for the library's.
    return [sys.executable, "-P", "-m", "strandline.work"]


async def _next_frame(stream: asyncio.StreamReader) -> Frame:
    (length,) = HEADER.unpack(await stream.readexactly(HEADER.size))
    return decode_frame(await stream.readexactly(length))
