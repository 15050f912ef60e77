"""``strandline doctor``: what is not as it should be, with evidence and what to do. It looks; it changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from strandline.cli.output import put, put_json
from strandline.cli.result import DONE
from strandline.cli.show import print_findings
from strandline.findings import Finding
from strandline.gateway import open_gateway

if TYPE_CHECKING:
    import argparse

    from strandline.cli.context import Context

_SHOWN_EACH = 5


class DoctorAnswer(msgspec.Struct, frozen=True):
    """The JSON answer; ``authority`` is ``remote`` when another machine's files are those in use, else absent."""

    findings: tuple[Finding, ...]
    authority: str | UnsetType = UNSET


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:  # noqa: ANN401 - argparse names no public type
    """Add the command to the parser."""
    parser = commands.add_parser(
        "doctor",
        parents=[shared],
        allow_abbrev=False,
        help="what is not as it should be, with evidence",
        description="Look over the directory: damage, missing transcripts, rows that lie, locks, settings.",
    )
    parser.add_argument("--all", action="store_true", help="every finding instead of the first few of each kind")


async def run(arguments: argparse.Namespace, context: Context) -> int:
    """Print the findings and return the exit code."""
    async with open_gateway(context.state, environment=context.environment, eager=False) as gateway:
        findings = await gateway.findings()
        if context.json:
            put_json(DoctorAnswer(findings, "remote" if gateway.settings.gateway.is_remote else UNSET))
            return DONE
        by_code: dict[str, list[Finding]] = {}
        for finding in findings:
            by_code.setdefault(finding.code, []).append(finding)
        for code, found in by_code.items():
            put(f"{'' if code == next(iter(by_code)) else chr(10)}{code} · {len(found):,}\n")
            shown = found if arguments.all else found[:_SHOWN_EACH]
            print_findings(tuple(shown))
            if len(shown) < len(found):
                put(f"\n  and {len(found) - len(shown):,} more of this kind; --all shows them\n")
        if not findings:
            context.tell("Nothing was found that needs a person.")
        return DONE
