import pytest
from linting import block, fixed, places, report

NAME = "unused-allowance"


@pytest.mark.parametrize(
    ("comment", "message", "cure"),
    [
        ("# allow: unescaped-dot", "this allows `unescaped-dot`, but it is not found here", "take it out"),
        ("# allow: unescaped-dto", "there is no check `unescaped-dto`", "did you mean `unescaped-dot`?"),
        ("# allow: bad-source", "`bad-source` is a mistake, which cannot be allowed", "take it out, and mend what it is about"),
        ("# allow: nonsense", "there is no check `nonsense`", "`tornado-proxy lint --list` shows all"),
        ("# allow: - why", "this allows nothing: it names no check", "name the checks that are allowed: `# allow: a-check (reason)`"),
        ("# allow: nonsense - of this and that", "there is no check `nonsense`", "`tornado-proxy lint --list` shows all"),
        ("# allow:", "this allows nothing: it names no check", "name the checks that are allowed: `# allow: a-check (reason)`"),
        ("# allow: unused-allowance", "`unused-allowance` cannot be allowed", "take it out"),
    ],
)  # fmt: skip
def test_what_silences_nothing(comment, message, cure):
    """Each kind of idle allowance has its words."""
    found = report(site=block(f"{comment}\nrewrite `^/a$` -> `/b`\ntest `/a` -> `/b`")).diagnostics
    assert [(each.code, each.message, each.help) for each in found] == [(NAME, message, cure)]


def test_what_stands_above_nothing():
    """A comment before the closing brace is above nothing."""
    found = report(site=block("rewrite `^/a$` -> `/b`\ntest `/a` -> `/b`\n# allow: unescaped-dot")).diagnostics
    assert [each.message for each in found] == [
        "this allows `unescaped-dot` for nothing: no statement or block is below it"
    ]


def test_checks_that_do_not_run_are_not_judged():
    """With other checks selected nothing can be known of an allowance."""
    assert places(NAME, "rewrite `^/a.html$` -> `/b`  # allow: unescaped-dot, missing-user") == []


def test_nothing_is_judged_where_something_was_left_out():
    """What an allowance was for may have been left out with a mistake; a name that does not exist stays wrong."""
    text = block("rewrite `^/a$` -> `/b`  # allow: unescaped-dot, nonsense\nrewrite `(` -> `/`\ntest `/a` -> `/b`")
    found = report(site=text).diagnostics
    assert [each.code for each in found] == [NAME, "bad-source"]


def test_the_fix_writes_the_name_that_was_meant():
    """A slip is corrected."""
    assert (
        fixed(NAME, "rewrite `^/a$` -> `/b`  # allow: unescaped-dto")
        == "rewrite `^/a$` -> `/b`  # allow: unescaped-dot"
    )
