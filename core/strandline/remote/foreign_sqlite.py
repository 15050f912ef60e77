"""Opening a SQLite file that is not ours so that nothing about it changes.

SQLite's plain read-only mode creates ``-wal`` and ``-shm`` files beside a database in WAL mode, and updates a ``-shm``
that is there. So a database that nobody has open is read as immutable, and one with a write-ahead log is read from a
copy of both files. What was read while its owner wrote is read again.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from strandline.errors import DamagedData, EnvironmentFault
from strandline.state import fsys

if TYPE_CHECKING:
    from collections.abc import Callable

_BUSY_MS = 5000
_ATTEMPTS = 4
_PAUSE_SECONDS = 0.05

ResultT = TypeVar("ResultT")


def read_foreign(path: Path, scratch: Path, read: Callable[[sqlite3.Connection], ResultT]) -> ResultT:
    """Open a database read-only without leaving a trace beside it, and return what ``read`` makes of it.

    Args:
        path: the database.
        scratch: directory of our own for a copy, when one is needed; it is created.
        read: takes the connection; called again when the file changed under it.

    Raises:
        EnvironmentFault: the file cannot be read or copied, or is written all the time.
        DamagedData: the file is no database.
    """
    try:
        for attempt in range(_ATTEMPTS):
            time.sleep(attempt * _PAUSE_SECONDS)
            # The log alone may grow meanwhile: frames that the copy holds in part do not count, and those it holds
            # are as good as the database below them, which only a checkpoint changes.
            before = fsys.identify(path)
            try:
                found = _read_once(path, scratch, read)
            except (sqlite3.DatabaseError, FileNotFoundError) as error:
                gone = isinstance(error, FileNotFoundError) and fsys.identify(path) is not None
                if fsys.identify(path) == before and not gone:
                    raise
                continue
            if fsys.identify(path) == before:
                return found
    except sqlite3.DatabaseError as error:
        raise DamagedData(
            f"The database {path} cannot be read: {error}; let OpenClaw's own doctor look at it."
        ) from error
    except OSError as error:
        raise EnvironmentFault.of(error, path, "read the database") from error
    raise EnvironmentFault(f"Cannot read {path}: its owner writes it all the time; try again in a moment.")


def _read_once(path: Path, scratch: Path, read: Callable[[sqlite3.Connection], ResultT]) -> ResultT:
    # SQLite calls a missing permission "unable to open"; the system says it better.
    with path.open("rb"):
        pass
    wal = path.with_name(f"{path.name}-wal")
    if _size(wal) == 0:
        with closing(_connect(path, immutable=True)) as connection:
            return read(connection)
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        shutil.copyfile(wal, Path(folder) / wal.name)
        with closing(_connect(copy, immutable=False)) as connection:
            return read(connection)


def _connect(path: Path, *, immutable: bool) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro" + ("&immutable=1" if immutable else "")
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_MS / 1000)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _size(path: Path) -> int:
    found = fsys.identify(path)
    return found.size if found else 0
