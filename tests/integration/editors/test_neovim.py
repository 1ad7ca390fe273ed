"""The language server in Neovim."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from editing import site
from programs import program

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent

_TEXT = site('rewrite `^/😀/a.b$` -> "/c"', ' test "/😀/a.b" -> "/c"')


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """The results of a session with a file that has a finding and wrong indentation."""
    folder = tmp_path_factory.mktemp("neovim")
    (folder / "site.rules").write_text(_TEXT, encoding="utf-8")
    configuration = ROOT / "editors/vim/lsp/tornado_proxy.lua"
    server, answers = f"{sys.executable} -m tornado_proxy lsp", folder / "answers"
    places = {"XDG_STATE_HOME": str(folder), "XDG_CACHE_HOME": str(folder), "CONFIGURATION": str(configuration)}
    environment = {**os.environ, **places, "SERVER": server, "ANSWERS": str(answers)}
    command = [program("nvim", "editors"), "--headless", "--clean", "--cmd", f"set rtp+={ROOT}/editors/vim"]
    command += ["-c", f"luafile {HERE / 'session.lua'}", "-c", "quitall!", "site.rules"]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    result = subprocess.run(command, cwd=folder, env=environment, text=True, check=False, timeout=90, **streams)
    assert answers.exists(), result.stdout
    return json.loads(answers.read_text(encoding="utf-8"))


def test_the_server_starts_for_the_detected_file_type(answers):
    assert answers["filetypes"] == [answers["filetype"]]
    assert answers["command"] == ["tornado-proxy", "lsp"]


def test_findings_have_their_places(answers):
    """The columns of the protocol, in UTF-16 units, become Neovim's columns in bytes."""
    ((line, column, message),) = answers["findings"]
    assert (line, column) == (1, 12 + len("`^/😀/a".encode()))
    assert message.startswith("`.` matches any character")


def test_a_hover_explains_the_pattern(answers):
    assert "Matches the whole key" in answers["hover"]["contents"]["value"]


def test_a_fix_and_the_format_are_applied(answers):
    """After a fix and formatting, the finding is gone and the text is formatted."""
    assert answers["findings_after_fix"] == []
    fixed = _TEXT.replace("a.b$", r"a\.b$").replace("     test", "    test")
    assert answers["text"] == fixed.splitlines()
