"""What the window remembers between runs: its size, the theme, the columns. Never anything about sessions."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from pathlib import Path
from typing import Literal

import msgspec
import platformdirs

FILE_NAME = "window.json"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Remembered choices.

    Attributes:
        width: of the window in logical pixels; 0 was never changed.
        height: likewise.
        theme: the colour scheme that was chosen.
        columns: names of the columns on show; ``None`` is the usual set.
        widths: column name → width in logical pixels.
    """

    width: int = 0
    height: int = 0
    theme: Literal["system", "light", "dark"] = "system"
    columns: tuple[str, ...] | None = None
    widths: dict[str, int] = {}


class OptionsFile:
    """Reads and writes the options, off the GUI thread.

    Args:
        path: the file; the user's configuration directory when left out.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or platformdirs.user_config_path("strandline", appauthor=False) / FILE_NAME

    def read(self) -> tuple[Options, str]:
        """Return the options and, where they could not be read, a sentence that says so."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=Options), ""
        except FileNotFoundError:
            return Options(), ""
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            return Options(), f"The window's options in {self.path} cannot be read and are left aside: {error}"

    async def write(self, options: Options) -> None:
        """Replace the file in one step; a disk that refuses costs nothing but the memory of the choice."""
        with contextlib.suppress(OSError):
            await asyncio.to_thread(self._write, msgspec.json.format(msgspec.json.encode(options), indent=2))

    def _write(self, data: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{FILE_NAME}.")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            temporary.replace(self.path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
