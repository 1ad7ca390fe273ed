"""`tornado-proxy fleet`, against running services."""

import json
import shutil
import socket

import pytest
from administering import RULES, service

from tornado_proxy.cli.fleet import Member, compared, most_common


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
    assert done.out == f"{admin.url}  {status['digest'][:12]}  {status['loadedAt']}  OK\n\n1 of 1 as expected\n"


def test_a_service_with_other_files_differs(command, fleet):
    """What must be in force is named by the first digits of its digest; status 1."""
    (first, second), (rules, _) = fleet
    rules.write_text(RULES.format("newer"))
    first.reload()
    expected = second.status()["digest"][:12]
    done = command("fleet", first.url, second.url, "--expect", expected)
    assert done.status == 1
    assert [line.rsplit("  ", 1)[1] for line in done.out.splitlines()[:2]] == [f"differs from {expected}", "OK"]
    assert done.out.endswith("\n1 of 2 as expected\n")


def test_a_checkout_names_what_must_be_in_force(command, fleet, tmp_path):
    """The same files have the same digest wherever they stand, and its secrets need not be there."""
    (first, _), (rules, _) = fleet
    shutil.copytree(rules.parents[1], tmp_path / "checkout")
    assert command("fleet", first.url, "--expect", "checkout/proxy.yaml").status == 0
    (tmp_path / "checkout" / "rules" / "site.rules").write_text(RULES.format("next"))
    assert command("fleet", first.url, "--expect", "checkout/proxy.yaml").status == 1


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("nonsense: 1\n", 1, "unknown option `nonsense`"),
        (b"\xff", 2, "invalid UTF-8"),
    ],
)
def test_a_checkout_that_cannot_be_used_names_nothing(command, tmp_path, text, status, message):
    """Its mistakes are shown, and nothing is asked."""
    (tmp_path / "proxy.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    done = command("fleet", "127.0.0.1:1", "--expect", "proxy.yaml")
    assert (done.status, done.out) == (status, "")
    assert message in done.err


@pytest.mark.parametrize("text", ["missing.yaml", "52f8a1b", "x" * 12])
def test_what_is_expected_is_a_file_or_a_digest(command, text):
    """Status 2."""
    done = command("fleet", "127.0.0.1:1", "--expect", text)
    message = f"tornado-proxy fleet: `{text}` is neither a file nor 8 digits or more of a digest\n"
    assert (done.status, done.err) == (2, message)


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


def test_a_restart_with_old_files_is_not_taken_for_the_newest():
    """Without `--expect`, what most services have in force is expected."""
    members = [
        Member("a", digest="2", loaded_at="2026-05-02"),
        Member("b", digest="2", loaded_at="2026-05-02"),
        Member("restarted", digest="1", loaded_at="2026-05-03"),
    ]
    assert most_common(members) == "2"


def test_of_equally_common_files_the_last_loaded_are_expected():
    """And services that do not answer do not count."""
    members = [
        Member("a", digest="1", loaded_at="2026-05-02"),
        Member("b", digest="2", loaded_at="2026-05-03"),
        Member("c"),
        Member("d"),
    ]
    assert most_common(members) == "2"


def test_a_service_that_is_not_ready_is_not_said_to_differ():
    """One trouble is enough."""
    good = Member("a", digest="2", loaded_at="2026-05-02")
    waiting = Member("b", digest="1", loaded_at="2026-05-01", trouble="not ready")
    assert compared([good, waiting], "2") == [good, waiting]
