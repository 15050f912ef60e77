"""The sample state: a small, believable OpenClaw state directory, built on request from a recipe.

A sample is a directory of our own making: it may be looked at, changed and cleaned like a real one. It is rebuilt when
it is old enough for its ages to look stale and nobody has touched it; a marker file tells it from other people's
directories, which are never replaced.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

import msgspec

from strandline.errors import BadRequest, EnvironmentFault, Refused
from strandline.state.discovery import SAMPLE_MARKER
from strandline.state.sample_recipe import DAY, recipe, talk
from strandline.state.sample_state import StateWriter

SAMPLES: tuple[str, ...] = ("harbour", "damaged")

_KEPT_FOR_MS = 7 * DAY
_LEFT_OVER_AFTER_MS = DAY // 24
_BUILDING = ".building-"


class _Marker(msgspec.Struct, frozen=True, rename="camel"):
    recipe: str
    recipe_version: int
    built_ms: int
    fingerprint: str


def build_sample(target: Path, name: str, now_ms: int) -> None:
    """Build the sample ``name`` at ``target``; an older sample there is replaced.

    The directory is complete before it appears under its name, so whoever looks sees the old one or the new one.

    Args:
        target: where it shall stand.
        name: one of ``SAMPLES``.
        now_ms: the time that all ages are counted back from, in milliseconds since the epoch.

    Raises:
        BadRequest: there is no such sample.
        Refused: something that we did not build stands at ``target``.
        EnvironmentFault: the system does not let us write there.
    """
    if name not in SAMPLES:
        raise BadRequest(f"There is no sample {name!r}; choose one of: {', '.join(SAMPLES)}.")
    target = target.absolute()
    try:
        if os.path.lexists(target) and (target.is_symlink() or _marker_of(target) is None):
            raise Refused(f"{target} is not a sample that Strandline built; move it away, or choose another place.")
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target, now_ms)
        workshop = Path(tempfile.mkdtemp(prefix=f".{target.name}{_BUILDING}", dir=target.parent))
        try:
            _build(workshop / "new", target, name, now_ms)
            _put_in_place(workshop, target)
        finally:
            shutil.rmtree(workshop, ignore_errors=True)
    except OSError as error:
        raise EnvironmentFault.of(error, target, "build the sample at") from error


def ensure_sample(data_dir: Path, name: str, now_ms: int, *, rebuild: bool = False) -> Path:
    """Return the directory of the sample ``name`` below ``data_dir``, building it when that is due.

    It is due when the sample is missing, when ``rebuild`` asks for it, when the recipe has changed since, and when
    it is older than seven days, or of a time to come, and nobody touched it.

    Raises:
        BadRequest: there is no such sample.
        Refused: something that we did not build stands in its place.
        EnvironmentFault: the system does not let us look or write there.
    """
    target = data_dir.absolute() / "samples" / name
    try:
        due = rebuild or _is_due(target, name, now_ms)
    except OSError as error:
        raise EnvironmentFault.of(error, target, "look at the sample at") from error
    if due:
        build_sample(target, name, now_ms)
    return target


def _is_due(target: Path, name: str, now_ms: int) -> bool:
    marker = _marker_of(target)
    if marker is None or (marker.recipe, marker.recipe_version) != (name, recipe().version):
        return True
    return not 0 <= now_ms - marker.built_ms <= _KEPT_FOR_MS and marker.fingerprint == _fingerprint(target)


def _build(root: Path, home: Path, name: str, now_ms: int) -> None:
    root.mkdir(mode=0o700)
    writer = StateWriter(recipe(), talk(), root, home, now_ms)
    if name == "harbour":
        writer.write_harbour()
    else:
        writer.write_damaged()
    marker = _Marker(name, recipe().version, now_ms, _fingerprint(root))
    path = root / SAMPLE_MARKER
    path.write_bytes(msgspec.json.format(msgspec.json.encode(marker), indent=2) + b"\n")
    os.utime(path, ns=(now_ms * 1_000_000, now_ms * 1_000_000))


def _put_in_place(workshop: Path, target: Path) -> None:
    old = workshop / "old"
    replaced = target.exists()
    if replaced:
        target.rename(old)
    try:
        (workshop / "new").rename(target)
    except OSError:
        if replaced:
            old.rename(target)
        raise


def _sweep(target: Path, now_ms: int) -> None:
    """Remove what builds left behind that were killed; a build that is under way is younger."""
    for left in target.parent.glob(f".{target.name}{_BUILDING}*"):
        with contextlib.suppress(FileNotFoundError):
            if now_ms - left.stat().st_mtime_ns // 1_000_000 > _LEFT_OVER_AFTER_MS:
                shutil.rmtree(left, ignore_errors=True)


def _marker_of(target: Path) -> _Marker | None:
    try:
        return msgspec.json.decode((target / SAMPLE_MARKER).read_bytes(), type=_Marker)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _fingerprint(root: Path) -> str:
    """Digest names, sizes and times of every file but the marker: any use that writes changes it."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.name != SAMPLE_MARKER and not path.is_dir():
            status = path.lstat()
            digest.update(f"{path.relative_to(root).as_posix()}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
