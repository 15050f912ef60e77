"""What findings about a transcript say: once per kind, with numbers, names and places, in whole sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from strandline.doctor.transcripts import (
    damage_findings,
    oddity_findings,
    silence_finding,
    tree_findings,
    unreadable_finding,
)
from strandline.errors import EnvironmentFault
from strandline.transcript.facts import Words
from strandline.transcript.places import Damage, DamageKind, Evidence, Oddity, OddityKind
from strandline.transcript.tree import build_tree
from strandline.transcript.whole_file import WholeFile

HEADER = b'{"type":"session","version":3,"id":"s"}\n'


def _broken(count: int) -> list[Damage]:
    return [Damage(at + 2, at * 10_000, 7, DamageKind.NO_JSON, "no JSON") for at in range(count)]


def _entries(*pairs: tuple[str, str | None]) -> WholeFile:
    records = ({"type": "custom", "id": entry_id, "parentId": parent} for entry_id, parent in pairs)
    return WholeFile(HEADER + "".join(json.dumps(record) + "\n" for record in records).encode())


@pytest.mark.parametrize(("count", "words"), [(1, "A stretch of"), (2, "2 stretches of"), (1500, "1,500 stretches of")])
def test_damage_is_one_finding(count: int, words: str) -> None:
    """However many places are broken: one finding that counts them and names the first twenty."""
    (found,) = damage_findings(_broken(count), "k")
    assert found.what.startswith(words)
    assert (found.severity, found.where) == ("error", "k")
    assert len(found.evidence) == min(count, 20)
    assert found.evidence[0] == "line 2, byte 0, 7 bytes: no JSON"
    assert list(damage_findings([], "k")) == []


def test_unfinished_last_record_is_calm_and_apart() -> None:
    """It is a remark of its own beside real damage; without a counted line the byte is named alone."""
    unfinished = Damage(None, 12_345, 80, DamageKind.UNFINISHED, "the file ends inside it")
    damaged, calm = damage_findings([*_broken(1), unfinished], "k")
    assert (damaged.code, calm.code) == ("transcript-damaged", "transcript-unfinished")
    assert (calm.severity, calm.evidence) == ("info", ("byte 12,345, 80 bytes: the file ends inside it",))
    assert len(damaged.evidence) == 1


@pytest.mark.parametrize("kind", list(OddityKind))
def test_every_oddity_has_a_code(kind: OddityKind) -> None:
    """Codes are kebab-case; one place keeps its note, many are counted in one finding."""
    (one,) = oddity_findings([Oddity(3, 100, 5, kind, "Odd.")], "k")
    assert one.code == f"transcript-{kind.name.lower().replace('_', '-')}"
    assert (one.what, one.evidence) == ("Odd.", ("line 3, byte 100",))
    (many,) = oddity_findings([Oddity(at, at, 5, kind, "Odd.") for at in range(1, 1001)], "k")
    assert many.what == "Odd. It is so in 1,000 places."
    assert len(many.evidence) == 20


def test_oddities_of_two_kinds_are_two_findings() -> None:
    """Kinds keep the order in which they were met; a file without lines needs no place."""
    odd = [
        Oddity(1, 0, 3, OddityKind.BYTE_ORDER_MARK, "Mark."),
        Oddity(None, 0, 0, OddityKind.NO_HEADER, "No header."),
        Oddity(2, 9, 3, OddityKind.BYTE_ORDER_MARK, "Mark."),
    ]
    mark, headless = oddity_findings(odd, "k")
    assert (mark.severity, headless.severity) == ("info", "warning")
    assert headless.evidence == ()


def test_loops_show_their_ring() -> None:
    """Ids in the order child to parent and back; a long ring is cut, with its beginning at the end again."""
    (short,) = tree_findings(build_tree(_entries(("a", "b"), ("b", "a"))), "k")
    assert short.evidence == ("a → b → a",)
    size = 300
    ring = [(f"n{at}", f"n{(at + 1) % size}") for at in range(size)]
    (long,) = tree_findings(build_tree(_entries(*ring)), "k")
    assert long.evidence[0].startswith("n0 → n1 → ")
    assert long.evidence[0].endswith(" → … → n0")
    assert long.evidence[0].count("→") == 20


def test_missing_parents_and_repeated_ids_are_counted() -> None:
    """One and several read as sentences; ids are named, at most twenty."""
    (one,) = tree_findings(build_tree(_entries(("a", "x"))), "k")
    assert one.what.startswith("An entry names a parent")
    (many,) = tree_findings(build_tree(_entries(*((f"a{at}", f"x{at}") for at in range(30)))), "k")
    assert many.what.startswith("30 entries name a parent")
    assert len(many.evidence) == 20
    (twice,) = tree_findings(build_tree(_entries(("a", None), ("b", "a"), ("b", "a"))), "k")
    assert (twice.what, twice.evidence) == ("An id stands at several entries; the last one counts.", ("b",))
    double = [("a", None), *((name, "a") for name in "bbcc")]
    (twice,) = tree_findings(build_tree(_entries(*double)), "k")
    assert twice.what.startswith("2 ids stand at several entries")


@pytest.mark.parametrize(
    ("role", "text", "says"),
    [
        ("assistant", "x NO_REPLY y", "holds NO_REPLY together with other text"),
        ("assistant", "NO_RE", "is NO_RE, the beginning of a token"),
        ("assistant", "NO_REPLY", None),
        ("user", "x NO_REPLY y", None),
    ],
)
def test_silence(role: str, text: str, says: str | None) -> None:
    """Only a model's words leak; a cut token is called one."""
    found = silence_finding(Words(role, text, False, None, Evidence(1, 0, 9)), "k")
    assert (found is None) is (says is None)
    if found is not None and says is not None:
        assert says in found.what
        assert found.evidence == (text,)
    assert silence_finding(None, "k") is None


def test_unreadable() -> None:
    """The reason is the system's, the evidence the path."""
    path = Path("/nowhere/s.jsonl")
    found = unreadable_finding(EnvironmentFault.of(PermissionError(13, "Permission denied"), path, "read"), path, "k")
    assert "permission denied" in found.what.lower()
    assert found.evidence == (str(path),)
