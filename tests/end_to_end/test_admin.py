"""The admin listener of a running service: health, status, reload, metrics and the status page."""

import json
import os
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from administering import RULES, service
from certificates import pair

from tornado_proxy.config.model import Settings
from tornado_proxy.config.server import Server, Ssl
from tornado_proxy.service.certificates import certificate_views


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of the service's files."""
    return tmp_path_factory.mktemp("admin")


@pytest.fixture(scope="module")
def running(folder):
    """A running service and its admin listener."""
    with service(folder) as (proxy, admin):
        yield proxy, admin


@pytest.fixture
def admin(running, folder):
    """The admin listener, after good files were loaded."""
    (folder / "rules" / "site.rules").write_text(RULES.format("good"))
    running[1].reload()
    return running[1]


def test_the_status_describes_the_generation_in_force(admin, folder):
    status = admin.status()
    assert status["ready"]
    assert status["files"] == [str(folder / "proxy.yaml"), str(folder / "rules" / "site.rules")]
    assert status["targets"]["site"]["rewrites"] == 1
    assert (status["lastFailedAttempt"], status["startedFromLastGood"]) == (None, False)
    assert [worker["generation"] for worker in status["workers"]] == [status["generation"]]


def test_a_reload_is_answered_with_its_report(admin, folder):
    (folder / "rules" / "site.rules").write_text(RULES.format("better"))
    code, report = admin.reload()
    if report["outcome"] == "unchanged":  # the watcher was faster
        report = admin.status()["lastAttempt"]
    assert (code, report["outcome"]) == (200, "loaded")
    assert report["changes"] == ["target `site`: rewrites changed: `#1` (rules/site.rules:1)"]


def test_a_bad_edit_is_answered_with_its_diagnostics(admin, folder):
    generation = admin.status()["generation"]
    (folder / "rules" / "site.rules").write_text("target site { rewrite `^/(` }")
    code, report = admin.reload()
    (first, *_) = report["diagnostics"]
    assert (code, report["outcome"], report["generation"]) == (422, "refused", generation)
    assert (first["file"], first["line"]) == (str(folder / "rules" / "site.rules"), 1)
    assert admin.metric("tornado_proxy_config_last_reload_successful") == 0
    assert admin.status()["lastFailedAttempt"]["digest"] == report["digest"]


@pytest.mark.parametrize("name", ["proxy.yaml", "rules/site.rules"])
def test_a_named_pipe_instead_of_a_file_is_refused(admin, folder, name):
    """A named pipe is refused without a wait for a writer, and the file loads once it is back."""
    good = (folder / name).read_bytes()
    (folder / name).unlink()
    os.mkfifo(folder / name)
    code, report = admin.reload()
    assert (code, report["diagnostics"][0]["code"]) == (422, "unreadable-file")
    (folder / name).unlink()
    (folder / name).write_bytes(good)
    assert admin.reload()[0] == 200


def test_an_edit_is_probed_at_once(admin, folder):
    """An edit of a target may name another bucket, so all are probed before the interval ends."""
    before = admin.wait_for_status(lambda status: status["targets"]["site"]["probe"])["targets"]["site"]["probe"]["at"]
    text = (folder / "proxy.yaml").read_text()
    (folder / "proxy.yaml").write_text(text.replace("some-bucket", "other-bucket"))
    assert admin.reload()[0] == 200
    admin.wait_for_status(lambda status: (status["targets"]["site"]["probe"] or {}).get("at", before) != before)


def _shape(value):
    """Returns the names in a JSON value without their values; the first item stands for a whole array."""
    if isinstance(value, dict):
        return {name: _shape(member) for name, member in value.items()}
    return [_shape(item) for item in value[:1]] if isinstance(value, list) else None


def test_the_status_has_the_documented_shape(admin, folder):
    """docs/operations.md shows every name of the status and no other, and the diagnostic of its mistake."""
    (folder / "rules" / "site.rules").write_text("target site {\n    rewrite `^/(` -> `/`\n}\n")
    admin.reload()
    admin.wait_for_status(lambda status: status["targets"]["site"]["probe"])
    text = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"`/-/status`:\n\n```json\n(.*?)```", text, re.DOTALL)
    status, documented = admin.status(), json.loads(example)
    served_by_tls = Settings(server=Server(ssl=Ssl(certificates=(pair("files.example.org").certificate,))))
    status["certificates"] += certificate_views(served_by_tls, 0.0)
    assert status.pop("lastFailedAttempt") == status["lastAttempt"]
    assert "`lastFailedAttempt`" in text
    assert _shape(status) == _shape(documented)
    (diagnostic,), (expected,) = (document["lastAttempt"]["diagnostics"] for document in (status, documented))
    assert diagnostic == {**expected, "file": str(folder / "rules" / "site.rules")}


def test_the_status_page_shows_edits_requests_and_rewrites(admin, running, folder):
    """The status page shows the line that a refused edit fails at, the rewrites, and why a request was refused."""
    proxy, good = running[0], (folder / "rules" / "site.rules").read_text()
    proxy.request("GET", "/a")
    proxy.request("POST", "/a?token=s3cret")
    (folder / "rules" / "site.rules").write_text("target site { rewrite `^/(` -> `/` }")
    admin.reload()
    code, page = admin.request("GET", "/-/")
    (folder / "rules" / "site.rules").write_text(good)
    admin.reload()
    assert code == 200
    assert "Serving, edit refused" in page
    assert "1 | target site { rewrite `^/(` -&gt; `/` }" in page
    assert "<code>rewrite ^/(?P&lt;name&gt;[a-z]+)$</code>" in page
    assert "the method <code>POST</code> is not enabled" in page
    assert "s3cret" not in page
    assert "Reverted" in admin.request("GET", "/-/")[1]


def test_the_status_page_explains_a_path_as_the_command_does(admin):
    _, page = admin.request("GET", "/-/?method=GET&path=/spring")
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    assert "Every step target site, mounted at /" in text
    assert "✓ #1 ^/(?P&lt;name&gt;[a-z]+)$ matched" in text
    assert "object key good/spring.txt" in text
    assert "answer now 200 OK, " in text


@pytest.mark.parametrize("path", ["/%", "/..", "/" + "a" * 2047, "no-slash", "/%00", "/\N{SNOWMAN}"])
def test_the_status_page_explains_any_input(admin, path):
    code, page = admin.request("GET", f"/-/?method=BREW&host=%22&file=/&path={quote(path)}")
    assert code == 200
    assert "<dt>plan</dt>" in page
