"""Tests `tornado-proxy staged`, `promote` and `discard` against a running service."""

from __future__ import annotations

import json

import pytest
from administering import CONFIGURATION, RULES, Admin, eventually
from endless_s3 import endless_s3
from running import start_proxy

STAGED = CONFIGURATION + "reload: {{stage: {stage}, headSamples: 100, promoteIf: {{requests: 3}}}}\n"


@pytest.fixture(scope="module")
def staging(tmp_path_factory):
    """A service with two workers that stages edits for an hour, a function that edits its rules, and its listener."""
    folder = tmp_path_factory.mktemp("staging")
    with endless_s3() as (endpoint, _):
        text = STAGED.format(endpoint=endpoint, stage="1h")
        options = ("--workers", "2", "--last-good", str(folder / "kept"))
        with start_proxy(folder, text, *options, site=RULES.format("first")) as proxy:
            admin = Admin.of(proxy)

            def edit(word: str) -> tuple[int, dict]:
                (folder / "rules" / "site.rules").write_text(RULES.format(word))
                return admin.reload()

            yield proxy, admin, edit


def test_nothing_is_staged_at_first(command, staging):
    """That is no finding; there is nothing to promote or to discard."""
    _, admin, _ = staging
    results = [command(name, "--admin", admin.url) for name in ("staged", "promote", "discard")]
    assert [(each.status, each.out) for each in results] == [
        (0, "nothing is staged\n"),
        (1, "nothing is staged\n"),
        (1, "nothing is staged\n"),
    ]


def test_a_staged_edit_is_compared_then_promoted(command, staging):
    """It has no effect until then, and the workers' counts are added up."""
    proxy, admin, edit = staging
    assert edit("second")[0] == 202
    for _ in range(12):
        assert proxy.request("GET", "/a?token=s3cret").body == b"first/a.txt"
    eventually(lambda: json.loads(admin.request("GET", "/-/staged")[1])["requests"] >= 12)
    shown = command("staged", "--admin", admin.url)
    assert shown.status == 3
    assert "12 requests compared, 0 the same" in shown.out
    assert "  /a\n  - /first/a.txt\n  + /second/a.txt\n" in shown.out
    assert "s3cret" not in shown.out
    assert command("reload", "--admin", admin.url).out.startswith("generation 2 is staged: generation 1 stays in force")
    assert (admin.metric("tornado_proxy_staged_requests"), admin.metric("tornado_proxy_staged_share")) == (12, 0)
    assert "Generation 2 is staged" in admin.request("GET", "/-/")[1]
    promoted = command("promote", "--admin", admin.url)
    assert (promoted.status, promoted.out) == (0, "generation 2 is in force\n")
    assert proxy.request("GET", "/a").body == b"second/a.txt"
    after = command("staged", "--admin", admin.url, "--format", "json", "--wait")
    assert (after.status, json.loads(after.out)["kinds"]["key"]) == (0, 12)


def test_a_discarded_edit_never_answers(command, staging):
    """The files on disk are not in force, which a further reload says too."""
    proxy, admin, edit = staging
    before = proxy.request("GET", "/a").body
    edit("third")
    assert command("discard", "--admin", admin.url).out.endswith(" was discarded\n")
    result = command("staged", "--admin", admin.url)
    assert (result.status, "an operator discarded it" in result.out) == (1, True)
    again = command("reload", "--admin", admin.url)
    assert (again.status, "the staged edit was discarded: an operator discarded it" in again.err) == (1, True)
    assert proxy.request("GET", "/a").body == before


def test_another_listener_is_a_failure(command, staging):
    """The clients' listener has no such page."""
    proxy, _, _ = staging
    for name in ("staged", "promote"):
        assert command(name, "--admin", proxy.url).status == 2
