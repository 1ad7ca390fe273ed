"""Runs the steps of a workflow here as GitHub's runner would: in a clean clone, with a clean home and environment.

What a step `uses` is replaced by what it does: a checkout is a clone, artifacts are folders, and Python is one of this
machine. A job in a container of Debian runs in a root file system of that release, whose changes are thrown away.
"""

import glob
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from fresh_checkout import clean_environment
from programs import PARTS, ROOT, TOGETHER, output_of

WORKFLOWS = ROOT / ".github" / "workflows"
TIME_LIMIT = 900  # seconds for a step
_IN_ROOT = """
set -e
mount --make-rprivate /
mount -t overlay -o lowerdir={base},upperdir={changes}/upper,workdir={changes}/work overlay {changes}/root
cd {changes}/root
mkdir -p .{workspace} .{home} etc/ssl/certs
mount --rbind {workspace} .{workspace}
mount --rbind {home} .{home}
mount --bind /dev dev
mount -t proc proc proc
cp --remove-destination /etc/resolv.conf etc/resolv.conf
cp /etc/ssl/certs/ca-certificates.crt etc/ssl/certs
exec chroot . bash -ec 'cd "$1"; exec bash -e "$2"' - {workspace} {script}
"""


class NotHereError(Exception):
    """A job needs something that this machine does not have."""


@dataclass
class Runner:
    """The jobs of one workflow, which pass artifacts to one another."""

    name: str
    origin: Path
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    """Scripts that run in place of those of the workflow, by the beginning of the line that they replace."""
    programs: Path | None = None
    """A folder of programs that come first on the path."""

    def jobs(self) -> dict[str, Any]:
        """The jobs of the workflow, by name."""
        return yaml.safe_load((WORKFLOWS / f"{self.name}.yml").read_text(encoding="utf-8"))["jobs"]

    def run(self, job: str, matrix: Mapping[str, Any]) -> None:
        """Runs all steps of a job; a step that fails is an `AssertionError` with its output."""
        description = self.jobs()[job]
        machine = matrix.get("machine", {"architecture": "amd64"})["architecture"]
        if machine != "amd64":
            raise NotHereError(f"an {machine} runner")
        _Job(self, description, {"matrix": matrix, "github": {"token": "a-token"}}, self._room(job, matrix)).run()

    def _room(self, job: str, matrix: Mapping[str, Any]) -> Path:
        room = self.folder / re.sub(r"\W+", "-", f"{job} {' '.join(map(str, matrix.values()))}").strip("-")
        for name in ("workspace", "home", "python", "changes/upper", "changes/work", "changes/root"):
            (room / name).mkdir(parents=True)
        return room


def matrices(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the combinations of a job's matrix; a job without one has a single empty one."""
    axes = job.get("strategy", {}).get("matrix", {})
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


@dataclass
class _Job:
    """One run of a job."""

    runner: Runner
    description: Mapping[str, Any]
    context: Mapping[str, Any]
    room: Path

    def run(self) -> None:
        for step in self.description["steps"]:
            arguments = {name: self._expanded(str(value)) for name, value in step.get("with", {}).items()}
            if "run" in step:
                self._run_script(step["run"], step.get("env", {}))
            else:
                action = step["uses"].partition("@")[0]
                getattr(self, f"_{action.partition('/')[2].replace('-', '_')}")(
                    **{name.replace("-", "_"): value for name, value in arguments.items()}
                )

    def _expanded(self, text: str) -> str:
        def value(expression: re.Match[str]) -> str:
            result: Any = self.context
            for name in expression[1].split("."):
                result = result[name]
            return str(result)

        return re.sub(r"\$\{\{ *([\w.]+) *\}\}", value, text)

    def _run_script(self, script: str, variables: Mapping[str, str]) -> None:
        text = self._expanded(script)
        for line, other in self.runner.stand_ins.items():
            text = re.sub(rf"^{re.escape(line)}.*$", lambda _, other=other: other, text, flags=re.MULTILINE)
        path = self.room / "home" / "step.sh"
        path.write_text(text)
        environment = self._environment() | {name: self._expanded(value) for name, value in variables.items()}
        options = {
            "cwd": self.room / "workspace",
            "env": environment,
            "stdin": subprocess.DEVNULL,
            "timeout": TIME_LIMIT,
        }
        ran = subprocess.run(self._command(path), check=False, text=True, **options | TOGETHER)
        assert ran.returncode == 0, f"{self.runner.name}, in {self.room.name}:\n{text}\n{ran.stdout[-8000:]}"

    def _environment(self) -> dict[str, str]:
        programs = (program for program in (self.runner.programs, self.room / "python") if program)
        return {**clean_environment(self.room / "home", *programs), **self.runner.variables, "CI": "true"}

    def _command(self, script: Path) -> list[str]:
        """The command for a script, in the root file system of the job's container if it has one."""
        container = self.description.get("container", {})
        image = self._expanded(container if isinstance(container, str) else container.get("image", ""))
        if not image:
            return ["bash", "-e", str(script)]
        base = PARTS / f"systemd-{image.partition(':')[2]}"
        if os.geteuid() != 0 or not (base / ".complete").exists():
            raise NotHereError(f"{image}: run `tests/integration/install systemd` as root")
        places = {"workspace": self.room / "workspace", "home": self.room / "home", "changes": self.room / "changes"}
        text = _IN_ROOT.format(base=base, script=script, **places)
        return ["unshare", "--mount", "--pid", "--fork", "bash", "-c", text]

    def _checkout(self, fetch_depth: str = "1", persist_credentials: str = "True") -> None:
        depth = () if fetch_depth == "0" else (f"--depth={fetch_depth}",)
        branch = self.runner.variables.get("GITHUB_REF_NAME", "main")
        options = (*depth, f"--branch={branch}", "--config=advice.detachedHead=false")
        output_of("git", "clone", "--quiet", *options, self.runner.origin.as_uri(), self.room / "workspace")

    def _setup_python(self, python_version: str) -> None:
        program = next(_pythons(python_version), None)
        if program is None:
            raise NotHereError(f"Python {python_version}")
        for name in ("python", "python3"):
            (self.room / "python" / name).symlink_to(program)

    def _upload_artifact(self, name: str, path: str, if_no_files_found: str) -> None:
        files = self.room / "workspace" / path
        assert if_no_files_found == "error"
        assert any(files.iterdir()), f"the artifact {name} has no files"
        shutil.copytree(files, self.runner.folder / "artifacts" / name)

    def _download_artifact(self, path: str, name: str = "", pattern: str = "", merge_multiple: str = "False") -> None:
        assert name or merge_multiple == "True"
        wanted = {name} if name else set(_matching(self.runner.folder / "artifacts", pattern))
        assert wanted, f"no artifact matches {pattern}"
        for each in sorted(wanted):
            shutil.copytree(self.runner.folder / "artifacts" / each, self.room / "workspace" / path, dirs_exist_ok=True)

    def _attest_build_provenance(self, subject_path: str) -> None:
        """GitHub signs; here there must be something to sign."""
        assert glob.glob(subject_path, root_dir=self.room / "workspace")  # noqa: PTH207 - as the action reads it

    def _attest_sbom(self, subject_path: str, sbom_path: str) -> None:
        self._attest_build_provenance(subject_path)
        self._attest_build_provenance(sbom_path)


def _pythons(version: str) -> Iterator[str]:
    """Yields the programs of a version of Python that this machine has."""
    for place in (*os.environ["PATH"].split(":"), *sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin"))):
        program = Path(place, f"python{version}")
        if program.exists() and ".pyenv/shims" not in str(program):
            yield str(program)


def _matching(folder: Path, pattern: str) -> Iterator[str]:
    """Yields the names in a folder that match a pattern such as `{a,b-*}`."""
    for each in pattern.strip("{}").split(","):
        yield from glob.glob(each, root_dir=folder)  # noqa: PTH207 - names, not paths
