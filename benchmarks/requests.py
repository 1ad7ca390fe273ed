"""The time of `diff` and `explain --requests` for a million requests: `python benchmarks/requests.py [COUNT]`.

All requests are different, which is the worst case. Both sides have 1,000 rewrites, and a third of the requests get
another key. CPU time is that of all processes.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from tornado_proxy.cli.main import main

REWRITES = 1_000


def _rules(year: int) -> str:
    """Returns 1,000 rewrites, with one that depends on the year."""
    moved = "".join(f'    rewrite `^/moved/{n}/(.*)$` -> "/new/{n}/$1"\n' for n in range(REWRITES - 2))
    press = rf'    rewrite press `^/press/(?P<page>[^/]+)\.html$` -> "/archive/{year}/$page.html"' + "\n"
    return f'target site {{\n{moved}{press}    rewrite help `^/help/(.*)$` -> "/guides/$1"\n}}\n'


def _paths(count: int) -> str:
    """Returns different paths; a third of them match the rewrite that depends on the year."""
    kinds = (lambda n: f"/press/p{n}.html", lambda n: f"/moved/{n % REWRITES}/a%20b/{n}", lambda n: f"/images/{n}.png")
    return "".join(f"{kinds[n % 3](n)}\n" for n in range(count))


def _measure(name: str, *words: str) -> None:
    start, cpu_before = time.perf_counter(), os.times()
    status = main(words)
    cpu_after = os.times()
    cpu_time = sum(cpu_after[:4]) - sum(cpu_before[:4])
    print(
        f"{name}: {time.perf_counter() - start:.1f} s, {cpu_time:.1f} s of CPU time, status {status}\n", file=sys.stderr
    )


def run(count: int) -> None:
    """Measures both commands."""
    with tempfile.TemporaryDirectory() as folder:
        old, new, paths = (Path(folder, name) for name in ("old.rules", "new.rules", "paths"))
        old.write_text(_rules(2024))
        new.write_text(_rules(2025))
        paths.write_text(_paths(count))
        _measure("diff", "diff", str(old), str(new), "--requests", str(paths), "--examples", "1")
        words = ("--rules", str(new), "--target", "site", "--requests", str(paths), "--format", "json")
        _measure("explain --requests", "explain", *words)


if __name__ == "__main__":
    run(int(sys.argv[1]) if sys.argv[1:] else 1_000_000)
