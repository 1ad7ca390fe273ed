"""docs/tutorial.md: its files and commands, in their order, do what the page shows."""

import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from fresh_checkout import clean_environment, clone
from programs import ROOT, TOGETHER, output_of
from running import free_port

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
_INSTALLATION, _STEPS = PAGE.split("\n## 6. ")[0].split("\n## 1. ")[1].split("\n## 2. ")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILES = {"yaml": "proxy.yaml", "rules": "rules/site.rules"}
_MARK = "--- next command"


def _own_ports(text: str) -> str:
    """The page's text, with ports that are free here."""
    first = free_port(3)
    own_port = {"8080": first, "9090": first + 1, "5000": first + 2}
    # In one pass: a port put in place may have the digits of the next one, such as 25000.
    return re.sub("|".join(own_port), lambda port: str(own_port[port[0]]), text)


def _script(steps: str) -> tuple[list[str], list[str]]:
    """The commands of the steps, and the lines of a script that writes their files and prints a mark after each command."""
    commands, lines = [], []
    for language, content in _BLOCK.findall(steps):
        if language in _FILES:
            lines.append(f"printf %s {shlex.quote(content)} >{_FILES[language]}")
            continue
        for command in re.findall(r"^\$ (.*)", content, re.MULTILINE):
            commands.append(command)
            lines += [command, f"echo '{_MARK}'"]
    return commands, lines


def _shown(steps: str) -> dict[int, str]:
    """What the page shows below a command, by the number of the command."""
    blocks = [content for language, content in _BLOCK.findall(steps) if language == "console"]
    outputs = [output for content in blocks for output in re.split(r"^\$ .*\n", content, flags=re.MULTILINE)[1:]]
    return dict(enumerate(outputs))


def _timeless(text: str) -> str:
    """A text with the durations, times and directory of the page."""
    text = re.sub(r"(?m)^/\S+/(?=rules/)", "/home/you/first-rule/", text)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "2026-05-01T10:00:00.000Z", re.sub(r"\d+\.\d\d s", "0.03 s", text))


def _walk(before: str, folder: Path, environment: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Runs the steps after a script; returns each command, what it printed, and what the page shows."""
    steps = _own_ports(_STEPS)
    commands, lines = _script(steps)
    first = "set -euo pipefail", "trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT", before, f"echo '{_MARK}'"
    script = "\n".join((*first, *lines))
    printed = output_of("bash", "-c", script, cwd=folder, env=environment, timeout=300, **TOGETHER)
    outputs, shown = printed.split(f"{_MARK}\n")[1:], _shown(steps)
    return [(command, outputs[number], shown[number]) for number, command in enumerate(commands)]


@pytest.fixture(scope="module")
def walk(tmp_path_factory) -> list[tuple[str, str, str]]:
    """The commands of the page with the program of this checkout, what each printed, and what the page shows."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return _walk("mkdir rules", tmp_path_factory.mktemp("tutorial"), environment)


def test_every_command_succeeds(walk):
    """The commands succeed one after another, from an empty bucket to a rule that is served."""
    assert len(walk) > 10


def test_commands_print_what_the_page_shows(walk):
    """A command prints what the page shows below it, errors included; times may differ."""
    for command, printed, shown in walk:
        assert _timeless(printed) == shown, command


@pytest.mark.integration
def test_the_page_can_be_walked_from_a_fresh_checkout(tmp_path):
    """From a clone and an empty home, the commands of the page install the program, and then print what it shows."""
    (installation,) = (content for language, content in _BLOCK.findall(_INSTALLATION) if language == "sh")
    walked = _walk(installation, clone(tmp_path / "checkout"), clean_environment(tmp_path))
    assert [_timeless(printed) for _, printed, _ in walked] == [shown for _, _, shown in walked]
