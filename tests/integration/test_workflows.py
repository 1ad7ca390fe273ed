"""The workflows of .github: their steps succeed in a clean clone, and actionlint finds nothing.

Not run here are: steps on arm64; the signatures of proofs, which GitHub makes; GitHub's own part of a release, for which
`gh` writes down how it was called; and, since they are what runs these tests, `make test` and `make integration`.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from programs import PARTS, ROOT, output_of, part
from workflow_runner import WORKFLOWS, NotHereError, Runner, matrices

pytestmark = pytest.mark.integration

_JOBS_OF_CI = Runner("ci", ROOT, ROOT).jobs()
# In place of all tests: the set-up of the environment, the checks, and the tests of one package.
_STAND_INS = {
    ".ci/run": "make check && .venv/bin/python -m pytest -q -p no:pytest-lsp tests/semantics",
    "make integration": "make --dry-run integration",
}
_GH = """#!/bin/sh
printf '%s\\n' "$@" >>"$GH_CALLS"
case $1 in release) cat notes.md >>"$GH_CALLS" ;; esac
"""
# Podman with a store of its own, and a base that needs no registry of images.
_PODMAN = """#!/bin/sh
store="--storage-driver=vfs --root={store}/storage --runroot={store}/run"
command=$1
shift
case $command in
    build) exec buildah $store build --isolation=chroot --network=host --build-arg=BASE=localhost/base \
        --volume={store}/pip.conf:/etc/pip.conf:ro --volume=/etc/ssl/certs/ca-certificates.crt:/run/authorities:ro "$@" ;;
    run) exec /usr/bin/podman --cgroup-manager=cgroupfs --runtime=runc $store run --network=host \
        --ulimit=nofile=8192:8192 --ulimit=nproc=4096:4096 "$@" ;;
    *) exec /usr/bin/podman $store "$command" "$@" ;;
esac
"""


def _git(folder: Path, *arguments: str) -> str:
    person = ["-c", "user.name=tests", "-c", "user.email=tests@example.org"]
    return output_of("git", *person, *arguments, cwd=folder).strip()


@pytest.fixture(scope="module")
def origin(tmp_path_factory) -> Path:
    """A repository whose branch `main` is the last commit of this checkout, tagged as the newest version of the changelog."""
    folder = tmp_path_factory.mktemp("origin")
    _git(folder, "clone", "--quiet", "--bare", "--no-tags", "--single-branch", ROOT.as_uri(), ".")
    _git(folder, "update-ref", "refs/heads/main", "HEAD")
    _git(folder, "symbolic-ref", "HEAD", "refs/heads/main")
    _git(folder, "tag", "--annotate", "--message=release", _tag())
    return folder


def _tag() -> str:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return "v" + re.search(r"^## (\d\S*)", changelog, re.MULTILINE)[1]


def _run(runner: Runner, job: str, matrix: dict[str, str]) -> None:
    try:
        runner.run(job, matrix)
    except NotHereError as missing:
        pytest.skip(str(missing))


def test_actionlint_finds_nothing():
    """Expressions, contexts and scripts of the workflows have no mistake that actionlint knows."""
    assert output_of(part("actionlint/actionlint", "workflows"), *WORKFLOWS.iterdir()) == ""


@pytest.mark.parametrize(
    ("job", "matrix"),
    [(job, matrix) for job, description in _JOBS_OF_CI.items() for matrix in matrices(description)],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_the_steps_of_ci_succeed(job, matrix, origin, tmp_path):
    """Each job of CI succeeds, on each Python of the matrix that is here."""
    _run(Runner("ci", origin, tmp_path, stand_ins=_STAND_INS), job, matrix)


def test_the_steps_of_integration_succeed(origin, tmp_path):
    """The packages that the nightly tests begin with can be installed in their container, and make knows its target."""
    _run(Runner("integration", origin, tmp_path, stand_ins=_STAND_INS), "integration", {})


@pytest.fixture
def programs(tmp_path) -> Iterator[Path]:
    """A folder with a `gh` that only writes down how it is called, and a `podman` that needs no registry."""
    if os.geteuid() != 0 or not shutil.which("buildah") or not shutil.which("runc"):
        pytest.skip("no buildah: run `tests/integration/install systemd containers` as root")
    folder = tmp_path / "programs"
    folder.mkdir()
    # Podman wants a short path.
    with TemporaryDirectory(prefix="store") as store:
        for name, text in (("gh", _GH), ("podman", _PODMAN.format(store=store))):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        Path(store, "pip.conf").write_text("[global]\ncert = /run/authorities\n")
        base = PARTS / "systemd-trixie"
        command = ["tar", "-C", str(base), "--exclude=./dev", "--exclude=./proc", "--exclude=./sys", "-c", "."]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as archive:
            output_of(folder / "podman", "import", "-", "localhost/base", stdin=archive.stdout)
        yield folder
        output_of(folder / "podman", "rmi", "--all", "--force")


def test_a_tag_becomes_a_release(origin, programs, tmp_path):
    """The jobs of a release succeed one after another, and publish packages, image, sums, notes and manual of the tag."""
    calls = tmp_path / "gh.txt"
    variables = {"GITHUB_REF_NAME": _tag(), "GH_CALLS": str(calls)}
    stand_ins = {".ci/run": "make --dry-run check test"}  # the steps of CI are run above
    runner = Runner("release", origin, tmp_path, variables, stand_ins, programs)
    not_here = []
    for job, description in runner.jobs().items():
        for matrix in matrices(description):
            try:
                runner.run(job, matrix)
            except NotHereError as missing:
                not_here.append(str(missing))
    assert not_here == ["an arm64 runner"] * 3
    called = calls.read_text()
    version = _tag().removeprefix("v")
    for name in ("SHA256SUMS", "sbom.cdx.json", f"{version}-py3-none-any.whl", "~deb13_amd64.deb", "amd64.oci.tar"):
        assert f"{name}\n" in called
    assert "\n- " in called
    published = _git(origin, "ls-tree", "-r", "--name-only", "manual").splitlines()
    minor = version.rpartition(".")[0]
    assert {"index.html", "versions.json", f"{minor}/index.html", "latest/tutorial/index.html"} <= set(published)
