"""What the real program answered, as data, and every mask under which our answer is compared with it.

Each mask has its reason. No test and no code knows a case by its name.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
AGE_TOLERANCE_MS = 10_000

# ``agentRuntime``, ``runtime``, ``configuredModel`` and ``modelSelectionReason`` say which program would run a turn;
# Strandline runs none here and leaves them out (contract of the command).
LEFT_OUT = frozenset({"agentRuntime", "runtime", "configuredModel", "modelSelectionReason"})
# The real program takes the time once per row while it prints; ours once per answer.
AGES = frozenset({"age", "ageMs"})


def load_case(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (case, expectation) of a recorded run."""
    folder = DATA / "golden" / name
    return json.loads((folder / "case.json").read_text("utf-8")), json.loads(
        (folder / "expect.json").read_text("utf-8")
    )


def build_state(case: dict[str, Any], state: Path) -> None:
    """Lay out the state directory that a case describes, with its times."""
    state.mkdir(parents=True, exist_ok=True)
    if case["config"] is not None:
        (state / "openclaw.json").write_text(case["config"].replace("$STATE", str(state)), "utf-8")
    for file in case["files"]:
        path = state / file["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["text"].replace("$STATE", str(state)), "utf-8", newline="")
        os.utime(path, (file["mtimeMs"] / 1000, file["mtimeMs"] / 1000))


def masked(answer: Any, state: Path) -> Any:
    """Return an answer with the masked fields taken out and the state directory written as ``$STATE``."""
    if isinstance(answer, dict):
        return {key: masked(value, state) for key, value in answer.items() if key not in LEFT_OUT | AGES}
    if isinstance(answer, list):
        return [masked(item, state) for item in answer]
    return answer.replace(str(state), "$STATE") if isinstance(answer, str) else answer


def ages(answer: Any) -> list[float | None]:
    """Return every age in an answer, in order."""
    if isinstance(answer, dict):
        return [age for key, value in answer.items() for age in ([value] if key in AGES else ages(value))]
    if isinstance(answer, list):
        return [age for item in answer for age in ages(item)]
    return []


def key_orders(answer: Any) -> list[list[str]]:
    """Return the order of the keys of every object in an answer, without the ones left out."""
    if isinstance(answer, dict):
        kept = {key: value for key, value in answer.items() if key not in LEFT_OUT}
        return [list(kept), *(order for value in kept.values() for order in key_orders(value))]
    if isinstance(answer, list):
        return [order for item in answer for order in key_orders(item)]
    return []
