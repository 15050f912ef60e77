"""Which state directory, which configuration, which stores (spec 2026.5 §1.1, §1.2; 2026.9 §B1).

Everything here only looks. The environment is passed in: variables, home, clock and platform as one record.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from strandline.ecmascript import trim
from strandline.errors import BadRequest, EnvironmentFault
from strandline.settings.document import (
    ConfigDocument,
    absent_document,
    parse_document,
    unreadable_document,
)
from strandline.state import fsys
from strandline.state.keys import normalise_agent_id
from strandline.state.processes import ProcessTable, SystemProcesses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strandline.settings.policies import AgentsPolicy

CONFIG_NAME = "openclaw.json"
LEGACY_CONFIG_NAME = "clawdbot.json"
NEWER_STORE_NAME = "openclaw-agent.sqlite"
SAMPLE_MARKER = ".strandline-sample.json"

_PROFILE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def system_clock_ms() -> int:
    """Return the time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def user_scratch() -> Path:
    """Return a directory below the user's cache directory."""
    import platformdirs  # noqa: PLC0415 - costs every start what few need

    return platformdirs.user_cache_path("strandline", appauthor=False) / "scratch"


def system_temporary() -> Path:
    """Return the directory for temporary files, as OpenClaw's process would find it."""
    import tempfile  # noqa: PLC0415 - costs every start what few need

    return Path(tempfile.gettempdir())


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """What the core is told of the world around it.

    Attributes:
        variables: environment variables.
        home: the user's home directory as the system knows it.
        working_directory: against which relative paths are resolved.
        scratch: says which directory of our own takes copies that live for a moment; it need not exist.
        temporary: says which directory programs of this system keep temporary files in.
        user_id: the user's number; ``None`` where users have none.
        processes: the process table, asked whether somebody lives.
        now_ms: the clock, milliseconds since the epoch.
    """

    variables: Mapping[str, str]
    home: Path
    working_directory: Path
    now_ms: Callable[[], int] = system_clock_ms
    scratch: Callable[[], Path] = user_scratch
    temporary: Callable[[], Path] = system_temporary
    user_id: int | None = None
    processes: ProcessTable = msgspec.field(default_factory=SystemProcesses)

    @classmethod
    def of_process(cls) -> Environment:
        """Return the environment of this process.

        Raises:
            EnvironmentFault: the working directory was removed.
        """
        try:
            here = Path.cwd()
        except OSError as error:
            raise EnvironmentFault(
                "Cannot tell the working directory, it seems to be removed; change into another directory."
            ) from error
        return cls(
            variables=dict(os.environ),
            home=Path.home(),
            working_directory=here,
            user_id=os.getuid() if hasattr(os, "getuid") else None,
        )


class StateDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """A state directory that was chosen, and why.

    Attributes:
        path: the directory, absolute.
        found_by: the flag, variable or default that led to it.
        config_path: the configuration that applies; it may not exist.
        sample: whether it is Strandline's own sample data.
        legacy_sessions: ``<state>/sessions`` of old releases when it is there; the real program ignores it.
    """

    path: Path
    found_by: str
    config_path: Path
    sample: bool = False
    legacy_sessions: Path | None = None


class StoreLocation(msgspec.Struct, frozen=True, kw_only=True):
    """Where a store lies.

    Attributes:
        agent_id: the agent it belongs to; of several that share a file, the first.
        path: the store file, absolute; it may not exist.
        configured: whether the configuration names the agent; otherwise it was found on disk.
        newer_path: the agent's store in the newer SQLite form when that is there; else ``None``.
    """

    agent_id: str
    path: Path
    configured: bool
    newer_path: Path | None = None

    @property
    def sessions_dir(self) -> Path:
        """The directory that holds the store and its transcripts."""
        return self.path.parent


def home_of(environment: Environment) -> Path:
    """Return the home directory the real program goes by (``OPENCLAW_HOME`` before ``HOME``)."""
    base = _first_set(environment, "HOME", "USERPROFILE")
    home = Path(base) if base else environment.home
    override = _variable(environment, "OPENCLAW_HOME")
    if override is None or override in {"undefined", "null"}:
        return home
    return _resolve(override, home, environment.working_directory)


def choose_directory(
    path: Path | str | None, environment: Environment, *, profile: str | None = None
) -> StateDirectory:
    """Return the state directory to open.

    Args:
        path: the directory someone named; ``None`` follows the real program's own order.
        environment: variables and home.
        profile: a profile name, as ``--profile`` of the real program.

    Raises:
        BadRequest: a profile name with characters other than letters, digits, ``_`` and ``-``.
    """
    home = home_of(environment)
    if path is not None:
        state, found_by = _resolve(str(path), home, environment.working_directory), "named"
        legacy = False
    else:
        state, found_by, legacy = _default_directory(environment, home, profile)
    legacy_sessions = state / "sessions"
    return StateDirectory(
        path=state,
        found_by=found_by,
        config_path=_config_path(state, environment, home, explicit=path is not None, look_home=legacy or not path),
        sample=fsys.is_file(state / SAMPLE_MARKER),
        legacy_sessions=legacy_sessions if fsys.is_directory(legacy_sessions) else None,
    )


def candidate_directories(environment: Environment) -> tuple[StateDirectory, ...]:
    """Return the state directories that exist on this machine: the default one, legacy ones, profiles."""
    home = home_of(environment)
    named = [choose_directory(None, environment)]
    try:
        names = sorted(entry.name for entry in fsys.list_directory(home) if entry.is_dir)
    except EnvironmentFault:
        names = []
    for name in names:
        if name == ".clawdbot" or name.startswith(".openclaw"):
            found_by = f"profile {name.removeprefix('.openclaw-')}" if name.startswith(".openclaw-") else f"~/{name}"
            named.append(msgspec.structs.replace(choose_directory(home / name, environment), found_by=found_by))
    unique: dict[Path, StateDirectory] = {}
    for directory in named:
        unique.setdefault(directory.path, directory)
    return tuple(directory for directory in unique.values() if looks_like_state(directory.path))


def looks_like_state(path: Path) -> bool:
    """Tell whether a directory holds what a state directory holds: agents, or a configuration."""
    return any(fsys.exists(path / name) for name in ("agents", CONFIG_NAME, LEGACY_CONFIG_NAME))


def read_config(path: Path) -> ConfigDocument:
    """Read the configuration; one that cannot be read is damaged, never empty."""
    try:
        if fsys.identify(path) is None:
            return absent_document(str(path))
        return parse_document(str(path), fsys.read_bytes(path)[0])
    except EnvironmentFault as error:
        return unreadable_document(str(path), str(error))


def resolve_store(template: str | None, agent_id: str, state: Path, environment: Environment) -> Path:
    """Return the path of an agent's store (``session.store`` or the default place).

    ``{agentId}`` is replaced wherever it stands and a leading ``~`` expanded; nothing is trimmed and nothing has to
    exist, as in the real program.
    """
    agent = normalise_agent_id(agent_id)
    if not template:
        return state / "agents" / agent / "sessions" / "sessions.json"
    return _resolve(template.replace("{agentId}", agent), home_of(environment), environment.working_directory)


def configured_stores(
    agents: AgentsPolicy, template: str | None, state: Path, environment: Environment
) -> tuple[StoreLocation, ...]:
    """Return the stores that ``--all-agents`` means: the configured agents, one per file, in their order."""
    ids = dict.fromkeys((*agents.ids, *agents.acp_ids))
    found: dict[Path, StoreLocation] = {}
    for agent_id in ids:
        path = resolve_store(template, agent_id, state, environment)
        found.setdefault(path, _location(agent_id, path, state, configured=True))
    return tuple(found.values())


def all_stores(
    agents: AgentsPolicy, template: str | None, state: Path, environment: Environment
) -> tuple[StoreLocation, ...]:
    """Return the configured stores, then those of agents that are only found on disk."""
    configured = configured_stores(agents, template, state, environment)
    known = {location.path for location in configured}
    on_disk = [
        location
        for location in _stores_on_disk(state)
        if location.path not in known and not any(_same(location.path, path) for path in known)
    ]
    return (*configured, *on_disk)


def resolve_path(text: str, environment: Environment) -> Path:
    """Return the path that somebody typed, with ``~`` expanded."""
    return _resolve(text, home_of(environment), environment.working_directory)


def agent_directories(state: Path) -> tuple[str, ...]:
    """Return the names of the directories below ``<state>/agents``; links are not followed."""
    return tuple(sorted(entry.name for entry in fsys.list_directory(state / "agents") if entry.is_dir))


def tilde(path: Path | str, environment: Environment) -> str:
    """Return a path as people write it, with ``~`` for the home directory."""
    home = home_of(environment)
    try:
        below = Path(path).relative_to(home)
    except ValueError:
        return str(path)
    return str(Path("~") / below) if below.parts else "~"


def _default_directory(environment: Environment, home: Path, profile: str | None) -> tuple[Path, str, bool]:
    override = _variable(environment, "OPENCLAW_STATE_DIR")
    if override is not None:
        return _resolve(override, home, environment.working_directory), "OPENCLAW_STATE_DIR", False
    name = trim(profile or environment.variables.get("OPENCLAW_PROFILE", ""))
    if name and name.lower() != "default":
        if not _PROFILE.fullmatch(name):
            raise BadRequest(f'The profile "{name}" is no name; use letters, digits, "_" and "-" only.')
        return home / f".openclaw-{name}", f"profile {name}", False
    current, legacy = home / ".openclaw", home / ".clawdbot"
    if not fsys.exists(current) and fsys.exists(legacy):
        return legacy, "~/.clawdbot of an older release", True
    return current, "the default place", False


def _config_path(state: Path, environment: Environment, home: Path, *, explicit: bool, look_home: bool) -> Path:
    override = None if explicit else _variable(environment, "OPENCLAW_CONFIG_PATH")
    if override is not None:
        return _resolve(override, home, environment.working_directory)
    places = [state]
    if look_home and _variable(environment, "OPENCLAW_STATE_DIR") is None and state.name in {".openclaw", ".clawdbot"}:
        places += [home / ".openclaw", home / ".clawdbot"]
    candidates = [place / name for place in places for name in (CONFIG_NAME, LEGACY_CONFIG_NAME)]
    return next((path for path in candidates if fsys.exists(path)), state / CONFIG_NAME)


def _stores_on_disk(state: Path) -> Iterator[StoreLocation]:
    for name in agent_directories(state):
        agent_id = normalise_agent_id(name)
        if agent_id == "main" and name.lower() != "main":
            continue
        path = state / "agents" / name / "sessions" / "sessions.json"
        location = _location(agent_id, path, state, configured=False)
        if location.newer_path is not None or _may_hold_sessions(path.parent):
            yield location


def _may_hold_sessions(directory: Path) -> bool:
    """Tell whether a directory is there; where the system does not let us ask, the store's reading says so."""
    try:
        return directory.is_dir()
    except PermissionError:
        return True


def _location(agent_id: str, path: Path, state: Path, *, configured: bool) -> StoreLocation:
    beside = path.parent.parent / "agent" / NEWER_STORE_NAME
    newer = beside if path.parent.name == "sessions" else state / "agents" / agent_id / "agent" / NEWER_STORE_NAME
    return StoreLocation(
        agent_id=agent_id, path=path, configured=configured, newer_path=newer if fsys.is_file(newer) else None
    )


def _same(one: Path, other: Path) -> bool:
    """Tell whether two paths are one file; on case-insensitive volumes two spellings are."""
    try:
        return one.samefile(other)
    except OSError:
        return False


def _resolve(text: str, home: Path, working_directory: Path) -> Path:
    if text == "~" or text.startswith(("~/", "~\\")):
        # Put in front as text: "~//x" lies below the home directory, and "~\\x" is no separator on POSIX.
        return Path(os.path.normpath(f"{home}{text[1:]}"))
    return Path(os.path.normpath(working_directory / text))


def _variable(environment: Environment, name: str) -> str | None:
    return trim(environment.variables.get(name, "")) or None


def _first_set(environment: Environment, *names: str) -> str | None:
    for name in names:
        value = _variable(environment, name)
        if value is not None and value not in {"undefined", "null"}:
            return value
    return None
