"""Strandline's headless core: everything the window, the command and a notebook know about a state directory.

Start at ``strandline.gateway``: ``async with open_gateway(path) as gateway``.
"""

from __future__ import annotations

__version__ = "0.1.0"
