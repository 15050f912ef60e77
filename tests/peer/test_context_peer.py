"""Our contexts and trees beside those of the real session manager, on transcripts made up from a seed.

Needs ``STRANDLINE_PEER_NODE`` (a node that runs it) and ``STRANDLINE_PEER_OPENCLAW_5`` (the ``openclaw.mjs`` of
2026.5.22, beside whose dependencies the session manager stands). One node process opens copies of all files.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest

import golden
from strandline.context.build import build_context
from strandline.context.convert import convert_messages
from strandline.transcript.whole_file import WholeFile, read_transcript
from strandline.transcript_answers import context_answer, tree_answer

if TYPE_CHECKING:
    from collections.abc import Callable

NODE = os.environ.get("STRANDLINE_PEER_NODE")
OPENCLAW = os.environ.get("STRANDLINE_PEER_OPENCLAW_5")

pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(
        not (NODE and OPENCLAW),
        reason="STRANDLINE_PEER_NODE and STRANDLINE_PEER_OPENCLAW_5 name no real OpenClaw 2026.5",
    ),
]

SECONDS = 60
SEEDS = range(1, 201)
RUNNER = Path(__file__).with_name("context_peer.mjs")

_HEADER_ID = "11111111-1111-4111-8111-111111111111"
_TREE_VERSION = 2
_CURRENT_VERSION = 3
_LATER_VERSION = 4
_LARGEST_INDEX = 2**32 - 2
_LONG = "x" * 500
_TEXTS = (
    "hello",
    "naïve ünïcode 日本語",
    "\U0001f389\U0001f389 party",
    "",
    "  padded ",
    "a\nb\tc",
    _LONG,
    "\u2028sep\u0085",
    'quote " and \\ slash',
    '{"type":"message"}',
    "half a pair \ud83d",
    "nul \u0000 inside",
)
_NUMBERS = (0, 1, 5, 1.5, 1e21, 1e-7, -3, 12345678901234567890, 0.1)


class Made(NamedTuple):
    """A transcript to make.

    Attributes:
        data: the file.
        version: what its header says; ``None`` when the header says nothing.
        headerless: whether the real program loads nothing, as the first record is no header with an id.
        twins: whether an id stands twice.
    """

    data: bytes
    version: int | None
    headerless: bool
    twins: bool


class Entries:
    """Makes up the entries of one transcript."""

    def __init__(self, chance: random.Random, version: int) -> None:
        self.chance = chance
        self.linear = version < _TREE_VERSION
        self.made: list[dict[str, Any]] = []
        self.twins = False

    @property
    def ids(self) -> list[str]:
        """Ids so far."""
        return [entry["id"] for entry in self.made]

    def add(self) -> None:
        """Make up the next entry."""
        chance, number = self.chance, len(self.made) + 1
        base = {"id": self._id(number), "parentId": self._parent(), "timestamp": self._time(number)}
        if self.made and not self.linear and chance.random() < 0.003:
            # A twin beside the first one: any other parent may lead into a loop, which hangs the real program.
            twin = chance.choice(self.made)
            base |= {"id": twin["id"], "parentId": twin["parentId"]}
            self.twins = True
        maker = chance.choice(_MAKERS)
        self.made.append(maker(self, base, number))

    def records(self) -> list[dict[str, Any]]:
        """Return the entries as their version writes them."""
        if not self.linear:
            return self.made
        # Ids that stand in an older file are given out anew all the same.
        with_ids = self.chance.random() < 0.2
        for number, entry in enumerate(self.made):
            if not with_ids:
                del entry["id"], entry["parentId"]
            if entry["type"] == "compaction":
                del entry["firstKeptEntryId"]
                entry["firstKeptEntryIndex"] = self.chance.choice([*range(number + 4), number, 1.5, -1, "1"])
        return self.made

    def _id(self, number: int) -> str:
        if self.chance.random() < 0.1:
            return f"{number:08x}-aaaa-4000-8000-{number:012d}"
        return f"{self.chance.getrandbits(32):08x}"

    def _parent(self) -> str | None:
        if self.chance.random() < 0.03:
            return "missing"
        ids = self.ids
        return self.chance.choice([ids[-1]] * 8 + [*ids, None]) if ids else None

    def _time(self, number: int) -> Any:
        chance = self.chance
        usual = f"2026-05-20T10:{number % 60:02d}:{chance.randrange(60):02d}.{chance.randrange(1000):03d}Z"
        odd = ["2026-05-20T10:00:00+02:00", "2026-05-20", 1_779_271_200_000]
        # Without a time for each, the order of siblings is nobody's; older files have none.
        return chance.choice([usual] * 30 + odd + (["never", ""] if self.linear else []))

    def _text(self) -> str:
        return self.chance.choice(_TEXTS)

    def _blocks(self, *kinds: str) -> list[dict[str, Any]]:
        chance = self.chance
        made = {
            "text": lambda: {"type": "text", "text": self._text()},
            "thinking": lambda: {"type": "thinking", "thinking": self._text(), "thinkingSignature": "c2ln"},
            "toolCall": lambda: {"type": "toolCall", "id": "t", "name": "bash", "arguments": self._arguments()},
            "image": lambda: {"type": "image", "data": "QUJD", "mimeType": "image/png"},
        }
        return [made[chance.choice(kinds)]() for _ in range(chance.randrange(4))]

    def _arguments(self) -> dict[str, Any]:
        numbers = self.chance.choices(_NUMBERS, k=2)
        return {"c": self._text(), "n": numbers[0], "l": [numbers[1], None, True], "2": 1, "1": {}, "01": {}}

    def _content(self) -> Any:
        return self.chance.choice([self._text(), self._blocks("text", "image")])

    def _message(self, base: dict[str, Any], number: int, role: str, **fields: Any) -> dict[str, Any]:
        return {"type": "message", **base, "message": {"role": role, **fields, "timestamp": number}}

    def user(self, base: dict[str, Any], number: int) -> dict[str, Any]:
        """Somebody asks."""
        return self._message(base, number, "user", content=self._content())

    def assistant(self, base: dict[str, Any], number: int) -> dict[str, Any]:
        """The model answers."""
        chance = self.chance
        entry = self._message(
            base,
            number,
            "assistant",
            content=self._blocks("text", "thinking", "toolCall"),
            api="x",
            provider=chance.choice(["p", "q"]),
            model="m",
            usage={
                "input": chance.randrange(100),
                "output": chance.randrange(100),
                "cacheRead": chance.randrange(100),
                "cacheWrite": 0,
                "totalTokens": chance.choice([0, 0, 120, 999]),
                "cost": {"total": 0.5},
            },
            stopReason=chance.choice(["stop", "toolUse", "aborted", "error"]),
        )
        if chance.random() < 0.1:
            del entry["message"]["usage"]
        return entry

    def tool_result(self, base: dict[str, Any], number: int) -> dict[str, Any]:
        """A tool answers."""
        fields = {"toolCallId": "t", "toolName": "bash", "details": {"exitCode": 0}, "isError": False}
        return self._message(base, number, "toolResult", content=self._blocks("text", "image"), **fields)

    def command(self, base: dict[str, Any], number: int) -> dict[str, Any]:
        """Somebody runs a command."""
        fields = {"command": self._text(), "output": self._text(), "exitCode": 0}
        if self.chance.random() < 0.3:
            fields["excludeFromContext"] = True
        return self._message(base, number, "bashExecution", **fields, cancelled=False, truncated=False)

    def custom(self, base: dict[str, Any], number: int) -> dict[str, Any]:
        """A program speaks, under its name of today or of versions 1 and 2."""
        role = self.chance.choice(["custom", "hookMessage"])
        return self._message(base, number, role, customType="c", content=self._content(), display=True)

    def custom_message(self, base: dict[str, Any], _number: int) -> dict[str, Any]:
        """A program speaks in an entry of its own."""
        shown = self.chance.random() < 0.5
        entry = {"type": "custom_message", "customType": "n", "content": self._content(), "display": shown, **base}
        return {**entry, "details": {"k": 1.0}} if self.chance.random() < 0.5 else entry

    def thinking(self, base: dict[str, Any], _number: int) -> dict[str, Any]:
        """The thinking level changes."""
        return {
            "type": "thinking_level_change",
            **base,
            "thinkingLevel": self.chance.choice(["low", "high", "off"]),
        }

    def model(self, base: dict[str, Any], _number: int) -> dict[str, Any]:
        """The model changes."""
        return {"type": "model_change", **base, "provider": "z", "modelId": self.chance.choice(["a", "b"])}

    def compaction(self, base: dict[str, Any], number: int) -> dict[str, Any]:
        """What came before becomes a summary."""
        first = self.chance.choice([*self.ids[-6:], "nope", base["id"]])
        kept = {"firstKeptEntryId": first, "tokensBefore": number, "details": {}}
        return {"type": "compaction", **base, "summary": self._text(), **kept}

    def branch_summary(self, base: dict[str, Any], _number: int) -> dict[str, Any]:
        """A branch that was left becomes a summary."""
        left = self.chance.choice([*self.ids, "root"])
        return {"type": "branch_summary", **base, "fromId": left, "summary": self._text(), "details": {}}

    def data(self, base: dict[str, Any], number: int) -> dict[str, Any]:
        """A program keeps something."""
        return {"type": "custom", "customType": "openclaw.cache-ttl", "data": {"timestamp": number}, **base}

    def label(self, base: dict[str, Any], _number: int) -> dict[str, Any]:
        """An entry is named, or its name is taken away."""
        named = [entry["targetId"] for entry in self.made if entry["type"] == "label"]
        entry = {"type": "label", **base, "targetId": self.chance.choice([*self.ids, "x", *named * 10])}
        return {**entry, "label": self._text()} if self.chance.random() < 0.7 else entry

    def name(self, base: dict[str, Any], _number: int) -> dict[str, Any]:
        """The session is named."""
        return {"type": "session_info", **base, "name": self.chance.choice(["  Name ", "", self._text()])}

    def future(self, base: dict[str, Any], _number: int) -> dict[str, Any]:
        """Something that no version knows."""
        return {"type": "future_thing", **base, "x": self.chance.choice(_NUMBERS)}


_MAKERS: tuple[Callable[[Entries, dict[str, Any], int], dict[str, Any]], ...] = (
    *[Entries.user] * 4,
    *[Entries.assistant] * 5,
    *[Entries.tool_result] * 3,
    *[Entries.custom] * 2,
    *[Entries.label] * 2,
    Entries.command,
    Entries.custom_message,
    Entries.thinking,
    Entries.model,
    Entries.compaction,
    Entries.branch_summary,
    Entries.data,
    Entries.name,
    Entries.future,
)


def make(seed: int) -> Made:
    """Make up a transcript from a seed."""
    chance = random.Random(seed)
    version = chance.choice([3, 3, 3, 3, 2, 2, 1, 1, _LATER_VERSION, None])
    entries = Entries(chance, version or 1)
    for _ in range(chance.randrange(1, 40)):
        entries.add()
    header = {"type": "session", "version": version, "id": _HEADER_ID, "timestamp": "2026-05-20T10:00:00Z", "cwd": "/w"}
    if version is None:
        del header["version"]
    headerless = chance.random() < 0.05
    if headerless:
        header["id"] = 5
    head = [] if headerless and chance.random() < 0.5 else [_line(chance, header)]
    lines = [_line(chance, record) for record in entries.records()]
    salvaged = chance.random() < 0.15
    body = _damaged(chance, lines, salvaged=salvaged)
    ends = [b"\n", b"", b"\n\n", b'\n{"type":"mess']
    data = b"\n".join([*head, *body]) + chance.choice(ends)
    if chance.random() < 0.05:
        data = b"\xef\xbb\xbf" + data
    if chance.random() < 0.1:
        data = data.replace(b"\n", b"\r\n")
    if chance.random() < 0.1:
        data = data.replace(b"x" * 20, b"\xff\xe2\x82xxx")
    return Made(data, version, headerless, entries.twins)


def _line(chance: random.Random, record: dict[str, Any]) -> bytes:
    separators = chance.choice([(",", ":"), (", ", ": ")])
    # Half a pair that is not written as an escape becomes bytes that are no UTF-8.
    text = json.dumps(record, ensure_ascii=chance.random() < 0.3, separators=separators)
    return text.encode("utf-8", "surrogatepass")


def _damaged(chance: random.Random, lines: list[bytes], *, salvaged: bool) -> list[bytes]:
    """Put damage between lines, and where ``salvaged`` on them, so that the real program loses the records."""
    found: list[bytes] = []
    for line in lines:
        found.append(line)
        if salvaged and chance.random() < 0.1:
            broken = chance.choice([line + line[: len(line) // 2], b"\0" * 9 + line, line[:-1] + b',"raw":"a\tb"}'])
            found[-1] = broken
        if chance.random() < 0.06:
            found.append(chance.choice([b"", b"{not json", b"\0" * 9, line[: len(line) // 2], b"  \r"]))
    return found


class Asked(NamedTuple):
    """The files, and what the real program answered to each."""

    folder: Path
    answers: dict[str, Any]

    def of(self, seed: int) -> tuple[Path, dict[str, Any], WholeFile]:
        """Return a file, its answer with the ids that we give out, and our reading."""
        path = self.folder / f"{seed}.jsonl"
        index = read_transcript(path)
        real = self.answers[path.name]
        if index.version < _TREE_VERSION and len(real["ids"]) == len(index):
            real = golden.renamed(real, dict(zip(real["ids"], index.ids, strict=True)))
        return path, real, index


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """Ask the real session manager about copies of all files in one process."""
    folder, copies = tmp_path_factory.mktemp("files"), tmp_path_factory.mktemp("copies")
    for seed in SEEDS:
        (folder / f"{seed}.jsonl").write_bytes(make(seed).data)
    answers = copies / "answers.json"
    variables = {"HOME": str(copies), "PATH": f"{Path(str(NODE)).parent}:/usr/bin:/bin", "TMPDIR": str(copies)}
    words = [str(NODE), str(RUNNER), str(OPENCLAW), str(folder), str(answers)]
    done = subprocess.run(words, env=variables, cwd=copies, capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, (done.stderr[-2000:], done.stdout[-500:])
    return Asked(folder, json.loads(answers.read_bytes()))


def _as_parsed(value: Any) -> Any:
    """Return JSON as the real program holds it: every number a double, keys that are indices first, in their order."""
    if isinstance(value, dict):
        fields = sorted(value.items(), key=lambda field: (0, int(field[0])) if _is_index(field[0]) else (1, 0))
        return {name: _as_parsed(inner) for name, inner in fields}
    if isinstance(value, list):
        return [_as_parsed(inner) for inner in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _is_index(name: str) -> bool:
    return name.isascii() and name.isdigit() and str(int(name)) == name and int(name) <= _LARGEST_INDEX


def _same_text(ours: Any, real: Any) -> None:
    assert json.dumps(_as_parsed(ours)) == json.dumps(_as_parsed(real))


def _our_context(path: Path, at: str | None) -> dict[str, Any]:
    answer = context_answer(path, at)
    return {
        "messages": [json.loads(bytes(message)) for message in answer.messages],
        "thinkingLevel": answer.thinking_level,
        "model": msgspec.to_builtins(answer.model),
        "contextTokens": msgspec.to_builtins(answer.context_tokens),
        "perMessageTokens": list(answer.per_message_tokens),
        "sentRoles": [sent.role for sent in convert_messages(build_context(read_transcript(path), at).messages)],
    }


def _read_whole(index: WholeFile) -> bool:
    return index.all_read_by_openclaw(range(len(index)))


@pytest.mark.parametrize("seed", SEEDS)
def test_context_equals_the_real_one(seed: int, asked: Asked) -> None:
    """Messages with keys in order, thinking level, model, estimates and roles sent are the real ones at the leaf."""
    path, real, index = asked.of(seed)
    if make(seed).headerless:
        assert real["ids"] == []
        assert not index.read_by_openclaw
        return
    if build_context(index).read_by_openclaw:
        _same_text(_our_context(path, None), real["context"])


@pytest.mark.parametrize("seed", SEEDS)
def test_context_at_an_entry_equals_the_real_one(seed: int, asked: Asked) -> None:
    """Looked at from an entry in the middle, everything that makes up a context is the real one."""
    path, real, index = asked.of(seed)
    at = real.get("at")
    if at in index.ids and build_context(index, at).read_by_openclaw:
        _same_text(_our_context(path, at), real["contextAt"])


@pytest.mark.parametrize("seed", SEEDS)
def test_tree_equals_the_real_one(seed: int, asked: Asked) -> None:
    """Depths, order, types, labels, branch, leaf, name and header are the real ones where it reads every record."""
    path, real, index = asked.of(seed)
    if not _read_whole(index):
        return
    answer = tree_answer(path)
    ours: dict[str, Any] = {
        "leafId": answer.leaf_id,
        "sessionId": answer.session_id,
        "sessionName": answer.session_name,
        "header": None if answer.header is None else json.loads(bytes(answer.header)),
        "entryCount": answer.entry_count,
        "branchIds": list(answer.branch_ids),
        "treeFlat": [list(row) for row in answer.tree_flat],
    }
    if index.version < _CURRENT_VERSION:
        ours["header"] = golden.migrated_header(ours["header"])
    if make(seed).twins:
        # The real program shows the last record of an id in the place of each; we show each record once.
        assert len(ours.pop("treeFlat")) == len(index)
        real = {**real, "tree": {name: value for name, value in real["tree"].items() if name != "treeFlat"}}
    _same_text(ours, real["tree"])


def test_most_files_are_compared_in_full(asked: Asked) -> None:
    """The real program reads most files in full; of some it loses records, of those without a header everything."""
    indexes = {seed: asked.of(seed)[2] for seed in SEEDS}
    whole = [seed for seed, index in indexes.items() if _read_whole(index)]
    assert len(whole) >= 0.8 * len(SEEDS)
    salvaged = [seed for seed, index in indexes.items() if index.read_by_openclaw and not _read_whole(index)]
    assert len(salvaged) >= 5
    contexts = [seed for seed, index in indexes.items() if build_context(index).read_by_openclaw]
    assert set(whole) <= set(contexts)
    headerless = [seed for seed in SEEDS if make(seed).headerless]
    assert headerless == [seed for seed, index in indexes.items() if not index.read_by_openclaw]
    assert headerless
    assert {make(seed).version for seed in whole} == {None, 1, 2, 3, _LATER_VERSION}
    assert any(make(seed).twins for seed in whole)
