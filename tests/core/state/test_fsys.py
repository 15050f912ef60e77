"""The one module that touches files, on real files: reads, identities, listings, closed doors, names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.errors import EnvironmentFault
from strandline.state import fsys

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOBODY = 65534
_POSIX = os.name == "posix"


def test_reads_bytes_with_the_identity_they_belong_to(tmp_path: Path) -> None:
    """Size and time are those of the bytes; a later change makes another identity."""
    path = tmp_path / "a"
    path.write_bytes(b"one")
    os.utime(path, ns=(1_000_000_000, 1_234_567_890))
    data, identity = fsys.read_bytes(path)
    assert data == b"one"
    assert (identity.size, identity.mtime_ns, identity.mtime_ms) == (3, 1_234_567_890, 1_234)
    assert fsys.identify(path) == identity
    path.write_bytes(b"two")
    assert fsys.identify(path) != identity


def test_a_replaced_file_is_another_file(tmp_path: Path) -> None:
    """The same bytes and times under the same name are told apart by the file number."""
    path, other = tmp_path / "a", tmp_path / "b"
    for each in (path, other):
        each.write_bytes(b"same")
        os.utime(each, ns=(5, 5))
    before = fsys.identify(path)
    other.replace(path)
    assert fsys.identify(path) != before


def test_bytes_and_identity_agree_while_the_file_changes(tmp_path: Path) -> None:
    """A reader beside a writer gets a whole state of the file, or one sentence, never a mixture."""
    path = tmp_path / "a"
    path.write_bytes(b"0" * 100_000)
    stop = threading.Event()

    def write() -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            fresh = tmp_path / "fresh"
            fresh.write_bytes(str(turn % 10).encode() * (100_000 + turn % 7))
            fresh.replace(path)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(200):
            data, identity = fsys.read_bytes(path)
            assert len(data) == identity.size
            assert len(set(data)) == 1
    finally:
        stop.set()
        writer.join()


def test_reads_a_part(tmp_path: Path) -> None:
    """From an offset, at most so many bytes, nothing behind the end."""
    path = tmp_path / "a"
    path.write_bytes(b"0123456789")
    assert fsys.read_range(path, 3, 4) == b"3456"
    assert fsys.read_range(path, 8, 100) == b"89"
    assert fsys.read_range(path, 50, 1) == b""


@pytest.mark.parametrize(
    "name",
    [
        "missing",
        "file/below",
        "x" * 300,
        "nul\0",
        "half\ud800",
        pytest.param("loop", marks=pytest.mark.skipif(not _POSIX, reason="links need rights on Windows")),
    ],
)
def test_what_cannot_be_there_has_no_identity(name: str, tmp_path: Path) -> None:
    """Missing, below a file, too long, a name that no file can have, a link in a circle: there is no file."""
    (tmp_path / "file").write_bytes(b"")
    if name == "loop":
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert fsys.identify(tmp_path / name) is None
    assert not fsys.exists(tmp_path / name)
    assert not fsys.is_file(tmp_path / name)
    assert not fsys.is_directory(tmp_path / name)


def test_a_file_that_is_missing_or_a_directory_is_a_sentence(tmp_path: Path) -> None:
    """Reading says which file, why, and what to do."""
    with pytest.raises(EnvironmentFault, match=r"^Cannot read .*gone: no such file or directory; check the path"):
        fsys.read_bytes(tmp_path / "gone")
    with pytest.raises(EnvironmentFault, match=r"^Cannot read .*gone: no such file or directory; check the path"):
        fsys.read_range(tmp_path / "gone", 0, 1)
    with pytest.raises(EnvironmentFault, match=r"^Cannot read .*; (a directory stands|give your user)"):
        fsys.read_bytes(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_named_pipe_is_refused_at_once(tmp_path: Path) -> None:
    """Nobody waits for a writer that may never come."""
    os.mkfifo(tmp_path / "sessions.json")
    for read in (fsys.read_bytes, lambda path: fsys.read_range(path, 0, 8)):
        with pytest.raises(EnvironmentFault, match=r"sessions\.json: it is not a regular file; move it away"):
            read(tmp_path / "sessions.json")


def test_lists_what_is_there_and_what_is_broken(tmp_path: Path) -> None:
    """Files, directories, links and links to nothing are each listed as themselves."""
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "directory").mkdir()
    if _POSIX:
        (tmp_path / "link").symlink_to("file")
        (tmp_path / "broken").symlink_to("nowhere")
        (tmp_path / "way").symlink_to("directory")
    listed = {entry.name: entry for entry in fsys.list_directory(tmp_path)}
    assert (listed["file"].is_file, listed["file"].is_dir, listed["file"].size) == (True, False, 5)
    assert (listed["directory"].is_file, listed["directory"].is_dir) == (False, True)
    if _POSIX:
        assert set(listed) == {"file", "directory", "link", "broken", "way"}
        assert not any(listed[name].is_file or listed[name].is_dir for name in ("link", "broken", "way"))
        assert listed["file"].allocated == (tmp_path / "file").stat().st_blocks * 512
        assert listed["file"].inode == (tmp_path / "file").stat().st_ino


def test_a_missing_directory_is_empty_and_a_file_is_none(tmp_path: Path) -> None:
    """Listing nothing is no fault; a file in the directory's place is one."""
    (tmp_path / "file").write_bytes(b"")
    assert fsys.list_directory(tmp_path / "gone") == ()
    with pytest.raises(EnvironmentFault, match=r"^Cannot list .*file: not a directory; name the directory"):
        fsys.list_directory(tmp_path / "file")


def test_checks_a_directory(tmp_path: Path) -> None:
    """A directory passes; a file in its place and a missing one each have their sentence."""
    (tmp_path / "file").write_bytes(b"")
    fsys.check_directory(tmp_path)
    with pytest.raises(EnvironmentFault, match=r"^Cannot open .*file: not a directory; name the directory"):
        fsys.check_directory(tmp_path / "file")
    with pytest.raises(EnvironmentFault, match=r"^Cannot open .*gone: .*; check the path"):
        fsys.check_directory(tmp_path / "gone")


@pytest.fixture
def open_place() -> Iterator[Path]:
    """Give a directory whose parents anyone may pass; pytest's own are closed to other users."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place)
        path.chmod(0o755)
        yield path
        for inner in path.rglob("*"):
            if inner.is_dir():
                inner.chmod(0o755)


_AS_NOBODY = f"""
import json, os, sys
from pathlib import Path
from strandline.errors import EnvironmentFault
from strandline.state import fsys
from strandline.state.discovery import Environment, all_stores, candidate_directories, choose_directory, read_config
from strandline.settings.policies import AgentsPolicy

place = Path(sys.argv[1])
if os.getuid() == 0:
    os.setgroups([])
    os.setgid({_NOBODY})
    os.setuid({_NOBODY})
environment = Environment(variables={{}}, home=place, working_directory=place)

def ask(question, *words):
    try:
        answer = question(*words)
    except EnvironmentFault as fault:
        return "fault: " + str(fault)
    return answer

closed = place / "closed"
print(json.dumps({{
    "identify": ask(fsys.identify, closed / "file"),
    "read": ask(fsys.read_bytes, place / "secret"),
    "list": ask(fsys.list_directory, closed),
    "check": ask(fsys.check_directory, closed),
    "exists": [ask(ask_for, closed / "file") for ask_for in (fsys.exists, fsys.is_file, fsys.is_directory)],
    "within": fsys.is_within(closed / "file", closed),
    "chosen": str(choose_directory(closed, environment).path),
    "config": read_config(closed / "openclaw.json").damage,
    "candidates": [directory.found_by for directory in candidate_directories(environment)],
    "stores": [store.agent_id for store in all_stores(AgentsPolicy(), None, place / "state", environment)],
    "no agents": ask(lambda: all_stores(AgentsPolicy(), None, place / "locked", environment)),
}}))
"""


@pytest.mark.skipif(not _POSIX, reason="modes close nothing on Windows")
def test_a_closed_directory_is_a_sentence_never_a_crash(open_place: Path) -> None:
    """Every question to a directory without permission has an answer or one sentence that says what to do.

    Root may read everything, so the questions are asked by a child that becomes nobody.
    """
    for directory in (
        "closed",
        "state/agents/open/sessions",
        "state/agents/shut/sessions",
        "locked/agents",
        ".openclaw",
    ):
        (open_place / directory).mkdir(parents=True)
    (open_place / "closed" / "file").write_bytes(b"x")
    (open_place / "secret").write_bytes(b"x")
    (open_place / "secret").chmod(0)
    for closed in ("closed", "state/agents/shut", "locked/agents", ".openclaw"):
        (open_place / closed).chmod(0)
    done = subprocess.run(
        [sys.executable, "-c", _AS_NOBODY, str(open_place)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    answers: dict[str, Any] = json.loads(done.stdout)
    advice = "permission denied; give your user read permission on it, or run as the user that owns it."
    assert answers["identify"] == f"fault: Cannot look at {open_place / 'closed' / 'file'}: {advice}"
    assert answers["read"] == f"fault: Cannot read {open_place / 'secret'}: {advice}"
    assert answers["list"] == f"fault: Cannot list {open_place / 'closed'}: {advice}"
    assert answers["check"] == f"fault: Cannot open {open_place / 'closed'}: {advice}"
    assert answers["exists"] == [False, False, False]
    assert answers["within"] is True
    assert answers["chosen"] == str(open_place / "closed")
    assert answers["config"] == f"Cannot look at {open_place / 'closed' / 'openclaw.json'}: {advice}"
    assert answers["candidates"] == []
    # An agent that cannot be looked into is listed; its store then says why it cannot be read.
    assert answers["stores"] == ["main", "open", "shut"]
    assert answers["no agents"] == f"fault: Cannot list {open_place / 'locked' / 'agents'}: {advice}"


@pytest.mark.skipif(not _POSIX, reason="links need rights on Windows")
def test_within_follows_every_link(tmp_path: Path) -> None:
    """What counts is where a path leads, for the path and for the directory."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    for directory in (inside, outside, tmp_path / "in2"):
        directory.mkdir()
    (inside / "leaves").symlink_to(outside)
    (outside / "back").symlink_to(inside)
    (tmp_path / "alias").symlink_to(inside)
    assert fsys.is_within(inside / "x", inside)
    assert fsys.is_within(inside, inside)
    assert not fsys.is_within(inside / "leaves" / "x", inside)
    assert fsys.is_within(outside / "back" / "x", inside)
    assert fsys.is_within(inside / "x", tmp_path / "alias")
    assert not fsys.is_within(tmp_path / "in2" / "x", inside)
    assert not fsys.is_within(inside / ".." / "out", inside)
    assert not fsys.is_within(inside / "nul\0", inside)


@pytest.mark.skipif(not _POSIX, reason="these paths are native on Windows")
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("C:\\Users\\op\\x.jsonl", "x.jsonl"),
        ("c:/Users/op/x.jsonl", "x.jsonl"),
        ("\\\\server\\share\\x.jsonl", "x.jsonl"),
        ("C:\\Users\\op\\", ""),
        ("C:x.jsonl", None),
        ("sub\\x.jsonl", None),
        ("/home/op/x.jsonl", None),
        ("x.jsonl", None),
        ("", None),
    ],
)
def test_a_path_of_another_system_is_recognised(text: str, name: str | None) -> None:
    """A drive or a share in front is Windows; the last name is split off as Windows does."""
    assert fsys.foreign_name(text) == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "empty"),
        (".", "directory link"),
        ("..", "directory link"),
        ("a:b.jsonl", "character"),
        ("a/b", "character"),
        ("a\\b", "character"),
        ("a\x00b", "character"),
        ("a\x1fb", "character"),
        ('a"b', "character"),
        ("what?", "character"),
        ("name.", "dot or a space"),
        ("name ", "dot or a space"),
        ("CON", "device"),
        ("con.jsonl", "device"),
        ("Com1.jsonl", "device"),
        ("LPT9", "device"),
        ("x" * 256, "longer"),
        ("é" * 128, "longer"),
        ("\ud800" * 86, "longer"),
    ],
)
def test_a_name_that_not_every_system_takes_is_refused(name: str, reason: str) -> None:
    """The sentence says what is wrong with the name."""
    refusal = fsys.refused_name(name)
    assert refusal is not None
    assert refusal.startswith("it ")
    assert reason in refusal


@pytest.mark.parametrize(
    "name", ["s1.jsonl", "console.jsonl", "com10", "COM0", "..x", ".hidden", "a b", "é" * 127, "x" * 255, "a@b"]
)
def test_an_ordinary_name_is_taken(name: str) -> None:
    """Names that only look like trouble are none."""
    assert fsys.refused_name(name) is None


@given(st.text(max_size=300))
def test_a_name_that_is_taken_can_be_written(name: str) -> None:
    """Nothing raises, and no accepted name leaves its directory."""
    if fsys.refused_name(name) is None:
        assert Path(name).name == name
        assert len(os.fsencode(name)) <= 255
