"""Converts a realistic configuration of s3-proxy; `UPDATE_GOLDEN=1` writes the expected files anew."""

import json
import os
from pathlib import Path

import pytest

from tornado_proxy.config.loading import load
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.lint.engine import formatted
from tornado_proxy.rules.diagnostic import errors
from tornado_proxy.rules.loading import RuleFile
from tornado_proxy.rules.loading import load as load_rules
from tornado_proxy.tools.convert.conversion import REPORT, convert, to_json, to_markdown, to_text
from tornado_proxy.tools.convert.options import read

PRESS = Path(__file__).parent / "golden" / "press"
EXPECTED = PRESS / "expected"
NAMES = ("tornado-proxy.yaml", "rules/downloads.rules", "rules/press.rules", REPORT, "stdout.json", "stdout.txt")


@pytest.fixture(scope="module")
def conversion_outputs():
    """Returns all written files and both formats of standard output by name."""
    before = Path.cwd()
    os.chdir(PRESS)
    try:
        conversion = convert(read([Path("conf")]), new_key=lambda: "a-key-that-is-random")
    finally:
        os.chdir(before)
    files = {**conversion.files, REPORT: to_markdown(conversion.report)}
    outputs = {
        "stdout.json": json.dumps(to_json(conversion.report, list(files)), indent=2, ensure_ascii=False) + "\n",
        "stdout.txt": to_text(conversion.report, list(files)),
    }
    return files | outputs


@pytest.mark.parametrize("name", NAMES)
def test_each_output_is_the_golden_file(name, conversion_outputs):
    """The golden files are the configuration, the rules, and the report in its three formats."""
    if os.environ.get("UPDATE_GOLDEN"):
        (EXPECTED / name).parent.mkdir(parents=True, exist_ok=True)
        (EXPECTED / name).write_text(conversion_outputs[name], encoding="utf-8")
    assert conversion_outputs[name] == (EXPECTED / name).read_text(encoding="utf-8")


def test_every_output_has_a_golden_file(conversion_outputs):
    assert sorted(conversion_outputs) == sorted(NAMES)


def test_the_configuration_loads():
    loaded = load(EXPECTED / "tornado-proxy.yaml", {}, unresolved)
    assert loaded.settings
    assert errors(loaded.diagnostics) == ()


def test_the_rule_files_load_and_are_formatted():
    """The rule files have the canonical layout."""
    assert sorted(load_rules(EXPECTED / "rules")) == ["downloads", "press"]
    for path in (EXPECTED / "rules").iterdir():
        data = path.read_bytes()
        assert formatted(RuleFile(path.name, data)) == (data, ())
