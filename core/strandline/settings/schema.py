"""What each setting accepts, as the real program's own schema does (spec 2026.5 §5.1, §8.1).

The messages are those of OpenClaw 2026.5.22, so that an operator finds them in its manual; the sentence for people is
added where a problem is shown. Only the parts of openclaw.json that Strandline reads are declared here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import msgspec

from strandline.ecmascript import JsonValue, is_finite_number, is_number
from strandline.settings.scalars import parse_bytes, parse_duration_ms

INVALID = "Invalid input"
_MAX_SAFE_INTEGER = 2**53 - 1


class Problem(msgspec.Struct, frozen=True):
    """A value that the real program refuses; one is enough for it to refuse the whole file.

    Attributes:
        path: where the value stands, as ``session.maintenance.mode``.
        message: what OpenClaw 2026.5.22 prints for it.
    """

    path: str
    message: str

    @property
    def sentence(self) -> str:
        """The problem as one sentence for people."""
        return f"{self.path}: {self.message}; OpenClaw refuses the whole file until this is mended."


Check: TypeAlias = Callable[[JsonValue], Iterator[str]]


class Leaf(msgspec.Struct, frozen=True):
    """A single value and the check it must pass."""

    check: Check


class Section(msgspec.Struct, frozen=True):
    """An object with known keys; with ``closed`` any other key is refused, and ``required`` ones must be there."""

    fields: Mapping[str, Node]
    closed: bool = True
    required: tuple[str, ...] = ()


class Each(msgspec.Struct, frozen=True):
    """A list whose items all follow one rule."""

    item: Node


class Named(msgspec.Struct, frozen=True):
    """An object with free keys whose values all follow one rule."""

    item: Node


Node: TypeAlias = "Leaf | Section | Each | Named"


def validate(node: Node, value: JsonValue, path: str) -> Iterator[Problem]:
    """Yield every problem of ``value`` in the order in which the real program reports them."""
    match node:
        case Leaf():
            yield from (Problem(path, message) for message in node.check(value))
        case Each():
            if not isinstance(value, list):
                yield Problem(path, INVALID)
                return
            for index, item in enumerate(value):
                yield from validate(node.item, item, f"{path}.{index}")
        case Named():
            if not isinstance(value, dict):
                yield Problem(path, INVALID)
                return
            for name, item in value.items():
                yield from validate(node.item, item, f"{path}.{name}")
        case Section():
            yield from _validate_section(node, value, path)


def _validate_section(node: Section, value: JsonValue, path: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield Problem(path or "<root>", INVALID)
        return
    for name, inner in node.fields.items():
        if name in value or name in node.required:
            yield from validate(inner, value.get(name), f"{path}.{name}" if path else name)
    if node.closed and any(name not in node.fields for name in value):
        yield Problem(path or "<root>", INVALID)


def _choice(*allowed: str) -> Leaf:
    words = ", ".join(f'"{word}"' for word in allowed)

    def check(value: JsonValue) -> Iterator[str]:
        if not (isinstance(value, str) and value in allowed):
            yield f"{INVALID} (allowed: {words})"

    return Leaf(check)


def _boolean() -> Leaf:
    def check(value: JsonValue) -> Iterator[str]:
        if not isinstance(value, bool):
            yield f"{INVALID} (allowed: true, false)"

    return Leaf(check)


def _integer(*, minimum: int | None = None, above: int | None = None, maximum: int | None = None) -> Leaf:
    def check(value: JsonValue) -> Iterator[str]:
        if not is_finite_number(value) or value != int(value):
            yield INVALID
            return
        if abs(value) > _MAX_SAFE_INTEGER:
            yield INVALID
        yield from _bounds(value, minimum, above, maximum)

    return Leaf(check)


def _number(*, minimum: float | None = None, maximum: float | None = None) -> Leaf:
    def check(value: JsonValue) -> Iterator[str]:
        if not is_finite_number(value):
            yield INVALID
            return
        yield from _bounds(value, minimum, None, maximum)

    return Leaf(check)


def _bounds(value: float, minimum: float | None, above: float | None, maximum: float | None) -> Iterator[str]:
    if minimum is not None and value < minimum:
        yield f"{INVALID} (minimum: {minimum})"
    if above is not None and value <= above:
        yield f"{INVALID} (must be greater than {above})"
    if maximum is not None and value > maximum:
        yield f"{INVALID} (maximum: {maximum})"


def _text() -> Leaf:
    def check(value: JsonValue) -> Iterator[str]:
        if not isinstance(value, str):
            yield INVALID

    return Leaf(check)


def _duration(*, unit: str, numbers: bool, switch_off: bool) -> Leaf:
    def check(value: JsonValue) -> Iterator[str]:
        if switch_off and value is False:
            return
        if isinstance(value, str) or (numbers and is_finite_number(value)):
            if parse_duration_ms(value, bare_unit=unit) is None:
                yield "invalid duration (use ms, s, m, h, d)"
        else:
            yield INVALID

    return Leaf(check)


def _size() -> Leaf:
    def check(value: JsonValue) -> Iterator[str]:
        if not (isinstance(value, str) or is_number(value)):
            yield INVALID
        elif parse_bytes(value) is None:
            yield "invalid size (use b, kb, mb, gb, tb)"

    return Leaf(check)


def _whole_bytes() -> Leaf:
    whole = _integer(minimum=0)

    def check(value: JsonValue) -> Iterator[str]:
        if not isinstance(value, str):
            yield from whole.check(value)
        elif parse_bytes(value) is None:
            yield "Expected byte size string like 2mb"

    return Leaf(check)


def _text_or_number() -> Leaf:
    def check(value: JsonValue) -> Iterator[str]:
        if not (isinstance(value, str) or is_number(value)):
            yield INVALID

    return Leaf(check)


def _model() -> Leaf:
    def check(value: JsonValue) -> Iterator[str]:
        if isinstance(value, str):
            return
        if not isinstance(value, dict) or not value.keys() <= {"primary", "fallbacks"}:
            yield INVALID
            return
        fallbacks = value.get("fallbacks", [])
        texts = [value.get("primary", ""), *(fallbacks if isinstance(fallbacks, list) else [None])]
        if not all(isinstance(text, str) for text in texts):
            yield INVALID

    return Leaf(check)


_RESET = Section(
    {
        "mode": _choice("daily", "idle"),
        "atHour": _integer(minimum=0, maximum=23),
        "idleMinutes": _integer(above=0),
    }
)
_ACTION = _choice("allow", "deny")

SESSION = Section(
    {
        "scope": _choice("per-sender", "global"),
        "dmScope": _choice("main", "per-peer", "per-channel-peer", "per-account-channel-peer"),
        "identityLinks": Named(Each(_text())),
        "resetTriggers": Each(_text()),
        "idleMinutes": _integer(above=0),
        "reset": _RESET,
        "resetByType": Section({"direct": _RESET, "dm": _RESET, "group": _RESET, "thread": _RESET}),
        "resetByChannel": Named(_RESET),
        "store": _text(),
        "typingIntervalSeconds": _integer(above=0),
        "typingMode": _choice("never", "instant", "thinking", "message"),
        "mainKey": _text(),
        "sendPolicy": Section(
            {
                "default": _ACTION,
                "rules": Each(
                    Section(
                        {
                            "action": _ACTION,
                            "match": Section(
                                {
                                    "channel": _text(),
                                    "chatType": _choice("direct", "group", "channel", "dm"),
                                    "keyPrefix": _text(),
                                    "rawKeyPrefix": _text(),
                                }
                            ),
                        },
                        required=("action",),
                    )
                ),
            }
        ),
        "writeLock": Section(
            {
                "acquireTimeoutMs": _integer(above=0),
                "staleMs": _integer(above=0),
                "maxHoldMs": _integer(above=0),
            }
        ),
        "agentToAgent": Section({"maxPingPongTurns": _integer(minimum=0, maximum=20)}),
        "threadBindings": Section(
            {
                "enabled": _boolean(),
                "idleHours": _number(minimum=0),
                "maxAgeHours": _number(minimum=0),
                "spawnSessions": _boolean(),
                "defaultSpawnContext": _choice("isolated", "fork"),
            }
        ),
        "maintenance": Section(
            {
                "mode": _choice("enforce", "warn"),
                "pruneAfter": _duration(unit="d", numbers=True, switch_off=False),
                "pruneDays": _integer(above=0),
                "maxEntries": _integer(above=0),
                "rotateBytes": _text_or_number(),
                "resetArchiveRetention": _duration(unit="d", numbers=True, switch_off=True),
                "maxDiskBytes": _size(),
                "highWaterBytes": _size(),
            }
        ),
    }
)

COMPACTION = Section(
    {
        "mode": _choice("default", "safeguard"),
        "provider": _text(),
        "reserveTokens": _integer(minimum=0),
        "keepRecentTokens": _integer(above=0),
        "reserveTokensFloor": _integer(minimum=0),
        "maxHistoryShare": _number(minimum=0.1, maximum=0.9),
        "customInstructions": _text(),
        "identifierPolicy": _choice("strict", "off", "custom"),
        "identifierInstructions": _text(),
        "recentTurnsPreserve": _integer(minimum=0, maximum=12),
        "qualityGuard": Section({"enabled": _boolean(), "maxRetries": _integer(minimum=0)}),
        "midTurnPrecheck": Section({"enabled": _boolean()}),
        "postIndexSync": _choice("off", "async", "await"),
        "postCompactionSections": Each(_text()),
        "model": _text(),
        "timeoutSeconds": _integer(above=0),
        "memoryFlush": Section(
            {
                "enabled": _boolean(),
                "model": _text(),
                "softThresholdTokens": _integer(minimum=0),
                "forceFlushTranscriptBytes": _whole_bytes(),
                "prompt": _text(),
                "systemPrompt": _text(),
            }
        ),
        "maxActiveTranscriptBytes": _whole_bytes(),
        "truncateAfterCompaction": _boolean(),
        "notifyUser": _boolean(),
    }
)

CONFIG = Section(
    {
        "agents": Section(
            {
                "defaults": Section(
                    {"model": _model(), "contextTokens": _integer(above=0), "compaction": COMPACTION},
                    closed=False,
                ),
                "list": Each(
                    Section(
                        {
                            "id": _text(),
                            "default": _boolean(),
                            "name": _text(),
                            "workspace": _text(),
                            "model": _model(),
                            "contextTokens": _integer(above=0),
                        },
                        closed=False,
                        required=("id",),
                    )
                ),
            }
        ),
        "session": SESSION,
        "cron": Section(
            {
                "enabled": _boolean(),
                "store": _text(),
                "maxConcurrentRuns": _integer(above=0),
                "sessionRetention": _duration(unit="h", numbers=False, switch_off=True),
                "runLog": Section({"maxBytes": _size(), "keepLines": _integer(above=0)}),
            },
            closed=False,
        ),
        "gateway": Section(
            {
                "mode": _choice("local", "remote"),
                "port": _integer(above=0),
                "remote": Section({"url": _text()}, closed=False),
            },
            closed=False,
        ),
    },
    closed=False,
)
