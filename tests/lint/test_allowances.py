import pytest
from linting import block, report
from rule_texts import document

from tornado_proxy.lint.check import Allowances, without
from tornado_proxy.lint.engine import apart, applicable, edited
from tornado_proxy.rules.diagnostic import Safety

DOT = "rewrite `^/a.html$` -> `/b`"
TEST = 'test "/a.html" -> "/b"'


def _codes(text):
    return [diagnostic.code for diagnostic in report(site=text).diagnostics]


@pytest.mark.parametrize(
    "text",
    [
        block(f"# allow: unescaped-dot\n{DOT}\n{TEST}"),
        block(f"# allow: unescaped-dot (old links)\n# and more\n{DOT}\n{TEST}"),
        block(f"{DOT}  # allow: unescaped-dot (old links)\n{TEST}"),
        block(f"# allow: unescaped-dot - old links (all of them)\n{DOT}\n{TEST}"),
        block(f"# allow: unescaped-dot -- old-links\n{DOT}\n{TEST}"),
        block(f"# allow: unescaped-dot — old links, and more\n{DOT}\n{TEST}"),
        block(f"# allow: unescaped-dot -\n{DOT}\n{TEST}"),
        block(f"#allow:unescaped-dot\n{DOT}\n{TEST}"),
        f"# allow: unescaped-dot\n{block(f'{DOT}{chr(10)}{TEST}')}",
        f"target site {{ # allow: unescaped-dot\n{DOT}\n{TEST}\n}}",
        f"target site {{\n{DOT}\n{TEST}\n}} # allow: unescaped-dot",
        f"{block(f'{DOT}{chr(10)}{TEST}')}# allow-file: unescaped-dot",
        block(f"{DOT}\n# allow-file: unescaped-dot (generated)\n{TEST}"),
    ],
)
def test_an_allowance_silences_its_check(text):
    """An allowance applies to the statement or block below it, or at its end, or to the file."""
    assert _codes(text) == []


@pytest.mark.parametrize(
    "text",
    [
        block(f"# allow: unanchored-source\n{DOT}\n{TEST}"),
        block(f"{DOT}\n# allow: unescaped-dot\n{TEST}"),
        block(f"# (allow: unescaped-dot)\n{DOT}\n{TEST}"),
        block(f"# allow unescaped-dot\n{DOT}\n{TEST}"),
    ],
)
def test_an_allowance_elsewhere_silences_nothing(text):
    """Another check, another statement and another form of comment don't silence a finding."""
    assert "unescaped-dot" in _codes(text)


def test_a_comment_may_allow_several_checks():
    """The names are separated by commas, and the reason is in parentheses."""
    text = block(f"# allow: unescaped-dot, unanchored-source (a, b)\nrewrite `/a.html$` -> `/b`\n{TEST}")
    assert _codes(text) == []


def test_two_allowances_for_one_finding_are_both_used():
    """An allowance is used if it would silence the finding alone."""
    text = f"# allow-file: unescaped-dot\n{block(f'{DOT} # allow: unescaped-dot{chr(10)}{TEST}')}"
    assert _codes(text) == []


def test_mistakes_cannot_be_allowed():
    """Syntax errors and compile errors are reported despite allowances."""
    text = "# allow-file: bad-source\ntarget site {\nrewrite `(` -> `/b`\n}"
    assert _codes(text) == ["unused-allowance", "bad-source"]


@pytest.mark.parametrize(
    ("comment", "removed", "expected"),
    [
        ("# allow: one, two (why)", "one", "# allow: two (why)"),
        ("# allow: one, two (why)", "two", "# allow: one (why)"),
        ("# allow: one, two", "two", "# allow: one"),
        ("# allow: one, two - why", "two", "# allow: one - why"),
        ("# allow: one, two - why", "one", "# allow: two - why"),
        ("# allow: one, two — why (so)", "two", "# allow: one — why (so)"),
        ("# allow: one two, three", "one", "# allow: two, three"),
        ("# allow: one two, three", "two", "# allow: one, three"),
        ("# allow: one two three", "one", "# allow: two three"),
        ("# allow: one two three", "two", "# allow: one three"),
        ("# allow: one two three  four", "one three", "# allow: two  four"),
        ("# allow: one ,two,three", "one three", "# allow: two"),
    ],
)
def test_names_are_removed(comment, removed, expected):
    """Names are removed with what separates them; other separators and the reason stay."""
    text = f"{comment}\ntarget site {{}}\n"
    allowances = [each for each in Allowances([document(text)]).all if each.name in removed.split()]
    assert edited(text, [without(allowances[0].comment, allowances)]) == text.replace(comment, expected)


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# allow: unescaped-dot untested-rewrite unanchored-source (old)\n", "# allow: untested-rewrite (old)\n"),
        ("# allow: unescaped-dot unanchored-source\n# allow: untested-rewrite\n", "# allow: untested-rewrite\n"),
    ],
)
def test_all_unused_names_of_a_comment_are_removed_at_once(comment, expected):
    """One application of all fixes, as an editor makes it, leaves none."""
    text = block(f"{comment}rewrite `^/a$` -> `/b`")
    fixes = apart(applicable(report(site=text).diagnostics, {Safety.SAFE}))
    assert edited(text, [edit for fix in fixes for edit in fix.edits]) == text.replace(comment, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# allow: one (why)\ntarget site {}\n", "target site {}\n"),
        ("target site {}  # allow: one (why)\n", "target site {}\n"),
    ],
)
def test_a_comment_is_removed_with_its_only_name(text, expected):
    """The comment's line, or the space before the comment, is removed too."""
    (allowance,) = Allowances([document(text)]).all
    assert edited(text, [without(allowance.comment, [allowance])]) == expected
