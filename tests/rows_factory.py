"""Session rows and transcript facts for tests: everything has a believable value, a test states what it is about."""

from __future__ import annotations

from typing import Any

from strandline.rows import SessionRow, TranscriptFacts, TranscriptState
from strandline.state.keys import KeyShape, SessionKind

NOW_MS = 1_779_278_400_000


def make_row(**changes: object) -> SessionRow:
    """Return a row of a direct chat of agent ``main`` with some of its fields changed."""
    fields: dict[str, Any] = {
        "store": 0,
        "position": 0,
        "key": "agent:main:slack:direct:u1",
        "canonical_key": changes.get("key", "agent:main:slack:direct:u1"),
        "agent_id": "main",
        "scoped": True,
        "kind": SessionKind.DIRECT,
        "shape": KeyShape.DIRECT,
        "name": "u1",
        "channel": "slack",
        "internal": False,
        "session_id": "s1",
        "session_file": None,
        "updated_at": NOW_MS - 3_600_000,
        "status": None,
        "model": "claude-sonnet-4-6",
        "model_provider": "anthropic",
        "total_tokens": 50_000,
        "total_tokens_fresh": True,
        "context_window": 200_000,
        "compaction_count": 1,
        "checkpoints": (),
        "protected": False,
        "dropped": None,
        "bytes": 512,
        "offset": 32,
        "listed": {},
    }
    return SessionRow(**{**fields, **changes})


def make_facts(**changes: object) -> TranscriptFacts:
    """Return facts about a transcript that lies where its row says, with some of them changed."""
    fields: dict[str, Any] = {
        "store": 0,
        "key": "agent:main:slack:direct:u1",
        "state": TranscriptState.PRESENT,
        "name": "s1.jsonl",
        "bytes": 4096,
        "mtime_ms": NOW_MS - 3_600_000,
        "note": "",
    }
    return TranscriptFacts(**{**fields, **changes})
