"""Starts of a service with bad files, with and without a last good copy."""

import json
from contextlib import contextmanager

import pytest
from administering import CONFIGURATION, RULES, Admin, service
from endless_s3 import endless_s3
from running import start_proxy

BAD = 'target site {\n    rewrite `^/(` -> "/x"\n}\n'


@pytest.fixture
def last_good(tmp_path):
    """Runs a service on good files, then makes the rules bad; returns the option that names the copy, `kept`."""
    options = ("--last-good", str(tmp_path / "kept"))
    with service(tmp_path, *options) as (_, admin):
        admin.wait_for_status(lambda _: (tmp_path / "kept" / "snapshot.json").exists())
    (tmp_path / "rules" / "site.rules").write_text(BAD)
    return options


@contextmanager
def _restarted(folder, *options, text=CONFIGURATION):
    """Starts the service again with the files as they are."""
    with endless_s3() as (endpoint, _):
        configuration = text.format(endpoint=endpoint)
        rules = (folder / "rules" / "site.rules").read_text()
        snapshot = folder / "kept" / "snapshot.json"
        snapshot.write_text(json.dumps({**json.loads(snapshot.read_text()), "text": configuration}))
        with start_proxy(folder, configuration, *options, site=rules) as proxy:
            yield proxy, Admin.of(proxy)


FAILING = RULES.format("other") + 'target site { test "/a" -> "/c" }\n'
STRICT = CONFIGURATION + "reload: {{tests: refuse}}\n"


def test_the_copy_is_served_if_rule_tests_fail(tmp_path, last_good):
    """If there is a copy, a start refuses rules with failing tests, as an edit does."""
    (tmp_path / "rules" / "site.rules").write_text(FAILING)
    with _restarted(tmp_path, *last_good, text=STRICT) as (proxy, admin):
        assert proxy.request("GET", "/a").body == b"first/a.txt"
        assert admin.status()["startedFromLastGood"]


def test_rules_are_served_without_a_copy_although_their_tests_fail(tmp_path):
    with endless_s3() as (endpoint, _):
        text = STRICT.format(endpoint=endpoint)
        with start_proxy(tmp_path, text, "--last-good", str(tmp_path / "kept"), site=FAILING) as proxy:
            assert proxy.request("GET", "/a").body == b"other/a.txt"
    assert any("rule tests fail: started with these rules" in line for line in proxy.lines)


def test_workers_start_from_the_copy(tmp_path, last_good):
    with _restarted(tmp_path, *last_good, "--workers", "2") as (proxy, _):
        assert proxy.request("GET", "/a").body == b"first/a.txt"


def test_an_unwritable_directory_is_a_warning(tmp_path):
    """A service that cannot keep a copy serves, and its status names the reason."""
    (tmp_path / "file").write_text("")
    with service(tmp_path, "--last-good", str(tmp_path / "file" / "kept")) as (proxy, admin):
        status = admin.wait_for_status(lambda status: status["lastGoodTrouble"] is not None)
        assert "Not a directory" in status["lastGoodTrouble"]
        assert proxy.request("GET", "/a").status == 200
