"""Which models and configurations switch triggers off."""

from __future__ import annotations

import json
from typing import Any

import pytest

from strandline.compaction.circumstances import ORDINARY, circumstances_of, overflows_silently
from strandline.settings.model_ids import ModelRef
from strandline.settings.policies import AgentsPolicy
from token_cases import DATA

_RECORDED = json.loads((DATA / "tokens.json").read_text("utf-8"))["silent"]


@pytest.mark.parametrize("pair", _RECORDED, ids=lambda pair: f"{pair['provider']}:{pair['model']}")
def test_silent_overflow_is_seen_as_there(pair: dict[str, Any]) -> None:
    """Provider and model count as overflowing silently exactly where the real program said so."""
    assert overflows_silently(ModelRef(pair["provider"], pair["model"])) == pair["silent"]


def test_command_line_providers_are_the_bundled_and_the_configured_ones() -> None:
    """``claude-cli`` under any spelling and every key of ``cliBackends``; an ordinary provider is none."""
    agents = AgentsPolicy(cli_backends=("My-CLI",))
    for provider in ("claude-cli", "anthropic-cli", "google-gemini-cli", "my-cli"):
        assert circumstances_of(ModelRef(provider, "m"), agents).cli_provider
    assert circumstances_of(ModelRef("anthropic", "m"), agents) == ORDINARY
