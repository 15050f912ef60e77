"""Who owns this state directory: gateway locks and running processes (spec 2026.5 §1.4; contracts: ownership).

A gateway of 2026.5 leaves ``<tmp>/openclaw-<uid>/gateway.<hash>.lock``, named after its configuration's path; one of
2026.9 leaves the same name and ``gateway.state.lock`` below ``<state>/tmp``. Several configurations can share a state
directory, so every lock there is read and told apart by what it says. Nothing is written and no lock is taken.
"""

from __future__ import annotations

import itertools
import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from strandline.errors import BadRequest, EnvironmentFault
from strandline.state import discovery, fsys
from strandline.state.gateway_lock import Liveness, PortCheck, config_hash, judge_gateway_lock, parse_gateway_lock
from strandline.state.processes import looks_like_openclaw

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from strandline.state.gateway_lock import GatewayPayload
    from strandline.state.processes import ProcessTable

_LARGEST_LOCK = 64 * 1024
_STATE_LOCK = "gateway.state.lock"


class Relation(StrEnum):
    """How an owner was found to have to do with this directory."""

    CONFIG = "this configuration"
    STATE = "this state directory"
    OTHER_CONFIG = "another configuration with this state directory"
    PROCESS = "a running process"


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """Something that owns, or may own, the directory.

    Attributes:
        pid: its process number; ``None`` when the lock does not say.
        since_ms: since when, ms since the epoch: the lock's own time, else the start of the process.
        live: whether it lives.
        grounds: one sentence per thing seen, for people.
        relation: how it has to do with this directory.
        lock_path: the lock file; ``None`` for a process without one.
        honoured: whether OpenClaw itself would refuse to start beside it; ``None`` for a process without a lock.
        role: ``gateway`` or another holder (``sqlite-maintenance`` …).
        port: the port it names.
    """

    pid: int | None
    since_ms: float | None
    live: Liveness
    grounds: tuple[str, ...]
    relation: Relation
    lock_path: str | None = None
    honoured: bool | None = None
    role: str = "gateway"
    port: int | None = None

    @property
    def may_live(self) -> bool:
        """Whether a writer has to keep away."""
        return self.live is not Liveness.DEAD


class OwnerQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked.

    Attributes:
        state: the state directory.
        config_path: the configuration that applies to it.
        temporary: the system's directory for temporary files, as OpenClaw's process sees it.
        uid: the user's number; ``None`` on Windows.
        now_ms: the time, ms since the epoch.
        port: asks the port that the configuration gives the gateway; ``None`` skips that.
        shared: why other systems may use the directory (``processes.is_shared``); ``None`` when it is local.
        processes: whether processes without a lock are looked for, which reads the whole process table.
    """

    state: Path
    config_path: Path
    temporary: Path
    uid: int | None
    now_ms: float
    port: PortCheck | None = None
    shared: str | None = None
    processes: bool = True


def lock_directories(question: OwnerQuestion) -> tuple[Path, Path]:
    """Return where gateways of 2026.5 and of 2026.9 keep their locks."""
    name = "openclaw" if question.uid is None else f"openclaw-{question.uid}"
    return question.temporary / name, Path(os.path.realpath(question.state)) / "tmp" / name


def find_owners(question: OwnerQuestion, table: ProcessTable) -> tuple[Owner, ...]:
    """Return everything that owns or may own the directory, locks before processes; blocks on reads and the port.

    Raises:
        EnvironmentFault: a directory of locks may not be listed.
    """
    owners = list(_of_locks(question, table))
    known = {owner.pid for owner in owners if owner.may_live}
    owners += [owner for owner in _of_processes(question, table) if owner.pid not in known]
    return tuple(owners)


def _of_locks(question: OwnerQuestion, table: ProcessTable) -> Iterator[Owner]:
    own_name = f"gateway.{config_hash(question.config_path)}.lock"
    for directory, newer in zip(lock_directories(question), (False, True), strict=True):
        for entry in sorted(fsys.list_directory(directory), key=lambda entry: (entry.name != own_name, entry.name)):
            if not entry.is_file or not entry.name.startswith("gateway.") or not entry.name.endswith(".lock"):
                continue
            path = directory / entry.name
            try:
                payload = parse_gateway_lock(fsys.read_range(path, 0, _LARGEST_LOCK))
            except EnvironmentFault:
                if fsys.identify(path) is None:
                    continue
                payload = None
            relation = _relation(entry.name, own_name, payload, question, newer=newer)
            if relation is not None:
                port = None if newer else question.port
                verdict = judge_gateway_lock(
                    payload, entry.mtime_ms, table, question.now_ms, port=port, shared=question.shared
                )
                yield Owner(
                    pid=payload.pid if payload is not None else None,
                    since_ms=payload.created_ms if payload is not None else None,
                    live=verdict.live,
                    grounds=verdict.grounds,
                    relation=relation,
                    lock_path=str(path),
                    honoured=verdict.honoured,
                    role=payload.role if payload is not None else "gateway",
                    port=payload.port if payload is not None else None,
                )


def _relation(
    name: str, own_name: str, payload: GatewayPayload | None, question: OwnerQuestion, *, newer: bool
) -> Relation | None:
    if name == own_name:
        return Relation.CONFIG
    if newer:
        return Relation.STATE if name == _STATE_LOCK else Relation.OTHER_CONFIG
    if payload is None:
        return None  # another configuration's, and it does not say whose
    if _same(Path(payload.config_path), question.config_path):
        return Relation.CONFIG
    if payload.state_dir is not None and _same(Path(payload.state_dir), question.state):
        return Relation.OTHER_CONFIG
    return Relation.OTHER_CONFIG if _same(Path(payload.config_path).parent, question.state) else None


def _of_processes(question: OwnerQuestion, table: ProcessTable) -> Iterator[Owner]:
    if not question.processes:
        return
    for process in table.running():
        if process.zombie or not process.argv or not looks_like_openclaw(process.argv):
            continue
        ground = _uses(question, process.argv, table.environment(process.pid))
        if ground is not None:
            yield Owner(
                pid=process.pid,
                since_ms=process.started_ms,
                live=Liveness.FOREIGN if process.inner_pid is not None else Liveness.ALIVE,
                grounds=(f"process {process.pid} runs: {' '.join(process.argv)[:80]}", ground),
                relation=Relation.PROCESS,
                role="process",
            )


def _uses(question: OwnerQuestion, argv: tuple[str, ...], variables: Mapping[str, str] | None) -> str | None:
    for arg in argv[1:]:
        named = arg.partition("=")[2] if arg.startswith("--") else arg
        if named and _same(Path(named), question.state):
            return "its arguments name this state directory"
        if named and _same(Path(named), question.config_path):
            return "its arguments name this configuration"
    used = None if variables is None else _state_of(variables, argv)
    if variables is None or used is None or not _same(used, question.state):
        return None
    variable = next((name for name in ("OPENCLAW_STATE_DIR", "OPENCLAW_PROFILE") if variables.get(name)), None)
    return (
        f"its environment leads here by {variable}" if variable else "it uses the default directory, which is this one"
    )


def _state_of(variables: Mapping[str, str], argv: tuple[str, ...]) -> Path | None:
    """Return the state directory that a process with these variables and arguments uses; ``None`` if it has no home."""
    home = variables.get("HOME") or variables.get("USERPROFILE")
    if not home:
        return None
    profile = next((after for arg, after in itertools.pairwise(argv) if arg == "--profile"), None)
    world = discovery.Environment(variables=variables, home=Path(home), working_directory=Path(home))
    try:
        return discovery.choose_directory(None, world, profile=profile).path
    except BadRequest:
        return None


def _same(one: Path, other: Path) -> bool:
    if one == other:
        return True
    try:
        return one.is_absolute() and one.samefile(other)
    except (OSError, ValueError):
        return False
