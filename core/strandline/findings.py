"""A finding: something that is not as it should be, with its evidence and what to do about it.

Each room offers the findings of its own things; the doctor collects them. A finding is text for people: it decides
nothing and changes nothing.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Severity(StrEnum):
    """How much a finding matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not as it should be.

    Attributes:
        code: a short stable name of the kind of finding, as ``lock.stale``.
        severity: how much it matters.
        what: one sentence for people.
        where: the file, key or setting it is about.
        evidence: what was seen that shows it.
        fix: what to do, in one sentence; empty when there is nothing to do.
    """

    code: str
    severity: Severity
    what: str
    where: str
    evidence: str
    fix: str
