"""File names and their classes: the table of case A05, look-alikes, stamps, and any name at all."""

from __future__ import annotations

import string
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.state.file_classes import (
    FileClass,
    Standing,
    checkpoint_base,
    classify,
    looks_like_checkpoint,
    parse_archive,
    stand,
)

_STAMP = "2026-03-01T12-34-56.789Z"
_UUID = "11111111-2222-4333-8444-555555555555"
_CASE = (
    Path(__file__).parents[2] / "data" / "cases" / "A05-what-is-this-file" / "state" / "agents" / "main" / "sessions"
)

# The words of the case's table, by the endings that it names; the class names are the contract's.
_CASE_TABLE = [
    ("-topic-42.jsonl", FileClass.TRANSCRIPT),
    (".jsonl.reset.<time>", FileClass.ARCHIVE),
    (".jsonl.deleted.<time>", FileClass.ARCHIVE),
    (".jsonl.bak.<time>", FileClass.ARCHIVE),
    (".checkpoint.<uuid>.jsonl", FileClass.CHECKPOINT),
    (".checkpoint.not-a-uuid.jsonl", FileClass.TRANSCRIPT),
    (".reset.yesterday", FileClass.OTHER),
    (".trajectory.jsonl", FileClass.TRAJECTORY),
    (".trajectory-path.json", FileClass.TRAJECTORY_POINTER),
    (".jsonl.lock", FileClass.LOCK),
    ("notes.txt", FileClass.OTHER),
    (".jsonl.zst", FileClass.OTHER),
    (".jsonl.migrated", FileClass.OTHER),
    ("sessions.json.tmp", FileClass.STORE_TEMPORARY),
    ("sessions.json.bak.1700000000000", FileClass.STORE_BACKUP),
    ("sessions.json", FileClass.STORE),
]


@pytest.mark.parametrize(("ending", "file_class"), _CASE_TABLE)
def test_the_case_s_table(ending: str, file_class: FileClass) -> None:
    """Each line of the table has its class, behind a session id as behind a topic file."""
    tail = ending.replace("<time>", _STAMP).replace("<uuid>", _UUID)
    names = (
        [tail] if tail[0] not in ".-" else [f"{base}{tail}" for base in ("000000a5-0b00-4000-8000-000000000001", "s")]
    )
    assert {classify(name) for name in names} == {file_class}


def test_the_case_s_files() -> None:
    """Every file of the case's folder is what the table calls it, counted by class."""
    found = [classify(path.name) for path in _CASE.iterdir() if path.is_file()]
    counts = {file_class: found.count(file_class) for file_class in set(found)}
    assert counts == {
        FileClass.STORE: 1,
        FileClass.STORE_BACKUP: 1,
        FileClass.STORE_TEMPORARY: 1,
        FileClass.TRANSCRIPT: 4,
        FileClass.CHECKPOINT: 1,
        FileClass.TRAJECTORY: 1,
        FileClass.TRAJECTORY_POINTER: 1,
        FileClass.ARCHIVE: 3,
        FileClass.LOCK: 1,
        FileClass.OTHER: 4,
    }


@pytest.mark.parametrize(
    ("name", "file_class"),
    [
        (f".fs-safe-replace.77.{_UUID}.tmp", FileClass.STORE_TEMPORARY),
        ("sessions.json.31337.tmp", FileClass.STORE_TEMPORARY),
        ("sessions.json.tmp.", FileClass.OTHER),
        ("sessions.jsonl", FileClass.TRANSCRIPT),
        ("Sessions.json", FileClass.OTHER),
        ("sessions.json.bak.", FileClass.OTHER),
        ("sessions.json.bak.12a", FileClass.OTHER),
        ("sessions.json.bak.\u0661\u0662", FileClass.OTHER),
        (f"sessions.json.bak.{_STAMP}", FileClass.ARCHIVE),
        (f"sessions.json.deleted.{_STAMP}", FileClass.ARCHIVE),
        ("s.jsonl.bak-77-1700000000000", FileClass.REPAIR_BACKUP),
        (f"s.jsonl.repair.77.{_UUID}.tmp", FileClass.REPAIR_BACKUP),
        (f"s.checkpoint.{_UUID}.jsonl.deleted.{_STAMP}", FileClass.ARCHIVE),
        (f"s.trajectory.jsonl.deleted.{_STAMP}", FileClass.ARCHIVE),
        (f"s.checkpoint.{_UUID.upper()}.JSONL", FileClass.CHECKPOINT),
        ("s.trajectory.jsonl.lock", FileClass.LOCK),
        ("s.lock", FileClass.OTHER),
        ("S.JSONL", FileClass.OTHER),
        ("random-name.jsonl", FileClass.TRANSCRIPT),
        (".jsonl", FileClass.TRANSCRIPT),
        (f"2026-01-02T03-04-05-678Z_{_UUID}.jsonl", FileClass.TRANSCRIPT),
        ("openclaw-agent.sqlite", FileClass.NEWER_STORE),
        ("openclaw-agent.sqlite-wal", FileClass.NEWER_STORE),
        (f"s.jsonl.reset.{_STAMP}.zst", FileClass.ARCHIVE),
        (f"s.jsonl.deleted.{_STAMP}.a1b2.zst", FileClass.ARCHIVE),
        (f"s.jsonl.bak.{_STAMP}.zst", FileClass.OTHER),
        (f"s.jsonl.reset.{_STAMP}\n", FileClass.OTHER),
        (f"reset.{_STAMP}", FileClass.OTHER),
        (f".reset.{_STAMP}", FileClass.OTHER),
        ("", FileClass.OTHER),
    ],
)
def test_look_alikes(name: str, file_class: FileClass) -> None:
    """One character more or less makes another class."""
    assert classify(name) is file_class


def test_the_store_may_have_another_name() -> None:
    """``session.store`` names the store; its backups and temporaries follow, and ``sessions.json`` is any file."""
    assert classify("main.json", store_name="main.json") is FileClass.STORE
    assert classify("main.json.bak.17", store_name="main.json") is FileClass.STORE_BACKUP
    assert classify("main.json.tmp", store_name="main.json") is FileClass.STORE_TEMPORARY
    assert classify("sessions.json", store_name="main.json") is FileClass.OTHER
    assert classify("rows.jsonl", store_name="rows.jsonl") is FileClass.STORE


@pytest.mark.parametrize(
    ("name", "base", "reason", "moment"),
    [
        (f"s.jsonl.reset.{_STAMP}", "s.jsonl", "reset", datetime(2026, 3, 1, 12, 34, 56, 789_000, UTC)),
        ("s.jsonl.deleted.2026-03-01T00-00-00Z", "s.jsonl", "deleted", datetime(2026, 3, 1, tzinfo=UTC)),
        (
            f"s.jsonl.reset.{_STAMP}.bak.2024-02-29T23-59-59.001Z",
            f"s.jsonl.reset.{_STAMP}",
            "bak",
            datetime(2024, 2, 29, 23, 59, 59, 1_000, UTC),
        ),
        ("x.reset.1970-01-01T00-00-00.000Z", "x", "reset", datetime(1970, 1, 1, tzinfo=UTC)),
    ],
)
def test_an_archive_says_what_when_and_why(name: str, base: str, reason: str, moment: datetime) -> None:
    """The last reason counts; the stamp is UTC to the millisecond."""
    archive = parse_archive(name)
    assert archive is not None
    assert (archive.base, archive.reason) == (base, reason)
    assert archive.archived_ms == round(moment.timestamp() * 1000)


@pytest.mark.parametrize(
    "stamp", ["2026-02-30T00-00-00Z", "2026-13-01T00-00-00Z", "2026-01-01T24-00-00Z", "0000-01-01T00-00-00Z"]
)
def test_a_time_that_does_not_exist_is_still_an_archive(stamp: str) -> None:
    """The real program looks at the form of the stamp only; the time is unknown."""
    archive = parse_archive(f"s.jsonl.reset.{stamp}")
    assert archive is not None
    assert archive.archived_ms is None


@pytest.mark.parametrize(
    "stamp",
    [
        "yesterday",
        "1700000000000",
        "2026-03-01T12:34:56.789Z",
        "2026-03-01T12-34-56.78Z",
        "2026-03-01T12-34-56.789",
        "2026-3-1T12-34-56Z",
        f"{_STAMP} ",
    ],
)
def test_a_stamp_of_another_form_makes_no_archive(stamp: str) -> None:
    """Numbers, colons and half a second's digits are not recognised."""
    assert parse_archive(f"s.jsonl.reset.{stamp}") is None
    assert classify(f"s.jsonl.reset.{stamp}") is FileClass.OTHER


@pytest.mark.parametrize(
    ("name", "base"),
    [
        (f"s.checkpoint.{_UUID}.jsonl", "s"),
        (f"a.checkpoint.{_UUID}.checkpoint.{_UUID}.jsonl", f"a.checkpoint.{_UUID}"),
        (f"s.CHECKPOINT.{_UUID.upper()}.JsonL", "s"),
        (f".checkpoint.{_UUID}.jsonl", None),
        ("s.checkpoint.11111111-2222-6333-8444-555555555555.jsonl", None),
        ("s.checkpoint.11111111-2222-4333-7444-555555555555.jsonl", None),
        ("s.checkpoint.not-a-uuid.jsonl", None),
        (f"s.checkpoint.{_UUID}.jsonl.lock", None),
    ],
)
def test_a_checkpoint_names_its_transcript(name: str, base: str | None) -> None:
    """Only a uuid of versions 1 to 5 and the usual variant makes a checkpoint."""
    assert checkpoint_base(name) == base
    assert looks_like_checkpoint(name) is (base is not None)


_NAMES = st.text(max_size=40) | st.lists(
    st.sampled_from(
        [
            "sessions.json",
            "s",
            ".jsonl",
            ".lock",
            ".reset.",
            ".bak.",
            ".deleted.",
            _STAMP,
            ".checkpoint.",
            _UUID,
            ".tmp",
            ".trajectory",
            "-path.json",
            ".zst",
            "17",
            ".sqlite",
            "-wal",
            ".repair.",
            "\n",
            ".",
        ]
    ),
    max_size=7,
).map("".join)


@given(_NAMES)
def test_every_name_has_exactly_one_class(name: str) -> None:
    """The predicates of single classes agree with the one class that a name gets."""
    file_class = classify(name)
    assert isinstance(file_class, FileClass)
    assert (file_class is FileClass.STORE) is (name == "sessions.json")
    if file_class is FileClass.ARCHIVE:
        assert parse_archive(name) is not None
    if file_class is FileClass.CHECKPOINT:
        assert checkpoint_base(name) is not None
    if name.endswith(".jsonl"):
        assert file_class in {FileClass.TRANSCRIPT, FileClass.CHECKPOINT, FileClass.TRAJECTORY, FileClass.ARCHIVE}


@given(
    st.text(string.printable, min_size=1),
    st.sampled_from(["reset", "deleted", "bak"]),
    st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),  # noqa: DTZ001 - bounds must be naive
)
def test_what_the_real_program_archives_is_read_back(base: str, reason: str, moment: datetime) -> None:
    """A name made by its rule gives back file, reason and time."""
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=UTC)
    stamp = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z").replace(":", "-")
    archive = parse_archive(f"{base}.{reason}.{stamp}")
    assert archive is not None
    assert (archive.base, archive.reason, archive.archived_ms) == (base, reason, round(moment.timestamp() * 1000))


@pytest.mark.parametrize("referenced", [True, False])
@pytest.mark.parametrize("readable", [True, False])
@pytest.mark.parametrize("file_class", FileClass)
def test_standing(file_class: FileClass, referenced: bool, readable: bool) -> None:
    """What holds on to a file follows from its class, its rows, and whether the rows could be read."""
    always = {FileClass.STORE, FileClass.STORE_TEMPORARY, FileClass.LOCK, FileClass.SIGNAL_LOG, FileClass.NEWER_STORE}
    of_rows = {FileClass.TRANSCRIPT, FileClass.CHECKPOINT, FileClass.TRAJECTORY, FileClass.TRAJECTORY_POINTER}
    if file_class in always:
        expected = Standing.PROTECTED
    elif referenced:
        expected = Standing.REFERENCED
    elif file_class in of_rows | {FileClass.ARCHIVE} and not readable:
        expected = Standing.UNREADABLE
    elif file_class is FileClass.ARCHIVE:
        expected = Standing.EARLIER_CONVERSATION
    elif file_class in of_rows:
        expected = Standing.UNREFERENCED
    else:
        expected = Standing.PROTECTED
    assert stand(file_class, referenced=referenced, store_readable=readable) is expected
