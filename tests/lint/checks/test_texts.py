import pytest
from linting import block, findings, fixed, marked_texts, report, settings

PERCENT_ENCODING = "percent-encoding"
QUERY_IN_RULE = "query-in-rule"
MISSING_DIALECT = "missing-dialect"


def test_percent_encoding_is_reported_in_all_keys():
    """Sources, plain templates, keys of tests and expected keys are checked; other templates are not."""
    text = (
        'rewrite `^/a%20b$` -> "/c%20d"\nrewrite `^/x$` -> jinja "/%20"\ntest "/e%20f" -> "/g%20h"\ntest "/x" -> error'
    )
    assert marked_texts(PERCENT_ENCODING, text) == ["%20"] * 4


@pytest.mark.parametrize(
    ("encoded", "decoded", "help"),
    [
        ("^/a%20b$", "^/a b$", "write a space"),
        ("^/%C3%A4$", "^/ä$", "write `ä`"),
        ("^/a%2Eb$", r"^/a\.b$", r"write `\.`"),
    ],
)
def test_the_fix_decodes(encoded, decoded, help):
    """The fix decodes the bytes of a character together, and escapes it if it is special in a source."""
    statement = f"rewrite `{encoded}` -> `/x`"
    assert findings(PERCENT_ENCODING, statement)[0].help == help
    assert fixed(PERCENT_ENCODING, statement) == f"rewrite `{decoded}` -> `/x`"


@pytest.mark.parametrize("encoded", ["%00", "%FF", "%0A"])
def test_a_character_that_no_key_contains_is_not_decoded(encoded):
    """Control characters and invalid UTF-8 can't be part of a key."""
    (finding,) = findings(PERCENT_ENCODING, f"rewrite `^/{encoded}$` -> `/x`")
    assert (finding.help, finding.fixes) == ("remove it: no key contains such a character", ())


@pytest.mark.parametrize(
    ("statements", "queries"),
    [
        (r"rewrite `^/show\?page=(.*)$` -> `/$1`", [r"\?page="]),
        ("rewrite `^/show[?]page=(.*)$` -> `/$1`", ["[?]page="]),
        ("rewrite `^/a$` -> `/b?x=1`", ["?x="]),
        (r"rewrite `^/what\?$` -> `/b?`", []),
        ("rewrite `^/a?b=$` -> `/b`", []),
        ("rewrite `^/a$` -> jinja `/b?x={{ key }}`", []),
        ('rewrite `^/a$` -> `/b` test "/a?x=1" -> unchanged', ["?x="]),
        (r'rewrite `^/a\?x=1$` -> `/b` test "/a?x=1" -> unchanged', [r"\?x="]),
    ],
)
def test_a_query_is_reported(statements, queries):
    """A text like a query is reported in sources, plain templates and tests, once if both have it; a single question mark is not."""
    assert marked_texts(QUERY_IN_RULE, statements) == queries


@pytest.mark.parametrize("template", ['"/{a}"', '"/{{"', 'jinja "/{{ key }}"', 'go "/{{ .Key }}"', '"/%7B%7B"'])
def test_a_template_without_expressions_of_a_dialect_has_no_finding(template):
    """Single braces, and templates with a dialect, are accepted."""
    assert marked_texts(MISSING_DIALECT, f"rewrite `^/a$` -> {template}") == []


@pytest.mark.parametrize(
    ("template", "dialect"),
    [
        ("/{{ user.username }}", "jinja"),
        ("/{% if user %}a{% endif %}", "jinja"),
        ("/{{ .User.Username }}", "go"),
        ("/{{- .Key -}}", "go"),
        ("/{{ if .User }}a{{ end }}", "go"),
        ("/{{ lower .User.GetUsername }}", "go"),
        ('/{{ printf "x" }}', "go"),
    ],
)
def test_the_fix_writes_the_dialect(template, dialect):
    """The dialect is recognized by the expressions in the template."""
    assert fixed(MISSING_DIALECT, f"rewrite `^/a$` -> `{template}`") == f"rewrite `^/a$` -> {dialect} `{template}`"


@pytest.mark.parametrize(("expression", "groups"), [("{{ key }}", "`groups.name`"), ("{{ .Key }}", "`.Groups.name`")])
def test_a_template_with_a_dollar_has_no_fix(expression, groups):
    """The help names the group reference of the dialect, because a dollar would lose its meaning."""
    (finding,) = findings(MISSING_DIALECT, f"rewrite `^/(a)$` -> `/{expression}/$1`")
    assert finding.fixes == ()
    assert groups in finding.help


UNKNOWN_TARGET = "unknown-target"
UNUSED_ALLOWANCE = "unused-allowance"


CONFIGURATION = "targets: {team: {mount: {path: [/]}, bucket: {name: files, region: eu-west-1}}}"


def test_an_unknown_target_is_reported():
    (finding,) = findings(UNKNOWN_TARGET, "", settings(CONFIGURATION))
    assert finding.message == "the configuration has no target `site`"


def test_a_known_target_has_no_finding():
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


@pytest.mark.parametrize(
    ("check", "statements"),
    [
        (PERCENT_ENCODING, 'rewrite `^/100%$` -> "/a%zz"\ntest "/5%" -> unchanged'),  # encodes nothing
        (UNKNOWN_TARGET, "rewrite `^/a$` -> `/b`"),  # every name may be one of a configuration
        (UNUSED_ALLOWANCE, "rewrite `^/a.html$` -> `/b`  # allow: unescaped-dot, missing-user"),  # they did not run
    ],
)
def test_what_is_no_mistake_has_no_finding(check, statements):
    assert marked_texts(check, statements) == []


def test_allowances_in_a_file_with_a_mistake_have_no_finding():
    """Beside a mistake an allowance may still be needed, but an unknown name is reported."""
    text = block("rewrite `^/a$` -> `/b`  # allow: unescaped-dot, nonsense\nrewrite `(` -> `/`\ntest `/a` -> `/b`")
    diagnostics = report(site=text).diagnostics
    assert [diagnostic.code for diagnostic in diagnostics] == [UNUSED_ALLOWANCE, "bad-source"]


def test_the_fix_corrects_the_name():
    assert (
        fixed(UNUSED_ALLOWANCE, "rewrite `^/a$` -> `/b`  # allow: unescaped-dto")
        == "rewrite `^/a$` -> `/b`  # allow: unescaped-dot"
    )


def test_a_location_may_be_encoded_and_have_a_query():
    """Unlike a key, and unlike the source of a redirect."""
    statements = "redirect `^/a%20b$` -> `/c%20d?x=1`\nredirect `^/show\\?page=1$` -> `/c?y=2`"
    assert marked_texts(PERCENT_ENCODING, statements) == ["%20"]
    assert marked_texts(QUERY_IN_RULE, statements) == [r"\?page="]
