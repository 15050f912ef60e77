"""Which file a row's transcript is: the real program's recorded answers, and every difference with its reason."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strandline.state import fsys
from strandline.store.location import TranscriptPath, is_file_id, locate_transcript

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the recorded paths and links are those of Linux")

_RECORDS: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "data" / "paths.json").read_text("utf-8"))
_ROOT, _WORK = "/tmp/h4/p", "/tmp/h4"  # noqa: S108 - where the record was made
_MAIN = f"{_ROOT}/agents/main/sessions"

_LEAVES = "it leads out of the sessions directory: shown as text, never opened"
_OTHER_ROOT = (
    "the real program takes any path that looks like an agent's; here only agents of this state directory count"
)
_LINK = "a link is judged by where it leads, and a dangling one leads nowhere in this directory"
_BLANK = "the real program raises; a row without a usable id leads to no file"
_MOVED = "a path of another machine; the file of that name lies here"
# What is stored → why we differ from the real program, and what we say instead.
_DIFFERENCES: dict[str, tuple[str, str]] = {
    "../x.jsonl": (_LEAVES, "outside"),
    "sub/../../x.jsonl": (_LEAVES, "outside"),
    ".": ("it is the directory itself", "outside"),
    "..": (_LEAVES, "outside"),
    "C:\\a\\agents\\main\\sessions\\s1.jsonl": (_MOVED, "moved"),
    "sub\\n.jsonl": ("the name is no file name on Windows", "refused"),
    f"{_MAIN}/ln-out.jsonl": (_LINK, "outside"),
    "ln-out.jsonl": (_LINK, "outside"),
    f"{_MAIN}/ln-dangling.jsonl": (_LINK, "outside"),
    f"{_ROOT}/agents/Bad Id/sessions/m.jsonl": (_LEAVES, "outside"),
    f"{_ROOT}/out/o.jsonl": (_LEAVES, "outside"),
    f"{_ROOT}/elsewhere/agents/zed/sessions/z.jsonl": (_OTHER_ROOT, "outside"),
    f"{_ROOT}/elsewhere/agents/main/sessions/missing.jsonl": (_OTHER_ROOT, "outside"),
    f"{_ROOT}/elsewhere/agents/zed/sessions/sub/z.jsonl": (_LEAVES, "outside"),
    f"{_ROOT}/elsewhere/agents/Zed/sessions/q.jsonl": (_OTHER_ROOT, "outside"),
    "/agents/q/sessions/a.jsonl": (_OTHER_ROOT, "outside"),
    "/sessions/a.jsonl": (_LEAVES, "outside"),
    f"{_WORK}/state/agents/main/sessions/def.jsonl": (_OTHER_ROOT, "outside"),
    "/nonexist/agents/a b/sessions/c.jsonl": (_LEAVES, "outside"),
    "/x/agents/m/sessions/sessions/c.jsonl": (_LEAVES, "outside"),
}
# The same for a store that lies outside ``agents``: it has no sibling agents.
_FROM_A_CUSTOM_STORE = {
    f"{_MAIN}/s1.jsonl": (_OTHER_ROOT, "outside"),
    f"{_MAIN}/none.jsonl": (_OTHER_ROOT, "outside"),
    f"{_ROOT}/out/o.jsonl": (_LEAVES, "outside"),
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Lay out the tree on which the resolutions were recorded."""
    root = tmp_path / "p"
    for directory in ("main/sessions/sub", "work/sessions", "Bad Id/sessions", "link"):
        (root / "agents" / directory).mkdir(parents=True)
    for directory in ("out", "elsewhere/agents/main/sessions", "elsewhere/agents/zed/sessions", "store"):
        (root / directory).mkdir(parents=True)
    main = root / "agents" / "main" / "sessions"
    for file in (
        main / "s1.jsonl",
        main / "sub" / "n.jsonl",
        root / "agents" / "work" / "sessions" / "w1.jsonl",
        root / "out" / "o.jsonl",
        root / "elsewhere" / "agents" / "zed" / "sessions" / "z.jsonl",
        root / "store" / "x.jsonl",
    ):
        file.write_bytes(b"")
    (main / "ln-out.jsonl").symlink_to(root / "out" / "o.jsonl")
    (main / "ln-in.jsonl").symlink_to(main / "s1.jsonl")
    (main / "ln-sib.jsonl").symlink_to(root / "agents" / "work" / "sessions" / "w1.jsonl")
    (main / "ln-dangling.jsonl").symlink_to(root / "nowhere.jsonl")
    (root / "agents" / "link" / "sessions").symlink_to(main)
    (root / "out" / "back.jsonl").symlink_to(main / "s1.jsonl")
    return tmp_path


def _locate(session_id: str | None, session_file: str | None, sessions_dir: Path) -> TranscriptPath:
    listing = {entry.name: entry for entry in fsys.list_directory(sessions_dir)}
    return locate_transcript(session_id, session_file, sessions_dir, listing)


def _verdict(found: TranscriptPath) -> str:
    if found.outside:
        return "outside"
    if found.local_name is not None:
        return "moved"
    return "refused" if found.refused is not None else "no file" if found.path is None else "taken"


def _difference(record: dict[str, Any]) -> tuple[str, str] | None:
    if record["resolved"].startswith("THROWS"):
        return _BLANK, "no file"
    table = _FROM_A_CUSTOM_STORE if record["sessionsDir"].endswith("/store") else _DIFFERENCES
    return table.get(record["sessionFile"])


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(record, id=f"{number}-{ascii(record['sessionFile'])[:50]}")
        for number, record in enumerate(_RECORDS)
    ],
)
def test_agrees_with_the_real_program_or_says_why_not(record: dict[str, Any], place: Path) -> None:
    """The file is the recorded one; where it is not, the difference is listed with its reason."""
    here = {key: value.replace(_WORK, str(place)) for key, value in record.items() if isinstance(value, str)}
    sessions_dir = place / (here["sessionsDir"] or f"{place}/state/agents/main/sessions")
    # Ids reach us as the loader leaves them: trimmed.
    found = _locate(here["sessionId"].strip(), here.get("sessionFile"), sessions_dir)
    difference = _difference(record)
    if difference is not None:
        assert _verdict(found) == difference[1]
        return
    assert _verdict(found) == "taken"
    assert found.path is not None
    # The real program resolves some links and ".." in its answer; the file is the same one.
    assert os.path.realpath(found.path) == os.path.realpath(here["resolved"])


def test_every_difference_is_one_of_the_record() -> None:
    """No line of the lists stands for nothing, and most of the record agrees."""
    stored = [record["sessionFile"] for record in _RECORDS if not record["sessionsDir"].endswith("/store")]
    assert set(_DIFFERENCES) <= set(stored)
    custom = [record["sessionFile"] for record in _RECORDS if record["sessionsDir"].endswith("/store")]
    assert set(_FROM_A_CUSTOM_STORE) <= set(custom)
    assert len(_RECORDS) == 79
    assert sum(_difference(record) is None for record in _RECORDS) == 47


def test_a_path_that_leads_outside_is_text(place: Path) -> None:
    """It is kept as it was stored, so that a person can read it."""
    sessions_dir = place / "p" / "agents" / "main" / "sessions"
    found = _locate("s1", " ../x.jsonl ", sessions_dir)
    assert (found.outside, found.elsewhere, found.local_name) == (True, "../x.jsonl", None)
    assert _locate("s1", f"{sessions_dir}/..", sessions_dir).outside


def test_a_transcript_that_is_a_link_out_is_outside(place: Path) -> None:
    """Also when no path is stored and the name is the session's own."""
    sessions_dir = place / "p" / "agents" / "main" / "sessions"
    (sessions_dir / "s9.jsonl").symlink_to("/etc/passwd")
    for stored in (None, "s9.jsonl", str(sessions_dir / "s9.jsonl")):
        assert _locate("s9", stored, sessions_dir).outside
    assert not _locate("ln-in", None, sessions_dir).outside
    assert not _locate("ln-sib", None, sessions_dir).outside


@pytest.mark.parametrize("name", ["agent/auth-profiles.json", "x.jsonl", "agent/sessions/x.jsonl", "sessions"])
def test_only_sessions_of_a_sibling_are_taken(name: str, place: Path) -> None:
    """Another file of an agent, its credentials first of all, is no transcript."""
    agents = place / "p" / "agents"
    assert _locate("s1", str(agents / "work" / name), agents / "main" / "sessions").outside
    assert not _locate("s1", str(agents / "work" / "sessions" / "x"), agents / "main" / "sessions").outside


def test_a_sibling_that_leads_out_is_outside(place: Path) -> None:
    """A link below another agent's sessions is followed before it is judged."""
    agents = place / "p" / "agents"
    (agents / "work" / "sessions" / "ln.jsonl").symlink_to("/etc/passwd")
    assert _locate("s1", str(agents / "work" / "sessions" / "ln.jsonl"), agents / "main" / "sessions").outside


@pytest.mark.parametrize(
    "stored",
    [
        "/home/old/.openclaw/agents/main/sessions/s1.jsonl",
        "/Users/op/.openclaw/agents/main/sessions/s1.jsonl",
        "C:\\Users\\op\\.openclaw\\agents\\main\\sessions\\s1.jsonl",
        "c:/Users/op/.openclaw/agents/main/sessions/s1.jsonl",
        "\\\\nas\\op\\sessions\\s1.jsonl",
    ],
)
def test_a_moved_directory_is_recognised(stored: str, place: Path) -> None:
    """The stored path belongs to another machine, and the file of that name lies here."""
    sessions_dir = place / "p" / "agents" / "main" / "sessions"
    found = _locate("s1", stored, sessions_dir)
    assert (found.local_name, found.elsewhere, found.outside) == ("s1.jsonl", stored, False)


def test_a_path_of_another_system_without_a_local_file(place: Path) -> None:
    """A Windows path is not taken for one odd file name; a POSIX path without a file here leads outside."""
    sessions_dir = place / "p" / "agents" / "main" / "sessions"
    windows = _locate("gone", "C:\\x\\gone.jsonl", sessions_dir)
    assert (windows.elsewhere, windows.local_name, windows.path) == (
        "C:\\x\\gone.jsonl",
        None,
        sessions_dir / "gone.jsonl",
    )
    assert _locate("gone", "/home/old/gone.jsonl", sessions_dir).outside
    # A directory of that name is no file of that name.
    assert _locate("s1", "/home/old/sub", sessions_dir).local_name is None


@pytest.mark.parametrize("stored", ["a:b.jsonl", "CON", "nul\0.jsonl", "x" * 300])
def test_a_stored_name_that_no_system_should_see_is_refused(stored: str, place: Path) -> None:
    """The reason is said; nothing is looked for."""
    assert _locate("s1", stored, place / "p" / "store").refused is not None


@pytest.mark.parametrize(("session_id", "refused"), [("s1", False), ("con", True), ("a.", False), ("nul.x", True)])
def test_an_id_may_be_fit_for_one_system_only(session_id: str, refused: bool, place: Path) -> None:
    """The path is still the real program's; the refusal goes with it."""
    found = _locate(session_id, None, place / "p" / "store")
    assert found.path == place / "p" / "store" / f"{session_id}.jsonl"
    assert (found.refused is not None) is refused


@pytest.mark.parametrize(
    ("session_id", "fit"),
    [
        ("s1", True),
        ("S.Up_per-1", True),
        ("x" * 128, True),
        ("x" * 129, False),
        ("", False),
        (".a", False),
        ("-a", False),
        ("a:b", False),
        ("a/b", False),
        ("é", False),
        ("s1\n", False),
        ("s.checkpoint.11111111-1111-4111-8111-111111111111", False),
        ("s.checkpoint.not-a-uuid", True),
    ],
)
def test_ids_that_become_file_names(session_id: str, fit: bool) -> None:
    """Letters, digits and three marks, at most 128, and no checkpoint's name."""
    assert is_file_id(session_id) is fit


_PARTS = st.sampled_from(
    [
        "..",
        ".",
        "",
        "s1.jsonl",
        "sub",
        "ln-out.jsonl",
        "ln-in.jsonl",
        "agents",
        "main",
        "work",
        "sessions",
        "~",
        "C:\\x",
        "\0",
        "\ud800",
        "é",
        "auth.json",
        "nowhere",
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_PARTS, max_size=6), st.sampled_from(["", "/", "$A/", "$R/"]))
def test_whatever_is_stored_never_leads_out(place: Path, parts: list[str], base: str) -> None:
    """Every path that is not called outside lies in the sessions of an agent of this state; looking changes nothing."""
    agents = place / "p" / "agents"
    sessions_dir = agents / "main" / "sessions"
    stored = base.replace("$A", str(sessions_dir)).replace("$R", str(place / "p")) + "/".join(parts)
    found = _locate("s1", stored, sessions_dir)
    assert found.path is not None
    assert found.elsewhere is None or found.elsewhere == stored.strip() or found.outside
    if not found.outside and found.refused is None and fsys.identify(found.path) is not None:
        real = os.path.realpath(found.path)
        assert any(real.startswith(f"{agents / name / 'sessions'}/") for name in ("main", "work"))
