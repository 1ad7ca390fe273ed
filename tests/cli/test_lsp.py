"""`tornado-proxy lsp`: what it is started with, and what it needs."""

from __future__ import annotations

import subprocess
import sys

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
