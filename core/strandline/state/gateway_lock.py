"""Gateway locks: what they say and whether their owner lives (spec 2026.5 §1.4).

Judged as the real program does, save where that would call a living process dead: then it is *unsure*. Nothing is
written and no lock is taken.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from strandline.ecmascript import is_finite_number
from strandline.state.lock_payload import parse_time
from strandline.state.processes import in_container, is_gateway, looks_like_openclaw

if TYPE_CHECKING:
    from pathlib import Path

    from strandline.ecmascript import JsonValue
    from strandline.state.processes import Process, ProcessTable

UNKNOWN_OWNER_STALE_MS = 30_000
_HASH_LENGTH = 8
RECYCLED_MARGIN_MS = 2_000


class Liveness(StrEnum):
    """Whether an owner lives; ``unsure`` and ``foreign`` are to be treated as alive by anyone who wants to write."""

    ALIVE = "alive"
    DEAD = "dead"
    UNSURE = "unsure"
    FOREIGN = "foreign"


class GatewayPayload(msgspec.Struct, frozen=True, kw_only=True):
    """What a gateway lock says.

    Attributes:
        pid: the owner's process number; ``None`` when it is none that a process can have.
        created_ms: when it was taken, ms since the epoch; ``None`` when that is no time.
        config_path: the configuration it runs with, as that program spells it.
        start_ticks: when the owner began (Linux clock ticks since boot).
        state_dir: its state directory; only 2026.9 says.
        port: its port; only 2026.9 says.
        role: ``gateway``, or what else holds the lock in 2026.9.
    """

    pid: int | None
    created_ms: float | None
    config_path: str
    start_ticks: float | None = None
    state_dir: str | None = None
    port: int | None = None
    role: str = "gateway"


def config_hash(config_path: Path | str) -> str:
    """Return the eight digits by which a gateway lock is named after its configuration's path."""
    return hashlib.sha256(str(config_path).encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]


def parse_gateway_lock(data: bytes) -> GatewayPayload | None:
    """Read a gateway lock; ``None`` when it is not what the real program accepts."""
    try:
        value: JsonValue = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    pid, created, config = value.get("pid"), value.get("createdAt"), value.get("configPath")
    ticks, port, state_dir, role = (value.get(name) for name in ("startTime", "port", "stateDir", "role"))
    if not is_finite_number(pid) or not isinstance(created, str) or not isinstance(config, str):
        return None
    if "startTime" in value and not is_finite_number(ticks):
        return None
    return GatewayPayload(
        pid=int(pid) if pid > 0 and pid == int(pid) else None,
        created_ms=parse_time(created),
        config_path=config,
        start_ticks=ticks if is_finite_number(ticks) else None,
        state_dir=state_dir if isinstance(state_dir, str) else None,
        port=int(port) if is_finite_number(port) and port == int(port) else None,
        role=role if isinstance(role, str) else "gateway",
    )


class PortCheck(msgspec.Struct, frozen=True):
    """How a gateway of 2026.5 is asked whether it serves; 2026.9 asks no port.

    Attributes:
        port: the port that the configuration gives it.
        answers: tells whether something listens on a port of this machine.
    """

    port: int
    answers: Callable[[int], bool]


class GatewayVerdict(msgspec.Struct, frozen=True):
    """What a gateway lock amounts to.

    Attributes:
        live: whether its owner lives.
        honoured: whether OpenClaw itself would refuse to start beside it.
        grounds: one sentence per thing seen, for people.
    """

    live: Liveness
    honoured: bool
    grounds: tuple[str, ...]


def judge_gateway_lock(
    payload: GatewayPayload | None,
    mtime_ms: int,
    table: ProcessTable,
    now_ms: float,
    *,
    port: PortCheck | None = None,
    shared: str | None = None,
) -> GatewayVerdict:
    """Judge one lock.

    Args:
        payload: what it says; ``None`` when it cannot be read.
        mtime_ms: last modification of the file, ms since the epoch.
        table: the processes to go by.
        now_ms: the time, ms since the epoch.
        port: asks the port; ``None`` skips that.
        shared: why other systems may use the directory; ``None`` when it is local.
    """
    pid = None if payload is None else payload.pid
    if payload is not None and pid is not None:
        grounds: list[str] = []
        live, honoured = _judge_process(pid, payload, table, grounds, port=port, shared=shared)
        return GatewayVerdict(live, honoured, tuple(grounds))
    written = mtime_ms if payload is None or payload.created_ms is None else min(payload.created_ms, mtime_ms)
    what = "the lock cannot be read" if payload is None else "the lock names no process"
    if now_ms - written > UNKNOWN_OWNER_STALE_MS:
        old = "it is older than 30 s, so OpenClaw removes it"
        return GatewayVerdict(Liveness.DEAD, honoured=False, grounds=(what, old))
    return GatewayVerdict(Liveness.UNSURE, honoured=True, grounds=(what, "it is fresh, so its owner may be at it"))


def _judge_process(
    pid: int,
    payload: GatewayPayload,
    table: ProcessTable,
    grounds: list[str],
    *,
    port: PortCheck | None,
    shared: str | None,
) -> tuple[Liveness, bool]:
    process = table.look_up(pid)
    live = _liveness(pid, process, payload, grounds)
    if live is Liveness.DEAD:
        if shared is not None:
            grounds.append(f"it may run on another system: {shared}")
            return Liveness.FOREIGN, False
        ticks = payload.start_ticks
        inside = in_container(table, pid, int(ticks)) if ticks is not None else None
        if inside is not None:
            grounds.append(f"process {inside.pid} here is process {pid} of a container and began at that very tick")
            return Liveness.FOREIGN, False
    honoured = live is not Liveness.DEAD and (process is None or process.signalable)
    if port is not None:
        if port.answers(port.port):
            grounds.append(f"port {port.port} answers")
        else:
            honoured = False
            grounds.append(f"nothing answers on port {port.port}, so OpenClaw takes it for dead")
            if live is Liveness.ALIVE:
                grounds.append("its process lives all the same: it may be starting, or listen on another port")
                live = Liveness.UNSURE
    return live, honoured


def _liveness(pid: int, process: Process | None, payload: GatewayPayload, grounds: list[str]) -> Liveness:
    if process is None:
        grounds.append(f"no process {pid} runs here")
        return Liveness.DEAD
    if process.zombie:
        grounds.append(f"process {pid} has ended and only waits to be collected")
        return Liveness.DEAD
    if payload.start_ticks is not None and process.start_ticks is not None:
        if payload.start_ticks != process.start_ticks:
            grounds.append(
                f"the number {pid} was given out again: it began at tick {process.start_ticks}, "
                f"the lock says {payload.start_ticks:g}"
            )
            return Liveness.DEAD
        grounds.append(f"process {pid} lives and began at the very tick that the lock names")
        return Liveness.ALIVE
    created, started = payload.created_ms, process.started_ms
    if created is not None and started is not None and started > created + RECYCLED_MARGIN_MS:
        grounds.append(f"process {pid} began after the lock was taken")
        return Liveness.DEAD
    if not process.argv:
        grounds.append(f"process {pid} lives; its arguments cannot be read")
        return Liveness.UNSURE
    words = " ".join(process.argv)[:80]
    if is_gateway(process.argv) or (payload.role != "gateway" and looks_like_openclaw(process.argv)):
        grounds.append(f"process {pid} lives and is a gateway: {words}")
        return Liveness.ALIVE
    if looks_like_openclaw(process.argv):
        grounds.append(f"process {pid} lives and calls itself {words}, as a gateway does")
        return Liveness.UNSURE
    grounds.append(f"process {pid} lives but is no gateway: {words}")
    return Liveness.DEAD
