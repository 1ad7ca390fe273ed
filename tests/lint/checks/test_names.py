import pytest
from linting import block, findings, fixed, marked_texts, report, settings

UNKNOWN_TARGET = "unknown-target"
UNUSED_ALLOWANCE = "unused-allowance"


CONFIGURATION = "targets: {team: {mount: {path: [/]}, bucket: {name: files, region: eu-west-1}}}"


def test_without_a_configuration_nothing_is_known():
    """Any target is as good as another."""
    assert marked_texts(UNKNOWN_TARGET, "rewrite `^/a$` -> `/b`") == []


def test_a_target_that_the_configuration_does_not_name():
    """It is found as the daemon finds it."""
    (found,) = findings(UNKNOWN_TARGET, "", settings(CONFIGURATION))
    assert found.message == "the configuration has no target `site`"


def test_a_target_that_the_configuration_names():
    """It is left alone."""
    assert marked_texts(UNKNOWN_TARGET, "", settings(CONFIGURATION.replace("team", "site"))) == []


@pytest.mark.parametrize(
    ("comment", "message", "cure"),
    [
        ("# allow: unescaped-dot", "this allows `unescaped-dot`, which finds nothing here", "remove it"),
        ("# allow: unescaped-dto", "unknown check `unescaped-dto`", "did you mean `unescaped-dot`?"),
        ("# allow: nonsense", "unknown check `nonsense`", "`tornado-proxy lint --list` shows all checks"),
        ("# allow: - why", "this allowance names no check", "name the checks that are allowed: `# allow: a-check (reason)`"),
        ("# allow: nonsense - of this and that", "unknown check `nonsense`", "`tornado-proxy lint --list` shows all checks"),
        ("# allow:", "this allowance names no check", "name the checks that are allowed: `# allow: a-check (reason)`"),
        ("# allow: unused-allowance", "`unused-allowance` cannot be allowed", "remove it"),
    ],
)  # fmt: skip
def test_what_silences_nothing(comment, message, cure):
    """Each kind of idle allowance has its words."""
    found = report(site=block(f"{comment}\nrewrite `^/a$` -> `/b`\ntest `/a` -> `/b`")).diagnostics
    assert [(each.code, each.message, each.help) for each in found] == [(UNUSED_ALLOWANCE, message, cure)]


def test_what_stands_above_nothing():
    """A comment before the closing brace is above nothing."""
    found = report(site=block("rewrite `^/a$` -> `/b`\ntest `/a` -> `/b`\n# allow: unescaped-dot")).diagnostics
    assert [each.message for each in found] == [
        "this allows `unescaped-dot` for nothing: no statement or block follows"
    ]


def test_checks_that_do_not_run_are_not_judged():
    """With other checks selected nothing can be known of an allowance."""
    assert marked_texts(UNUSED_ALLOWANCE, "rewrite `^/a.html$` -> `/b`  # allow: unescaped-dot, missing-user") == []


def test_nothing_is_judged_where_something_was_left_out():
    """What an allowance was for may have been left out with a mistake; a name that does not exist stays wrong."""
    text = block("rewrite `^/a$` -> `/b`  # allow: unescaped-dot, nonsense\nrewrite `(` -> `/`\ntest `/a` -> `/b`")
    found = report(site=text).diagnostics
    assert [each.code for each in found] == [UNUSED_ALLOWANCE, "bad-source"]


def test_the_fix_writes_the_name_that_was_meant():
    """A slip is corrected."""
    assert (
        fixed(UNUSED_ALLOWANCE, "rewrite `^/a$` -> `/b`  # allow: unescaped-dto")
        == "rewrite `^/a$` -> `/b`  # allow: unescaped-dot"
    )
