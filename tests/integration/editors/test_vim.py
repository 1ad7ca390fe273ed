"""Vim itself, with the runtime directory of editors/vim and with its own detection of files called `.rules`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from real_editors import program

pytestmark = pytest.mark.integration

RUNTIME = Path(__file__).parents[3] / "editors" / "vim"
RULES = 'target site {\n    rewrite `^/a$` -> "/b"\n    rewrite `^/a$` -> "/c"\n\n    test "/a" -> "/b"\n}\n'


def _asked(path: Path, before: str, *expressions: str) -> list:
    """What Vim makes of expressions, after it has opened a file as a user does, and run a command."""
    settings, out = path.with_name("vimrc"), path.with_name("answers.json")
    settings.write_text(f"set nocompatible\nset runtimepath+={RUNTIME}\nfiletype plugin on\nsyntax on\n")
    answers = f"call writefile([json_encode([{', '.join(expressions)}])], '{out}')"
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [program("vim"), "-Nu", str(settings), "-es", str(path), "-c", before, "-c", answers, "-c", "qa!"]
    subprocess.run(command, env=environment, check=False, timeout=60)
    return json.loads(out.read_text())


@pytest.fixture
def rules(tmp_path) -> Path:
    """A rule file with a duplicate, in a directory whose name has a space."""
    path = tmp_path / "my rules" / "site.rules"
    path.parent.mkdir()
    path.write_text(RULES)
    return path


def test_our_plugin_follows_that_of_snort(rules):
    """Vim takes the file for snort's first; then it is ours, with our settings and none of the mappings."""
    answers = _asked(rules, "", "&filetype", "&commentstring", "maparg(']]', 'n')")
    assert answers == ["tornado_proxy_rules", "# %s", ""]


def test_make_lints(rules):
    """`:make` fills the quickfix list with the findings, each at its place and with its severity."""
    ((found,),) = _asked(
        rules, "silent make!", "map(getqflist(), {_, each -> [each.lnum, each.col, each.type, each.text]})"
    )
    assert found == [3, 13, "e", "[duplicate-rewrite] `#1` has the same source and takes every key"]


def test_other_files_called_rules_are_left_alone(tmp_path):
    """A file that does not begin with a target keeps the type that Vim gives it."""
    path = tmp_path / "local.rules"
    path.write_text("alert tcp any any -> any any (msg:x;)\n")
    assert _asked(path, "", "&filetype") == ["hog"]
