"""Usage in every spelling, against what the real program made of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.tokens.usage import Usage, normalise_usage
from token_cases import DATA

_RECORDED = json.loads((DATA / "tokens.json").read_text("utf-8"))["usage"]
_NAMES = {
    "input": "input",
    "output": "output",
    "cacheRead": "cache_read",
    "cacheWrite": "cache_write",
    "reasoningTokens": "reasoning",
    "total": "total",
}
_COUNTS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
_DETAILS = _COUNTS | st.dictionaries(st.sampled_from(["cached_tokens", "reasoning_tokens", "prompt_n"]), _COUNTS)
_RAW = st.dictionaries(
    st.sampled_from([
        "input", "inputTokens", "input_tokens", "promptTokens", "prompt_tokens", "prompt_n", "timings", "output",
        "completion_tokens", "predicted_n", "cacheRead", "cache_read", "cached_tokens", "input_tokens_details",
        "prompt_tokens_details", "cacheWrite", "cache_creation_input_tokens", "total", "totalTokens", "total_tokens",
        "reasoning_tokens", "output_tokens_details", "cost",
    ]),
    _DETAILS,
)  # fmt: skip


@pytest.mark.parametrize("pair", _RECORDED, ids=lambda pair: json.dumps(pair["raw"])[:60])
def test_usage_is_normalised_as_the_real_program_does(pair: dict[str, Any]) -> None:
    """Every alias, detail and odd value gives the counts that the real program recorded."""
    usage = normalise_usage(pair["raw"])
    recorded = pair["normalised"]
    expected = None if recorded is None else Usage(**{_NAMES[name]: value for name, value in recorded.items()})
    assert usage == expected
    assert (usage.prompt if usage else None) == pair["prompt"]
    assert bool(usage and usage.measured) == pair["nonzero"]


@given(_RAW)
def test_counts_are_whole_and_never_negative(raw: dict[str, Any]) -> None:
    """Whatever a provider states, what is left is ``None`` or a whole count of at least 0."""
    usage = normalise_usage(raw)
    if usage is None:
        return
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning, usage.total)
    assert all(count is None or (type(count) is int and count >= 0) for count in counts)
    assert usage.prompt is None or usage.prompt > 0
    assert usage.context is None or usage.context > 0


def test_the_prompt_leaves_the_reply_out_and_the_context_keeps_it() -> None:
    """Prompt is input with both cache figures; the context adds the reply, or takes the provider's total."""
    usage = Usage(input=100, output=5, cache_read=40, cache_write=7)
    assert (usage.prompt, usage.context) == (147, 152)
    assert Usage(input=100, output=5, total=160).context == 160


def test_a_call_whose_counts_are_all_zero_measured_nothing() -> None:
    """Zeros are no measurement: prompt and context stay unknown."""
    usage = Usage(input=0, output=0, cache_read=0, cache_write=0, total=0)
    assert (usage.prompt, usage.context, usage.measured) == (None, None, False)
