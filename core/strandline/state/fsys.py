"""The one module that touches files: bounded reads, identities, listings, names that are safe on every system.

Readers open, read and close; no handle is kept on a file of a directory that we do not own, since an open file blocks
its owner's rename on Windows. Nothing in this module writes.
"""

from __future__ import annotations

import contextlib
import errno
import ntpath
import os
import posixpath
import re
import stat
from typing import TYPE_CHECKING

import msgspec

from strandline.errors import EnvironmentFault, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Self

_WINDOWS_DRIVE = re.compile(r"(?:[A-Za-z]:[\\/]|\\\\)")
_RESERVED_ON_WINDOWS = re.compile(r"(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\..*)?", re.IGNORECASE)
_NOT_IN_A_NAME = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
_LONGEST_NAME = 255


class FileIdentity(msgspec.Struct, frozen=True):
    """What tells whether a file is still the one that was read.

    Attributes:
        size: bytes.
        mtime_ns: last modification, nanoseconds since the epoch.
        inode: file number within its device; 0 where the file system has none.
        device: device number.
    """

    size: int
    mtime_ns: int
    inode: int
    device: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileIdentity:
        """Take the identity from a stat result."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)

    @property
    def mtime_ms(self) -> int:
        """Last modification in milliseconds since the epoch."""
        return self.mtime_ns // 1_000_000


class FileEntry(msgspec.Struct, frozen=True):
    """One name in a directory.

    Attributes:
        name: the file's name, without a directory.
        size: bytes; what a link itself takes, not its target.
        allocated: bytes that the file takes on disk, where the system tells; else ``size``.
        mtime_ms: last modification in milliseconds since the epoch.
        inode: file number, to count hard links once; 0 where there is none.
        is_file: a regular file (links and directories are not).
        is_dir: a directory (a link to one is not).
    """

    name: str
    size: int
    allocated: int
    mtime_ms: int
    inode: int
    is_file: bool
    is_dir: bool


def identify(path: Path) -> FileIdentity | None:
    """Return the identity of the file behind ``path``, or ``None`` when there is none.

    Raises:
        EnvironmentFault: the system does not let us ask.
    """
    try:
        return FileIdentity.of(path.stat())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None  # a ValueError is a name that no file can have: NUL, or half a surrogate pair
    except OSError as error:
        if error.errno in {errno.ENAMETOOLONG, errno.ELOOP}:
            return None
        raise EnvironmentFault.of(error, path, "look at") from error


def exists(path: Path) -> bool:
    """Tell whether something is there, a directory or a file; ``False`` also where the system does not let us ask."""
    return os.path.exists(path)  # noqa: PTH110 - the method of Path raises where a directory above is closed


def is_file(path: Path) -> bool:
    """Tell whether a file is there; ``False`` also where the system does not let us ask."""
    return os.path.isfile(path)  # noqa: PTH113 - see exists


def is_directory(path: Path) -> bool:
    """Tell whether a directory is there; ``False`` also where the system does not let us ask."""
    return os.path.isdir(path)  # noqa: PTH112 - see exists


def read_bytes(path: Path, limit: int | None = None) -> tuple[bytes, FileIdentity]:
    """Read a whole file together with the identity it had when it was opened.

    The read is repeated when the file changed under it, so that bytes and identity belong together.

    Args:
        path: the file.
        limit: bytes above which it is refused; ``None`` reads files of any size.

    Raises:
        EnvironmentFault: missing, no permission, a directory, or changing faster than it can be read.
        Refused: it is larger than ``limit``.
    """
    try:
        for _ in range(4):
            with open(path, "rb", opener=_open_at_once) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise EnvironmentFault(f"Cannot read {path}: it is not a regular file; move it away.")
                before = FileIdentity.of(status)
                if limit is not None and before.size > limit:
                    raise Refused(f"Cannot read {path} at once: its {before.size:,} bytes are over {limit:,}.")
                data = file.read()
                after = FileIdentity.of(os.fstat(file.fileno()))
            if before == after and len(data) == after.size:
                return data, after
    except OSError as error:
        raise EnvironmentFault.of(error, path, "read") from error
    raise EnvironmentFault(f"Cannot read {path}: it changes faster than it can be read; try again in a moment.")


def read_range(path: Path, offset: int, length: int) -> bytes:
    """Read at most ``length`` bytes from ``offset``.

    Raises:
        EnvironmentFault: missing, no permission, or no regular file.
    """
    with BoundedFile(path) as file:
        return file.read(offset, length)


def _open_at_once(name: str, flags: int) -> int:
    """Open without waiting for whoever might write into a named pipe."""
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


class BoundedFile:
    """A regular file opened for a few bounded reads; close it at once, it blocks its owner's rename on Windows.

    Attributes:
        path: the file.
        identity: what it was when it was opened; reads never go past that size.
        bytes_read: bytes read so far.
    """

    __slots__ = ("_descriptor", "bytes_read", "identity", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes_read = 0
        try:
            self._descriptor = os.open(path, _READ_FLAGS)
        except OSError as error:
            raise EnvironmentFault.of(error, path, "read") from error
        status = os.fstat(self._descriptor)
        self.identity = FileIdentity.of(status)
        if not stat.S_ISREG(status.st_mode):
            os.close(self._descriptor)
            raise EnvironmentFault(f"Cannot read {path}: it is not a regular file; move it away.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def read(self, offset: int, length: int) -> bytes:
        """Read at most ``length`` bytes from ``offset``, up to the size that the file had when it was opened.

        Raises:
            EnvironmentFault: the disk does not give them.
        """
        length = min(length, self.identity.size - offset)
        if length <= 0:
            return b""
        try:
            data = _read_at(self._descriptor, length, offset)
        except OSError as error:
            raise EnvironmentFault.of(error, self.path, "read") from error
        self.bytes_read += len(data)
        return data


def _seek_and_read(descriptor: int, length: int, offset: int) -> bytes:
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, length)


# Windows has no pread; a named pipe must not hang us; text mode there would end the file at Ctrl-Z.
_read_at = getattr(os, "pread", _seek_and_read)
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


def list_directory(directory: Path) -> tuple[FileEntry, ...]:
    """List a directory without following links; ``()`` when it does not exist.

    Raises:
        EnvironmentFault: no permission, or a file in its place.
    """
    try:
        return tuple(_entries(directory))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise EnvironmentFault.of(error, directory, "list") from error


def look_at_entry(path: Path) -> FileEntry | None:
    """Return one name of a directory as ``list_directory`` would; ``None`` when it is gone or may not be asked for."""
    try:
        return _entry(path.name, path.lstat())
    except (OSError, ValueError):
        return None


def check_directory(directory: Path) -> None:
    """Make sure that ``directory`` is a directory that can be listed.

    Raises:
        EnvironmentFault: missing, a file in its place, or no permission; the sentence says which.
    """
    try:
        with os.scandir(directory) as entries:
            next(entries, None)
    except OSError as error:
        # Windows reports a file in a directory's place as EINVAL.
        if error.errno == errno.EINVAL and directory.is_file():
            error = NotADirectoryError(errno.ENOTDIR, "Not a directory")
        raise EnvironmentFault.of(error, directory, "open") from error


def is_within(path: Path, directory: Path) -> bool:
    """Tell whether ``path`` leads into ``directory`` once every link is followed."""
    try:
        real, base = os.path.realpath(path), os.path.realpath(directory)
    except (OSError, ValueError):
        return False
    with contextlib.suppress(ValueError):
        return os.path.commonpath([real, base]) == base
    return False


def foreign_name(path_text: str) -> str | None:
    r"""Return the last name of a path as another system would split it, or ``None`` for a path of this system.

    ``C:\\Users\\op\\x.jsonl`` is one odd file name on POSIX; it is a path from Windows all the same.
    """
    if os.name != "nt" and _WINDOWS_DRIVE.match(path_text):
        return ntpath.basename(path_text)
    if os.name == "nt" and path_text.startswith("/"):
        return posixpath.basename(path_text)
    return None


def refused_name(name: str) -> str | None:
    """Say why ``name`` must not become a file name on every system, or return ``None`` when it may.

    ``abc:x.jsonl`` is an alternate stream on NTFS, ``CON`` a device; a trailing dot or space vanishes.
    """
    if not name or name in {".", ".."}:
        return "it is empty or a directory link"
    if _NOT_IN_A_NAME.search(name):
        return "it has a character that Windows does not allow in names"
    if name[-1] in ". ":
        return "it ends in a dot or a space"
    if _RESERVED_ON_WINDOWS.fullmatch(name):
        return "it is the name of a device on Windows"
    if len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
        return f"it is longer than {_LONGEST_NAME} bytes"
    return None


def _entries(directory: Path) -> Iterator[FileEntry]:
    with os.scandir(directory) as found:
        for entry in found:
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            yield _entry(entry.name, status)


def _entry(name: str, status: os.stat_result) -> FileEntry:
    return FileEntry(
        name=name,
        size=status.st_size,
        allocated=status.st_blocks * 512 if hasattr(status, "st_blocks") else status.st_size,
        mtime_ms=status.st_mtime_ns // 1_000_000,
        inode=status.st_ino,
        is_file=stat.S_ISREG(status.st_mode),
        is_dir=stat.S_ISDIR(status.st_mode),
    )
