"""The offline catalogue: what it knows, what it does not, and that nobody pays for it at start."""

from __future__ import annotations

import subprocess
import sys

import pytest

from strandline.settings.model_ids import ModelRef
from strandline.tokens.catalogue import look_up, price_call
from strandline.tokens.usage import Usage


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "claude-sonnet-4-5"),
        ("claude-cli", "claude-sonnet-4-5"),
        ("bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("openai", "gpt-4o"),
        ("xai", "grok-4"),
        ("moonshotai", "kimi-k2.5"),
        ("openrouter", "anthropic/claude-sonnet-4.5"),
        ("vercel-ai-gateway", "anthropic/claude-sonnet-4-5"),
    ],
)
def test_common_models_have_window_and_price(provider: str, model: str) -> None:
    """Providers under the real program's names are found, with a window and prices above 0."""
    entry = look_up(ModelRef(provider, model))
    assert entry is not None
    assert entry.window is not None
    assert entry.window >= 32_000
    assert entry.input_price is not None
    assert entry.input_price > 0


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("demo", "demo-large"),
        ("my-openai", "gpt-4o"),
        ("open", "gpt-4o"),
        ("openai", "gpt-9000"),
        ("", ""),
        ("openai", ""),
    ],
)
def test_what_is_not_known_is_unknown(provider: str, model: str) -> None:
    """A strange provider is not taken for the one it resembles; nothing is guessed, and a price is not 0."""
    assert look_up(ModelRef(provider, model)) is None
    assert price_call(ModelRef(provider, model), Usage(input=1, output=1), None) is None


def test_a_call_is_priced_with_its_cache() -> None:
    """Input, cache reads, cache writes and output each have their price; the input is not counted twice."""
    ref = ModelRef("anthropic", "claude-3-5-haiku-20241022")
    entry = look_up(ref)
    assert entry is not None
    prices = (entry.input_price, entry.output_price, entry.cache_read_price, entry.cache_write_price)
    assert None not in prices
    usd = price_call(ref, Usage(input=1_000, output=200, cache_read=5_000, cache_write=300), 1_779_105_640_000)
    counts = (1_000, 200, 5_000, 300)
    assert usd == pytest.approx(sum(n * (price or 0) for n, price in zip(counts, prices, strict=True)) / 1e6)


def test_a_call_without_counts_has_no_price() -> None:
    """A provider's bare total cannot be split into input and output, so it is not priced."""
    assert price_call(ModelRef("openai", "gpt-4o"), Usage(total=100), None) is None
    assert price_call(ModelRef("openai", "gpt-4o"), Usage(input=0, output=0), None) is None


@pytest.mark.parametrize("at_ms", [None, 0, 1e300, -1e300])
def test_an_odd_time_takes_a_price_all_the_same(at_ms: float | None) -> None:
    """A missing or impossible time does not break pricing."""
    assert price_call(ModelRef("openai", "gpt-4o"), Usage(input=1_000_000, output=1), at_ms)


@pytest.mark.parametrize(
    "module",
    ["strandline.gateway", "strandline.cli.main", "strandline.tokens.catalogue", "strandline.compaction.early"],
)
def test_importing_does_not_load_the_catalogue(module: str) -> None:
    """Start-up does not pay for the catalogue: neither it nor what it brings along is imported."""
    script = f"import sys, {module}; print(sorted({{'genai_prices', 'pydantic', 'httpx2'}} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
