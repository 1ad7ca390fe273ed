"""The files, commands and examples of the README work."""

import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from command_lines import CommandLine
from fenced import blocks
from fresh_checkout import clean_environment, clone
from programs import ROOT, output_of
from running import start_demo, start_proxy

from tornado_proxy.cli.demo import BUCKET, S3_KEY, S3_PORT

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The working directory, with the two files of the README, and the key that it exports."""
    name, value = re.search(r"^\$ export (\w+)=(\w+)$", README, re.MULTILINE).groups()
    monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "proxy.yaml").write_text(blocks(README, "yaml")[0])
    (tmp_path / "site.rules").write_text(blocks(README, "rules")[0])
    return tmp_path


@pytest.fixture
def command(capsys) -> CommandLine:
    """Runs command lines."""
    return CommandLine(capsys)


def _commands() -> list[str]:
    lines = [line.removeprefix("$ ") for block in blocks(README, "console") for line in block.splitlines()]
    # The last command serves until it is stopped; the end-to-end tests run it.
    ours = [line for line in lines if line.startswith("tornado-proxy")]
    return [line for line in ours if line != "tornado-proxy serve --config proxy.yaml"]


@pytest.mark.parametrize("line", _commands())
def test_a_command_of_the_readme_runs(folder, command, line):
    result = command(*shlex.split(line)[1:])
    assert (result.status, result.err) == (0, "")


def test_the_example_is_explained_as_in_the_text(folder, command):
    result = command("explain", "/press/spring.html", "--config", "proxy.yaml")
    assert "site/archive/press/spring.html" in result.out


def test_the_first_configuration_serves_the_bucket_of_the_demo(folder):
    """The example answers from the demo's S3, without an account and without an edit but for its ports."""
    text = re.sub("port: (8081|9091)", "port: 0", (folder / "proxy.yaml").read_text())
    assert f"http://127.0.0.1:{S3_PORT}" in text
    with start_demo(folder) as printed:
        (endpoint,) = re.findall(rf"the bucket {BUCKET} at (\S+), both keys are {S3_KEY}\.", printed)
        with start_proxy(folder, text.replace(f"http://127.0.0.1:{S3_PORT}", endpoint)) as proxy:
            assert "<h1>Spring" in proxy.request("GET", "/press/spring.html").text


def test_a_bucket_of_aws_can_be_used(folder, command):
    path, aws = folder / "proxy.yaml", blocks(README, "yaml")[1]
    path.write_text(re.sub(r"^    bucket: .*\n.*\n", lambda _: aws, path.read_text(), flags=re.MULTILINE))
    assert "eu-west-1" in path.read_text()
    result = command("serve", "--config", "proxy.yaml", "--check")
    assert (result.status, result.err) == (0, "")


def test_the_library_example_runs(folder):
    output_of(sys.executable, "-c", blocks(README, "python")[0], cwd=folder)


def test_every_linked_file_exists():
    assert [link for link in re.findall(r"\]\(([^):#]+)\)", README) if not (ROOT / link).exists()] == []


@pytest.mark.integration
def test_the_program_and_its_extras_are_installed_from_a_checkout(tmp_path):
    """Each `pip install` of the README succeeds in a clone, and the program, the server for editors and the S3 are there."""
    environment = clean_environment(tmp_path, tmp_path / "env" / "bin")
    extras = re.findall(r"'(\.\[\w+\])'", README)
    (plain,) = re.findall(r"^\$ (pip install .*)$", README, re.MULTILINE)
    commands = ["python3 -m venv ../env", plain, *(f"pip install '{extra}'" for extra in extras)]
    script = " && ".join([*commands, "tornado-proxy --version", "python -c 'import pygls, moto.server'"])
    assert len(extras) == 2
    output_of("bash", "-c", script, cwd=clone(tmp_path / "checkout"), env=environment)


@pytest.mark.integration
def test_make_demo_starts_the_demo_in_a_fresh_checkout(tmp_path):
    """`make demo` needs nothing but Python and make, and what it prints can be tried."""
    folder, environment = clone(tmp_path / "checkout"), clean_environment(tmp_path)
    options = {"cwd": folder, "env": environment, "text": True, "start_new_session": True}
    with subprocess.Popen(["make", "demo"], stdout=subprocess.PIPE, **options) as process:
        try:
            urls = (re.search(r"http://127\.0\.0\.1:\d+/\S*", line) for line in process.stdout)
            with urllib.request.urlopen(next(url[0] for url in urls if url), timeout=30) as answer:
                assert answer.status == 200
        finally:
            os.killpg(process.pid, signal.SIGINT)
