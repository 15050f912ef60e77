"""Entry point of the command: words in, exit code out.

Exit codes: 0 done · 1 our error · 2 usage · 3 nothing matched · 4 refused · 5 done in part.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import traceback
from typing import TYPE_CHECKING, NoReturn

import msgspec

from strandline import __version__
from strandline.cli import doctor, open_window, sessions, show, status, transcript
from strandline.cli.context import DEFAULT_SAMPLE, SAMPLE_NAMES, Context, parse_now
from strandline.cli.output import complain
from strandline.errors import StrandlineError
from strandline.state.discovery import Environment
from strandline.work.worker import WORKER_FLAG

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """argparse with the exit code of the contract and one sentence instead of a usage dump."""

    def error(self, message: str) -> NoReturn:
        complain(f"{message[0].upper()}{message[1:]}; see {self.prog} --help.")
        self.exit(2)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command."""
    shared = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    group = shared.add_argument_group("everywhere")
    group.add_argument("--state", metavar="DIR", default=argparse.SUPPRESS, help="the state directory to look at")
    group.add_argument(
        "--sample",
        metavar="NAME",
        default=argparse.SUPPRESS,
        help=f"Strandline's own sample data instead: {' or '.join(SAMPLE_NAMES)} (default {DEFAULT_SAMPLE})",
    )
    group.add_argument(
        "--rebuild-sample", action="store_true", default=argparse.SUPPRESS, help="build the sample data anew first"
    )
    group.add_argument(
        "--now", metavar="TIME", default=argparse.SUPPRESS, help="evaluate as if it were TIME (ISO 8601 or ms)"
    )
    group.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON, and nothing else")
    group.add_argument("--quiet", action="store_true", default=argparse.SUPPRESS, help="no messages besides errors")
    parser = _Parser(
        prog="strandline",
        description="See every session of your OpenClaw agents, what it weighs and what its model sees.",
        allow_abbrev=False,
        parents=[shared],
    )
    parser.add_argument("--version", action="version", version=f"strandline {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    for module in (sessions, status, show, doctor, transcript, open_window):
        module.add_parser(commands, shared)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        # A command lives for a moment and makes no cycles worth collecting; collecting would take a fifth of its time.
        gc.disable()
    if words[:1] == [WORKER_FLAG]:
        from strandline.work.__main__ import main as serve  # noqa: PLC0415 - only a frozen program's child needs it

        serve()
        return 0
    try:
        arguments = build_parser().parse_args(list(_with_sample_named(words)))
        return _run(arguments)
    except StrandlineError as error:
        complain(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away; what it wanted it has.
        sys.stderr.close()
        return 0
    except Exception as error:  # noqa: BLE001 - the outermost place: whatever is left is a bug of ours
        complain(f"Strandline met a bug of its own ({type(error).__name__}: {error}); please report it with this:")
        traceback.print_exc()
        return 1


def _with_sample_named(words: Sequence[str]) -> Iterator[str]:
    """Give a bare ``--sample`` its name, or argparse would take the command behind it for one."""
    for at, word in enumerate(words):
        bare = word == "--sample" and (at + 1 == len(words) or words[at + 1] not in SAMPLE_NAMES)
        yield f"--sample={DEFAULT_SAMPLE}" if bare else word


def _run(arguments: argparse.Namespace) -> int:
    environment = Environment.of_process()
    now = getattr(arguments, "now", None)
    if now is not None:
        moment = parse_now(now)
        environment = msgspec.structs.replace(environment, now_ms=lambda: moment)
    context = Context.of(arguments, environment)
    if arguments.command == "open":
        return open_window.run(arguments, context)
    command = _COMMANDS[arguments.command]
    return asyncio.run(command(arguments, context))


_COMMANDS = {
    "sessions": sessions.run,
    "status": status.run,
    "show": show.run,
    "doctor": doctor.run,
    "transcript": transcript.run,
}

if __name__ == "__main__":
    sys.exit(main())
