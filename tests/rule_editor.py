"""Edits of the rule files of a running service, made by another process.

Threads of a test could interrupt this process between emptying a file and writing it, and an empty file is a good one.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

GOOD = ("in_place", "by_rename", "new_file", "delete", "directory", "undo_directory", "swap", "swap", "unlink_swap")
BAD = ("syntax_error", "dangling", "all_gone")


def _rules(path: str, edit: int) -> str:
    return f'target site {{ rewrite `^/{path}$` -> "/edit-{edit}/{path}.txt" }}\n'


@dataclass
class RuleFiles:
    """Two rule files, and the ways to edit them; each edit has another number."""

    folder: Path
    edit: int = 0

    def rule_file(self, path: str = "a") -> Path:
        """Returns the path of a rule file."""
        return self.folder / f"{path}.rules"

    def in_place(self) -> None:
        """Overwrites both files, as one edit."""
        for path in ("a", "b"):
            self.rule_file(path).write_text(_rules(path, self.edit))

    def by_rename(self) -> None:
        """Saves as editors do: writes other files and renames them over both files."""
        for path in ("a", "b"):
            self.rule_file(f".{path}.swp").write_text(_rules(path, self.edit))
        for path in ("a", "b"):
            self.rule_file(f".{path}.swp").rename(self.rule_file(path))

    def new_file(self) -> None:
        """Adds a third file and overwrites both files."""
        self.rule_file("extra").write_text(f"target site {{}} # {self.edit}\n")
        self.in_place()

    def delete(self) -> None:
        """Deletes the third file and replaces both files."""
        self.rule_file("extra").unlink(missing_ok=True)
        self.by_rename()

    def directory(self) -> None:
        """Renames a directory with the second file into the folder; at no time is that file missing."""
        prepared = self.folder.parent / f"prepared-{self.edit}"
        prepared.mkdir()
        (prepared / "b.rules").write_text(_rules("b", self.edit))
        self.rule_file("a").write_text(_rules("a", self.edit))
        prepared.rename(self.folder / "deep")
        self.rule_file("b").unlink(missing_ok=True)

    def undo_directory(self) -> None:
        """Renames the directory out of the folder."""
        self.in_place()
        (self.folder / "deep").rename(self.folder.parent / f"gone-{self.edit}")

    def swap(self) -> None:
        """Updates as Kubernetes updates a ConfigMap: the files are links through `..data`, which is replaced."""
        revision = self.folder / f"..{self.edit}"
        revision.mkdir()
        for path in ("a", "b"):
            (revision / f"{path}.rules").write_text(_rules(path, self.edit))
        (self.folder / "..data_tmp").symlink_to(revision.name)
        (self.folder / "..data_tmp").rename(self.folder / "..data")
        for path in ("a", "b"):
            if not self.rule_file(path).is_symlink():
                self.rule_file(f".{path}.link").symlink_to(f"..data/{path}.rules")
                self.rule_file(f".{path}.link").rename(self.rule_file(path))

    def unlink_swap(self) -> None:
        """Replaces the links by plain files."""
        self.by_rename()

    def syntax_error(self) -> None:
        """Truncates a file."""
        self.rule_file("a").write_text("target site { rewrite `^/a")

    def dangling(self) -> None:
        """Adds a file that cannot be read."""
        self.rule_file("lost").symlink_to("nowhere")

    def all_gone(self) -> None:
        """Removes all rule files at once; removed one by one, the first ones would leave a good set."""
        self.folder.rename(self.folder.with_name("away"))

    def repair(self) -> None:
        """Restores good files after a bad edit."""
        if not self.folder.exists():
            self.folder.with_name("away").rename(self.folder)
        self.rule_file("lost").unlink(missing_ok=True)
        self.in_place()


@dataclass
class RuleEditor:
    """A process that edits the rule files of a folder."""

    process: subprocess.Popen[str]

    def make(self, name: str, edit: int) -> float:
        """Makes an edit, a method of `RuleFiles`, with a number; returns the seconds that it took."""
        self.process.stdin.write(f"{name} {edit}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


@contextmanager
def rule_editor(folder: Path) -> Iterator[RuleEditor]:
    """Runs an editor for a folder, which is made."""
    folder.mkdir()
    command = [sys.executable, __file__, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield RuleEditor(process)


def _serve(folder: Path) -> None:
    """Makes the edits that are named on standard input; prints the seconds of each."""
    files = RuleFiles(folder)
    for line in sys.stdin:
        name, number = line.split()
        files.edit = int(number)
        begun = time.monotonic()
        getattr(files, name)()
        print(time.monotonic() - begun, flush=True)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
