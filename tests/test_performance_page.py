"""docs/performance.md names the loads and options that the benchmark has."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
BENCHMARK = ROOT / "benchmarks" / "serving.py"


def test_the_options_of_the_page_are_the_benchmarks():
    """Each option that a command of the page has is one that the benchmark takes."""
    told = subprocess.run([sys.executable, str(BENCHMARK), "--help"], capture_output=True, text=True, check=True).stdout
    commands = [line for line in PAGE.splitlines() if line.startswith("$ python benchmarks/serving.py")]
    options = {option for line in commands for option in re.findall(r"--[a-z]+", line)}
    assert commands
    assert options <= set(re.findall(r"--[a-z]+", told))


def test_the_rows_of_the_page_are_loads():
    """Each load of the benchmark has a row in the table."""
    loads = re.findall(r'(?m)^    Load\("([^"]+)"', BENCHMARK.read_text(encoding="utf-8"))
    assert loads
    assert [load for load in loads if f"\n| {load}," not in PAGE] == []


def test_the_benchmark_measures_a_load():
    """A load is run against all servers, and each has a figure."""
    words = ["--rounds", "1", "--scale", "0.01", "--load", "HEAD"]
    told = subprocess.run([sys.executable, str(BENCHMARK), *words], capture_output=True, text=True, check=True).stdout
    assert re.search(r"(?m)^\| HEAD, µs( \| [0-9]+){2,} \|$", told)
