"""Which processes live here, asked without touching them (spec 2026.5 §1.4; platforms: Processes).

Liveness is a table that is passed in: ``SystemProcesses`` asks this machine, a test gives its own. A process that this
machine cannot see, because it runs on another host, in a container or under WSL, is *foreign*; it is never called dead.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Protocol

import msgspec

from strandline.ecmascript import trim

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import psutil

_PROC = Path("/proc")
_MOUNTS = Path("/proc/self/mountinfo")
_CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))
# Fields of /proc/<pid>/stat after the command's closing bracket; field 22 of the whole line is the start time.
_STATE, _START_TICKS = 0, 19
# File systems whose files other hosts or virtual machines write too.
_SHARED_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "afpfs", "ceph", "9p", "drvfs", "virtiofs", "vboxsf", "prl_fs"}
)
_SHARED_PREFIXES = ("fuse.sshfs", "fuse.gluster", "fuse.vmhgfs", "fuse.s3fs", "fuse.rclone", "fuse.grpcfuse")

_ENTRY_FILES = ("dist/index.js", "dist/entry.js", "scripts/run-node.mjs", "src/entry.ts", "src/index.ts")
_PROGRAM_ENDINGS = (".bat", ".cmd", ".exe")


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """A process of this machine.

    Attributes:
        pid: its number, as this process sees it.
        started_ms: when it began, milliseconds since the epoch; ``None`` when the system does not tell.
        start_ticks: field 22 of ``/proc/<pid>/stat``, clock ticks since boot; ``None`` elsewhere than Linux.
        argv: its arguments without empty ones; ``None`` when they may not be read.
        zombie: whether it has ended and only waits to be collected.
        signalable: whether a program of this user could signal it; OpenClaw takes any other for dead.
        inner_pid: its number inside its own container; ``None`` for a process of this system itself.
    """

    pid: int
    started_ms: int | None = None
    start_ticks: int | None = None
    argv: tuple[str, ...] | None = None
    zombie: bool = False
    signalable: bool = True
    inner_pid: int | None = None


class ProcessTable(Protocol):
    """The processes to go by."""

    def look_up(self, pid: int) -> Process | None:
        """Return the process with this number, zombies included, or ``None`` when there is none."""
        ...

    def running(self) -> Iterable[Process]:
        """Return every process that can be seen."""
        ...

    def environment(self, pid: int) -> Mapping[str, str] | None:
        """Return the variables a process was started with; ``None`` when they may not be read."""
        ...


class SystemProcesses:
    """The processes of this machine; each question is asked anew, nothing is kept."""

    def look_up(self, pid: int) -> Process | None:
        """See ``ProcessTable.look_up``."""
        import psutil  # noqa: PLC0415 - costs every start 45 ms what only liveness needs

        if not 0 < pid <= _LARGEST_PID:
            return None
        try:
            return _describe(psutil.Process(pid))
        except psutil.NoSuchProcess:
            # A zombie has its own exception below NoSuchProcess; _describe handles it.
            return None
        except psutil.AccessDenied:
            return Process(pid=pid, signalable=False)

    def running(self) -> Iterator[Process]:
        """See ``ProcessTable.running``."""
        import psutil  # noqa: PLC0415 - see look_up

        for process in psutil.process_iter():
            with suppress(psutil.Error):
                yield _describe(process)

    def environment(self, pid: int) -> Mapping[str, str] | None:
        """See ``ProcessTable.environment``."""
        import psutil  # noqa: PLC0415 - see look_up

        try:
            return psutil.Process(pid).environ()
        except (psutil.Error, OSError):
            return None


def in_container(table: ProcessTable, pid: int, start_ticks: int | None) -> Process | None:
    """Return the process that calls itself ``pid`` inside a container on this machine and began at ``start_ticks``.

    Without a start time nothing is found: every container has a process 1.
    """
    if start_ticks is None:
        return None
    return next((each for each in table.running() if (each.inner_pid, each.start_ticks) == (pid, start_ticks)), None)


def is_shared(directory: Path) -> str | None:
    r"""Say why processes of other systems may use ``directory`` too, or return ``None`` when it is this system's own.

    Network drives, folders shared with a virtual machine, ``\\wsl.localhost`` and everything seen from inside a
    container count; what a lock there says about a process cannot be checked here.
    """
    if any(mark.exists() for mark in _CONTAINER_MARKS) and _is_mounted(directory):
        return "this program runs in a container and the directory is mounted into it"
    return shared_file_system(directory)


def shared_file_system(directory: Path) -> str | None:
    """Say which shared file system ``directory`` lies on, whose changes send no events; ``None`` for a local one."""
    if sys.platform == "win32":
        drive = PureWindowsPath(directory).drive
        return f"{drive} is a network path" if drive.startswith("\\\\") else None
    system = _file_system(directory)
    if system in _SHARED_SYSTEMS or system.startswith(_SHARED_PREFIXES):
        return f"it lies on a shared file system ({system})"
    return None


def is_openclaw(argv: Iterable[str]) -> bool:
    """Tell whether OpenClaw takes a lock's owner with these arguments for itself (spec 2026.5 §1.4)."""
    args = [arg for arg in (_plain(arg) for arg in argv) if arg]
    if not args:
        return False
    program = _without_ending(args[0])
    if program == "openclaw" or program.endswith(("/openclaw", "/openclaw-gateway")):
        return True
    if any(arg in {"openclaw", "openclaw.mjs"} or arg.endswith(("/openclaw", "/openclaw.mjs")) for arg in args):
        return True
    return any(arg in {"gateway", "agent"} for arg in args) and any(arg.endswith(_ENTRY_FILES) for arg in args)


def is_gateway(argv: Iterable[str]) -> bool:
    """Tell whether OpenClaw takes the arguments for those of a gateway (spec 2026.5 §1.4, gateway lock)."""
    args = [_plain(arg) for arg in argv]
    if "gateway" not in args:
        return False
    if any(arg.endswith((*_ENTRY_FILES, "openclaw.mjs")) for arg in args):
        return True
    program = _without_ending(args[0])
    return program == "openclaw" or program.endswith("/openclaw")


def looks_like_openclaw(argv: Iterable[str]) -> bool:
    """Tell whether people would call it OpenClaw: a running gateway titles itself ``openclaw`` or ``openclaw-gateway``.

    Wider than the two rules of the real program, which do not know that title.
    """
    args = tuple(argv)
    return is_openclaw(args) or bool(args and _plain(args[0]).split(" ")[0].rpartition("/")[2].startswith("openclaw"))


def _describe(process: psutil.Process) -> Process:
    import psutil  # noqa: PLC0415 - see SystemProcesses.look_up

    state, ticks = _stat_of(process.pid)
    argv: tuple[str, ...] | None = None
    zombie = state == "Z"
    try:
        argv = tuple(arg for arg in (trim(part) for part in process.cmdline()) if arg)
    except psutil.ZombieProcess:
        zombie = True
    except (psutil.AccessDenied, OSError):
        argv = None
    started: int | None = None
    with suppress(psutil.AccessDenied, psutil.ZombieProcess, OSError):
        started = round(process.create_time() * 1000)
        zombie = zombie or process.status() == psutil.STATUS_ZOMBIE
    return Process(
        pid=process.pid,
        started_ms=started,
        start_ticks=ticks,
        argv=argv,
        zombie=zombie,
        signalable=_signalable(process),
        inner_pid=_inner_pid(process.pid),
    )


def _stat_of(pid: int) -> tuple[str | None, int | None]:
    """Return state letter and start ticks of a process; ``None`` for both elsewhere than Linux."""
    with suppress(OSError, IndexError, ValueError):
        line = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
        fields = line[line.rindex(")") + 1 :].split()
        return fields[_STATE], int(fields[_START_TICKS])
    return None, None


def _inner_pid(pid: int) -> int | None:
    with suppress(OSError, ValueError):
        for line in (_PROC / str(pid) / "status").read_text("utf-8", "replace").splitlines():
            if line.startswith("NSpid:"):
                numbers = line.split()[1:]
                return int(numbers[-1]) if len(numbers) > 1 else None
    return None


def _signalable(process: psutil.Process) -> bool:
    import psutil  # noqa: PLC0415 - see SystemProcesses.look_up

    if sys.platform == "win32" or os.geteuid() == 0:
        return True
    with suppress(psutil.Error):
        uids = process.uids()
        return os.geteuid() in {uids.real, uids.saved} or os.getuid() in {uids.real, uids.saved}
    return True


def _mounts() -> Iterator[tuple[str, str]]:
    """Yield (mount point, file system) of this process's mounts; nothing elsewhere than Linux."""
    with suppress(OSError):
        for line in _MOUNTS.read_text("utf-8", "surrogateescape").splitlines():
            before, _, after = line.partition(" - ")
            yield before.split(" ")[4].replace("\\040", " "), after.split(" ")[0]


def _mount_of(directory: Path) -> tuple[str, str]:
    real = os.path.realpath(directory)
    inside = [each for each in _mounts() if real == each[0] or real.startswith(each[0].rstrip("/") + "/")]
    return max(inside, key=lambda each: len(each[0]), default=("/", ""))


def _is_mounted(directory: Path) -> bool:
    return _mount_of(directory)[0] != "/"


def _file_system(directory: Path) -> str:
    if sys.platform == "darwin":
        import psutil  # noqa: PLC0415 - see SystemProcesses.look_up

        real = os.path.realpath(directory)
        parts = [part for part in psutil.disk_partitions(all=True) if real.startswith(part.mountpoint)]
        return max(parts, key=lambda part: len(part.mountpoint)).fstype if parts else ""
    return _mount_of(directory)[1]


def _plain(arg: str) -> str:
    return trim(arg).replace("\\", "/").lower()


def _without_ending(program: str) -> str:
    ending = next((ending for ending in _PROGRAM_ENDINGS if program.endswith(ending)), "")
    return program.removesuffix(ending)


_LARGEST_PID = 2**31 - 1
