import pytest
from linting import block, findings, fixed, marked_texts, report, settings

from tornado_proxy.rules.diagnostic import Safety

UNANCHORED_SOURCE = "unanchored-source"
UNESCAPED_DOT = "unescaped-dot"
PERCENT_ENCODING = "percent-encoding"
QUERY_IN_RULE = "query-in-rule"
MISSING_DIALECT = "missing-dialect"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (r"/news\.html", "the source matches anywhere in a key, such as `/x/news.htmlx`"),
        ("/old/", "the source matches at any depth, such as `/x/old/`"),
        (r"news\.html$", "the source matches at any depth, such as `/x/news.html`"),
        (r"^/news\.html", "the source matches with anything behind it, such as `/news.htmlx`"),
        ("^/a|^/b/", "the source matches with anything behind it, such as `/ax`"),
        ("^/docs(?:/.*)?", "the source matches with anything behind it, such as `/docsx`"),
        ("", "the source matches at any depth, such as `/x/`"),
        ("(?:^/a)?/b/", "the source matches at any depth, such as `/x/b/`"),
        (r"^/a\b", "the source matches with anything behind it"),
    ],
)
def test_an_open_end_is_reported_with_a_key(source, message):
    """The message describes the open end and, if one is found, a key that matches because of it."""
    assert [finding.message for finding in findings(UNANCHORED_SOURCE, f'rewrite `{source}` -> "/x"')] == [message]


@pytest.mark.parametrize(
    ("source", "anchored"),
    [("/a", "^/a$"), ("/a/", "^/a/"), ("^/a", "^/a$"), ("/a|/b", "^(?:/a|/b)$"), ("^/a|^/b", "(?:^/a|^/b)$")],
)
def test_the_fix_writes_anchors(source, anchored):
    """The fix inserts the missing anchor, around an alternation as a whole."""
    assert fixed(UNANCHORED_SOURCE, f'rewrite `{source}` -> "/x"') == f'rewrite `{anchored}` -> "/x"'


@pytest.mark.parametrize(
    "source",
    [
        r'rewrite `^/news\.html$` -> "/x"',
        'rewrite `^/docs/` -> "/x"',
        'rewrite `^/docs/(?P<rest>.*)` -> "/x"',
        'rewrite `^/docs/.+` -> "/x"',
        'rewrite `^/(?:a|b)$` -> "/x"',
        'rewrite `^(?:/a/|/b/)` -> "/x"',
        'rewrite `^/a$|^/b$` -> "/x"',
        r'rewrite `(?i)^/a\z` -> "/x"',
        r'rewrite `\A/a\z` -> "/x"',
        'rewrite `.*/old/` -> "/x"',
        'rewrite `^.*/old/` -> "/x"',
        r'rewrite `\.php$` -> "/x"',
        'rewrite `^` -> "/x"',
        'rewrite `^(?:/a){2}$` -> "/x"',
        r'rewrite `\b^/a$` -> "/x"',
        'rewrite `(?m)^/a$` -> "/x"',
        'rewrite `(?:^/a$)` -> "/x"',
        'rewrite `(?:^/a)+$` -> "/x"',
        'rewrite `^docs` -> "/x"',  # matches no key, which its own check reports
        r'rewrite `/^\/docs/i` -> "/x"',
        'rewrite `docs$^` -> "/x"',
    ],
)
def test_an_intended_end_has_no_finding(source):
    """A source may be anchored, match all keys below a directory or at any depth, or match a suffix."""
    assert marked_texts(UNANCHORED_SOURCE, source) == []


def test_a_matchable_source_between_slashes_is_reported():
    """The help shows the source without the slashes, and no fix inserts anchors."""
    (finding,) = findings(UNANCHORED_SOURCE, r'rewrite `/\/docs\/(\d+)/gi` -> "/x"')
    assert finding.message == "the slashes around this are part of the source, which matches anywhere in a key"
    assert (finding.help, finding.fixes) == (r"write `(?i)/docs/(\d+)`", ())


def test_a_long_example_is_shortened():
    (finding,) = findings(UNANCHORED_SOURCE, f'rewrite `^/{"a" * 300}` -> "/x"')
    assert finding.message == f"the source matches with anything behind it, such as `/{'a' * 79}…`"


@pytest.mark.parametrize(
    "source",
    [r"^/a\.html$", "^/.*html$", "^/../x$", "^/a.?b$", "^/.$", r"^/v1.\d+$", "^/[.]html$", "^/a.[a-z]$", "^/.+$"],
)
def test_an_intended_dot_has_no_finding(source):
    """Escaped, repeated, doubled and final dots, and those before a class, are accepted."""
    assert marked_texts(UNESCAPED_DOT, f'rewrite `{source}` -> "/x"') == []


@pytest.mark.parametrize(
    ("source", "column"),
    [
        ("^/a.html$", 4),
        ("^/[^/]+.(?:png|jpe?g)$", 8),
        ("^/a(.html)?$", 5),
        ("^/(?P<name>[^/]+).html$", 18),
        ("^/v1.2/", 5),
    ],
)
def test_an_unescaped_dot_is_reported(source, column):
    """A single dot before a letter or a digit, in any branch, is reported at its place."""
    (finding,) = findings(UNESCAPED_DOT, f"rewrite `{source}` -> `/x`")
    assert finding.span.text == "."
    assert finding.span.first.column == column + len("rewrite `")


def test_every_unescaped_dot_is_reported():
    assert marked_texts(UNESCAPED_DOT, "rewrite `^/v1.2.3/a.html$` -> `/x`") == [".", ".", "."]


@pytest.mark.parametrize(("source", "expected"), [("`^/a.html$`", r"`^/a\.html$`"), ('"^/a.html$"', r'"^/a\\.html$"')])
def test_the_fix_escapes_the_dot(source, expected):
    """The fix writes a backslash as the kind of string requires."""
    assert fixed(UNESCAPED_DOT, f"rewrite {source} -> `/x`") == f"rewrite {expected} -> `/x`"


UNKNOWN_GROUP = "unknown-group"
UNUSED_GROUP = "unused-group"


@pytest.mark.parametrize(
    "template",
    [
        *("/$1/$page", "/${1}x/$0", "/$$page", "/$", "/price$", "/a\\b", "/$${page", "/${", "/${-}"),
        *("/{slug}", "/{{page}}", "/$(slug)", "/%2", "/%1A", "/$$(page)", "/$$&", "/$page{x}", "/100%"),
    ],
)
def test_existing_groups_have_no_finding(template):
    """References by name and number, the whole match, and dollars that refer to no group have no finding."""
    assert marked_texts(UNKNOWN_GROUP, f"rewrite `^/(?P<page>.*)$` -> `{template}`") == []


@pytest.mark.parametrize(
    ("source", "template", "message", "help"),
    [
        ("^/(.*)$", "/$1x", "`$1x` refers to the group `1x`, which the source does not have", "write `${1}x`"),
        ("^/(?P<page>.*)$", "/$page_old", "`$page_old` refers to the group `page_old`, which the source does not have", "write `${page}_old`"),
        ("^/(?P<page>.*)$", "/$pgae", "the source has no group `pgae`, so this is always empty", "did you mean `${page}`?"),
        ("^/(?P<page>.*)$", "/${slug}", "the source has no group `slug`, so this is always empty", "the source has the group `page`"),
        ("^/(.)(.)$", "/$3", "the source has no group `3`, so this is always empty", "the source has the groups `1` and `2`"),
        ("^/.*$", "/$1", "the source has no group `1`, so this is always empty", "the source has no group: capture the part that you want to keep with `(?P<name>…)`"),
        ("^/(.*)$", r"/\1", r"`\1` is text here, not a reference to a group", "write `${1}`"),
        ("^/(?P<a>.*)$", r"/\g<a>", r"`\g<a>` is text here, not a reference to a group", "write `${a}`"),
        ("^/(?P<page>.*)$", "/${page", "`${page` is text here, not a reference to a group", "write `${page}`"),
        ("^/.*$", r"/\1", r"`\1` is text here, not a reference to a group", "the source has no group: capture the part that you want to keep with `(?P<name>…)`"),
        ("^/(?P<page>.*)$", "/$(page)", "`$(page)` is text here, not a reference to a group", "write `${page}`"),
        ("^/(?P<page>.*)$", "/{page}", "`{page}` is text here, not a reference to a group", "write `${page}`"),
        ("^/(?P<page>.*)$", "/{1}", "`{1}` is text here, not a reference to a group", "write `${1}`"),
        ("^/(?P<page>.*)$", "/%1", "`%1` is text here, not a reference to a group", "write `${1}`"),
        ("^/(?P<page>.*)$", "/x$&", "`$&` is text here, not a reference to a group", "write `${0}`"),
        ("^/(?P<page>.*)$", r"/x\0", r"`\0` is text here, not a reference to a group", "write `${0}`"),
        ("^/(?P<page>.*)$", "/$1${page-x}", "`${page` is text here, not a reference to a group", "write `${page}`"),
    ],
)  # fmt: skip
def test_a_missing_group_is_reported(source, template, message, help):
    """The message explains the reference, and the help suggests the intended one."""
    (finding,) = findings(UNKNOWN_GROUP, f"rewrite `{source}` -> `{template}`")
    assert (finding.message, finding.help) == (message, help)


@pytest.mark.parametrize(
    ("template", "expected"),
    [("/$1x", "/${1}x"), ("/$pgae", "/${page}"), (r"/\1", "/${1}"), ("/${page", "/${page}"), ("/${slug}", "/${slug}")],
)
def test_the_fix_writes_the_intended_reference(template, expected):
    """The fix writes the group in braces, if it is certain which one."""
    text = "rewrite `^/(?P<page>.*)$` -> "
    assert fixed(UNKNOWN_GROUP, f"{text}`{template}`") == f"{text}`{expected}`"


def test_a_bad_escape_is_reported_once():
    diagnostics = report(site=block(r'rewrite `^/a/(.*)$` -> "/b/\1"'), check=UNKNOWN_GROUP).diagnostics
    assert [(diagnostic.code, diagnostic.help) for diagnostic in diagnostics] == [
        ("bad-escape", "write `${1}` in a plain template for what the group captured")
    ]


@pytest.mark.parametrize(
    "template",
    [
        "jinja `/$2/$slug/$$1/${slug}`",
        "jinja `/{# $page #}{% set a = '$page' %}{{ '$1' }}`",
        "go `/{{ $page := .Key }}{{ $page }}`",
        "go `/$2`",
    ],
)
def test_dollars_in_other_dialects_have_no_finding(template):
    """A template of another dialect may contain dollars that name no group, in its text or in its braces."""
    assert marked_texts(UNKNOWN_GROUP, f"rewrite `^/(?P<page>.*)$` -> {template}") == []


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("jinja `/$1`", "jinja `/{{ groups[1] }}`"),
        ("jinja `/${page}`", "jinja `/{{ groups.page }}`"),
        ('jinja "/$page"', 'jinja "/{{ groups.page }}"'),
        (r"jinja `/\1`", "jinja `/{{ groups[1] }}`"),
        (r"go `/\g<page>{{ .Key }}`", "go `/{{ .Groups.page }}{{ .Key }}`"),
        ("go `/$1`", 'go `/{{ index .Groups "1" }}`'),
    ],
)
def test_a_plain_reference_in_another_dialect_is_replaced(template, expected):
    """The fix writes the reference of the dialect, because a dollar outside braces is text."""
    statement = "rewrite `^/(?P<page>.*)$` -> "
    assert fixed(UNKNOWN_GROUP, statement + template) == statement + expected


@pytest.mark.parametrize(
    ("source", "template"),
    [
        ("^/(?P<page>.*)$", "`/$page`"),
        ("^/(?P<page>.*)$", "`/$1`"),
        ("^/(?P<page>.*)$", "`/x$0`"),
        ("^/(?P<all>(?P<page>.)/.*)$", "`/$all`"),
        ("^/(de|en)/a$", "`/a`"),
        ("^/(?:x/)?(a)*$", "`/a`"),
        ("^/(?P<page>.*)$", "jinja `/{{ groups.page }}`"),
        ("^/(?P<page>.*)$", "jinja `/{% set g = groups %}{{ g.page }}`"),
        ("^/(?P<page>.*)$", "go `/{{ .Groups.page }}`"),
        ("^/(?P<page>.*)$", "go `/{{ range .Groups }}{{ . }}{{ end }}`"),
        ("^/(?P<page>.*)$", "`/{{ groups.page }}`"),
        ("^/(?P<page>.*)$", "`/$pgae`"),
        ("^/k/(?P<page>.*)$", "jinja `/x/{{ key }}`"),
        ("^/k/(?P<page>.*)$", "jinja `/x{{ request.path }}`"),
        ("^/k/(?P<page>.*)$", "go `/x{{ .Key | lower }}`"),
        ("^/k/(?P<page>.*)$", "go `/x{{ .Request.URL.Path }}`"),
        ("^/(?P<page>.*)$", "`/${page`"),
        ("^/(?P<page>.*)$", "`/{page}`"),
        ("^/(?P<page>.*)$", r"`/\2`"),
        ("^/(?P<a>.)(?P<page>.*)$", "`/$a/%2`"),
        ("^/(?P<page>.*)$", "jinja `/$page`"),
        ("^/(?P<page>.*)$", "go `/$1`"),
    ],
)
def test_used_and_necessary_groups_have_no_finding(source, template):
    """Used groups, alternatives, repetitions, and groups whose use is uncertain have no finding."""
    assert marked_texts(UNUSED_GROUP, f"rewrite `{source}` -> {template}") == []


@pytest.mark.parametrize(
    ("source", "template", "unused"),
    [
        ("^/(?P<page>.*)$", "`/x`", ["(?P<page>.*)"]),
        ("^/(?<page>de|en)/(.*)$", "`/$2`", ["(?<page>de|en)"]),
        ("^/([^/]+)/(.*)$", "`/$2`", ["([^/]+)"]),
        ("^/(?P<page>.*)$", "jinja `/{{ user.groups }}`", []),
        ("^/(?P<page>.*)$", "jinja `/{{ user.username }}`", ["(?P<page>.*)"]),
        ("^/(?P<page>.*)$", "go `/x{{ .User.Username }}`", ["(?P<page>.*)"]),
        ("^/(?P<key>.)/(?P<page>.*)$", "jinja `/key/{{ groups.key }}`", ["(?P<page>.*)"]),
    ],
)
def test_an_unused_group_is_reported(source, template, unused):
    """A named group, or one without another purpose, is reported if the template doesn't use it."""
    assert marked_texts(UNUSED_GROUP, f"rewrite `{source}` -> {template}") == unused


@pytest.mark.parametrize(
    ("source", "template", "expected", "safety"),
    [
        ("^/(?P<a>.)$", "/x", "^/(?:.)$", Safety.SAFE),
        ("^/(?<a>.)(?P<b>.)$", "/$b", "^/(?:.)(?P<b>.)$", Safety.SAFE),
        ("^/(.)(.)$", "/$2", "^/(?:.)(.)$", Safety.UNSAFE),
    ],
)
def test_the_fix_of_an_unused_group_is_safe_unless_numbers_change(source, template, expected, safety):
    """The fix keeps the group without capturing, and is unsafe if the numbers of later groups change."""
    statement = f"rewrite `{source}` -> `{template}`"
    assert [fix.safety for fix in findings(UNUSED_GROUP, statement)[0].fixes] == [safety]
    assert fixed(UNUSED_GROUP, statement).startswith(f"rewrite `{expected}`")


def test_what_is_gone_uses_no_group():
    """There is no template that could."""
    assert marked_texts(UNUSED_GROUP, "gone `^/(?P<year>2009|2010)/(?P<page>.*)$`") == []


def test_a_source_that_is_too_deep_for_a_proof_has_no_finding():
    """Nothing is said of its edges."""
    assert marked_texts(UNANCHORED_SOURCE, f"rewrite `{'(?:' * 61}a{')' * 61}` -> `/b`") == []


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
