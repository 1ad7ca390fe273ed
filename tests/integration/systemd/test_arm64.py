"""The Debian package for arm64, built and run on qemu: it installs, checks its files, and serves."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from administering import eventually
from endless_s3 import endless_s3
from running import Proxy, free_port

sys.path.insert(0, str(Path(__file__).parent))  # for modules that only these tests use

from conftest import CHECKOUT, CONFIGURATION
from machine import PARTS, build_wheel

pytestmark = pytest.mark.integration

_BASE = PARTS / "arm64"
_EMULATED = CHECKOUT / "tests" / "integration" / "emulated"
_TIME_LIMIT = 600  # seconds; emulation is slow, and the machine may be busy
_IN_ROOT = """
set -e
mount -t overlay -o userxattr,lowerdir={base},upperdir={folder}/upper,workdir={folder}/work overlay {folder}/root
cd {folder}/root
mkdir -p src shared wheels
mount --rbind {checkout} src
mount --rbind {folder}/shared shared
mount --rbind {wheels} wheels
mount --rbind /dev dev
mount -t proc proc proc
export PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels PIP_CONFIG_FILE=/dev/null
exec chroot . bash -ec '{command}'
"""


class _Root:
    """A root file system for arm64, whose changes are written to a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("upper", "work", "root", "shared"):
            (folder / name).mkdir()

    def command(self, command: str) -> list[str]:
        """The command that runs a command in the file system; the folder `shared` is at /shared, the checkout at /src."""
        script = _IN_ROOT.format(
            base=_BASE, folder=self.folder, checkout=CHECKOUT, wheels=PARTS / "arm64-wheels", command=command
        )
        return [str(_EMULATED), "bash", "-c", script]

    def run(self, command: str) -> str:
        """Runs a command, and returns its output."""
        ran = subprocess.run(
            self.command(command),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_TIME_LIMIT,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout
        return ran.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> _Root:
    """A root file system where the package is installed that packaging/deb built in it."""
    if not (_BASE / ".complete").exists():
        pytest.skip("there is no root file system for arm64: run `tests/integration/install arm64`")
    root = _Root(tmp_path_factory.mktemp("arm64"))
    shutil.copy(build_wheel(tmp_path_factory.mktemp("built")), root.folder / "shared")
    root.run("/src/packaging/deb /shared/*.whl /shared")
    assert [path.name for path in (root.folder / "shared").glob("*.deb")] == ["tornado-proxy_0.1.0-1~deb12_arm64.deb"]
    root.run("dpkg --install /shared/*.deb")
    return root


@contextmanager
def _serving(root: _Root, port: int) -> Iterator[Proxy]:
    command = root.command("exec tornado-proxy serve --config /shared/proxy.yaml")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        yield Proxy(process, f"http://127.0.0.1:{port}")
        process.terminate()


def test_the_package_for_arm64_serves(installed):
    """The program names its version, accepts the files, and answers a GET with what S3 has, as rewritten."""
    with endless_s3() as (endpoint, _):
        port = free_port()
        text = CONFIGURATION.format(port=port, admin=free_port(), endpoint=endpoint)
        (installed.folder / "shared" / "proxy.yaml").write_text(text)
        (installed.folder / "shared" / "rules").mkdir()
        (installed.folder / "shared" / "rules" / "site.rules").write_text(
            "target site { rewrite `^/(?P<name>[a-z]+)$` -> jinja `/first/{{ groups.name }}.txt` }\n"
        )
        output = installed.run(
            "uname --machine; tornado-proxy --version; tornado-proxy serve --check --config /shared/proxy.yaml"
        )
        assert re.search(r"^aarch64\ntornado-proxy 0\.1\.0\n(.*\n)*OK: ", output)
        with _serving(installed, port) as proxy:
            assert eventually(lambda: _text(proxy)) == "first/a.txt"


def _text(proxy: Proxy) -> str:
    try:
        return proxy.request("GET", "/a").text
    except OSError:
        return ""
