"""The answers of ``openclaw sessions`` and ``openclaw status`` in JSON, field for field (spec 2026.5 §13.1, §13.2).

The records' field order is the order of the keys; a field that the real program leaves out is ``UNSET``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from strandline.ecmascript import JsonValue, is_number, round_half_up
from strandline.loading import stored_tokens
from strandline.rows import SessionRow
from strandline.settings.model_ids import ModelRef
from strandline.state.keys import is_acp_key
from strandline.tokens.selection import ListedModels, StatusModels, StoredModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from strandline.settings.policies import AgentsPolicy

DEFAULT_LIMIT = 100
RECENT_ROWS = 10
_MAX_PERCENT = 999
_MINUTE_MS = 60_000
_LAST_EXACT = 2**53

Stored: TypeAlias = "JsonValue | UnsetType"


class ListingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to list.

    Attributes:
        agent: one configured agent; ``None`` is the default agent.
        all_agents: every configured agent.
        store: a store file instead, as typed.
        active_minutes: only rows changed within these minutes.
        limit: most rows to give; ``None`` gives all.
        filter_text: filter expression; empty keeps every row.
    """

    agent: str | None = None
    all_agents: bool = False
    store: str | None = None
    active_minutes: int | None = None
    limit: int | None = DEFAULT_LIMIT
    filter_text: str = ""


class ListedStore(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A store that was listed."""

    agent_id: str
    path: str


class ListedSession(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One row of the list; ``ageMs`` and ``updatedAt`` are null when unknown."""

    key: str
    updated_at: int | float | None
    age_ms: int | float | None
    session_id: str | UnsetType = UNSET
    system_sent: Stored = UNSET
    aborted_last_run: Stored = UNSET
    thinking_level: Stored = UNSET
    verbose_level: Stored = UNSET
    trace_level: Stored = UNSET
    reasoning_level: Stored = UNSET
    elevated_level: Stored = UNSET
    response_usage: Stored = UNSET
    group_activation: Stored = UNSET
    input_tokens: Stored = UNSET
    output_tokens: Stored = UNSET
    total_tokens: int | float | None
    total_tokens_fresh: bool
    model: str
    model_provider: str
    provider_override: Stored = UNSET
    model_override: Stored = UNSET
    context_tokens: JsonValue
    agent_id: str
    acp_runtime: bool
    kind: str
    runtime_policy_session_key: str | UnsetType = UNSET


class StoreProblem(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A store that could not be listed; its sessions are unknown."""

    agent_id: str
    path: str
    reason: str


class SessionListing(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The list. ``authority`` and ``damage`` appear only where the real program would say nothing or the wrong thing.

    Attributes:
        count: rows given; ``None`` when no store could be read.
        total_count: rows before the limit; ``None`` when no store could be read.
    """

    path: str | None
    stores: tuple[ListedStore, ...] | UnsetType = UNSET
    all_agents: bool | UnsetType = UNSET
    count: int | None
    total_count: int | None
    limit_applied: int | None
    has_more: bool
    active_minutes: int | None
    sessions: tuple[ListedSession, ...]
    authority: str | UnsetType = UNSET
    damage: tuple[StoreProblem, ...] | UnsetType = UNSET


class StatusDefaults(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Model and window that hold where a row says nothing."""

    model: str
    context_tokens: int | float


class StatusSession(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One recent session; token fields are null when unknown."""

    agent_id: str | UnsetType = UNSET
    key: str
    kind: str
    session_id: str | UnsetType = UNSET
    updated_at: int | float | None
    age: int | float | None
    thinking_level: Stored = UNSET
    fast_mode: Stored = UNSET
    verbose_level: Stored = UNSET
    trace_level: Stored = UNSET
    reasoning_level: Stored = UNSET
    elevated_level: Stored = UNSET
    system_sent: Stored = UNSET
    aborted_last_run: Stored = UNSET
    input_tokens: Stored = UNSET
    output_tokens: Stored = UNSET
    cache_read: Stored = UNSET
    cache_write: Stored = UNSET
    total_tokens: int | float | None
    total_tokens_fresh: bool
    remaining_tokens: int | float | None
    percent_used: int | None
    model: str
    selected_model: str
    context_tokens: int | float
    flags: tuple[str, ...]


class StatusAgent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The sessions of one agent."""

    agent_id: str
    path: str
    count: int | None
    recent: tuple[StatusSession, ...]


class StatusSessions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The ``sessions`` block of the status."""

    paths: tuple[str, ...]
    count: int | None
    defaults: StatusDefaults
    recent: tuple[StatusSession, ...]
    by_agent: tuple[StatusAgent, ...]


class StatusReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The status; see ``SessionListing`` for ``authority`` and ``damage``."""

    sessions: StatusSessions
    authority: str | UnsetType = UNSET
    damage: tuple[StoreProblem, ...] | UnsetType = UNSET


class AgentRows(msgspec.Struct, frozen=True, kw_only=True):
    """What a report is made from: one agent, its store and that store's rows (``None`` when it cannot be read)."""

    agent_id: str
    path: str
    rows: tuple[SessionRow, ...] | None


def newest_first(rows: Iterable[SessionRow]) -> list[SessionRow]:
    """Order rows by their last change; rows without one count as oldest, ties keep their order."""
    return sorted(rows, key=lambda row: -(row.updated_at or 0))


def list_sessions(
    groups: Sequence[AgentRows],
    request: ListingRequest,
    agents: AgentsPolicy,
    now_ms: int,
    keep: Callable[[SessionRow], bool] | None = None,
) -> SessionListing:
    """Answer a list request over rows that were read.

    Args:
        groups: the stores that the request means, each with its rows.
        request: what to list.
        agents: models and windows of the configuration.
        now_ms: the time that ages count to, ms since the epoch.
        keep: a further condition on rows; none when left out.
    """
    models = ListedModels(agents)
    aggregate = request.all_agents
    readable = [group for group in groups if group.rows is not None]
    rows = [(row, group.agent_id) for group in readable for row in group.rows or () if row.dropped is None]
    if request.active_minutes is not None:
        span = request.active_minutes * _MINUTE_MS
        rows = [pair for pair in rows if pair[0].updated_at is not None and now_ms - pair[0].updated_at <= span]
    if keep is not None:
        rows = [pair for pair in rows if keep(pair[0])]
    rows.sort(key=lambda pair: -(pair[0].updated_at or 0))
    given = rows if request.limit is None else rows[: request.limit]
    known = bool(readable) or not groups
    return SessionListing(
        path=None if aggregate else groups[0].path,
        stores=tuple(ListedStore(agent_id=group.agent_id, path=group.path) for group in groups) if aggregate else UNSET,
        all_agents=True if aggregate else UNSET,
        count=len(given) if known else None,
        total_count=len(rows) if known else None,
        limit_applied=request.limit,
        has_more=len(given) < len(rows),
        active_minutes=request.active_minutes,
        sessions=tuple(_listed(row, agent_id, models, now_ms) for row, agent_id in given),
    )


def report_status(groups: Sequence[AgentRows], agents: AgentsPolicy, now_ms: int) -> StatusReport:
    """Answer a status request.

    Args:
        groups: every agent with its store; a store that several agents share appears for each.
        agents: models and windows of the configuration.
        now_ms: the time that ages count to, ms since the epoch.
    """
    models = StatusModels(agents)
    by_path = {group.path: group for group in reversed(groups)}
    paths = tuple(dict.fromkeys(group.path for group in groups))
    everything = newest_first(row for path in paths for row in _counted(by_path[path]))
    by_agent: list[StatusAgent] = []
    for group in groups:
        counted = newest_first(_counted(group))
        by_agent.append(
            StatusAgent(
                agent_id=group.agent_id,
                path=group.path,
                count=None if group.rows is None else len(counted),
                recent=tuple(_recent(row, models, now_ms, group.agent_id) for row in counted[:RECENT_ROWS]),
            )
        )
    known = any(group.rows is not None for group in groups) or not groups
    return StatusReport(
        sessions=StatusSessions(
            paths=paths,
            count=len(everything) if known else None,
            defaults=StatusDefaults(model=models.default.model, context_tokens=models.default_window),
            recent=tuple(_recent(row, models, now_ms, None) for row in everything[:RECENT_ROWS]),
            by_agent=tuple(by_agent),
        )
    )


def _counted(group: AgentRows) -> list[SessionRow]:
    return [row for row in group.rows or () if row.dropped is None and row.key not in {"global", "unknown"}]


def _stored_model(row: SessionRow) -> StoredModel:
    return StoredModel(
        model=row.model,
        provider=row.model_provider,
        model_override=row.listed.get("modelOverride"),
        provider_override=row.listed.get("providerOverride"),
    )


def _listed(row: SessionRow, store_agent: str, models: ListedModels, now_ms: int) -> ListedSession:
    stored = row.listed.get
    acp = "acp" in row.listed
    ref = models.model_of(row.key, _stored_model(row))
    if acp and is_acp_key(row.key):
        ref = ModelRef("acpx", f"{row.agent_id if row.scoped else 'acp'}-acp")
    policy = stored("runtimePolicySessionKey", UNSET)
    return ListedSession(
        key=row.key,
        updated_at=row.updated_at,
        age_ms=_minus(now_ms, row.updated_at) if row.updated_at else None,
        session_id=UNSET if row.session_id is None else row.session_id,
        system_sent=stored("systemSent", UNSET),
        aborted_last_run=stored("abortedLastRun", UNSET),
        thinking_level=stored("thinkingLevel", UNSET),
        verbose_level=stored("verboseLevel", UNSET),
        trace_level=stored("traceLevel", UNSET),
        reasoning_level=stored("reasoningLevel", UNSET),
        elevated_level=stored("elevatedLevel", UNSET),
        response_usage=stored("responseUsage", UNSET),
        group_activation=stored("groupActivation", UNSET),
        input_tokens=stored("inputTokens", UNSET),
        output_tokens=stored("outputTokens", UNSET),
        total_tokens=row.total_tokens,
        total_tokens_fresh=row.total_tokens_fresh,
        model=ref.model,
        model_provider=ref.provider,
        provider_override=stored("providerOverride", UNSET),
        model_override=stored("modelOverride", UNSET),
        context_tokens=models.window_of(stored("contextTokens"), ref.model),
        agent_id=row.agent_id if row.scoped else store_agent,
        acp_runtime=acp,
        kind=row.kind.value,
        runtime_policy_session_key=policy if isinstance(policy, str) else UNSET,
    )


def _recent(row: SessionRow, models: StatusModels, now_ms: int, agent_id: str | None) -> StatusSession:
    stored = row.listed.get
    total, fresh = stored_tokens(row.listed)
    ref = models.model_of(_stored_model(row), agent_id)
    window = models.window_of(stored("contextTokens"), ref)
    named_agent = agent_id if agent_id is not None else row.agent_id if row.scoped else None
    return StatusSession(
        agent_id=UNSET if named_agent is None else named_agent,
        key=row.key,
        kind=row.kind.value,
        session_id=UNSET if row.session_id is None else row.session_id,
        updated_at=row.updated_at,
        age=_minus(now_ms, row.updated_at) if row.updated_at else None,
        thinking_level=stored("thinkingLevel", UNSET),
        fast_mode=stored("fastMode", UNSET),
        verbose_level=stored("verboseLevel", UNSET),
        trace_level=stored("traceLevel", UNSET),
        reasoning_level=stored("reasoningLevel", UNSET),
        elevated_level=stored("elevatedLevel", UNSET),
        system_sent=stored("systemSent", UNSET),
        aborted_last_run=stored("abortedLastRun", UNSET),
        input_tokens=stored("inputTokens", UNSET),
        output_tokens=stored("outputTokens", UNSET),
        cache_read=stored("cacheRead", UNSET),
        cache_write=stored("cacheWrite", UNSET),
        total_tokens=total,
        total_tokens_fresh=fresh,
        remaining_tokens=None if total is None else max(0, _minus(window, total)),
        percent_used=None if total is None or window <= 0 else min(_MAX_PERCENT, round_half_up(total / window * 100)),
        model=ref.model,
        selected_model=str(ref),
        context_tokens=window,
        flags=tuple(_flags(row)),
    )


def _flags(row: SessionRow) -> Iterable[str]:
    stored = row.listed.get
    for word, name in (("think", "thinkingLevel"), ("verbose", "verboseLevel")):
        yield from _worded(word, stored(name))
    fast = stored("fastMode")
    if isinstance(fast, bool):
        yield "fast" if fast else "fast:off"
    for word, name in (("reasoning", "reasoningLevel"), ("elevated", "elevatedLevel")):
        yield from _worded(word, stored(name))
    if _truthy(stored("systemSent")):
        yield "system"
    if _truthy(stored("abortedLastRun")):
        yield "aborted"
    if row.session_id:
        yield f"id:{row.session_id}"


def _worded(word: str, value: JsonValue) -> Iterable[str]:
    if isinstance(value, str) and value:
        yield f"{word}:{value}"


def _minus(left: float, right: float) -> int | float:
    """Return the difference as JavaScript has it: above 2**53 whole numbers are doubles too."""
    exact = abs(left) <= _LAST_EXACT and abs(right) <= _LAST_EXACT
    return left - right if exact else float(left) - float(right)


def _truthy(value: JsonValue) -> bool:
    return bool(value) or isinstance(value, list | dict) or (is_number(value) and value != 0)
