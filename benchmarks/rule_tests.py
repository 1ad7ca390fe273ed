"""The cost of rule tests: `python benchmarks/rule_tests.py` prints seconds and memory of a small and a large set.

The large one is like that of docs.python.org: 65 redirects with groups, alternatives, classes and optional parts, and
8,800 tests of addresses. No rule takes one in ten of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REDIRECTS, TESTS = 65, 8_800

Pair = tuple[str, list[tuple[str, str]]]


def redirect_and_addresses(number: int, addresses: int) -> Pair:
    """Returns a redirect, and addresses each with the place where it leads."""
    version, names = f"3.{number % 15}", [f"module{each}" for each in range(addresses)]
    kinds: tuple[Pair, ...] = (
        (
            f'redirect 301 `^/(?:rel|dev)/{number}/lib/(?P<page>[a-z0-9_]+)(?:\\.html)?$` -> "/lib{number}/$page"',
            [(f"/rel/{number}/lib/{name}", f"/lib{number}/{name}") for name in names],
        ),
        (
            f'redirect 301 `^/((?:2|3)(?:\\.[0-9]+)?)/old{number}/(?P<rest>.*)$` -> "/$1/new{number}/$rest"',
            [(f"/{version}/old{number}/{name}.html", f"/{version}/new{number}/{name}.html") for name in names],
        ),
        (
            f'redirect `^/(?P<lang>[a-z]{{2}}(?:-[a-z]{{2}})?)/{number}/news/?(?P<page>.*)$` -> "/$lang/3/news/$page"',
            [(f"/pt-br/{number}/news/{name}", f"/pt-br/3/news/{name}") for name in names],
        ),
        (
            f'redirect 301 `(?i)^/ftp/python/doc/{number}/(.+)\\.(?:tgz|zip|pdf)$` -> "/ftp/{number}/$1"',
            [(f"/FTP/python/doc/{number}/{name}.tgz", f"/ftp/{number}/{name}") for name in names],
        ),
    )
    return kinds[number % len(kinds)]


def rule_file(redirects: int, tests: int) -> str:
    """Returns rules with their tests."""
    statements: list[str] = []
    lines: list[str] = []
    for number in range(redirects):
        rule, addresses = redirect_and_addresses(number, tests // redirects)
        status = "301 " if " 301 " in rule else ""
        statements.append(rule)
        for each, (address, place) in enumerate(addresses):
            lines.append(f'test "{address}" -> redirect {status}"{place}"')
            if each % 10 == 9:
                lines[-1] = f'test "/none{address}" -> unchanged'
    lines += [f'test "/current/{each}" -> unchanged' for each in range(tests - len(lines))]
    return "\n".join(["target docs {", *statements, *lines, "}\n"])


def measure(text: str) -> str:
    """Runs `tornado-proxy test`; returns wall-clock time, CPU time and the largest memory."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "docs.rules").write_text(text, encoding="utf-8")
        began = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", "tornado_proxy", "test", folder])
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0, "all tests pass"
        elapsed, cpu = time.perf_counter() - began, usage.ru_utime + usage.ru_stime
    return f"{elapsed:.2f} s, {cpu:.2f} s of CPU time, {usage.ru_maxrss // 1024} MiB"


if __name__ == "__main__":
    for redirects, tests in ((1, 1), (REDIRECTS, TESTS)):
        print(f"{redirects} redirects, {tests} tests: {measure(rule_file(redirects, tests))}")
