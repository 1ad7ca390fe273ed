"""The cost of linting: `python benchmarks/lint.py [REWRITES]` prints a line for each kind of rule file, and the start.

The `lint` lines measure all checks of a file of rewrites with a test each, in this process. The `shell` lines measure
the `lint` command for the same file, in wall-clock and CPU time. The `reach` lines measure only the proofs of
`unreachable-rewrite`, for 1,000 rewrites. The last line compares the command on a small file with a Python that only
imports Lark and google-re2, in alternating runs.
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

from gotemplate.regexp.proofs import Covered, Unknown
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

RewriteAndTest = Callable[[int], tuple[str, str]]


def pages(number: int) -> tuple[str, str]:
    """Returns a rewrite of a page that has moved, and its test."""
    name = f"/section{number % 97}/page{number}"
    rewrite = f'rewrite `^{name}/(?P<rest>[^/]+)\\.html$` -> "/archive/{number}/$rest.html"'
    return rewrite, f'test "{name}/a.html" -> "/archive/{number}/a.html"'


def directories(number: int) -> tuple[str, str]:
    """Returns a rewrite of a directory that has moved; four of five are below a directory that has moved before."""
    name = f"/{number // 5}" + (f"/{number % 5}" if number % 5 else "")
    return f'rewrite `^{name}/(?P<rest>.*)$` -> "/moved/{number}/$rest"', f'test "/moved/{number}" -> unchanged'


def mixed(number: int) -> tuple[str, str]:
    """Returns a rewrite with alternatives, classes, ignored case, or no anchor, and a test."""
    kinds = (
        f'rewrite `^/{number}/(?:a|b)/(?P<rest>.+)$` -> "/n/{number}/$rest"',
        f'rewrite `(?i)^/img{number}/[a-z0-9_-]+\\.(?:png|jpe?g)$` -> "/images/{number}.png"',
        f'rewrite `/old{number}/` -> "/new/{number}/"',
        f'rewrite `^/(?P<year>\\d{{4}})/{number}/(?P<rest>.*)$` -> "/$year/$rest"',
    )
    return kinds[number % len(kinds)], f'test "/t/{number}" -> unchanged'


def rule_file(make: RewriteAndTest, count: int) -> RuleFile:
    """Returns a file of many rewrites with a test each."""
    lines = [make(number) for number in range(count)]
    statements = [rewrite for rewrite, _ in lines] + [test for _, test in lines]
    return RuleFile("many.rules", "\n".join(["target site {", *statements, "}\n"]).encode())


def lint_in_process(make: RewriteAndTest, count: int) -> str:
    """Reads, compiles and checks a file; returns the time and the number of findings."""
    file = rule_file(make, count)
    gc.disable()  # the command does this, too
    began = time.perf_counter()
    report = lint(subject_of(compile_rule_files([file])), CHECKS)
    gc.enable()
    return f"{time.perf_counter() - began:6.2f} s  {len(report.diagnostics)} findings"


def run_command(make: RewriteAndTest, count: int) -> str:
    """Runs the `lint` command without its output; returns wall-clock and CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "many.rules")
        file.write_bytes(rule_file(make, count).data)
        before, began = os.times(), time.perf_counter()
        command = [sys.executable, "-m", "tornado_proxy", "lint", "--exit-zero", str(file)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        elapsed, after = time.perf_counter() - began, os.times()
    cpu_time = after.children_user + after.children_system - before.children_user - before.children_system
    return f"{elapsed:6.2f} s  {cpu_time:.2f} s of CPU time"


def prove_reachability(make: RewriteAndTest, count: int) -> str:
    """Runs only the proofs of unreachable-rewrite; returns the time and the numbers of results."""
    subject = subject_of(compile_rule_files([rule_file(make, count)]))
    began = time.perf_counter()
    reaches = subject.targets[0].reaches
    elapsed = time.perf_counter() - began
    covered, unknown = (sum(isinstance(reach, kind) for reach in reaches) for kind in (Covered, Unknown))
    return f"{elapsed:6.2f} s  {covered} unreachable, {unknown} not proved"


def compare_start() -> str:
    """Compares the command on a small file with importing Lark and google-re2; returns medians and minimums."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "site.rules")
        file.write_text(SMALL, encoding="utf-8")
        commands = (["-c", "import lark, re2"], ["-m", "tornado_proxy", "lint", str(file)])
        times: tuple[list[float], ...] = ([], [])
        for _ in range(RUNS):
            for command, durations in zip(commands, times, strict=True):
                began = time.perf_counter()
                subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
                durations.append(1000 * (time.perf_counter() - began))
    (base, lint_), (base_minimum, lint_minimum) = map(statistics.median, times), map(min, times)
    return f"{lint_ - base:.0f} ms more than {base:.0f} ms (median), {lint_minimum - base_minimum:.0f} ms at best"


def main() -> None:
    """Prints a line for each measurement."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for make in (pages, directories, mixed):
        print(f"lint   {count:6} {make.__name__:12} {lint_in_process(make, count)}")
    for make in (pages, directories, mixed):
        print(f"shell  {count:6} {make.__name__:12} {run_command(make, count)}")
    for make in (pages, directories, mixed):
        print(f"reach   1000  {make.__name__:12} {prove_reachability(make, 1000)}")
    print(f"start  {compare_start()}")


if __name__ == "__main__":
    main()
