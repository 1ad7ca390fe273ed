"""docs/rollout.md: its command lines can be run, and its options are valid."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tornado_proxy.cli.main import load_command
from tornado_proxy.config.loading import compile_configuration
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.routing.compare import Kind
from tornado_proxy.rules.diagnostic import SourceFile

PAGE = (Path(__file__).parent.parent / "docs" / "rollout.md").read_text(encoding="utf-8")
LINES = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


@pytest.mark.parametrize("line", LINES)
def test_a_command_line_can_be_run(line):
    """The parser of its command accepts its arguments."""
    program, name, *arguments = shlex.split(line)
    assert program == "tornado-proxy"
    load_command(name)[1].parse_args(arguments)


@pytest.mark.parametrize("options", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_options_are_valid(options):
    """An example is a part of a configuration without mistakes."""
    text = f"{options}targets: {{site: {{mount: {{path: [/]}}, bucket: {{name: some-bucket}}}}}}\n"
    loaded = compile_configuration(SourceFile("proxy.yaml", text), Path(), unresolved)
    assert loaded.diagnostics == ()
    assert loaded.settings.reload.stage == 600.0


def test_each_kind_of_difference_is_explained():
    """The table has a row for each, in order."""
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == [kind.value for kind in Kind]
