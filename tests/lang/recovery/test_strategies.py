from __future__ import annotations

from pathlib import Path

import pytest
from rule_texts import complaints, parsed

from tornado_proxy.lang.excerpt import render
from tornado_proxy.lang.recovery.strategies import MOST_MISTAKES
from tornado_proxy.lang.tree import TestStatement

CASES = sorted((Path(__file__).parent / "mistakes").glob("*.txt"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_mistakes_are_told_as_in_their_golden_file(case):
    """One run over the first half of the file says all that its second half says, and no more."""
    text, _, expected = case.read_text(encoding="utf-8").partition("----------\n")
    assert "\n\n".join(render(diagnostic) for diagnostic in parsed(text).diagnostics) + "\n" == expected


def test_file_with_too_many_mistakes_is_given_up():
    """After a thousand mistakes one more says that the rest is not read."""
    messages = complaints("target site {\n" + "oops!\n" * 10 + 'rewrite "a" => "b"\n' * 2 * MOST_MISTAKES + "}\n")
    assert len(messages) == MOST_MISTAKES + 1
    assert messages[-1] == "more than 1000 mistakes: the rest of the file is not read"


@pytest.mark.parametrize(
    "text",
    ["} " * 2000, "target x y\n" * 2000, 'target a { rewrite "a" -> ' + "-> " * 2000, "target a {" + "; " * 2000],
)
def test_giving_up_ends_whatever_was_begun(text):
    """The document of a file that is given up is whole, wherever reading stopped."""
    assert parsed(text).diagnostics[-1].code == "too-many-mistakes"


def test_mistake_without_a_cure_ends_its_statement_only():
    """What nobody understands is skipped up to the next statement."""
    result = parsed('target site {\n    test "/a" -> "/b" ) (\n    test "/c" -> "/d"\n}\n')
    assert [diagnostic.message for diagnostic in result.diagnostics] == ["expected `rewrite`, `test` or `}`, found `)`"]
    assert len(result.document.blocks[0].statements) == 2


def test_statement_without_a_cure_is_left_out():
    """A statement that nobody understands ends where the next one begins."""
    result = parsed('target site {\n    rewrite `^/a` { -> "/b" }\n    test "/c" -> "/d"\n}\n')
    assert [diagnostic.message for diagnostic in result.diagnostics] == ["expected `->`, found `{`"]
    assert [type(each) for each in result.document.blocks[0].statements] == [TestStatement]


def test_braces_within_what_is_skipped_are_not_missed_later():
    """A foreign block within a block closes with its own brace, about which nothing is said."""
    assert complaints("target site {\n    location /x {\n    }\n}\n") == [
        "expected `rewrite`, `test` or `}`, found `location`"
    ]
