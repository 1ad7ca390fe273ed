import pytest
from linting import block, findings, fixed, marked_texts, report

from tornado_proxy.rules.diagnostic import Safety

FAILING_TEST = "failing-test"
UNTESTED_REWRITE = "untested-rewrite"


RULES = "rewrite moved `^/a$` -> `/b`\nrewrite `^/dots$` -> `/..`\n"


def test_a_failing_test_is_reported():
    """With its fix, which is only displayed."""
    (finding,) = findings(FAILING_TEST, f'{RULES}test "/a" -> "/c"')
    assert (finding.message, finding.span.text) == ("`/a` becomes `/b`, not `/c`", '"/c"')
    assert [(fix.edits[0].text, fix.safety) for fix in finding.fixes] == [('"/b"', Safety.DISPLAY)]


def test_a_passing_test_has_no_finding():
    assert marked_texts(FAILING_TEST, f'{RULES}test "/a" -> "/b"\ntest "/x" -> unchanged\ntest "/dots" -> error') == []


def test_tests_are_not_run_beside_a_mistake():
    """A test may fail only because a rewrite with a mistake is missing."""
    result = report(site='target site {\nrewrite `^/(` -> `/b`\ntest "/a" -> "/b"\n}')
    assert [diagnostic.code for diagnostic in result.diagnostics] == ["bad-source"]


def test_an_untested_rewrite_is_reported():
    """The help has a test that expects the present result."""
    (finding,) = findings(UNTESTED_REWRITE, 'rewrite `^/a/(.*)$` -> `/b/$1`\nrewrite `^/c$` -> `/d`\ntest "/c" -> "/d"')
    assert (finding.span.text, finding.message) == ("`^/a/(.*)$`", "no test reaches this rewrite")
    assert finding.help == 'add a test of a real key, such as `test "/a/" -> "/b/"`'


def test_a_target_without_tests_has_one_finding():
    """The finding is at the name of the target."""
    (finding,) = findings(UNTESTED_REWRITE, "rewrite `^/a$` -> `/b`\nrewrite `^/c$` -> `/d`")
    assert (finding.span.text, finding.message) == ("site", "the target `site` has no test")


def test_a_target_without_rewrites_needs_no_test():
    assert marked_texts(UNTESTED_REWRITE, "") == []


@pytest.mark.parametrize("second", ["rewrite `^/a$` -> `/c`", "rewrite `^a` -> `/c`"])
def test_an_unreachable_rewrite_needs_no_test(second):
    """No test can reach an unreachable rewrite."""
    assert marked_texts(UNTESTED_REWRITE, f'rewrite `^/a$` -> `/b`\n{second}\ntest "/a" -> "/b"') == []


def test_a_template_that_reads_the_user_has_no_example():
    """The help has no example, because the result depends on the user."""
    (finding,) = findings(UNTESTED_REWRITE, "rewrite `^/a$` -> jinja `/{{ user.username }}`")
    assert finding.help == "add a `test` of a key that it takes"


def test_untested_rewrites_beside_a_mistake_have_no_finding():
    """A test with a mistake might have reached the rewrite."""
    result = report(site='target site {\nrewrite `^/a$` -> `/b`\ntest "a" -> "/b"\n}')
    assert [diagnostic.code for diagnostic in result.diagnostics] == ["bad-test"]


def test_a_long_key_is_not_suggested():
    """The help has no example if the key has hundreds of characters."""
    (finding,) = findings(UNTESTED_REWRITE, "rewrite `^/a{900}$` -> `/b`")
    assert finding.help == "add a `test` of a key that it takes"


ALLOWED = "rewrite `^/a$` -> `/b`  # allow: untested-rewrite (tried by hand)"


def test_a_target_whose_rewrites_all_allow_it_needs_no_test():
    """Neither the target nor the allowances have a finding, and no fix removes them."""
    assert report(site=block(ALLOWED)).diagnostics == ()
    assert fixed("unused-allowance", ALLOWED) == ALLOWED


def test_a_target_whose_rewrites_partly_allow_it_is_reported():
    """The finding is about the other rewrites, and the allowance counts as used."""
    (finding,) = report(site=block(f"{ALLOWED}\nrewrite `^/c$` -> `/d`")).diagnostics
    assert (finding.span.text, finding.help) == ("site", 'add a test of a real key, such as `test "/c" -> "/d"`')
