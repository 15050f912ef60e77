"""Silent replies: what nobody hears, and what people get to read (spec 2026.5 §10, case A21)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.transcript.silence import TOKENS, is_silent, leaked_token


@pytest.mark.parametrize(
    "text",
    [
        "NO_REPLY",
        "no_reply",
        "  NO_REPLY\n",
        '{"action":"NO_REPLY"}',
        ' { "action" : "NO_REPLY" } ',
        "HEARTBEAT_OK",
        "**NO_REPLY",
        "",
        " \n",
    ],
)
def test_silent(text: str) -> None:
    """The bare token in any case and its envelope: nothing is delivered, nothing leaks."""
    assert is_silent(text)
    assert leaked_token(text) is None


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("NO_REPLY\nbut here is more", "NO_REPLY"),
        ("NO_REPLY nothing to add", "NO_REPLY"),
        ("**NO_REPLY**", "NO_REPLY"),
        ("Well, NO_REPLY it is.", "NO_REPLY"),
        ("HEARTBEAT_OK and more", "HEARTBEAT_OK"),
        ('{"action":"NO_REPLY","why":"quiet"}', None),
        ("NO", "NO"),
        ("NO_RE", "NO_RE"),
        (" HEARTBEAT_\n", "HEARTBEAT_"),
    ],
)
def test_leaks(text: str, token: str | None) -> None:
    """A token beside text, in bold, or cut: people read it; one in quotes is only mentioned."""
    assert not is_silent(text)
    assert leaked_token(text) == token


@pytest.mark.parametrize(
    "text",
    [
        "The word `NO_REPLY` keeps me quiet.",
        "Say “NO_REPLY” then.",
        "NO_REPLYING today",
        "MY_NO_REPLY_FLAG is set",
        "No",
        "NO.",
        "N",
        "NOT",
        "HEARTBEAT",
        "no, thanks",
        # The real program takes a token behind the text off before it delivers the text.
        "Checked inbox, nothing new.\n\nNO_REPLY",
        "NO_REPLYhello",
    ],
)
def test_no_leak(text: str) -> None:
    """Other words, mentions, answers of one word, and what the real program strips."""
    assert leaked_token(text) is None


@given(st.text(max_size=200), st.sampled_from(TOKENS))
def test_text_without_a_token_never_leaks_one(text: str, token: str) -> None:
    """Whatever people write, a leak is named only by a token, or the beginning of one, that stands in it."""
    found = leaked_token(text)
    assert found is None or found in text
    assert leaked_token(f"{token} {text.strip()}x x") in {token, *TOKENS}
