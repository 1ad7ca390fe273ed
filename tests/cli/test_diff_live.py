"""`diff --live` compares by the last requests of a running service."""

from __future__ import annotations

import http.client
import json
from pathlib import Path

import pytest
from administering import service
from jsonschema import validate

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "diff.json"


@pytest.fixture
def live(command, tmp_path):
    """Runs a service that was asked for three paths, and a function that compares edited rules by its requests."""
    with service(tmp_path / "service") as (proxy, admin):
        connection = http.client.HTTPConnection(proxy.url.removeprefix("http://"))
        for path in ("/one", "/one", "/two", "/a%20b"):
            connection.request("GET", path)
            connection.getresponse().read()
        connection.close()
        in_force = tmp_path / "service" / "proxy.yaml"

        def run(rules, *words):
            Path("rules").mkdir(exist_ok=True)
            Path("rules/site.rules").write_text(f"target site {{ {rules} }}\n")
            Path("proxy.yaml").write_text(in_force.read_text())
            return command("diff", in_force, "proxy.yaml", "--live", "--admin", admin.url, *words)

        yield run


FIRST = r'rewrite `^/(?P<name>[a-z]+)$` -> "/first/$name.txt"'


def test_the_last_requests_of_a_service_are_decided_by_an_edit(live):
    """What would change, how often it was requested, and that nothing changes without an edit."""
    result = live(FIRST.replace("/first/$name", "/second/$name"))
    assert (result.status, result.err) == (1, "")
    assert result.out.startswith("answer changed: 3 of 4 requests, 2 of 3 distinct\n")
    assert "  /one (2 times)\n  - /first/one.txt\n  + /second/one.txt\n" in result.out
    assert live(FIRST).out == "no answer changed: 4 requests, 3 distinct\n"


def test_a_script_fails_only_where_a_request_would_be_refused(live):
    """An intended change is no failure."""
    assert live(FIRST.replace("/first/$name", "/second/$name"), "--fail-on", "failures").status == 0
    refused = live(FIRST.replace("/first/$name", "/../$name"), "--fail-on", "failures")
    assert refused.status == 1
    assert refused.out.splitlines()[1] == "3 requests would be refused that are answered now"


def test_what_a_service_does_not_keep_is_said(live):
    """The query may decide."""
    report = live(r'rewrite `^/(?P<name>[a-z]+)$` -> jinja "/{{ request.query.v or groups.name }}"', "--format", "json")
    document = json.loads(report.out)
    validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert (document["not_known"], document["changed"]["total"], report.status) == (3, 0, 0)


def test_a_service_that_cannot_be_reached_is_a_failure(command, tmp_path):
    """Nothing is compared."""
    for name in ("old.rules", "new.rules"):
        Path(name).write_text("target site {}\n")
    result = command("diff", "old.rules", "new.rules", "--live", "--admin", f"unix:{tmp_path}/nothing")
    assert (result.status, result.out) == (2, "")
    assert "cannot be reached: No such file or directory" in result.err


def test_a_log_or_a_service_is_needed(command):
    assert "one of the arguments --requests --live is required" in command("diff", "a", "b").err
