import pytest
from rule_sites import rule_sets

from tornado_proxy.rules.patterns import compile_pattern
from tornado_proxy.templates.data import TargetData
from tornado_proxy.tools.ruletests import Coverage, TestRun, run_tests

RULES = r"""
target site {
    rewrite `^/a$` -> "/b"
    rewrite `^/c$` -> "/../d"
    rewrite `^/e$` -> "/f"
    rewrite `^/g$` -> jinja "/{{ target.bucket.name }}"

    test "/a" -> "/b"
    test "/c" -> error
    test "/g" -> "/files"
}
target other { test "/x" -> "/y" }
"""


def _run(known=(), chosen=None):
    return run_tests(rule_sets(RULES).values(), dict(known), chosen and compile_pattern(chosen))


def test_every_test_of_every_target_is_run():
    """In their order, with what became of each; without a configuration the bucket has no name."""
    run = _run()
    assert [[each.passed for each in target.outcomes] for target in run.targets] == [[True, True, False], [False]]
    assert (run.total, run.failed) == (4, 2)


def test_a_configuration_tells_what_templates_see():
    """What is known of a target is found by its name."""
    assert _run([("site", TargetData("site", "files"))]).targets[0].failed == 0


@pytest.mark.parametrize(
    ("chosen", "keys"),
    [("^/[ac]$", ["/a", "/c"]), ("^other$", ["/x"]), (r"site\.rules:9:", ["/c"]), ("nothing", [])],
)
def test_tests_are_chosen_by_target_key_or_place(chosen, keys):
    """A pattern is found in any of the three."""
    assert [each.test.key for target in _run(chosen=chosen).targets for each in target.outcomes] == keys


def test_coverage_names_the_rewrites_that_no_test_reaches():
    """A rewrite whose template fails is reached too."""
    run = _run()
    assert [each.number for each in run.targets[0].coverage.missed] == [3]
    assert run.targets[0].coverage.percent == 75


def test_coverage_of_what_was_chosen_is_of_that_alone():
    """Rewrites count whether their tests were run or not."""
    assert _run(chosen="^/a$").coverage.percent == 25


def test_nothing_is_covered_whole():
    """Where there is no rewrite, none is missed."""
    assert Coverage(0).percent == 100
    assert TestRun(()).coverage.percent == 100
