"""From bytes to rows: what the real program read as nothing is damage here, and every row stands where it says."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.ecmascript import property_order
from strandline.store.normalise import Dropped, normalise_row
from strandline.store.reader import StoreContent, StoreDamage, read_store

_RECORDS: dict[str, dict[str, Any]] = {
    real["name"]: real
    for real in json.loads((Path(__file__).parents[2] / "data" / "store-raw.json").read_text("utf-8"))
}
# The real program reads every one of these as an empty store. (reason, byte)
_DAMAGED = {
    "0-byte": ("it is empty (0 bytes)", 0),
    "whitespace": ("it holds only white space", 0),
    "null": ("it holds a bare value, not an object of rows", 0),
    "array": ("it holds a list, not an object of rows", 0),
    "number": ("it holds a bare value, not an object of rows", 0),
    "string": ("it holds a bare value, not an object of rows", 0),
    "trailing garbage": ("something follows the end of the object", 39),
    "NUL padded": ("something follows the end of the object", 38),
    "cut": ("the text ends too early", 37),
    "NaN": ("NaN is no JSON", 35),
    "comments": ("expecting property name enclosed in double quotes", 1),
    "single quotes": ("expecting property name enclosed in double quotes", 1),
    "trailing comma": ("expecting property name enclosed in double quotes", 38),
    "ctrl char in string": ("invalid control character", 47),
    "UTF-16LE": ("it is UTF-16, not UTF-8", 0),
}
# Read by us although the real program takes it for empty, with a remark: the person who edited it meant its rows.
_MORE_THAN_THE_REAL_PROGRAM = {"BOM"}
# Recorded without its bytes: 20,000 levels, which V8 follows. Here that is damage (test_depth_is_damage).
_WITHOUT_BYTES = {"deep"}


def _bytes(name: str) -> bytes:
    return base64.b64decode(_RECORDS[name]["rawBase64"])


def _loaded(content: StoreContent, data: bytes) -> dict[str, Any]:
    """Return the rows as the real program would hold them after loading."""
    loaded = {}
    for (key, raw, _), row in zip(content.raw_rows, content.rows(), strict=True):
        assert row.key == key
        stored = json.loads(bytes(raw).decode("utf-8", "replace"), parse_int=float)
        normal = normalise_row(stored)
        if not isinstance(normal, Dropped):
            loaded[key] = normal
        if row.offset >= 0:
            assert data[row.offset : row.offset + row.length] == bytes(raw)
    return loaded


def _finite(value: object) -> object:
    """Write infinity as the real program does when it clones a row: null."""
    if isinstance(value, dict):
        return {key: _finite(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_finite(member) for member in value]
    return None if value in {float("inf"), float("-inf")} else value


def test_every_record_is_compared() -> None:
    """Damage, rows and exceptions are all of them, and they do not overlap."""
    readable = [name for name in _RECORDS if name not in {*_DAMAGED, *_WITHOUT_BYTES}]
    assert len(_RECORDS) == 31
    assert len(readable) == 15
    assert all(_RECORDS[name]["loaded"] == "{}" for name in {*_DAMAGED, *_MORE_THAN_THE_REAL_PROGRAM})


@pytest.mark.parametrize("name", sorted(_DAMAGED))
def test_what_the_real_program_reads_as_nothing_is_damage(name: str) -> None:
    """The reason and the byte are named, and the sentence says that nothing is gone."""
    reason, offset = _DAMAGED[name]
    with pytest.raises(StoreDamage) as damage:
        read_store("/s/sessions.json", _bytes(name))
    assert (damage.value.reason, damage.value.offset) == (reason, offset)
    sentence = str(damage.value)
    assert sentence.startswith(f"The store /s/sessions.json cannot be read: {reason}")
    assert "its sessions are unknown, not gone" in sentence
    assert offset == 0 or f" at byte {offset} (line 1, column {offset + 1})" in sentence
    assert damage.value.exit_code == 4


@pytest.mark.parametrize("name", sorted({*_RECORDS} - {*_DAMAGED, *_WITHOUT_BYTES, *_MORE_THAN_THE_REAL_PROGRAM}))
def test_reads_the_rows_that_the_real_program_reads(name: str) -> None:
    """Keys, their order and the rows after loading are those that were recorded."""
    data = _bytes(name)
    ours = _finite(_loaded(read_store("S", data), data))
    real = json.loads(_RECORDS[name]["loaded"], parse_int=float)
    assert ours == real
    assert list(ours) == list(real)


def test_a_byte_order_mark_hides_no_rows() -> None:
    """They are read, and the remark says what the real program makes of the file."""
    data = _bytes("BOM")
    content = read_store("S", data)
    assert list(_loaded(content, data)) == ["a"]
    assert content.remark == "S starts with a byte order mark; OpenClaw 2026.5 reads such a store as empty."
    assert content.raw_rows[0][2] == data.index(b'{"sessionId"')


def test_damage_behind_a_byte_order_mark_stands_where_it_says() -> None:
    """The mark's three bytes count for the byte, not for the column."""
    with pytest.raises(StoreDamage, match=r"byte 7 \(line 1, column 5\)") as damage:
        read_store("S", b'\xef\xbb\xbf{"a"?1}')
    assert damage.value.offset == 7


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b'{"a":{"label":"\xff\xff\xff"}, b}', 22),
        ('{"é😀":{}, b}'.encode(), 14),
        (b'{"\xe2\x82":{},\n b}', 11),
        (b'{"a":{},\n  "b":{}\n  x}', 20),
    ],
)
def test_the_place_counts_bytes_of_the_file(data: bytes, offset: int) -> None:
    """Characters of several bytes, and bytes that are no characters, do not move it."""
    with pytest.raises(StoreDamage) as damage:
        read_store("S", data)
    assert damage.value.offset == offset
    assert data[offset : offset + 1] in {b"b", b"x"}


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":{"x":' + b"[" * 20_000 + b"]" * 20_000 + b"}}",
        b'{"a":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
        b'{"a":{"acp":' + b"[" * 5_000 + b"]" * 5_000 + b"}}",
        b'{"\xff":{"x":' + b"[" * 20_000 + b"]" * 20_000 + b"}}",
    ],
)
def test_depth_is_damage(data: bytes) -> None:
    """No nesting crashes the reader."""
    with pytest.raises(StoreDamage, match="nested too deeply"):
        list(read_store("S", data).rows())


def test_depth_at_the_edge_reads_or_is_damage() -> None:
    """Around the depth that Python follows, a store has rows or is damaged; nothing else happens."""
    outcomes = set()
    for depth in range(50, 1400, 25):
        data = b'{"a":{"label":5,"acp":' + b"[" * depth + b"]" * depth + b'},"b":{}}'
        try:
            rows = list(read_store("S", data).rows())
        except StoreDamage:
            outcomes.add("damage")
            continue
        assert [row.key for row in rows] == ["a", "b"]
        outcomes.add("rows")
    assert outcomes == {"rows", "damage"}


def test_of_two_equal_keys_the_last_value_counts_in_the_first_place() -> None:
    """Its offset is that of the value that counts, also among values that begin alike."""
    large = b"x" * 5_000
    data = (
        b'{"a": {"label":"%s1"}, "b":{"label":"%s2"}, "\\u0061":{"label":"%s3,}\\"]"}, "c":[1,{"x":"}"}], "b":7 }'
        % (
            large,
            large,
            large,
        )
    )
    rows = list(read_store("S", data).rows())
    assert [row.key for row in rows] == ["a", "b", "c"]
    values = [json.loads(data[row.offset : row.offset + row.length]) for row in rows]
    assert values[0]["label"].endswith('3,}"]')
    assert values[1:] == [7, [1, {"x": "}"}]]
    assert [row.offset for row in rows] == [data.rindex(b'{"label":"x'), data.index(b"7 }"), data.index(b"[1,")]


def test_values_are_not_found_in_keys() -> None:
    """A key that reads like its value does not move the offset."""
    data = b'{"1":1,"null":null,"a{}b":{},"\\"x\\":5":5,"[]":[]}'
    for row in read_store("S", data).rows():
        assert data[row.offset - 1 : row.offset] == b":"
        assert json.dumps(json.loads(data)[row.key]).encode() == data[row.offset : row.offset + row.length]


def test_a_row_of_a_megabyte_is_one_row() -> None:
    """Size does not matter to order, offset or length."""
    rows = {"small": {}, "large": {"label": "ä" * 500_000, "sessionId": "s1"}, "after": {"sessionId": "s2"}}
    data = json.dumps(rows, indent=2, ensure_ascii=False).encode()
    found = list(read_store("S", data).rows())
    assert [row.key for row in found] == list(rows)
    assert found[1].length > 1_000_000
    assert found[1].read is not None
    assert found[1].read.entry.session_id == "s1"
    for row in found:
        assert json.loads(data[row.offset : row.offset + row.length]) == rows[row.key]


def test_rows_that_are_no_objects_are_still_shown() -> None:
    """The real program drops them; here they are rows without an entry."""
    rows = list(read_store("S", b'{"a":1,"b":null,"c":[],"d":"x","e":{}}').rows())
    assert [row.key for row in rows] == ["a", "b", "c", "d", "e"]
    assert [row.read is None for row in rows] == [True, True, True, True, False]


def test_rows_can_be_read_again() -> None:
    """Nothing is used up by reading."""
    content = read_store("S", b'{"a":{"label":"x"}}')
    assert [row.key for row in content.rows()] == [row.key for row in content.rows()] == ["a"]


def test_an_empty_object_is_an_empty_store() -> None:
    """That is the one text that says that there are no sessions."""
    for data in (b"{}", b" {\n} \r\n"):
        content = read_store("S", data)
        assert (content.raw_rows, content.remark) == ((), None)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
_KEYS = st.text(max_size=8) | st.integers(0, 50).map(str) | st.sampled_from(['"', "\\", "{}", "agent:main:main", ":"])
_STORES = st.dictionaries(
    _KEYS, st.dictionaries(st.sampled_from(["sessionId", "label", "acp", "x"]), _JSON, max_size=3) | _JSON, max_size=5
)
_STYLES = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 0, 2, "\t"]),
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from([None, (",", ":"), (" , ", " : ")]),
    }
)


def _written(store: object, style: dict[str, Any]) -> bytes:
    return json.dumps(store, **style).encode("utf-8", "surrogatepass")


@given(_STORES, _STYLES, st.sampled_from([b"", b"\xef\xbb\xbf"]))
def test_every_row_stands_where_it_says(store: dict[str, Any], style: dict[str, Any], mark: bytes) -> None:
    """In any style of writing, the rows are those that were written, in the real program's order, at their bytes."""
    data = mark + _written(store, style)
    rows = list(read_store("S", data).rows())
    assert [row.key for row in rows] == property_order(store)
    for row in rows:
        assert (row.read is None) is not isinstance(store[row.key], dict)
        if row.offset >= 0:
            assert json.loads(data[row.offset : row.offset + row.length]) == store[row.key]


@given(st.lists(st.tuples(_KEYS, _JSON), max_size=6), _STYLES)
def test_every_row_stands_where_it_says_with_doubles_too(members: list[tuple[str, Any]], style: dict[str, Any]) -> None:
    """Keys that are there twice give one row, with the last value and its bytes."""
    inside = b",".join(_written(key, style) + b" :\n" + _written(value, style) for key, value in members)
    data = b"{" + inside + b"}"
    rows = list(read_store("S", data).rows())
    assert [row.key for row in rows] == property_order(dict(members))
    for row in rows:
        if row.offset >= 0:
            assert json.loads(data[row.offset : row.offset + row.length]) == dict(members)[row.key]


@given(_STORES, _STYLES, st.floats(0, 1, exclude_max=True))
def test_a_cut_store_is_damage(store: dict[str, Any], style: dict[str, Any], share: float) -> None:
    """Wherever a store is cut, there is a reason and a place, and never a part of the rows."""
    data = _written(store, style)
    cut = data[: int(len(data) * share)]
    with pytest.raises(StoreDamage) as damage:
        read_store("S", cut)
    assert damage.value.reason
    assert damage.value.offset is not None
    assert 0 <= damage.value.offset <= len(cut)


@given(st.binary(max_size=30) | st.text('{}[]:,"ab\\u1e9-. \n\ufeffN', max_size=20).map(str.encode))
def test_any_bytes_are_rows_or_damage(data: bytes) -> None:
    """Nothing else is raised, and rows are only read where Python reads an object too."""
    try:
        rows = list(read_store("S", data).rows())
    except StoreDamage:
        return
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    assert [row.key for row in rows] == property_order(json.loads(text))
