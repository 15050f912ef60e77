"""openclaw.json as bytes: what reads, what is damage, and where the damage stands."""

from __future__ import annotations

import math

import pyjson5
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from strandline.settings.document import absent_document, parse_document, unreadable_document


@pytest.mark.parametrize(
    ("data", "root"),
    [
        (b"{}", {}),
        (b"\xef\xbb\xbf{a: 1}", {"a": 1}),
        (b"// first\n{a: 1, /* second */ b: [1, 2,],}\n// last", {"a": 1, "b": [1, 2]}),
        (b"{'single': \"double\"}", {"single": "double"}),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b'{"a": "x\xff"}', {"a": "x\ufffd"}),
        (b'{"a": "x\x00y"}', {"a": "x\x00y"}),
        (b"{a: +1, b: .5, c: 1., d: 0x1F, e: -Infinity}", {"a": 1, "b": 0.5, "c": 1.0, "d": 31, "e": -math.inf}),
        (b'{"__proto__": {"x": 1}}', {"__proto__": {"x": 1}}),
        ("{á: 'a\\\nb', $x: 1, \\u0061: 2}".encode(), {"á": "ab", "$x": 1, "a": 2}),
        ('\u00a0\u3000{"a": "\u2028"}'.encode(), {"a": "\u2028"}),
        (b'{"a": "tab\there"}', {"a": "tab\there"}),
    ],
)
def test_reads_json5_as_the_real_program(data: bytes, root: dict[str, object]) -> None:
    """Byte order mark, comments, trailing commas and bytes that are no UTF-8 are no damage."""
    document = parse_document("C", data)
    assert document.damage is None
    assert document.exists
    assert document.root == root


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is empty"),
        (b" \n\t", "it is empty"),
        (b"\xef\xbb\xbf", "it is empty"),
        (b"null", "it holds a bare value, not an object"),
        (b"5", "it holds a bare value, not an object"),
        (b'"x"', "it holds a bare value, not an object"),
        (b"[{}]", "it holds a list, not an object"),
        (b'{"session":{', "the text ends too early at line 1, column 13"),
        (b"{\n  a: [1,\n", "the text ends too early at line 3, column 1"),
        (b'{a: "x', "the text ends too early at line 1, column 7"),
        (b"/* x", "the text ends too early at line 1, column 5"),
        (b"{} x", "something after the end of the object at line 1, column 4"),
        (b"{}\n// x\n  y", "something after the end of the object at line 3, column 3"),
        (b"{a: 1}}", "something after the end of the object at line 1, column 7"),
        (b"{}\x00", "something after the end of the object at line 1, column 3"),
        (b"hello\n{}", "a character that cannot stand here at line 1, column 1"),
        (b"{a: 1,\n  b: 2 c: 3}", "a character that cannot stand here at line 2, column 8"),
        (b"{a: 01}", "a character that cannot stand here at line 1, column 6"),
        (b"{a-b: 1}", "a character that cannot stand here at line 1, column 3"),
        (b"{1: 2}", "a character that cannot stand here at line 1, column 2"),
        (b"{a: 1,, b: 2}", "a character that cannot stand here at line 1, column 7"),
        (b"#", "a character that cannot stand here at line 1, column 1"),
        (b"{a: \x00}", "a character that cannot stand here at line 1, column 5"),
        ('{"😀é": 1, "b" 2}'.encode(), "a character that cannot stand here at line 1, column 15"),
        (b'{a: "x\ny"}', "a line ends inside a string at line 1, column 7"),
        (b"{a: 0x}", "a number that cannot be read at line 1, column 5"),
        (b"\xff\xfe{\x00}\x00", "a character that cannot stand here at line 1, column 1"),
        (b"{a: " + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_says_what_is_wrong_and_where(data: bytes, reason: str) -> None:
    """Damage is one sentence with file, reason and place; no setting is taken from it."""
    document = parse_document("/home/op/openclaw.json", data)
    assert document.damage is not None
    assert document.damage.startswith(f"The configuration /home/op/openclaw.json cannot be read: {reason}")
    assert document.damage.endswith("its settings are unknown, mend the file or restore it from a backup.")
    assert (document.exists, document.root, document.includes) == (True, {}, ())


def test_notes_includes_at_any_depth() -> None:
    """Names are listed as written, once each, in their order; what is no name is skipped."""
    data = (
        b'{$include: "a.json", b: [{$include: ["b.json", 5, "a.json"]}, {c: {$include: "${HOME}/c"}}], $Include: "x"}'
    )
    document = parse_document("C", data)
    assert document.includes == ("a.json", "b.json", "${HOME}/c")
    assert document.root["$include"] == "a.json"


def test_a_missing_file_is_no_damage() -> None:
    """Then every default holds; a file that is closed to us is damage with the system's own reason."""
    assert absent_document("C").damage is None
    assert not absent_document("C").exists
    closed = unreadable_document("C", "Cannot read C: permission denied.")
    assert closed.exists
    assert closed.damage == "Cannot read C: permission denied."


@given(st.binary(max_size=40) | st.text("{}[]:,'\"abn1. \n/*#$\\\ufeff\u2028", max_size=20).map(str.encode))
@example(b'{"a":' + b"9" * 5000 + b"}")
def test_any_bytes_are_an_object_or_damage(data: bytes) -> None:
    """Nothing raises, and nothing that cannot be read passes for empty."""
    document = parse_document("C", data)
    if document.damage is None:
        assert document.root == pyjson5.decode(data.decode("utf-8", "replace").removeprefix("\ufeff")) or (
            "nan" in str(document.root)
        )
    else:
        assert document.root == {}


_VALID = b'{\n  // maintenance\n  session: {maintenance: {mode: "warn", pruneAfter: "30d"}, list: [1, 2.5, null]},\n}'


@given(st.integers(0, len(_VALID) - 1))
def test_a_cut_file_is_damage(end: int) -> None:
    """Wherever the text ends before its last bracket, the file is damaged and no default is claimed to be stated."""
    assert parse_document("C", _VALID).damage is None
    document = parse_document("C", _VALID[:end])
    assert document.damage is not None
    assert document.root == {}
