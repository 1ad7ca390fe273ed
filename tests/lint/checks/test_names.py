import pytest
from linting import block, findings, fixed, marked_texts, report, settings

UNKNOWN_TARGET = "unknown-target"
UNUSED_ALLOWANCE = "unused-allowance"


CONFIGURATION = "targets: {team: {mount: {path: [/]}, bucket: {name: files, region: eu-west-1}}}"


def test_without_a_configuration_no_target_is_reported():
    """Without a configuration, every target name is accepted."""
    assert marked_texts(UNKNOWN_TARGET, "rewrite `^/a$` -> `/b`") == []


def test_an_unknown_target_is_reported():
    """A target that the configuration doesn't have is reported, with the service's message."""
    (finding,) = findings(UNKNOWN_TARGET, "", settings(CONFIGURATION))
    assert finding.message == "the configuration has no target `site`"


def test_a_known_target_has_no_finding():
    """A target that the configuration has is accepted."""
    assert marked_texts(UNKNOWN_TARGET, "", settings(CONFIGURATION.replace("team", "site"))) == []


@pytest.mark.parametrize(
    ("comment", "message", "help"),
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
def test_an_unused_or_invalid_allowance_is_reported(comment, message, help):
    """Each kind of invalid allowance has its own message."""
    diagnostics = report(site=block(f"{comment}\nrewrite `^/a$` -> `/b`\ntest `/a` -> `/b`")).diagnostics
    assert [(diagnostic.code, diagnostic.message, diagnostic.help) for diagnostic in diagnostics] == [
        (UNUSED_ALLOWANCE, message, help)
    ]


def test_an_allowance_at_the_end_of_a_block_is_reported():
    """A comment before the closing brace applies to no statement."""
    diagnostics = report(site=block("rewrite `^/a$` -> `/b`\ntest `/a` -> `/b`\n# allow: unescaped-dot")).diagnostics
    assert [diagnostic.message for diagnostic in diagnostics] == [
        "this allows `unescaped-dot` for nothing: no statement or block follows"
    ]


def test_allowances_of_checks_that_did_not_run_have_no_finding():
    """If only some checks are selected, allowances of the others are not reported."""
    assert marked_texts(UNUSED_ALLOWANCE, "rewrite `^/a.html$` -> `/b`  # allow: unescaped-dot, missing-user") == []


def test_allowances_in_a_file_with_a_mistake_have_no_finding():
    """Beside a mistake an allowance may still be needed, but an unknown name is reported."""
    text = block("rewrite `^/a$` -> `/b`  # allow: unescaped-dot, nonsense\nrewrite `(` -> `/`\ntest `/a` -> `/b`")
    diagnostics = report(site=text).diagnostics
    assert [diagnostic.code for diagnostic in diagnostics] == [UNUSED_ALLOWANCE, "bad-source"]


def test_the_fix_corrects_the_name():
    """A misspelt name is corrected."""
    assert (
        fixed(UNUSED_ALLOWANCE, "rewrite `^/a$` -> `/b`  # allow: unescaped-dto")
        == "rewrite `^/a$` -> `/b`  # allow: unescaped-dot"
    )
