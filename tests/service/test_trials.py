"""What an edit is tried by: its rule tests, and its buckets."""

import asyncio

import pytest
from files import CONFIGURATION, Files
from hostile_s3 import hostile_s3
from in_force import RecordingServing
from msgspec import structs
from msgspec.structs import replace
from scripted_s3 import error_reply

from tornado_proxy.config.model import Bucket, Target
from tornado_proxy.config.secrets import Credentials, Secret
from tornado_proxy.config.server import Reload
from tornado_proxy.rules.diagnostic import Severity
from tornado_proxy.service.reloading import Reloader
from tornado_proxy.service.snapshot import compile_snapshot
from tornado_proxy.service.trials import find_objects, run_rule_tests
from tornado_proxy.telemetry.events import ReloadOutcome

PASSING_TEST = 'rewrite `^/a$` -> "/b"\ntest "/a" -> "/b"'
FAILING_TEST = 'rewrite `^/a$` -> "/b"\ntest "/a" -> "/c"'


@pytest.fixture
def files(tmp_path):
    """Files with a failing rule test."""
    return Files.create(tmp_path, site=FAILING_TEST)


def _with_reload_options(configuration, **options):
    settings = replace(configuration.settings, reload=Reload(**options))
    return replace(configuration, snapshot=replace(configuration.snapshot, settings=settings))


def test_a_failing_test_is_reported_with_its_place(files):
    (diagnostic,) = run_rule_tests(files.load(), None).diagnostics
    assert (diagnostic.code, diagnostic.severity, diagnostic.span.first.line) == ("failing-test", Severity.WARNING, 3)
    assert diagnostic.message == "`/a` becomes `/b`, not `/c`"


def test_passing_tests_report_nothing(files):
    files.write(PASSING_TEST)
    configuration = files.load()
    assert run_rule_tests(configuration, None) is configuration


@pytest.mark.parametrize(("choice", "usable"), [("refuse", False), ("warn", True), ("off", True)])
def test_the_effect_of_a_failure_is_configured(files, choice, usable):
    """Only `refuse` makes the snapshot unusable, and `off` runs no test."""
    tested = run_rule_tests(_with_reload_options(files.load(), tests=choice), None)
    assert tested.usable is usable
    assert bool(tested.diagnostics) is (choice != "off")


def test_invalid_rules_are_not_tested(files):
    files.write(f"{FAILING_TEST}\nrewrite `^/(` -> `/x`")
    configuration = files.load()
    assert run_rule_tests(configuration, None) is configuration
    files.configure("nonsense: 1\n")
    assert not run_rule_tests(files.load(), None).usable


def test_only_changed_targets_are_tested(files):
    """A failing test is not reported again for an edit of another target."""
    files.configure(CONFIGURATION + "  other: {mount: {path: [/o]}, bucket: {name: other-bucket}}\n")
    first = files.load()
    files.path("other").write_text('target other { rewrite `^/x$` -> "/y" test "/x" -> "/z" }')
    second = compile_snapshot(files.read(), first)
    (diagnostic,) = run_rule_tests(second, first).diagnostics
    assert diagnostic.message == "`/x` becomes `/y`, not `/z`"


def test_a_target_with_changed_options_is_tested(files):
    """An edit of a target's options runs its tests, since templates can read them."""
    files.write('rewrite `^/a$` -> jinja "/{{ target.bucket.name }}"\ntest "/a" -> "/some-bucket"')
    first = files.load()
    assert run_rule_tests(first, None).diagnostics == ()
    files.configure(CONFIGURATION.replace("some-bucket", "another"))
    second = compile_snapshot(files.read(), first)
    assert [diagnostic.code for diagnostic in run_rule_tests(second, first).diagnostics] == ["failing-test"]


def test_many_failures_are_counted(files):
    files.write('rewrite `^/a$` -> "/b"\n' + 'test "/a" -> "/c"\n' * 25)
    diagnostics = run_rule_tests(files.load(), None).diagnostics
    assert len(diagnostics) == 21
    assert diagnostics[-1].message == "5 more rule tests fail"


def test_the_time_of_tests_is_limited(files):
    """Tests that did not run within the limit count as failed."""
    files.write('rewrite `^/a$` -> "/b"\n' + 'test "/a" -> "/b"\n' * 3)
    (diagnostic,) = run_rule_tests(
        _with_reload_options(files.load(), tests="refuse", test_timeout=-1.0), None
    ).diagnostics
    assert diagnostic.message == "0 of 3 rule tests of target `site` ran within -1 s"
    assert diagnostic.severity is Severity.ERROR


def test_failing_tests_can_be_tolerated(files):
    """`tolerating` makes a configuration with failing tests usable, but not one with other mistakes."""
    refused = run_rule_tests(_with_reload_options(files.load(), tests="refuse"), None)
    assert refused.tolerating("failing-test").usable
    files.write("rewrite `^/(` -> `/x`")
    assert not files.load().tolerating("failing-test").usable


_NOWHERE = "http://127.0.0.1:1"


@pytest.fixture
def bucket_files(tmp_path):
    """Files whose bucket is at an endpoint."""
    return Files.create(tmp_path)


def _configure(bucket_files: Files, endpoint: str, choice: str = "warn") -> None:
    text = CONFIGURATION.replace("region: eu-west-1", f'region: eu-west-1, s3Endpoint: "{endpoint}"')
    bucket_files.configure(f"{text}reload: {{probe: {choice}}}\n")


def _edited(bucket_files: Files, endpoint: str, choice: str):
    _configure(bucket_files, "http://127.0.0.1:2", choice)
    reloader = Reloader(RecordingServing(bucket_files.load()), bucket_files.read, [].append)
    _configure(bucket_files, endpoint, choice)
    return reloader, asyncio.run(reloader.reload())


@pytest.mark.parametrize(
    ("choice", "outcome", "severities"),
    [
        ("refuse", ReloadOutcome.REFUSED, [Severity.ERROR]),
        ("warn", ReloadOutcome.LOADED, [Severity.WARNING]),
        ("off", ReloadOutcome.LOADED, []),
    ],
)
def test_an_edit_to_a_bucket_that_cannot_be_used(bucket_files, choice, outcome, severities):
    """It is refused, or a warning, or not looked for; the caret is at the bucket."""
    _, report = _edited(bucket_files, _NOWHERE, choice)
    assert report.outcome is outcome
    assert [each.severity for each in report.diagnostics] == severities
    assert {each.span.text for each in report.diagnostics} <= {"name"}


async def test_a_wrong_key_is_found_before_it_is_in_force(bucket_files):
    """The diagnostic says which half of the pair is wrong."""
    async with hostile_s3(error_reply(403, "SignatureDoesNotMatch")) as s3:
        _, report = await asyncio.to_thread(_edited, bucket_files, s3.url, "refuse")
    (found,) = report.diagnostics
    assert found.code == "bucket-down"
    assert "the secret key does not belong to the access key" in found.message


def test_other_edits_ask_nobody(bucket_files):
    """An edit of a rule does not wait for S3."""
    _configure(bucket_files, _NOWHERE, "refuse")
    reloader = Reloader(RecordingServing(bucket_files.load()), bucket_files.read, [].append)
    bucket_files.write('rewrite `^/a$` -> "/b"')
    assert asyncio.run(reloader.reload()).outcome is ReloadOutcome.LOADED


def test_a_bucket_is_asked_again(bucket_files, monkeypatch):
    """S3 may be back at the next look, although the files are the same."""
    reloader, report = _edited(bucket_files, _NOWHERE, "refuse")
    assert report.outcome is ReloadOutcome.REFUSED
    assert reloader.edit.failure is not None

    async def nothing_wrong(loaded, _before):
        return loaded

    monkeypatch.setattr("tornado_proxy.service.reloading.probed", nothing_wrong)
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
        answers = await find_objects(targets, keys, 5)
    assert [each.code for each in answers] == ["access-denied"] * 20 + ["unreachable"] * 20
    assert len(s3.requests) == 20


async def test_a_bucket_without_credentials_is_not_asked():
    """Only the service has systemd credentials."""
    bucket = Bucket("files", credentials=Credentials(Secret("value", ""), Secret("value", "")))
    (answer,) = await find_objects([Target("site", bucket=bucket)], [("site", "a")], 5)
    assert answer.code == "no-credentials"
