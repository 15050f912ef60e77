"""What every command shares: which directory, which clock, how to print."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from strandline.cli.output import say
from strandline.errors import BadRequest
from strandline.state.discovery import Environment

if TYPE_CHECKING:
    import argparse


# Named here too, so that a command without a sample need not load its builder; a test holds both together.
SAMPLE_NAMES = ("harbour", "damaged")
DEFAULT_SAMPLE = SAMPLE_NAMES[0]


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The options that every command takes.

    Attributes:
        state: directory that was named; ``None`` finds the one the real program would use.
        sample: name of the sample that was asked for; ``None`` when none was.
        json: print JSON and nothing else.
        quiet: no messages besides errors.
        environment: variables, home and clock.
    """

    state: Path | None
    sample: str | None
    json: bool
    quiet: bool
    environment: Environment

    @classmethod
    def of(cls, arguments: argparse.Namespace, environment: Environment) -> Context:
        """Take the shared options out of parsed arguments; a sample is built when it is missing or old.

        Raises:
            BadRequest: both a directory and a sample, or a sample of another name.
        """
        sample = getattr(arguments, "sample", None)
        named = getattr(arguments, "state", None)
        if sample is not None and named is not None:
            raise BadRequest("Name a directory with --state or ask for --sample, not both.")
        quiet = getattr(arguments, "quiet", False)
        context = cls(
            state=Path(named) if named is not None else None,
            sample=sample,
            json=getattr(arguments, "json", False),
            quiet=quiet,
            environment=environment,
        )
        if sample is None:
            return context
        return context.with_sample(sample, rebuild=getattr(arguments, "rebuild_sample", False))

    def with_sample(self, name: str, *, rebuild: bool = False) -> Context:
        """Return this context, pointed at a sample."""
        import platformdirs  # noqa: PLC0415 - costs every start what only a sample needs

        from strandline.state.sample import SAMPLES, ensure_sample  # noqa: PLC0415 - likewise

        if name not in SAMPLES:
            raise BadRequest(f'There is no sample "{name}"; choose {" or ".join(SAMPLES)}.')
        data_dir = platformdirs.user_data_path("strandline", appauthor=False)
        path = ensure_sample(data_dir, name, self.environment.now_ms(), rebuild=rebuild)
        return msgspec.structs.replace(self, state=path, sample=name)

    def tell(self, message: str) -> None:
        """Print a message for people, unless they asked for quiet."""
        if not self.quiet:
            say(message)


def parse_now(text: str) -> int:
    """Return the time that ``--now`` names, in ms since the epoch.

    Raises:
        BadRequest: neither a number of ms nor an ISO 8601 time.
    """
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadRequest(f'"{text}" is no time; write 2026-05-20T12:00:00Z or milliseconds since 1970.') from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)
