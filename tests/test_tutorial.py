"""docs/tutorial.md: its files and commands, in their order, do what the page shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from running import free_port

PAGE = (Path(__file__).parent.parent / "docs" / "tutorial.md").read_text(encoding="utf-8")
_STEPS = PAGE.split("\n## 2. ")[1].split("\n## 6. ")[0]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILES = {"yaml": "proxy.yaml", "rules": "rules/site.rules"}
_MARK = "--- next command"


def _own_ports(text: str) -> str:
    """The page's text, with ports that are free here."""
    first = free_port(3)
    for port, own_port in zip(("8080", "9090", "5000"), range(first, first + 3), strict=True):
        text = text.replace(port, str(own_port))
    return text


def _script(steps: str) -> tuple[list[str], str]:
    """The commands of the steps, and a script that writes their files, runs them, and prints a mark after each."""
    commands, script = [], ["set -euo pipefail", "trap 'kill $(jobs -p); wait' EXIT", "mkdir rules"]
    for language, content in _BLOCK.findall(steps):
        if language in _FILES:
            script.append(f"printf %s {shlex.quote(content)} >{_FILES[language]}")
            continue
        for command in re.findall(r"^\$ (.*)", content, re.MULTILINE):
            commands.append(command)
            script += [command, f"echo '{_MARK}'"]
    return commands, "\n".join(script)


def _shown(steps: str) -> dict[int, str]:
    """What the page shows below a command, by the number of the command."""
    blocks = [content for language, content in _BLOCK.findall(steps) if language == "console"]
    outputs = [output for content in blocks for output in re.split(r"^\$ .*\n", content, flags=re.MULTILINE)[1:]]
    return {number: output for number, output in enumerate(outputs) if output}


@pytest.fixture(scope="module")
def walk(tmp_path_factory) -> tuple[list[str], list[str], dict[int, str]]:
    """The commands of the page, what each of them printed, and what the page shows for some."""
    steps = _own_ports(_STEPS)
    commands, script = _script(steps)
    folder = tmp_path_factory.mktemp("tutorial")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    ran = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    outputs = ran.stdout.split(f"{_MARK}\n")
    assert ran.returncode == 0, f"{commands[min(len(outputs), len(commands)) - 1]}\n{ran.stdout}{ran.stderr}"
    return commands, outputs[:-1], _shown(steps)


def test_every_command_succeeds(walk):
    """The commands succeed one after another, from an empty bucket to a rule that is served."""
    commands, outputs, _ = walk
    assert len(outputs) == len(commands) > 10


def test_commands_print_what_the_page_shows(walk):
    """A command prints what the page shows below it; a duration may differ."""
    commands, outputs, shown = walk
    printed = {number: re.sub(r"\d+\.\d\d s", "0.03 s", outputs[number]) for number in shown}
    assert {commands[n]: text for n, text in printed.items()} == {commands[n]: text for n, text in shown.items()}
