"""Which model a row stands for, the two ways the real program answers that (spec 2026.5 §13.1, §13.2).

``openclaw sessions`` and ``openclaw status`` do not share a resolver: the list splits a reference at its first slash
and leaves spellings alone, the status rewrites providers and ids and knows aliases. Both are here, side by side, so
that each command says what its original says. Neither asks a network or a catalogue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from strandline.ecmascript import JsonValue, is_number, trim
from strandline.settings.model_ids import (
    DEFAULT_MODEL,
    DEFAULT_PROVIDER,
    ModelRef,
    normalise_model_id,
    normalise_provider,
)

if TYPE_CHECKING:
    from strandline.settings.policies import AgentsPolicy

DEFAULT_WINDOW = 200_000

_BUNDLED_CLI_PROVIDERS = frozenset({"claude-cli", "google-gemini-cli"})


class StoredModel(msgspec.Struct, frozen=True, kw_only=True):
    """What a row says about its model.

    Attributes:
        model: model of the last turn, trimmed; ``None`` when no turn was stored.
        provider: its provider.
        model_override: the session's own choice, raw.
        provider_override: the provider of that choice, raw.
    """

    model: str | None = None
    provider: str | None = None
    model_override: JsonValue = None
    provider_override: JsonValue = None


class ListedModels:
    """Models and windows as ``openclaw sessions`` prints them (spec 2026.5 §13.1)."""

    def __init__(self, agents: AgentsPolicy) -> None:
        self._agents = agents
        self._cli = _BUNDLED_CLI_PROVIDERS | {normalise_provider(name) for name in agents.cli_backends}
        # Looked up by the bare model id, whoever provides it; a later provider overwrites an earlier one.
        self._windows = {window.model: window.tokens for window in agents.windows}
        self._default = _split(agents.default_model or DEFAULT_MODEL, DEFAULT_PROVIDER)
        self._default_window = self._windows.get(self._default.model, DEFAULT_WINDOW)
        self._by_agent: dict[str | None, ModelRef] = {None: self._default}

    def model_of(self, key: str, stored: StoredModel) -> ModelRef:
        """Return provider and model of a row: its override, else its last turn, else the agent's default."""
        default = self._default_of(key)
        override = stored.model_override
        if isinstance(override, str) and (chosen := trim(override)):
            provider = trim(stored.provider_override) if isinstance(stored.provider_override, str) else None
            if provider and chosen.lower().startswith(f"{provider.lower()}/"):
                chosen = trim(chosen[len(provider) + 1 :]) or chosen
            return _split(chosen, default.provider if provider is None else provider)
        if stored.model is not None:
            return self._off_command_line(_split(stored.model, stored.provider or default.provider), default)
        return default

    def window_of(self, stored_window: JsonValue, model: str) -> JsonValue:
        """Return the context window in tokens; a stored one of whatever type wins, as there."""
        if stored_window is not None:
            return stored_window
        if self._agents.context_tokens is not None:
            return self._agents.context_tokens
        return self._windows.get(model, self._default_window)

    def _default_of(self, key: str) -> ModelRef:
        # The raw key is split: an upper-case "AGENT:" or a padded key finds no agent.
        agent = key.split(":", 2)[1] if key.startswith("agent:") else None
        known = self._by_agent.get(agent)
        if known is None:
            stated = next((entry.model for entry in self._agents.listed if entry.stated_id == agent), None)
            known = self._by_agent[agent] = _split(stated, DEFAULT_PROVIDER) if stated else self._default
        return known

    def _off_command_line(self, ref: ModelRef, default: ModelRef) -> ModelRef:
        """Name the model behind a command-line back end such as ``claude-cli``."""
        if not self._is_cli(ref.provider):
            return ref
        split = _split(ref.model, default.provider)
        if "/" in ref.model and not self._is_cli(split.provider):
            return split
        inferred = self._infer_provider(ref.model)
        if inferred is not None and not self._is_cli(inferred):
            return ModelRef(inferred, ref.model)
        if not self._is_cli(split.provider):
            return split
        return ModelRef(default.provider or ref.provider, split.model or ref.model)

    def _is_cli(self, provider: str) -> bool:
        return normalise_provider(provider) in self._cli

    def _infer_provider(self, model: str) -> str | None:
        wanted = model.lower()
        found: set[str] = set()
        for name in self._agents.configured_models:
            if "/" in name and not name.endswith("/*"):
                ref = _split(name, DEFAULT_PROVIDER)
                if ref.model.lower() == wanted:
                    found.add(normalise_provider(ref.provider))
        for provider, ids in self._agents.provider_models.items():
            if any(known.lower() == wanted for known in ids):
                found.add(normalise_provider(provider))
        return found.pop() if len(found) == 1 else None


class StatusModels:
    """Models and windows as ``openclaw status`` prints them (spec 2026.5 §13.2)."""

    def __init__(self, agents: AgentsPolicy) -> None:
        self._agents = agents
        self.default = self._configured(None)
        self.default_window = self._window(self.default, agents.context_tokens, DEFAULT_WINDOW)

    def model_of(self, stored: StoredModel, agent_id: str | None) -> ModelRef:
        """Return the model of a row.

        Args:
            stored: what the row says.
            agent_id: the agent whose default applies; ``None`` for rows listed across agents.
        """
        default_provider = self._configured(agent_id).provider or DEFAULT_PROVIDER
        override, provider = _text(stored.model_override), _text(stored.provider_override)
        if override:
            full = f"{provider}/{override}" if provider else override
            return self._parse(full, default_provider) or ModelRef(provider or default_provider, override)
        if stored.model and stored.provider:
            return ModelRef(stored.provider, stored.model)
        if stored.model:
            return self._parse(stored.model, default_provider) or ModelRef(default_provider, stored.model)
        return self._configured(agent_id)

    def window_of(self, stored_window: JsonValue, ref: ModelRef) -> int | float:
        """Return the context window of a row in tokens."""
        return self._window(ref, stored_window, self.default_window)

    def _configured(self, agent_id: str | None) -> ModelRef:
        stated = next((entry.model for entry in self._agents.listed if entry.stated_id == agent_id), None)
        for text in (stated, self._agents.default_model):
            ref = self._from_text(text) if text else None
            if ref is not None:
                return ref
        if self._agents.provider_models and DEFAULT_PROVIDER not in self._agents.provider_models:
            for provider, ids in self._agents.provider_models.items():
                if ids and ids[0]:
                    return ModelRef(provider, ids[0])
        return ModelRef(DEFAULT_PROVIDER, DEFAULT_MODEL)

    def _from_text(self, text: str) -> ModelRef | None:
        if "/" in text:
            return self._parse(text, DEFAULT_PROVIDER)
        alias = self._agents.model_aliases.get(text.lower())
        return self._parse(alias, DEFAULT_PROVIDER) if alias else ModelRef(DEFAULT_PROVIDER, text)

    def _parse(self, text: str, default_provider: str) -> ModelRef | None:
        trimmed = trim(text)
        if not trimmed:
            return None
        if trimmed.lower() == "openrouter:auto":
            return _normalised("openrouter", "auto")
        if "/" not in trimmed:
            return _normalised(default_provider, trimmed)
        provider, _, model = trimmed.partition("/")
        if not trim(provider) or not trim(model):
            return None
        return _normalised(trim(provider), trim(model))

    def _window(self, ref: ModelRef, stored: JsonValue, fallback: float) -> int | float:
        if is_number(stored) and stored > 0:
            return stored
        provider = normalise_provider(ref.provider)
        for window in self._agents.windows:
            if normalise_provider(window.provider) == provider and window.model == ref.model:
                return window.tokens
        return fallback


def _normalised(provider: str, model: str) -> ModelRef:
    known = normalise_provider(provider)
    return ModelRef(known, normalise_model_id(known, trim(model)))


def _split(text: str, default_provider: str) -> ModelRef:
    trimmed = trim(text)
    if not trimmed:
        return ModelRef(default_provider, DEFAULT_MODEL)
    slash = trimmed.find("/")
    if slash <= 0 or slash == len(trimmed) - 1:
        return ModelRef(default_provider, trimmed)
    return ModelRef(
        trim(trimmed[:slash]) or default_provider,
        trim(trimmed[slash + 1 :]) or DEFAULT_MODEL,
    )


def _text(value: JsonValue) -> str | None:
    return trim(value) or None if isinstance(value, str) else None
