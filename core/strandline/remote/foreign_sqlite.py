"""Opening a SQLite file that is not ours so that nothing about it changes.

SQLite's plain read-only mode creates ``-wal`` and ``-shm`` files beside a database in WAL mode, and updates a ``-shm``
that is there. So a database that nobody has open is read as immutable, and one with a write-ahead log is read from a
copy of both files.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from strandline.errors import DamagedData, EnvironmentFault
from strandline.state import fsys

if TYPE_CHECKING:
    from collections.abc import Iterator

_BUSY_MS = 5000
_ATTEMPTS = 3


@contextmanager
def open_foreign(path: Path, scratch: Path) -> Iterator[sqlite3.Connection]:
    """Open a database read-only without leaving a trace beside it.

    Args:
        path: the database.
        scratch: directory of our own for a copy, when one is needed; it is created.

    Raises:
        EnvironmentFault: the file cannot be read or copied.
        DamagedData: the file is no database.
    """
    wal = path.with_name(f"{path.name}-wal")
    try:
        if _size(wal) == 0:
            with closing(_connect(path, immutable=True)) as connection:
                yield connection
            return
        scratch.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            copy = _copy_with_log(path, wal, Path(folder))
            with closing(_connect(copy, immutable=False)) as connection:
                yield connection
    except sqlite3.DatabaseError as error:
        raise DamagedData(
            f"The database {path} cannot be read: {error}; let OpenClaw's own doctor look at it."
        ) from error
    except OSError as error:
        raise EnvironmentFault.of(error, path, "read the database") from error


def _connect(path: Path, *, immutable: bool) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro" + ("&immutable=1" if immutable else "")
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_MS / 1000)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _copy_with_log(path: Path, wal: Path, folder: Path) -> Path:
    """Copy database and log; again when either moved meanwhile, since a torn pair is no database."""
    copy = folder / path.name
    for _ in range(_ATTEMPTS):
        before = fsys.identify(path), fsys.identify(wal)
        shutil.copyfile(path, copy)
        shutil.copyfile(wal, folder / wal.name)
        if (fsys.identify(path), fsys.identify(wal)) == before:
            return copy
    raise EnvironmentFault(f"Cannot copy {path}: its owner writes it all the time; try again in a moment.")


def _size(path: Path) -> int:
    found = fsys.identify(path)
    return found.size if found else 0
