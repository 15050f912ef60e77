"""Who owns a directory: gateway locks of both generations, processes without a lock, several configurations."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from process_table import Table
from state_cases import NOW_MS, fingerprint
from strandline.state.gateway_lock import (
    UNKNOWN_OWNER_STALE_MS,
    GatewayPayload,
    Liveness,
    PortCheck,
    config_hash,
    judge_gateway_lock,
    parse_gateway_lock,
)
from strandline.state.owners import Owner, OwnerQuestion, Relation, find_owners, lock_directories
from strandline.state.processes import Process, SystemProcesses

_UID = 1000
_CREATED = "2026-05-20T11:00:00.000Z"
_GATEWAY = Process(pid=7, argv=("openclaw", "gateway"), started_ms=NOW_MS - 3_700_000, start_ticks=500)


def _question(tmp_path: Path, **changes: object) -> OwnerQuestion:
    state = tmp_path / "state"
    state.mkdir(exist_ok=True)
    (state / "openclaw.json").touch()
    question = OwnerQuestion(
        state=state,
        config_path=state / "openclaw.json",
        temporary=tmp_path / "temporary",
        uid=_UID,
        now_ms=NOW_MS,
    )
    return msgspec.structs.replace(question, **changes)


def _write(directory: Path, name: str, content: object) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    os.utime(path, (NOW_MS / 1000 - 3600, NOW_MS / 1000 - 3600))
    return path


def _payload(config: Path | str, **more: object) -> dict[str, object]:
    return {"pid": 7, "createdAt": _CREATED, "configPath": str(config), "startTime": 500, **more}


def _only(owners: tuple[Owner, ...]) -> Owner:
    assert len(owners) == 1
    return owners[0]


def test_the_name_is_the_one_that_the_real_gateway_chose() -> None:
    """A gateway of 2026.5.22 started with this configuration wrote ``gateway.c2a2461a.lock``."""
    assert config_hash("/tmp/wl/gw/openclaw.json") == "c2a2461a"  # noqa: S108 - the path of that recorded run


def test_the_lock_of_this_configuration_names_its_owner(tmp_path: Path) -> None:
    """Process, since when, alive, on which grounds; asking changes nothing."""
    question = _question(tmp_path)
    name = f"gateway.{config_hash(question.config_path)}.lock"
    _write(lock_directories(question)[0], name, _payload(question.config_path))
    before = fingerprint(tmp_path)
    owner = _only(find_owners(question, Table(_GATEWAY)))
    assert fingerprint(tmp_path) == before
    assert (owner.pid, owner.live, owner.relation, owner.honoured) == (7, Liveness.ALIVE, Relation.CONFIG, True)
    assert owner.since_ms == NOW_MS - 3_600_000
    assert any("tick" in ground for ground in owner.grounds)


def test_without_locks_and_processes_nobody_owns_it(tmp_path: Path) -> None:
    """Directories that are not there hold no locks."""
    assert find_owners(_question(tmp_path), Table()) == ()


def test_windows_has_no_user_number(tmp_path: Path) -> None:
    """Where there is no uid the directory is just ``openclaw``."""
    older, newer = lock_directories(_question(tmp_path, uid=None))
    assert older == tmp_path / "temporary" / "openclaw"
    assert newer == Path(os.path.realpath(tmp_path)) / "state" / "tmp" / "openclaw"


def test_two_configurations_can_share_a_state_directory(tmp_path: Path) -> None:
    """A gateway with another file in the same directory owns it too; one elsewhere does not."""
    question = _question(tmp_path)
    directory = lock_directories(question)[0]
    other = question.state / "second.json"
    elsewhere = tmp_path / "elsewhere" / "openclaw.json"
    for config in (other, elsewhere):
        _write(directory, f"gateway.{config_hash(config)}.lock", _payload(config))
    owner = _only(find_owners(question, Table(_GATEWAY)))
    assert (owner.relation, owner.live) == (Relation.OTHER_CONFIG, Liveness.ALIVE)


def test_the_same_configuration_by_another_spelling(tmp_path: Path) -> None:
    """A gateway started through a link hashes another path; the file tells that it is this one."""
    question = _question(tmp_path)
    link = tmp_path / "link"
    link.symlink_to(question.state, target_is_directory=True)
    config = link / "openclaw.json"
    _write(lock_directories(question)[0], f"gateway.{config_hash(config)}.lock", _payload(config))
    assert _only(find_owners(question, Table(_GATEWAY))).relation is Relation.CONFIG


def test_locks_of_2026_9_lie_below_the_state_directory(tmp_path: Path) -> None:
    """Its two locks are found; its port is not asked; another holder than a gateway is named."""
    question = _question(tmp_path, port=PortCheck(1, lambda _: False))
    directory = lock_directories(question)[1]
    more = {"stateDir": str(question.state), "port": 18789, "ownerId": "x"}
    _write(directory, f"gateway.{config_hash(question.config_path)}.lock", _payload(question.config_path, **more))
    _write(directory, "gateway.state.lock", _payload(question.config_path, **more, role="sqlite-maintenance"))
    _write(directory, "gateway.state.lock.sqlite", "")
    owners = find_owners(question, Table(_GATEWAY))
    assert [owner.relation for owner in owners] == [Relation.CONFIG, Relation.STATE]
    assert [owner.role for owner in owners] == ["gateway", "sqlite-maintenance"]
    assert all((owner.live, owner.port) == (Liveness.ALIVE, 18789) for owner in owners)


@pytest.mark.parametrize(
    ("process", "changes", "live", "honoured"),
    [
        (None, {}, Liveness.DEAD, False),
        (Process(pid=7, zombie=True, start_ticks=500), {}, Liveness.DEAD, False),
        (Process(pid=7, start_ticks=501, argv=("openclaw", "gateway")), {}, Liveness.DEAD, False),
        (Process(pid=7, start_ticks=500, argv=("openclaw",)), {}, Liveness.ALIVE, True),
        (Process(pid=7, argv=("openclaw", "gateway")), {}, Liveness.ALIVE, True),
        (Process(pid=7, argv=("openclaw-gateway",)), {}, Liveness.UNSURE, True),
        (Process(pid=7, argv=None), {}, Liveness.UNSURE, True),
        (Process(pid=7, argv=("vim",)), {}, Liveness.DEAD, False),
        (Process(pid=7, argv=("openclaw", "gateway"), started_ms=NOW_MS), {}, Liveness.DEAD, False),
        (Process(pid=7, argv=("openclaw", "doctor")), {"role": "sqlite-maintenance"}, Liveness.ALIVE, True),
        (Process(pid=7, signalable=False, argv=("openclaw", "gateway")), {}, Liveness.ALIVE, False),
    ],
)
def test_an_owner_is_judged_by_number_start_and_arguments(
    process: Process | None,
    changes: dict[str, object],
    live: Liveness,
    honoured: bool,
) -> None:
    """Each ground alone decides as in the real program; a living process is unsure at worst."""
    payload = GatewayPayload(pid=7, created_ms=NOW_MS - 3_600_000, config_path="/c", start_ticks=500)
    table = Table(process) if process is not None else Table()
    verdict = judge_gateway_lock(msgspec.structs.replace(payload, **changes), 0, table, NOW_MS)
    assert (verdict.live, verdict.honoured) == (live, honoured)
    assert verdict.grounds


def test_a_silent_port_does_not_kill_a_living_gateway() -> None:
    """OpenClaw would start beside it; for us it stays unsure, so nothing is written behind its back."""
    payload = GatewayPayload(pid=7, created_ms=NOW_MS, config_path="/c", start_ticks=500)
    silent = judge_gateway_lock(payload, 0, Table(_GATEWAY), NOW_MS, port=PortCheck(9, lambda _: False))
    assert (silent.live, silent.honoured) == (Liveness.UNSURE, False)
    answering = judge_gateway_lock(payload, 0, Table(_GATEWAY), NOW_MS, port=PortCheck(9, lambda port: port == 9))
    assert (answering.live, answering.honoured) == (Liveness.ALIVE, True)


def test_the_port_is_asked_through_a_function(tmp_path: Path) -> None:
    """A real listening socket answers, and a lock of a dead process stays dead beside it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answers(port: int) -> bool:
            with socket.create_connection(("127.0.0.1", port), timeout=30):
                return True

        question = _question(tmp_path, port=PortCheck(server.getsockname()[1], answers))
        name = f"gateway.{config_hash(question.config_path)}.lock"
        _write(lock_directories(question)[0], name, _payload(question.config_path))
        assert _only(find_owners(question, Table(_GATEWAY))).live is Liveness.ALIVE
        assert _only(find_owners(question, Table())).live is Liveness.DEAD


@pytest.mark.parametrize(
    ("shared", "processes"),
    [("it lies on a shared file system (nfs)", ()), (None, (Process(pid=900, inner_pid=7, start_ticks=500),))],
)
def test_a_gateway_of_another_system_is_foreign(shared: str | None, processes: tuple[Process, ...]) -> None:
    """What this machine cannot see is not dead."""
    payload = GatewayPayload(pid=7, created_ms=NOW_MS, config_path="/c", start_ticks=500)
    assert judge_gateway_lock(payload, 0, Table(*processes), NOW_MS, shared=shared).live is Liveness.FOREIGN


@pytest.mark.parametrize(("age_ms", "live"), [(UNKNOWN_OWNER_STALE_MS, "unsure"), (UNKNOWN_OWNER_STALE_MS + 1, "dead")])
def test_a_half_written_lock_is_given_thirty_seconds(age_ms: int, live: str) -> None:
    """Nobody is named yet; after that OpenClaw removes it."""
    assert judge_gateway_lock(None, NOW_MS - age_ms, Table(), NOW_MS).live == live


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        '{"pid": 7}',
        '{"pid": "7", "createdAt": "x", "configPath": "/c"}',
        '{"pid": 7, "createdAt": 5, "configPath": "/c"}',
        '{"pid": 7, "createdAt": "x", "configPath": "/c", "startTime": null}',
    ],
)
def test_what_the_real_program_refuses_is_refused(content: str) -> None:
    """A lock with a wrong field counts as unreadable as a whole."""
    assert parse_gateway_lock(content.encode()) is None


@given(st.binary(max_size=100))
def test_any_bytes_are_read(data: bytes) -> None:
    """Whatever stands in the file, reading it does not crash."""
    parse_gateway_lock(data)


def test_a_process_without_a_lock_is_a_hint(tmp_path: Path) -> None:
    """Environment, arguments, profile or the default directory lead here; each says which; others do not count."""
    question = _question(tmp_path)
    state = str(question.state)
    home = tmp_path / "home"
    (home / ".openclaw").mkdir(parents=True)
    default = _question(tmp_path, state=home / ".openclaw", config_path=home / ".openclaw" / "openclaw.json")
    table = Table(
        Process(pid=1, argv=("openclaw",)),
        Process(pid=2, argv=("node", "/x/openclaw.mjs", "agent", f"--state={state}")),
        Process(pid=3, argv=("vim", state)),
        Process(pid=4, argv=("openclaw",)),
        Process(pid=5, argv=("openclaw",), zombie=True),
        Process(pid=6, argv=("openclaw",), inner_pid=1),
        Process(pid=8, argv=("bash",)),
        environments={
            1: {"OPENCLAW_STATE_DIR": state, "HOME": "/nowhere"},
            4: {"HOME": str(home)},
            5: {"OPENCLAW_STATE_DIR": state, "HOME": "/nowhere"},
            6: {"OPENCLAW_STATE_DIR": state, "HOME": "/nowhere"},
            8: {"OPENCLAW_STATE_DIR": state, "HOME": "/nowhere"},
        },
    )
    owners = find_owners(question, table)
    assert [(owner.pid, owner.live.value) for owner in owners] == [(1, "alive"), (2, "alive"), (6, "foreign")]
    assert all(owner.relation is Relation.PROCESS and owner.honoured is None for owner in owners)
    assert "OPENCLAW_STATE_DIR" in owners[0].grounds[-1]
    assert "arguments" in owners[1].grounds[-1]
    assert "default" in _only(find_owners(default, table)).grounds[-1]
    assert find_owners(msgspec.structs.replace(question, processes=False), table) == ()


def test_an_owner_with_a_lock_is_not_told_twice(tmp_path: Path) -> None:
    """The process behind a living lock is no further hint."""
    question = _question(tmp_path)
    name = f"gateway.{config_hash(question.config_path)}.lock"
    _write(lock_directories(question)[0], name, _payload(question.config_path))
    table = Table(_GATEWAY, environments={7: {"OPENCLAW_STATE_DIR": str(question.state), "HOME": "/nowhere"}})
    assert _only(find_owners(question, table)).relation is Relation.CONFIG


def test_a_real_process_is_found_by_its_environment(tmp_path: Path) -> None:
    """A child with the variable and an argument ``openclaw`` is seen in the system's table until it is killed."""
    question = _question(tmp_path)
    code = "import sys; sys.stdout.write('up'); sys.stdout.flush(); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "openclaw"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "OPENCLAW_STATE_DIR": str(question.state)},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.read(2) == b"up"
        owner = _only(find_owners(question, SystemProcesses()))
        assert (owner.pid, owner.live) == (child.pid, Liveness.ALIVE)
        assert owner.since_ms == pytest.approx(time.time() * 1000, abs=60_000)
        child.kill()
        child.wait(60)
    assert find_owners(question, SystemProcesses()) == ()


def test_the_blanks_after_a_lock_of_2026_9_are_accepted() -> None:
    """A real 2026.9.6 gateway ends its lock in a line of tabs and spaces that tells its writer."""
    payload = parse_gateway_lock(b'{"pid": 7, "createdAt": "x", "configPath": "/c", "port": 19877}\n\t\t  \t \t\t ')
    assert payload == GatewayPayload(pid=7, created_ms=None, config_path="/c", port=19877)
