"""Settings under which compaction comes every turn, or far too early (case A15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from strandline.compaction.thresholds import Threshold, lowest_active_compaction, of_trigger, thresholds
from strandline.findings import Finding
from strandline.tokens.words import count_text, percent_text

if TYPE_CHECKING:
    from strandline.compaction.circumstances import Circumstances
    from strandline.settings.policies import CompactionPolicy
    from strandline.tokens.windows import Windows

EVERY_TURN = "compaction-every-turn"
EARLY = "compaction-early"

_EARLY_SHARE = 0.2
_TELLING_COMPACTIONS = 3


class CompactionHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What a transcript shows of its compactions.

    Attributes:
        compactions: how many there were.
        questions: user turns between the first entry and the last compaction.
        fresh_tokens: largest context measured right after a compaction; ``None`` when no call followed one.
    """

    compactions: int = 0
    questions: int = 0
    fresh_tokens: int | None = None

    @property
    def every_turn(self) -> bool:
        """Whether there was at least one compaction per question, and often enough to tell."""
        return self.compactions >= _TELLING_COMPACTIONS and self.compactions >= self.questions


def early_compaction(
    policy: CompactionPolicy,
    windows: Windows,
    circumstances: Circumstances,
    *,
    where: str,
    history: CompactionHistory | None = None,
) -> Finding | None:
    """Return the one finding about compaction that comes too soon, or ``None`` when it does not.

    Args:
        policy: ``agents.defaults.compaction``.
        windows: both windows of the model.
        circumstances: what besides settings switches triggers off.
        where: the session key, or the model when no session is meant.
        history: what the transcript shows; ``None`` when it was not read.
    """
    history = history or CompactionHistory()
    listed = thresholds(policy, windows, circumstances)
    lowest, after_turn = lowest_active_compaction(listed), of_trigger(listed, "after-turn")
    window = windows.run.tokens
    fresh = history.fresh_tokens or 0
    low = lowest is not None and lowest.tokens is not None and lowest.tokens <= fresh
    no_room = policy.reserve_tokens is not None and policy.reserve_tokens >= window
    evidence = _evidence(lowest, after_turn, history, no_room=no_room)
    fix = _fix(policy, window)
    if low or history.every_turn:
        return Finding(
            code=EVERY_TURN,
            severity="error",
            what=_every_turn_sentence(lowest, after_turn, fresh, no_room=no_room),
            where=where,
            evidence=evidence,
            fix=fix,
        )
    if no_room:
        return Finding(
            code=EVERY_TURN,
            severity="warning",
            what="The reserve is as large as the window: wherever it is not capped, every turn compacts.",
            where=where,
            evidence=evidence,
            fix=fix,
        )
    if lowest is not None and lowest.tokens is not None and lowest.tokens < window * _EARLY_SHARE:
        share = percent_text(lowest.tokens / window)
        return Finding(
            code=EARLY,
            severity="warning",
            what=f"Compaction starts at {count_text(lowest.tokens)} of {count_text(window)} tokens ({share}).",
            where=where,
            evidence=evidence,
            fix=fix,
        )
    return None


def suggested_reserve(policy: CompactionPolicy, window: int) -> tuple[int, int]:
    """Return (reserve, floor) that leave room to talk: neither above a quarter of the window, none above today's."""
    quarter = window // 4
    stated = policy.reserve_tokens
    return min(quarter, quarter if stated is None else stated), min(quarter, policy.reserve_tokens_floor)


def _every_turn_sentence(lowest: Threshold | None, after_turn: Threshold | None, fresh: int, *, no_room: bool) -> str:
    if no_room and after_turn is not None:
        return f"Every turn compacts: {after_turn.why.partition(' (')[0]}."
    if lowest is not None and lowest.tokens is not None and lowest.tokens <= fresh:
        holds = f"a context fresh from compaction holds {count_text(fresh)}" if fresh else "every context holds more"
        return f"Every turn compacts: compaction starts at {count_text(lowest.tokens)} tokens, and {holds}."
    return "Every turn compacts, as the transcript shows."


def _evidence(
    lowest: Threshold | None, after_turn: Threshold | None, history: CompactionHistory, *, no_room: bool
) -> tuple[str, ...]:
    found: list[str] = []
    if no_room and after_turn is not None:
        found.append(f"after-turn: {after_turn.why}")
    if lowest is not None and lowest is not after_turn:
        found.append(f"{lowest.trigger}: {lowest.why}")
    elif lowest is not None and not no_room:
        found.append(f"after-turn: {lowest.why}")
    if history.compactions:
        found.append(f"{count_text(history.compactions)} compactions for {count_text(history.questions)} questions")
    if history.fresh_tokens is not None:
        found.append(f"up to {count_text(history.fresh_tokens)} tokens right after a compaction")
    return tuple(found)


def _fix(policy: CompactionPolicy, window: int) -> str:
    reserve, floor = suggested_reserve(policy, window)
    return (
        f"Set agents.defaults.compaction.reserveTokens to {count_text(reserve)} and reserveTokensFloor to "
        f"{count_text(floor)}, or choose a model with a larger window."
    )
