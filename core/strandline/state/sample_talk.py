"""One conversation of the sample: exchanges of the recipe strung together into the records of a transcript.

The records are made first and dated last, so that a conversation begins and ends when the recipe says, whatever its
length turned out to be. Tokens are counted as the real program estimates them (spec 2026.5 §7), so the usage of each
call, the compactions and the row's counters agree with one another and with the text.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING

import msgspec

from strandline.state.sample_recipe import Number

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from strandline.state.sample_recipe import Exchange, Model, Recipe, SessionPlan, Talk, Theme, Tool

_PROMPT_SHARE = 0.17  # what the system prompt and the tool schemas take of the window before anybody speaks
_RESERVE = 12_000  # reserveTokensFloor of the sample's configuration and the fixed 4,000 in front of it
_KEEP = 6_000  # keepRecentTokens of the sample's configuration
_IMAGE_TOKENS = 1_200
_POOL = 89  # tool output is cut from so many rows per tool: formatting each row anew would take most of the time
_SENTENCE = re.compile(r"(?:^|(?<=[.!?] )|(?<=\n))[a-z]")

Records = list[dict[str, object]]


class Compaction(msgspec.Struct, frozen=True):
    """A compaction on the way: ``index`` is its record's place, so the records before it are the checkpoint."""

    index: int
    entry_id: str
    leaf_id: str
    first_kept: str
    summary: str
    before: int
    after: int


class Usage(msgspec.Struct, frozen=True):
    """What the last call reported."""

    prompt: int = 0
    fresh: int = 0
    cached: int = 0
    output: int = 0


class _Slots(dict[str, str]):
    """Words for the slots of a text; a slot keeps its word for as long as the object lives."""

    def __init__(self, talk: Talk, dice: random.Random) -> None:
        super().__init__()
        self._talk = talk
        self._dice = dice

    def __missing__(self, name: str) -> str:
        slot = self._talk.slots[name]
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

    def slots(self, dice: random.Random) -> _Slots:
        """Return fresh slots."""
        return _Slots(self.talk, dice)

    def output(self, name: str, slots: _Slots, dice: random.Random) -> str:
        """Return what a tool prints: its head in the words of the moment, its rows from the pool."""
        tool = self.talk.tools[name]
        head = tool.head.format_map(slots)
        if not tool.rows:
            return head
        pool = self._rows.get(name)
        if pool is None:
            pool = [tool.row.format_map(_Slots(self.talk, self._dice)) for _ in range(_POOL)]
            self._rows[name] = pool
        length = max(2, tool.rows * dice.randint(6, 13) // 10)
        start, step = dice.randrange(_POOL), dice.choice((1, 2, 3, 5))
        return head + "".join(pool[(start + i * step) % _POOL] for i in range(length))


class Conversation:
    """Writes the records of one conversation.

    Attributes:
        records: the header and every entry, in the order of the file.
        compactions: the compactions among them.
        usage: usage of the last call.
        end_ms: time of the last record.
    """

    def __init__(
        self, recipe: Recipe, phrases: Phrases, plan: SessionPlan, session_id: str, *, start_ms: int, end_ms: int
    ) -> None:
        self.records: Records = []
        self.compactions: list[Compaction] = []
        self.usage = Usage()
        self.end_ms = end_ms
        self._recipe = recipe
        self._phrases = phrases
        self._plan = plan
        self._dice = recipe.dice(session_id)
        self._model: Model = recipe.models[plan.model]
        self._base = int(self._model.window * _PROMPT_SHARE)
        self._tokens = self._base
        self._known = 0
        self._leaf: str | None = None
        self._path: list[tuple[str, int, bool]] = []  # entry, its tokens, whether a compaction may begin there
        self._gaps: list[float] = []
        self._visited: list[tuple[Theme, _Slots]] = []
        self._ask = ""
        self._done = 0
        header = {"type": "session", "version": 3, "id": session_id, "timestamp": None, "cwd": recipe.workspace}
        self.records.append(header)
        self._gaps.append(0)
        self._entry("model_change", provider=self._model.provider, modelId=self._model.id)
        self._entry("thinking_level_change", thinkingLevel=plan.row.get("thinkingLevel", "low"))
        self._run()
        self._date(start_ms, end_ms)

    def _run(self) -> None:
        marks = iter(self._plan.marks)
        for theme, exchange, slots in self._exchanges():
            if len(self.compactions) < self._plan.compactions and self._tokens >= self._model.window - _RESERVE:
                self._compact()
            before = self._leaf, self._tokens, len(self._path)
            self._exchange(exchange, slots)
            self._done += 1
            if self._done % self._plan.marks_every == 0:
                mark = next(marks, "")
                self._mark(mark, slots)
                if mark in {"branch", "branch-summary"}:
                    self._branch(before, summary=mark == "branch-summary", exchange=exchange, slots=slots)
            self._visited[-1:] = [(theme, slots)]
            if self._is_long_enough():
                break
        if self._plan.solo and self._plan.status != "running":
            self._assistant([{"type": "text", "text": self._ask}], "stop")

    def _exchanges(self) -> Iterator[tuple[Theme, Exchange, _Slots]]:
        """Yield exchange after exchange, theme after theme, with the same words as long as a theme lasts."""
        for visit in count():
            theme = self._phrases.talk.themes[self._plan.themes[visit % len(self._plan.themes)]]
            slots = self._phrases.slots(self._dice)
            self._visited.append((theme, slots))
            if visit:
                self._gaps[-1] += self._dice.uniform(1, 9) * 3_600
            for exchange in theme.exchanges:
                if exchange.tools or not self._plan.solo:
                    yield theme, exchange, slots

    def _is_long_enough(self) -> bool:
        if not self._plan.fill:
            return self._done >= self._plan.turns
        if len(self.compactions) < self._plan.compactions:
            return False
        return self.usage.prompt >= self._plan.fill * self._model.window

    def _exchange(self, exchange: Exchange, slots: _Slots, prefix: str = "") -> None:
        solo = self._plan.solo
        text = _sentences(exchange.user.format_map(slots))
        if not self._done and self._plan.opening:
            text = self._plan.opening
        elif self._plan.chat != "direct":
            text = f"{slots['person']}: {text}"
        if not self._done or not solo:
            self._user(prefix + text)
        thinking = exchange.thinking
        for name in exchange.tools:
            said = [{"type": "text", "text": self._ask}] if solo and self._done and not thinking else []
            self._tool_call(name, slots, thinking, said)
            thinking = ""
        reply = _sentences(exchange.reply.format_map(slots))
        if solo:
            self._ask = reply
        else:
            self._ask = text
            thought = [{"type": "thinking", "thinking": thinking}] if thinking else []
            self._assistant([*thought, {"type": "text", "text": reply}], "stop")

    def _tool_call(self, name: str, slots: _Slots, thinking: str, said: Records) -> None:
        tool: Tool = self._phrases.talk.tools[name]
        call = f"call_{self._dice.getrandbits(48):012x}"
        arguments = {key: value.format_map(slots) for key, value in tool.arguments.items()}
        thought: Records = [{"type": "thinking", "thinking": thinking}] if thinking else []
        request = {"type": "toolCall", "id": call, "name": tool.name, "arguments": arguments}
        self._assistant([*thought, *said, request], "toolUse")
        text = self._phrases.output(name, slots, self._dice)
        content: Records = [{"type": "text", "text": text}]
        tokens = _tokens(text)
        if tool.image:
            content.append({"type": "image", "data": self._recipe.image, "mimeType": "image/png"})
            tokens += _IMAGE_TOKENS
        message = {"role": "toolResult", "toolCallId": call, "toolName": tool.name, "content": content}
        details = {"exitCode": int(tool.failed)} if tool.name == "exec" else {}
        self._message({**message, "details": details, "isError": tool.failed}, tokens, pause=self._dice.uniform(0.3, 9))

    def _user(self, text: str) -> None:
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        self._message(message, _tokens(text), pause=self._dice.uniform(20, 600), cut=True)

    def _assistant(self, content: Records, reason: str, error: str = "") -> None:
        prompt = self._tokens
        output = sum(_tokens(str(block.get("text") or block.get("thinking") or block)) for block in content)
        cached = 0 if error else min(self._known, prompt)
        self.usage = Usage(prompt, prompt - cached, cached, output) if not error else self.usage
        self._known = prompt
        message: dict[str, object] = {"role": "assistant", "content": content, "api": self._model.api}
        message |= {"provider": self._model.provider, "model": self._model.id}
        message["usage"] = _usage(Usage() if error else self.usage, self._model.price)
        message["stopReason"] = reason
        if error:
            message["errorMessage"] = error
        self._message(message, output, pause=self._dice.uniform(2, 30), cut=True)

    def _message(self, message: dict[str, object], tokens: int, *, pause: float, cut: bool = False) -> None:
        message["timestamp"] = None
        self._entry("message", pause, message=message)
        self._tokens += tokens
        self._path.append((str(self._leaf), tokens, cut))

    def _entry(self, kind: str, pause: float = 0.4, **fields: object) -> str:
        entry_id = f"{self._dice.getrandbits(32):08x}"
        self.records.append({"type": kind, "id": entry_id, "parentId": self._leaf, "timestamp": None, **fields})
        self._gaps.append(pause)
        self._leaf = entry_id
        return entry_id

    def _mark(self, mark: str, slots: _Slots) -> None:
        """Write an odd record; ``branch`` and the empty mark write none."""
        model = self._model
        if mark == "thinking":
            self._entry("thinking_level_change", thinkingLevel=self._dice.choice(("medium", "high")))
        elif mark == "model":
            self._model = self._recipe.models["sonnet" if self._plan.model == "opus" else "opus"]
            self._entry("model_change", provider=self._model.provider, modelId=self._model.id)
        elif mark == "label":
            target = self._dice.choice([entry for entry, _, cut in self._path if cut])
            self._entry("label", targetId=target, label=self._dice.choice(self._phrases.talk.labels))
        elif mark == "session-info":
            self._entry("session_info", name=self._dice.choice(self._phrases.talk.titles))
        elif mark == "cache":
            data = {"timestamp": None, "provider": model.provider, "modelId": model.id}
            self._entry("custom", customType="openclaw.cache-ttl", data=data)
        elif mark == "snapshot":
            data = {"timestamp": None, "provider": model.provider, "modelApi": model.api, "modelId": model.id}
            self._entry("custom", customType="model-snapshot", data=data)
        elif mark == "note":
            text = self._dice.choice(self._phrases.talk.notes).format_map(slots)
            self._entry("custom_message", customType="quay-note", content=text, display=True)
            self._tokens += _tokens(text)
            self._path.append((str(self._leaf), _tokens(text), True))
        elif mark == "abort":
            self._assistant([{"type": "text", "text": "Let me look at"}], "aborted", "Request was aborted")
        elif mark == "overload":
            self._assistant([], "error", "The model is overloaded. Try again later.")
        elif mark == "mirror":
            mirror: dict[str, object] = {
                "role": "assistant",
                "content": [{"type": "text", "text": "Sent. " + self._ask}],
            }
            mirror |= {"api": "openai-responses", "provider": "openclaw", "model": "delivery-mirror"}
            mirror |= {"usage": _usage(Usage(), 0), "stopReason": "stop"}
            self._message(mirror, 0, pause=1)

    def _branch(self, before: tuple[str | None, int, int], *, summary: bool, exchange: Exchange, slots: _Slots) -> None:
        """Step back in front of the exchange that was just written and ask it again in other words."""
        left = self._leaf
        self._leaf, self._tokens, length = before
        del self._path[length:]
        if summary:
            text = self._phrases.talk.abandoned.format_map(slots)
            details = {"readFiles": [], "modifiedFiles": []}
            self._entry("branch_summary", 3, fromId=left, summary=text, details=details, fromHook=False)
            self._tokens += _tokens(text)
            self._path.append((str(self._leaf), _tokens(text), True))
        slots.clear()
        self._exchange(exchange, slots, prefix=self._dice.choice(self._phrases.talk.retries))

    def _compact(self) -> None:
        kept, index = 0, len(self._path)
        while index > 1 and kept < _KEEP:
            index -= 1
            kept += self._path[index][1]
        while index < len(self._path) - 1 and not self._path[index][2]:
            kept -= self._path[index][1]
            index += 1
        first_kept, leaf, before = self._path[index][0], str(self._leaf), self._tokens
        summary = self._summary()
        place = len(self.records)
        details = {"readFiles": ["permits/register.md", "rota/lantern.md"], "modifiedFiles": []}
        fields = {"summary": summary, "firstKeptEntryId": first_kept, "tokensBefore": before, "details": details}
        entry = self._entry("compaction", 14, **fields, fromHook=True)
        self._tokens = self._base + _tokens(summary) + kept
        self._known = self._base
        del self._path[:index]
        self.compactions.append(Compaction(place, entry, leaf, first_kept, summary, before, self._tokens))

    def _summary(self) -> str:
        recent = self._visited[-9:]
        parts = {
            "Decisions": [line.format_map(slots) for theme, slots in recent for line in theme.decisions],
            "Open TODOs": [line.format_map(slots) for theme, slots in recent for line in theme.todos],
            "Constraints/Rules": list(self._phrases.talk.rules),
            "Pending user asks": [self._ask or "None."],
            "Exact identifiers": sorted({slots["ref"] for _, slots in recent}),
        }
        blocks = [
            "\n".join([f"## {name}", *(f"- {_sentences(line)}" for line in lines)]) for name, lines in parts.items()
        ]
        return "\n\n".join(blocks)

    def _date(self, start_ms: int, end_ms: int) -> None:
        """Date every record; pauses between the themes take what the exchanges leave of the span."""
        total = sum(self._gaps)
        scale = (end_ms - start_ms) / total / 1_000
        short = min(1.0, scale * 1.0)
        pauses = [gap for gap in self._gaps if gap > _LONG]
        rest = (end_ms - start_ms) / 1_000 - short * sum(gap for gap in self._gaps if gap <= _LONG)
        stretch = rest / sum(pauses) if pauses else 0.0
        even = scale if not pauses else 0.0
        now = float(start_ms)
        for record, gap in zip(self.records, self._gaps, strict=True):
            now += 1_000 * (gap * (even or (stretch if gap > _LONG else short)))
            _stamp(record, end_ms if record is self.records[-1] else int(now))


_LONG = 1_800.0  # seconds; a longer pause lies between two themes


def iso(ms: int) -> str:
    """Write a time as the real program does."""
    return datetime.fromtimestamp(ms / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1_000:03d}Z"


def _stamp(record: dict[str, object], ms: int) -> None:
    record["timestamp"] = iso(ms)
    for name in ("message", "data"):
        inner = record.get(name)
        if isinstance(inner, dict) and "timestamp" in inner:
            inner["timestamp"] = ms


def _usage(usage: Usage, price: float) -> dict[str, object]:
    prices = [usage.fresh * price, usage.output * price * 5, usage.cached * price / 10, 0.0]
    names = ("input", "output", "cacheRead", "cacheWrite")
    cost = {name: round(value / 1e6, 6) for name, value in zip(names, prices, strict=True)}
    cost["total"] = round(sum(prices) / 1e6, 6)
    counts = {"input": usage.fresh, "output": usage.output, "cacheRead": usage.cached, "cacheWrite": 0}
    return {**counts, "totalTokens": usage.prompt + usage.output, "cost": cost}


def _tokens(text: str) -> int:
    return -(-len(text) // 4)


def _sentences(text: str) -> str:
    """Begin each sentence with a capital: a slot's word may stand first."""
    return _SENTENCE.sub(lambda found: found[0].upper(), text)
