"""The recipes of deploy/rules: rules of a bucket and of a Git branch come to a running service, each edit as a whole."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from administering import RULES, Admin, eventually
from endless_s3 import endless_s3
from programs import ROOT, output_of
from real_s3 import moto_bucket
from running import start_proxy
from steady_load import under_load

RECIPES = ROOT / "deploy" / "rules"
CONFIGURATION = """
rules: {rules}
targets:
  site:
    bucket: {{name: some-bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true}}
"""

AWS = f"""#!{sys.executable}
# `aws s3 sync --only-show-errors s3://BUCKET/PREFIX/ FOLDER`, of the AWS command line.
import os, pathlib, re, sys, urllib.request
place, folder = sys.argv[-2:]
name, _, prefix = place.removeprefix("s3://").partition("/")
def get(path):
    url = os.environ["AWS_ENDPOINT_URL"] + f"/{{name}}{{path}}"
    with urllib.request.urlopen(urllib.request.Request(url, headers={{"Authorization": "any"}})) as answer:
        return answer.read()
for key in re.findall("<Key>(.+?)</Key>", get(f"?list-type=2&prefix={{prefix}}").decode()):
    path = pathlib.Path(folder, key.removeprefix(prefix))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(get(f"/{{key}}"))
"""


def _swapped(link: Path, *command: str, **environment: str) -> int:
    """Runs the script of the unit with the command that fetches; returns its status."""
    script = ["/bin/sh", str(RECIPES / "swap-rules"), str(link), *command]
    return subprocess.run(script, env={**os.environ, **environment}, check=False).returncode


def _walk(folder: Path, link: Path, rules: Path, fetch, publish) -> None:
    """Serves by what `fetch` brings, while `publish` changes it: an edit, none, a bad one, nothing at all."""
    publish(**{"site.rules": RULES.format("first")})
    assert fetch() == 0
    with endless_s3() as (endpoint, _):
        configuration = CONFIGURATION.format(rules=rules, endpoint=endpoint)
        with start_proxy(folder, configuration) as proxy, under_load(proxy.address, 2) as load:
            load.wait_for_answers(5)
            admin = Admin.of(proxy)
            generation = proxy.request("HEAD", "/a").headers["x-tornado-proxy-generation"]
            directory = link.readlink()
            assert (fetch(), link.readlink()) == (0, directory)
            publish(**{"site.rules": "target site {"})
            assert fetch() == 0
            admin.wait_for_status(lambda status: (status["lastAttempt"] or {}).get("outcome") == "refused")
            assert proxy.request("HEAD", "/a").headers["x-tornado-proxy-generation"] == generation
            publish(**{"site.rules": RULES.format("second"), "more/help.rules": "target site { }\n"})
            assert fetch() == 0
            eventually(lambda: b"second/a.txt" in load.answers)
            assert proxy.request("HEAD", "/a").headers["x-tornado-proxy-generation"] != generation
            assert (rules / "more" / "help.rules").exists()
            publish()
            assert fetch() == 1
            load.wait_for_answers(5)
            assert admin.status()["lastAttempt"]["outcome"] == "loaded"
        assert (load.failures, set(load.answers)) == ([], {b"first/a.txt", b"second/a.txt"})
    assert [path for path in link.parent.iterdir() if path.name.startswith("rules.")] == [link.readlink()]


def test_rules_of_a_bucket_are_swapped_as_a_whole(tmp_path):
    """An edit is in force without a lost request; a bad one is refused; an empty prefix changes nothing."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "aws").write_text(AWS)
    (tmp_path / "bin" / "aws").chmod(0o755)
    link = tmp_path / "state" / "current"
    link.parent.mkdir()
    with moto_bucket("rules") as bucket:
        environment = {
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "AWS_ENDPOINT_URL": bucket.endpoint,
            "AWS_ACCESS_KEY_ID": "access",
            "AWS_SECRET_ACCESS_KEY": "secret",
        }

        def publish(**files: str) -> None:
            for key in bucket.all_keys():
                bucket.client.delete_object(Bucket="rules", Key=key)
            for name, text in files.items():
                bucket.put(f"site/{name}", text.encode())

        def fetch() -> int:
            return _swapped(link, "aws", "s3", "sync", "--only-show-errors", "s3://rules/site/", **environment)

        _walk(tmp_path, link, link, fetch, publish)


def test_rules_of_a_branch_are_swapped_as_a_whole(tmp_path):
    """The same from a Git repository, whose rules are in a directory."""
    origin, link = tmp_path / "origin", tmp_path / "state" / "current"
    link.parent.mkdir()
    identity = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")

    def git(*words: str) -> None:
        output_of("git", "-C", origin, *identity, *words)

    origin.mkdir()
    git("init", "--quiet", "--initial-branch", "main")

    def publish(**files: str) -> None:
        git("rm", "-r", "--quiet", "--ignore-unmatch", ".")
        (origin / "README").write_text(repr(files))
        for name, text in files.items():
            (origin / "rules" / name).parent.mkdir(parents=True, exist_ok=True)
            (origin / "rules" / name).write_text(text)
        git("add", ".")
        git("commit", "--quiet", "--message", "an edit")

    def fetch() -> int:
        return _swapped(link, "git", "clone", "--quiet", "--depth", "1", "--branch", "main", f"file://{origin}")

    _walk(tmp_path, link, link / "rules", fetch, publish)


def test_a_command_that_fails_changes_nothing(tmp_path):
    """What it has brought so far is thrown away, and the link stays."""
    (tmp_path / "before").mkdir()
    (tmp_path / "current").symlink_to(tmp_path / "before")
    assert _swapped(tmp_path / "current", "sh", "-c", 'touch "$0/a.rules"; exit 3') == 3
    assert (tmp_path / "current").readlink() == tmp_path / "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["before", "current"]


@pytest.mark.parametrize("line", ["swap-rules ${STATE_DIRECTORY}/current aws s3 sync --only-show-errors s3://"])
def test_the_unit_runs_the_script(line):
    """The service of the timer has the command that these tests run."""
    unit = (RECIPES / "tornado-proxy-rules.service").read_text()
    assert line in dedent(unit)
