import gc
import io
import json
from pathlib import Path

import pytest
from command_lines import imported_by

from tornado_proxy.cli.lint import _print_report
from tornado_proxy.cli.output import ExitStatus
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import INTERNAL_ERROR, LintReport

GOOD = 'target site {\n    rewrite `^/a$` -> "/b"\n\n    test "/a" -> "/b"\n}\n'
DOT = GOOD.replace("^/a$", "^/a.b$").replace('"/a"', '"/a.b"')
RELATIVE = GOOD.replace('-> "/b"\n\n', '-> "b"\n\n')
CONFIGURATION = "rules: [more]\ntargets: {site: {mount: {path: [/]}, bucket: {name: files, region: eu-west-1}}}\n"


def _write(path, text):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def test_nothing_heavy_is_imported_for_a_plain_file(command):
    """No server, S3 client, template engine or configuration is imported."""
    _write("site.rules", GOOD)
    assert imported_by("lint", "site.rules") == set()


# What only mistakes, findings, fixes, settings, templates or other commands need; each takes its milliseconds.
SPARED = (
    *("difflib", "tomllib", "xml", "asyncio"),
    *("tornado_proxy.config.loading", "tornado_proxy.config.model", "tornado_proxy.routing", "tornado_proxy.tools"),
    *("tornado_proxy.lang.excerpt", "tornado_proxy.lang.printer", "tornado_proxy.lang.recovery"),
    *("tornado_proxy.lint.reporters.ci", "tornado_proxy.lint.reporters.documents"),
    *("tornado_proxy.templates.golang", "tornado_proxy.templates.jinja"),
)


def test_a_clean_plain_file_spares_what_it_does_not_need(command):
    """Modules for mistakes, findings, templates and other commands are not imported."""
    _write("site.rules", GOOD)
    assert imported_by("lint", "site.rules", among=SPARED) == set()


def test_only_what_a_file_needs_is_imported(command):
    """A jinja template needs Jinja2, and nothing else that is heavy."""
    _write("site.rules", GOOD.replace('"/b"\n\n', 'jinja "/b"\n\n'))
    assert imported_by("lint", "site.rules") == {"jinja2"}


@pytest.mark.parametrize(
    ("words", "found"),
    [((), "rules/a.rules"), (("other",), "other/b.rules"), (("--config", "proxy.yaml"), "more/c.rules")],
)
def test_where_rules_are_looked_for(command, words, found):
    """In the paths that are named, else where the configuration says, else in `rules/`."""
    for name in ("rules/a.rules", "other/b.rules", "more/c.rules"):
        _write(name, DOT)
    _write("proxy.yaml", CONFIGURATION)
    assert command("lint", "--format", "concise", *words).out.startswith(f"{found}:2:")


def test_the_current_directory_is_looked_at_last(command):
    """Where there is no `rules/`."""
    _write("a.rules", DOT)
    assert command("lint", "--format", "concise").out.startswith("a.rules:2:")


def test_a_place_without_rules_is_no_success(command):
    """A misspelt path in CI must not look like a clean run."""
    done = command("lint")
    assert (done.status, done.out) == (2, "")
    assert "has no rule file: the names of rule files end with `.rules`" in done.err


def test_a_file_that_cannot_be_read(command):
    """The tool could not do its work."""
    Path("a.rules").symlink_to("nowhere")
    done = command("lint")
    assert (done.status, done.out) == (2, "")
    assert "`a.rules` cannot be read" in done.err


def test_a_file_that_is_not_utf_8_is_a_finding(command):
    """It is the file that is wrong."""
    Path("a.rules").write_bytes(b"# \xff")
    done = command("lint", "--format", "concise")
    assert (done.status, done.out.split("] ")[0]) == (1, "a.rules:1:3: error[not-utf-8")


def test_a_file_that_cannot_be_written(command):
    """The error is reported, and the file stays as it was."""
    name = f"{'a' * 245}.rules"  # no longer one can stand beside it, not even for a moment
    _write(name, RELATIVE)
    done = command("lint", "--fix")
    assert (done.status, Path(name).read_text()) == (2, RELATIVE)
    assert "cannot be written" in done.err


def test_nothing_to_fix(command):
    """A clean file is not written, and fixes are not mentioned."""
    _write("a.rules", GOOD)
    before = Path("a.rules").stat()
    done = command("lint", "--fix")
    assert (done.status, done.err) == (0, "")
    assert Path("a.rules").stat().st_mtime_ns == before.st_mtime_ns


def test_a_check_that_fails_is_a_failure_of_the_tool():
    """Status 1 means findings: a defect of the tool must not look like one."""
    stream = io.StringIO()
    broken = LintReport((Diagnostic(INTERNAL_ERROR, "the check `x` failed"),))
    assert _print_report(broken, "concise", stream) is ExitStatus.FAILED
    assert "internal-error" in stream.getvalue()


@pytest.mark.parametrize("option", ["--format", "--output-format"])
def test_both_names_of_the_format(command, option):
    """The one is short, the other is known from other linters."""
    _write("a.rules", GOOD)
    assert json.loads(command("lint", option, "json").out)["version"] == 1


@pytest.mark.parametrize("words", [["--format", "xml"], ["--fail-level", "hint"], ["--nonsense"]])
def test_wrong_usage(command, words):
    """An invalid command line has status 2."""
    assert command("lint", *words).status == 2


def test_an_empty_selection_is_wrong_usage(command):
    """A variable that is empty in CI must not look like a clean run."""
    _write("a.rules", DOT)
    for words in ("", " , "):
        done = command("lint", "--select", words)
        assert (done.status, done.out) == (2, "")
        assert "names no check; leave it out, or give `all`" in done.err


def test_selections_add_up(command):
    """So do those that leave out."""
    _write("a.rules", DOT)
    assert "unescaped-dot" in command("lint", "--select", "unescaped-dot", "--select", "tests").out
    done = command("lint", "--ignore", "unescaped-dot", "--ignore", "unanchored-source")
    assert (done.status, "unescaped-dot" in done.out) == (0, False)


@pytest.mark.parametrize(
    ("words", "told"),
    [((), True), (("--select", "all"), True), (("--select", "tests"), False), (("--ignore", "all"), False)],
)
def test_warnings_of_a_configuration_go_with_all(command, words, told):
    """They have no names to be chosen by."""
    _write("more/a.rules", GOOD)
    _write("proxy.yaml", CONFIGURATION.replace("[/]", "[/, /a%20b]"))
    assert ("percent-escape" in command("lint", "--config", "proxy.yaml", *words).out) is told


def test_mistakes_of_a_configuration_are_always_print_report(command):
    """The service would refuse this configuration."""
    _write("more/a.rules", GOOD)
    _write("proxy.yaml", CONFIGURATION.replace("[/]", "7"))
    done = command("lint", "more", "--config", "proxy.yaml", "--select", "tests")
    assert (done.status, "wrong-type" in done.out) == (1, True)


def test_a_severity_that_there_is_not(command):
    """The severities are named."""
    done = command("lint", "--fail-level", "x")
    assert "invalid choice: 'x' (choose from" in done.err


def test_only_checks_and_categories_can_be_explained(command):
    """Another word is refused, with the check that was probably meant."""
    assert "unknown check or category `bad-source`" in command("lint", "--explain", "bad-source").err
    assert "did you mean `unescaped-dot`?" in command("lint", "--explain", "unescaped-dots").err


def test_every_check_can_be_explained(command):
    """The pages of all checks are printed, each under its name."""
    text = command("lint", "--explain", "all").out
    assert all(f"{check.name} ({check.category.value}, {check.severity.value})\n" in text for check in CHECKS)


def test_garbage_is_collected_again(command):
    """A library's or a test's own process is as it was."""
    _write("a.rules", GOOD)
    gc.enable()
    command("lint")
    assert gc.isenabled()


def test_line_ends_and_marks_survive_a_fix(command):
    """CR LF and a byte order mark are the author's."""
    text = b"\xef\xbb\xbf" + RELATIVE.replace("\n", "\r\n").encode()
    Path("a.rules").write_bytes(text)
    command("lint", "--fix")
    assert Path("a.rules").read_bytes() == text.replace(b'"b"', b'"/b"')


def test_a_configuration_among_the_paths_is_linted_with_its_rules(command):
    """`lint proxy.yaml` reports the mistakes of the file, of its pages and of its rule files."""
    _write("proxy.yaml", CONFIGURATION + "templates: {folderList: {path: list.html}}\n")
    _write("list.html", "{{ .Entries | nothing }}\n")
    _write("more/site.rules", GOOD.replace("site", "sight"))
    done = command("lint", "proxy.yaml", "--format", "concise")
    assert done.status == 1
    assert "list.html:1:15: error[bad-template] unknown function `nothing`" in done.out
    assert "more/site.rules:1:8: error[unknown-target]" in done.out


def test_a_configuration_with_mistakes_brings_no_other_rules(command):
    """Which files it names is unknown, and the files of the directory may belong to another service."""
    _write("proxy.yaml", "targets: {site: {bucket: {name: my-bucket, prefx: a}}}\nrules: [site.rules]\n")
    _write("stray.rules", 'target site { rewrite `^/(` -> "/b" }\n')
    done = command("lint", "proxy.yaml")
    assert "unknown option `prefx`" in done.out
    assert "stray.rules" not in done.out


def test_the_rules_of_a_configuration_among_the_paths_may_be_others(command):
    """With paths of rules beside it, those are linted, and its own are not."""
    _write("proxy.yaml", CONFIGURATION)
    _write("more/site.rules", RELATIVE)
    _write("other.rules", GOOD)
    assert command("lint", "other.rules", "proxy.yaml").status == 0


def test_one_configuration_is_enough(command):
    """Two of them are a mistake of the command line."""
    _write("proxy.yaml", CONFIGURATION)
    done = command("lint", "proxy.yaml", "--config", "proxy.yaml")
    assert (done.status, done.err) == (
        2,
        "tornado-proxy lint: several configurations: `proxy.yaml`, `proxy.yaml`: give one\n",
    )
