"""Large state directories for measuring: realistic rows, as many as asked for, no transcripts unless asked for."""

from __future__ import annotations

import argparse
import json
import random
import uuid
from pathlib import Path

_WORDS = [
    "tide",
    "reef",
    "buoy",
    "harbour",
    "dredge",
    "mooring",
    "survey",
    "ledger",
    "signal",
    "permit",
    "regatta",
    "pilot",
    "salvage",
    "kelp",
    "anchor",
    "lantern",
    "chart",
    "ferry",
    "crane",
    "quay",
    "beacon",
    "drift",
    "sounding",
    "berth",
    "ballast",
]
_CHANNELS = ("telegram", "discord", "slack", "whatsapp", "signal", "webchat")
_MODELS = (
    ("anthropic", "claude-sonnet-4-6", 200_000),
    ("openai", "gpt-5.5", 400_000),
    ("ollama", "qwen3:8b", 32_768),
)
_AGENTS = ("main", "work", "lab", "ops", "night")
_DAY_MS = 86_400_000


def write_state(
    out: Path, *, sessions: int, agents: int, row_kb: int, now_ms: int, transcripts: bool = True, seed: int = 7
) -> None:
    """Write a state directory with ``sessions`` rows spread over ``agents`` stores.

    Args:
        out: the directory; it must not exist.
        sessions: rows in all.
        agents: number of stores.
        row_kb: kilobytes of prompt snapshots per row.
        now_ms: rows are at most 120 days older than this.
        transcripts: whether each row gets a small transcript.
        seed: the same seed gives the same directory.
    """
    rng = random.Random(seed)
    names = _AGENTS[:agents]
    out.mkdir(parents=True)
    config = {"agents": {"list": [{"id": name, "default": name == "main"} for name in names]}}
    (out / "openclaw.json").write_text(json.dumps(config, indent=2), "utf-8")
    for at, name in enumerate(names):
        folder = out / "agents" / name / "sessions"
        folder.mkdir(parents=True)
        share = sessions // agents + (sessions % agents if at == 0 else 0)
        rows = dict(_row(rng, name, index, row_kb, now_ms) for index in range(share))
        (folder / "sessions.json").write_text(json.dumps(rows, indent=2), "utf-8")
        if transcripts:
            for row in rows.values():
                _write_transcript(folder / f"{row['sessionId']}.jsonl", str(row["sessionId"]))


def _row(rng: random.Random, agent: str, index: int, row_kb: int, now_ms: int) -> tuple[str, dict[str, object]]:
    provider, model, window = rng.choice(_MODELS)
    session_id = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    updated = now_ms - int(min(rng.expovariate(1 / 12), 120) * _DAY_MS)
    channel = rng.choice(_CHANNELS)
    key = f"agent:{agent}:main" if index == 0 else _key(rng, agent, channel, session_id)
    row: dict[str, object] = {
        "sessionId": session_id,
        "updatedAt": updated,
        "sessionStartedAt": updated - 3_600_000,
        "lastInteractionAt": updated,
        "sessionFile": f"{session_id}.jsonl",
        "chatType": "group" if ":group:" in key else "direct",
        "modelProvider": provider,
        "model": model,
        "thinkingLevel": rng.choice(("off", "low", "high")),
        "systemSent": True,
        "inputTokens": rng.randint(1_000, 900_000),
        "outputTokens": rng.randint(100, 90_000),
        "totalTokens": rng.randint(500, window),
        "totalTokensFresh": rng.random() > 0.2,
        "contextTokens": window,
        "compactionCount": rng.randint(0, 6),
        "displayName": f"{rng.choice(_WORDS)} {rng.choice(_WORDS)}",
        "channel": channel,
    }
    if row_kb:
        row["skillsSnapshot"] = {"prompt": _text(rng, row_kb * 700), "skills": [{"name": w} for w in _WORDS[:12]]}
        row["systemPromptReport"] = {"source": "run", "tools": _text(rng, row_kb * 300)}
    return key, row


def _key(rng: random.Random, agent: str, channel: str, session_id: str) -> str:
    shape = rng.random()
    if shape < 0.3:
        return f"agent:{agent}:{channel}:direct:{rng.getrandbits(40)}"
    if shape < 0.6:
        return f"agent:{agent}:{channel}:group:-{rng.getrandbits(40)}"
    if shape < 0.8:
        return f"agent:{agent}:cron:job-{rng.randint(1, 40)}:run:{session_id}"
    return f"agent:{agent}:{rng.choice(('subagent', 'hook', 'acp'))}:{session_id}"


def _text(rng: random.Random, size: int) -> str:
    words: list[str] = []
    length = 0
    while length < size:
        words.append(rng.choice(_WORDS))
        length += len(words[-1]) + 1
    return " ".join(words)[:size]


def _write_transcript(path: Path, session_id: str) -> None:
    header = {"type": "session", "version": 3, "id": session_id, "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/"}
    path.write_text(json.dumps(header) + "\n", "utf-8")


def main() -> None:
    """Write a directory from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sessions", type=int, default=5000)
    parser.add_argument("--agents", type=int, default=3)
    parser.add_argument("--row-kb", type=int, default=6)
    parser.add_argument("--now", type=int, required=True, help="ms since the epoch")
    words = parser.parse_args()
    write_state(words.out, sessions=words.sessions, agents=words.agents, row_kb=words.row_kb, now_ms=words.now)


if __name__ == "__main__":
    main()
