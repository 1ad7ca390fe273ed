"""`tornado-proxy lsp`: what it is started with, and what it needs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tornado_proxy.cli.main import main
from tornado_proxy.cli.output import ExitStatus


def _run(*arguments: str, script: str = "") -> subprocess.CompletedProcess[str]:
    start = f"{script}\nimport sys; from tornado_proxy.cli.main import main; sys.exit(main({['lsp', *arguments]!r}))"
    return subprocess.run(
        [sys.executable, "-c", start], input="", capture_output=True, text=True, check=False, timeout=60
    )


def test_it_ends_when_the_editor_is_gone():
    """Standard input at its end is not a mistake."""
    result = _run("--stdio")
    assert (result.returncode, result.stdout, result.stderr) == (ExitStatus.CLEAN, "", "")


def test_neither_tornado_nor_boto3_is_imported():
    """Nor any other part of the server side."""
    watched = ("tornado", "boto3", "botocore", "watchdog", "jinja2", "yaml", "pydantic")
    script = f"import atexit, sys; atexit.register(lambda: print([m for m in {watched!r} if m in sys.modules]))"
    assert _run(script=script).stdout == "[]\n"


def test_without_its_extra_it_says_how_to_install_it():
    """The command is there for everyone, pygls is not."""
    result = _run(script="import sys; sys.modules['pygls'] = sys.modules['lsprotocol'] = None")
    assert result.returncode == ExitStatus.FAILED
    assert "install it with `pip install '.[lsp]'` in a checkout" in result.stderr


def test_a_configuration_that_cannot_be_read_ends_it(tmp_path, capsys):
    """An editor shows what stands on standard error."""
    assert main(["lsp", "--config", str(tmp_path / "gone.yaml")]) == ExitStatus.FAILED
    assert "gone.yaml" in capsys.readouterr().err


def test_a_configuration_with_mistakes_ends_it(tmp_path, capsys):
    """Its mistakes are shown, as `serve --check` shows them."""
    (tmp_path / "proxy.yaml").write_text("targets: 7\n", encoding="utf-8")
    assert main(["lsp", "--config", str(tmp_path / "proxy.yaml")]) == ExitStatus.FINDINGS
    assert "proxy.yaml:1:10" in capsys.readouterr().err


@contextmanager
def _server(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server whose standard input stays open."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "tornado_proxy", "lsp", *arguments]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def _send(process: subprocess.Popen[bytes], message: object) -> None:
    assert process.stdin is not None
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    process.stdin.flush()


def _answer(process: subprocess.Popen[bytes]) -> Any:
    """The next message that has an id."""
    assert process.stdout is not None
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


def _begin(process: subprocess.Popen[bytes], **parameters: object) -> None:
    _send(process, _request("initialize", {"processId": None, "rootUri": None, "capabilities": {}, **parameters}))
    assert "capabilities" in _answer(process)["result"]
    _send(process, {"jsonrpc": "2.0", "method": "initialized", "params": {}})


def test_an_interrupt_ends_it():
    """Whether or not the editor keeps standard input open."""
    with _server() as process:
        _begin(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_large_files_around_an_open_one_hold_nothing_up(tmp_path):
    """Hover and exit are answered, and a finding says that they are not read."""
    with (tmp_path / "large.rules").open("w", encoding="utf-8") as file:
        file.write("target a {\n" + "    rewrite `^/a` -> '/b'\n" * 400_000 + "}\n")
    uri = (tmp_path / "a.rules").as_uri()
    with _server() as process:
        _begin(process, workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "rules"}])
        document = {"uri": uri, "languageId": "rules", "version": 1, "text": "target a {}\n"}
        _send(process, {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}})
        place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 8}}
        _send(process, _request("textDocument/hover", place, 2))
        assert _answer(process)["id"] == 2
        _send(process, _request("shutdown", None, 3))
        assert _answer(process)["id"] == 3
        _send(process, {"jsonrpc": "2.0", "method": "exit"})
        assert process.wait(60) == 0
