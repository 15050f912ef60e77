"""The recipe of the sample state: data of ``strandline_resources``, read into records that say what each part means."""

from __future__ import annotations

import random
import re
import uuid
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

MINUTE = 60_000
DAY = 1_440 * MINUTE

_AGE = re.compile(r"(\d+)([smhd])", re.ASCII)
_UNITS = {"s": 1_000, "m": MINUTE, "h": 60 * MINUTE, "d": DAY}
_NAMED = re.compile(r"\{(uuid|id)(?:\.([\w-]+))?\}", re.ASCII)


class Number(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A slot that is filled with a number: an integer of a range, divided by ``scale``, written by ``form``."""

    low: int
    high: int
    scale: int
    form: str


class Tool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool call and what it answers: a head, then some rows of the same form."""

    name: str
    arguments: dict[str, str]
    head: str
    row: str = ""
    rows: int = 0
    failed: bool = False
    image: bool = False


class Exchange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question, the thoughts and tool calls it causes, and the reply."""

    user: str
    reply: str
    thinking: str = ""
    tools: tuple[str, ...] = ()


class Theme(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Exchanges that follow one another about one matter, and what a summary keeps of them."""

    decisions: tuple[str, ...]
    todos: tuple[str, ...]
    exchanges: tuple[Exchange, ...]


class Talk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that is said in the sample."""

    slots: dict[str, tuple[str, ...] | Number]
    labels: tuple[str, ...]
    titles: tuple[str, ...]
    retries: tuple[str, ...]
    rules: tuple[str, ...]
    abandoned: str
    notes: tuple[str, ...]
    asides: tuple[str, ...]
    tools: dict[str, Tool]
    themes: dict[str, Theme]


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model, its window in tokens, and its price in dollars for a million tokens of prompt."""

    provider: str
    id: str
    api: str
    window: int
    price: float


class Via(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The channel a session is reached through."""

    channel: str
    to: str
    thread: str | int | None = None


class Loose(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An earlier conversation of the same key: a transcript that no row names, or an archive of one."""

    age: str
    turns: int
    reason: Literal["", "reset", "deleted", "bak"] = ""


class SessionPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One session.

    Attributes:
        key: its key; ``{id}`` is its own session id, ``{uuid.NAME}`` an id that other parts name too.
        name: name of the chat on its channel.
        label: label that an operator or the program gave it.
        chat: ``chatType``; a group's lines carry the name of whoever wrote them.
        themes: what is talked about, in turn.
        opening: the first line, where the theme's own would not do.
        solo: nobody answers: after the first line only the agent works.
        age: how long ago the last record was written.
        span: how long it took from the first record to the last.
        model: a name among the recipe's models.
        turns: exchanges, where ``fill`` is 0.
        fill: how full the context is at the end, from 0 to 1.
        compactions: how often it was compacted on the way.
        checkpoints: whether copies from before each compaction are kept.
        marks: odd records between the exchanges, one every ``marks_every`` exchanges.
        tokens: what the row's counters are worth.
        status: ``status`` of a sub-agent's run.
        file: where the transcript lies: under its own name, under a topic's name, under a path of another machine,
            nowhere although the row promises it, or nowhere and the row has no session id either.
        damage: whether the transcript has a glued line, a run of NUL bytes and a torn last line.
        lock: whether a process that is gone left its lock.
        trajectory: whether a runtime trace lies beside it, with or without a pointer to it.
        earlier: earlier conversations without a row.
        archives: earlier conversations that were put aside.
        acp: ``acp`` of the row, but for its time.
        row: further fields of the row, as they are.
    """

    key: str
    name: str = ""
    label: str = ""
    chat: Literal["direct", "group", "channel"] = "direct"
    themes: tuple[str, ...] = ()
    opening: str = ""
    solo: bool = False
    age: str = "1h"
    span: str = "1h"
    model: str = "opus"
    turns: int = 1
    fill: float = 0
    compactions: int = 0
    checkpoints: bool = False
    marks: tuple[str, ...] = ()
    marks_every: int = 1
    tokens: Literal["fresh", "stale", "absent", "none"] = "fresh"
    status: Literal["", "running", "done", "failed", "killed", "timeout"] = ""
    spawned_by: str = ""
    file: Literal["own", "topic", "moved", "missing", "none"] = "own"
    damage: bool = False
    lock: bool = False
    trajectory: Literal["", "file", "pointer"] = ""
    via: Via | None = None
    earlier: tuple[Loose, ...] = ()
    archives: tuple[Loose, ...] = ()
    acp: dict[str, str] | None = None
    row: dict[str, str | int | bool] = {}


class JobPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cron job with its run log; ``fails`` counts back from the newest run, ``sessions`` begins its run keys."""

    id: str
    agent: str
    name: str
    expr: str
    every: str
    age: str
    runs: int
    fails: tuple[int, ...]
    message: str
    sessions: str
    to: str


class DamagedPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The second sample: some of the sessions, and what became of each agent's store."""

    stores: dict[str, Literal["whole", "cut", "empty"]]
    sessions: tuple[str, ...]


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole recipe; ``version`` grows with every change of it, so that built samples are rebuilt."""

    version: int
    seed: str
    config: tuple[str, ...]
    workspace: str
    image: str
    models: dict[str, Model]
    skills: dict[str, str]
    files: dict[str, int]
    sessions: tuple[SessionPlan, ...]
    jobs: tuple[JobPlan, ...]
    extras: dict[str, tuple[str, ...]]
    damaged: DamagedPlan

    def dice(self, name: str) -> random.Random:
        """Return dice that fall the same way for the same ``name``, whatever was built before."""
        return random.Random(f"{self.seed}/{name}")  # noqa: S311 - repeatable on purpose, nothing is secret here

    def uuid_of(self, name: str) -> str:
        """Return the id that belongs to ``name``."""
        return str(uuid.UUID(int=self.dice(name).getrandbits(128), version=4))

    def session_id(self, plan: SessionPlan) -> str:
        """Return the session id of a planned session."""
        return self.uuid_of(f"session {plan.key}")

    def resolve(self, text: str, own_id: str = "") -> str:
        """Put ids in the place of ``{id}`` and ``{uuid.NAME}``."""
        return _NAMED.sub(lambda found: own_id if found[1] == "id" else self.uuid_of(str(found[2])), text)

    def key_of(self, plan: SessionPlan) -> str:
        """Return the key under which a planned session stands in its store."""
        return self.resolve(plan.key, self.session_id(plan))


@cache
def recipe() -> Recipe:
    """Return the recipe, read once."""
    return msgspec.json.decode(_data("harbour.json"), type=Recipe)


@cache
def talk() -> Talk:
    """Return what is said in the sample, read once."""
    return msgspec.json.decode(_data("harbour-talk.json"), type=Talk)


def milliseconds(age: str) -> int:
    """Return how long ``age`` is: ``18s``, ``90m``, ``3h``, ``12d``."""
    match = _AGE.fullmatch(age)
    if match is None:
        raise ValueError(f"{age!r} is not a duration of the recipe")
    return int(match[1]) * _UNITS[match[2]]


def _data(name: str) -> bytes:
    return resources.files("strandline_resources").joinpath("samples", name).read_bytes()
