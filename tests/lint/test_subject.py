import pytest
from linting import block, report, rule_files, settings, subject, target
from rule_texts import document

from gotemplate.regexp.proofs import Covered, Example, NoKey
from tornado_proxy.lint.engine import apart, applicable, edited
from tornado_proxy.lint.subject import Allowances, subject_of, without
from tornado_proxy.rules.diagnostic import Safety
from tornado_proxy.rules.loading import compile_rule_files

CONFIGURATION = "targets: {site: {mount: {path: [/]}, bucket: {name: files, region: eu-west-1}}}"


def test_a_target_has_its_blocks_of_all_files():
    files = rule_files(a=block("") + "target other {}", b=block("rewrite `^/$` -> `/a`"))
    site, other = subject_of(compile_rule_files(files)).targets
    assert (site.name, len(site.blocks), len(site.rewrites)) == ("site", 2, 1)
    assert (other.name, len(other.blocks)) == ("other", 1)


def test_reachability_is_proved():
    """Each rewrite has a proof of whether a key reaches it after the earlier rewrites."""
    rules = target("rewrite `^/a` -> `/1`\nrewrite `^/ab$` -> `/2`\nrewrite `^b` -> `/3`")
    assert [type(proof) for proof in rules.reaches] == [Example, Covered, NoKey]
    assert [rules.example(each) for each in rules.rewrites] == ["/a", None, None]


def test_a_key_has_a_result():
    """It is that of a request without a user."""
    rules = target("rewrite `^/a$` -> `/1`\nrewrite `^/b$` -> jinja `/{{ user.username }}`")
    assert [rules.result(key) for key in ("/a", "/b", "/c")] == ["/1", None, "/c"]


def test_templates_read_the_configured_target():
    text = "rewrite `^/a$` -> jinja `/{{ target.bucket.name }}`\ntest `/a` -> `/files`"
    (rules,) = subject(text, settings(CONFIGURATION)).targets
    assert rules.result("/a") == "/files"
    assert [outcome.passed for outcome in rules.outcomes] == [True]


@pytest.mark.parametrize("marker", ["<" * 7, "|" * 7, "=" * 7, ">" * 7])
def test_a_target_with_conflict_markers_is_not_comparable(marker):
    """A target with conflict markers may have both sides of a merge; other mistakes leave a target comparable."""
    conflicted = subject(f"rewrite `^/a$` -> `/b`\n{marker} x\nrewrite `^/a$` -> `/c`")
    assert (len(conflicted.targets), conflicted.comparable) == (1, ())
    assert len(subject("rewrite `^/a$ -> `/b`").comparable) == 1


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
        block(f"# allow: unescaped-dot, unanchored-source (a, b)\nrewrite `/a.html$` -> `/b`\n{TEST}"),
        f"# allow-file: unescaped-dot\n{block(f'{DOT} # allow: unescaped-dot{chr(10)}{TEST}')}",  # both are used
    ],
)
def test_an_allowance_silences_its_check(text):
    """An allowance applies to the statement or block below it, or at its end, or to the file; a comment may have several."""
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


def test_mistakes_cannot_be_allowed():
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
