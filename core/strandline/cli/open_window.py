"""``strandline open``: hand over to the window, which is found by its entry point and never imported by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from strandline.cli.context import DEFAULT_SAMPLE
from strandline.errors import BadRequest, EnvironmentFault
from strandline.frontend import FRONTENDS_GROUP, PAGES, WindowRequest
from strandline.state import discovery

if TYPE_CHECKING:
    import argparse

    from strandline.cli.context import Context

_SIZE = re.compile(r"([1-9][0-9]{2,4})x([1-9][0-9]{2,4})", re.ASCII)


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:  # noqa: ANN401 - argparse names no public type
    """Add the command to the parser."""
    parser = commands.add_parser(
        "open",
        parents=[shared],
        allow_abbrev=False,
        help="open the window",
        description="Open the window. Without --state: on the directory OpenClaw uses, else on the sample.",
    )
    parser.add_argument("--screenshot", metavar="FILE", help="save one picture of the settled window and end")
    parser.add_argument("--page", metavar="NAME", choices=PAGES, default=PAGES[0], help=f"one of: {', '.join(PAGES)}")
    parser.add_argument("--theme", choices=("light", "dark"), help="colour scheme (default: the system's)")
    parser.add_argument("--size", metavar="WxH", type=_size, default=(0, 0), help="size of the window, as 1440x900")
    parser.add_argument(
        "--exit-after-first-rows", action="store_true", help="end once the first sorted rows react to a key"
    )
    parser.add_argument("--filter", metavar="F", default="", help="filter to start with")


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Open the window and return its exit code."""
    if context.state is None:
        found = discovery.choose_directory(None, context.environment)
        if not discovery.looks_like_state(found.path):
            context.tell(f"There is no OpenClaw state directory at {found.path}; showing the sample.")
            context = context.with_sample(DEFAULT_SAMPLE)
    width, height = arguments.size
    request = WindowRequest(
        path=None if context.state is None else str(context.state),
        sample=context.sample is not None,
        screenshot=arguments.screenshot,
        page=arguments.page,
        theme=arguments.theme,
        width=width,
        height=height,
        exit_after_first_rows=arguments.exit_after_first_rows,
        filter_text=arguments.filter,
        now_ms=None if getattr(arguments, "now", None) is None else context.environment.now_ms(),
    )
    from importlib.metadata import entry_points  # noqa: PLC0415 - 15 ms that only this command needs

    found_frontends = entry_points(group=FRONTENDS_GROUP, name="window")
    if not found_frontends:
        raise EnvironmentFault("The window is not installed here; install the whole strandline distribution.")
    try:
        run_window = next(iter(found_frontends)).load()
    except ImportError as error:
        raise EnvironmentFault(f"The window cannot start: {error}; install what is missing and try again.") from error
    code: int = run_window(request)
    return code


def _size(text: str) -> tuple[int, int]:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise BadRequest(f'"{text}" is no size; write it as 1440x900.')
    return int(match[1]), int(match[2])
