"""docs/commands.md, docs/ci.md and docs/scaling.md describe the commands correctly."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from tornado_proxy.cli.main import COMMANDS, load_command

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
CI = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
SCALING = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))

_COMMAND = re.compile(r"tornado-proxy ([a-z]+(?: [^|>#&\n]*)?)")


def _section(name):
    return re.split(r"^## ", PAGE.split(f"\n## `{name}`\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def _documented(name):
    """The options in the first column of a section's table."""
    rows = re.findall(r"^\| (.*?`) \|", _section(name), flags=re.MULTILINE)
    return {option for row in rows for option in re.findall(r"`(--[a-z-]+)", row)}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_section_with_all_its_options(name):
    declared = {option for action in load_command(name)[1]._actions for option in action.option_strings}
    assert _documented(name) == declared - {"-h", "--help"}


def test_sections_stand_in_the_order_of_the_commands():
    assert re.findall(r"^## `(.*)`$", PAGE, flags=re.MULTILINE) == list(COMMANDS)


def test_one_table_shows_the_exit_statuses_of_every_command():
    table = PAGE.split("## Exit statuses")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE)
    assert {word for row in rows for word in re.findall(r"`([a-z]+)", row)} == set(COMMANDS)


def _command_lines(text):
    without_expressions = re.sub(r"\$\{\{.*?\}\}|\$\w+", "X", text)
    return sorted({command.strip() for command in _COMMAND.findall(without_expressions)})


@pytest.mark.parametrize("line", [line for line in _command_lines(CI + SCALING) if " " in line])
def test_the_command_lines_of_other_pages_can_be_run(line):
    """The parser of each command accepts the arguments in docs/ci.md and docs/scaling.md."""
    name, *arguments = shlex.split(line)
    load_command(name)[1].parse_args(arguments)


def test_the_jobs_are_yaml():
    """The examples of jobs are valid YAML, and use the hooks of this repository."""
    blocks = re.findall(r"```yaml\n(.*?)```", CI, flags=re.DOTALL)
    github, gitlab, before_commit = map(yaml.safe_load, blocks)
    assert github["jobs"]["rules"]["steps"]
    assert gitlab["rules"]["artifacts"]["reports"] == {"junit": "tests.xml", "codequality": "codequality.json"}
    used = {hook["id"] for hook in before_commit["repos"][0]["hooks"]}
    assert used == {hook["id"] for hook in HOOKS}


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_hooks_run_commands_of_the_product(hook):
    """Each hook runs for rule files; all but `fmt` also run for configurations, and get no file names."""
    program, name = hook["entry"].split()
    assert (program, hook["language"]) == ("tornado-proxy", "python")
    assert name in COMMANDS
    assert re.search(hook["files"], "rules/site.rules")
    assert hook.get("pass_filenames", True) == (name == "fmt")
    assert bool(re.search(hook["files"], "proxy.yaml")) == (name != "fmt")


def test_hooks_without_arguments_can_be_run():
    for hook in HOOKS:
        load_command(hook["entry"].split()[1])[1].parse_args([])
