"""How the real program's loader (2026.5.22) spells providers and models, so that a stated model is found again."""

from __future__ import annotations

import msgspec

from strandline.ecmascript import trim

DEFAULT_PROVIDER = "openai"
DEFAULT_MODEL = "gpt-5.5"

_PROVIDERS = {
    "modelstudio": "qwen",
    "qwencloud": "qwen",
    "z.ai": "zai",
    "z-ai": "zai",
    "opencode-zen": "opencode",
    "opencode-go-auth": "opencode-go",
    "anthropic-cli": "claude-cli",
    "kimi-code": "kimi",
    "kimi-coding": "kimi",
    "moonshotai": "moonshot",
    "moonshot-ai": "moonshot",
    "bedrock": "amazon-bedrock",
    "aws-bedrock": "amazon-bedrock",
    "bytedance": "volcengine",
    "doubao": "volcengine",
}
_GOOGLE = frozenset({"google", "google-gemini-cli", "google-vertex"})
_GEMINI = {
    "gemini-3-pro": "gemini-3.1-pro-preview",
    "gemini-3-pro-preview": "gemini-3.1-pro-preview",
    "gemini-3.1-pro": "gemini-3.1-pro-preview",
    "gemini-3-flash": "gemini-3-flash-preview",
    "gemini-3.1-flash": "gemini-3-flash-preview",
    "gemini-3.1-flash-preview": "gemini-3-flash-preview",
    "gemini-3.1-flash-lite": "gemini-3.1-flash-lite-preview",
}
_CLAUDE = {
    "opus-4.6": "claude-opus-4-6",
    "opus-4.5": "claude-opus-4-5",
    "sonnet-4.6": "claude-sonnet-4-6",
    "sonnet-4.5": "claude-sonnet-4-5",
}
_GROK_BETA = "grok-4.20-beta-latest"
_GROK = {
    "grok-code-fast-1": "grok-build-0.1",
    "grok-code-fast": "grok-build-0.1",
    "grok-code-fast-1-0825": "grok-build-0.1",
    "grok-4-fast-reasoning": "grok-4-fast",
    "grok-4-1-fast-reasoning": "grok-4-1-fast",
    "grok-4.20-experimental-beta-0304-reasoning": f"{_GROK_BETA}-reasoning",
    "grok-4.20-reasoning": f"{_GROK_BETA}-reasoning",
    "grok-4.20-experimental-beta-0304-non-reasoning": f"{_GROK_BETA}-non-reasoning",
    "grok-4.20-non-reasoning": f"{_GROK_BETA}-non-reasoning",
}


class ModelRef(msgspec.Struct, frozen=True):
    """A provider and one of its models."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"


def normalise_provider(name: str) -> str:
    """Return the provider id that a name stands for, lower-case."""
    lowered = trim(name).lower()
    return _PROVIDERS.get(lowered, lowered)


def normalise_model_id(provider: str, model: str) -> str:
    """Return the id under which ``provider`` (already normalised) knows ``model``."""
    lowered = model.lower()
    if provider == "anthropic":
        return _CLAUDE.get(lowered, model)
    if provider in _GOOGLE:
        return _GEMINI.get(lowered, model)
    if provider == "vercel-ai-gateway":
        known = _CLAUDE.get(lowered, model)
        return f"anthropic/{known}" if "/" not in known and known.lower().startswith("claude-") else known
    if provider in {"openrouter", "nvidia"}:
        return model if "/" in model else f"{provider}/{model}"
    if provider == "huggingface":
        return model.removeprefix("huggingface/")
    if provider == "xai":
        return _GROK.get(lowered, model)
    return model


DEFAULT_ALIASES = {
    "anthropic/claude-opus-4-7": "opus",
    "anthropic/claude-sonnet-4-6": "sonnet",
    "openai/gpt-5.4": "gpt",
    "openai/gpt-5.4-mini": "gpt-mini",
    "openai/gpt-5.4-nano": "gpt-nano",
    "google/gemini-3.1-pro-preview": "gemini",
    "google/gemini-3-flash-preview": "gemini-flash",
    "google/gemini-3.1-flash-lite-preview": "gemini-flash-lite",
}
"""Aliases that the loader gives to models of ``agents.defaults.models`` that state none."""


def normalise_reference(text: str) -> str:
    """Return a stated ``provider/model`` as the loader rewrites it; anything else is only trimmed."""
    stated = trim(text)
    slash = stated.find("/")
    if slash <= 0 or slash == len(stated) - 1:
        return stated
    provider, model = normalise_provider(stated[:slash]), trim(stated[slash + 1 :])
    if provider in _GOOGLE:
        model = _GEMINI.get(model, model)
    elif model.startswith("google/"):
        inner = model.removeprefix("google/")
        model = f"google/{_GEMINI.get(inner, inner)}"
    return model if model.lower().startswith(f"{provider}/") else f"{provider}/{model}"
