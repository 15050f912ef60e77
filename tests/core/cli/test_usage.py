"""The command line itself: help, version, one sentence for a wrong word, and a clean end."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from strandline import __version__
from strandline.cli import context
from strandline.cli.main import _with_sample_named, build_parser, main
from strandline.state import sample

if TYPE_CHECKING:
    from pathlib import Path


def _refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as end:
        main(words)
    out = capsys.readouterr()
    assert (end.value.code, out.out) == (2, "")
    assert out.err.count("\n") == 1
    return out.err


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nonsense"],
        ["sess"],
        ["--stat", "x", "sessions"],
        ["sessions", "--js"],
        ["sessions", "--state"],
        ["status", "x"],
    ],
)
def test_wrong_words_are_one_sentence(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, one line on stderr, nothing shortened is accepted."""
    assert re.fullmatch(r"strandline: .+; see strandline( \w+)? --help\.\n", _refused(words, capsys))


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    """Both end with 0; help names every command."""
    for words in (["--version"], ["--help"], ["sessions", "--help"]):
        with pytest.raises(SystemExit) as end:
            main(words)
        assert end.value.code == 0
    out = capsys.readouterr().out
    assert f"strandline {__version__}" in out
    for command in ("sessions", "status", "open"):
        assert command in out


def test_caller_keeps_its_collector(tmp_path: Path) -> None:
    """Called from another program, the command leaves garbage collection as it is."""
    assert main(["sessions", "--state", str(tmp_path), "--quiet"]) == 0
    assert gc.isenabled()


def test_shared_options_stand_before_or_behind_the_command(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """``strandline --json sessions`` is ``strandline sessions --json``."""
    assert main(["--json", "--state", str(tmp_path), "sessions"]) == 0
    before = capfdbinary.readouterr().out
    assert main(["sessions", "--json", "--state", str(tmp_path)]) == 0
    assert capfdbinary.readouterr().out == before


def test_command_runs_as_a_program(tmp_path: Path) -> None:
    """The core alone runs the command in a fresh process, without a warning."""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-X",
            "dev",
            "-m",
            "strandline.cli.main",
            "sessions",
            "--json",
            "--state",
            tmp_path,
        ],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_samples_the_command_names_are_those_that_can_be_built() -> None:
    """The names known without loading the builder are the builder's own."""
    assert context.SAMPLE_NAMES == sample.SAMPLES


@pytest.mark.parametrize(
    "words", [["--sample", "sessions"], ["sessions", "--sample"], ["--sample", "damaged", "sessions"]]
)
def test_a_sample_without_a_name_does_not_swallow_the_command(words: list[str]) -> None:
    """``--sample sessions`` is the usual sample and the command ``sessions``."""
    parsed = build_parser().parse_args(list(_with_sample_named(words)))
    assert parsed.command == "sessions"
    assert parsed.sample in sample.SAMPLES
