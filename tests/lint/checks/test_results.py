import pytest
from linting import block, findings, fixed, marked_texts, report, settings

from tornado_proxy.rules.diagnostic import Safety

REFUSED_RESULT = "refused-result"
RELATIVE_RESULT = "relative-result"
KIND_CHANGE = "kind-change"


@pytest.mark.parametrize(
    "template",
    [
        *('"/a"', '"a"', '"/..a"', '"/..$1"', '"/.$1."', '"$1"', '"/a/$1/.b"', '"$$"', 'jinja "/{{ key }}/.."'),
        *("jinja `\n  /a\n`", "go `{{ .Key }}`", f'"/{"a" * 1000}$1"'),
    ],
)
def test_a_result_that_may_be_a_key_has_no_finding(template):
    """A result that is a key, or that depends on a group or an expression, is accepted."""
    assert marked_texts(REFUSED_RESULT, f"rewrite `^/(.*)$` -> {template}") == []


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ('""', "is empty"),
        ("jinja ` \n `", "is empty"),
        ('"/../x"', "contains a `.` or `..` segment"),
        ('".."', "contains a `.` or `..` segment"),
        ('go "/a/./b"', "contains a `.` or `..` segment"),
        ('"/$1/../x"', "contains a `.` or `..` segment"),
        ('"$1/."', "contains a `.` or `..` segment"),
        (r'"/a\tb"', "contains a control character"),
        (r'"/a\tb$1"', "contains a control character"),
        (f'"/{"a" * 1100}"', "is longer than 1024 bytes"),
    ],
)
def test_a_result_that_is_never_a_key_is_reported(template, reason):
    (finding,) = findings(REFUSED_RESULT, f"rewrite `^/(.*)$` -> {template}")
    assert finding.message == f"the result is always refused: it {reason}"


def test_a_refusal_that_a_test_expects_has_no_finding():
    """A test of this rewrite that expects an error silences the check."""
    assert marked_texts(REFUSED_RESULT, 'rewrite `^/a/` -> ""\ntest "/a/b" -> error') == []
    assert marked_texts(REFUSED_RESULT, 'rewrite `^/a/` -> ""\nrewrite `^/b$` -> ""\ntest "/b" -> error') == ['""']


@pytest.mark.parametrize(
    "template", ['"/a"', '"$1"', '"/"', 'jinja "{{ key }}"', "jinja `\n  /a\n`", 'go "{{ .Key }}x"', '""']
)
def test_a_result_with_a_leading_slash_or_an_unknown_one_has_no_finding(template):
    """A result with a leading slash, with an unknown beginning, or without text is accepted."""
    assert marked_texts(RELATIVE_RESULT, f"rewrite `^(/a/.*)$` -> {template}") == []


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ('"a/$1"', '"/a/$1"'),
        ('jinja "a/{{ key }}"', 'jinja "/a/{{ key }}"'),
        ("go `\n  a{{ .Key }}\n`", "go `\n  /a{{ .Key }}\n`"),
        ('"$$x"', '"/$$x"'),
    ],
)
def test_the_fix_writes_the_slash(template, expected):
    """The fix inserts a slash before the text, which changes no key."""
    (finding,) = findings(RELATIVE_RESULT, f"rewrite `^/(a.*)$` -> {template}")
    assert [fix.safety for fix in finding.fixes] == [Safety.SAFE]
    assert fixed(RELATIVE_RESULT, f"rewrite `^/(a.*)$` -> {template}") == f"rewrite `^/(a.*)$` -> {expected}"


@pytest.mark.parametrize(
    ("template", "expected"),
    [('" y"', '"/y"'), ('" /y"', '"/y"'), ('" $1"', '"$1"'), ('"  "', '"/"'), ('" $$x"', '"/$$x"')],
)
def test_leading_white_space_is_replaced(template, expected):
    """The slash replaces the white space, which a plain template keeps, so the fix changes keys."""
    (finding,) = findings(RELATIVE_RESULT, f"rewrite `^(/a)$` -> {template}")
    assert (
        finding.message
        == "the result begins with white space, which a plain template keeps, and gets a slash before it"
    )
    assert [fix.safety for fix in finding.fixes] == [Safety.UNSAFE]
    assert fixed(RELATIVE_RESULT, f"rewrite `^(/a)$` -> {template}") == f"rewrite `^(/a)$` -> {expected}"


def test_a_url_is_not_a_redirect():
    """A result that looks like a URL is explained, and the fix makes it a redirect."""
    (finding,) = findings(RELATIVE_RESULT, 'rewrite `^/a$` -> "https://example.com/a"')
    assert finding.message == "a result is a key, not a URL: this asks the bucket for `/https://example.com/a…`"
    assert fixed(RELATIVE_RESULT, 'rewrite `^/a$` -> "https://example.com/a"') == (
        'redirect `^/a$` -> "https://example.com/a"'
    )


@pytest.mark.parametrize(
    ("rewrite", "expected"),
    [
        ('rewrite `^/a/(?P<rest>[^/]+)$` -> "$rest"', '"/$rest"'),
        ('rewrite `^/([a-z]+)\\.html$` -> "${1}.htm"', '"/${1}.htm"'),
        ('rewrite `^/((?:b|c)+)/.*$` -> "$1"', '"/$1"'),
    ],
)
def test_a_result_that_begins_with_a_group_without_a_slash_is_reported(rewrite, expected):
    """The group always has text, and never begins with a slash."""
    (finding,) = findings(RELATIVE_RESULT, rewrite)
    assert finding.message == "the result has no leading slash, and gets one"
    assert fixed(RELATIVE_RESULT, rewrite).endswith(f"-> {expected}")


@pytest.mark.parametrize(
    "rewrite",
    [
        'rewrite `^(/a)$` -> "$1"', 'rewrite `^/a(.*)$` -> "$1"', 'rewrite `^/a([b-z]*)(/.*)$` -> "$1$2"',
        'rewrite `^/a(b)?(/.*)$` -> "$1$2"', 'rewrite `^/(?:(a)|b)(/.*)$` -> "$1$2"',
        'rewrite `^(?P<n>/a)|(?P<n>b)$` -> "$n"', 'rewrite `^/a(\\b.)` -> "$1"',
        'rewrite `^/(?P<rest>[^/]+)$` -> "$0"',
    ],
)  # fmt: skip
def test_a_result_that_may_begin_with_a_slash_has_no_finding(rewrite):
    """The group may begin with a slash, or be empty before a slash."""
    assert findings(RELATIVE_RESULT, rewrite) == []


@pytest.mark.parametrize(
    ("source", "template"),
    [
        ("^/docs/$", "/manual/"),
        ("^/docs/(?P<rest>.*)$", "/manual/$rest"),
        (r"^/docs/[^/]+\.html$", "/manual/index.html"),
        ("^/docs/[^/]+$", "/x.html"),
        (r"^/docs/.*\.(?:html|x?htm)$", "/manual/index.html"),
        ("^/docs/", "/manual/index"),  # may be a directory
        ("^/docs", "/manual/"),  # the open end has its own finding
        ("^/docs/", "https://example.com/"),
        ("^/[^/]+/$", "/manual/"),
        ("^docs/$", "/manual/index.html"),
    ],
)
def test_a_rewrite_within_a_kind_has_no_finding(source, template):
    """A directory that becomes a directory, a file that becomes a file, and unclear cases are accepted."""
    assert marked_texts(KIND_CHANGE, f"rewrite `{source}` -> `{template}`") == []


@pytest.mark.parametrize(
    ("source", "template", "message"),
    [
        ("^/docs/$", "`/manual/index.html`", "the directory `/docs/` becomes `/manual/index.html/`, which is still a directory"),
        ("^/docs/.*$", "`/page.html`", "the directory `/docs/` becomes `/page.html/`, which is still a directory"),
        ("^/(?:a|b/)$", "`/page.html`", "the directory `/b/` becomes `/page.html/`, which is still a directory"),
        ("^/docs$", "`/manual/`", "the file `/docs` becomes `/manual/`, which is a directory"),
        ("^/docs/(.*)$", "`/manual/$1/`", "the file `/docs/a` becomes `/manual/a/`, which is a directory"),
        ("^/p/(?P<slug>[a-z]+)/$", "`/posts/$slug.html`", "the directory `/p/a/` becomes `/posts/a.html/`, which is still a directory"),
        ("^/docs$", "jinja `/{{ user.username }}/`", "the file `/docs` becomes another key, which is a directory"),
    ],
)  # fmt: skip
def test_a_change_of_kind_is_reported_with_a_key(source, template, message):
    assert [finding.message for finding in findings(KIND_CHANGE, f"rewrite `{source}` -> {template}")] == [message]


def test_a_directory_that_is_tried_as_a_file_has_no_finding():
    """With `tryFiles`, a path is tried without its closing slash, so its rewrite may lead to a file."""
    trying = settings("targets: {site: {bucket: {name: bucket}, actions: {GET: {config: {tryFiles: [$path]}}}}}")
    assert marked_texts(KIND_CHANGE, "rewrite `^/feed/?$` -> `/feed.xml`", trying) == []
    assert marked_texts(KIND_CHANGE, "rewrite `^/feed/$` -> `/feed.xml`", trying) == ["`/feed.xml`"]


SITE = "targets: {site: {mount: {path: [/]}, bucket: {name: b}, actions: {GET: {config: {indexDocument: index.html}}}}}"


@pytest.mark.parametrize(
    ("rewrite", "advice", "expected"),
    [
        (
            "rewrite `^/docs$` -> `/manual/`",
            "remove the last `/` of the result, or end the source with `/$`",
            "rewrite `^/docs$` -> `/manual`",
        ),
        (
            "rewrite `^/docs/$` -> `/manual/index.html`",
            "end it with `/`: the target serves the `index.html` of a directory",
            "rewrite `^/docs/$` -> `/manual/`",
        ),
        (
            "rewrite `^/docs/$` -> `/page.html`",
            "lead to a directory, whose `index.html` is served, or end the source with `/?$` and add `tryFiles`",
            "rewrite `^/docs/$` -> `/page.html`",
        ),
    ],
)
def test_the_help_knows_the_index_document_of_the_target(rewrite, advice, expected):
    """Without a configuration, the help says that the target names one."""
    (finding,) = findings(KIND_CHANGE, rewrite, settings(SITE))
    assert finding.help == advice
    assert fixed(KIND_CHANGE, rewrite, settings(SITE)) == expected


def test_a_guessed_key_needs_no_proof():
    """All of a thousand rewrites are reported, because a guessed key shows the change without a proof."""
    rewrites = "\n".join(f"rewrite `/old{number}/` -> `/new/{number}/`" for number in range(1000))
    assert len(findings(KIND_CHANGE, rewrites)) == 1000


FAILING_TEST = "failing-test"
UNTESTED_REWRITE = "untested-rewrite"


RULES = "rewrite moved `^/a$` -> `/b`\nrewrite `^/dots$` -> `/..`\n"


def test_a_failing_test_is_reported():
    """With its fix, which is only displayed."""
    (finding,) = findings(FAILING_TEST, f'{RULES}test "/a" -> "/c"')
    assert (finding.message, finding.span.text) == ("`/a` becomes `/b`, not `/c`", '"/c"')
    assert [(fix.edits[0].text, fix.safety) for fix in finding.fixes] == [('"/b"', Safety.DISPLAY)]


def test_an_untested_rewrite_is_reported():
    """The help has a test that expects the present result."""
    (finding,) = findings(UNTESTED_REWRITE, 'rewrite `^/a/(.*)$` -> `/b/$1`\nrewrite `^/c$` -> `/d`\ntest "/c" -> "/d"')
    assert (finding.span.text, finding.message) == ("`^/a/(.*)$`", "no test reaches this rewrite")
    assert finding.help == 'add a test of a real key, such as `test "/a/" -> "/b/"`'


def test_a_target_without_tests_has_one_finding():
    """The finding is at the name of the target."""
    (finding,) = findings(UNTESTED_REWRITE, "rewrite `^/a$` -> `/b`\nrewrite `^/c$` -> `/d`")
    assert (finding.span.text, finding.message) == ("site", "the target `site` has no test")


@pytest.mark.parametrize(
    ("check", "statements"),
    [
        (KIND_CHANGE, "rewrite `^/a/$` -> `/b/`\nrewrite `^/a/(?:x)?$` -> `/b/x.html`"),  # an earlier one takes `/a/`
        (FAILING_TEST, f'{RULES}test "/a" -> "/b"\ntest "/x" -> unchanged\ntest "/dots" -> error'),
        (UNTESTED_REWRITE, ""),  # no rewrite
        (UNTESTED_REWRITE, 'rewrite `^/a$` -> `/b`\nrewrite `^/a$` -> `/c`\ntest "/a" -> "/b"'),  # unreachable
        (UNTESTED_REWRITE, 'rewrite `^/a$` -> `/b`\nrewrite `^a` -> `/c`\ntest "/a" -> "/b"'),
    ],
)
def test_what_needs_no_test_has_no_finding(check, statements):
    assert marked_texts(check, statements) == []


@pytest.mark.parametrize(
    ("statements", "code"),
    [
        ('target site {\nrewrite `^/(` -> `/b`\ntest "/a" -> "/b"\n}', ["bad-source"]),
        ('target site {\nrewrite `^/a$` -> `/b`\ntest "a" -> "/b"\n}', ["bad-test"]),
    ],
)
def test_tests_are_not_judged_beside_a_mistake(statements, code):
    """A test may fail, or a rewrite may lack one, only because what has the mistake is missing."""
    result = report(site=statements)
    assert [diagnostic.code for diagnostic in result.diagnostics] == code


@pytest.mark.parametrize(
    "statements",
    [
        "rewrite `^/a$` -> jinja `/{{ user.username }}`",  # depends on the user
        "rewrite `^/a{900}$` -> `/b`",  # has hundreds of characters
    ],
)
def test_a_key_that_is_unknown_or_long_is_not_suggested(statements):
    """The help then has no example."""
    (finding,) = findings(UNTESTED_REWRITE, statements)
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


@pytest.mark.parametrize(
    "statements",
    [
        "redirect `^/a$` -> `https://example.com/a/`",
        "redirect `^/(?P<p>.*)\\.html$` -> `https://example.com/x/$p?x=/../$p#/./`",
        "redirect `^/(?P<p>[^/]+)\\.html$` -> `/$p/`",
        "redirect `^/a/$` -> `/b.html`",
        "gone `^/a$`",
    ],
)
def test_redirects_are_not_judged_as_keys(statements):
    """A URL is a location, `gone` has no result, and an address may become one of the other kind."""
    for check in (REFUSED_RESULT, RELATIVE_RESULT, KIND_CHANGE):
        assert marked_texts(check, statements) == []


def test_a_path_that_is_always_refused_is_no_location():
    """The compiler looks at the text before the first hole, the linter at the rest."""
    statements = "redirect `^/(?P<p>[^/]+)$` -> `/x/$p/../y`\nredirect `^/a/(.*)$` -> jinja `/{{ key }}/../`"
    assert marked_texts(REFUSED_RESULT, statements) == ["`/x/$p/../y`"]


def test_a_path_of_a_redirect_gets_a_slash():
    """As that of a rewrite does."""
    assert fixed(RELATIVE_RESULT, "redirect `^/(?P<p>[^/]+)$` -> `$p/x`") == "redirect `^/(?P<p>[^/]+)$` -> `/$p/x`"


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("/a /b/", "the file `/a` becomes `/b/`, which is a directory"),
        ("/a/ /b.html", "the directory `/a/` becomes `/b.html/`, which is still a directory"),
    ],
)
def test_a_line_that_changes_the_kind_is_reported(listed, message):
    """At its second column."""
    (finding,) = findings(KIND_CHANGE, 'rewrites "moved.txt"', lists={"moved.txt": listed})
    assert finding.message == message
    assert finding.span.text == listed.split()[1]


@pytest.mark.parametrize("listed", ["/a /b", "/a/ /b/", "/a/ /b", "/b/ /x.html\n/b /x.html"])
def test_a_line_that_may_be_meant_has_no_finding(listed):
    """A directory may be named without its slash, and `tryFiles` may try the path."""
    configuration = settings("targets: {site: {bucket: {name: bucket}, actions: {GET: {config: {tryFiles: [$path]}}}}}")
    assert findings(KIND_CHANGE, 'rewrites "moved.txt"', configuration, {"moved.txt": listed}) == []
    assert findings(KIND_CHANGE, 'redirects "moved.txt"', lists={"moved.txt": "/a /b/"}) == []


@pytest.mark.parametrize(
    ("statement", "message", "help"),
    [
        ("redirect 308 `^/a$` -> `/é?x`", "no test reaches this redirect", '`test "/a" -> redirect 308 "/%C3%A9?x"`'),
        ("gone `^/a$`", "no test reaches this `gone`", '`test "/a" -> gone`'),
        ('redirects "moved.txt"', "no test reaches this list", '`test "/b" -> redirect 302 "/c"`'),
        ("redirect `^/a$` -> jinja `/{{ user.username }}`", "no test reaches this redirect", "add a `test` of a key"),
    ],
)
def test_all_kinds_want_a_test(statement, message, help):
    """The help has a test that passes, of a real key."""
    statements = f"rewrite `^/b/` -> `/c`\n{statement}\ntest `/b/` -> `/c/`"
    (finding,) = findings(UNTESTED_REWRITE, statements, lists={"moved.txt": "/b /c"})
    assert finding.message == message
    assert help in (finding.help or "")


def test_a_list_without_effect_wants_no_test():
    """No line can be tested."""
    statements = 'gone `^/b$`\nredirects "moved.txt"\ntest `/b` -> gone'
    assert findings(UNTESTED_REWRITE, statements, lists={"moved.txt": "/b /c"}) == []
    assert findings(UNTESTED_REWRITE, 'redirects "moved.txt"\ntest `/b` -> unchanged', lists={"moved.txt": ""}) == []
