"""Buckets that an edit changes are asked before the edit is in force."""

from __future__ import annotations

import asyncio

import pytest
from files import CONFIGURATION, Files
from hostile_s3 import hostile_s3
from in_force import RecordingServing
from msgspec import structs
from scripted_s3 import error_reply

from tornado_proxy.config.model import Bucket, Target
from tornado_proxy.config.secrets import Credentials, Secret
from tornado_proxy.rules.diagnostic import Severity
from tornado_proxy.service.reload.probing import find_objects
from tornado_proxy.service.reload.reloading import Reloader
from tornado_proxy.telemetry.events import ReloadOutcome

_NOWHERE = "http://127.0.0.1:1"


@pytest.fixture
def files(tmp_path):
    """Files whose bucket is at an endpoint."""
    return Files.create(tmp_path)


def _configure(files: Files, endpoint: str, choice: str = "warn") -> None:
    text = CONFIGURATION.replace("region: eu-west-1", f'region: eu-west-1, s3Endpoint: "{endpoint}"')
    files.configure(f"{text}reload: {{probe: {choice}}}\n")


def _edited(files: Files, endpoint: str, choice: str):
    _configure(files, "http://127.0.0.1:2", choice)
    reloader = Reloader(RecordingServing(files.load()), files.read, [].append)
    _configure(files, endpoint, choice)
    return reloader, asyncio.run(reloader.reload())


@pytest.mark.parametrize(
    ("choice", "outcome", "severities"),
    [
        ("refuse", ReloadOutcome.REFUSED, [Severity.ERROR]),
        ("warn", ReloadOutcome.LOADED, [Severity.WARNING]),
        ("off", ReloadOutcome.LOADED, []),
    ],
)
def test_an_edit_to_a_bucket_that_cannot_be_used(files, choice, outcome, severities):
    """It is refused, or a warning, or not looked for; the caret is at the bucket."""
    _, report = _edited(files, _NOWHERE, choice)
    assert report.outcome is outcome
    assert [each.severity for each in report.diagnostics] == severities
    assert {each.span.text for each in report.diagnostics} <= {"name"}


async def test_a_wrong_key_is_found_before_it_is_in_force(files):
    """The diagnostic says which half of the pair is wrong."""
    async with hostile_s3(error_reply(403, "SignatureDoesNotMatch")) as s3:
        _, report = await asyncio.to_thread(_edited, files, s3.url, "refuse")
    (found,) = report.diagnostics
    assert found.code == "bucket-down"
    assert "the secret key does not belong to the access key" in found.message


def test_other_edits_ask_nobody(files):
    """An edit of a rule does not wait for S3."""
    _configure(files, _NOWHERE, "refuse")
    reloader = Reloader(RecordingServing(files.load()), files.read, [].append)
    files.write('rewrite `^/a$` -> "/b"')
    assert asyncio.run(reloader.reload()).outcome is ReloadOutcome.LOADED


def test_a_bucket_is_asked_again(files, monkeypatch):
    """S3 may be back at the next look, although the files are the same."""
    reloader, report = _edited(files, _NOWHERE, "refuse")
    assert report.outcome is ReloadOutcome.REFUSED
    assert reloader.failure is not None

    async def nothing_wrong(loaded, _before):
        return loaded

    monkeypatch.setattr("tornado_proxy.service.reload.reloading.probed", nothing_wrong)
    assert asyncio.run(reloader.reload()).outcome is ReloadOutcome.LOADED


async def test_a_bucket_that_cannot_be_used_is_not_asked_again():
    """One that refuses is: it may refuse a key alone."""
    async with hostile_s3(error_reply(403, "AccessDenied")) as s3:
        pair = Credentials(Secret("value", "x"), Secret("value", "y"))
        bucket = Bucket("files", s3_endpoint=s3.url, force_path_style=True, credentials=pair)
        targets = [
            Target("closed", bucket=bucket),
            Target("away", bucket=structs.replace(bucket, s3_endpoint=_NOWHERE)),
        ]
        keys = [(target.name, f"{number}") for target in targets for number in range(20)]
        parts = []
        answers = await find_objects(targets, keys, 5, parts.append)
    assert [each.code for each in answers] == ["access-denied"] * 20 + ["unreachable"] * 20
    assert len(s3.requests) == 20
    assert parts[-1] == 1


async def test_a_bucket_without_credentials_is_not_asked():
    """Only the service has systemd credentials."""
    bucket = Bucket("files", credentials=Credentials(Secret("value", ""), Secret("value", "")))
    (answer,) = await find_objects([Target("site", bucket=bucket)], [("site", "a")], 5, [].append)
    assert answer.code == "no-credentials"
