from __future__ import annotations

import pytest
from lark import Token
from rule_texts import complaints

from tornado_proxy.lang.recovery.expectation import KEYWORDS, found, shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("?", "expected `target`, found `?`"),
        ("target ?", "expected the target's name (a name or a string), found `?`"),
        ("target a ?", "expected `{`, found `?`"),
        ("target a { ? }", "expected `rewrite`, `test` or `}`, found `?`"),
        ("target a { rewrite }", "expected a source pattern (a string or a raw string between backticks), found `}`"),
        ("target a { rewrite `x` }", "expected `->`, found `}`"),
        ("target a { rewrite `x` -> }", "expected a template (a string or a raw string between backticks), found `}`"),
        (
            "target a { rewrite `x` -> go }",
            "expected a template (a string or a raw string between backticks), found `}`",
        ),
        ("target a { test }", "expected a key (a string or a raw string between backticks), found `}`"),
        ("target a { test `x` }", "expected `->` or a clause, found `}`"),
        ("target a { test `x` as }", "expected a user name (a name or a string), found `}`"),
        ("target a { test `x` method }", "expected a method (a name or a string), found `}`"),
        ("target a { test `x` host }", "expected a host (a name or a string), found `}`"),
        ("target a { test `x` header }", "expected a header's name and value (a name or a string), found `}`"),
        ("target a { test `x` header h }", "expected a header's name and value (a name or a string), found `}`"),
        ("target a { test `x` user-groups }", "expected the names of groups (a name or a string), found `}`"),
        ("target a { test `x` email }", "expected an e-mail address (a name or a string), found `}`"),
        (
            "target a { test `x` -> }",
            "expected a key (a string or a raw string between backticks), `unchanged` or `error`, found `}`",
        ),
    ],
)
def test_what_is_missing_is_said_in_words(text, message):
    """Each place of the grammar has words for what may stand there."""
    assert complaints(text) == [message]


@pytest.mark.parametrize(
    ("terminal", "text", "words"),
    [
        ("$END", "", "the end of the file"),
        ("STRING", '"x"', "a string"),
        ("RAW", "`x`", "a raw string"),
        ("NAME", "x", "`x`"),
    ],
)
def test_what_is_found_is_said_in_words(terminal, text, words):
    """Strings are named, words are shown."""
    assert found(Token(terminal, text)) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x" * 50, f"`{'x' * 40}…`"),
        ("a\u200bb", "U+200B (zero width space)"),
        ("\x01", "U+0001 (control character)"),
        ("\r", "U+000D (carriage return)"),
    ],
)
def test_text_is_shown_so_that_it_can_be_seen(text, words):
    """A long text is cut, a character that nobody sees is named."""
    assert shown(text) == words


def test_keywords_go_by_the_grammars_names():
    """A keyword's terminal is its word in capitals."""
    assert (KEYWORDS["USER_GROUPS"], KEYWORDS["GO"]) == ("user-groups", "go")
