"""One tree of exceptions, split by who can do something about it.

    StrandlineError
    ├── SafeToShow          the request cannot be met; the sentence is for the person who asked
    │   ├── BadRequest      words we do not understand (exit code 2)
    │   ├── NothingMatched  nothing there, or several where one was asked for (3)
    │   └── Refused         an owner, damage or a protection stands against it (4)
    ├── EnvironmentFault    disk, permission, missing program: ours to report, not to mend (4)
    ├── DamagedData         a file says something it cannot mean; carries the place (4)
    └── Bug                 we broke a promise of our own (1)

Every message is one sentence: what, where, what to do. The exit codes are those of the command.
"""

from __future__ import annotations


class StrandlineError(Exception):
    """Base of every exception this package raises on purpose."""

    exit_code = 1


class SafeToShow(StrandlineError):  # noqa: N818 - the tree names whose move it is, not "error" seven times
    """The request cannot be met as asked; the message is fit to be shown as it is."""

    exit_code = 2


class BadRequest(SafeToShow):
    """A word, flag or expression that is not part of the language."""

    exit_code = 2


class NothingMatched(SafeToShow):
    """Nothing fits, or more than one thing does where one was asked for."""

    exit_code = 3


class Refused(SafeToShow):
    """Something stands against it: an owner, damage, a protection. Says which, and what to do."""

    exit_code = 4


class EnvironmentFault(StrandlineError):  # noqa: N818 - see SafeToShow
    """The system said no: permission, missing file, full disk."""

    exit_code = 4

    @classmethod
    def of(cls, error: OSError, path: object, doing: str) -> EnvironmentFault:
        """Turn an ``OSError`` met while ``doing`` something to ``path`` into one sentence."""
        hint = _HINTS.get(type(error), "check the disk and try again")
        reason = (error.strerror or type(error).__name__).lower()
        return cls(f"Cannot {doing} {path}: {reason}; {hint}.")


class DamagedData(StrandlineError):  # noqa: N818 - see SafeToShow
    """A file is not what its name says it is."""

    exit_code = 4


class Bug(StrandlineError):  # noqa: N818 - see SafeToShow
    """A promise inside Strandline was broken; worth a report."""


_HINTS: dict[type[OSError], str] = {
    PermissionError: "give your user read permission on it, or run as the user that owns it",
    FileNotFoundError: "check the path, or choose another directory",
    NotADirectoryError: "name the directory that holds agents/, not a file",
    IsADirectoryError: "a directory stands where a file is expected; move it away",
}
