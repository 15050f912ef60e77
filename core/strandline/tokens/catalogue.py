"""What is known of models without asking anyone: context windows and prices (offline, through genai-prices).

The only module that imports ``genai_prices``, and only when first asked: the import costs some 0.2 s. Nothing is ever
downloaded. A provider that the catalogue does not know by name is unknown; a similar name is no reason to guess.
Prices are US dollars per million tokens, windows are tokens.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from strandline.settings.model_ids import ModelRef, normalise_provider

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import ModelInfo, Provider, TieredPrices

    from strandline.tokens.usage import Usage

# Providers that the real program and the catalogue spell differently.
_SPELLINGS = {
    "amazon-bedrock": "aws",
    "amazon-bedrock-mantle": "aws",
    "azure-openai": "azure",
    "claude-cli": "anthropic",
    "google-gemini-cli": "google",
    "google-vertex": "google",
    "anthropic-vertex": "google",
    "kimi": "moonshotai",
    "moonshot": "moonshotai",
    "openai-codex": "openai",
    "xai": "x-ai",
}
# Gateways whose model ids begin with the provider behind them.
_GATEWAYS = frozenset({"vercel-ai-gateway", "cloudflare-ai-gateway", "kilocode"})
# Prices change with time; a call without a time is priced by the latest.
_LATEST = datetime(2100, 1, 1, 12, tzinfo=UTC)


class CatalogueEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A model as the catalogue knows it.

    Attributes:
        provider: the catalogue's name of the provider.
        model: the catalogue's name of the model; a dated id is found under its family.
        window: context window; ``None`` is unknown.
        input_price: price of uncached input; ``None`` is unknown. Long prompts may cost more, see ``price_call``.
        output_price: price of output.
        cache_read_price: price of input that a cache serves.
        cache_write_price: price of input that is written to a cache.
    """

    provider: str
    model: str
    window: int | None
    input_price: float | None
    output_price: float | None
    cache_read_price: float | None
    cache_write_price: float | None


def look_up(ref: ModelRef) -> CatalogueEntry | None:
    """Return what the catalogue knows of a model, or ``None`` when it does not know it."""
    found = _find(ref.provider, ref.model)
    if found is None:
        return None
    provider, model = found
    prices = model.get_prices(_LATEST)
    window = model.context_window
    return CatalogueEntry(
        provider=provider.id,
        model=model.id,
        window=window if window and window > 0 else None,
        input_price=_base(prices.input_mtok),
        output_price=_base(prices.output_mtok),
        cache_read_price=_base(prices.cache_read_mtok),
        cache_write_price=_base(prices.cache_write_mtok),
    )


def price_call(ref: ModelRef, usage: Usage, at_ms: float | None) -> float | None:
    """Return what a call cost in US dollars, or ``None`` when model or usage are unknown.

    Args:
        ref: provider and model of the call.
        usage: what it used.
        at_ms: when it was made, ms since the epoch; ``None`` takes the latest price.
    """
    found = _find(ref.provider, ref.model)
    if found is None or (usage.prompt is None and not usage.output):
        return None
    from genai_prices import Usage as Priced  # noqa: PLC0415 - loaded already: the model was found

    provider, model = found
    counted = Priced(
        # Here the input includes what the caches served and took.
        input_tokens=usage.prompt or 0,
        output_tokens=usage.output or 0,
        cache_read_tokens=usage.cache_read or 0,
        cache_write_tokens=usage.cache_write or 0,
    )
    answer = model.calc_price(counted, provider, genai_request_timestamp=_moment(at_ms))
    return float(answer.total_price)


@lru_cache(maxsize=512)
def _find(provider: str, model: str) -> tuple[Provider, ModelInfo] | None:
    if not provider or not model:
        return None
    name = normalise_provider(provider)
    if name in _GATEWAYS and "/" in model:
        name, _, model = model.partition("/")
        name = normalise_provider(name)
    name = _SPELLINGS.get(name, name)
    from genai_prices import data_snapshot  # noqa: PLC0415 - 0.2 s that most starts never need

    snapshot = data_snapshot.get_snapshot()
    known = next((candidate for candidate in snapshot.providers if candidate.id == name), None)
    if known is None:
        return None
    found = known.find_model(model.lower().removeprefix(f"{name}/"), all_providers=snapshot.providers)
    return None if found is None else (known, found)


def _moment(at_ms: float | None) -> datetime:
    if at_ms is None:
        return _LATEST
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return _LATEST


def _base(price: Decimal | TieredPrices | None) -> float | None:
    if price is None:
        return None
    from decimal import Decimal  # noqa: PLC0415 - loaded already: the price is one, or has them

    return float(price if isinstance(price, Decimal) else price.base)
