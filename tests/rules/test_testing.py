"""What is said of a rule test that failed."""

from __future__ import annotations

import pytest

from tornado_proxy.rules.diagnostic import Safety
from tornado_proxy.rules.loading import RuleFile, compile_rule_files
from tornado_proxy.rules.model import evaluate
from tornado_proxy.rules.testing import failure

RULES = "rewrite moved `^/a$` -> `/b`\nrewrite `^/dots$` -> `/..`\n"
DOTS = "`/dots` is refused (the result contains a `.` or `..` segment)"


def _failure(test):
    loaded = compile_rule_files([RuleFile("site.rules", f"target site {{\n{RULES}{test}\n}}".encode())])
    rules = loaded.rule_sets["site"]
    return failure(evaluate(rules, rules.tests[0]))


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
    ],
)
def test_the_message_states_the_actual_result(test, message, replacement):
    """The fix, which is only displayed, expects it; the place is the expectation."""
    said = _failure(test)
    assert (said.code, said.message) == ("failing-test", message)
    assert [(fix.edits[0].text, fix.safety) for fix in said.fixes] == [(replacement, Safety.DISPLAY)]
    assert said.span.text == test.rpartition("-> ")[2]
