"""A realistic configuration of s3-proxy and all that is made of it; `UPDATE_GOLDEN=1` writes it anew."""

import json
import os
from pathlib import Path

import pytest

from tornado_proxy.config.loading import load
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.lang.diagnostic import errors
from tornado_proxy.rules.loading import RuleFile
from tornado_proxy.rules.loading import load as load_rules
from tornado_proxy.tools.convert.conversion import REPORT, convert, to_json, to_markdown, to_text
from tornado_proxy.tools.convert.options import read
from tornado_proxy.tools.files import formatted

PRESS = Path(__file__).parent / "golden" / "press"
EXPECTED = PRESS / "expected"
NAMES = ("tornado-proxy.yaml", "rules/downloads.rules", "rules/press.rules", REPORT, "stdout.json", "stdout.txt")


@pytest.fixture(scope="module")
def produced():
    """All files and both forms of standard output, by name."""
    before = Path.cwd()
    os.chdir(PRESS)
    try:
        done = convert(read([Path("conf")]), new_key=lambda: "a-key-that-is-random")
    finally:
        os.chdir(before)
    files = {**done.files, REPORT: to_markdown(done.report)}
    outputs = {
        "stdout.json": json.dumps(to_json(done.report, list(files)), indent=2, ensure_ascii=False) + "\n",
        "stdout.txt": to_text(done.report, list(files)),
    }
    return files | outputs


@pytest.mark.parametrize("name", NAMES)
def test_what_is_made_is_the_golden_file(name, produced):
    """The golden files are the configuration, the rules, and the report in its three forms."""
    if os.environ.get("UPDATE_GOLDEN"):
        (EXPECTED / name).parent.mkdir(parents=True, exist_ok=True)
        (EXPECTED / name).write_text(produced[name], encoding="utf-8")
    assert produced[name] == (EXPECTED / name).read_text(encoding="utf-8")


def test_nothing_else_is_made(produced):
    """Every file that is written has a golden file."""
    assert sorted(produced) == sorted(NAMES)


def test_the_configuration_loads():
    """The configuration loads without an error."""
    loaded = load(EXPECTED / "tornado-proxy.yaml", {}, unresolved)
    assert loaded.settings
    assert errors(loaded.diagnostics) == ()


def test_the_rule_files_load_and_are_formatted():
    """The rule files have the canonical layout."""
    assert sorted(load_rules(EXPECTED / "rules")) == ["downloads", "press"]
    for path in (EXPECTED / "rules").iterdir():
        data = path.read_bytes()
        assert formatted(RuleFile(path.name, data)) == (data, ())
