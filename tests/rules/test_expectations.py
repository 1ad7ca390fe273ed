from __future__ import annotations

import pytest
from loaded_rules import rules_of
from rule_texts import statement

from tornado_proxy.rules.diagnostic import Safety
from tornado_proxy.rules.expectations import compile_test, evaluate, failure
from tornado_proxy.rules.model import RuleTest, UserRequired
from tornado_proxy.rules.tree import Verdict
from tornado_proxy.semantics.request import User
from tornado_proxy.templates.template import TargetData


def _test(text):
    compiled = compile_test(statement(text))
    assert isinstance(compiled, RuleTest)
    return compiled


def test_clauses_describe_the_request():
    """A test has the method, the host and the headers of its clauses, with repeated headers in order."""
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
def test_clauses_describe_the_user(clauses, user):
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
        ('test "/a" -> "/b/.."', [("the key contains a `.` or `..` segment", '"/b/.."', "expect `error` if the result is refused")]),
        ('test "/a" method PATCH -> "/b"', [("unknown method `PATCH`", "PATCH", "use `GET`, `HEAD`, `PUT`, `DELETE`")]),
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
                ("`user-groups` describes a user, but nobody is signed in", '"x"', 'name the user with `as "…"`'),
                ("`email` describes a user, but nobody is signed in", '"e"', 'name the user with `as "…"`'),
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
        ('test "/a" as "" -> error', [("this user cannot sign in: the name is empty", '""', None)]),
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
        ('test "a" -> "b"', [("the key `a` does not begin with `/`", '"a"', None), ("the key `b` does not begin with `/`", '"b"', None)]),
    ],
)  # fmt: skip
def test_a_test_that_cannot_be_run_has_all_its_mistakes(text, mistakes):
    compiled = compile_test(statement(text))
    result = [(mistake.message, mistake.span.text, mistake.help) for mistake in compiled]
    expected = [
        (message, place, advice or actual)
        for (message, place, advice), (_, _, actual) in zip(mistakes, result, strict=True)
    ]
    assert result == expected


RULES = r"""
    rewrite moved `^/old/(.*)$` -> "/new/$1"
    rewrite `^/same$` -> "/same"
    rewrite `^/mine$` -> jinja "/{{ user.username }}"
    rewrite `^/where$` -> jinja "/{{ target.name }}{{ request.path }}"
"""


def _outcome(test, target=None):
    rules = rules_of(f"{RULES} test {test}")
    return evaluate(rules, rules.tests[0], target)


def test_unchanged_means_that_no_rewrite_matched():
    """A rewrite to the same key is not `unchanged`, but makes the expected key."""
    assert _outcome('"/else" -> unchanged').passed
    assert not _outcome('"/same" -> unchanged').passed
    assert _outcome('"/same" -> "/same"').passed


def test_a_test_may_expect_an_error():
    """A failing template passes a test that expects an error, and fails any other test."""
    assert _outcome('"/mine" -> error').passed
    outcome = _outcome('"/mine" -> "/ann"')
    assert not outcome.passed
    assert isinstance(outcome.got, UserRequired)
    assert outcome.rewrite is outcome.got.rewrite


def test_a_target_without_a_configuration_has_its_name_only():
    """Without a configuration, templates read the name of the target, and the whole path is the key."""
    assert _outcome('"/where" -> "/site/where"').passed


def test_a_configured_target_has_its_mount():
    """With a configuration, templates read a path that begins with the first mount of the target."""
    assert _outcome('"/where" -> "/site/docs/where"', TargetData("site", mount_paths=("/docs/", "/d/"))).passed


TESTED = """rewrite moved `^/a$` -> `/b`
rewrite `^/dots$` -> `/..`
redirect 301 `^/old$` -> `/b c`
gone `^/2009`
"""
MOVED = 'redirect 301 "/b%20c"'
DOTS = "`/dots` is refused (the result contains a `.` or `..` segment)"


@pytest.mark.parametrize(
    ("test", "message", "replacement"),
    [
        ('test "/a" -> "/c"', "`/a` becomes `/b`, not `/c`", '"/b"'),
        ('test "/a" -> unchanged', "`/a` becomes `/b`, but the test expects no rewrite to match", '"/b"'),
        ('test "/a" -> error', "`/a` becomes `/b`, but the test expects an error", '"/b"'),
        ('test "/x" -> "/b"', "no rewrite matches `/x`, but the test expects `/b`", "unchanged"),
        ('test "/x" -> error', "no rewrite matches `/x`, but the test expects an error", "unchanged"),
        ('test "/dots" -> unchanged', f"{DOTS}, but the test expects no rewrite to match", "error"),
        ('test "/dots" -> "/b"', f"{DOTS}, but the test expects `/b`", "error"),
        ('test "/old" -> "/b"', "`/old` is redirected to `/b%20c` with 301, but the test expects `/b`", MOVED),
        ('test "/old" -> gone', "`/old` is redirected to `/b%20c` with 301, but the test expects `gone`", MOVED),
        ('test "/2009" -> unchanged', "`/2009` is gone, but the test expects no rewrite to match", "gone"),
        ('test "/a" -> redirect "/b"', "`/a` becomes `/b`, but the test expects `redirect 302 /b`", '"/b"'),
    ],
)
def test_the_message_states_the_actual_result(test, message, replacement):
    """The fix, which is only displayed, expects it; the place is the expectation."""
    rules = rules_of(TESTED + test)
    said = failure(evaluate(rules, rules.tests[0]))
    assert (said.code, said.message) == ("failing-test", message)
    assert [(fix.edits[0].text, fix.safety) for fix in said.fixes] == [(replacement, Safety.DISPLAY)]
    assert said.span.text == test.rpartition("-> ")[2]


@pytest.mark.parametrize(
    ("statements", "passes"),
    [
        ("redirect 308 `^/a/(.*)$` -> `/b/$1`\ntest `/a/x y` -> redirect 308 `/b/x%20y`", True),
        ("redirect 308 `^/a/(.*)$` -> `/b/$1`\ntest `/a/x y` -> redirect 308 `/b/x y`", True),
        ("redirect 308 `^/a/(.*)$` -> `/b/$1`\ntest `/a/x y` -> redirect `/b/x y`", False),
        ("redirect 308 `^/a/(.*)$` -> `/b/$1`\ntest `/a/x y` -> redirect 308 `/b`", False),
        ("redirect 308 `^/a/(.*)$` -> `/b/$1`\ntest `/a/x y` -> gone", False),
        ("redirect 308 `^/a/(.*)$` -> `/b/$1`\ntest `/a/x y` -> unchanged", False),
        ("redirect 308 `^/a/(.*)$` -> `/b/$1`\ntest `/a/x y` -> `/a/x y`", False),
        ("gone `^/a`\ntest `/a` -> gone", True),
        ("gone `^/a`\ntest `/a` -> redirect `/b`", False),
        ("gone `^/a`\ntest `/a` -> `/a`", False),
        ("gone `^/a`\ntest `/a` -> error", False),
    ],
)
def test_a_test_expects_a_redirect_or_what_is_gone(statements, passes):
    """Status and location count, which may be written encoded or not; what is gone is no key, even if that is the requested one."""
    rules = rules_of(statements)
    assert evaluate(rules, rules.tests[0]).passed is passes
