"""Plain reading of the small, undamaged case files that the tests of tokens and compaction rest on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strandline.settings.document import parse_document
from strandline.settings.effective import Settings, read_settings
from strandline.state.keys import normalise_agent_id
from strandline.tokens.evidence import TranscriptTail
from strandline.tokens.usage import normalise_usage

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).parent / "data"


def case_state(name: str) -> Path:
    """Return the state directory of the case whose folder starts with ``name``."""
    return next((DATA / "cases").glob(f"{name}-*")) / "state"


def sessions_dir(state: Path) -> Path:
    """Return the directory of the default agent's sessions."""
    return state / "agents" / "main" / "sessions"


def rows(state: Path) -> dict[str, dict[str, Any]]:
    """Return the store's rows by the last part of their key."""
    store = json.loads((sessions_dir(state) / "sessions.json").read_text("utf-8"))
    return {key.rsplit(":", 1)[-1]: row for key, row in store.items()}


def entries(path: Path) -> Iterator[dict[str, Any]]:
    """Iterate over the entries of a transcript."""
    return (json.loads(line) for line in path.read_text("utf-8").splitlines())


def tail_of(path: Path) -> TranscriptTail:
    """Return what the end of a transcript says about tokens, as the transcript room will."""
    last: dict[str, Any] | None = None
    superseded: dict[str, Any] | None = None
    after, compacted_at = True, None
    for number, entry in enumerate(entries(path)):
        if entry["type"] == "compaction":
            superseded, after, compacted_at = last, False, _time_after(path, number)
        elif entry.get("message", {}).get("role") == "assistant":
            last, after = entry["message"], True
    return TranscriptTail(
        last_usage=normalise_usage(last["usage"]) if last else None,
        last_usage_at_ms=last["timestamp"] if last else None,
        usage_after_compaction=after,
        compacted_at_ms=compacted_at,
        superseded_usage=normalise_usage(superseded["usage"]) if superseded and after else None,
        bytes=path.stat().st_size,
    )


def settings_of(config: Path) -> Settings:
    """Return the effective settings of a configuration file."""
    return read_settings(parse_document(str(config), config.read_bytes()), normalise_agent_id)


def _time_after(path: Path, number: int) -> int | None:
    following = list(entries(path))[number + 1 : number + 2]
    return following[0]["message"]["timestamp"] if following else None
