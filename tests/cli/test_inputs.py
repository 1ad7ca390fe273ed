from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from rule_sites import rule_sets

from tornado_proxy.cli.inputs import (
    CommandError,
    add_request_arguments,
    bare_site,
    configured_sites,
    default_places,
    load_rules,
    load_settings,
    request_defaults,
    requests_of,
    require_target,
    signed_in_user,
)
from tornado_proxy.cli.output import ExitStatus
from tornado_proxy.routing.access import Anyone, SignedIn
from tornado_proxy.routing.request import RequestPath
from tornado_proxy.templates.template import User

CONFIGURATION = """
rules: [rules/]
targets:
  site:
    mount: {path: [/]}
    bucket: {name: files, region: eu-west-1, credentials: {accessKey: {env: NOT_SET}, secretKey: {env: NOT_SET}}}
  other:
    mount: {path: [/other]}
    bucket: {name: files, region: eu-west-1}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A configuration and its rules."""
    monkeypatch.chdir(tmp_path)
    Path("rules").mkdir()
    Path("rules/site.rules").write_text('target site { rewrite `^/a$` -> "/b" }\n')
    Path("proxy.yaml").write_text(CONFIGURATION)


def test_rules_are_looked_for_where_they_usually_are(files, monkeypatch):
    """In `rules/`, or else in the current directory."""
    assert default_places() == [Path("rules")]
    monkeypatch.chdir("rules")
    assert default_places() == [Path()]


def test_a_configuration_is_read_without_its_secrets(files):
    """What is asked needs none."""
    assert [each.name for each in load_settings(Path("proxy.yaml")).targets] == ["site", "other"]


@pytest.mark.parametrize(
    ("text", "status"), [(None, ExitStatus.FAILED), ("targets: 1\n", ExitStatus.FINDINGS)], ids=["missing", "wrong"]
)
def test_a_configuration_that_cannot_be_used_ends_the_command(files, text, status):
    """A mistake in it is a finding; a file that is not there keeps the tool from its work."""
    Path("proxy.yaml").unlink()
    if text is not None:
        Path("proxy.yaml").write_text(text)
    with pytest.raises(CommandError) as ended:
        load_settings(Path("proxy.yaml"))
    assert ended.value.status is status
    assert ended.value.diagnostics


@pytest.mark.parametrize(
    ("place", "status"), [("nowhere", ExitStatus.FAILED), ("rules/broken.rules", ExitStatus.FINDINGS)]
)
def test_rules_that_cannot_be_used_end_the_command(files, place, status):
    """The same holds for them."""
    Path("rules/broken.rules").write_text("target {")
    with pytest.raises(CommandError) as ended:
        load_rules([Path(place)])
    assert ended.value.status is status


def test_configured_sites_are_the_targets_in_order(files):
    """Those without rules too; or the one that is asked for."""
    settings, loaded = load_settings(Path("proxy.yaml")), load_rules([Path("rules")])
    assert [each.target.name for each in configured_sites(settings, loaded)] == ["site", "other"]
    assert [each.target.name for each in configured_sites(settings, loaded, "other")] == ["other"]


def test_a_bare_site_is_open_unless_somebody_signs_in(files):
    """Whoever is named passes, and is seen by templates."""
    rules = rule_sets("target site {}")["site"]
    path = RequestPath("/x")
    assert bare_site("site", rules).access.guard(path, "PUT") == Anyone()
    guard = bare_site("site", rules, "ann").access.guard(path, "DELETE")
    assert isinstance(guard, SignedIn)
    assert guard.find("ann")


def test_a_target_that_is_not_there_is_answered_with_the_one_that_was_meant():
    """Where one looks like it."""
    with pytest.raises(CommandError, match=r"there is no target `sit`; did you mean `site`\?"):
        require_target("sit", ["site"])
    with pytest.raises(CommandError, match=r"there is no target `zzz`$"):
        require_target("zzz", ["site"])


def test_the_end_is_told_on_standard_error(capsys):
    """With the name of the command."""
    assert CommandError(ExitStatus.FAILED, "no").report("test") is ExitStatus.FAILED
    assert capsys.readouterr().err == "tornado-proxy test: no\n"


def _parsed(*words):
    parser = argparse.ArgumentParser()
    add_request_arguments(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize(
    ("words", "user"),
    [
        ([], None),
        (["--user", "ann"], User("ann")),
        (["--user", "ann", "--user-groups", "a, b,"], User("ann", "HEADER", "", ("a", "b"))),
        (["--user", "ann", "--email", "a@example.com"], User("ann", "HEADER", "a@example.com")),
    ],
)
def test_a_user_is_described_as_in_a_test(words, user):
    """Groups and an address make one of a header."""
    assert signed_in_user(_parsed(*words)) == user


def test_what_is_said_of_all_requests_has_host_and_headers():
    """The host without its port, headers in their order."""
    given = request_defaults(_parsed("--host", "WWW.example.com:80", "--header", "A: 1", "--header", "A:2"))
    assert (given.user, given.host, given.headers) == (None, "www.example.com", (("A", "1"), ("A", "2")))


@pytest.mark.parametrize(
    ("template", "different"),
    [
        ('"/$1"', 1),
        ('jinja "/{{ user.username }}"', 1),
        ('jinja "/{{ request.method }}"', 2),
        ('go "/x"', 2),
    ],
)
def test_queries_are_kept_where_a_template_might_read_them(tmp_path, template, different):
    """Only then are requests different by them."""
    log = tmp_path / "paths"
    log.write_text("/a?x\n/a?y\n")
    rules = rule_sets(f"target site {{ rewrite `^/(a)$` -> {template} }}")
    assert len(requests_of(log, rules.values()).requests) == different


def test_a_log_that_cannot_be_read_ends_the_command():
    """With status 2, and why."""
    with pytest.raises(CommandError, match="`nowhere` cannot be read: No such file or directory") as ended:
        requests_of(Path("nowhere"), [])
    assert ended.value.status is ExitStatus.FAILED


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--host", "a/b"], "invalid host `a/b`: it contains `/`"),
        (["--user", "a/b"], "invalid user name `a/b`: it contains a `/`"),
    ],
)
def test_what_the_service_refuses_is_refused(capsys, words, reason):
    """No answer is told that no client can get."""
    with pytest.raises(SystemExit) as ended:
        _parsed(*words)
    assert ended.value.code == ExitStatus.FAILED
    assert reason in capsys.readouterr().err
