import pytest
from rule_texts import document, statement

from tornado_proxy.lang.tree import Verdict
from tornado_proxy.rules.compile import compile_documents
from tornado_proxy.rules.model import RuleTest, UserRequired
from tornado_proxy.rules.testing import compile_test, evaluate
from tornado_proxy.templates.template import TargetData, User


def _test(text):
    compiled = compile_test(statement(text))
    assert isinstance(compiled, RuleTest)
    return compiled


def _mistakes(text):
    compiled = compile_test(statement(text))
    assert not isinstance(compiled, RuleTest)
    return [(mistake.message, mistake.span.text, mistake.help) for mistake in compiled]


def test_a_test_without_clauses_is_a_get_by_nobody():
    """What is not said is what is usual."""
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
    """Method, host and headers are taken over, repeated headers in order."""
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
    """Groups are parted by commas; who has an email or groups came by headers."""
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
                    "expect `error` where the result is refused",
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
            [("the key of a `PUT` ends in the file's name, not in `/`", '"/a/"', "add the name of the file")],
        ),
        (
            'test "/a" user-groups "x" email "e" -> "/b"',
            [
                (
                    "`user-groups` says something of a user, but nobody is signed in",
                    '"x"',
                    'name the user with `as "…"`',
                ),
                (
                    "`email` says something of a user, but nobody is signed in",
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
                    "the service refuses such a name before it asks any rule; a name is one segment of a path",
                )
            ],
        ),
        (
            'test "/a" host "a/b" -> "/b"',
            [
                (
                    "the host `a/b` contains `/`",
                    '"a/b"',
                    "the service refuses such a request before it asks any rule; a host is a name or an address",
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
                    'write "/a/b": a key is the path alone, without scheme, host and query',
                ),
                (
                    "the key `HTTP://x` does not begin with `/`",
                    '"HTTP://x"',
                    'write "/": a key is the path alone, without scheme, host and query',
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
    """Every mistake of a test is told, at the word that makes it."""
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
    """A test passes where the rules make the key that it expects, and tells which rewrite made it."""
    outcome = _outcome('"/old/a.txt" -> "/new/a.txt"')
    assert outcome.passed
    assert outcome.rewrite is not None
    assert outcome.rewrite.label == "moved"


def test_another_key_fails():
    """A test fails where the rules make another key."""
    assert not _outcome('"/old/a.txt" -> "/new/b.txt"').passed


def test_unchanged_means_that_no_rewrite_matched():
    """A rewrite to the same key is not a key left unchanged, but it is the key."""
    assert _outcome('"/else" -> unchanged').passed
    assert not _outcome('"/same" -> unchanged').passed
    assert _outcome('"/same" -> "/same"').passed


def test_a_key_that_nothing_matched_may_be_expected_by_name():
    """The final key counts, whether or not a rewrite made it."""
    assert _outcome('"/else" -> "/else"').passed


def test_an_error_is_expected_or_a_failure():
    """A template that fails passes a test that expects it, fails any other, and names its rewrite."""
    assert _outcome('"/mine" -> error').passed
    outcome = _outcome('"/mine" -> "/ann"')
    assert not outcome.passed
    assert isinstance(outcome.got, UserRequired)
    assert outcome.rewrite is outcome.got.rewrite


def test_an_error_that_does_not_come_is_a_failure():
    """A test that expects an error fails where there is a key."""
    assert not _outcome('"/mine" as "ann" -> error').passed


def test_the_target_is_known_by_its_name_alone():
    """Without a configuration a template sees the target's name, and the key is the whole path."""
    assert _outcome('"/where" -> "/site/where"').passed


def test_a_configured_target_is_seen_with_its_mount():
    """With a configuration a template sees the path below the first mount."""
    assert _outcome('"/where" -> "/site/docs/where"', TargetData("site", mount_paths=("/docs/", "/d/"))).passed
