"""At how many tokens the real program flushes notes and compacts (contract "Thresholds", spec 2026.5 §8.1, §8.2, §9).

Pure arithmetic over settings and windows, each answer with its sum in words. Counts are tokens unless bytes are named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from strandline.compaction.circumstances import ORDINARY, Circumstances
from strandline.tokens.words import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from strandline.settings.policies import CompactionPolicy
    from strandline.tokens.windows import Windows

Trigger: TypeAlias = Literal["flush", "flush-bytes", "preflight", "preflight-bytes", "precheck", "after-turn"]

LIBRARY_RESERVE = 16_384
"""Reserve of the agent library (pi) when ``reserveTokens`` is not set, in tokens."""

_DEFAULT_SOFT = 4_000
_SMALLEST_PROMPT = 8_000
_COMPACTIONS: frozenset[Trigger] = frozenset({"preflight", "precheck", "after-turn"})


class Threshold(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One trigger; ``msgspec.to_builtins`` gives the contract's JSON, and ``bytes`` for triggers by size.

    Attributes:
        trigger: which one. ``flush`` and ``preflight`` fire at the value, ``precheck`` and ``after-turn`` above it.
        tokens: where it lies, which may be below 0; ``None`` for triggers by size.
        active: whether the program acts on it at all.
        why: the arithmetic in words, and why it is off when it is.
        bytes: size of the transcript from which a trigger by size fires.
    """

    trigger: Trigger
    tokens: int | None
    active: bool
    why: str
    bytes: int | None = None


class Reserve(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept free of the window for the reply.

    Attributes:
        tokens: the reserve that compaction after a turn goes by.
        in_run: the same as the precheck caps it, so that a prompt still fits.
        why: how it came about.
    """

    tokens: int
    in_run: int
    why: str


def effective_reserve(policy: CompactionPolicy, window: int) -> Reserve:
    """Return the reserve that holds for a window of ``window`` tokens.

    The stated reserve is lifted to ``reserveTokensFloor``; the floor itself is cut where it would leave less than
    8,000 tokens, or half of a small window, for the prompt.
    """
    most = _most_reserve(window)
    floor = min(policy.reserve_tokens_floor, most)
    stated = policy.reserve_tokens
    tokens = max(LIBRARY_RESERVE if stated is None else stated, floor)
    name = f"reserve {count_text(LIBRARY_RESERVE)} (built in)" if stated is None else f"reserve {count_text(stated)}"
    if tokens == (LIBRARY_RESERVE if stated is None else stated):
        why = name
    else:
        why = f"{name} lifted to the floor {count_text(floor)}"
    if floor < policy.reserve_tokens_floor:
        why += f"; floor {count_text(policy.reserve_tokens_floor)} cut to {count_text(floor)} by the small window"
    return Reserve(tokens=tokens, in_run=min(tokens, most), why=why)


def thresholds(
    policy: CompactionPolicy, windows: Windows, circumstances: Circumstances = ORDINARY
) -> tuple[Threshold, ...]:
    """Return every trigger of a session: flush, preflight, precheck, after-turn, and by size where one is set.

    Args:
        policy: ``agents.defaults.compaction``.
        windows: flush and preflight go by the pressure window, the others by the run budget.
        circumstances: what besides settings switches triggers off.
    """
    run, pressure = windows.run.tokens, windows.pressure.tokens
    reserve = effective_reserve(policy, run)
    return (
        *_flush(policy, pressure, circumstances),
        *_preflight(policy, pressure, circumstances),
        _precheck(policy, run, reserve, circumstances),
        _after_turn(policy, run, reserve, circumstances),
    )


def lowest_active_compaction(listed: Iterable[Threshold]) -> Threshold | None:
    """Return the active compaction trigger that lies lowest, for the compact tick; ``None`` when all are off."""
    live = [entry for entry in listed if entry.active and entry.trigger in _COMPACTIONS and entry.tokens is not None]
    return min(live, key=lambda entry: entry.tokens or 0, default=None)


def of_trigger(listed: Iterable[Threshold], trigger: Trigger) -> Threshold | None:
    """Return the threshold of a trigger, or ``None`` when there is none."""
    return next((entry for entry in listed if entry.trigger == trigger), None)


def _flush(policy: CompactionPolicy, window: int, around: Circumstances) -> list[Threshold]:
    flush = policy.memory_flush
    off = _first_reason(
        (not flush.enabled, "memoryFlush.enabled is false"),
        (not around.flush_plugin, "the plug-in memory-core is not there"),
        (around.read_only_sandbox, "the sandbox cannot write its workspace"),
        (around.cli_provider, "the model runs behind a command-line program"),
    )
    found = [_before_run("flush", window, policy.reserve_tokens_floor, flush.soft_threshold_tokens, off)]
    size = flush.force_flush_transcript_bytes
    why = f"transcript of {count_text(size)} bytes or more (forceFlushTranscriptBytes)"
    if size <= 0:
        off, why = "forceFlushTranscriptBytes is 0", "by size of the transcript"
    found.append(Threshold(trigger="flush-bytes", tokens=None, active=not off, why=_with_off(why, off), bytes=size))
    return found


def _preflight(policy: CompactionPolicy, window: int, around: Circumstances) -> list[Threshold]:
    off = "the model runs behind a command-line program" if around.cli_provider else ""
    # With the flush switched off its soft threshold is not asked either; the built-in one holds.
    planned = policy.memory_flush.enabled and around.flush_plugin
    soft = policy.memory_flush.soft_threshold_tokens if planned else _DEFAULT_SOFT
    found = [_before_run("preflight", window, policy.reserve_tokens_floor, soft, off)]
    size = policy.max_active_transcript_bytes
    if size:
        off = off or ("" if policy.truncate_after_compaction else "truncateAfterCompaction is not set")
        why = f"transcript of {count_text(size)} bytes or more (maxActiveTranscriptBytes)"
        found.append(
            Threshold(trigger="preflight-bytes", tokens=None, active=not off, why=_with_off(why, off), bytes=size)
        )
    return found


def _before_run(trigger: Trigger, window: int, floor: int, soft: int, off: str) -> Threshold:
    # The floor is not cut for a small window here, as it is inside a run.
    tokens = window - floor - soft
    why = f"{count_text(window)} window − {count_text(floor)} floor − {count_text(soft)} soft = {count_text(tokens)}"
    if not off and tokens <= 0:
        off = "at 0 or below the program never fires it"
    return Threshold(trigger=trigger, tokens=tokens, active=not off, why=_with_off(why, off))


def _precheck(policy: CompactionPolicy, window: int, reserve: Reserve, around: Circumstances) -> Threshold:
    tokens = window - reserve.in_run
    why = f"{count_text(window)} window − {count_text(reserve.in_run)} reserve = {count_text(tokens)} ({reserve.why}"
    if reserve.in_run < reserve.tokens:
        why += f"; {count_text(reserve.tokens)} capped so that a prompt still fits"
    why += "), against an estimate of the whole prompt"
    why += ", also after each tool result" if policy.mid_turn_precheck else ""
    off = "the model runs behind a command-line program" if around.cli_provider else ""
    return Threshold(trigger="precheck", tokens=tokens, active=not off, why=_with_off(why, off))


def _after_turn(policy: CompactionPolicy, window: int, reserve: Reserve, around: Circumstances) -> Threshold:
    tokens = window - reserve.tokens
    why = f"{count_text(window)} window − {count_text(reserve.tokens)} reserve = {count_text(tokens)} ({reserve.why})"
    off = _first_reason(
        (around.cli_provider, "the model runs behind a command-line program"),
        (around.engine_owns_compaction, "a context engine compacts by itself"),
        (policy.mode == "safeguard", "mode safeguard turns the agent library's own compaction off"),
        (around.silent_overflow, "this model overflows silently, so the agent library's own compaction is off"),
    )
    return Threshold(trigger="after-turn", tokens=tokens, active=not off, why=_with_off(why, off))


def _most_reserve(window: int) -> int:
    return max(0, window - min(_SMALLEST_PROMPT, max(1, window // 2)))


def _first_reason(*reasons: tuple[bool, str]) -> str:
    return next((words for holds, words in reasons if holds), "")


def _with_off(why: str, off: str) -> str:
    return f"{why}; off: {off}" if off else why
