import gc
import io
import json
from pathlib import Path

import pytest

from tornado_proxy.cli.output import ExitStatus
from tornado_proxy.cli.rules import _print_report
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import INTERNAL_ERROR, LintReport
from tornado_proxy.rules.diagnostic import Diagnostic

GOOD = 'target site {\n    rewrite `^/a$` -> "/b"\n\n    test "/a" -> "/b"\n}\n'
DOT = GOOD.replace("^/a$", "^/a.b$").replace('"/a"', '"/a.b"')
RELATIVE = GOOD.replace('-> "/b"\n\n', '-> "b"\n\n')
CONFIGURATION = "rules: [more]\ntargets: {site: {mount: {path: [/]}, bucket: {name: files, region: eu-west-1}}}\n"


def _write(path, text):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


@pytest.mark.parametrize(
    ("words", "linted_file"),
    [((), "rules/a.rules"), (("other",), "other/b.rules"), (("--config", "proxy.yaml"), "more/c.rules")],
)
def test_rules_are_searched_in_arguments_configuration_and_directory_rules(command, words, linted_file):
    """Rules are in the given paths, or else in the places of the configuration, or else in `rules/`."""
    for name in ("rules/a.rules", "other/b.rules", "more/c.rules"):
        _write(name, DOT)
    _write("proxy.yaml", CONFIGURATION)
    assert command("lint", "--format", "concise", *words).out.startswith(f"{linted_file}:2:")


def test_the_current_directory_is_linted_without_a_directory_rules(command):
    _write("a.rules", DOT)
    assert command("lint", "--format", "concise").out.startswith("a.rules:2:")


def test_a_directory_without_rules_is_a_failure(command):
    """A misspelt path in CI must not look like a clean run; one of a configuration has its place."""
    result = command("lint")
    assert (result.status, result.out) == (2, "")
    assert "has no rule file\n  = help: the names of rule files end with `.rules`" in result.err
    Path("proxy.yaml").write_text("rules: [rulez]\ntargets: {site: {bucket: {name: files}}}\n")
    assert "there is no `rulez`\n --> proxy.yaml:1:9\n" in command("lint", "proxy.yaml").err


def test_a_file_that_cannot_be_read_is_a_failure(command):
    Path("a.rules").symlink_to("nowhere")
    result = command("lint")
    assert (result.status, result.out) == (2, "")
    assert "`a.rules` cannot be read" in result.err


def test_a_file_that_is_not_utf_8_is_a_finding(command):
    """Invalid UTF-8 is a mistake of the file, so it has a position and status 1."""
    Path("a.rules").write_bytes(b"# \xff")
    result = command("lint", "--format", "concise")
    assert (result.status, result.out.split("] ")[0]) == (1, "a.rules:1:3: error[not-utf-8")


def test_a_file_that_cannot_be_written_is_a_failure(command):
    name = f"{'a' * 245}.rules"  # a temporary file beside it would have too long a name
    _write(name, RELATIVE)
    result = command("lint", "--fix")
    assert (result.status, Path(name).read_text()) == (2, RELATIVE)
    assert "cannot be written" in result.err


def test_a_check_that_fails_is_a_failure_of_the_tool():
    """Status 1 means findings, so a defect of a check gives status 2."""
    stream = io.StringIO()
    broken = LintReport((Diagnostic(INTERNAL_ERROR, "the check `x` failed"),))
    assert _print_report(broken, "concise", stream) is ExitStatus.FAILED
    assert "internal-error" in stream.getvalue()


@pytest.mark.parametrize("option", ["--format", "--output-format"])
def test_the_option_for_the_format_has_two_names(command, option):
    """`--output-format` is the name that other linters use."""
    _write("a.rules", GOOD)
    assert json.loads(command("lint", option, "json").out)["version"] == 1


def test_an_empty_selection_is_a_failure(command):
    """An empty variable in CI must not look like a clean run."""
    _write("a.rules", DOT)
    for selection in ("", " , "):
        result = command("lint", "--select", selection)
        assert (result.status, result.out) == (2, "")
        assert "names no check; leave it out, or give `all`" in result.err


def test_repeated_selections_are_united(command):
    _write("a.rules", DOT)
    assert "unescaped-dot" in command("lint", "--select", "unescaped-dot", "--select", "tests").out
    result = command("lint", "--ignore", "unescaped-dot", "--ignore", "unanchored-source")
    assert (result.status, "unescaped-dot" in result.out) == (0, False)


@pytest.mark.parametrize(
    ("words", "reported"),
    [((), True), (("--select", "all"), True), (("--select", "tests"), False), (("--ignore", "all"), False)],
)
def test_warnings_about_a_configuration_are_reported_with_all_checks(command, words, reported):
    """These warnings have no names, so only `all` selects or ignores them."""
    _write("more/a.rules", GOOD)
    _write("proxy.yaml", CONFIGURATION.replace("[/]", "[/, /a%20b]"))
    assert ("percent-escape" in command("lint", "--config", "proxy.yaml", *words).out) is reported


def test_mistakes_of_a_configuration_are_always_reported(command):
    """A selection of checks doesn't hide mistakes that the service would refuse."""
    _write("more/a.rules", GOOD)
    _write("proxy.yaml", CONFIGURATION.replace("[/]", "7"))
    result = command("lint", "more", "--config", "proxy.yaml", "--select", "tests")
    assert (result.status, "wrong-type" in result.out) == (1, True)


def test_every_check_can_be_explained(command):
    text = command("lint", "--explain", "all").out
    assert all(f"{check.name} ({check.category.value}, {check.severity.value})\n" in text for check in CHECKS)


def test_the_garbage_collector_is_enabled_after_a_run(command):
    """A library or a test that runs the command keeps its garbage collector."""
    _write("a.rules", GOOD)
    gc.enable()
    command("lint")
    assert gc.isenabled()


def test_a_fix_keeps_line_ends_and_byte_order_mark(command):
    text = b"\xef\xbb\xbf" + RELATIVE.replace("\n", "\r\n").encode()
    Path("a.rules").write_bytes(text)
    command("lint", "--fix")
    assert Path("a.rules").read_bytes() == text.replace(b'"b"', b'"/b"')


def test_a_configuration_among_the_paths_is_linted_with_its_rules(command):
    """`lint proxy.yaml` reports the mistakes of the configuration, of its pages and of its rule files."""
    _write("proxy.yaml", CONFIGURATION + "templates: {folderList: {path: list.html}}\n")
    _write("list.html", "{{ .Entries | nothing }}\n")
    _write("more/site.rules", GOOD.replace("site", "sight"))
    result = command("lint", "proxy.yaml", "--format", "concise")
    assert result.status == 1
    assert "list.html:1:15: error[bad-template] unknown function `nothing`" in result.out
    assert "more/site.rules:1:8: error[unknown-target]" in result.out


def test_with_mistakes_in_the_configuration_no_rules_are_linted(command):
    """The rule files of an invalid configuration are unknown; files in the directory may belong to another service."""
    _write("proxy.yaml", "targets: {site: {bucket: {name: my-bucket, prefx: a}}}\nrules: [site.rules]\n")
    _write("stray.rules", 'target site { rewrite `^/(` -> "/b" }\n')
    result = command("lint", "proxy.yaml")
    assert "unknown option `prefx`" in result.out
    assert "stray.rules" not in result.out


def test_rule_files_beside_a_configuration_replace_its_own(command):
    _write("proxy.yaml", CONFIGURATION)
    _write("more/site.rules", RELATIVE)
    _write("other.rules", GOOD)
    assert command("lint", "other.rules", "proxy.yaml").status == 0


def test_a_second_configuration_is_a_failure(command):
    _write("proxy.yaml", CONFIGURATION)
    result = command("lint", "proxy.yaml", "--config", "proxy.yaml")
    expected = (2, "tornado-proxy lint: several configurations: `proxy.yaml`, `proxy.yaml`: give one\n")
    assert (result.status, result.err) == expected


LISTS = 'target site {\n    redirects "lists/moved.txt"\n\n    test "/a" -> redirect "/b"\n}\n'


def test_fixes_are_written_to_lists(command):
    """As to rule files: safe ones with `--fix`, the others with `--unsafe-fixes`."""
    _write("rules/site.rules", LISTS)
    place = Path("rules/lists/moved.txt")
    place.parent.mkdir()
    place.write_bytes(b"/a /b # here\r\n/a /b\r\n/b /c\r\n/b /d\r\n/e /f\r\n")
    result = command("lint", "--fix", "rules")
    assert (result.status, "double-line" in result.out) == (1, True)
    assert place.read_bytes() == b"/a /b # here\r\n/b /c\r\n/b /d\r\n/e /f\r\n"
    assert "2 fixes applied in 1 file" in command("lint", "--unsafe-fixes", "rules").err
    assert place.read_bytes() == b"/a /c # here\r\n/b /c\r\n/e /f\r\n"
    assert Path("rules/site.rules").read_text() == LISTS


def test_a_list_of_standard_input_is_read_but_not_fixed(command, monkeypatch):
    """Its rules are printed, and nothing is written."""
    _write("lists/moved.txt", "/a /b\n/a /b\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LISTS.encode())))
    result = command("lint", "--fix", "-")
    assert result.out == LISTS
    assert "double-line" in result.err
    assert Path("lists/moved.txt").read_text() == "/a /b\n/a /b\n"
