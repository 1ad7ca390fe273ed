"""Reloads: no edit breaks the generation in force."""

import asyncio
import threading
from dataclasses import dataclass, field

import pytest
from files import CONFIGURATION, ENVIRONMENT, Files
from in_force import RecordingServing
from msgspec.structs import replace

from tornado_proxy.config.secrets import Reference, Secret
from tornado_proxy.rules.diagnostic import Diagnostic, Severity
from tornado_proxy.rules.loading import Read
from tornado_proxy.service import reloading
from tornado_proxy.service.reloading import EditState, Refusal, Reloader, Step
from tornado_proxy.service.snapshot import Configuration, Snapshot, SnapshotReader
from tornado_proxy.telemetry.events import Event, ReloadOutcome, ReloadReport

GOOD = 'rewrite a `^/a$` -> "/b"'
BETTER = 'rewrite a `^/a$` -> "/c"\nrewrite `^/x$` -> "/y"'
BAD = 'rewrite `^/(` -> "/b"'


@dataclass
class ReloadScene:
    """Files, a reloader for them, and the outcomes and events of its reloads."""

    files: Files
    events: list[Event] = field(default_factory=list)
    outcomes: list[ReloadOutcome] = field(default_factory=list)
    defect: str = ""
    is_unsettled: bool = False

    def __post_init__(self) -> None:
        self.serving = RecordingServing(self.files.load())
        self.reader = SnapshotReader(self.files.configuration, ENVIRONMENT, lambda _: None)
        self.reloader = Reloader(self.serving, self.read, self.events.append, renew=self.reader.renewed)

    def read(self) -> Snapshot:
        """Read the files, or raise the defect."""
        if self.defect:
            raise RuntimeError(self.defect)
        return replace(self.files.read(), settled=not self.is_unsettled)

    def reload(self) -> ReloadOutcome:
        """Reload and record the outcome."""
        self.outcomes.append(asyncio.run(self.reloader.reload()).outcome)
        return self.outcomes[-1]

    def rotate(self) -> ReloadOutcome:
        """Change the secret and reload."""
        (self.files.folder / "secret").write_text("rotated\n")
        return self.reload()

    def edit(self, *texts: str) -> list[ReloadOutcome]:
        """Write each text and reload after it; returns all outcomes."""
        for text in texts:
            self.files.write(text)
            self.reload()
        return self.outcomes


@pytest.fixture
def scene(tmp_path):
    """A reloader whose files are valid, and who asks no bucket."""
    files = Files.create(tmp_path, site=GOOD)
    files.configure(f"{CONFIGURATION}reload: {{probe: off}}\n")
    return ReloadScene(files)


def test_changes_are_reported(scene):
    scene.edit(BETTER)
    (event,) = scene.events
    assert event.outcome is ReloadOutcome.LOADED
    assert event.changes == (
        "target `site`: rewrites added: `#2` (rules/site.rules:3)",
        "target `site`: rewrites changed: `a` (rules/site.rules:2)",
    )


def test_an_invalid_edit_is_reported_once(scene):
    assert scene.edit(BAD, BAD) == [ReloadOutcome.REFUSED, ReloadOutcome.REFUSED]
    assert scene.serving.activated == []
    (event,) = scene.events
    assert event.outcome is ReloadOutcome.REFUSED
    assert event.diagnostics[0].span.place.endswith("site.rules:2:12")


def test_a_new_generation_and_the_end_of_a_failure_are_seen_together(scene):
    """At no time does the status show the new generation beside the failure that it ended."""
    scene.edit(BAD)
    scene.files.write(BETTER)

    async def states():
        reloading = asyncio.ensure_future(scene.reloader.reload())
        while not reloading.done():
            await asyncio.sleep(0)
            yield scene.serving.generation.number, scene.reloader.edit.failure is not None, len(scene.events)

    async def seen():
        return {state async for state in states()}

    assert asyncio.run(seen()) == {(1, True, 1), (2, False, 2)}


FAILING_TEST = 'rewrite a `^/a$` -> "/b"\ntest "/a" -> "/c"'


def test_a_failing_rule_test_is_not_forgotten(scene):
    """After another edit the test still fails, and is in force; a mended one is gone."""
    scene.edit(FAILING_TEST)
    scene.files.configure(CONFIGURATION.replace("rules: [rules]", "rules: [rules]\nreload: {tests: refuse}"))
    assert scene.reload() is ReloadOutcome.LOADED
    (failing,) = scene.serving.configuration.failing_tests
    assert failing.severity is Severity.WARNING
    scene.edit(FAILING_TEST.replace("/c", "/b"))
    assert scene.serving.configuration.failing_tests == ()


def test_a_reload_without_changes_repeats_warnings(scene):
    """Its report has the warnings, the sections that need a restart and the time of the last activation."""
    scene.files.configure(CONFIGURATION.replace("server: {port: 0}", "server: {port: 81}", 1))
    scene.edit(FAILING_TEST)
    report = asyncio.run(scene.reloader.reload())
    assert report.outcome is ReloadOutcome.UNCHANGED
    assert [diagnostic.code for diagnostic in report.diagnostics] == ["failing-test"]
    assert (report.kept_back, report.since) == (("server",), scene.serving.generation.since)


def test_a_refused_edit_reports_only_its_own_mistakes(scene):
    """Warnings of the configuration in force are not repeated."""
    scene.files.configure(f"{CONFIGURATION}    actions: {{PUT: {{enabled: true}}}}\n")
    scene.reload()
    assert [diagnostic.code for diagnostic in scene.reloader.edit.last.diagnostics] == ["open-writes"]
    scene.edit(BAD)
    assert [diagnostic.code for diagnostic in scene.reloader.edit.failure.diagnostics] == ["bad-source"]
    assert scene.events[-1].diagnostics == scene.reloader.edit.failure.diagnostics


def test_a_warning_can_become_an_error(scene):
    """With `tests: refuse`, a rule test that failed before is the reason of the refusal."""
    refusing = CONFIGURATION.replace("rules: [rules]", "rules: [rules]\nreload: {tests: refuse}")
    scene.edit(FAILING_TEST)
    scene.files.configure(refusing)
    scene.edit(FAILING_TEST.replace("/b", "/d"))
    assert [diagnostic.severity.value for diagnostic in scene.reloader.edit.failure.diagnostics] == ["error"]


@pytest.mark.parametrize(
    ("diagnostics", "shown"),
    [
        ((Diagnostic("w", "w", severity=Severity.WARNING), Diagnostic("bad-source", "missing `)`")), ": missing `)`"),
        ((Diagnostic("x", "a note", severity=Severity.INFO),), ": a note"),
        ((), ""),
    ],
)
def test_the_status_line_names_the_refused_mistake(diagnostics, shown):
    """The line has the first error, not a warning before it; a refusal without an error has a line all the same."""
    failure = ReloadReport(ReloadOutcome.REFUSED, 1, diagnostics=diagnostics)
    assert EditState(failure=failure).status_line(1, 1) == f"generation 1, 1 rewrite; an edit was refused{shown}"


def test_a_start_from_the_last_good_copy_is_said_until_the_files_are_in_force(scene):
    """A refused edit does not end it."""
    scene.reloader.edit = EditState(from_last_good=True)
    scene.edit(BAD)
    assert scene.reloader.status_line().startswith("generation 1, 1 rewrite, started from the last good copy; ")
    scene.edit(BETTER)
    assert scene.reloader.status_line() == "generation 2, 2 rewrites"


def test_a_failing_rule_test_can_refuse_the_edit(scene):
    """With `tests: refuse`, the generation stays in force until the test passes."""
    scene.files.configure(f"{CONFIGURATION}reload: {{tests: refuse}}\n")
    assert scene.edit(GOOD, FAILING_TEST, FAILING_TEST.replace("/c", "/b")) == [
        ReloadOutcome.LOADED,
        ReloadOutcome.REFUSED,
        ReloadOutcome.LOADED,
    ]
    assert [diagnostic.code for diagnostic in scene.events[1].diagnostics] == ["failing-test"]


def test_paths_of_a_refused_edit_are_watched(scene):
    scene.files.configure(CONFIGURATION.replace("rules: [rules]", "rules: [elsewhere]"))
    scene.reload()
    watched = {path.name for path in scene.reloader.watched()}
    assert watched == {"proxy.yaml", "rules", "secret", "elsewhere", "site.rules"}


def test_an_unbuildable_generation_is_refused(scene):
    scene.serving.mistake = Diagnostic("unusable-bucket", "target `site`: no such thing")
    assert scene.edit(BETTER) == [ReloadOutcome.REFUSED]
    assert scene.serving.generation.number == 1
    assert scene.reloader.edit.failure.diagnostics == (scene.serving.mistake,)


def test_a_hanging_file_system_is_read_once(scene, monkeypatch):
    """A reload ends without the files, and later reloads do not start a second thread."""
    resumed, readings = threading.Event(), []

    def read():
        readings.append(1)
        resumed.wait(10)
        return scene.files.read()

    async def scenario():
        monkeypatch.setattr(reloading, "READ_WITHIN", 0.1)
        reloader = Reloader(scene.serving, read, scene.events.append)
        outcomes = [(await reloader.reload()).outcome for _ in range(3)]
        resumed.set()
        return outcomes

    assert asyncio.run(scenario()) == [ReloadOutcome.REFUSED] * 3
    assert len(scene.events) == 1
    assert len(readings) == 1


def test_concurrent_reloads_run_in_turn(scene):
    running, concurrency = [], []

    class Slow(RecordingServing):
        """Serving that is slow and records the number of concurrent activations."""

        async def activate(self, number: int, configuration: Configuration) -> None:
            running.append(number)
            concurrency.append(len(running))
            await asyncio.sleep(0.01)
            await super().activate(number, configuration)
            running.remove(number)

    async def scenario():
        serving = Slow(scene.files.load())
        reloader = Reloader(serving, scene.read, scene.events.append)
        scene.files.write(BETTER)
        reports = await asyncio.gather(reloader.reload(), reloader.reload())
        return [report.outcome for report in reports], [number for number, _ in serving.activated]

    assert asyncio.run(scenario()) == ([ReloadOutcome.LOADED, ReloadOutcome.UNCHANGED], [2])
    assert concurrency == [1]


def _secret(scene):
    """The secret of the bucket in force."""
    return scene.serving.configuration.settings.targets[0].bucket.credentials.secret_key.reveal()


@pytest.mark.parametrize("breaks", ["rules", "configuration", "files vanish", "files keep changing", "defect"])
def test_a_rotated_secret_reaches_what_is_in_force_whatever_the_state_of_the_edit(scene, breaks):
    """The edit stays refused, and its rules are not in force; the log, the metrics and the page tell of the renewal."""
    if breaks == "rules":
        scene.files.write(BAD)
    elif breaks == "configuration":
        scene.files.configure("targets: [")
    elif breaks == "files vanish":
        scene.files.path().unlink()
    elif breaks == "files keep changing":
        scene.files.write(BETTER)
        scene.is_unsettled = True
    else:
        scene.defect = "a defect"
    scene.reload()
    refused = scene.rotate()
    assert (_secret(scene), scene.serving.configuration.rewrite_count) == ("rotated", 1)
    assert refused in (ReloadOutcome.REFUSED, ReloadOutcome.FAILED)
    assert [event.outcome for event in scene.events] == [refused, ReloadOutcome.RENEWED]
    assert scene.events[1].changes == ("target `site` changed: bucket.credentials.secretKey",)
    assert (scene.reloader.edit.failure.generation, scene.serving.generation.number) == (2, 2)
    scene.reload()
    assert len(scene.events) == 2


def test_a_secret_that_vanishes_is_told_and_the_old_one_stays(scene):
    """A reason beside those of the edit, until it is back."""
    scene.edit(BAD)
    (scene.files.folder / "secret").unlink()
    scene.reload()
    messages = [each.message for each in scene.reloader.edit.failure.diagnostics]
    assert (len(messages), _secret(scene)) == (2, "s3cret")
    assert messages[1].startswith("what is in force keeps its secrets and certificates: ")
    scene.rotate()
    assert [len(scene.reloader.edit.failure.diagnostics), _secret(scene)] == [1, "rotated"]


def test_a_secret_that_no_bucket_takes_is_told(scene):
    """What is in force stays as it is."""
    scene.edit(BAD)
    scene.serving.mistake = Diagnostic("unusable-bucket", "target `site`: no such thing")
    scene.rotate()
    assert "keeps its secrets and certificates: target `site`" in scene.reloader.edit.failure.diagnostics[-1].message
    assert scene.serving.generation.number == 1


def test_rotated_keys_are_tried_as_an_edit_is(tmp_path):
    """With `probe: refuse`, the old ones stay if the bucket cannot be used with the new ones."""
    files = Files.create(tmp_path, site=GOOD)
    away = CONFIGURATION.replace("region: eu-west-1", "s3Endpoint: 'http://127.0.0.1:1'")
    files.configure(f"{away}reload: {{probe: refuse}}\n")
    scene = ReloadScene(files)
    scene.edit(BAD)
    scene.rotate()
    assert "keeps its secrets and certificates: the bucket" in scene.reloader.edit.failure.diagnostics[-1].message
    assert _secret(scene) == "s3cret"


def test_failing_tests_are_not_forgotten_by_a_renewal(scene):
    """They are in force still."""
    scene.edit(FAILING_TEST, BAD)
    scene.rotate()
    assert len(scene.serving.configuration.failing_tests) == 1


ORIGIN = Reference("env", "KEY")
IN_FORCE = Snapshot(None, (), Read(()), "in force", (), secrets={ORIGIN: Secret("KEY", "old")})
NEW = replace(IN_FORCE, digest="new")
ROTATED = {ORIGIN: Secret("KEY", "rotated")}
AS_IN_FORCE = EditState()


def _edit(*, may_pass=False):
    return EditState(Refusal(NEW, (Diagnostic("x", "wrong"),), may_pass))


@pytest.mark.parametrize(
    ("edit", "reading", "step"),
    [
        (AS_IN_FORCE, IN_FORCE, Step.NOTHING),
        (EditState(from_last_good=True), IN_FORCE, Step.REVERT),
        (AS_IN_FORCE, replace(IN_FORCE, secrets=ROTATED), Step.TRY),
        (AS_IN_FORCE, NEW, Step.TRY),
        (AS_IN_FORCE, replace(NEW, settled=False), Step.WAIT),
        (_edit(), IN_FORCE, Step.REVERT),
        (_edit(), NEW, Step.REPEAT),
        (_edit(), replace(NEW, secrets=ROTATED), Step.TRY),
        (_edit(), replace(NEW, settled=False), Step.WAIT),
        (_edit(), replace(NEW, digest="newer"), Step.TRY),
        (_edit(may_pass=True), NEW, Step.TRY),
        (_edit(may_pass=True), IN_FORCE, Step.REVERT),
    ],
)
def test_a_reading_has_one_step(edit, reading, step):
    """By what became of the edit, and what changed since."""
    assert edit.step(reading, IN_FORCE) is step


def _report(outcome, digest="new"):
    return ReloadReport(ReloadOutcome(outcome), 1, digest)


REFUSED = _edit().after(_report("refused"), Refusal(NEW, ()))
FROM_COPY = EditState(from_last_good=True)


@pytest.mark.parametrize(
    ("edit", "report", "is_told", "fails", "from_copy"),
    [
        (EditState(), _report("unchanged"), True, False, False),
        (EditState(last=_report("loaded")), _report("unchanged"), False, False, False),
        (EditState(), _report("loaded"), True, False, False),
        (FROM_COPY, _report("refused"), True, True, True),
        (FROM_COPY, _report("renewed"), True, False, True),
        (FROM_COPY, _report("reverted"), True, False, False),
        (REFUSED, _report("refused"), False, True, False),
        (REFUSED, _report("refused", "newer"), True, True, False),
        (REFUSED, _report("failed"), True, True, False),
        (REFUSED, _report("renewed"), True, True, False),
        (REFUSED, _report("loaded"), True, False, False),
    ],
)
def test_a_report_leads_to_one_state(edit, report, is_told, fails, from_copy):
    """What is told last, whether the edit fails, and whether the copy is in force."""
    after = edit.after(report, Refusal(NEW, ()) if report.is_failure else None)
    assert (after.last is report, after.failure is not None, after.from_last_good) == (is_told, fails, from_copy)
    assert (after.refusal is not None) is fails
