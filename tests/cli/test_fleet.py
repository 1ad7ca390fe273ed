"""`tornado-proxy fleet`, against running services."""

import json
import socket

import pytest
from administering import RULES, service

from tornado_proxy.cli.fleet import Member, compared


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Two services with files of their own, and the rule file of each."""
    folders = [tmp_path_factory.mktemp("fleet") for _ in range(2)]
    with service(folders[0]) as (_, first), service(folders[1]) as (_, second):
        yield (first, second), [folder / "rules" / "site.rules" for folder in folders]


def test_one_service_is_up_to_date(command, fleet):
    """Its digest and the time when it was loaded are shown; status 0."""
    (admin, _), _ = fleet
    done = command("fleet", admin.url)
    status = admin.status()
    assert (done.status, done.err) == (0, "")
    assert done.out == f"{admin.url}  {status['digest'][:12]}  {status['loadedAt']}  OK\n\n1 of 1 up to date\n"


def test_a_service_with_other_files_lags_behind(command, fleet):
    """What was loaded last is the newest; status 1."""
    (first, second), (rules, _) = fleet
    rules.write_text(RULES.format("newer"))
    first.reload()
    done = command("fleet", first.url, second.url)
    assert done.status == 1
    assert done.out.splitlines()[1].endswith(f"lags behind {first.status()['digest'][:12]}")
    assert done.out.endswith("\n1 of 2 up to date\n")


def test_a_refused_edit_is_shown(command, fleet):
    """With the place of the mistake."""
    (first, _), (rules, _) = fleet
    good = rules.read_text()
    rules.write_text("target site { rewrite `^/(` }")
    first.reload()
    done = command("fleet", first.url)
    rules.write_text(good)
    first.reload()
    assert done.status == 1
    assert f"refuses its files: {rules}:1: " in done.out


def test_what_does_not_answer_is_shown(command, fleet):
    """The others are shown all the same; programs read JSON."""
    (first, _), _ = fleet
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    done = command("fleet", f"127.0.0.1:{port}", first.url, "--format", "json")
    dead, alive = json.loads(done.out)["services"]
    assert done.status == 1
    assert (dead["trouble"], dead["digest"]) == ("Connection refused", "")
    assert (alive["trouble"], alive["generation"]) == (None, first.status()["generation"])


def test_an_address_with_a_user_is_a_mistake(command, fleet):
    """The listener asks nobody to sign in: status 2."""
    (first, _), _ = fleet
    done = command("fleet", first.url.replace("http://", "http://localhost.invalid@"))
    assert done.status == 2


def test_a_service_that_is_not_ready_is_not_said_to_lag():
    """One trouble is enough."""
    newest = Member("a", digest="2", loaded_at="2026-05-02")
    waiting = Member("b", digest="1", loaded_at="2026-05-01", trouble="not ready")
    assert compared([newest, waiting]) == [newest, waiting]
