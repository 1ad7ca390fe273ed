import pytest
from linting import findings, fixed, marked_texts

from tornado_proxy.lang.diagnostic import Safety

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
def test_results_that_may_be_keys_are_left_alone(template):
    """What a group or a hole decides is not a finding, nor is a result that is a key."""
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
def test_results_that_never_are_keys(template, reason):
    """The message says what is wrong with every result."""
    (found,) = findings(REFUSED_RESULT, f"rewrite `^/(.*)$` -> {template}")
    assert found.message == f"the result is always refused: it {reason}"


def test_a_refusal_that_a_test_expects_is_meant():
    """A test that expects the error silences the check; a test of another rewrite does not."""
    assert marked_texts(REFUSED_RESULT, 'rewrite `^/a/` -> ""\ntest "/a/b" -> error') == []
    assert marked_texts(REFUSED_RESULT, 'rewrite `^/a/` -> ""\nrewrite `^/b$` -> ""\ntest "/b" -> error') == ['""']


@pytest.mark.parametrize(
    "template", ['"/a"', '"$1"', '"/"', 'jinja "{{ key }}"', "jinja `\n  /a\n`", 'go "{{ .Key }}x"', '""']
)
def test_results_with_a_slash_or_unknown_are_left_alone(template):
    """A slash, a hole that may bring one, and a template that is empty are no finding of this check."""
    assert marked_texts(RELATIVE_RESULT, f"rewrite `^(/a/.*)$` -> {template}") == []


@pytest.mark.parametrize(
    ("template", "after"),
    [
        ('"a/$1"', '"/a/$1"'),
        ('jinja "a/{{ key }}"', 'jinja "/a/{{ key }}"'),
        ("go `\n  a{{ .Key }}\n`", "go `\n  /a{{ .Key }}\n`"),
        ('"$$x"', '"/$$x"'),
    ],
)
def test_the_slash_is_written(template, after):
    """The fix puts a slash before the text; it changes no key."""
    (found,) = findings(RELATIVE_RESULT, f"rewrite `^/(a.*)$` -> {template}")
    assert [fix.safety for fix in found.fixes] == [Safety.SAFE]
    assert fixed(RELATIVE_RESULT, f"rewrite `^/(a.*)$` -> {template}") == f"rewrite `^/(a.*)$` -> {after}"


@pytest.mark.parametrize(
    ("template", "after"),
    [('" y"', '"/y"'), ('" /y"', '"/y"'), ('" $1"', '"$1"'), ('"  "', '"/"'), ('" $$x"', '"/$$x"')],
)
def test_white_space_that_comes_first_is_taken_out(template, after):
    """A plain template is not trimmed: the slash takes the place of the white space, and that changes keys."""
    (found,) = findings(RELATIVE_RESULT, f"rewrite `^(/a)$` -> {template}")
    assert (
        found.message == "the result begins with white space, which a plain template keeps, and gets a slash before it"
    )
    assert [fix.safety for fix in found.fixes] == [Safety.UNSAFE]
    assert fixed(RELATIVE_RESULT, f"rewrite `^(/a)$` -> {template}") == f"rewrite `^(/a)$` -> {after}"


def test_an_address_is_no_redirect():
    """A result that looks like an address is explained, and left to its author."""
    (found,) = findings(RELATIVE_RESULT, 'rewrite `^/a$` -> "https://example.com/a"')
    assert found.message == "a result is a key, not a URL: this asks the bucket for `/https://example.com/a…`"
    assert found.fixes == ()


@pytest.mark.parametrize(
    ("rewrite", "after"),
    [
        ('rewrite `^/a/(?P<rest>[^/]+)$` -> "$rest"', '"/$rest"'),
        ('rewrite `^/([a-z]+)\\.html$` -> "${1}.htm"', '"/${1}.htm"'),
        ('rewrite `^/((?:b|c)+)/.*$` -> "$1"', '"/$1"'),
    ],
)
def test_a_group_that_never_begins_with_a_slash_is_found(rewrite, after):
    """Every match of the group has text, and none begins with a slash."""
    (found,) = findings(RELATIVE_RESULT, rewrite)
    assert found.message == "the result has no leading slash, and gets one"
    assert fixed(RELATIVE_RESULT, rewrite).endswith(f"-> {after}")


@pytest.mark.parametrize(
    "rewrite",
    [
        'rewrite `^(/a)$` -> "$1"',
        'rewrite `^/a(.*)$` -> "$1"',
        'rewrite `^/a([b-z]*)(/.*)$` -> "$1$2"',
        'rewrite `^/a(b)?(/.*)$` -> "$1$2"',
        'rewrite `^/(?:(a)|b)(/.*)$` -> "$1$2"',
        'rewrite `^(?P<n>/a)|(?P<n>b)$` -> "$n"',
        'rewrite `^/a(\\b.)` -> "$1"',
        'rewrite `^/(?P<rest>[^/]+)$` -> "$0"',
    ],
)
def test_a_group_that_may_begin_with_a_slash_is_not(rewrite):
    """Nor one that may have no text, or no part in a match: what follows it may begin with a slash."""
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
        ("^/docs", "/manual/"),  # the open end is a finding of its own
        ("^/docs/", "https://example.com/"),
        ("^/[^/]+/$", "/manual/"),
        ("^docs/$", "/manual/index.html"),
    ],
)
def test_kinds_that_stay_are_left_alone(source, template):
    """A directory that leads to one, a file to a file, and what may be either are no finding."""
    assert marked_texts(KIND_CHANGE, f"rewrite `{source}` -> `{template}`") == []


@pytest.mark.parametrize(
    ("source", "template", "message"),
    [
        ("^/docs/$", "`/manual/index.html`", "the directory `/docs/` becomes `/manual/index.html/`, which is still a directory"),
        ("^/docs/.*$", "`/page.html`", "the directory `/docs/` becomes `/page.html/`, which is still a directory"),
        ("^/(?:a|b/)$", "`/page.html`", "the directory `/b/` becomes `/page.html/`, which is still a directory"),
        ("^/docs$", "`/manual/`", "the file `/docs` becomes `/manual/`, which is a directory"),
        ("^/docs/(.*)$", "`/manual/$1/`", "the file `/docs/a` becomes `/manual/a/`, which is a directory"),
        ("^/docs$", "jinja `/{{ user.username }}/`", "the file `/docs` becomes another key, which is a directory"),
    ],
)  # fmt: skip
def test_kinds_that_change_are_shown_with_a_key(source, template, message):
    """The message shows a key and what becomes of it."""
    assert [each.message for each in findings(KIND_CHANGE, f"rewrite `{source}` -> {template}")] == [message]


def test_keys_that_an_earlier_rewrite_takes_do_not_count():
    """The directory itself may be taken before."""
    assert marked_texts(KIND_CHANGE, "rewrite `^/a/$` -> `/b/`\nrewrite `^/a/(?:x)?$` -> `/b/x.html`") == []


def test_a_key_that_comes_to_mind_needs_no_proof():
    """However many rewrites there are, those whose first guess shows it are all found."""
    rewrites = "\n".join(f"rewrite `/old{number}/` -> `/new/{number}/`" for number in range(1000))
    assert len(findings(KIND_CHANGE, rewrites)) == 1000
