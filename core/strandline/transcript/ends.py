"""Both ends of a transcript in one opening: what a list of sessions needs to know of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from strandline.state.fsys import BoundedFile, FileIdentity
from strandline.transcript.head import LARGEST_HEAD, Head, head_of
from strandline.transcript.index import TREE_VERSION, version_of
from strandline.transcript.tail import LARGEST_TAIL, Tail, tail_of

if TYPE_CHECKING:
    from pathlib import Path


class Ends(msgspec.Struct, frozen=True):
    """Head and tail of a transcript.

    Attributes:
        head: what its first bytes say.
        tail: what its last bytes say.
        identity: the file that was read.
    """

    head: Head
    tail: Tail
    identity: FileIdentity


def read_ends(path: Path, *, head_limit: int = LARGEST_HEAD, tail_limit: int = LARGEST_TAIL) -> Ends:
    """Read head and tail of a transcript.

    Args:
        path: the file; opened, read and closed.
        head_limit: bytes after which the head is given up.
        tail_limit: bytes after which the tail is given up.

    Raises:
        EnvironmentFault: it cannot be read.
    """
    with BoundedFile(path) as file:
        head = head_of(file, limit=head_limit)
        linear = head.header is not None and version_of(head.header.header) < TREE_VERSION
        tail = tail_of(file, linear=linear, limit=tail_limit)
        return Ends(head, tail, file.identity)
