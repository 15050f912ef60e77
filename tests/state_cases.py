"""Cases from public reports as directories: copied with their recorded times, compared before and after looking."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

CASES = Path(__file__).parent / "data" / "cases"
NOW_MS = 1_779_278_400_000  # 2026-05-20T12:00:00Z, the clock of every case


def copy_case(name: str, into: Path) -> Path:
    """Copy a case, give every file its recorded time and return the state directory."""
    folder = into / name
    shutil.copytree(CASES / name, folder)
    for path, ms in json.loads((folder / "MTIMES.json").read_text("utf-8")).items():
        os.utime(folder / path, (ms / 1000, ms / 1000))
    return folder / "state"


def fingerprint(directory: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return size, time and bytes of everything below a directory, to see that looking changed nothing."""
    return {
        path.relative_to(directory).as_posix(): (
            path.stat().st_size,
            path.stat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(directory.rglob("*"))
    }
