"""docs/performance.md names the loads and options of the benchmark."""

import re
import sys

import pytest
from programs import ROOT, output_of

PAGE = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
BENCHMARK = ROOT / "benchmarks" / "serving.py"


def test_the_options_of_the_page_are_the_benchmarks():
    usage = output_of(sys.executable, BENCHMARK, "--help")
    commands = [line for line in PAGE.splitlines() if line.startswith("$ python benchmarks/serving.py")]
    options = {option for line in commands for option in re.findall(r"--[a-z]+", line)}
    assert commands
    assert options <= set(re.findall(r"--[a-z]+", usage))


def test_the_page_has_every_load():
    loads = re.findall(r'(?m)^    Load\("([^"]+)"', BENCHMARK.read_text(encoding="utf-8"))
    assert loads
    assert [load for load in loads if f"\n| {load}," not in PAGE] == []


@pytest.mark.integration
def test_the_benchmark_measures_a_load():
    """The benchmark runs a load against all servers and prints a figure for each."""
    options = ["--rounds", "1", "--scale", "0.01", "--load", "HEAD"]
    printed = output_of(sys.executable, BENCHMARK, *options)
    assert re.search(r"(?m)^\| HEAD, µs( \| [0-9]+){2,} \|$", printed)
