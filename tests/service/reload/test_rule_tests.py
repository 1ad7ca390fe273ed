"""Rule tests of an edit run for changed targets within a time limit."""

from __future__ import annotations

import pytest
from files import CONFIGURATION, Files
from msgspec.structs import replace

from tornado_proxy.config.server import Reload
from tornado_proxy.rules.diagnostic import Severity
from tornado_proxy.service.reload.rule_tests import run_rule_tests
from tornado_proxy.service.reload.snapshot import compile_snapshot

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
    """By default, a failing test is a warning with the linter's message."""
    (diagnostic,) = run_rule_tests(files.load(), None).diagnostics
    assert (diagnostic.code, diagnostic.severity, diagnostic.span.first.line) == ("failing-test", Severity.WARNING, 3)
    assert diagnostic.message == "`/a` becomes `/b`, not `/c`"


def test_passing_tests_report_nothing(files):
    """If all tests pass, the compiled snapshot is returned unchanged."""
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
    """Tests do not run if rules or configuration have a mistake."""
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
    """Twenty failures are reported, and the others are counted."""
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
