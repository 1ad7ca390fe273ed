"""A service that starts while its files are bad."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest
from administering import CONFIGURATION, RULES, Admin, service
from endless_s3 import endless_s3
from running import START_LIMIT, start_proxy

BAD = 'target site {\n    rewrite `^/(` -> "/x"\n}\n'


@pytest.fixture
def folder(tmp_path):
    """Where the files of the service are, and in `kept` the copy."""
    return tmp_path


@pytest.fixture
def kept(folder):
    """A service has run on good files, and the files are bad now."""
    options = ("--last-good", str(folder / "kept"))
    with service(folder, *options) as (_, admin):
        admin.wait(lambda _: (folder / "kept" / "snapshot.json").exists())
    (folder / "rules" / "site.rules").write_text(BAD)
    return options


@contextmanager
def _again(folder, *options, text=CONFIGURATION):
    """The service once more, with the files as they are."""
    with endless_s3() as (endpoint, _):
        configuration = text.format(endpoint=endpoint)
        rules = (folder / "rules" / "site.rules").read_text()
        copy = folder / "kept" / "snapshot.json"
        copy.write_text(json.dumps({**json.loads(copy.read_text()), "text": configuration}))
        with start_proxy(folder, configuration, *options, site=rules) as proxy:
            yield proxy, Admin.of(proxy)


def test_the_last_good_set_is_served_and_the_next_good_edit_loads(folder, kept):
    """The copy is in force, loudly; the real files are followed, so that mending them is enough."""
    with _again(folder, *kept) as (proxy, admin):
        assert proxy.request("GET", "/a").body == b"first/a.txt"
        status = admin.wait(lambda status: status["lastFailedAttempt"] is not None)
        assert (status["startedFromLastGood"], status["generation"]) == (True, 1)
        assert any("started from the last good copy" in line for line in proxy.lines)
        (folder / "rules" / "site.rules").write_text(RULES.format("mended"))
        admin.wait(lambda status: status["generation"] == 2)
        assert proxy.request("GET", "/a").body == b"mended/a.txt"
        assert not admin.status()["startedFromLastGood"]
        copy = folder / "kept" / "snapshot.json"
        admin.wait(lambda _: "mended" in copy.read_text())


FAILING = RULES.format("other") + 'target site { test "/a" -> "/c" }\n'
STRICT = CONFIGURATION + "reload: {{tests: refuse}}\n"


def test_rules_whose_tests_fail_are_not_started_from_where_there_is_a_copy(folder, kept):
    """What was refused as an edit is refused at the next start too."""
    (folder / "rules" / "site.rules").write_text(FAILING)
    with _again(folder, *kept, text=STRICT) as (proxy, admin):
        assert proxy.request("GET", "/a").body == b"first/a.txt"
        assert admin.status()["startedFromLastGood"]


def test_rules_whose_tests_fail_are_started_from_where_there_is_no_copy(folder):
    """A service that serves is better than none; the log says it."""
    with endless_s3() as (endpoint, _):
        text = STRICT.format(endpoint=endpoint)
        with start_proxy(folder, text, "--last-good", str(folder / "kept"), site=FAILING) as proxy:
            assert proxy.request("GET", "/a").body == b"other/a.txt"
    assert any("rule tests fail: started with these rules" in line for line in proxy.lines)


def test_workers_start_from_it_too(folder, kept):
    """Several processes serve the copy as one does."""
    with _again(folder, *kept, "--workers", "2") as (proxy, _):
        assert proxy.request("GET", "/a").body == b"first/a.txt"


def _serve(folder, *options):
    command = [sys.executable, "-m", "tornado_proxy", "serve", "--config", str(folder / "proxy.yaml"), *options]
    environment = {**os.environ, "ACCESS": "test", "SECRET": "test"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=START_LIMIT, check=False)


def test_without_the_option_bad_files_refuse_to_start(folder, kept):
    """Exit status 1, and the mistake with its place."""
    result = _serve(folder)
    assert result.returncode == 1
    assert "site.rules:2:" in result.stderr


def test_without_a_copy_bad_files_refuse_to_start(folder, kept):
    """Exit status 1, the mistake, and that there is no copy."""
    result = _serve(folder, "--last-good", str(folder / "nothing"))
    assert result.returncode == 1
    assert "there is no last good copy to start from" in result.stderr


def test_a_directory_that_cannot_be_written_is_a_warning(folder):
    """Where no copy can be kept the service serves, and says what is in the way."""
    (folder / "file").write_text("")
    with service(folder, "--last-good", str(folder / "file" / "kept")) as (proxy, admin):
        status = admin.wait(lambda status: status["lastGoodTrouble"] is not None)
        assert "Not a directory" in status["lastGoodTrouble"]
        assert proxy.request("GET", "/a").status == 200
