"""``strandline show``: one session in depth, every number with where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strandline.cli.output import put, put_json, table
from strandline.cli.result import DONE, warn_of_settings
from strandline.gateway import open_gateway
from strandline.tables import size_text, time_text

if TYPE_CHECKING:
    import argparse

    from strandline.cli.context import Context
    from strandline.findings import Finding
    from strandline.session_report import SessionReport, SpokenWords

_WORDS = 200


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:  # noqa: ANN401 - argparse names no public type
    """Add the command to the parser."""
    parser = commands.add_parser(
        "show",
        parents=[shared],
        allow_abbrev=False,
        help="one session: how full, how we know, what was said, what is wrong",
        description="One session in depth. The key may be given in any spelling.",
    )
    parser.add_argument("key", metavar="KEY", help="the session key")
    parser.add_argument("--agent", metavar="ID", help="the agent, when several have a session of that key")


async def run(arguments: argparse.Namespace, context: Context) -> int:
    """Print the session and return the exit code."""
    async with open_gateway(context.state, environment=context.environment, eager=False) as gateway:
        warn_of_settings(gateway.settings, context)
        report = await gateway.inspect(arguments.key, arguments.agent)
        if context.json:
            put_json(report)
        else:
            _print(report)
        return DONE


def _print(report: SessionReport) -> None:
    put(f"{report.key}\n{report.store_path}\n\n{report.gauge}\n{report.window}\n\n")
    put(
        table(
            ("", "reading", "value", "unit", "of", "why"),
            [
                (
                    "▸" if reading.chosen else "",
                    reading.name,
                    "unknown" if reading.value is None else f"{reading.value:,}",
                    reading.unit,
                    time_text(reading.as_of_ms),
                    reading.why,
                )
                for reading in report.readings
            ],
            right=frozenset({2}),
        )
    )
    put("\n")
    put(
        table(
            ("threshold", "tokens", "acts", "arithmetic"),
            [
                (
                    each.trigger,
                    "–" if each.tokens is None else f"{each.tokens:,}",
                    "yes" if each.active else "no",
                    each.why,
                )
                for each in report.thresholds
            ],
            right=frozenset({1}),
        )
    )
    if report.transcript is not None:
        seen = report.transcript
        counted = "" if seen.entries is None else f", {seen.entries:,} entries, {seen.side_entries:,} on side branches"
        put(f"\ntranscript {seen.path}, {size_text(seen.bytes)}{counted}\n")
        for label, words in (("first", seen.first_words), ("last", seen.last_words)):
            if words is not None:
                put(f"{label} words, {_who(words)}: {_short(words.text)}\n")
    put(f"\ncost {report.cost.words}\n")
    if report.files:
        put("\n")
        rows = [(each.path, each.file_class, each.standing, size_text(each.bytes)) for each in report.files]
        put(table(("file", "class", "standing", "size"), rows, right=frozenset({3})))
    print_findings(report.findings)


def print_findings(findings: tuple[Finding, ...]) -> None:
    """Print findings, each with its evidence and what to do."""
    for finding in findings:
        put(f"\n{finding.severity}: {finding.what}\n  where: {finding.where}\n")
        for each in finding.evidence:
            put(f"  seen: {_short(each)}\n")
        if finding.fix:
            put(f"  do: {finding.fix}\n")


def _who(words: SpokenWords) -> str:
    return f"{words.role}, {time_text(words.at)}" if words.at else words.role


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WORDS else f"{line[: _WORDS - 1]}…"
