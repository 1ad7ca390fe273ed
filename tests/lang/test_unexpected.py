from __future__ import annotations

import pytest
from lark.exceptions import UnexpectedToken
from rule_texts import complaints

from tornado_proxy.lang.diagnostic import SourceFile
from tornado_proxy.lang.reading import KEYWORDS, Reading, Where
from tornado_proxy.lang.unexpected import Unexpected, next_statement, shown


def _unexpected(text):
    reading = Reading(SourceFile("a.rules", text), text)
    try:
        for token in reading.tokens():
            reading.feed(token)
        reading.end()
    except UnexpectedToken as error:
        return Unexpected.at(reading, error.token)
    raise AssertionError("the text has no mistake")


def test_unexpected_token_knows_token_and_surroundings():
    """It says what the token is, what would have fitted, and in the middle of what."""
    unexpected = _unexpected('target a { rewrite "x"  => "y"')
    assert (unexpected.token, unexpected.start, unexpected.end, unexpected.where) == ("=>", 24, 26, Where.REWRITE)
    assert unexpected.accepts == {"ARROW", "STRING", "RAW"}
    assert unexpected.follows(3) == '"y"'


@pytest.mark.parametrize(
    ("text", "breaks_off"),
    [
        ('target a { rewrite "x"\n  test', True),
        ('target a { rewrite "x" test', False),
        ('target a { rewrite "x"', True),
        ('target a { rewrite "x"\n  ?', False),
        ("target a {\n  oops", False),
    ],
)
def test_statement_breaks_off_where_another_one_begins(text, breaks_off):
    """A statement ends early where another one begins on a new line, and at the end of the file."""
    assert _unexpected(text).breaks_off is breaks_off


def test_first_token_of_a_file_is_first_on_its_line():
    """Before the first token nothing was fed."""
    assert _unexpected("?").first_on_line
    assert not _unexpected("target ?").first_on_line


@pytest.mark.parametrize(
    ("text", "surplus"),
    [
        ("?", False),
        ("target a { ?", False),
        ('target a { rewrite "x" -> "y" ?', True),
        ('target a { rewrite "x" -> "y"\n?', False),
        ('target a { rewrite "x" ?', False),
    ],
)
def test_token_behind_a_complete_statement_is_surplus(text, surplus):
    """On the line of a complete statement nothing else was meant to begin."""
    assert _unexpected(text).is_surplus is surplus


def test_missing_tokens_can_be_put_before_the_token():
    """After an insertion the token is read again, now as what fits."""
    unexpected = _unexpected("target a test")
    unexpected.insert("LBRACE")
    assert next(iter(unexpected.reading.tokens())).type == "TEST"


@pytest.mark.parametrize(("token", "letters"), [("=>", False), ("@ann", True), ("é/", True)])
def test_punctuation_is_no_text(token, letters):
    """Marks are told apart from text without quotes."""
    assert _unexpected(f"target {token}").is_text is letters


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
        ("target a { test `x` as }", "expected a value of `as` (a name or a string), found `}`"),
        ("target a { test `x` method }", "expected a value of `method` (a name or a string), found `}`"),
        ("target a { test `x` host }", "expected a value of `host` (a name or a string), found `}`"),
        ("target a { test `x` header }", "expected a value of `header` (a name or a string), found `}`"),
        ("target a { test `x` header h }", "expected a value of `header` (a name or a string), found `}`"),
        ("target a { test `x` user-groups }", "expected a value of `user-groups` (a name or a string), found `}`"),
        ("target a { test `x` email }", "expected a value of `email` (a name or a string), found `}`"),
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
    ("text", "words"),
    [
        ("x" * 50, f"`{'x' * 40}…`"),
        ("a\u200bb", "U+200B (zero width space)"),
        ("\x01", "U+0001 (control character)"),
        ("\r", "U+000D (control character)"),
    ],
)
def test_text_is_shown_so_that_it_can_be_seen(text, words):
    """A long text is cut, a character that nobody sees is named."""
    assert shown(text) == words


def test_keywords_go_by_the_grammars_names():
    """A keyword's terminal is its word in capitals."""
    assert (KEYWORDS["USER_GROUPS"], KEYWORDS["GO"]) == ("user-groups", "go")


@pytest.mark.parametrize(
    "line",
    [
        'rewrite "a" -> "b"',
        "    test",
        "target site {",
        "}",
        '\trewrit home `a` -> "b"',
        'redirect "/a" -> "/b"',
        '"/a" -> "/b"',
        "^/a -> /b",
    ],
)
def test_line_looks_like_a_statement(line):
    """Its first word, a misspelt one too, or its arrow makes a line look like a statement."""
    assert next_statement(f"x\n{line}\n", 0) == 2 + len(line) - len(line.lstrip())


@pytest.mark.parametrize(
    "line",
    [
        '-> "b"',
        '"b"',
        'as "ann" -> "/b"',
        'header a "b"',
        'jinja "/b"',
        "rewrite-all",
        "# rewrite",
        "",
        "word",
        'word "b"',
    ],
)
def test_line_looks_like_a_continuation(line):
    """A line that goes on with a statement is not a sync point."""
    text = f"x\n{line}\n"
    assert next_statement(text, 0) == len(text)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('? } rewrite "a"', '} rewrite "a"'),
        ('? test "a"', 'test "a"'),
        ('? rewrite home "a"', 'rewrite home "a"'),
        ("? target b {", "target b {"),
        ("? { } # }\ntest", "test"),
        ("? rewrite\n  as\n  }", "}"),
        ('? prewrite "a"\nmore\n', ""),
        ("? test it", ""),
        ('? "', ""),
        ("?", ""),
    ],
)
def test_reading_goes_on_at_the_next_statement(text, rest):
    """The rest of the line counts with more care than the lines below."""
    assert text[next_statement(text, 1) :] == rest
