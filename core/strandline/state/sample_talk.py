"""One conversation of the sample: exchanges of the recipe strung together into the records of a transcript.

The records are made first and dated last, so that a conversation begins and ends when the recipe says, whatever its
length turned out to be. Tokens are counted as the real program estimates them (spec 2026.5 §7), so the usage of each
call, the compactions and the row's counters agree with one another and with the text.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import msgspec

from strandline.state.sample_phrases import Usage, dollars_of, iso, sentences, tokens_of, usage_field

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from strandline.state.sample_phrases import Phrases, Slots
    from strandline.state.sample_recipe import Exchange, Recipe, SessionPlan, Theme

_PROMPT_SHARE = 0.17  # what the system prompt and the tool schemas take of the window before anybody speaks
_RESERVE = 12_000  # reserveTokensFloor of the sample's configuration and the fixed 4,000 in front of it
_KEEP = 6_000  # keepRecentTokens of the sample's configuration
_IMAGE_TOKENS = 1_200
_LONG = 1_800.0  # seconds; a longer pause lies between two themes

_OVERLOADED = "The model is overloaded. Try again later."

Record = dict[str, object]


class Compaction(msgspec.Struct):
    """A compaction on the way: ``index`` is its record's place, so the records before it are the checkpoint."""

    index: int
    entry_id: str
    leaf_id: str
    first_kept: str
    summary: str
    before: int
    after: int
    at_ms: int = 0


class Conversation:
    """Writes the records of one conversation.

    Attributes:
        records: the header and every entry, in the order of the file.
        messages: each message with the place of its entry among the records.
        compactions: the compactions among them.
        usage: usage of the last call.
        dollars: what all calls together cost.
        last_user_ms: when a person last wrote.
        model: the model of the last call.
    """

    def __init__(
        self,
        recipe: Recipe,
        phrases: Phrases,
        plan: SessionPlan,
        session_id: str,
        *,
        dice: random.Random,
        start_ms: int,
        end_ms: int,
    ) -> None:
        self.records: list[Record] = []
        self.messages: list[tuple[int, Record]] = []
        self.compactions: list[Compaction] = []
        self.usage = Usage()
        self.dollars = 0.0
        self.last_user_ms = 0
        self._recipe = recipe
        self._phrases = phrases
        self._plan = plan
        self._dice = dice
        self.model = recipe.models[plan.model]
        self._base = int(self.model.window * _PROMPT_SHARE)
        self._tokens = self._base
        self._known = 0
        self._leaf: str | None = None
        self._path: list[tuple[str, int, bool]] = []  # entry, its tokens, whether a compaction may begin there
        self._dated: list[tuple[int, Record]] = []  # data of custom entries, which carry a time of their own
        self._gaps: list[float] = []
        self._break = 0.0
        self._visited: list[tuple[Theme, Slots]] = []
        self._ask = ""
        self._done = 0
        header: Record = {"type": "session", "version": 3, "id": session_id, "timestamp": None}
        self.records.append({**header, "cwd": recipe.workspace})
        self._gaps.append(0)
        self._entry("model_change", {"provider": self.model.provider, "modelId": self.model.id})
        self._entry("thinking_level_change", {"thinkingLevel": plan.row.get("thinkingLevel", "low")})
        self._run()
        self._date(start_ms, end_ms)

    def _run(self) -> None:
        marks = iter(self._plan.marks)
        for exchange, slots in self._exchanges():
            if len(self.compactions) < self._plan.compactions and self._tokens >= self.model.window - _RESERVE:
                self._compact()
            before = self._leaf, self._tokens, len(self._path)
            self._exchange(exchange, slots)
            self._done += 1
            if self._done % self._plan.marks_every == 0:
                mark = next(marks, "")
                self._mark(mark, slots)
                if mark in {"branch", "branch-summary"}:
                    self._branch(before, summary=mark == "branch-summary", exchange=exchange, slots=slots)
            if self._is_long_enough():
                break
        if self._plan.status == "failed":
            self._assistant([], "error", _OVERLOADED)
        elif self._plan.status == "done":
            self._assistant([_text(self._ask)], "stop")

    def _exchanges(self) -> Iterator[tuple[Exchange, Slots]]:
        """Yield exchange after exchange, theme after theme, with the same words as long as a theme lasts."""
        for visit in count():
            theme = self._phrases.talk.themes[self._plan.themes[visit % len(self._plan.themes)]]
            slots = self._phrases.slots(self._dice)
            self._visited.append((theme, slots))
            if visit:
                self._break = self._dice.uniform(1, 9) * 3_600
            for exchange in theme.exchanges:
                if exchange.tools or not self._plan.solo:
                    yield exchange, slots

    def _is_long_enough(self) -> bool:
        if not self._plan.fill:
            return self._done >= self._plan.turns
        if len(self.compactions) < self._plan.compactions:
            return False
        return self.usage.prompt >= self._plan.fill * self.model.window

    def _exchange(self, exchange: Exchange, slots: Slots, prefix: str = "") -> None:
        solo = self._plan.solo
        text = prefix + sentences(exchange.user.format_map(slots))
        if not self._done and self._plan.opening:
            text = self._plan.opening
        elif self._plan.chat != "direct":
            text = f"{slots['person']}: {text}"
        if not self._done or not solo:
            self._user(text)
        thinking = exchange.thinking
        for name in exchange.tools:
            said = [_text(self._ask)] if solo and self._done and not thinking else []
            self._tool_call(name, slots, thinking, said)
            thinking = ""
        reply = sentences(exchange.reply.format_map(slots))
        if solo:
            self._ask = reply
        else:
            self._ask = text
            self._assistant([*_thought(thinking), _text(reply)], "stop")

    def _tool_call(self, name: str, slots: Slots, thinking: str, said: list[Record]) -> None:
        tool = self._phrases.talk.tools[name]
        call = f"call_{self._dice.getrandbits(48):012x}"
        arguments = {key: value.format_map(slots) for key, value in tool.arguments.items()}
        request: Record = {"type": "toolCall", "id": call, "name": tool.name, "arguments": arguments}
        self._assistant([*_thought(thinking), *said, request], "toolUse")
        text = self._phrases.output(name, slots, self._dice)
        content = [_text(text)]
        tokens = tokens_of(text)
        if tool.image:
            content.append({"type": "image", "data": self._recipe.image, "mimeType": "image/png"})
            tokens += _IMAGE_TOKENS
        message: Record = {"role": "toolResult", "toolCallId": call, "toolName": tool.name, "content": content}
        if tool.name == "exec":
            message["details"] = {"exitCode": int(tool.failed)}
        message["isError"] = tool.failed
        self._message(message, tokens, pause=self._dice.uniform(0.3, 9))

    def _user(self, text: str) -> None:
        message: Record = {"role": "user", "content": [_text(text)]}
        self._message(message, tokens_of(text), pause=self._dice.uniform(20, 600), cut=True)

    def _assistant(self, content: list[Record], reason: str, error: str = "") -> None:
        prompt = self._tokens
        output = sum(
            tokens_of(str(block.get("text") or block.get("thinking") or block.get("arguments"))) for block in content
        )
        cached = 0 if error else min(self._known, prompt)
        self.usage = Usage(prompt, prompt - cached, cached, output) if not error else self.usage
        self._known = prompt
        message: Record = {"role": "assistant", "content": content, "api": self.model.api}
        message |= {"provider": self.model.provider, "model": self.model.id}
        used = Usage() if error else self.usage
        message["usage"] = usage_field(used, self.model.price)
        self.dollars += sum(dollars_of(used, self.model.price))
        message["stopReason"] = reason
        if error:
            message["errorMessage"] = error
        self._message(message, output, pause=self._dice.uniform(2, 30), cut=True)

    def _message(self, message: Record, tokens: int, *, pause: float, cut: bool = False, entry_id: str = "") -> None:
        self.messages.append((len(self.records), message))
        self._entry("message", {"message": message}, pause, entry_id)
        self._tokens += tokens
        self._path.append((str(self._leaf), tokens, cut))

    def _entry(self, kind: str, fields: Record, pause: float = 0.4, entry_id: str = "") -> str:
        entry_id = entry_id or f"{self._dice.getrandbits(32):08x}"
        place: Record = {"id": entry_id, "parentId": self._leaf, "timestamp": None}
        # The real program writes what an extension hands it in front of the place, everything else behind it.
        record = {**fields, **place} if kind.startswith("custom") else {**place, **fields}
        self.records.append({"type": kind, **record})
        self._gaps.append(pause + self._break)
        self._break = 0.0
        self._leaf = entry_id
        return entry_id

    def _mark(self, mark: str, slots: Slots) -> None:
        """Write an odd record; ``branch`` and the empty mark write none."""
        talk, model = self._phrases.talk, self.model
        if mark == "thinking":
            self._entry("thinking_level_change", {"thinkingLevel": self._dice.choice(("medium", "high"))})
        elif mark == "model":
            self.model = self._recipe.models["sonnet" if self._plan.model == "opus" else "opus"]
            self._entry("model_change", {"provider": self.model.provider, "modelId": self.model.id})
        elif mark == "label":
            target = self._dice.choice([entry for entry, _, cut in self._path if cut])
            self._entry("label", {"targetId": target, "label": self._dice.choice(talk.labels)})
        elif mark == "session-info":
            self._entry("session_info", {"name": self._dice.choice(talk.titles)})
        elif mark == "cache":
            self._custom("openclaw.cache-ttl", {"provider": model.provider, "modelId": model.id})
        elif mark == "snapshot":
            self._custom("model-snapshot", {"provider": model.provider, "modelApi": model.api, "modelId": model.id})
        elif mark == "note":
            text = self._dice.choice(talk.notes).format_map(slots)
            self._entry("custom_message", {"customType": "quay-note", "content": text, "display": True})
            self._count(text)
        elif mark in {"abort", "overload"}:
            if not self._plan.solo:
                self._user(self._dice.choice(talk.asides).format_map(slots))
            if mark == "abort":
                self._assistant([_text("Let me look at")], "aborted", "Request was aborted")
            else:
                self._assistant([], "error", _OVERLOADED)
        elif mark == "mirror":
            mirror: Record = {"role": "assistant", "content": [_text(f"Sent. {self._ask}")]}
            mirror |= {"api": "openai-responses", "provider": "openclaw", "model": "delivery-mirror"}
            mirror |= {"usage": usage_field(Usage(), 0), "stopReason": "stop"}
            self._message(mirror, 0, pause=1, entry_id=self._recipe.uuid_of(f"mirror {self._leaf}"))

    def _custom(self, custom_type: str, data: Record) -> None:
        self._dated.append((len(self.records), data))
        self._entry("custom", {"customType": custom_type, "data": data})

    def _count(self, text: str) -> None:
        """Count the entry just written as part of the context."""
        self._tokens += tokens_of(text)
        self._path.append((str(self._leaf), tokens_of(text), True))

    def _branch(self, before: tuple[str | None, int, int], *, summary: bool, exchange: Exchange, slots: Slots) -> None:
        """Step back in front of the exchange that was just written and ask it again in other words."""
        left = self._leaf
        self._leaf, self._tokens, length = before
        del self._path[length:]
        if summary:
            text = self._phrases.talk.abandoned.format_map(slots)
            details: dict[str, list[str]] = {"readFiles": [], "modifiedFiles": []}
            fields: Record = {"fromId": left, "summary": text, "details": details, "fromHook": False}
            self._entry("branch_summary", fields, 3)
            self._count(text)
        person = slots["person"]
        slots.clear()
        slots["person"] = person
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
        fields: Record = {"summary": summary, "firstKeptEntryId": first_kept, "tokensBefore": before}
        entry = self._entry("compaction", {**fields, "details": details, "fromHook": True}, 14)
        self._tokens = self._base + tokens_of(summary) + kept
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
            "\n".join([f"## {name}", *(f"- {sentences(line)}" for line in lines)]) for name, lines in parts.items()
        ]
        return "\n\n".join(blocks)

    def _date(self, start_ms: int, end_ms: int) -> None:
        """Date every record; the pauses between themes take what the exchanges leave of the span."""
        span = (end_ms - start_ms) / 1_000
        long = sum(gap for gap in self._gaps if gap > _LONG)
        short = sum(self._gaps) - long
        even = not long or short > span / 2
        stretch = span / (long + short) if even else (span - short) / long
        now, times = float(start_ms), list[int]()
        for gap in self._gaps:
            now += 1_000 * gap * (stretch if even or gap > _LONG else 1)
            times.append(int(now))
        times[-1] = end_ms
        for record, at_ms in zip(self.records, times, strict=True):
            record["timestamp"] = iso(at_ms)
        for place, inner in (*self.messages, *self._dated):
            inner["timestamp"] = times[place]
            if inner.get("role") == "user":
                self.last_user_ms = times[place]
        for compaction in self.compactions:
            compaction.at_ms = times[compaction.index]


def _text(text: str) -> Record:
    return {"type": "text", "text": text}


def _thought(thinking: str) -> list[Record]:
    return [{"type": "thinking", "thinking": thinking}] if thinking else []
