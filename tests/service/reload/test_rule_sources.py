"""Rules in buckets: polled, taken whole, kept while the bucket is away, and put in force by the usual reload."""

from __future__ import annotations

import asyncio
import logging
import math
import threading

import pytest
from files import CONFIGURATION, ENVIRONMENT, Files
from in_force import RecordingServing
from pushed_rules import FIRST, PLACE, SECOND, FakeReleases, release_of

from tornado_proxy.rules.loading import Read, RuleFile
from tornado_proxy.service.reload import reloading
from tornado_proxy.service.reload.last_good import LastGood
from tornado_proxy.service.reload.reloading import Reloader
from tornado_proxy.service.reload.rule_sources import RuleSources
from tornado_proxy.service.reload.snapshot import SnapshotReader, compile_snapshot, read_to_check
from tornado_proxy.storage.errors import Unreachable, UpstreamError
from tornado_proxy.telemetry.events import Bus, ReloadOutcome, RulesPolled
from tornado_proxy.telemetry.log import log_service_events

IN_BUCKET = CONFIGURATION.replace("[rules]", f"[rules, {PLACE}]")


BAD = release_of("rewrite `^/(` -> `/b`")


class Scene:
    """A service's files with rules in a bucket, and what reads, polls and reloads them."""

    def __init__(self, folder, kept: Read | None = None, fake: FakeReleases | None = None) -> None:
        self.files = Files(folder)
        self.bucket = fake or FakeReleases()
        self.sources = RuleSources(kept, self.bucket.connect)
        self.reader = SnapshotReader(self.files.configuration, ENVIRONMENT, lambda _: None, self.sources)
        self.events = []

    def serve(self) -> None:
        """Begin to serve what is read."""
        self.serving = RecordingServing(compile_snapshot(self.reader()))
        self.reloader = Reloader(self.serving, self.reader, self.events.append)
        self.reloader.sources = self.sources

    def reload(self) -> ReloadOutcome:
        """Reload as an operator does."""
        return asyncio.run(self.reloader.reload()).outcome

    @property
    def polled(self) -> list[RulesPolled]:
        """The news of the polls."""
        return [each for each in self.events if isinstance(each, RulesPolled)]

    def key(self) -> str:
        """The key to which the rules in force rewrite `/a`."""
        return self.serving.configuration.rule_sets["site"].rewrite("/a").key


@pytest.fixture
def scene(tmp_path):
    """A service whose bucket has a release."""
    Files.create(tmp_path).configure(IN_BUCKET)
    scene = Scene(tmp_path)
    scene.bucket.push(FIRST)
    scene.serve()
    return scene


def test_a_release_is_read_after_the_directories_before_it(scene):
    """Its files are named by their place in the bucket, and its digest is known."""
    rules = scene.serving.configuration.snapshot.rules
    assert [file.name for file in rules.files] == [str(scene.files.path()), f"{PLACE}site.rules"]
    assert rules.releases == ((PLACE, FIRST.digest),)
    assert scene.key() == "/first"


def test_a_poll_takes_a_push_through_a_reload(scene):
    """A release that is as in force is not fetched again."""
    assert scene.reload() is ReloadOutcome.UNCHANGED
    scene.bucket.push(SECOND)
    assert scene.reload() is ReloadOutcome.LOADED
    assert scene.key() == "/second"
    assert scene.bucket.calls == ["pointer", "release", "pointer", "pointer", "release"]


def test_a_look_polls_only_when_it_is_time(scene):
    """Between two polls an edit of a file asks no bucket."""
    assert 9 < scene.sources.due_in() <= 11
    scene.bucket.push(SECOND)
    assert asyncio.run(scene.reloader.look()).outcome is ReloadOutcome.UNCHANGED
    scene.sources._due = 0.0  # instead of ten seconds
    assert asyncio.run(scene.reloader.look()).outcome is ReloadOutcome.LOADED
    assert scene.sources.due_in() > 8


def test_without_a_bucket_nothing_is_due(tmp_path):
    """A service with directories alone polls nothing."""
    Files.create(tmp_path)
    scene = Scene(tmp_path)
    scene.serve()
    scene.reload()
    assert (scene.sources.due_in(), scene.bucket.calls) == (math.inf, [])


def test_a_bad_release_is_refused_with_its_place(scene):
    """The generation in force stays, and a rollback ends the failure."""
    scene.bucket.push(BAD)
    report = asyncio.run(scene.reloader.reload())
    assert report.outcome is ReloadOutcome.REFUSED
    assert report.diagnostics[0].place == f"{PLACE}site.rules:1:26"
    assert scene.key() == "/first"
    scene.bucket.push(FIRST)
    assert scene.reload() is ReloadOutcome.REVERTED


def test_a_push_is_staged_as_any_edit(tmp_path):
    """A rollback ends the stage, and what was in force stays."""
    Files.create(tmp_path).configure(f"{IN_BUCKET}reload: {{stage: 1h}}\n")
    scene = Scene(tmp_path)
    scene.bucket.push(FIRST)
    scene.serve()
    scene.bucket.push(SECOND)
    assert (scene.reload(), scene.key()) == (ReloadOutcome.STAGED, "/first")
    scene.bucket.push(FIRST)
    assert (scene.reload(), scene.serving.staged) == (ReloadOutcome.REVERTED, None)


@pytest.mark.parametrize(
    "failure",
    [Unreachable("connection refused"), UpstreamError("its digest is another one")],
    ids=["away", "bad digest"],
)
def test_a_poll_that_fails_changes_nothing(scene, failure):
    """It is told once, in status and log, and once when it is over."""
    scene.bucket.failure = failure
    assert [scene.reload() for _ in range(3)] == [ReloadOutcome.UNCHANGED] * 3
    assert scene.polled == [RulesPolled(PLACE, str(failure))]
    assert scene.sources.fetched[PLACE].problem == str(failure)
    scene.bucket.failure = None
    scene.bucket.push(SECOND)
    assert scene.reload() is ReloadOutcome.LOADED
    assert scene.polled[1:] == [RulesPolled(PLACE)]


def test_a_failure_whose_text_alone_differs_is_told_once(scene):
    """An error of S3 has the number of its request."""
    for number in range(3):
        scene.bucket.failure = UpstreamError(f"500 InternalError (request {number})")
        scene.reload()
    assert len(scene.polled) == 1


def test_a_pointer_to_a_release_that_is_missing_is_tried_again(scene):
    """The release in force stays until the other one can be read."""
    scene.bucket.pointer = scene.bucket.pointer.pushed(SECOND.digest, "now", "ann")
    assert scene.reload() is ReloadOutcome.UNCHANGED
    assert scene.polled == [RulesPolled(PLACE, f"no {SECOND.digest}")]
    scene.bucket.releases[SECOND.digest] = SECOND
    assert scene.reload() is ReloadOutcome.LOADED


@pytest.mark.parametrize(
    ("failure", "reason", "advice"),
    [
        (Unreachable("refused"), "refused", "`--last-good` keeps a copy from which"),
        (None, "`s3://rules/site/current.json`: 404 NoSuchKey", "put rules there: `tornado-proxy push rules s3://"),
    ],
    ids=["away", "empty"],
)
def test_a_start_without_the_bucket_and_without_a_copy_is_a_mistake(tmp_path, failure, reason, advice):
    """The diagnostic is at the place in the configuration, and names the way out."""
    Files.create(tmp_path).configure(IN_BUCKET)
    scene = Scene(tmp_path, fake=FakeReleases(failure=failure))
    (diagnostic,) = scene.reader().rules.diagnostics
    assert diagnostic.message == f"the rules cannot be fetched: {reason}"
    assert (diagnostic.code, diagnostic.span.text) == ("unreachable-rules", PLACE)
    assert advice in diagnostic.help
    assert scene.bucket.calls == ["pointer"]


def test_a_start_without_the_bucket_uses_the_last_good_release(scene, tmp_path):
    """It is the same generation; the bucket is polled until it is back."""
    last_good = LastGood(tmp_path / "kept")
    last_good.keep(scene.serving.configuration.snapshot)
    kept = LastGood(tmp_path / "kept").read_rules(scene.files.configuration)
    again = Scene(tmp_path, kept, FakeReleases(failure=Unreachable("refused")))
    again.serve()
    assert again.serving.configuration.snapshot.digest == scene.serving.configuration.snapshot.digest
    assert again.key() == "/first"
    assert again.reload() is ReloadOutcome.UNCHANGED
    assert again.polled == [RulesPolled(PLACE, "refused")]
    again.bucket.failure = None
    again.bucket.push(SECOND)
    assert again.reload() is ReloadOutcome.LOADED


def test_a_copy_that_was_changed_is_not_used(scene, tmp_path):
    """Its digest is not the one that was kept with it; that of another configuration is no copy either."""
    last_good = LastGood(tmp_path / "kept")
    last_good.keep(scene.serving.configuration.snapshot)
    kept = last_good.read_rules(scene.files.configuration)
    changed = Read((RuleFile(f"{PLACE}site.rules", b""),), releases=kept.releases)
    for copy in (
        changed,
        last_good.read_rules(tmp_path / "other.yaml"),
        LastGood(tmp_path / "no").read_rules(tmp_path),
    ):
        sources = Scene(tmp_path, copy, FakeReleases(failure=Unreachable("refused")))
        assert [each.code for each in sources.reader().rules.diagnostics] == ["unreachable-rules"]


def test_other_credentials_make_another_connection(scene):
    """The release stays while the new connection fails."""
    mapping = f"{{s3: {PLACE}, credentials: {{accessKey: {{env: ACCESS}}, secretKey: {{path: secret}}}}}}"
    scene.files.configure(IN_BUCKET.replace(PLACE, mapping))
    scene.bucket.failure = Unreachable("refused")
    assert scene.reload() is ReloadOutcome.LOADED
    assert (len(scene.bucket.connected), scene.bucket.closed, scene.key()) == (2, 1, "/first")
    assert scene.polled == [RulesPolled(PLACE, "refused")]


def test_a_check_without_the_credentials_asks_nobody(tmp_path):
    """Only the service has the systemd credentials."""
    mapping = f"{{s3: {PLACE}, credentials: {{accessKey: {{env: ACCESS}}, secretKey: {{credential: key}}}}}}"
    files = Files.create(tmp_path)
    files.configure(IN_BUCKET.replace(PLACE, mapping))
    snapshot = read_to_check(files.configuration, ENVIRONMENT)
    assert [each.code for each in (*snapshot.diagnostics, *snapshot.rules.diagnostics)] == [
        "unchecked-secret",
        "unchecked-rules",
    ]
    assert compile_snapshot(snapshot).usable


def test_a_bucket_that_hangs_holds_up_no_edit(scene, monkeypatch):
    """A reload waits for a poll for some seconds, and the next one for the same poll."""
    monkeypatch.setattr(reloading, "POLL_WITHIN", 0.01)
    hangs, polls = threading.Event(), []

    def poll() -> None:
        polls.append(None)
        hangs.wait(30)

    scene.sources.poll = poll

    async def edit() -> list[ReloadOutcome]:
        scene.files.write('rewrite `^/b$` -> "/c"')
        try:
            return [(await scene.reloader.reload()).outcome for _ in range(2)]
        finally:
            hangs.set()

    assert asyncio.run(edit()) == [ReloadOutcome.LOADED, ReloadOutcome.UNCHANGED]
    assert (len(polls), scene.polled) == (1, [RulesPolled(PLACE, "S3 does not answer")])


def test_silence_hides_no_other_problem(scene):
    """A bucket that is away is often silent first; the log has one line about it."""
    scene.bucket.failure = Unreachable("refused")
    scene.reload()
    scene.sources.note_silence()
    assert scene.sources.fetched[PLACE].problem == "refused"


def test_polls_are_logged(caplog):
    """A failure is a warning."""
    bus = Bus()
    log_service_events(bus)
    caplog.set_level(logging.INFO, "tornado_proxy.events")
    bus.emit(RulesPolled(PLACE, "refused"))
    bus.emit(RulesPolled(PLACE))
    assert [(each.levelname, each.message) for each in caplog.records] == [
        ("WARNING", f"`{PLACE}`: the rules cannot be fetched, those fetched before stay: refused"),
        ("INFO", f"`{PLACE}`: the rules can be fetched again"),
    ]
