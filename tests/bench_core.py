"""Transcripts to measure on, and probes of the core for ``tests/bench.py``: each prints one JSON object."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from strandline.context.build import build_context
from strandline.gateway import open_gateway
from strandline.rows import FactsRead
from strandline.transcript.tail import read_tail
from strandline.transcript.whole_file import read_transcript

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADER = {
    "type": "session",
    "version": 3,
    "id": "11111111-1111-4111-8111-111111111111",
    "timestamp": "2026-05-20T10:00:00.000Z",
    "cwd": "/w",
}
LARGEST_CHUNK = 32_000_000
SETTLE_SECONDS = 2
_WORDS = ("harbour", "ledger", "signal", '"berth"', "C:\\quay", "naïve", "line\n", "drift", "0.25", "kelp\t")
# Who speaks, in turn, with the usual length of what is said.
_ORDINARY = (("user", 150), *[("assistant", 250), ("toolResult", 7000)] * 3, ("assistant", 400))
_SHORT = (("user", 40), ("assistant", 5), ("toolResult", 20), ("user", 20))


def entry(role: str, text: str, at: str, parent: str | None) -> bytes:
    """Return one message as the line that the real program would write."""
    message: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": text}]}
    if role == "assistant":
        usage = {"input": 900, "output": 80, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 980}
        message |= {"provider": "p", "model": "m", "usage": usage, "stopReason": "stop"}
    elif role == "toolResult":
        message |= {"toolCallId": "t", "toolName": "bash", "isError": False}
    message["timestamp"] = 1_779_271_200_000
    record = {"type": "message", "id": at, "parentId": parent, "timestamp": HEADER["timestamp"], "message": message}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def entries(size: int, *, short: bool = False, prefix: str = "") -> Iterator[bytes]:
    """Yield entries of ``size`` bytes in all, each the child of the one before it.

    Args:
        size: bytes; what is yielded ends with the entry that reaches it.
        short: short messages alone, about 250 bytes a line; otherwise long tool results among them, about 3 KB.
        prefix: what every id starts with.
    """
    chance = random.Random(size)
    pattern = _SHORT if short else _ORDINARY
    made, parent, number = 0, None, 0
    while made < size:
        role, length = pattern[number % len(pattern)]
        words = " ".join(chance.choices(_WORDS, k=length // 6))
        at = f"{prefix}{number:08x}"
        line = entry(role, words[: chance.randint(length // 2, length * 3 // 2)], at, parent)
        yield line
        made += len(line)
        parent = at
        number += 1


def write_transcript(path: Path, size: int, *, short: bool = False) -> int:
    """Write a transcript of so many bytes and return its entries; above 32 MB the same ones come again and again."""
    chunk = list(entries(min(size, LARGEST_CHUNK), short=short))
    data = b"".join(chunk)
    times = -(-size // len(data)) if size > LARGEST_CHUNK else 1
    with path.open("wb") as file:
        file.write(json.dumps(HEADER).encode() + b"\n")
        for _ in range(times):
            file.write(data)
    return len(chunk) * times


def add_results(path: Path, size: int) -> None:
    """Append tool results of so many bytes, so that the last usage lies that far from the end."""
    with path.open("rb") as file:
        file.seek(-100_000, os.SEEK_END)
        parent = json.loads(file.read().splitlines()[-1])["id"]
    text, number = "line\n" * 1400, 0
    with path.open("ab") as file:
        while number * len(text) < size:
            at = f"b{number}"
            file.write(entry("toolResult", text, at, parent))
            parent = at
            number += 1


def fill(state: Path, size: int) -> None:
    """Give every transcript of a state directory so many bytes of entries."""
    data = b"".join(entries(size))
    for path in state.glob("agents/*/sessions/*.jsonl"):
        with path.open("ab") as file:
            file.write(data)


def tail(path: Path, runs: int) -> dict[str, Any]:
    """Seconds for the tail of a transcript, and what was read for it."""
    found = read_tail(path)
    seconds = []
    for _ in range(runs):
        began = time.perf_counter()
        found = read_tail(path)
        seconds.append(time.perf_counter() - began)
    assert found.decided
    assert found.last_usage is not None
    return {"seconds": seconds, "size": found.size, "read": found.bytes_read}


def context(path: Path, runs: int) -> dict[str, Any]:
    """Seconds for the context of a transcript, from its bytes on disk."""
    seconds, messages = [], 0
    for turn in range(runs + 1):
        began = time.perf_counter()
        built = build_context(read_transcript(path))
        took = time.perf_counter() - began
        if turn:
            seconds.append(took)
        assert built.read_by_openclaw
        messages = len(built.messages)
        del built
    return {"seconds": seconds, "messages": messages}


def append(state: Path, seconds: int) -> dict[str, Any]:
    """Wait for a line, then append one entry to every transcript each second, evenly spread."""
    paths = sorted(state.glob("agents/*/sessions/*.jsonl"))
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    for number in range(len(paths) * seconds):
        time.sleep(max(0.0, began + number / len(paths) - time.perf_counter()))
        turn, at = divmod(number, len(paths))
        line = entry("assistant", "It is done.", f"a{turn}", f"a{turn - 1}" if turn else None)
        with paths[at].open("ab") as file:
            file.write(line)
    return {"appended": len(paths) * seconds, "seconds": time.perf_counter() - began}


async def watching(state: Path, seconds: int) -> dict[str, Any]:
    """CPU of this process, which observes a directory, while another one appends to all its transcripts."""
    me, told = psutil.Process(), 0

    async with open_gateway(state, watch=True) as gateway:

        async def listen() -> None:
            nonlocal told
            async for event in gateway.events():
                told += len(event.facts) if isinstance(event, FactsRead) else 0

        listener = asyncio.create_task(listen())
        await gateway.sessions()
        await asyncio.sleep(SETTLE_SECONDS)
        words = [__file__, "append", str(state), str(seconds)]
        other = await asyncio.create_subprocess_exec(
            sys.executable, *words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert other.stdin is not None
        assert other.stdout is not None
        assert await other.stdout.readline() == b"ready\n"
        told, before, began = 0, me.cpu_times(), time.perf_counter()
        other.stdin.write(b"go\n")
        done = json.loads(await other.stdout.readline())
        after, wall = me.cpu_times(), time.perf_counter() - began
        await other.wait()
        listener.cancel()
    used = after.user + after.system - before.user - before.system
    return {"cpu": used, "wall": wall, "told": told, "rate": done["appended"] / done["seconds"]}


def main() -> None:
    """Run one probe: its name, a path, a number of runs or seconds."""
    name, path, number = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    if name == "watching":
        figures = asyncio.run(watching(path, number))
    else:
        figures = {"tail": tail, "context": context, "append": append}[name](path, number)
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
