"""Write locks of transcripts: what they say and how OpenClaw would judge them (spec 2026.5 §1.4). Report only.

OpenClaw holds a lock by its file's existence. Two of its ways to judge one are told apart: a program that *wants* the
lock, and the *clean-up* at start, which knows neither the longest hold nor any patience with a half-written file.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from strandline.errors import EnvironmentFault
from strandline.findings import Finding
from strandline.state import fsys
from strandline.state.file_classes import STORE_NAME
from strandline.state.lock_payload import Content, LockPayload, parse_lock
from strandline.state.processes import in_container, is_openclaw
from strandline.state.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from strandline.state.processes import Process, ProcessTable

LOCK_ENDING = ".jsonl.lock"
STALE_MS = 30 * 60_000
HALF_WRITTEN_GRACE_MS = 5_000
RECYCLED_MARGIN_MS = 2_000
LARGEST_LOCK = 64 * 1024


class StaleReason(StrEnum):
    """Why a lock no longer holds, in OpenClaw's words; the last one is ours alone."""

    MISSING_PID = "missing-pid"
    DEAD_PID = "dead-pid"
    RECYCLED_PID = "recycled-pid"
    INVALID_CREATED_AT = "invalid-createdAt"
    TOO_OLD = "too-old"
    HOLD_EXCEEDED = "hold-exceeded"
    ORPHAN_SELF_PID = "orphan-self-pid"
    NON_OPENCLAW_OWNER = "non-openclaw-owner"
    STARTED_LATER = "started-later"


class LockState(StrEnum):
    """What a lock amounts to.

    ``waiting`` is a file so fresh that its owner may still be writing it; ``foreign`` is one whose owner this machine
    cannot check, or must not call dead.
    """

    HELD = "held"
    WAITING = "waiting"
    STALE = "stale"
    FOREIGN = "foreign"


class Moment(StrEnum):
    """When OpenClaw judges: a program that wants the lock, or the clean-up at start."""

    WANTED = "wanted"
    CLEAN_UP = "clean-up"


class LockRules(msgspec.Struct, frozen=True, kw_only=True):
    """From where a lock is judged.

    Attributes:
        now_ms: the time, milliseconds since the epoch.
        stale_ms: ``session.writeLock.staleMs``: age from which a lock is too old.
        moment: which of OpenClaw's two ways of judging.
        own_pid: the process that would take the lock; ``None`` when we only look.
        held: names of lock files that this very process holds.
        shared: why other systems may use the directory (``processes.is_shared``); ``None`` when it is local.
    """

    now_ms: float
    stale_ms: float = STALE_MS
    moment: Moment = Moment.WANTED
    own_pid: int | None = None
    held: frozenset[str] = frozenset()
    shared: str | None = None


class LockVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A lock and what it amounts to.

    Attributes:
        path: the lock file.
        state: held, waiting, stale or foreign.
        reasons: every reason against it, in OpenClaw's order.
        grounds: one sentence per thing seen, for people.
        reclaimable: whether OpenClaw, judging at that moment on this machine, would take it over.
        payload: what the file says.
        age_ms: time since it was taken by its own account; ``None`` when it does not say.
        mtime_ms: last modification of the file, ms since the epoch.
    """

    path: str
    state: LockState
    reasons: tuple[StaleReason, ...]
    grounds: tuple[str, ...]
    reclaimable: bool
    payload: LockPayload
    age_ms: float | None
    mtime_ms: int


def judge_lock(path: Path, payload: LockPayload, mtime_ms: int, table: ProcessTable, rules: LockRules) -> LockVerdict:
    """Judge one lock as OpenClaw would, and say on which grounds."""
    age = None if payload.created_ms is None else max(0.0, rules.now_ms - payload.created_ms)
    case = _Case(payload, table, rules, age, held_here=path.name in rules.held)
    reasons = case.reasons()
    theirs = [reason for reason in reasons if reason is not StaleReason.STARTED_LATER]
    half_written = bool(theirs) and set(theirs) <= {StaleReason.MISSING_PID, StaleReason.INVALID_CREATED_AT}
    waiting = (
        half_written
        and rules.moment is Moment.WANTED
        and max(0, rules.now_ms - mtime_ms) <= min(rules.stale_ms, HALF_WRITTEN_GRACE_MS)
    )
    if waiting:
        case.grounds.append(f"the file was written {duration(rules.now_ms - mtime_ms)} ago, so its owner may be at it")
    state = LockState.WAITING if waiting else LockState.STALE if reasons else LockState.HELD
    if state is LockState.STALE and case.foreign():
        state = LockState.FOREIGN
    return LockVerdict(
        path=str(path),
        state=state,
        reasons=tuple(reasons),
        grounds=tuple(case.grounds),
        reclaimable=bool(theirs) and not waiting,
        payload=payload,
        age_ms=age,
        mtime_ms=mtime_ms,
    )


def read_locks(
    sessions_dir: Path, table: ProcessTable, rules: LockRules, *, store_name: str = STORE_NAME
) -> tuple[LockVerdict, ...]:
    """Judge every lock in a sessions directory, by name; the store's own lock, which only old releases took, included.

    Raises:
        EnvironmentFault: the directory may not be listed.
    """
    return tuple(_read_locks(sessions_dir, table, rules, store_name))


def lock_findings(verdicts: Iterable[LockVerdict]) -> tuple[Finding, ...]:
    """Return a finding for each lock that is in the way without a living owner, or that nobody here can vouch for."""
    return tuple(
        Finding(
            code="lock-stale" if verdict.state is LockState.STALE else "lock-foreign",
            severity="warning" if verdict.state is LockState.STALE else "info",
            what=(
                "A write lock was left behind by an owner that no longer holds it."
                if verdict.state is LockState.STALE
                else "A write lock belongs to a process that cannot be checked from here."
            ),
            where=verdict.path,
            evidence=(*verdict.reasons, *verdict.grounds),
            fix=(
                "Let OpenClaw take it over at its next turn; it judges the lock in the same way."
                if verdict.state is LockState.STALE
                else "Look on the system that runs the gateway; nothing here may call its process dead."
            ),
        )
        for verdict in verdicts
        if verdict.state in {LockState.STALE, LockState.FOREIGN}
    )


class _Case:
    """One lock while it is judged: collects reasons and grounds."""

    def __init__(
        self, payload: LockPayload, table: ProcessTable, rules: LockRules, age: float | None, *, held_here: bool
    ) -> None:
        self._payload = payload
        self._table = table
        self._rules = rules
        self._age = age
        self._held_here = held_here
        self._process = None if payload.pid is None else table.look_up(payload.pid)
        self._blamed_on_owner = False
        self.grounds: list[str] = []

    def reasons(self) -> list[StaleReason]:
        found = [*self._of_owner(), *self._of_age()]
        alive = self._process is not None and not self._process.zombie and self._process.signalable
        if self._is_orphan_of_self():
            self.grounds.append("it names this very process, which does not hold it")
            found.append(StaleReason.ORPHAN_SELF_PID)
        elif (
            alive
            and self._process is not None
            and not self._own_and_held(self._process)
            and not set(found) - {StaleReason.STARTED_LATER}
        ):
            found += self._of_arguments(self._process)
        return found

    def foreign(self) -> bool:
        """Tell whether blaming the owner goes further than what can be known here; says why."""
        if not self._blamed_on_owner:
            return False
        if self._rules.shared is not None:
            self.grounds.append(f"its owner may run on another system: {self._rules.shared}")
            return True
        if self._process is not None and not self._process.zombie and not self._process.signalable:
            return True
        pid = self._payload.pid
        inside = None if pid is None else in_container(self._table, pid, self._payload.start_ticks)
        if inside is not None:
            self.grounds.append(
                f"process {inside.pid} here is process {pid} of a container and began at that very tick"
            )
        return inside is not None

    def _of_owner(self) -> Iterator[StaleReason]:
        pid, process = self._payload.pid, self._process
        if pid is None:
            self.grounds.append(_NO_OWNER[self._payload.content])
            yield StaleReason.MISSING_PID
        elif process is None:
            yield self._blame(StaleReason.DEAD_PID, f"no process {pid} runs here")
        elif process.zombie:
            yield self._blame(StaleReason.DEAD_PID, f"process {pid} has ended and only waits to be collected")
        elif not process.signalable:
            words = f"process {pid} belongs to another user, whom OpenClaw takes for dead since it may not signal it"
            yield self._blame(StaleReason.DEAD_PID, words)
        else:
            self.grounds.append(f"process {pid} lives")
            yield from self._of_start(process)

    def _of_start(self, process: Process) -> Iterator[StaleReason]:
        stored, now = self._payload.start_ticks, process.start_ticks
        if stored is not None and now is not None:
            if stored != now:
                words = f"the number {process.pid} was given out again: it began at tick {now}, the lock says {stored}"
                yield self._blame(StaleReason.RECYCLED_PID, words)
            return
        created = self._payload.created_ms
        if created is not None and process.started_ms is not None:
            later = process.started_ms - created
            if later > RECYCLED_MARGIN_MS:
                words = f"process {process.pid} began {duration(later)} after the lock was taken"
                yield self._blame(StaleReason.STARTED_LATER, words)

    def _of_age(self) -> Iterator[StaleReason]:
        age, hold = self._age, self._payload.max_hold_ms
        if age is None:
            written = self._payload.created_at
            if written is not None:
                self.grounds.append(f"its time {_shorten(written)} cannot be read")
            elif self._payload.content is Content.INCOMPLETE:
                self.grounds.append("it does not say when it was taken")
            yield StaleReason.INVALID_CREATED_AT
            return
        self.grounds.append(f"taken {duration(age)} ago")
        if age > self._rules.stale_ms:
            self.grounds.append(f"older than {duration(self._rules.stale_ms)}, the age from which a lock is too old")
            yield StaleReason.TOO_OLD
        if self._rules.moment is Moment.WANTED and not self._held_here and hold is not None and age > hold:
            self.grounds.append(f"its owner meant to hold it for {duration(hold)} at most")
            yield StaleReason.HOLD_EXCEEDED

    def _of_arguments(self, process: Process) -> Iterator[StaleReason]:
        if not process.argv or not any(process.argv):
            self.grounds.append(f"the arguments of process {process.pid} cannot be read, so OpenClaw honours it")
            return
        words = _shorten(" ".join(process.argv))
        if is_openclaw(process.argv):
            self.grounds.append(f"its arguments are OpenClaw's: {words}")
        else:
            yield self._blame(StaleReason.NON_OPENCLAW_OWNER, f"its arguments are not OpenClaw's: {words}")

    def _is_orphan_of_self(self) -> bool:
        own, stored = self._rules.own_pid, self._payload.start_ticks
        if own is None or self._payload.pid != own or self._held_here:
            return False
        if stored is None:
            return self._rules.moment is Moment.WANTED
        return self._process is not None and self._process.start_ticks == stored

    def _own_and_held(self, process: Process) -> bool:
        return self._held_here and process.pid == self._rules.own_pid

    def _blame(self, reason: StaleReason, ground: str) -> StaleReason:
        self._blamed_on_owner = True
        self.grounds.append(ground)
        return reason


_NO_OWNER = {
    Content.EMPTY: "the file is empty",
    Content.UNREADABLE: "the file cannot be read as a lock",
    Content.INCOMPLETE: "it names no process",
    Content.WHOLE: "it names no process",
}


def _read_locks(sessions_dir: Path, table: ProcessTable, rules: LockRules, store_name: str) -> Iterator[LockVerdict]:
    store_lock = f"{store_name}.lock"
    for entry in sorted(fsys.list_directory(sessions_dir), key=lambda entry: entry.name):
        if entry.is_dir or not (entry.name.endswith(LOCK_ENDING) or entry.name == store_lock):
            continue
        path = sessions_dir / entry.name
        try:
            payload = parse_lock(fsys.read_range(path, 0, LARGEST_LOCK))
        except EnvironmentFault:
            if fsys.identify(path) is None:
                continue  # released while we looked
            payload = LockPayload(content=Content.UNREADABLE)
        verdict = judge_lock(path, payload, entry.mtime_ms, table, rules)
        if entry.name == store_lock:
            remark = "OpenClaw 2026.5 takes no lock on its store; an older release, or another program, left this"
            verdict = msgspec.structs.replace(verdict, grounds=(*verdict.grounds, remark))
        yield verdict


def _shorten(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
