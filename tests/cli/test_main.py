"""Tests the command itself: help, version, unknown subcommands, closed streams and exit statuses."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from command_lines import imported_by
from forking import SERVE, run_forked

from tornado_proxy.cli.main import COMMANDS, load_command, main
from tornado_proxy.cli.output import ExitStatus
from tornado_proxy.lint.reporters import FORMATS
from tornado_proxy.rules.diagnostic import Severity
from tornado_proxy.semantics.request import METHODS
from tornado_proxy.storage.limits import PROBE_WITHIN
from tornado_proxy.tools.convert.hosting import READERS
from tornado_proxy.tools.convert.rewrites import KeysAs

GALLERY = Path(__file__).parents[2] / "rules"


def test_the_bare_command_lists_all_subcommands(capsys):
    assert main([]) == ExitStatus.CLEAN
    printed = capsys.readouterr().out
    assert [name for name in COMMANDS if name not in printed] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_subcommand_has_a_help_page(name, capsys):
    with pytest.raises(SystemExit) as caught:
        main([name, "--help"])
    assert caught.value.code == ExitStatus.CLEAN
    assert f"tornado-proxy {name}" in capsys.readouterr().out


def test_the_version_is_printed(capsys):
    assert main(["--version"]) == ExitStatus.CLEAN
    assert capsys.readouterr().out.startswith("tornado-proxy 0.")


def test_a_defect_has_status_2():
    """An exception in the tool ends it with status 2, not with Python's 1, which means findings."""
    script = (
        "import sys, types; from tornado_proxy.cli import main\n"
        "broken = types.ModuleType('tornado_proxy.cli.requests', 'x')\n"
        "broken.run_explain = lambda arguments: 1 / 0\n"
        "sys.modules['tornado_proxy.cli.requests'] = broken\n"
        "sys.exit(main.main(['explain']))"
    )
    result = run_forked(script)
    assert result.returncode == ExitStatus.FAILED
    assert "ZeroDivisionError" in result.stderr


def test_the_choices_of_arguments_are_those_of_the_code():
    """The table of arguments repeats them, so that `--help` loads nothing."""
    choices = {(name, action.dest): action.choices for name in COMMANDS for action in load_command(name)[1]._actions}
    assert choices["explain", "method"] == [*METHODS]
    assert choices["lint", "format"] == [*FORMATS]
    assert choices["lint", "fail_level"] == [each.value for each in Severity]
    assert choices["convert", "keys_as"] == [each.value for each in KeysAs]
    assert choices["convert", "origin"] == [*READERS]
    defaults = {action.dest: action.default for action in load_command("probe")[1]._actions}
    assert defaults["timeout"] == PROBE_WITHIN


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_a_starting_daemon_ignores_signals_that_mean_no_end(command):
    """SIGHUP and SIGUSR1 end a process by default, though the one means a reload, the other that logs were rotated."""
    code = f"""import signal
from tornado_proxy.cli.main import main
try:
    main([{command!r}, "--help"])
finally:
    print(*(signal.getsignal(number).name for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)))
"""
    assert run_forked(code).stdout.splitlines()[-1] == "SIG_IGN SIG_IGN SIG_IGN"


# All commands but the services, which run without any stream.
COMMANDS_WITH_OUTPUT = [*(name for name in COMMANDS if name not in {"serve", "demo"}), "--help", "--version"]


@pytest.mark.parametrize("words", COMMANDS_WITH_OUTPUT)
def test_a_command_whose_standard_output_is_closed_fails(words):
    result = run_forked(SERVE, [words], stdout=None)
    assert result.returncode == ExitStatus.FAILED
    assert result.stderr == f"tornado-proxy{f' {words}' if words in COMMANDS else ''}: standard output is closed\n"


@pytest.mark.parametrize("words", ["--version", "lint --list"])
def test_a_full_disk_is_reported_on_one_line(words):
    """A full disk is not a defect of the tool, so it prints one line and no traceback."""
    with Path("/dev/full").open("w") as full:
        result = run_forked(SERVE, words.split(), stdout=full.fileno())
    name = words.partition(" ")[0]
    assert result.returncode == ExitStatus.FAILED
    assert result.stderr == f"tornado-proxy{f' {name}' if name in COMMANDS else ''}: No space left on device\n"


@pytest.mark.parametrize("words", ["lint -", "fmt -", "explain --requests - --rules site.rules", "lsp"])
def test_a_command_that_reads_closed_standard_input_fails(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("site.rules").write_text("target site {}\n", encoding="utf-8")
    result = run_forked(SERVE, words.split(), stdin=None)
    assert result.returncode == ExitStatus.FAILED
    assert result.stderr == f"tornado-proxy {words.partition(' ')[0]}: standard input is closed\n"


@pytest.mark.parametrize(("words", "prints"), [("lint --list <&- 2>&-", True), ("lint nowhere 2>&-", False)])
def test_a_command_runs_without_the_streams_that_it_does_not_use(words, prints):
    """A closed standard input or standard error changes no status, and errors are not printed to another stream."""
    command = ["bash", "-c", f"{sys.executable} -m tornado_proxy {words}"]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    assert (result.returncode, bool(result.stdout)) == (ExitStatus.CLEAN if prints else ExitStatus.FAILED, prints)


@pytest.mark.parametrize(
    ("words", "message_end"),
    [
        (["serve", "--confg", "proxy.yaml"], "unrecognized arguments: --confg; did you mean `--config`?\n"),
        (["serve", "--confg=proxy.yaml"], "unrecognized arguments: --confg=proxy.yaml; did you mean `--config`?\n"),
        (["serve", "--conf"], "argument --config: expected one argument\n"),
        (["diff", "--target", "-- a line"], "the following arguments are required: OLD, NEW\n"),
        (["lint", "--", "--formt"], "there is no `--formt`\n"),
    ],
)
def test_a_misspelt_option_is_reported_before_a_missing_one(words, message_end, capsys):
    """An option that is required does not count as missing if it is misspelt; a value and a path are no options."""
    with suppress(SystemExit):
        main(words)
    assert capsys.readouterr().err.endswith(message_end)


@pytest.mark.parametrize(
    ("words", "message_end"),
    [
        (["help"], "unknown command `help`; `tornado-proxy --help` lists the commands\n"),
        (["--verson"], "unrecognized arguments: --verson; did you mean `--version`?\n"),
        (["lint", "--formt"], "unrecognized arguments: --formt; did you mean `--format`?\n"),
        (["lint", "--zzz"], "unrecognized arguments: --zzz\n"),
        (
            ["lint", "--format", "jsn"],
            "(choose from 'full', 'concise', 'json', 'github', 'gitlab', 'sarif', 'junit'); did you mean `json`?\n",
        ),
        (["convert", "s3proxy", "conf", "--out", "new"], "(choose from 's3-proxy', 'redirects'); did you mean `s3-proxy`?\n"),
        (["config"], "the following arguments are required: show, --config\n"),
        (["demo", "--port=65536"], "`65536` is not a whole number from 0 to 65535\n"),
    ],
)  # fmt: skip
def test_the_error_about_a_misspelt_word_suggests_the_right_one(words, message_end, capsys):
    """A similar option or choice is suggested, if there is one; the argument has the name that the help gives it."""
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == ExitStatus.FAILED
    # Newer releases of Python write the choices without quotes.
    assert capsys.readouterr().err.replace("'", "").endswith(message_end.replace("'", ""))


SITE, TEAM = f"{GALLERY}/site.rules", f"{GALLERY}/team.rules"
WITHOUT_TEMPLATES = [
    ["lint", SITE],
    ["test", SITE],
    ["fmt", "--check", str(GALLERY)],
    ["explain", "/press/a.html", "--rules", SITE],
    ["diff", SITE, SITE, "--requests", "paths"],
]


@pytest.mark.parametrize(
    ("commands", "modules"),
    [(WITHOUT_TEMPLATES, set()), ([["lint", TEAM]], {"jinja2"}), ([["test", TEAM]], {"jinja2"})],
)
def test_commands_about_rules_import_what_they_need(commands, modules, tmp_path, monkeypatch):
    """Neither a server nor an S3 client; a template engine only if a rule uses it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paths").write_text("/a\n")
    assert imported_by(*commands) == modules
