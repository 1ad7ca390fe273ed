"""Programs that tests run, and what `tests/integration/install` has installed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PARTS = Path(os.environ.get("TORNADO_PROXY_PARTS", "/var/cache/tornado-proxy"))
TOGETHER = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "capture_output": False}
"""Options of `output_of`: what is printed includes the standard error, in its place."""


def part(path: str, name: str) -> Path:
    """The path of something that the part of this name has; skips the test if it is missing."""
    if not (PARTS / path).exists():
        pytest.skip(f"there is no `{path}`: run `tests/integration/install {name}`")
    return PARTS / path


def program(command: str, name: str) -> str:
    """The path of a program that the part of this name has on the system's path; skips the test if it is missing."""
    path = shutil.which(command) or shutil.which(command, path="/usr/sbin:/sbin")
    if path is None:
        pytest.skip(f"there is no `{command}`: run `tests/integration/install {name}`")
    return path


def output_of(*command: object, **options: Any) -> str:
    """What a program prints that must succeed; `options` are those of `subprocess.run`."""
    ran = subprocess.run([*map(str, command)], check=False, **{"capture_output": True, "text": True, **options})
    assert ran.returncode == 0, f"{command}: {ran.returncode}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


@contextmanager
def until_end(*command: object, **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Runs a program until the block ends, and then terminates it; `options` are those of `subprocess.Popen`."""
    with subprocess.Popen([*map(str, command)], **options) as process:
        try:
            yield process
        finally:
            process.terminate()


def built(kind: str, folder: Path, version: str = "", source: Path = ROOT, **variables: str) -> Path:
    """The wheel or the sdist of a source, built into a folder; of the checkout, as if its commit had the tag of a version."""
    variables |= {"SETUPTOOLS_SCM_PRETEND_VERSION": version} if version else {}
    build = (sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", folder, source)
    output_of(*build, env={**os.environ, **variables})
    (path,) = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return path
