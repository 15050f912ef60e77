"""Bounded reads of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from strandline.errors import EnvironmentFault, Refused
from strandline.state.fsys import BoundedFile, read_bytes

if TYPE_CHECKING:
    from pathlib import Path


def test_reads_stay_within_the_size_at_opening(tmp_path: Path) -> None:
    """Reads are counted and never go past the size that the file had when it was opened."""
    path = tmp_path / "f"
    path.write_bytes(b"0123456789")
    with BoundedFile(path) as file:
        with path.open("ab") as owner:
            owner.write(b"later")
        assert (file.read(8, 5), file.read(0, 3), file.read(10, 4), file.read(99, 1)) == (b"89", b"012", b"", b"")
        assert (file.bytes_read, file.identity.size) == (5, 10)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """Missing files and directories are errors with a sentence; so is a file over the bound."""
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(EnvironmentFault, match="Cannot read"):
            BoundedFile(path)
    (tmp_path / "f").write_bytes(b"0123456789")
    with pytest.raises(Refused, match="10 bytes are over 9"):
        read_bytes(tmp_path / "f", 9)
