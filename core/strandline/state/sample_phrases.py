"""The words and figures of the sample's conversations: slots, tool output, usage, times."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from strandline.state.sample_recipe import Number

if TYPE_CHECKING:
    import random

    from strandline.state.sample_recipe import Talk

_POOL = 89  # tool output is cut from so many rows per tool: formatting each row anew would take most of the time
_SENTENCE = re.compile(r"(?:^|(?<=[.!?] )|(?<=\n))[a-z]")


class Usage(msgspec.Struct, frozen=True):
    """What the last call reported."""

    prompt: int = 0
    fresh: int = 0
    cached: int = 0
    output: int = 0


class Slots(dict[str, str]):
    """Words for the slots of a text; a slot keeps its word for as long as the object lives."""

    def __init__(self, talk: Talk, dice: random.Random) -> None:
        super().__init__()
        self._talk = talk
        self._dice = dice

    def __missing__(self, name: str) -> str:
        slot = (
            self._talk.slots.get(name) or self._talk.slots[name.rstrip("2")]
        )  # {hour2} is a second hour beside {hour}
        if isinstance(slot, Number):
            word = slot.form.format(self._dice.randint(slot.low, slot.high) / slot.scale)
        else:
            word = self._dice.choice(slot)
        self[name] = word
        return word


class Phrases:
    """Fills the texts of the recipe, for all conversations of one build."""

    def __init__(self, talk: Talk, dice: random.Random) -> None:
        self.talk = talk
        self._dice = dice
        self._rows: dict[str, list[str]] = {}

    def slots(self, dice: random.Random) -> Slots:
        """Return fresh slots."""
        return Slots(self.talk, dice)

    def output(self, name: str, slots: Slots, dice: random.Random) -> str:
        """Return what a tool prints: its head in the words of the moment, its rows from the pool."""
        tool = self.talk.tools[name]
        head = tool.head.format_map(slots)
        if not tool.rows:
            return head
        pool = self._rows.get(name)
        if pool is None:
            pool = [tool.row.format_map(Slots(self.talk, self._dice)) for _ in range(_POOL)]
            self._rows[name] = pool
        length = max(2, tool.rows * dice.randint(10, 22) // 10)
        start, step = dice.randrange(_POOL), dice.choice((1, 2, 3, 5))
        return head + "".join(pool[(start + i * step) % _POOL] for i in range(length))


def iso(ms: int) -> str:
    """Write a time as the real program does."""
    return datetime.fromtimestamp(ms / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1_000:03d}Z"


def dollars_of(usage: Usage, price: float) -> tuple[float, float, float, float]:
    """Return what a call cost: input, output, cache read, cache write."""
    return usage.fresh * price / 1e6, usage.output * price * 5e-6, usage.cached * price / 1e7, 0.0


def usage_field(usage: Usage, price: float) -> dict[str, object]:
    """Write usage as the messages of the real program carry it."""
    dollars = dollars_of(usage, price)
    names = ("input", "output", "cacheRead", "cacheWrite")
    cost = {name: round(value, 6) for name, value in zip(names, dollars, strict=True)}
    cost["total"] = round(sum(dollars), 6)
    counts = {"input": usage.fresh, "output": usage.output, "cacheRead": usage.cached, "cacheWrite": 0}
    return {**counts, "totalTokens": usage.prompt + usage.output, "cost": cost}


def tokens_of(text: str) -> int:
    """Estimate the tokens of a text."""
    return -(-len(text) // 4)


def sentences(text: str) -> str:
    """Begin each sentence with a capital: a slot's word may stand first."""
    return _SENTENCE.sub(lambda found: found[0].upper(), text)
