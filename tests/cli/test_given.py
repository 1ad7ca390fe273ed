import argparse
from pathlib import Path

import pytest
from rule_sites import rule_sets

from tornado_proxy.cli.given import add_request_arguments, given_user, request_defaults, requests_of
from tornado_proxy.cli.loading import Ended
from tornado_proxy.cli.status import ExitStatus
from tornado_proxy.templates.data import User


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
    assert given_user(_parsed(*words)) == user


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
    with pytest.raises(Ended, match="`nowhere` cannot be read: No such file or directory") as ended:
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
