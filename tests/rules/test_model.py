import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_sites import rule_sets
from rule_texts import document, statement

from tornado_proxy.goregex.alphabet import LONGEST_KEY, is_valid_key
from tornado_proxy.lang.tree import Verdict
from tornado_proxy.rules.compile import compile_documents, compile_test
from tornado_proxy.rules.model import (
    LONGEST_OBJECT_KEY,
    RefusedResult,
    RewriteError,
    RuleSet,
    RuleTest,
    TemplateFailed,
    UserRequired,
    evaluate,
    host_objection,
    objection,
    path_objection,
    segment_objection,
)
from tornado_proxy.templates.template import TargetData, User


@pytest.mark.parametrize(
    "text",
    ["/", "/a", "/a/", "//a", "/a//b", "/...", "/a../b", "/..a", "/.hidden", "/a b+c%d?e#f", "/é中", "/a\u3000b", ""],
)
def test_what_can_be_named_can_be_a_key(text):
    """Several slashes, dots within names, spaces and all scripts are valid."""
    assert objection(text) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("/..", "contains a `.` or `..` segment"),
        ("/.", "contains a `.` or `..` segment"),
        ("/a/../b", "contains a `.` or `..` segment"),
        ("/a/./b", "contains a `.` or `..` segment"),
        ("../a", "contains a `.` or `..` segment"),
        ("/a/..", "contains a `.` or `..` segment"),
        ("/a\nb", "contains a control character"),
        ("/\x00", "contains a control character"),
        ("/\x7f", "contains a control character"),
        ("/\x85", "contains a control character"),
        ("/\udcff", "is not valid Unicode"),
        ("/" + "é" * 513, "is longer than 1024 bytes"),
    ],
)
def test_what_no_key_may_hold_is_named(text, reason):
    """The reason can end a sentence."""
    assert objection(text) == reason


def test_a_key_may_be_as_long_as_s3_takes_it():
    """S3 does not count the leading slash."""
    assert objection("/" + "a" * LONGEST_OBJECT_KEY) is None
    assert objection("/" + "a" * (LONGEST_OBJECT_KEY + 1)) == "is longer than 1024 bytes"


def test_a_path_may_be_of_any_length():
    """A long path may have a short key, because the mount is removed."""
    assert path_objection("/" + "a" * 5000) is None
    assert path_objection("/" + "a" * 5000 + "/..") == "contains a `.` or `..` segment"


@given(st.lists(st.sampled_from(["a", ".", "..", "/", "b"])))
def test_no_segment_of_dots_passes(parts):
    """A valid key has no `.` or `..` segment."""
    text = "".join(parts)
    assert (objection(text) is None) is (not {".", ".."} & set(text.split("/")))


@pytest.mark.parametrize(
    ("name", "objection"),
    [
        ("ann", None),
        ("ann@example.com", None),
        ("..ann", None),
        ("a\\b", None),
        ("", "is empty"),
        ("a/b", "contains a `/`"),
        ("/", "contains a `/`"),
        ("..", "contains a `.` or `..` segment"),
        (".", "contains a `.` or `..` segment"),
        ("a\n", "contains a control character"),
    ],
)
def test_a_name_is_one_segment(name, objection):
    """The name of a file or a user is one segment of a key."""
    assert segment_objection(name) == objection


@pytest.mark.parametrize("host", ["", "www.example.com", "WWW.example.com:8080", "[::1]:80", "192.0.2.1", "a_b", "%41"])
def test_what_a_host_header_may_hold_is_a_host(host):
    """A host may have a port, and may be an address."""
    assert host_objection(host) is None


@pytest.mark.parametrize(
    ("host", "objection"),
    [
        ("a/b", "contains `/`"),
        ("http://a", "contains `/`"),
        ("a b", "contains ` `"),
        ("a,b", "contains `,`"),
        ("100%", "contains `%`"),
        ("ä.example", "contains `ä`"),
        ("a\n", "contains a control character"),
    ],
)
def test_what_the_service_refuses_is_none(host, objection):
    """The reason can end a sentence."""
    assert host_objection(host) == objection


@given(st.text("/.ab\x85\n\x7f\ud800é", max_size=8))
def test_proofs_know_the_same_keys(text):
    """The proofs and the rules agree on what a key is."""
    assert is_valid_key(text) == (text.startswith("/") and objection(text) is None)


@pytest.mark.parametrize(("text", "real"), [("/" + "a" * (LONGEST_KEY - 1), True), ("/" + "a" * LONGEST_KEY, False)])
def test_proofs_know_the_longest_key(text, real):
    """The proofs and the rules agree on the longest key."""
    assert ((objection(text) is None), is_valid_key(text)) == (real, real)


REWRITE = compile_documents([document('target site { rewrite home `^/a$` -> "/b" }')]).rule_sets["site"].rewrites[0]


@pytest.mark.parametrize(
    "error",
    [
        RefusedResult("the result is empty", REWRITE, ""),
        UserRequired("the template reads `user.name`, but nobody is signed in", REWRITE),
        TemplateFailed("division by zero", REWRITE),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_names_the_rewrite_that_it_happened_in(error):
    """The error names the rewrite and the reason."""
    assert isinstance(error, RewriteError)
    assert error.rewrite.label == "home"
    assert str(error)


def test_a_refused_result_can_be_shown():
    """The refused text is kept for explanations."""
    assert RefusedResult("the result contains a control character", REWRITE, "/a\n").result == "/a\n"


def _rewrites(statement):
    return rule_sets(f"target site {{ {statement} }}")["site"].rewrites


@pytest.mark.parametrize(("name", "label"), [("press", "press"), ("", "#1")])
def test_a_rewrite_is_called_by_its_name_or_its_number(name, label):
    """Logs, metrics and `explain` show the name or the number."""
    (rewrite,) = _rewrites(f'rewrite {name} `^/a$` -> "/b"')
    assert (rewrite.number, rewrite.label) == (1, label)


def test_a_rewrite_knows_its_place():
    """Its span runs from `rewrite` to the end of its template."""
    (rewrite,) = _rewrites('rewrite `^/a$` -> "/b"')
    assert rewrite.span.text == 'rewrite `^/a$` -> "/b"'


def rule_set(statements):
    """The compiled rules of a target, which have no mistake."""
    compiled = compile_documents([document(f"target site {{\n{statements}\n}}")])
    assert compiled.diagnostics == ()
    return compiled.rule_sets["site"]


def test_the_first_rewrite_that_matches_decides():
    """Later rewrites are not tried, and the result is not rewritten again."""
    rules = rule_set(
        """
        rewrite first  `^/a$` -> "/b"
        rewrite second `^/a`  -> "/c"
        rewrite third  `^/b$` -> "/d"
        """
    )
    rewritten = rules.rewrite("/a")
    assert (rewritten.key, rewritten.rewrite and rewritten.rewrite.label) == ("/b", "first")


def test_a_key_that_no_rewrite_matches_stays_as_it_is():
    """A key that no rewrite matches is not checked."""
    rewritten = rule_set('rewrite `^/a$` -> "/b"').rewrite("/file.html")
    assert (rewritten.key, rewritten.rewrite, rewritten.captures) == ("/file.html", None, None)


def test_the_whole_key_is_replaced_by_the_result():
    """The part of the key that the source did not match is dropped."""
    assert rule_set('rewrite `b` -> "/x"').rewrite("/abc").key == "/x"


def test_captures_are_shown_with_the_result():
    """The result has the text of each group."""
    rewritten = rule_set('rewrite `^/(?P<name>[^/]+)$` -> "/x/$name"').rewrite("/a")
    assert rewritten.captures is not None
    assert (rewritten.key, rewritten.captures.groups) == ("/x/a", ("/a", "a"))


@pytest.mark.parametrize(
    ("template", "key", "method", "result"),
    [
        ("x", "/a", "GET", "/x"),
        ("/x", "/a/", "GET", "/x/"),
        ("/x/", "/a/", "HEAD", "/x/"),
        ("/x", "/a/", "HEAD", "/x/"),
        ("/x", "/a/", "PUT", "/x"),
        ("/x/", "/a", "GET", "/x/"),
        ("//x", "/a", "GET", "//x"),
        ("/x//y", "/a", "GET", "/x//y"),
    ],
)
def test_slashes_are_completed_and_otherwise_kept(template, key, method, result):
    """A leading slash is added, a directory stays a directory, and several slashes stay."""
    assert rule_set(f'rewrite `^/a/?$` -> "{template}"').rewrite(key, method=method).key == result


@pytest.mark.parametrize(
    ("template", "message", "result"),
    [
        ('"$1"', "the result is empty", ""),
        ('"/x/.."', "the result contains a `.` or `..` segment", "/x/.."),
        ('".."', "the result contains a `.` or `..` segment", ".."),
        (r'"/\u0007"', "the result contains a control character", "/\a"),
        ('"/' + "x" * 1025 + '"', "the result is longer than 1024 bytes", "/" + "x" * 1025),
    ],
)
def test_a_result_that_can_be_no_key_is_refused(template, message, result):
    """A template's result is checked like a requested path."""
    with pytest.raises(RefusedResult) as caught:
        rule_set(f"rewrite bad `^/a$` -> {template}").rewrite("/a")
    assert (str(caught.value), caught.value.result, caught.value.rewrite.label) == (message, result, "bad")


def test_a_template_that_reads_a_user_needs_one():
    """If nobody is signed in, the request is refused."""
    rules = rule_set('rewrite `^/home` -> jinja "/users/{{ user.username }}"')
    assert rules.rewrite("/home", user="ann").key == "/users/ann"
    with pytest.raises(UserRequired, match=r"reads `user.username`, but nobody is signed in"):
        rules.rewrite("/home")


def test_a_template_that_fails_says_why():
    """Any other failure of a template is a mistake in the rules."""
    with pytest.raises(TemplateFailed, match="missing header `X-Tenant`"):
        rule_set("rewrite `^/a$` -> jinja \"/{{ request.headers['X-Tenant'] }}\"").rewrite("/a")


def test_templates_see_what_a_caller_passes_of_the_request():
    """Method, host, headers, user and target reach the template."""
    rules = rule_set(
        "rewrite `^/a$` -> jinja `/{{ request.method }}/{{ request.host }}/{{ request.headers.x }}"
        "/{{ user.email }}/{{ target.name }}/{{ request.path }}`"
    )
    told = {"method": "PUT", "host": "h", "headers": (("X", "y"),), "user": User("ann", email="e")}
    assert rules.rewrite("/a", **told).key == "/PUT/h/y/e/site//a"
    assert rules.rewrite("/a", **told, target=TargetData("other")).key == "/PUT/h/y/e/other//a"


def test_a_rewrite_without_a_name_goes_by_its_number():
    """Numbers begin with one, and a rewrite has its place in the file."""
    first, second = rule_set('rewrite `a` -> "/"\nrewrite home `b` -> "/"').rewrites
    assert (first.label, second.label) == ("#1", "home")
    assert (first.span.place, second.span.place) == ("site.rules:2:1", "site.rules:3:1")


def test_rule_sets_that_say_the_same_are_equal():
    """Equality ignores places, so the edit of a comment changes nothing."""
    assert rule_set('rewrite `a` -> "/b"') == rule_set('# moved\nrewrite `a` ->\n"/b"')
    assert rule_set('rewrite `a` -> "/b"') != rule_set('rewrite `a` -> "/c"')
    assert RuleSet("site") == rule_set("")


@given(st.text(max_size=8), st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_whatever_a_user_and_a_key_hold_the_result_can_be_a_key(username, name):
    """A result is either a valid key or refused."""
    rules = rule_set("rewrite `(?s)^/(.*)$` -> jinja `/{{ user.username }}/{{ groups[1] }}`")
    try:
        key = rules.rewrite(f"/{name}", user=username).key
    except RefusedResult:
        return
    assert key.startswith("/")
    assert objection(key) is None


def _test(text):
    compiled = compile_test(statement(text))
    assert isinstance(compiled, RuleTest)
    return compiled


def _mistakes(text):
    compiled = compile_test(statement(text))
    assert not isinstance(compiled, RuleTest)
    return [(mistake.message, mistake.span.text, mistake.help) for mistake in compiled]


def test_a_test_without_clauses_is_a_get_by_nobody():
    """A test without clauses has the defaults."""
    test = _test('test "/a" -> "/b"')
    assert (test.key, test.method, test.user, test.host, test.headers, test.expected) == (
        "/a",
        "GET",
        None,
        "",
        (),
        "/b",
    )


def test_clauses_tell_of_the_request():
    """Method, host and headers are used, repeated headers in their order."""
    test = _test('test "/a" method PUT host "h" header "X" "1" header "x" "2" -> unchanged')
    assert (test.method, test.host, test.headers) == ("PUT", "h", (("X", "1"), ("x", "2")))
    assert test.expected is Verdict.UNCHANGED


@pytest.mark.parametrize(
    ("clauses", "user"),
    [
        ('as "ann"', User("ann")),
        ('as ann email "a@b"', User("ann", "HEADER", "a@b")),
        ('as ann user-groups "a, b,,c "', User("ann", "HEADER", groups=("a", "b", "c"))),
        ('as ann user-groups ""', User("ann", "HEADER")),
        ('as ann user-groups "x" email "e"', User("ann", "HEADER", "e", ("x",))),
    ],
)
def test_a_user_has_what_the_clauses_give(clauses, user):
    """Groups are separated by commas; a user with an email address or groups is a header user."""
    assert _test(f'test "/a" {clauses} -> error').user == user


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        (
            'test "a/b" -> "/c"',
            [
                (
                    "the key `a/b` does not begin with `/`",
                    '"a/b"',
                    'write "/a/b": a key is the path below the mount, with its leading slash',
                )
            ],
        ),
        ('test "/a/../b" -> error', [("the key contains a `.` or `..` segment", '"/a/../b"', None)]),
        (
            'test "/a" -> "/b/.."',
            [
                (
                    "the key contains a `.` or `..` segment",
                    '"/b/.."',
                    "expect `error` if the result is refused",
                )
            ],
        ),
        (
            'test "/a" method PATCH -> "/b"',
            [
                (
                    "unknown method `PATCH`",
                    "PATCH",
                    "use `GET`, `HEAD`, `PUT`, `DELETE`",
                )
            ],
        ),
        (
            'test "/a/" method PUT -> "/b"',
            [("the key of a `PUT` ends with the name of a file, not with `/`", '"/a/"', "add the name of the file")],
        ),
        (
            'test "/a/" method DELETE -> "/b"',
            [("the key of a `DELETE` ends with the name of a file, not with `/`", '"/a/"', "add the name of the file")],
        ),
        (
            'test "/a" user-groups "x" email "e" -> "/b"',
            [
                (
                    "`user-groups` describes a user, but nobody is signed in",
                    '"x"',
                    'name the user with `as "…"`',
                ),
                (
                    "`email` describes a user, but nobody is signed in",
                    '"e"',
                    'name the user with `as "…"`',
                ),
            ],
        ),
        (
            'test "/a" as "a/b" -> "/b"',
            [
                (
                    "`a/b` cannot sign in: the name contains a `/`",
                    '"a/b"',
                    "the service refuses such a name before it looks at the rules; a name is one segment of a path",
                )
            ],
        ),
        (
            'test "/a" host "a/b" -> "/b"',
            [
                (
                    "the host `a/b` contains `/`",
                    '"a/b"',
                    "the service refuses such a request before it looks at the rules; a host is a name or an address",
                )
            ],
        ),
        ('test "/a" as "" -> error', [("`` cannot sign in: the name is empty", '""', None)]),
        (
            'test "https://www.example.com/a/b?x=1" -> "HTTP://x"',
            [
                (
                    "the key `https://www.example.com/a/b?x=1` does not begin with `/`",
                    '"https://www.example.com/a/b?x=1"',
                    "a key is the path below the mount, without scheme, host and query",
                ),
                (
                    "the key `HTTP://x` does not begin with `/`",
                    '"HTTP://x"',
                    "a key is the path below the mount, without scheme, host and query",
                ),
            ],
        ),
        (
            'test "a" -> "b"',
            [
                ("the key `a` does not begin with `/`", '"a"', None),
                ("the key `b` does not begin with `/`", '"b"', None),
            ],
        ),
    ],
)
def test_a_test_that_cannot_be_run_says_why(text, mistakes):
    """Every mistake of a test is reported, at its word."""
    found = _mistakes(text)
    expected = [
        (message, place, cure or shown) for (message, place, cure), (_, _, shown) in zip(mistakes, found, strict=True)
    ]
    assert found == expected


RULES = r"""
    rewrite moved `^/old/(.*)$` -> "/new/$1"
    rewrite `^/same$` -> "/same"
    rewrite `^/mine$` -> jinja "/{{ user.username }}"
    rewrite `^/where$` -> jinja "/{{ target.name }}{{ request.path }}"
"""


def _outcome(test, target=None):
    compiled = compile_documents([document(f"target site {{ {RULES} test {test} }}")])
    rule_set = compiled.rule_sets["site"]
    return evaluate(rule_set, rule_set.tests[0], target)


def test_the_expected_key_passes():
    """A test passes if the rules make the expected key, and names the rewrite."""
    outcome = _outcome('"/old/a.txt" -> "/new/a.txt"')
    assert outcome.passed
    assert outcome.rewrite is not None
    assert outcome.rewrite.label == "moved"


def test_another_key_fails():
    """A test fails if the rules make another key."""
    assert not _outcome('"/old/a.txt" -> "/new/b.txt"').passed


def test_unchanged_means_that_no_rewrite_matched():
    """A rewrite to the same key is not `unchanged`, but makes the expected key."""
    assert _outcome('"/else" -> unchanged').passed
    assert not _outcome('"/same" -> unchanged').passed
    assert _outcome('"/same" -> "/same"').passed


def test_a_key_that_nothing_matched_may_be_expected_by_name():
    """Only the final key counts, even if no rewrite made it."""
    assert _outcome('"/else" -> "/else"').passed


def test_an_error_is_expected_or_a_failure():
    """A template that fails passes a test that expects it, fails any other, and names its rewrite."""
    assert _outcome('"/mine" -> error').passed
    outcome = _outcome('"/mine" -> "/ann"')
    assert not outcome.passed
    assert isinstance(outcome.got, UserRequired)
    assert outcome.rewrite is outcome.got.rewrite


def test_an_error_that_does_not_come_is_a_failure():
    """A test that expects an error fails if there is a key."""
    assert not _outcome('"/mine" as "ann" -> error').passed


def test_the_target_is_known_by_its_name_alone():
    """Without a configuration a template sees the target's name, and the key is the whole path."""
    assert _outcome('"/where" -> "/site/where"').passed


def test_a_configured_target_is_seen_with_its_mount():
    """With a configuration a template sees the path below the first mount."""
    assert _outcome('"/where" -> "/site/docs/where"', TargetData("site", mount_paths=("/docs/", "/d/"))).passed
