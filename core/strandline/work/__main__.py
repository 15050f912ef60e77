"""The worker's own program: ``python -m strandline.work`` answers frames on stdin until stdin closes."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from typing import BinaryIO

import msgspec

from strandline.errors import DamagedData, EnvironmentFault, StrandlineError
from strandline.work.frames import Frame, encode_frame, read_frame
from strandline.work.jobs import find_job


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Run one job after the other until ``requests`` ends."""
    while (frame := read_frame(requests)) is not None:
        try:
            _answer(frame, answers)
        except EnvironmentFault as error:
            answers.write(encode_frame("environment", str(error)))
        except DamagedData as error:
            answers.write(encode_frame("damaged", str(error)))
        except (StrandlineError, msgspec.MsgspecError, ValueError, ArithmeticError, LookupError, TypeError) as error:
            answers.write(encode_frame("bug", f"{frame.name}: {type(error).__name__}: {error}"))
        answers.flush()


def _answer(frame: Frame, answers: BinaryIO) -> None:
    job = find_job(frame.name)
    request = msgspec.msgpack.decode(frame.payload, type=job.request)
    for part in job.run(request):
        try:
            encoded = encode_frame("slice", "", part)
        except (UnicodeEncodeError, OverflowError):
            # msgpack knows neither half characters nor numbers above 64 bits; both stand in real stores.
            answers.write(encode_frame("unfit"))
            return
        answers.write(encoded)
        answers.flush()
    answers.write(encode_frame("done"))


def main() -> None:
    """Serve stdin and stdout, politely: at low priority, deaf to Ctrl-C, gone when the parent is."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(5)
    gc.disable()
    with suppress(BrokenPipeError):
        serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
