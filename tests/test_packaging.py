"""What is installed works: the wheel built from the sdist finds its grammar, its gallery and its pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tornado_proxy.service.administration import _PACKAGES

ROOT = Path(__file__).parent.parent


def _build(source: Path, kind: str, out: Path) -> Path:
    command = [sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", str(out), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return next(out.glob("*.whl" if kind == "wheel" else "*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A wheel built from an unpacked sdist."""
    folder = tmp_path_factory.mktemp("packaging")
    sdist = _build(ROOT, "sdist", folder / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "source", filter="data")
    return _build(next((folder / "source").iterdir()), "wheel", folder / "wheel")


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The wheel unpacked, as an installer would; its dependencies are those of the tests."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def _run(installed: Path, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tornado_proxy", *words]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "member",
    [
        "tornado_proxy/py.typed",
        "tornado_proxy/grammar/rules.lark",
        "tornado_proxy/gallery/site.rules",
        "tornado_proxy/gallery/demo.yaml",
        "tornado_proxy/service/sample_objects/site/index.html",
        "tornado_proxy-0.1.0.data/data/lib/systemd/system/tornado-proxy.service",
        "tornado_proxy-0.1.0.data/data/share/man/man1/tornado-proxy.1",
        "tornado_proxy-0.1.0.data/data/share/man/man5/tornado-proxy.yaml.5",
        "tornado_proxy-0.1.0.data/data/share/bash-completion/completions/tornado-proxy",
        "tornado_proxy-0.1.0.data/data/share/tornado-proxy/editors/vim/syntax/tornado_proxy_rules.vim",
    ],
)
def test_the_wheel_carries_what_the_package_reads(wheel, member):
    """Grammar, gallery, samples, types, units, man pages, completions and editor files are in the wheel that is built from the sdist."""
    with zipfile.ZipFile(wheel) as archive:
        assert member in archive.namelist()


def test_the_installed_package_is_the_one_that_runs(installed, tmp_path):
    """The test runs the wheel's files, not the checkout's."""
    command = [sys.executable, "-c", "import tornado_proxy; print(tornado_proxy.__file__)"]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    found = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.startswith(str(installed))


def test_the_installed_command_explains_a_path(installed, tmp_path):
    """The wheel parses rule files with the grammar that it carries."""
    (tmp_path / "site.rules").write_text('target site { rewrite `^/old/(?P<rest>.*)$` -> "/new/$rest" }\n')
    result = _run(installed, "explain", "/old/a.txt", "--rules", "site.rules", "--target", "site", folder=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert "/new/a.txt" in result.stdout


def _shown_files() -> list[Path]:
    """Files of the repository that people and machines take commands from."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    return [
        path for path in paths if path.suffix in {".md", ".js", ".json", ".yaml", ".py", ""} and path != Path(__file__)
    ]


def test_nothing_installs_the_project_from_an_index():
    """No file of the repository asks a package index for the project, whose name somebody else could take there."""
    asked = re.compile(r"install [\"']?tornado-proxy(\[\w+\])?[\"'`\s](?!@ )")
    asking = [path.name for path in _shown_files() if path.is_file() and asked.search(path.read_text(encoding="utf-8"))]
    assert asking == []


def test_every_version_that_is_shown_is_that_of_a_dependency():
    """The status page asks for the versions of what is always installed: elsewhere the service would not start."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = {re.match(r"[\w-]+", each)[0] for each in project["dependencies"]}
    assert set(_PACKAGES) <= installed | {"tornado-proxy"}
