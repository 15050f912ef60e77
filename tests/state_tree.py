"""Directories to test with: copies of recorded cases with their times, and the hash of everything in a tree."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Any

import golden
from strandline.state.discovery import Environment

NOON_MS = 1_779_278_400_000
"""2026-05-20T12:00:00Z, the clock of the cases."""

NAMES = tuple(sorted(folder.name for folder in (golden.DATA / "cases").iterdir()))


def copy_case(name: str, place: Path) -> Path:
    """Copy a case below ``place``, with the times it was recorded with, and return its state directory."""
    source = golden.DATA / "cases" / name
    target = place / name
    shutil.copytree(source / "state", target / "state")
    times = json.loads((source / "MTIMES.json").read_text("utf-8"))
    for path, mtime_ms in times.items():
        os.utime(target / path, ns=(mtime_ms * 1_000_000, mtime_ms * 1_000_000))
    return target / "state"


def write_store(state: Path, rows: Any, *, agent: str = "main") -> Path:
    """Write an agent's store and return its path; ``rows`` that are bytes are written as they are."""
    path = state / "agents" / agent / "sessions" / "sessions.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(rows if isinstance(rows, bytes) else json.dumps(rows).encode())
    return path


def write_config(state: Path, config: Any) -> Path:
    """Write the configuration of a state directory; bytes are written as they are."""
    path = state / "openclaw.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(config if isinstance(config, bytes) else json.dumps(config).encode())
    return path


def fixed(place: Path, now_ms: int = NOON_MS) -> Environment:
    """Return an environment with its home, working directory and scratch below ``place`` and a standing clock."""
    return Environment(
        variables={}, home=place, working_directory=place, now_ms=lambda: now_ms, scratch=lambda: place / "scratch"
    )


def tree_hash(top: Path) -> str:
    """Return a hash over every name, byte, time and mode below ``top``, itself included."""
    whole = hashlib.sha256()
    for path in (top, *sorted(top.rglob("*"))):
        status = path.lstat()
        whole.update(os.fsencode(path.relative_to(top)))
        whole.update(f"|{status.st_mode:o}|{status.st_mtime_ns}|{status.st_size}|{status.st_ino}|".encode())
        if stat.S_ISLNK(status.st_mode):
            whole.update(os.fsencode(path.readlink()))
        elif stat.S_ISREG(status.st_mode):
            whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def let_others_pass(path: Path) -> None:
    """Open the directories above ``path`` to other users; pytest keeps its own to the user, at several levels."""
    root = Path(tempfile.gettempdir()).resolve()
    for folder in (path.resolve(), *path.resolve().parents):
        if folder == root:
            return
        folder.chmod(0o755)
