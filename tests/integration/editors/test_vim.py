"""Vim with the runtime directory of editors/vim, beside its own type for files called `.rules`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import program

pytestmark = pytest.mark.integration

RUNTIME = Path(__file__).parents[3] / "editors" / "vim"
RULES = 'target site {\n    rewrite `^/a$` -> "/b"\n    rewrite `^/a$` -> "/c"\n\n    test "/a" -> "/b"\n}\n'


def _evaluate(path: Path, command: str, *expressions: str) -> list:
    """Opens a file in Vim, runs a command, and returns the values of expressions."""
    settings, out = path.with_name("vimrc"), path.with_name("answers.json")
    settings.write_text(f"set nocompatible\nset runtimepath+={RUNTIME}\nfiletype plugin on\nsyntax on\n")
    answers = f"call writefile([json_encode([{', '.join(expressions)}])], '{out}')"
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    arguments = [program("vim", "editors"), "-Nu", settings, "-es", path, "-c", command, "-c", answers, "-c", "qa!"]
    subprocess.run(arguments, env=environment, check=False, timeout=60)
    return json.loads(out.read_text())


@pytest.fixture
def rules(tmp_path) -> Path:
    """A rule file with a duplicate, in a directory with a space in its name."""
    path = tmp_path / "my rules" / "site.rules"
    path.parent.mkdir()
    path.write_text(RULES)
    return path


def test_the_plugin_replaces_the_type_of_snort(rules):
    """A rule file gets this plugin's type and settings, after Vim took it for one of Snort's."""
    answers = _evaluate(rules, "", "&filetype", "&commentstring", "maparg(']]', 'n')")
    assert answers == ["tornado_proxy_rules", "# %s", ""]


def test_make_lints(rules):
    """`:make` fills the quickfix list with the findings, with place and severity."""
    ((finding,),) = _evaluate(
        rules, "silent make!", "map(getqflist(), {_, entry -> [entry.lnum, entry.col, entry.type, entry.text]})"
    )
    assert finding == [3, 13, "e", "[duplicate-rewrite] `#1` has the same source and takes every key"]


def test_other_files_called_rules_keep_their_type(tmp_path):
    """A file that does not begin with a target keeps the type that Vim gives it."""
    path = tmp_path / "local.rules"
    path.write_text("alert tcp any any -> any any (msg:x;)\n")
    assert _evaluate(path, "", "&filetype") == ["hog"]
