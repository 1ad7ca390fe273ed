"""Tests `tornado-proxy fmt`, `test` and `lsp`."""

import codecs
import json
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

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


def _run_lsp(*arguments: str, script: str = "") -> subprocess.CompletedProcess[str]:
    """Runs the language server with empty standard input."""
    code = f"{script}\nimport sys; from tornado_proxy.cli.main import main; sys.exit(main({['lsp', *arguments]!r}))"
    return subprocess.run(
        [sys.executable, "-c", code], input="", capture_output=True, text=True, check=False, timeout=60
    )


def test_the_server_ends_with_standard_input():
    result = _run_lsp("--stdio")
    assert (result.returncode, result.stdout, result.stderr) == (ExitStatus.CLEAN, "", "")


def test_the_language_server_imports_no_server():
    unwanted = ("tornado", "boto3", "botocore", "watchdog")
    script = f"import atexit, sys; atexit.register(lambda: print([m for m in {unwanted!r} if m in sys.modules]))"
    assert _run_lsp(script=script).stdout == "[]\n"


def test_without_pygls_the_server_prints_how_to_install_it():
    """Pygls is an optional dependency, so its absence is a failure with a hint."""
    result = _run_lsp(script="import sys; sys.modules['pygls'] = sys.modules['lsprotocol'] = None")
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
def _start_server(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a language server whose standard input stays open."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "tornado_proxy", "lsp", *arguments]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def _send(process: subprocess.Popen[bytes], message: object) -> None:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    process.stdin.flush()


def _receive_response(process: subprocess.Popen[bytes]) -> Any:
    """Returns the next message that has an id."""
    while True:
        length = 0
        while (line := process.stdout.readline().strip()) != b"":
            name, _, value = line.partition(b": ")
            length = int(value) if name == b"Content-Length" else length
        message = json.loads(process.stdout.read(length))
        if "id" in message:
            return message


def _request(method: str, parameters: object = None, number: int = 1) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}


def _initialize(process: subprocess.Popen[bytes], **parameters: object) -> None:
    """Initializes the session with the server."""
    _send(process, _request("initialize", {"processId": None, "rootUri": None, "capabilities": {}, **parameters}))
    assert "capabilities" in _receive_response(process)["result"]
    _send(process, {"jsonrpc": "2.0", "method": "initialized", "params": {}})


def test_an_interrupt_ends_the_server():
    """SIGINT ends the server though the editor keeps standard input open."""
    with _start_server() as process:
        _initialize(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT
        assert process.stderr.read() == b""


def test_large_files_beside_an_open_one_do_not_block_the_server(tmp_path):
    """A hover and the exit are answered though a neighbouring file is very large."""
    with (tmp_path / "large.rules").open("w", encoding="utf-8") as file:
        file.write("target a {\n" + "    rewrite `^/a` -> '/b'\n" * 400_000 + "}\n")
    uri = (tmp_path / "a.rules").as_uri()
    with _start_server() as process:
        _initialize(process, workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "rules"}])
        document = {"uri": uri, "languageId": "rules", "version": 1, "text": "target a {}\n"}
        _send(process, {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}})
        parameters = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 8}}
        _send(process, _request("textDocument/hover", parameters, 2))
        assert _receive_response(process)["id"] == 2
        _send(process, _request("shutdown", None, 3))
        assert _receive_response(process)["id"] == 3
        _send(process, {"jsonrpc": "2.0", "method": "exit"})
        assert process.wait(60) == 0
