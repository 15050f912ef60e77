"""A finding: something a person should know, with what it rests on and what to do (contract of ``doctor``).

Each room offers the findings of its own things; ``doctor`` collects them. As JSON a finding has the keys ``code``,
``severity``, ``what``, ``where``, ``evidence`` and ``fix``, in this order (``msgspec.to_builtins``).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Severity: TypeAlias = Literal["info", "warning", "error"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to know.

    Attributes:
        code: stable kebab-case name of the kind of finding; equal codes are grouped, and a known one is not announced
            again.
        severity: ``info`` is worth knowing, ``warning`` costs or will cost something, ``error`` is wrong now.
        what: one sentence for people.
        where: the session key, file or setting it is about; with a line when there is one.
        evidence: the facts it rests on, each with its numbers.
        fix: what to do, in words; empty when there is nothing to do.
    """

    code: str
    severity: Severity
    what: str
    where: str
    evidence: tuple[str, ...]
    fix: str = ""
