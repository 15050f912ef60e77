"""How a read-only command ends when part of what it read is damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.cli.output import complain

if TYPE_CHECKING:
    from strandline.cli.context import Context
    from strandline.settings.effective import Settings

DONE, NOTHING_MATCHED, REFUSED, IN_PART = 0, 3, 4, 5


def exit_code(settings: Settings, *, unreadable: int, readable: bool) -> int:
    """Return 0, or 5 when something stayed unknown, or 4 when everything did.

    Args:
        settings: the settings; a configuration that cannot be read leaves the list of stores in doubt.
        unreadable: stores that could not be read.
        readable: whether at least one could.
    """
    if unreadable and not readable:
        return REFUSED
    return IN_PART if unreadable or settings.document.damage else DONE


def warn_of_settings(settings: Settings, context: Context) -> None:
    """Tell what is wrong with the configuration, on stderr."""
    if settings.document.damage:
        complain(f"{settings.document.damage} Showing what lies in the default places.")
    for problem in settings.problems:
        complain(problem.sentence)
    for name in settings.document.includes:
        context.tell(f"The configuration includes {name}; its values are not read here.")
    if settings.gateway.is_remote:
        url = settings.gateway.remote_url or "another machine"
        context.tell(f"These files are not what the gateway at {url} uses.")
