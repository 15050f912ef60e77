"""Whether a run that a row reports is really running (spec 2026.5 §2.1). Pure: rows, facts and the time are passed in.

A row says ``running`` from the moment a run starts until its end is written; a crash in between leaves it that way for
ever. No single field is believed: status, start, end, last sign of life, parent and gateway are held against each
other, and each verdict says on which grounds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from strandline.ecmascript import is_finite_number
from strandline.findings import Finding
from strandline.state.words import duration

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from strandline.ecmascript import JsonValue

# After two hours without an end OpenClaw takes a sub-agent's run for abandoned (its registry; not its store's rows).
QUIET_MS = 2 * 3_600_000
CLOCK_MARGIN_MS = 60_000
RUNNING = "running"
ENDED = frozenset({"done", "failed", "killed", "timeout"})
_SPAWNED_MARKS = (":subagent:", ":acp:")


class RunState(StrEnum):
    """What a row's run amounts to."""

    NONE = "no run"
    LIVE = "live"
    STALE = "stale"
    CONTRADICTORY = "contradictory"
    ORPHANED = "orphaned"
    FINISHED = "finished"
    UNKNOWN = "unknown"


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """What one row and its files say about a run; times in ms since the epoch.

    Attributes:
        key: the session key as stored.
        status: run status as stored.
        started_at: start of the run.
        ended_at: its end.
        updated_at: last change of the row.
        spawned_by: key of the session that started it.
        aborted: ``abortedLastRun``: the gateway marked the run as interrupted.
        transcript_mtime_ms: last modification of its transcript; ``None`` when there is no such file.
        transcript_known: whether the disk was asked; otherwise a missing transcript means nothing.
        lock_held: whether a live process holds the transcript's write lock; ``None`` when nobody looked.
    """

    key: str
    status: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    updated_at: float | None = None
    spawned_by: str | None = None
    aborted: bool = False
    transcript_mtime_ms: float | None = None
    transcript_known: bool = False
    lock_held: bool | None = None

    @classmethod
    def of_entry(cls, key: str, entry: Mapping[str, JsonValue]) -> RunRow:
        """Take the fields from a row as stored; a field of the wrong type counts as absent."""
        status, spawned_by = entry.get("status"), entry.get("spawnedBy") or entry.get("parentSessionKey")
        return cls(
            key=key,
            status=status if isinstance(status, str) else None,
            started_at=_time(entry.get("startedAt")),
            ended_at=_time(entry.get("endedAt")),
            updated_at=_time(entry.get("updatedAt")),
            spawned_by=spawned_by if isinstance(spawned_by, str) else None,
            aborted=entry.get("abortedLastRun") is True,
        )


class GatewayFact(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the gateway that would carry the runs.

    Attributes:
        may_live: whether one lives, or may; ``None`` when nobody looked.
        since_ms: since when it runs, ms since the epoch; a run from before cannot be in it.
    """

    may_live: bool | None = None
    since_ms: float | None = None


class RunVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A row's run and what it amounts to.

    Attributes:
        key: the session key as stored.
        state: the verdict.
        grounds: one sentence per thing seen, for people.
        last_sign_ms: newest sign of life, ms since the epoch; ``None`` when there is none.
        parent_missing: whether the row that spawned it is gone.
        transcript_missing: whether its transcript is not there.
    """

    key: str
    state: RunState
    grounds: tuple[str, ...]
    last_sign_ms: float | None
    parent_missing: bool = False
    transcript_missing: bool = False


def judge_runs(
    rows: Iterable[RunRow],
    now_ms: float,
    *,
    gateway: GatewayFact | None = None,
    known_keys: Collection[str] | None = None,
    quiet_ms: float = QUIET_MS,
) -> tuple[RunVerdict, ...]:
    """Judge the run of every row.

    Args:
        rows: the rows of one store, or of all stores that can name each other as parents.
        now_ms: the time, ms since the epoch.
        gateway: what is known of the gateway.
        known_keys: keys of every row there is, when ``rows`` is only a part of them.
        quiet_ms: after how long without a sign of life a run counts as abandoned.
    """
    given = tuple(rows)
    keys = {row.key for row in given} if known_keys is None else known_keys
    return tuple(_judge(row, now_ms, gateway or GatewayFact(), keys, quiet_ms) for row in given)


def run_findings(verdicts: Iterable[RunVerdict], where: str) -> tuple[Finding, ...]:
    """Return a finding for each row that lies about its run.

    Args:
        verdicts: what was found.
        where: the store's path.
    """
    return tuple(
        Finding(
            code=f"run-{verdict.state.value}",
            severity="warning",
            what=_SENTENCES[verdict.state],
            where=f"{where} {verdict.key}",
            evidence=verdict.grounds,
            fix="Stop the run from the gateway (/stop), or start the next turn; either writes the row's true state.",
        )
        for verdict in verdicts
        if verdict.state in _SENTENCES
    )


_SENTENCES = {
    RunState.STALE: "A session is stored as running, and nothing shows that it runs.",
    RunState.CONTRADICTORY: "A session is stored as running, and its own row says otherwise.",
    RunState.ORPHANED: "A sub-agent is stored as running, and the session that started it is gone.",
}


def _judge(row: RunRow, now_ms: float, gateway: GatewayFact, keys: Collection[str], quiet_ms: float) -> RunVerdict:
    parent_missing = _parent_missing(row, keys)
    transcript_missing = row.transcript_known and row.transcript_mtime_ms is None
    signs = _signs(row, now_ms)
    last_sign = max((time for _, time in signs), default=None)
    state, grounds = _state(row, now_ms, last_sign, gateway, quiet_ms)
    if state is RunState.STALE and parent_missing:
        state = RunState.ORPHANED
    told = list(grounds)
    if state in {RunState.LIVE, RunState.STALE, RunState.ORPHANED} and last_sign is not None:
        name = next(name for name, time in signs if time == last_sign)
        told.append(f"last sign of life {duration(now_ms - last_sign)} ago: {name}")
    if parent_missing:
        told.append(f"the row that started it, {row.spawned_by}, is not there")
    if transcript_missing and state is not RunState.NONE:
        told.append("its transcript is not there")
    return RunVerdict(
        key=row.key,
        state=state,
        grounds=tuple(told),
        last_sign_ms=last_sign,
        parent_missing=parent_missing,
        transcript_missing=transcript_missing,
    )


def _state(
    row: RunRow, now_ms: float, last_sign: float | None, gateway: GatewayFact, quiet_ms: float
) -> tuple[RunState, tuple[str, ...]]:
    if row.status != RUNNING:
        return _not_running(row)
    contradictions = tuple(_contradictions(row, now_ms))
    if contradictions:
        return RunState.CONTRADICTORY, contradictions
    if row.lock_held:
        return RunState.LIVE, ("a live process holds the write lock of its transcript",)
    if row.aborted:
        return RunState.STALE, ("the gateway marked the run as interrupted",)
    if gateway.may_live is False:
        return RunState.STALE, ("no gateway runs on this directory",)
    if last_sign is None:
        return RunState.STALE, ("nothing says when it began or last did something",)
    if gateway.since_ms is not None and last_sign < gateway.since_ms - CLOCK_MARGIN_MS:
        return RunState.STALE, ("the gateway started after the run's last sign of life",)
    if now_ms - last_sign > quiet_ms:
        return RunState.STALE, (f"nothing happened for more than {duration(quiet_ms)}",)
    return RunState.LIVE, ("stored as running and not ended",)


def _not_running(row: RunRow) -> tuple[RunState, tuple[str, ...]]:
    if row.status is None:
        return RunState.NONE, ()
    if row.status in ENDED:
        return RunState.FINISHED, (f"stored as {row.status}",)
    return RunState.UNKNOWN, (f"its status {row.status!r} is none that OpenClaw 2026.5 writes",)


def _contradictions(row: RunRow, now_ms: float) -> Iterator[str]:
    started, ended = row.started_at, row.ended_at
    if ended is not None and (started is None or ended >= started):
        yield f"stored as running, yet ended {duration(now_ms - ended)} ago"
    elif ended is not None:
        # The real program clears the end when it writes a new start; an older end was left by some other hand.
        yield "stored as running, yet it has an end that lies before its start"
    if started is not None and started > now_ms + CLOCK_MARGIN_MS:
        yield f"it starts {duration(started - now_ms)} from now"


def _signs(row: RunRow, now_ms: float) -> list[tuple[str, float]]:
    """Return (what, when) of each sign of life; times in the future are no sign."""
    signs = (
        ("its transcript was written", row.transcript_mtime_ms),
        ("its row was changed", row.updated_at),
        ("it started", row.started_at),
    )
    return [(name, time) for name, time in signs if time is not None and time <= now_ms + CLOCK_MARGIN_MS]


def _parent_missing(row: RunRow, keys: Collection[str]) -> bool:
    """Tell whether the session that started it is gone; an agent's main session is one even without a row."""
    parent = row.spawned_by
    return parent is not None and any(mark in parent for mark in _SPAWNED_MARKS) and parent not in keys


def _time(value: JsonValue) -> float | None:
    return value if is_finite_number(value) and value > 0 else None
