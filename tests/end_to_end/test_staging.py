"""Edits are staged, promoted and discarded while clients send requests: none is lost."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from administering import CONFIGURATION, RULES, Admin, eventually
from endless_s3 import endless_s3
from running import start_proxy
from steady_load import under_load

STAGED = CONFIGURATION + "reload: {{stage: {stage}, promoteIf: {{requests: 1}}{more}}}\n"


@pytest.fixture
def start(tmp_path):
    """Starts a service on the same folder; its edits are staged."""
    with endless_s3() as (endpoint, _):

        def started(*options, stage="1h", more="", word="first"):
            text = STAGED.format(endpoint=endpoint, stage=stage, more=more)
            return start_proxy(tmp_path, text, *options, site=RULES.format(word))

        yield started


def _edit(folder: Path, admin: Admin, word: str) -> int:
    (folder / "rules" / "site.rules").write_text(RULES.format(word))
    return admin.reload()[0]


def _stage(admin: Admin) -> dict:
    return json.loads(admin.request("GET", "/-/staged")[1])


def test_no_request_is_lost_over_stages(start, tmp_path):
    """Neither by a promotion nor by a discarded edit, in two workers; only promoted edits answer."""
    with start("--workers", "2") as proxy, under_load(proxy.address, keep_alive=True) as load:
        admin = Admin.of(proxy)
        for number in range(10):
            assert _edit(tmp_path, admin, f"edit-{number}") == 202
            end = "promote" if number % 2 else "discard"
            assert admin.request("POST", f"/-/{end}")[0] == 200
        load.wait_for_answers()
        stop = admin.status()
    assert load.failures == []
    assert {worker["generation"] for worker in stop["workers"]} == {stop["generation"]}
    assert {body.decode() for body in load.answers} <= {"first/a.txt", *(f"edit-{n}/a.txt" for n in range(1, 10, 2))}


def test_a_replaced_worker_joins_the_stage(start, tmp_path):
    """The counts of the one that ended stay, and the new one goes on."""
    with start("--workers", "2") as proxy:
        admin = Admin.of(proxy)
        assert _edit(tmp_path, admin, "second") == 202
        before = {worker["pid"] for worker in admin.status()["workers"]}
        for pid in before:
            os.kill(pid, signal.SIGTERM)
        admin.wait_for_status(
            lambda status: len(status["workers"]) == 2 and not before & {each["pid"] for each in status["workers"]}
        )
        # On a busy machine not every request is compared.
        eventually(lambda: proxy.request("GET", "/a").body == b"first/a.txt" and _stage(admin)["requests"] >= 5)
        assert admin.request("POST", "/-/promote")[0] == 200
        assert proxy.request("GET", "/a").body == b"second/a.txt"


def test_a_stage_ends_by_itself(start, tmp_path):
    """An edit that met its conditions is in force when its time is over."""
    with start(stage="1s") as proxy:
        admin = Admin.of(proxy)
        _edit(tmp_path, admin, "second")
        proxy.request("GET", "/a")
        admin.wait_for_status(lambda status: status["generation"] == 2)
        assert _stage(admin)["state"] == "promoted"


def test_a_canary_answers_some_clients(start, tmp_path):
    """A client whose address is chosen gets the edit, and keeps it."""
    with start("--workers", "2", stage="1s", more=", canary: 50") as proxy:
        admin = Admin.of(proxy)
        _edit(tmp_path, admin, "second")
        proxy.request("GET", "/a")
        eventually(lambda: _stage(admin)["share"] == 0.5)
        bodies = {proxy.request("GET", "/a").body for _ in range(10)}
        assert len(bodies) == 1
        assert bodies <= {b"first/a.txt", b"second/a.txt"}
        assert admin.request("POST", "/-/discard")[0] == 200
        assert proxy.request("GET", "/a").body == b"first/a.txt"


@pytest.mark.parametrize("command", ["", "discard"])
def test_a_restart_knows_what_was_staged(start, tmp_path, command):
    """It starts with what was in force, and goes on: the edit on disk is staged, or stays discarded."""
    options = ("--last-good", str(tmp_path / "kept"))
    copy = tmp_path / "kept" / "snapshot.json"
    with start(*options) as proxy:
        admin = Admin.of(proxy)
        admin.wait_for_status(lambda _: copy.exists())
        _edit(tmp_path, admin, "second")
        since = _stage(admin)["since"]
        if command:
            admin.request("POST", f"/-/{command}")
        expected = "an operator discarded it" if command else "digest"
        admin.wait_for_status(lambda _: expected in copy.read_text())
    with start(*options, word="second") as proxy:
        admin = Admin.of(proxy)
        eventually(lambda: _stage(admin)["state"] == ("discarded" if command else "staged"))
        assert _stage(admin)["since"] == since
        assert proxy.request("GET", "/a").body == b"first/a.txt"
