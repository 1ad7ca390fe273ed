"""Tests `tornado-proxy fmt`, `test` and `lsp`."""

import codecs
import json
import signal
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from forking import SERVE, ForkedProgram, run_forked
from programs import output_of

from tornado_proxy.cli.main import main
from tornado_proxy.cli.output import ExitStatus

UNTIDY = 'target site{rewrite`^/a$`->"/b"}'
TIDY = 'target site {\n    rewrite `^/a$` -> "/b"\n}\n'


@pytest.fixture
def untidy(command):
    """Writes a rule file that is not in the canonical layout."""
    path = Path("site.rules")
    path.write_text(UNTIDY)
    return path


def test_the_current_directory_is_formatted_by_default(command, untidy):
    assert command("fmt").out == "formatted site.rules\n"
    assert untidy.read_text() == TIDY


def test_only_the_directory_rules_is_formatted_if_there_is_one(command, untidy):
    Path("rules").mkdir()
    Path("rules/team.rules").write_text(UNTIDY)
    assert command("fmt").out == "formatted rules/team.rules\n"
    assert untidy.read_text() == UNTIDY


def test_formatting_keeps_mode_and_link(command, untidy):
    untidy.chmod(0o604)
    Path("link.rules").symlink_to(untidy)
    assert command("fmt", "link.rules").status == 0
    assert Path("link.rules").is_symlink()
    assert untidy.read_text() == TIDY
    assert stat.S_IMODE(untidy.stat().st_mode) == 0o604


def test_line_ends_and_byte_order_mark_are_normalized(command, untidy):
    untidy.write_bytes(codecs.BOM_UTF8 + TIDY.replace("\n", "\r\n").encode())
    assert command("fmt", "--check").status == 1
    assert command("fmt").status == 0
    assert untidy.read_bytes() == TIDY.encode()


def test_a_file_that_is_not_utf_8_is_a_finding(command, untidy):
    untidy.write_bytes(b"target \xff {}")
    result = command("fmt")
    assert result.status == 1
    assert "error[not-utf-8]" in result.err
    assert untidy.read_bytes() == b"target \xff {}"


def test_a_missing_path_does_not_stop_the_formatting_of_others(command, untidy):
    assert command("fmt", "nowhere.rules", "site.rules").status == 2
    assert untidy.read_text() == TIDY


def test_a_file_that_cannot_be_replaced_is_a_failure(command):
    """No user can create a file in `/proc`, so the status is 2."""
    Path("comm.rules").symlink_to("/proc/self/comm")
    Path("/proc/self/comm").write_text("target a{}")
    result = command("fmt", "comm.rules")
    assert result.status == 2
    assert result.err.startswith("tornado-proxy fmt: `comm.rules` cannot be written: ")


RULES = """target site {
    rewrite `^/a$` -> "/b"
    rewrite `^/c$` -> "/d"

    test "/a" -> "/b"
    test "/c" -> "/e"
}
"""
CONFIGURATION = """
rules: [elsewhere/]
targets:
  site:
    mount: {path: [/docs]}
    bucket: {name: files, region: eu-west-1}
"""


@pytest.fixture
def rules(command):
    """Writes a rule file with a test that passes and one that fails."""
    path = Path("rules/site.rules")
    path.parent.mkdir()
    path.write_text(RULES)
    return path


@pytest.mark.parametrize(("minimum", "status"), [("50", 0), ("50.5", 1), ("0", 0), ("100", 1)])
def test_too_little_coverage_fails_the_run(command, rules, minimum, status):
    result = command("test", "--run", "^/a$", "--fail-under", minimum)
    assert result.status == status
    assert result.out.startswith("coverage    site   50.0 %  1 of 2 rewrites\n")
    assert ("are required" in result.err) == bool(status)


def test_the_rules_of_a_configuration_are_tested(command, rules):
    """Paths on the command line replace the rules of the configuration."""
    Path("proxy.yaml").write_text(CONFIGURATION)
    Path("elsewhere").mkdir()
    Path("elsewhere/site.rules").write_text('target site { test "/x" -> unchanged }')
    assert command("test", "--config", "proxy.yaml").out == "1 passed\n"
    assert command("test", "rules", "--config", "proxy.yaml").out.endswith("1 failed, 1 passed\n")


def test_the_language_server_imports_no_server():
    unwanted = ("tornado", "boto3", "botocore", "watchdog")
    script = f"import atexit, sys; atexit.register(lambda: print([m for m in {unwanted!r} if m in sys.modules]))"
    assert output_of(sys.executable, "-c", f"{script}\n{SERVE}", "lsp", "--stdio", input="") == "[]\n"


def test_without_pygls_the_server_prints_how_to_install_it():
    """Pygls is an optional dependency, so its absence is a failure with a hint."""
    script = "import sys; sys.modules['pygls'] = sys.modules['lsprotocol'] = None"
    result = run_forked(f"{script}\n{SERVE}", ["lsp"])
    assert result.returncode == ExitStatus.FAILED
    assert "install it with `pip install '.[lsp]'` in a checkout" in result.stderr


def test_a_missing_configuration_ends_the_server(tmp_path, capsys):
    """The message is printed on standard error, which an editor shows."""
    assert main(["lsp", "--config", str(tmp_path / "gone.yaml")]) == ExitStatus.FAILED
    assert "gone.yaml" in capsys.readouterr().err


def test_an_invalid_configuration_ends_the_server(tmp_path, capsys):
    (tmp_path / "proxy.yaml").write_text("targets: 7\n", encoding="utf-8")
    assert main(["lsp", "--config", str(tmp_path / "proxy.yaml")]) == ExitStatus.FINDINGS
    assert "proxy.yaml:1:10" in capsys.readouterr().err


@contextmanager
def _start_server() -> Iterator[ForkedProgram]:
    """Starts a language server whose standard input stays open."""
    process = ForkedProgram(SERVE, ["lsp", "--stdio"], stdin=PIPE, stdout=PIPE)
    with process.stdin, process.stdout, process.stderr:
        try:
            yield process
        finally:
            process.kill()


def test_the_server_ends_with_standard_input():
    with _start_server() as process:
        process.stdin.close()
        assert (process.stdout.read(), process.stderr.read()) == ("", "")
        assert process.wait(60) == ExitStatus.CLEAN


def _send(process: ForkedProgram, method: str, parameters: object, **number: int) -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": parameters, **number})
    process.stdin.write(f"Content-Length: {len(body)}\r\n\r\n{body}")
    process.stdin.flush()


def _response(process: ForkedProgram, method: str, parameters: object = None) -> Any:
    """Sends a request, and returns its response, the next message that has an id."""
    _send(process, method, parameters, id=1)
    while True:
        headers = dict(line.rstrip().split(": ") for line in iter(process.stdout.readline, "\n"))
        message = json.loads(process.stdout.read(int(headers["Content-Length"])))
        if "id" in message:
            return message


def _initialize(process: ForkedProgram, **parameters: object) -> None:
    """Initializes the session with the server."""
    parameters = {"processId": None, "rootUri": None, "capabilities": {}, **parameters}
    assert "capabilities" in _response(process, "initialize", parameters)["result"]
    _send(process, "initialized", {})


def test_an_interrupt_ends_the_server():
    """SIGINT ends the server though the editor keeps standard input open."""
    with _start_server() as process:
        _initialize(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT
        assert process.stderr.read() == ""


def test_large_files_beside_an_open_one_do_not_block_the_server(tmp_path):
    """A hover and the exit are answered though a neighbouring file is very large."""
    with (tmp_path / "large.rules").open("w", encoding="utf-8") as file:
        file.write("target a {\n" + "    rewrite `^/a` -> '/b'\n" * 400_000 + "}\n")
    uri = (tmp_path / "a.rules").as_uri()
    with _start_server() as process:
        _initialize(process, workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "rules"}])
        document = {"uri": uri, "languageId": "rules", "version": 1, "text": "target a {}\n"}
        _send(process, "textDocument/didOpen", {"textDocument": document})
        parameters = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 8}}
        assert "result" in _response(process, "textDocument/hover", parameters)
        assert "result" in _response(process, "shutdown")
        _send(process, "exit", None)
        assert process.wait(60) == 0, process.stderr.read()
