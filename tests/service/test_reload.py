"""Reloads: no edit ever breaks the generation in force."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from files import CONFIGURATION, Files
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from tornado_proxy.config.model import Settings
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.service.administration import Administration
from tornado_proxy.service.generations import Unbuildable
from tornado_proxy.service.reload import Reloader
from tornado_proxy.service.snapshot import CompiledSnapshot, Snapshot, compile_snapshot
from tornado_proxy.telemetry.events import Bus, Event, ReloadOutcome
from tornado_proxy.telemetry.exposition import ServiceMetrics
from tornado_proxy.telemetry.log import log_service_events

GOOD = 'rewrite a `^/a$` -> "/b"'
BETTER = 'rewrite a `^/a$` -> "/c"\nrewrite `^/x$` -> "/y"'
BAD = 'rewrite `^/(` -> "/b"'


@dataclass
class Recorded:
    """Serving that records what is put in force, or cannot build it."""

    activated: list[tuple[int, CompiledSnapshot]] = field(default_factory=list)
    mistake: Diagnostic | None = None

    def workers(self) -> list[dict[str, object]]:
        """No process."""
        return []

    async def activate(self, number: int, loaded: CompiledSnapshot) -> None:
        """Record it."""
        if self.mistake:
            raise Unbuildable((self.mistake,))
        self.activated.append((number, loaded))


@dataclass
class Story:
    """Files, a reloader for them, and its outcomes and events."""

    files: Files
    serving: Recorded = field(default_factory=Recorded)
    events: list[Event] = field(default_factory=list)
    outcomes: list[ReloadOutcome] = field(default_factory=list)
    breaks: str = ""
    unsettled: bool = False

    def __post_init__(self) -> None:
        first = self.files.read()
        self.reloader = Reloader(compile_snapshot(first), self.serving, self.read, self.events.append)

    def read(self) -> Snapshot:
        """Reads the files, or fails if told to."""
        if self.breaks:
            raise RuntimeError(self.breaks)
        return replace(self.files.read(), settled=not self.unsettled)

    def reload(self) -> ReloadOutcome:
        """Reload as after a poke."""
        self.outcomes.append(asyncio.run(self.reloader.reload()).outcome)
        return self.outcomes[-1]

    def edit(self, *texts: str) -> list[ReloadOutcome]:
        """Save one text after the other, and reload after each."""
        for text in texts:
            self.files.write(text)
            self.reload()
        return self.outcomes


@pytest.fixture
def scene(tmp_path):
    """A service that runs on good rules."""
    return Story(Files.create(tmp_path, site=GOOD))


def test_nothing_changed_is_nothing_done(scene):
    """The same files put nothing in force and emit no event."""
    assert scene.reload() is ReloadOutcome.UNCHANGED
    assert (scene.serving.activated, scene.events) == ([], [])


def test_an_edit_is_activated_under_the_next_number(scene):
    """A good edit is generation 2, with its rules."""
    scene.edit(BETTER)
    ((number, loaded),) = scene.serving.activated
    assert number == scene.reloader.in_force.number == 2
    assert loaded.rewrite_count == 2
    assert scene.reloader.last.is_in_force


def test_what_changed_is_reported(scene):
    """The event says what is different."""
    scene.edit(BETTER)
    (event,) = scene.events
    assert event.outcome is ReloadOutcome.LOADED
    assert event.changes == (
        "target `site`: rewrites added: `#2` (rules/site.rules:3)",
        "target `site`: rewrites changed: `a` (rules/site.rules:2)",
    )


def test_a_bad_edit_changes_nothing_and_is_reported_once(scene):
    """The generation stays, and the same mistake is reported once."""
    assert scene.edit(BAD, BAD) == [ReloadOutcome.REFUSED, ReloadOutcome.REFUSED]
    assert scene.serving.activated == []
    (event,) = scene.events
    assert event.outcome is ReloadOutcome.REFUSED
    assert event.diagnostics[0].span.place.endswith("site.rules:2:12")


@pytest.mark.parametrize(
    ("edits", "outcomes"),
    [
        ((BAD, BETTER), [ReloadOutcome.REFUSED, ReloadOutcome.LOADED]),
        ((BAD, BAD, GOOD), [ReloadOutcome.REFUSED, ReloadOutcome.REFUSED, ReloadOutcome.REVERTED]),
        ((BETTER, BAD, GOOD), [ReloadOutcome.LOADED, ReloadOutcome.REFUSED, ReloadOutcome.LOADED]),
        ((BAD, GOOD, BAD), [ReloadOutcome.REFUSED, ReloadOutcome.REVERTED, ReloadOutcome.REFUSED]),
    ],
)
def test_the_next_good_edit_loads(scene, edits, outcomes):
    """After any bad edit, a good one is put in force, and a bad one is reported again."""
    assert scene.edit(*edits) == outcomes


def test_an_edit_taken_back_forgets_the_refusal(scene):
    """The files are those in force again, so there is no failure."""
    scene.edit(BAD, GOOD)
    assert scene.reloader.failure is None


FAILS = 'rewrite a `^/a$` -> "/b"\ntest "/a" -> "/c"'


def test_a_failing_rule_test_is_a_warning_of_the_edit(scene):
    """The edit is in force; its event and its report say which test fails."""
    assert scene.edit(FAILS) == [ReloadOutcome.LOADED]
    (event,) = scene.events
    assert [each.code for each in event.diagnostics] == ["failing-test"]
    assert scene.reloader.last.diagnostics == event.diagnostics


def test_a_reload_that_the_watcher_came_before_repeats_what_is_wrong(scene):
    """A reload that finds the files in force reports their warnings, what waits for a restart, and since when."""
    scene.files.configure(CONFIGURATION.replace("server: {port: 0}", "server: {port: 81}", 1))
    scene.edit(FAILS)
    report = asyncio.run(scene.reloader.reload())
    assert report.outcome is ReloadOutcome.UNCHANGED
    assert [each.code for each in report.diagnostics] == ["failing-test"]
    assert (report.kept_back, report.since) == (("server",), scene.reloader.in_force.since)


def test_a_refused_edit_repeats_no_warning_of_what_is_in_force(scene):
    """Its report has only its own mistakes."""
    scene.files.configure(f"{CONFIGURATION}    actions: {{PUT: {{enabled: true}}}}\n")
    scene.reload()
    assert [each.code for each in scene.reloader.last.diagnostics] == ["open-writes"]
    scene.edit(BAD)
    assert [each.code for each in scene.reloader.failure.diagnostics] == ["bad-source"]
    assert scene.events[-1].diagnostics == scene.reloader.failure.diagnostics


def test_a_warning_that_has_become_a_mistake_is_shown(scene):
    """A rule test that failed before is the reason of the refusal once `refuse` is configured."""
    failing = CONFIGURATION.replace("rules: [rules]", "rules: [rules]\nreload: {tests: refuse}")
    scene.edit(FAILS)
    scene.files.configure(failing)
    scene.edit(FAILS.replace("/b", "/d"))
    assert [each.severity.value for each in scene.reloader.failure.diagnostics] == ["error"]


def test_the_files_of_a_relative_configuration_are_shown_with_their_whole_names(scene, monkeypatch):
    """The reader of the status may be in another directory than the service."""
    monkeypatch.chdir(scene.files.folder)
    relative = Files(Path())
    reloader = Reloader(relative.load(), scene.serving, relative.read, scene.events.append)
    view = asyncio.run(Administration(reloader, scene.serving, {}, lambda: True).status())
    assert view["files"] == [str(scene.files.configuration), str(scene.files.path())]


def test_a_failing_rule_test_refuses_the_edit_where_that_is_configured(scene):
    """The generation stays, until the test passes."""
    scene.files.configure(f"{CONFIGURATION}reload: {{tests: refuse}}\n")
    assert scene.edit(GOOD, FAILS, FAILS.replace("/c", "/b")) == [
        ReloadOutcome.LOADED,
        ReloadOutcome.REFUSED,
        ReloadOutcome.LOADED,
    ]
    assert [each.code for each in scene.events[1].diagnostics] == ["failing-test"]


def test_deleted_files_are_refused_and_restored_ones_are_as_before(scene):
    """All files gone is a mistake; all files back is nothing new."""
    scene.files.path().unlink()
    assert scene.reload() is ReloadOutcome.REFUSED
    assert scene.edit(GOOD)[-1] is ReloadOutcome.REVERTED


def test_a_file_deleted_beside_others_is_an_edit(scene):
    """Its rewrites are gone; those of the other files stay."""
    scene.files.write('rewrite other `^/o$` -> "/p"', "other")
    assert scene.reload() is ReloadOutcome.LOADED
    scene.files.path("other").unlink()
    assert scene.reload() is ReloadOutcome.LOADED
    (_, loaded) = scene.serving.activated[-1]
    assert [rewrite.name for rewrite in loaded.rule_sets["site"].rewrites] == ["a"]


def test_an_unreadable_place_is_refused(scene):
    """A rule file that cannot be read keeps what is in force."""
    scene.files.path("other").symlink_to("nowhere")
    assert scene.reload() is ReloadOutcome.REFUSED
    assert "cannot be read" in scene.reloader.failure.diagnostics[0].message


def test_places_of_a_refused_set_are_watched_too(scene):
    """The mistake may be fixed in the place that the bad configuration names."""
    scene.files.configure(CONFIGURATION.replace("rules: [rules]", "rules: [elsewhere]"))
    scene.reload()
    assert {path.name for path in scene.reloader.watched()} == {"proxy.yaml", "rules", "secret", "elsewhere"}


def test_what_a_reload_cannot_change_is_reported_and_stays(scene):
    """A new port waits for a restart; the rest of the edit is in force."""
    scene.files.configure(CONFIGURATION.replace("server: {port: 0}", "server: {port: 81}", 1))
    scene.edit(BETTER)
    assert scene.reloader.last.kept_back == ("server",)
    assert scene.serving.activated[0][1].settings.server.port == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s3", "s3: {threads: 7}\n"),
        ("log", "log: {level: debug}\n"),
        ("tracing", "tracing: {endpoint: 'http://127.0.0.1:4318/v1/traces'}\n"),
    ],
)
def test_sections_that_need_a_restart_are_reported_and_stay(scene, name, text):
    """The values of the start stay in force, and the report names the section."""
    scene.files.configure(CONFIGURATION + text)
    scene.edit(BETTER)
    assert scene.reloader.last.kept_back == (name,)
    assert getattr(scene.reloader.in_force.settings, name) == getattr(Settings(), name)


def test_another_secret_is_activated(scene):
    """A secret that was changed counts as an edit, though no rule and no setting differs."""
    (scene.files.folder / "secret").write_text("changed")
    assert scene.reload() is ReloadOutcome.LOADED


def test_what_cannot_be_built_is_refused_with_its_reason(scene):
    """Files without a mistake from which boto3 makes no client change nothing."""
    scene.serving.mistake = Diagnostic("unusable-bucket", "target `site`: no such thing")
    assert scene.edit(BETTER) == [ReloadOutcome.REFUSED]
    assert scene.reloader.in_force.number == 1
    assert scene.reloader.failure.diagnostics == (scene.serving.mistake,)


def test_a_defect_changes_nothing_and_is_reported_once(scene):
    """The generation stays in force, and the next reload may succeed."""
    scene.breaks = "a defect"
    assert [scene.reload(), scene.reload()] == [ReloadOutcome.FAILED, ReloadOutcome.FAILED]
    assert [event.outcome for event in scene.events] == [ReloadOutcome.FAILED]
    scene.breaks = ""
    assert scene.edit(BETTER)[-1] is ReloadOutcome.LOADED


@pytest.mark.parametrize("breaks", ["", "a defect"])
def test_what_was_wrong_and_is_taken_back_is_reported(scene, breaks):
    """An event reports once that the files are those in force again."""
    scene.breaks = breaks
    scene.edit(BAD)
    scene.breaks = ""
    scene.edit(GOOD, GOOD)
    assert len(scene.events) == 2
    assert scene.events[-1].outcome is scene.reloader.last.outcome is ReloadOutcome.REVERTED


def test_a_look_that_finds_nothing_does_not_hide_the_last_edit(scene):
    """The last result stays known after readings that find nothing new."""
    scene.edit(BETTER, BETTER)
    assert scene.reloader.last.outcome is ReloadOutcome.LOADED


def test_a_set_that_was_refused_is_reported_again_with_its_diagnostics(scene):
    """Another reload of the same bad files reports the same mistakes."""
    scene.edit(BAD)
    report = asyncio.run(scene.reloader.reload())
    assert report.diagnostics == scene.reloader.failure.diagnostics != ()


def test_files_that_never_settle_are_refused_and_reported_once(scene):
    """The generation stays until two readings agree."""
    scene.files.write(BETTER)
    scene.unsettled = True
    assert [scene.reload(), scene.reload()] == [ReloadOutcome.REFUSED] * 2
    (told,) = scene.events
    assert [each.code for each in told.diagnostics] == ["unsettled"]
    scene.unsettled = False
    assert scene.reload() is ReloadOutcome.LOADED


def test_a_file_system_that_hangs_is_reported_and_not_asked_twice(scene):
    """The reload ends without it, and no second thread waits for it."""
    answers, asked = threading.Event(), []

    def read():
        asked.append(1)
        answers.wait(10)
        return scene.files.read()

    async def story():
        now = scene.reloader.in_force
        reloader = Reloader(now.loaded, scene.serving, read, scene.events.append, 0.01)
        outcomes = [(await reloader.reload()).outcome for _ in range(3)]
        answers.set()
        return outcomes

    assert asyncio.run(story()) == [ReloadOutcome.REFUSED] * 3
    assert len(scene.events) == 1
    assert len(asked) == 1


def test_two_reloads_at_once_take_turns(scene):
    """The second waits for the first: each edit has one number, and the set read last is the one in force."""
    running, most = [], []

    class Slow(Recorded):
        """Serving that takes a while, and records how many attempts run at once."""

        async def activate(self, number: int, loaded: CompiledSnapshot) -> None:
            running.append(number)
            most.append(len(running))
            await asyncio.sleep(0.01)
            await super().activate(number, loaded)
            running.remove(number)

    async def story():
        now, serving = scene.reloader.in_force, Slow()
        reloader = Reloader(now.loaded, serving, scene.read, scene.events.append)
        scene.files.write(BETTER)
        reports = await asyncio.gather(reloader.reload(), reloader.reload())
        return [report.outcome for report in reports], [number for number, _ in serving.activated]

    assert asyncio.run(story()) == ([ReloadOutcome.LOADED, ReloadOutcome.UNCHANGED], [2])
    assert most == [1]


STEPS = st.lists(st.sampled_from(["good", "better", "bad", "worse", "gone", "defect", "unsettled", "look"]), max_size=8)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_status_metrics_and_log_agree(steps, tmp_path_factory, caplog):
    """After any edits, status, metrics and log agree whether the files on disk are in force."""
    scene = Story(Files.create(tmp_path_factory.mktemp("set"), site=GOOD))
    registry = CollectorRegistry()
    bus = Bus()
    metrics = ServiceMetrics("1", "", 0.0)
    metrics.listen(bus)
    registry.register(metrics)
    log_service_events(bus)
    scene.reloader = Reloader(scene.reloader.in_force.loaded, scene.serving, scene.read, bus.emit)
    caplog.set_level(logging.INFO, "tornado_proxy")
    texts = {"good": GOOD, "better": BETTER, "bad": BAD, "worse": BAD + BAD}
    caplog.clear()
    for step in steps:
        scene.breaks, scene.unsettled = ("x" if step == "defect" else ""), step == "unsettled"
        if step == "gone":
            scene.files.path().unlink(missing_ok=True)
        elif step in texts:
            scene.files.write(texts[step])
        report = asyncio.run(scene.reloader.reload())
        administration = Administration(scene.reloader, scene.serving, {}, lambda: True)
        view = asyncio.run(administration.status())
        refused = not report.is_in_force
        assert registry.get_sample_value("tornado_proxy_config_last_reload_successful") == (0 if refused else 1)
        assert registry.get_sample_value("tornado_proxy_generation") == view["generation"]
        assert (view["lastFailedAttempt"] is not None) is refused
        assert ("refused" in administration.status_line()) is refused
        logged = [text for text in caplog.messages if re.search(r"(stays|is) in force", text)]
        assert ("stays in force" in (logged or [""])[-1]) is refused
