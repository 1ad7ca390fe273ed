import json
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from command_lines import imported_by

RULES = """target site {
    rewrite `^/a$` -> "/b"
    rewrite `^/c$` -> "/d"

    test "/a" -> "/b"
    test "/c" -> "/e"
}
"""
CONFIGURATION = """
rules: [elsewhere/]
targets:
  site:
    mount: {path: [/docs]}
    bucket: {name: files, region: eu-west-1}
"""


@pytest.fixture
def rules(command):
    """A rule file with a test that passes and one that fails."""
    path = Path("rules/site.rules")
    path.parent.mkdir()
    path.write_text(RULES)
    return path


def test_formats_tell_the_same(command, rules):
    """Text on standard output; with the others, a summary on standard error."""
    told, shown = command("test", "--format", "json"), command("test", "--output-format", "junit")
    assert (told.status, shown.status) == (1, 1)
    assert json.loads(told.out)["summary"] == {"tests": 2, "failed": 1}
    assert fromstring(shown.out).get("failures") == "1"
    assert told.err == shown.err == "1 failed, 1 passed\n"


def test_chosen_tests_decide_the_status(command, rules):
    """What is not run does not fail."""
    assert command("test", "--run", "^/a$").status == 0
    assert command("test", "--run", "^/c$").status == 1


@pytest.mark.parametrize(("least", "status"), [("50", 0), ("50.5", 1), ("0", 0), ("100", 1)])
def test_coverage_may_be_asked_for(command, rules, least, status):
    """Too little coverage fails a run in which all tests pass; enough does not."""
    done = command("test", "--run", "^/a$", "--fail-under", least)
    assert done.status == status
    assert done.out.startswith("coverage    site   50.0 %  1 of 2 rewrites\n")
    assert ("are required" in done.err) == bool(status)


def test_without_tests_coverage_still_counts(command, rules):
    """Rewrites that nothing tests are not covered."""
    rules.write_text('target site { rewrite `^/a$` -> "/b" }')
    assert command("test").status == 0
    assert command("test", "--fail-under", "1").status == 1


@pytest.mark.parametrize("percent", ["-1", "100.1", "many", "nan"])
def test_a_percentage_is_a_number_from_0_to_100(command, percent):
    """Anything else is a usage error."""
    done = command("test", f"--fail-under={percent}")
    assert done.status == 2
    assert f"`{percent}` is not a number from 0 to 100" in done.err


def test_a_configuration_names_the_rules(command, rules):
    """Unless places are given, which are the whole set then."""
    Path("proxy.yaml").write_text(CONFIGURATION)
    Path("elsewhere").mkdir()
    Path("elsewhere/site.rules").write_text('target site { test "/x" -> unchanged }')
    assert command("test", "--config", "proxy.yaml").out == "1 passed\n"
    assert command("test", "rules", "--config", "proxy.yaml").out.endswith("1 failed, 1 passed\n")


def test_testing_imports_no_server():
    """Plain rules need nothing else."""
    gallery = Path(__file__).parents[2] / "rules"
    assert imported_by("test", str(gallery / "site.rules")) == set()
    assert imported_by("test", str(gallery / "team.rules")) == {"jinja2"}


def test_the_gallery_passes(command):
    """Rules that are shown are true."""
    assert command("test", str(Path(__file__).parents[2] / "rules"), "--fail-under", "100").status == 0
