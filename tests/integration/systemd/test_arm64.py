"""The Debian package and the image for arm64, built and run on qemu: they install, and serve."""

import faulthandler
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from administering import RULES, eventually
from endless_s3 import endless_s3
from machines import CONFIGURATION, build_wheel
from programs import PARTS, ROOT, TOGETHER, output_of, part, program, until_end
from running import Proxy, free_port

pytestmark = pytest.mark.integration

_BASE = PARTS / "arm64"
_EMULATED = ROOT / "tests" / "integration" / "emulated"
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


def _step(*command: str, **options: object) -> str:
    """Runs a step, and returns its output; each has the time that other tests have in all."""
    faulthandler.dump_traceback_later(2 * _TIME_LIMIT, exit=True, file=sys.__stderr__)
    return output_of(*command, timeout=_TIME_LIMIT, **options)


class _Root:
    """A root file system for arm64, whose changes are written to a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("upper", "work", "root", "shared"):
            (folder / name).mkdir()

    def command(self, command: str) -> list[str]:
        """The command that runs a command in the file system; the folder `shared` is at /shared, the checkout at /src."""
        paths = {"base": _BASE, "folder": self.folder, "checkout": ROOT, "wheels": PARTS / "arm64-wheels"}
        script = _IN_ROOT.format(command=command, **paths)
        return [str(_EMULATED), "bash", "-c", script]

    def run(self, command: str) -> str:
        """Runs a command, and returns its output."""
        return _step(*self.command(command), **TOGETHER)


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> _Root:
    """A root file system where the package is installed that packaging/deb built in it."""
    part("arm64/.complete", "arm64")
    root = _Root(tmp_path_factory.mktemp("arm64"))
    shutil.copy(build_wheel(tmp_path_factory.mktemp("built")), root.folder / "shared")
    root.run("/src/packaging/deb /shared/*.whl /shared")
    assert [path.name for path in (root.folder / "shared").glob("*.deb")] == ["tornado-proxy_0.1.0-1~deb12_arm64.deb"]
    root.run("dpkg --install /shared/*.deb")
    return root


def _write_files(folder: Path, endpoint: str, port: int) -> None:
    """Writes a configuration and its rules into a folder."""
    (folder / "proxy.yaml").write_text(CONFIGURATION.format(port=port, admin=free_port(), endpoint=endpoint))
    (folder / "rules").mkdir()
    (folder / "rules" / "site.rules").write_text(RULES.format("first"))


@contextmanager
def _serving(command: list[str], port: int) -> Iterator[Proxy]:
    with until_end(*command, stderr=subprocess.PIPE, text=True) as process:
        yield Proxy(process, f"http://127.0.0.1:{port}")


def _text(proxy: Proxy) -> str:
    try:
        return proxy.request("GET", "/a").text
    except OSError:
        return ""


def test_the_package_for_arm64_serves(installed):
    """The program names its version, accepts the files, and answers a GET with what S3 has, as rewritten."""
    with endless_s3() as (endpoint, _):
        port = free_port()
        _write_files(installed.folder / "shared", endpoint, port)
        check = "tornado-proxy serve --check --config /shared/proxy.yaml"
        output = installed.run(f"uname --machine; tornado-proxy --version; {check}")
        assert re.search(r"^aarch64\ntornado-proxy 0\.1\.0\n(.*\n)*OK: ", output)
        with _serving(installed.command("exec tornado-proxy serve --config /shared/proxy.yaml"), port) as proxy:
            assert eventually(lambda: _text(proxy), _TIME_LIMIT) == "first/a.txt"


class _Images:
    """Buildah with its own store, where programs for arm64 run; layers share their files, which are many to remove."""

    def __init__(self, store: str) -> None:
        self.store = ("--storage-driver=overlay", f"--root={store}/storage", f"--runroot={store}/run")

    def command(self, *arguments: str) -> list[str]:
        """The command for arguments of buildah."""
        # Without the variable, buildah would make one more namespace of users.
        return [str(_EMULATED), "env", "_CONTAINERS_USERNS_CONFIGURED=done", "buildah", *self.store, *arguments]

    def run(self, *arguments: str) -> str:
        """Runs buildah, and returns its output."""
        return _step(*self.command(*arguments))


@pytest.fixture
def image(tmp_path) -> Iterator[tuple[_Images, str]]:
    """A store, and the name of a container of the image that deploy/Containerfile makes for arm64."""
    part("arm64/.complete", "arm64")
    program("buildah", "containers")
    shutil.copy(build_wheel(tmp_path / "built"), tmp_path)
    shutil.copy(ROOT / "constraints.txt", tmp_path)
    (tmp_path / "pip.conf").write_text("[global]\nno-index = yes\nfind-links = /wheels\n")
    with TemporaryDirectory(prefix="store") as store:  # podman wants a short path
        images = _Images(store)
        archive = ["tar", "-C", str(_BASE), "--exclude=./dev", "--exclude=./proc", "--exclude=./sys", "-c", "."]
        with subprocess.Popen(archive, stdout=subprocess.PIPE) as packing:
            imported = ("podman", *images.store, "import", "--arch=arm64", "--os=linux", "-", "localhost/base")
            _step(*imported, stdin=packing.stdout)
        images.run(
            *("build", "--isolation=chroot", "--network=host", "--platform=linux/arm64"),
            *("--build-arg=BASE=localhost/base", f"--volume={PARTS / 'arm64-wheels'}:/wheels:ro"),
            f"--volume={tmp_path / 'pip.conf'}:/etc/pip.conf:ro",
            *("--file", str(ROOT / "deploy" / "Containerfile"), "--tag=tornado-proxy", str(tmp_path)),
        )
        yield images, images.run("from", "--pull=never", "--arch=arm64", "localhost/tornado-proxy").strip()


def test_the_image_for_arm64_serves(image, tmp_path):
    """A container of the image answers a GET with what S3 has, as rewritten."""
    images, container = image
    folder, port = tmp_path / "files", free_port()
    folder.mkdir()
    with endless_s3() as (endpoint, _):
        _write_files(folder, endpoint, port)
        inside = ("run", "--isolation=chroot", "--network=host", f"--volume={folder}:/etc/tornado-proxy:ro", container)
        assert images.run(*inside, "--", "uname", "-m").strip() == "aarch64"
        serve = ("tornado-proxy", "serve", "--config", "/etc/tornado-proxy/proxy.yaml")
        with _serving(images.command(*inside, "--", *serve), port) as proxy:
            assert eventually(lambda: _text(proxy), _TIME_LIMIT) == "first/a.txt"
