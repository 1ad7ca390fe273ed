"""The wheel built from the sdist holds all its files, and the installed command works."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from programs import ROOT, built, output_of

from tornado_proxy.admin.administration import _PACKAGES
from tornado_proxy.cli.main import main


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A wheel built from an unpacked sdist, which was made as if its commit had the tag v1.2.3."""
    folder = tmp_path_factory.mktemp("packaging")
    with tarfile.open(built("sdist", folder / "sdist", "1.2.3")) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.3 has none
        archive.extractall(folder / "source")
    return built("wheel", folder / "wheel", source=next((folder / "source").iterdir()))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The folder of the unpacked wheel; its dependencies are those of the tests."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.mark.parametrize(
    "member",
    [
        "tornado_proxy/py.typed",
        "tornado_proxy/grammar/rules.lark",
        "gotemplate/py.typed",
        "gotemplate/regexp/unicode.json",
        "gotemplate/template/gotemplate.lark",
        "tornado_proxy/gallery/site.rules",
        "tornado_proxy/gallery/demo.yaml",
        "tornado_proxy/cli/sample_objects/site/index.html",
        "tornado_proxy-1.2.3.data/data/lib/systemd/system/tornado-proxy.service",
        "tornado_proxy-1.2.3.data/data/share/man/man1/tornado-proxy.1",
        "tornado_proxy-1.2.3.data/data/share/man/man5/tornado-proxy.yaml.5",
        "tornado_proxy-1.2.3.data/data/share/bash-completion/completions/tornado-proxy",
        "tornado_proxy-1.2.3.data/data/share/tornado-proxy/editors/vim/syntax/tornado_proxy_rules.vim",
        "tornado_proxy-1.2.3.data/data/share/tornado-proxy/deploy/Containerfile",
        "tornado_proxy-1.2.3.data/data/share/tornado-proxy/deploy/kubernetes/deployment.yaml",
        "tornado_proxy-1.2.3.data/data/share/tornado-proxy/monitoring/rules.yaml",
        "tornado_proxy-1.2.3.data/data/share/tornado-proxy/sample/proxy.yaml",
        "tornado_proxy-1.2.3.data/data/share/tornado-proxy/sample/rules/site.rules",
        "tornado_proxy-1.2.3.data/data/share/tornado-proxy/schemas/configuration.schema.json",
        "tornado_proxy-1.2.3.data/data/share/tornado-proxy/schemas/lint.json",
    ],
)
def test_the_wheel_has_all_files(wheel, member):
    """The wheel has grammar, gallery, types, units, man pages, completions, and files to start from."""
    with zipfile.ZipFile(wheel) as archive:
        assert member in archive.namelist()


@pytest.mark.parametrize(
    "command",
    [
        ["serve", "--check", "--config", "proxy.yaml"],
        ["lint", "proxy.yaml"],
        ["test", "rules"],
        ["fmt", "--check", "."],
    ],
    ids=lambda command: command[0],
)
def test_the_sample_passes_all_checks(command, monkeypatch):
    """The commands that check files find nothing wrong with the sample configuration and its rules."""
    monkeypatch.chdir(ROOT / "packaging" / "sample")
    assert main(command) == 0


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """A clone of the last commit, without a tag."""
    folder = tmp_path_factory.mktemp("clone")
    _git(folder, "clone", "--quiet", "--depth=1", "--no-tags", ROOT.as_uri(), ".")
    return folder


def _git(folder: Path, *arguments: str) -> None:
    output_of("git", "-c", "user.name=tests", "-c", "user.email=tests@example.org", *arguments, cwd=folder)


def _version(source: Path) -> str:
    return output_of(sys.executable, "-m", "hatchling", "version", cwd=source).strip()


def test_versions_follow_the_tags(clone):
    """Without a tag a version is a development version of 0.1; a tag is a version, and later commits lead to the next."""
    versions = [_version(clone)]
    _git(clone, "tag", "v0.1.0")
    versions.append(_version(clone))
    _git(clone, "commit", "--quiet", "--allow-empty", "--message=next")
    versions.append(_version(clone))
    assert [re.sub(r"\+g\w+", "+g", version) for version in versions] == ["0.1.dev1+g", "0.1.0", "0.1.1.dev1+g"]


def _changes(folder: Path, version: str) -> subprocess.CompletedProcess[str]:
    """Runs `packaging/changes` in a folder with a changelog of three sections."""
    (folder / "packaging").mkdir()
    script = shutil.copy(ROOT / "packaging" / "changes", folder / "packaging")
    changelog = "# Changelog\n\n## Unreleased\n\n## 0.1.1 (2026)\n\n- one\n\n## 0.1.0\n- two\n"
    (folder / "CHANGELOG.md").write_text(changelog)
    return subprocess.run([script, version], capture_output=True, text=True, check=False)


def test_a_release_has_its_part_of_the_changelog(tmp_path):
    """The notes of a release are the section of its version, without the heading."""
    assert _changes(tmp_path, "0.1.1").stdout.strip() == "- one"


def test_a_release_without_a_part_in_the_changelog_fails(tmp_path):
    result = _changes(tmp_path, "0.1")
    assert (result.returncode, result.stderr) == (1, "error: CHANGELOG.md has no section for 0.1\n")


def test_the_installed_package_is_imported(installed, tmp_path):
    """The tests run the files of the wheel, not those of the checkout."""
    program = "import tornado_proxy; print(tornado_proxy.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    assert output_of(sys.executable, "-c", program, cwd=tmp_path, env=environment).startswith(str(installed))


def test_the_installed_command_explains_a_path(installed, tmp_path):
    """The installed command parses rule files with the grammar in the wheel."""
    (tmp_path / "site.rules").write_text('target site { rewrite `^/old/(?P<rest>.*)$` -> "/new/$rest" }\n')
    program = (sys.executable, "-m", "tornado_proxy", "explain", "/old/a.txt", "--rules", "site.rules")
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    options = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True}
    result = subprocess.run([*program, "--target", "site"], check=False, **options)
    assert (result.returncode, result.stderr) == (0, "")
    assert "/new/a.txt" in result.stdout


def _files_with_commands() -> list[Path]:
    """Files of the repository from which people and machines take commands."""
    paths = [ROOT / name for name in output_of("git", "ls-files", "-z", cwd=ROOT).split("\0") if name]
    suffixes = {".md", ".js", ".json", ".yaml", ".py", ""}
    return [path for path in paths if path.suffix in suffixes and path != Path(__file__)]


def test_no_file_installs_the_project_from_an_index():
    """No file installs the project by its name from a package index, where somebody else could take the name."""
    command = re.compile(r"install [\"']?tornado-proxy(\[\w+\])?[\"'`\s](?!@ )")
    paths = [path for path in _files_with_commands() if path.is_file()]
    assert [path.name for path in paths if command.search(path.read_text(encoding="utf-8"))] == []


def test_every_shown_version_is_that_of_a_dependency():
    """The status page shows the versions of dependencies only; without another package the service would not start."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    dependencies = {re.match(r"[\w-]+", requirement)[0] for requirement in project["dependencies"]}
    assert set(_PACKAGES) <= dependencies | {"tornado-proxy"}
