"""How much a model's context holds: the two answers that steer a turn (spec 2026.5 §7).

The real program asks twice and may answer differently. The *run budget* holds inside a run (precheck, compaction after
a turn); the *pressure window* is taken for the status, the totals, the compaction before a run and the memory flush.
Both are here with their source in words; two more, which only print lists, are in ``tokens.selection``.
Windows are in tokens.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from strandline.ecmascript import is_finite_number
from strandline.settings.model_ids import ModelRef, normalise_provider
from strandline.tokens.selection import DEFAULT_WINDOW
from strandline.tokens.words import count_text

if TYPE_CHECKING:
    from strandline.settings.policies import AgentsPolicy, ModelWindow

MILLION_WINDOW = 1_048_576

_MILLION_FAMILIES = ("claude-opus-4", "claude-sonnet-4")
_MILLION_PROVIDERS = frozenset({"anthropic", "claude-cli"})


class WindowSource(StrEnum):
    """Where a window comes from."""

    CONFIGURED = "models.providers"
    CAP = "agents.defaults.contextTokens"
    MILLION_RULE = "rule for Claude 4 of Anthropic"
    LAST_RUN = "last run"
    CATALOGUE = "offline catalogue"
    DEFAULT = "default"


class WindowAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A window with its grounds.

    Attributes:
        tokens: the window; at least 1.
        source: where it comes from.
        why: the same as one sentence.
        sure: whether the real program would use this very number; not so for what stands in for its own model list.
    """

    tokens: int
    source: WindowSource
    why: str
    sure: bool = True


class Windows(msgspec.Struct, frozen=True, kw_only=True):
    """Both windows of a session.

    Attributes:
        run: the run budget: precheck inside a run, compaction after a turn.
        pressure: the window for status, totals, preflight compaction and memory flush.
    """

    run: WindowAnswer
    pressure: WindowAnswer

    @property
    def disagreement(self) -> str | None:
        """One sentence when the two differ, else ``None``."""
        if self.run.tokens == self.pressure.tokens:
            return None
        return (
            f"The run budget is {count_text(self.run.tokens)} tokens ({self.run.source}), but memory flush and the "
            f"compaction before a run reckon with {count_text(self.pressure.tokens)} ({self.pressure.source})."
        )


class WindowGuard(msgspec.Struct, frozen=True, kw_only=True):
    """What the real program says to a small window before a run.

    Attributes:
        hard_minimum: below this a run is refused.
        warn_below: below this it is warned of.
        refuses: whether the window is refused.
        warns: whether it is warned of.
    """

    hard_minimum: int
    warn_below: int
    refuses: bool
    warns: bool


def resolve_windows(
    agents: AgentsPolicy, ref: ModelRef, *, last_run: float | None = None, catalogue: int | None = None
) -> Windows:
    """Return both windows for a model.

    The real program knows models from a list of its own, which is not read here. What a row stored at its last run
    stands in for it, then the offline catalogue.

    Args:
        agents: the configuration.
        ref: provider and model.
        last_run: ``contextTokens`` of the row, when the last run used this model.
        catalogue: the window in ``tokens.catalogue``, when it knows the model.
    """
    known = _known(last_run, catalogue)
    return Windows(run=_run(agents, ref, known), pressure=_pressure(agents, ref, known))


def guard_window(answer: WindowAnswer, *, reference: int | None = None) -> WindowGuard:
    """Return how the real program guards against a window that is too small.

    Args:
        answer: the run budget.
        reference: the model's own window when ``agents.defaults.contextTokens`` capped it; the limits go by that one.
    """
    base = reference or answer.tokens
    hard = min(max(4_000, base // 10), max(answer.tokens, 4_000))
    warn = max(8_000, base // 5)
    return WindowGuard(
        hard_minimum=hard, warn_below=warn, refuses=answer.tokens < hard, warns=answer.tokens < warn
    )  # fmt: skip


def _run(agents: AgentsPolicy, ref: ModelRef, known: WindowAnswer | None) -> WindowAnswer:
    provider = normalise_provider(ref.provider)
    # The first entry whose name means the provider is the only one looked at.
    name = next((name for name in agents.provider_models if normalise_provider(name) == provider), None)
    stated = next((_whole(w.tokens) for w in agents.windows if w.provider == name and w.model == ref.model), None)
    base = _configured(name or provider, ref.model, stated) if stated else known or _default()
    cap = agents.context_tokens
    if cap is None or not 0 < cap < base.tokens:
        return base
    return WindowAnswer(
        tokens=cap,
        source=WindowSource.CAP,
        why=f"agents.defaults.contextTokens caps {count_text(base.tokens)} ({base.source}) at {count_text(cap)}.",
    )


def _pressure(agents: AgentsPolicy, ref: ModelRef, known: WindowAnswer | None) -> WindowAnswer:
    if agents.context_tokens:
        return WindowAnswer(
            tokens=agents.context_tokens,
            source=WindowSource.CAP,
            why=f"agents.defaults.contextTokens says {count_text(agents.context_tokens)}; nothing else is asked.",
        )
    if normalise_provider(ref.provider) in _MILLION_PROVIDERS and _family(ref.model).startswith(_MILLION_FAMILIES):
        return WindowAnswer(
            tokens=MILLION_WINDOW,
            source=WindowSource.MILLION_RULE,
            why=f"{ref} is taken to hold {count_text(MILLION_WINDOW)}, even over a configured window.",
        )
    window = _stated_for(agents, ref)
    if window is not None:
        return _configured(window.provider, window.model, _whole(window.tokens))
    # The model list of a gateway is keyed by the bare id: a window stated for another provider answers too.
    others = [window for window in agents.windows if window.model == ref.model]
    if others:
        return _configured(others[-1].provider, ref.model, _whole(others[-1].tokens), sure=False)
    return known or _default()


def _stated_for(agents: AgentsPolicy, ref: ModelRef) -> ModelWindow | None:
    lowered, provider = ref.provider.strip().lower(), normalise_provider(ref.provider)
    matching = [window for window in agents.windows if window.model == ref.model and window.tokens > 0]
    exact = next((window for window in matching if window.provider.strip().lower() == lowered), None)
    return exact or next((window for window in matching if normalise_provider(window.provider) == provider), None)


def _configured(provider: str, model: str, tokens: int, *, sure: bool = True) -> WindowAnswer:
    why = f"models.providers.{provider} gives {model} {count_text(tokens)}."
    return WindowAnswer(tokens=tokens, source=WindowSource.CONFIGURED, why=why, sure=sure)


def _known(last_run: float | None, catalogue: int | None) -> WindowAnswer | None:
    if is_finite_number(last_run) and last_run >= 1:
        tokens = math.floor(last_run)
        why = f"The last run used {count_text(tokens)}, as the row says."
        return WindowAnswer(tokens=tokens, source=WindowSource.LAST_RUN, why=why, sure=False)
    if catalogue is not None and catalogue > 0:
        why = f"The offline catalogue says {count_text(catalogue)}; OpenClaw asks its own model list."
        return WindowAnswer(tokens=catalogue, source=WindowSource.CATALOGUE, why=why, sure=False)
    return None


def _default() -> WindowAnswer:
    why = f"Nothing is known of the model; {count_text(DEFAULT_WINDOW)} is built in."
    return WindowAnswer(tokens=DEFAULT_WINDOW, source=WindowSource.DEFAULT, why=why, sure=False)


def _family(model: str) -> str:
    return model.strip().lower().rsplit("/", 1)[-1]


def _whole(tokens: float) -> int:
    return max(1, math.floor(tokens))
