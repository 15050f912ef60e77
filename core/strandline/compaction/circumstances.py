"""What besides settings decides whether a trigger is live for a session (spec 2026.5 §8.1, §8.2, §9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from strandline.settings.model_ids import ModelRef, normalise_provider

if TYPE_CHECKING:
    from strandline.settings.policies import AgentsPolicy

_BUNDLED_CLI_PROVIDERS = frozenset({"claude-cli", "google-gemini-cli"})
_SILENT_PREFIXES = ("z-ai/", "openrouter/z-ai/", "glm-")


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What besides settings decides whether a trigger is live for a session.

    Attributes:
        cli_provider: the model runs behind a command-line program, which keeps its own context.
        flush_plugin: whether the bundled plug-in memory-core is there; without it nothing is flushed.
        read_only_sandbox: the session is sandboxed without write access to its workspace.
        silent_overflow: the model is one that overflows without saying so (GLM, z.ai).
        engine_owns_compaction: a context-engine plug-in compacts by itself.
    """

    cli_provider: bool = False
    flush_plugin: bool = True
    read_only_sandbox: bool = False
    silent_overflow: bool = False
    engine_owns_compaction: bool = False


ORDINARY = Circumstances()


def circumstances_of(
    ref: ModelRef, agents: AgentsPolicy, *, read_only_sandbox: bool = False, flush_plugin: bool = True
) -> Circumstances:
    """Return the circumstances of a session, as far as model and configuration tell.

    Args:
        ref: the session's provider and model.
        agents: the configuration; it names further command-line providers.
        read_only_sandbox: whether the session is sandboxed without write access to its workspace.
        flush_plugin: whether the plug-in memory-core is there.
    """
    provider = normalise_provider(ref.provider)
    named = {normalise_provider(name) for name in agents.cli_backends}
    return Circumstances(
        cli_provider=provider in _BUNDLED_CLI_PROVIDERS | named,
        silent_overflow=overflows_silently(ref),
        read_only_sandbox=read_only_sandbox,
        flush_plugin=flush_plugin,
    )


def overflows_silently(ref: ModelRef) -> bool:
    """Tell whether the real program counts a model among those that overflow without saying so (GLM of z.ai).

    It also goes by the address of the provider, which is not looked at here.
    """
    return normalise_provider(ref.provider) == "zai" or ref.model.lower().startswith(_SILENT_PREFIXES)
