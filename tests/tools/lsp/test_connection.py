from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.cli.output import ExitStatus
from tornado_proxy.tools.lsp.connection import LARGEST, BadFrame, Frames


@given(st.lists(st.binary(max_size=40), max_size=6), st.integers(1, 30))
def test_messages_are_found_however_the_stream_is_cut(messages, size):
    """A piece may hold half of a header, or several messages."""
    stream = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(each), each) for each in messages)
    frames = Frames()
    pieces = (stream[start : start + size] for start in range(0, len(stream), size))
    assert [found for piece in pieces for found in frames.feed(piece)] == messages


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8",
        b"Content-Type: x\r\ncontent-length:2",
        b"Content-Length : 2 ",
    ],
)
def test_headers_have_any_order_and_case(header):
    """Only the length counts."""
    assert list(Frames().feed(header + b"\r\n\r\n{}")) == [b"{}"]


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (b"Content-Length: abc\r\n\r\n{}", "no `Content-Length` that is a number"),
        (b"Content-Length: -2\r\n\r\n{}", "no `Content-Length` that is a number"),
        (b"X-Content-Length: 2\r\n\r\n{}", "no `Content-Length` that is a number"),
        (b"\r\n\r\n", "no `Content-Length` that is a number"),
        (b"Content-Length: %d\r\n\r\n" % (LARGEST + 1), "more than"),
        (b"x" * 20_000, "longer than 16384 bytes"),
    ],
)
def test_a_header_without_a_length_ends_the_stream(stream, reason):
    """Nobody can say where the next message begins."""
    with pytest.raises(BadFrame, match=reason):
        list(Frames().feed(stream))


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
        assert process.wait(60) == ExitStatus.FAILED
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_a_header_that_cannot_be_read_ends_it():
    """Nobody can say where the next message begins."""
    with _server() as process:
        assert process.stdin is not None
        process.stdin.write(b"Content-Length: abc\r\n\r\n{}")
        process.stdin.flush()
        assert process.wait(60) == ExitStatus.FAILED
        assert process.stderr is not None
        assert process.stderr.read().startswith(b"tornado-proxy lsp: a message's header")


def test_wrong_parameters_are_answered():
    """The error is the protocol's: InvalidParams; what comes next is answered as ever."""
    with _server() as process:
        _begin(process)
        for parameters in ({"textDocument": 7}, [], 7, {"position": {"line": "x"}}):
            _send(process, _request("textDocument/hover", parameters, 7))
            answer = _answer(process)
            assert (answer["id"], answer["error"]["code"]) == (7, -32602)
        _send(process, _request("shutdown", None, 8))
        assert _answer(process) == {"jsonrpc": "2.0", "id": 8, "result": None}


def test_what_is_no_message_is_answered_too():
    """By JSON-RPC, whose errors these are: ParseError and InvalidRequest."""
    with _server() as process:
        for body, code in ((b"{", -32700), (b"\xff", -32700), (b"[]", -32600), (b"{}", -32600)):
            _send(process, body)
            assert _answer(process)["error"]["code"] == code


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
        assert process.wait(60) == ExitStatus.CLEAN
