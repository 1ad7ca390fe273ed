"""Runs whole command lines: each file in `transcripts` has a command, its input files, and its expected results.

    A sentence about what the transcript shows.

    $ tornado-proxy fmt --check rules

    === file rules/site.rules               a file in the directory; there may be several
    === committed main rules/site.rules     the same, committed on a branch of a Git repository
    === stdin
    === status 1
    === stdout                              left out if nothing is printed
    === stderr
    === afterwards rules/site.rules         the content of a file after the run

A line `…` stands for any lines. `make transcripts` writes the current results, to be reviewed and committed.
"""

import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from forking import SERVE, run_forked

from tornado_proxy.cli.main import COMMANDS

FOLDER = Path(__file__).parent / "transcripts"
TRANSCRIPTS = sorted(FOLDER.glob("*.txt"))
ANY_LINES = "…"

# The path from the shell to the program is the same for all transcripts, so only these are also run as processes.
AS_PROCESSES = ["fmt-stdin", "fmt-mistakes", "test-failure", "diff-nothing", "explain-requests-stdin", "lint-usage"]

# Commands that need a service or don't end by themselves, with the tests of their statuses.
TESTED_ELSEWHERE = {
    "probe": "tests/cli/test_configuration.py",
    "reload": "tests/cli/test_admin.py",
    "config": "tests/cli/test_configuration.py",
    "demo": "tests/end_to_end/test_demo.py",
    "lsp": "tests/cli/test_rules.py",
}

# Commands without findings, so without status 1.
NO_FINDINGS: set[str] = set()


@dataclass(frozen=True)
class Transcript:
    """A command line with its input and its results, as the sections of a file."""

    title: str
    words: list[str]
    sections: dict[str, str]

    @property
    def status(self) -> int:
        """Returns the exit status of the command."""
        return next(int(name.split()[1]) for name in self.sections if name.startswith("status"))

    def contents(self, kind: str) -> dict[str, str]:
        """Returns the contents of the sections of a kind, by the rest of their headings."""
        return {name.removeprefix(kind).strip(): text for name, text in self.sections.items() if name.startswith(kind)}

    def text(self) -> str:
        """Returns the text of the file."""
        sections = "".join(f"\n=== {name}\n{text}" for name, text in self.sections.items())
        return f"{self.title}\n\n$ {shlex.join(['tornado-proxy', *self.words])}\n{sections}"


def read_transcript(path: Path) -> Transcript:
    """Parses the transcript in a file."""
    head, *parts = path.read_text(encoding="utf-8").split("\n=== ")
    title, command = (part.strip() for part in head.split("\n$ "))
    sections = {name: text for name, _, text in (part.partition("\n") for part in parts)}
    return Transcript(title, shlex.split(command)[1:], sections)


def write_input(transcript: Transcript, folder: Path) -> None:
    """Writes the input of the command to a folder."""
    for branch_and_name, text in transcript.contents("committed ").items():
        branch, name = branch_and_name.split(" ", 1)
        _git(folder, "init", "-q")
        _git(folder, "checkout", "-q", "-B", branch)
        _write(folder / name, text)
        _git(folder, "add", "-A")
        _git(folder, "commit", "-qm", name)
    for name, text in transcript.contents("file ").items():
        _write(folder / name, text)
    _write(folder / ".stdin", transcript.sections.get("stdin", ""))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _git(folder: Path, *words: str) -> None:
    author = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True, env=environment)


def transcript_of_run(transcript: Transcript, status: int, out: str, err: str, folder: Path) -> Transcript:
    """Returns the transcript of a run of the same command line."""
    inputs = {
        name: text for name, text in transcript.sections.items() if name.split()[0] in {"file", "committed", "stdin"}
    }
    results = {f"status {status}": ""} | {name: text for name, text in (("stdout", out), ("stderr", err)) if text}
    written = {
        f"afterwards {name}": (folder / name).read_text(encoding="utf-8") for name in transcript.contents("afterwards ")
    }
    return replace(transcript, sections=inputs | results | written)


def matches(expected: str, actual: str) -> bool:
    """Returns whether a text is as expected, where a line `…` stands for any lines."""
    pattern = "".join(
        r"(?:.*\n)*" if line == ANY_LINES else re.escape(f"{line}\n") for line in expected.rstrip("\n").split("\n")
    )
    return re.fullmatch(pattern, actual if actual.endswith("\n") else f"{actual}\n") is not None


def compare(expected: Transcript, actual: Transcript, path: Path) -> None:
    """Compares two transcripts, or writes the actual one if UPDATE_TRANSCRIPTS is set."""
    same = expected.sections.keys() == actual.sections.keys()
    same = same and all(matches(text, actual.sections[name]) for name, text in expected.sections.items())
    if not same and "UPDATE_TRANSCRIPTS" in os.environ:
        path.write_text(actual.text(), encoding="utf-8")
        pytest.skip("written anew")
    assert same or actual.text() == expected.text()


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_command_line_agrees_with_its_transcript(path, command, tmp_path, monkeypatch):
    expected = read_transcript(path)
    write_input(expected, tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with (tmp_path / ".stdin").open("rb") as stdin:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
        ran = command(*expected.words)
    compare(expected, transcript_of_run(expected, ran.status, ran.out, ran.err, tmp_path), path)


@pytest.mark.parametrize("name", AS_PROCESSES)
def test_a_process_agrees_with_its_transcript(name, command, tmp_path):
    """The program in a process of its own, with real pipes, gives the results of its transcript."""
    expected = read_transcript(FOLDER / f"{name}.txt")
    write_input(expected, tmp_path)
    with (tmp_path / ".stdin").open("rb") as stdin:
        ran = run_forked(SERVE, expected.words, stdin=stdin.fileno())
    actual = transcript_of_run(expected, ran.returncode, ran.stdout, ran.stderr, tmp_path)
    compare(expected, actual, FOLDER / f"{name}.txt")


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in TESTED_ELSEWHERE])
def test_every_command_has_a_transcript_of_each_status(name):
    statuses = {transcript.status for transcript in map(read_transcript, TRANSCRIPTS) if transcript.words[:1] == [name]}
    assert statuses == ({0, 2} if name in NO_FINDINGS else {0, 1, 2})


def test_there_are_at_least_sixty_transcripts():
    assert len(TRANSCRIPTS) >= 60
