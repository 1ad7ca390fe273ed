"""`tornado-proxy fmt`, `test` and `lsp`."""

from __future__ import annotations

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
from xml.etree.ElementTree import fromstring

import pytest
from command_lines import imported_by

from tornado_proxy.cli.main import main
from tornado_proxy.cli.output import ExitStatus

UNTIDY = 'target site{rewrite`^/a$`->"/b"}'
TIDY = 'target site {\n    rewrite `^/a$` -> "/b"\n}\n'


@pytest.fixture
def untidy(command):
    """A file that is not in the canonical layout."""
    path = Path("site.rules")
    path.write_text(UNTIDY)
    return path


def test_the_current_directory_is_formatted_if_nothing_is_named(command, untidy):
    """But for `rules/`, if that is there."""
    assert command("fmt").out == "formatted site.rules\n"
    assert untidy.read_text() == TIDY


def test_the_directory_rules_comes_before_the_current_one(command, untidy):
    """Other files stay as they are."""
    Path("rules").mkdir()
    Path("rules/team.rules").write_text(UNTIDY)
    assert command("fmt").out == "formatted rules/team.rules\n"
    assert untidy.read_text() == UNTIDY


def test_mode_and_link_stay(command, untidy):
    """A link's file is written, with its mode."""
    untidy.chmod(0o604)
    Path("link.rules").symlink_to(untidy)
    assert command("fmt", "link.rules").status == 0
    assert Path("link.rules").is_symlink()
    assert untidy.read_text() == TIDY
    assert stat.S_IMODE(untidy.stat().st_mode) == 0o604


def test_what_is_tidy_is_not_written(command, untidy):
    """A watcher sees no change."""
    untidy.write_text(TIDY)
    before = untidy.stat()
    assert command("fmt") == command("fmt", "--check")
    assert untidy.stat().st_mtime_ns == before.st_mtime_ns
    assert untidy.stat().st_ino == before.st_ino


def test_line_ends_and_marks_are_brought_in_line(command, untidy):
    """CR LF becomes LF, and a byte order mark goes."""
    untidy.write_bytes(codecs.BOM_UTF8 + TIDY.replace("\n", "\r\n").encode())
    assert command("fmt", "--check").status == 1
    assert command("fmt").status == 0
    assert untidy.read_bytes() == TIDY.encode()


def test_a_file_that_is_not_utf_8_is_a_finding(command, untidy):
    """It stays as it is."""
    untidy.write_bytes(b"target \xff {}")
    done = command("fmt")
    assert done.status == 1
    assert "error[not-utf-8]" in done.err
    assert untidy.read_bytes() == b"target \xff {}"


def test_the_worst_status_counts(command, untidy):
    """A place that cannot be read does not keep the others from being formatted."""
    assert command("fmt", "nowhere.rules", "site.rules").status == 2
    assert untidy.read_text() == TIDY


def test_a_file_that_cannot_be_replaced_is_status_2(command):
    """Whoever runs it, nothing can be written beside a file of the kernel's."""
    Path("comm.rules").symlink_to("/proc/self/comm")
    Path("/proc/self/comm").write_text("target a{}")
    done = command("fmt", "comm.rules")
    assert done.status == 2
    assert done.err.startswith("tornado-proxy fmt: `comm.rules` cannot be written: ")


def test_check_and_diff_exclude_each_other(command, untidy):
    """Each writes nothing, and each prints something else."""
    assert command("fmt", "--check", "--diff").status == 2


def test_formatting_imports_no_server():
    """Nor does it import what only configurations and templates need."""
    assert imported_by("fmt", "--check", str(Path(__file__).parents[2] / "rules")) == set()


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
    """A rule file with a test that passes and one that fails."""
    path = Path("rules/site.rules")
    path.parent.mkdir()
    path.write_text(RULES)
    return path


def test_formats_tell_the_same(command, rules):
    """Text on standard output; with the others, a summary on standard error."""
    told, shown = command("test", "--format", "json"), command("test", "--output-format", "junit")
    assert (told.status, shown.status) == (1, 1)
    assert json.loads(told.out)["summary"] == {"tests": 2, "failed": 1}
    assert fromstring(shown.out).get("failures") == "1"
    assert told.err == shown.err == "1 failed, 1 passed\n"


def test_chosen_tests_decide_the_status(command, rules):
    """A test that is not chosen cannot fail the run."""
    assert command("test", "--run", "^/a$").status == 0
    assert command("test", "--run", "^/c$").status == 1


@pytest.mark.parametrize(("least", "status"), [("50", 0), ("50.5", 1), ("0", 0), ("100", 1)])
def test_coverage_may_be_asked_for(command, rules, least, status):
    """Too little coverage fails a run in which all tests pass; enough does not."""
    done = command("test", "--run", "^/a$", "--fail-under", least)
    assert done.status == status
    assert done.out.startswith("coverage    site   50.0 %  1 of 2 rewrites\n")
    assert ("are required" in done.err) == bool(status)


def test_without_tests_coverage_still_counts(command, rules):
    """Rewrites that nothing tests are not covered."""
    rules.write_text('target site { rewrite `^/a$` -> "/b" }')
    assert command("test").status == 0
    assert command("test", "--fail-under", "1").status == 1


@pytest.mark.parametrize("percent", ["-1", "100.1", "many", "nan"])
def test_a_percentage_is_a_number_from_0_to_100(command, percent):
    """Anything else is a usage error."""
    done = command("test", f"--fail-under={percent}")
    assert done.status == 2
    assert f"`{percent}` is not a number from 0 to 100" in done.err


def test_a_configuration_names_the_rules(command, rules):
    """Unless places are given, which are the whole set then."""
    Path("proxy.yaml").write_text(CONFIGURATION)
    Path("elsewhere").mkdir()
    Path("elsewhere/site.rules").write_text('target site { test "/x" -> unchanged }')
    assert command("test", "--config", "proxy.yaml").out == "1 passed\n"
    assert command("test", "rules", "--config", "proxy.yaml").out.endswith("1 failed, 1 passed\n")


def test_testing_imports_no_server():
    """Plain rules need nothing else."""
    gallery = Path(__file__).parents[2] / "rules"
    assert imported_by("test", str(gallery / "site.rules")) == set()
    assert imported_by("test", str(gallery / "team.rules")) == {"jinja2"}


def test_the_gallery_passes(command):
    """Rules that are shown are true."""
    assert command("test", str(Path(__file__).parents[2] / "rules"), "--fail-under", "100").status == 0


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
    """An editor shows standard error."""
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
