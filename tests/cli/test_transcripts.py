"""Whole command lines: each file in `transcripts` holds a command, the files that it finds, and all that it does.

    What it shows, in a sentence.

    $ tornado-proxy fmt --check rules

    === file rules/site.rules               what lies in the directory, any number of them
    === committed main rules/site.rules     the same, on a branch of a Git repository there
    === stdin
    === status 1
    === stdout                              left out where nothing is printed
    === stderr
    === afterwards rules/site.rules         what a file holds in the end

A line `…` stands for any lines. `make transcripts` writes what the commands do now, to be reviewed and committed.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tornado_proxy.cli.main import COMMANDS, main

FOLDER = Path(__file__).parent / "transcripts"
TRANSCRIPTS = sorted(FOLDER.glob("*.txt"))
ANYTHING = "…"

# The way from the shell to the program and back, pipes and all, is the same for each: these stand for the others.
AS_PROCESSES = ["fmt-stdin", "fmt-mistakes", "test-failure", "diff-nothing", "explain-requests-stdin", "lint-usage"]

# Commands that do not end by themselves, and where their statuses are tested.
ELSEWHERE = {
    "probe": "tests/cli/test_probe.py",
    "reload": "tests/cli/test_reload.py",
    "fleet": "tests/cli/test_fleet.py",
    "config": "tests/cli/test_config.py",
    "demo": "tests/end_to_end/test_demo.py",
    "lsp": "tests/tools/lsp",
}

# Commands that find nothing, so that there is no status 1.
NO_FINDINGS = {"completion"}


@dataclass(frozen=True)
class Transcript:
    """One command line: what it finds and what it does, as the sections of a file."""

    title: str
    words: list[str]
    sections: dict[str, str]

    @property
    def status(self) -> int:
        """What the command ends with."""
        return next(int(name.split()[1]) for name in self.sections if name.startswith("status"))

    def part(self, kind: str) -> dict[str, str]:
        """The contents of the sections of one kind, by what is said behind it."""
        return {name.removeprefix(kind).strip(): text for name, text in self.sections.items() if name.startswith(kind)}

    def text(self) -> str:
        """The file."""
        sections = "".join(f"\n=== {name}\n{text}" for name, text in self.sections.items())
        return f"{self.title}\n\n$ {shlex.join(['tornado-proxy', *self.words])}\n{sections}"


def read(path: Path) -> Transcript:
    """The transcript of a file."""
    head, *parts = path.read_text(encoding="utf-8").split("\n=== ")
    title, command = (part.strip() for part in head.split("\n$ "))
    sections = {name: text for name, _, text in (part.partition("\n") for part in parts)}
    return Transcript(title, shlex.split(command)[1:], sections)


def prepare(transcript: Transcript, folder: Path) -> None:
    """Lay out what the command finds."""
    for where, text in transcript.part("committed ").items():
        branch, name = where.split(" ", 1)
        _git(folder, "init", "-q")
        _git(folder, "checkout", "-q", "-B", branch)
        _write(folder / name, text)
        _git(folder, "add", "-A")
        _git(folder, "commit", "-qm", name)
    for name, text in transcript.part("file ").items():
        _write(folder / name, text)
    _write(folder / ".stdin", transcript.sections.get("stdin", ""))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, env=environment)


def result(transcript: Transcript, status: int, out: str, err: str, folder: Path) -> Transcript:
    """The same command line with what it did."""
    found = {
        name: text for name, text in transcript.sections.items() if name.split()[0] in {"file", "committed", "stdin"}
    }
    did = {f"status {status}": ""} | {name: text for name, text in (("stdout", out), ("stderr", err)) if text}
    after = {
        f"afterwards {name}": (folder / name).read_text(encoding="utf-8") for name in transcript.part("afterwards ")
    }
    return replace(transcript, sections=found | did | after)


def agrees(expected: str, got: str) -> bool:
    """Whether a text is as expected, where a line `…` may be any lines."""
    pattern = "".join(
        r"(?:.*\n)*" if line == ANYTHING else re.escape(f"{line}\n") for line in expected.rstrip("\n").split("\n")
    )
    return re.fullmatch(pattern, got if got.endswith("\n") else f"{got}\n") is not None


def check(expected: Transcript, got: Transcript, path: Path) -> None:
    """Compare, or write down what was got where that is asked for."""
    same = expected.sections.keys() == got.sections.keys()
    same = same and all(agrees(text, got.sections[name]) for name, text in expected.sections.items())
    if not same and "UPDATE_TRANSCRIPTS" in os.environ:
        path.write_text(got.text(), encoding="utf-8")
        pytest.skip("written anew")
    assert same or got.text() == expected.text()


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_command_line_does_what_its_transcript_says(path, tmp_path, monkeypatch, capsys):
    """Output, status and files afterwards are those of the transcript."""
    expected = read(path)
    prepare(expected, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with (tmp_path / ".stdin").open("rb") as stdin:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
        try:
            status = main(expected.words)
        except SystemExit as ended:
            status = int(ended.code or 0)
    printed = capsys.readouterr()
    check(expected, result(expected, status, printed.out, printed.err, tmp_path), path)


@pytest.mark.parametrize("name", AS_PROCESSES)
def test_a_process_does_the_same(name, tmp_path):
    """The installed program, with real pipes, does what its transcript says."""
    expected = read(FOLDER / f"{name}.txt")
    prepare(expected, tmp_path)
    with (tmp_path / ".stdin").open("rb") as stdin:
        command = [sys.executable, "-m", "tornado_proxy", *expected.words]
        environment = os.environ | {"COLUMNS": "100"}
        done = subprocess.run(
            command, stdin=stdin, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
        )
    got = result(expected, done.returncode, done.stdout, done.stderr, tmp_path)
    assert all(agrees(text, got.sections[name]) for name, text in expected.sections.items())
    assert expected.sections.keys() == got.sections.keys()


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ELSEWHERE])
def test_every_status_of_every_command_is_shown(name):
    """There is a transcript for each status that a command may end with."""
    statuses = {each.status for each in map(read, TRANSCRIPTS) if each.words[:1] == [name]}
    assert statuses == ({0, 2} if name in NO_FINDINGS else {0, 1, 2})


def test_there_are_many():
    """The transcripts cover the commands broadly."""
    assert len(TRANSCRIPTS) >= 60
