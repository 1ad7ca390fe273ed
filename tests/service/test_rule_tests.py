"""Rule tests of an edit: run for what changed, in time, and reported as the linter reports them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from files import CONFIGURATION, Files

from tornado_proxy.config.server import Reload
from tornado_proxy.lang.diagnostic import Severity
from tornado_proxy.service.reload import run_rule_tests, tolerated
from tornado_proxy.service.snapshot import compile_snapshot

PASSES = 'rewrite `^/a$` -> "/b"\ntest "/a" -> "/b"'
FAILS = 'rewrite `^/a$` -> "/b"\ntest "/a" -> "/c"'


@pytest.fixture
def files(tmp_path):
    """A service's files."""
    return Files.create(tmp_path, site=FAILS)


def _with(loaded, **options):
    settings = replace(loaded.settings, reload=Reload(**options))
    return replace(loaded, snapshot=loaded.snapshot.with_settings(settings))


def test_a_failing_test_is_reported_with_its_place(files):
    """By default as a warning, in the linter's words."""
    (found,) = run_rule_tests(files.load(), None).diagnostics
    assert (found.code, found.severity, found.span.first.line) == ("failing-test", Severity.WARNING, 3)
    assert found.message == "`/a` becomes `/b`, not `/c`"


def test_tests_that_pass_say_nothing(files):
    """The set is as it was."""
    files.write(PASSES)
    loaded = files.load()
    assert run_rule_tests(loaded, None) is loaded


@pytest.mark.parametrize(("choice", "usable"), [("refuse", False), ("warn", True), ("off", True)])
def test_the_configuration_decides_what_a_failure_does(files, choice, usable):
    """Only `refuse` makes the set unusable, and `off` runs nothing."""
    found = run_rule_tests(_with(files.load(), tests=choice), None)
    assert found.usable is usable
    assert bool(found.diagnostics) is (choice != "off")


def test_a_set_with_a_mistake_is_not_tested(files):
    """Its mistake has to be fixed first."""
    files.write(f"{FAILS}\nrewrite `^/(` -> `/x`")
    loaded = files.load()
    assert run_rule_tests(loaded, None) is loaded
    files.configure("nonsense: 1\n")
    assert run_rule_tests(files.load(), None).settings is None


def test_only_changed_targets_are_tested(files):
    """A target whose tests failed before is not reported again for the edit of another one."""
    files.configure(CONFIGURATION + "  other: {mount: {path: [/o]}, bucket: {name: other-bucket}}\n")
    first = files.load()
    files.path("other").write_text('target other { rewrite `^/x$` -> "/y" test "/x" -> "/z" }')
    second = compile_snapshot(files.read(), first)
    (found,) = run_rule_tests(second, first).diagnostics
    assert found.message == "`/x` becomes `/y`, not `/z`"


def test_a_target_of_another_bucket_is_tested_anew(files):
    """Templates read the configuration: an edit of that may break a test too."""
    files.write('rewrite `^/a$` -> jinja "/{{ target.bucket.name }}"\ntest "/a" -> "/some-bucket"')
    first = files.load()
    assert run_rule_tests(first, None).diagnostics == ()
    files.configure(CONFIGURATION.replace("some-bucket", "another"))
    second = compile_snapshot(files.read(), first)
    assert [each.code for each in run_rule_tests(second, first).diagnostics] == ["failing-test"]


def test_many_failures_are_counted(files):
    """Twenty are shown, the others are counted."""
    files.write('rewrite `^/a$` -> "/b"\n' + 'test "/a" -> "/c"\n' * 25)
    diagnostics = run_rule_tests(files.load(), None).diagnostics
    assert len(diagnostics) == 21
    assert diagnostics[-1].message == "5 more rule tests fail"


def test_tests_that_take_too_long_fail(files):
    """The time of tests is limited, and tests that did not run count as failed."""
    files.write('rewrite `^/a$` -> "/b"\n' + 'test "/a" -> "/b"\n' * 3)
    (found,) = run_rule_tests(_with(files.load(), tests="refuse", test_timeout=-1.0), None).diagnostics
    assert found.message == "0 of 3 rule tests of target `site` ran within -1 s"
    assert found.severity is Severity.ERROR


def test_failing_tests_can_be_tolerated(files):
    """A service may start in spite of failing tests, but not in spite of other mistakes."""
    refused = run_rule_tests(_with(files.load(), tests="refuse"), None)
    assert tolerated(refused).usable
    files.write("rewrite `^/(` -> `/x`")
    assert not tolerated(files.load()).usable
