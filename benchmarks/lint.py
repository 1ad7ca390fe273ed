"""The cost of linting: `python benchmarks/lint.py [REWRITES]` prints a line for each kind of rule file, and the start.

The first lines lint rewrites with a test each, with all checks: in one process, then as the whole command, in
wall-clock and CPU time. The next ones lint 1,000 rewrites, many of them unreachable. The last one compares the command
on a small file with a Python that only imports Lark and google-re2, in alternating runs.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tornado_proxy.goregex.proofs import Covered, Unknown
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import lint
from tornado_proxy.lint.subject import subject_of
from tornado_proxy.rules.loading import RuleFile, compile_rule_files

RUNS = 15

SMALL = """
target site {
    rewrite press `^/press/(?P<page>[^/]+)\\.html$` -> "/archive/press/$page.html"

    test "/press/spring.html" -> "/archive/press/spring.html"
    test "/other.html"        -> unchanged
}
"""

Line = Callable[[int], tuple[str, str]]


def pages(number: int) -> tuple[str, str]:
    """A page that has moved, and its test."""
    name = f"/section{number % 97}/page{number}"
    rewrite = f'rewrite `^{name}/(?P<rest>[^/]+)\\.html$` -> "/archive/{number}/$rest.html"'
    return rewrite, f'test "{name}/a.html" -> "/archive/{number}/a.html"'


def directories(number: int) -> tuple[str, str]:
    """A directory that has moved with its content; every fifth one is inside one that has moved before."""
    name = f"/{number // 5}" + (f"/{number % 5}" if number % 5 else "")
    return f'rewrite `^{name}/(?P<rest>.*)$` -> "/moved/{number}/$rest"', f'test "/moved/{number}" -> unchanged'


def mixed(number: int) -> tuple[str, str]:
    """Alternatives, classes, cases, and sources without anchors."""
    kinds = (
        f'rewrite `^/{number}/(?:a|b)/(?P<rest>.+)$` -> "/n/{number}/$rest"',
        f'rewrite `(?i)^/img{number}/[a-z0-9_-]+\\.(?:png|jpe?g)$` -> "/images/{number}.png"',
        f'rewrite `/old{number}/` -> "/new/{number}/"',
        f'rewrite `^/(?P<year>\\d{{4}})/{number}/(?P<rest>.*)$` -> "/$year/$rest"',
    )
    return kinds[number % len(kinds)], f'test "/t/{number}" -> unchanged'


def rule_file(line: Line, count: int) -> RuleFile:
    """Returns a file of many rewrites with a test each."""
    lines = [line(number) for number in range(count)]
    statements = [rewrite for rewrite, _ in lines] + [test for _, test in lines]
    return RuleFile("many.rules", "\n".join(["target site {", *statements, "}\n"]).encode())


def whole(line: Line, count: int) -> str:
    """Reads, compiles and checks a file."""
    file = rule_file(line, count)
    gc.disable()  # as the command does
    start = time.perf_counter()
    report = lint(subject_of(compile_rule_files([file])), CHECKS)
    gc.enable()
    return f"{time.perf_counter() - start:6.2f} s  {len(report.diagnostics)} findings"


def command(line: Line, count: int) -> str:
    """Runs the whole command without showing its output."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "many.rules")
        file.write_bytes(rule_file(line, count).data)
        before, start = os.times(), time.perf_counter()
        words = [sys.executable, "-m", "tornado_proxy", "lint", "--exit-zero", str(file)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        passed, after = time.perf_counter() - start, os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return f"{passed:6.2f} s  {spent:.2f} s of the processor"


def reach(line: Line, count: int) -> str:
    """Runs only the proofs of unreachable-rewrite."""
    subject = subject_of(compile_rule_files([rule_file(line, count)]))
    start = time.perf_counter()
    reaches = subject.targets[0].reaches
    passed = time.perf_counter() - start
    covered, unknown = (sum(isinstance(each, kind) for each in reaches) for kind in (Covered, Unknown))
    return f"{passed:6.2f} s  {covered} unreachable, {unknown} not proved"


def start() -> str:
    """Compares the command on a small file with importing Lark and google-re2; returns medians and minimums."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "site.rules")
        file.write_text(SMALL, encoding="utf-8")
        commands = (["-c", "import lark, re2"], ["-m", "tornado_proxy", "lint", str(file)])
        times: tuple[list[float], ...] = ([], [])
        for _ in range(RUNS):
            for command, taken in zip(commands, times, strict=True):
                begun = time.perf_counter()
                subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
                taken.append(1000 * (time.perf_counter() - begun))
    (base, lint_), (least, lint_least) = map(statistics.median, times), map(min, times)
    return f"{lint_ - base:.0f} ms more than {base:.0f} ms (median), {lint_least - least:.0f} ms at best"


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for line in (pages, directories, mixed):
        print(f"lint   {count:6} {line.__name__:12} {whole(line, count)}")
    for line in (pages, directories, mixed):
        print(f"shell  {count:6} {line.__name__:12} {command(line, count)}")
    for line in (pages, directories, mixed):
        print(f"reach   1000  {line.__name__:12} {reach(line, 1000)}")
    print(f"start  {start()}")


if __name__ == "__main__":
    main()
