"""Measure Strandline beside its peers and write ``docs/benchmarks.md``: ``python3 dev.py bench``.

Every figure is a median over several runs of the whole thing on the same input in one session; what counts is the ratio
to the peer beside it, since machines differ and drift.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import bench_core
import big_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parent.parent
REPORT = ROOT / "docs" / "benchmarks.md"
START_MARK = "<!-- figures: written by dev.py bench -->"
RUNS = 10
CORE_PROBE = (sys.executable, str(ROOT / "tests" / "bench_core.py"))

FACTS = """
import sys, time
from pathlib import Path
from strandline.transcript.ends import read_ends
{loop}
paths = [Path(name) for name in sys.argv[1:]]
each(paths)
took = []
for _ in range(5):
    began = time.perf_counter()
    each(paths)
    took.append(time.perf_counter() - began)
print(min(took))
"""
OURS_ENDS = """
def each(paths):
    for path in paths:
        read_ends(path)
"""
BARE_ENDS = """
def each(paths):
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            file.read(16384)
            file.seek(max(0, file.seek(0, 2) - 16384))
            file.read(16384)
"""

BARE_LIST = """
import json, sys
from pathlib import Path
rows = []
for store in sorted(Path(sys.argv[1]).glob("agents/*/sessions/sessions.json")):
    for key, row in json.loads(store.read_text("utf-8")).items():
        row["key"] = key
        rows.append(row)
rows.sort(key=lambda row: -row["updatedAt"])
print(json.dumps({"count": len(rows), "sessions": rows}, indent=2))
"""


class Figure(NamedTuple):
    """One line of the report."""

    what: str
    ours: str
    beside: str
    verdict: str


def main() -> int:
    """Run the measurements and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", choices=sorted(MEASUREMENTS), action="append", help="one measurement; several may be given"
    )
    parser.add_argument("--dry", action="store_true", help="print the figures, leave the report as it is")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="strandline-bench-") as folder:
        inputs = Inputs(Path(folder))
        figures = [
            figure
            for name, measure in MEASUREMENTS.items()
            if not words.only or name in words.only
            for figure in measure(inputs)
        ]
    text = report(figures)
    print(text)
    if not words.dry and not words.only:
        head = REPORT.read_text("utf-8").split(START_MARK)[0] if REPORT.exists() else ""
        REPORT.write_text(f"{head}{START_MARK}\n{text}", "utf-8")
    return 0


class Inputs:
    """State directories, built when first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def state(self, *, sessions: int, row_kb: int, agents: int = 3, transcripts: bool = True) -> Path:
        """Return a state directory with so many rows of such weight."""
        path = self._folder / f"state-{sessions}-{row_kb}-{agents}"
        if not path.exists():
            now_ms = time.time_ns() // 1_000_000
            big_state.write_state(
                path, sessions=sessions, agents=agents, row_kb=row_kb, now_ms=now_ms, transcripts=transcripts
            )
        return path

    def transcript(self, *, size: int, short: bool = False) -> tuple[Path, int]:
        """Return a transcript of so many bytes, made anew, and the average length of its lines."""
        path = self._folder / f"transcript-{size}-{short}.jsonl"
        lines = bench_core.write_transcript(path, size, short=short)
        return path, path.stat().st_size // lines


def list_5000(inputs: Inputs) -> Iterator[Figure]:
    """The list of 5,000 sessions as JSON, beside a bare Python that loads, sorts and prints the same rows."""
    state = inputs.state(sessions=5000, row_kb=0)
    ours = [*strandline(), "sessions", "--all-agents", "--limit", "all", "--json", "--state", str(state)]
    bare = [sys.executable, "-c", BARE_LIST, str(state)]
    mine, theirs = paired(ours, bare)
    yield Figure(
        "`sessions --all-agents --limit all --json`, 5,000 rows in 3 stores",
        ms(mine),
        f"bare Python, json-load, sort, print: {ms(theirs)}",
        f"{mine / theirs:.2f} × (limit 3 ×)",
    )
    heavy = inputs.state(sessions=5000, row_kb=6)
    mine, theirs = paired([*ours[:-1], str(heavy)], [sys.executable, "-c", BARE_LIST, str(heavy)])
    yield Figure("the same with rows of 6 KB", ms(mine), f"bare Python: {ms(theirs)}", f"{mine / theirs:.2f} ×")
    yield from real_newer_list(mine)


def real_newer_list(_heavy: float) -> Iterator[Figure]:
    """The real 2026.9.6 over the same sessions in SQLite, when a migrated directory is named."""
    node, program = os.environ.get("STRANDLINE_PEER_NODE"), os.environ.get("STRANDLINE_PEER_OPENCLAW_9")
    migrated, original = os.environ.get("STRANDLINE_BENCH_NEWER"), os.environ.get("STRANDLINE_BENCH_STATE")
    if not (node and program and migrated and original):
        return
    peer = [node, program, "sessions", "--all-agents", "--limit", "all", "--json"]
    ours = [*strandline(), "sessions", "--all-agents", "--limit", "all", "--json", "--state", original]
    mine, theirs = paired(ours, peer, runs=5, env={"OPENCLAW_STATE_DIR": migrated, "HOME": str(Path(migrated).parent)})
    yield Figure(
        "the same command on a directory, beside OpenClaw 2026.9.6 on its import of that directory",
        ms(mine),
        f"OpenClaw 2026.9.6: {ms(theirs)}",
        f"{theirs / mine:.1f} × faster (limit 4 ×)",
    )


def facts_5000(inputs: Inputs) -> Iterator[Figure]:
    """Head and tail facts of 5,000 transcripts beside a bare loop: open, 16 KB at both ends, close; warm."""
    for what, state in (
        ("of 1 KB", inputs.state(sessions=5000, row_kb=0)),
        (
            "of the directory that is named",
            Path(named) if (named := os.environ.get("STRANDLINE_BENCH_STATE")) else None,
        ),
    ):
        if state is None:
            continue
        paths = sorted(map(str, state.glob("agents/*/sessions/*.jsonl")))[:5000]
        mine, theirs = [], []
        for _ in range(5):
            for loop, took in ((OURS_ENDS, mine), (BARE_ENDS, theirs)):
                done = subprocess.run(
                    [sys.executable, "-c", FACTS.format(loop=loop), *paths], stdout=subprocess.PIPE, check=True
                )
                took.append(float(done.stdout))
        ours, bare = statistics.median(mine), statistics.median(theirs)
        yield Figure(
            f"facts of {len(paths):,} transcripts {what}: first words, last words, last usage, damage at both ends",
            ms(ours),
            f"open, read 16 KB at both ends, close: {ms(bare)}",
            f"{ours / bare:.2f} × (limit 3 ×)",
        )


def start(inputs: Inputs) -> Iterator[Figure]:
    """From exec to the first painted, sorted rows that react to a key, warm."""
    for row_kb in (0, 6):
        state = inputs.state(sessions=5000, row_kb=row_kb)
        command = [*strandline(), "open", "--state", str(state), "--exit-after-first-rows"]
        took = median(command, RUNS)
        yield Figure(
            f"start to a sorted table of 5,000 rows of {row_kb} KB that reacts to a key",
            ms(took),
            "limit 1,000 ms",
            f"{took:.2f} of the limit",
        )


def window(inputs: Inputs) -> Iterator[Figure]:
    """Sort and filter of 50,000 rows, loop gaps while 50,000 rows of 6 KB load, memory at 5,000 sessions."""
    huge = inputs.state(sessions=50_000, row_kb=6, transcripts=False)
    usual = inputs.state(sessions=5000, row_kb=6)
    probe = [sys.executable, str(ROOT / "tests" / "gui" / "bench_window.py")]
    sorting = probe_json([*probe, "sort", str(huge)])
    for name in ("sort", "filter"):
        yield Figure(
            f"{name} of 50,000 rows, repaint included",
            f"{sorting[name]:.0f} ms",
            "limit 50 ms",
            f"{sorting[name] / 50:.2f} of the limit",
        )
    good, lines = 0, []
    for _ in range(5):
        loading = probe_json([*probe, "gap", str(huge)])
        idle = probe_json([*probe, "gap-idle"])
        good += loading["max"] <= max(50, idle["max"] + 25)
        lines.append(f"{loading['p50']:.0f}/{loading['p99']:.0f}/{loading['max']:.0f} (idle {idle['max']:.0f})")
    yield Figure(
        "loop gap p50/p99/max in ms while 50,000 rows of 6 KB load, five runs",
        "; ".join(lines),
        "good: max ≤ 50 ms or ≤ idle max + 25 ms, in three of five",
        f"good in {good} of 5",
    )
    memory = probe_json([*probe, "memory", str(usual)])
    yield Figure(
        "memory of window + worker at 5,000 sessions of 6 KB",
        f"{memory['window']:.0f} + {memory['worker']:.0f} MB",
        "limit 250 MB",
        f"{(memory['window'] + memory['worker']) / 250:.2f} of the limit",
    )


def tail(inputs: Inputs) -> Iterator[Figure]:
    """The tail of a transcript of 1 GB: leaf, last words, last usage; warm; then with the last usage 1 MB away."""
    path, _ = inputs.transcript(size=10**9)
    for what, results in (("", 0), (" that ends with 1 MB of tool results", 10**6)):
        if results:
            bench_core.add_results(path, results)
        found = probe_json([*CORE_PROBE, "tail", str(path), "20"])
        took = statistics.median(found["seconds"])
        yield Figure(
            f"tail of a transcript of {found['size'] / 1e9:.2f} GB{what}, {found['read'] / 1024:,.0f} KB of it read",
            f"{took * 1000:.2f} ms",
            "limit 20 ms",
            f"{took / 0.02:.3f} of the limit",
        )
    path.unlink()


def context(inputs: Inputs) -> Iterator[Figure]:
    """The whole context of a transcript of 10 MB beside the real session manager, when 2026.5 is named."""
    node, program = os.environ.get("STRANDLINE_PEER_NODE"), os.environ.get("STRANDLINE_PEER_OPENCLAW_5")
    if not (node and program):
        return
    script = str(ROOT / "tests" / "peer" / "context_time.mjs")
    for what, short in (("long tool results and short messages", False), ("short messages alone", True)):
        path, average = inputs.transcript(size=10**7, short=short)
        ours = probe_json([*CORE_PROBE, "context", str(path), "5"])
        real = probe_json([node, script, program, str(path), "5"], env={"HOME": str(path.parent)})
        if ours["messages"] != real["messages"]:
            raise SystemExit(f"context of {real['messages']} messages at OpenClaw, of {ours['messages']} here")
        mine, theirs = statistics.median(ours["seconds"]), statistics.median(real["seconds"])
        yield Figure(
            f"context of a transcript of 10 MB, {what}, {average:,} bytes a line",
            ms(mine),
            f"session manager of OpenClaw 2026.5.22: {ms(theirs)}",
            f"{theirs / mine:.1f} × faster (limit 3 ×)",
        )


def watching(inputs: Inputs) -> Iterator[Figure]:
    """CPU of a process that observes 1,000 sessions while another one appends to each of them every second."""
    state = inputs.state(sessions=1000, row_kb=0)
    bench_core.fill(state, 50_000)
    found = probe_json([*CORE_PROBE, "watching", str(state), "5"])
    share = found["cpu"] / found["wall"]
    yield Figure(
        f"CPU while {found['rate']:,.0f} files a second grow for {found['wall']:.1f} s, 1,000 sessions observed, "
        f"{found['told']:,.0f} changes told",
        f"{share:.1%} of one core",
        "limit 25 % of one core",
        f"{share / 0.25:.2f} of the limit",
    )


MEASUREMENTS: dict[str, Callable[[Inputs], Iterator[Figure]]] = {
    "list": list_5000,
    "facts_5000": facts_5000,
    "start": start,
    "window": window,
    "tail": tail,
    "context": context,
    "watching": watching,
}


def strandline() -> list[str]:
    """Return the installed command."""
    script = Path(sys.executable).with_name("strandline.exe" if os.name == "nt" else "strandline")
    return [str(script)] if script.exists() else [sys.executable, "-m", "strandline.cli.main"]


def paired(
    ours: list[str], theirs: list[str], *, runs: int = RUNS, env: dict[str, str] | None = None
) -> tuple[float, float]:
    """Time two commands in turn and return both medians in seconds."""
    mine, others = [], []
    for turn in range(runs + 1):
        first, second = timed(ours), timed(theirs, env)
        if turn:
            mine.append(first)
            others.append(second)
    return statistics.median(mine), statistics.median(others)


def median(command: list[str], runs: int) -> float:
    """Time one command, after a warm-up, and return the median in seconds."""
    return statistics.median([timed(command) for _ in range(runs + 1)][1:])


def timed(command: list[str], env: dict[str, str] | None = None) -> float:
    """Run a command to its end and return its wall time in seconds."""
    # Bytecode is cached as on any user's machine, whatever this shell says.
    variables = {key: value for key, value in {**os.environ, **(env or {})}.items() if key != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=variables, check=False)
    took = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(
            f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}"
        )
    return took


def probe_json(command: list[str], env: dict[str, str] | None = None) -> dict[str, Any]:
    """Run a probe and return the figures it prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env={**os.environ, **(env or {})})
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def ms(seconds: float) -> str:
    """Return a time as ``261 ms``."""
    return f"{seconds * 1000:,.0f} ms"


def report(figures: list[Figure]) -> str:
    """Return the table of the report."""
    cpu = platform.machine()
    with contextlib.suppress(OSError):
        names = [
            line for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines() if line.startswith("model name")
        ]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    head = f"\n{os.cpu_count()} × {cpu}, Python {platform.python_version()}, {platform.system()}\n\n"
    rows = "".join(f"| {' | '.join(figure)} |\n" for figure in figures)
    return f"{head}| what | Strandline | beside it | verdict |\n|---|---|---|---|\n{rows}"


if __name__ == "__main__":
    sys.exit(main())
