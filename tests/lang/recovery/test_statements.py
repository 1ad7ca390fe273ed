from __future__ import annotations

import pytest
from rule_texts import complaints, parsed

_FIRST_LINE = "a block begins with `target NAME {`"


def _blocks(text):
    """The targets of the blocks that are left, with the number of their statements."""
    return [(block.name.value, len(block.statements)) for block in parsed(text).document.blocks]


def test_block_without_an_end_is_shown_its_beginning():
    """Where the next block begins, the brace that closes nothing yet is pointed at."""
    text = 'target a {\n  test "/a" -> error\ntarget b {\n}\n'
    (diagnostic,) = parsed(text).diagnostics
    assert (diagnostic.code, diagnostic.message) == ("unclosed-block", "expected `}`, found `target`")
    assert (diagnostic.span.first.line, diagnostic.notes[0].span.first) == (3, (1, 10))
    assert _blocks(text) == [("a", 1), ("b", 0)]


def test_last_block_without_an_end_is_pointed_at_behind_its_last_token():
    """At the end of the file the place is where the brace should stand."""
    (diagnostic,) = parsed('target a {\n  test "/a" -> error\n\n\n').diagnostics
    assert diagnostic.message == "expected `}`, found the end of the file"
    assert diagnostic.span.first == (2, 21)


def test_brace_that_comes_too_late_is_forgiven():
    """A block within a block is one mistake, not two."""
    text = "target a {\n target b {\n }\n}\n"
    assert complaints(text) == ["expected `}`, found `target`"]
    assert _blocks(text) == [("a", 0), ("b", 0)]


def test_block_that_never_opened_need_not_close():
    """Where the opening brace is missing, the closing one is not asked for as well."""
    assert complaints('target a\n  test "/a" -> error\n') == ["expected `{`, found the end of the line"]


def test_misspelt_block_ends_the_one_before_it():
    """A block whose first word is misspelt still begins a block."""
    assert complaints("target a {\ntarget_ b {\n}") == [
        "expected `}`, found `target_`",
        "expected `target`, found `target_`",
    ]


def test_stray_brace_is_named():
    """A closing brace too many closes nothing."""
    (diagnostic,) = parsed("target a {}\n}\n").diagnostics
    assert diagnostic.message == "unmatched `}`"
    assert diagnostic.help == "remove it, or look for an extra brace above"


@pytest.mark.parametrize("name", ["site", '"my site"'])
def test_block_without_its_word_is_read(name):
    """A name and a brace are a block although `target` is missing."""
    text = f'{name} {{ test "/a" -> error }}'
    (diagnostic,) = parsed(text).diagnostics
    assert diagnostic.help == "a block begins with the word `target`"
    assert _blocks(text) == [(name.strip('"'), 1)]


def test_statements_outside_of_a_block_are_named_once():
    """The statements are read, so that their own mistakes come out, but belong to no target."""
    text = 'rewrite `^/a` => "/b"\ntest "/a" -> error\ntarget a {}\n'
    first, second = parsed(text).diagnostics
    assert (first.code, first.message) == ("outside-block", "`rewrite` outside of a block")
    assert (first.notes, second.message) == ((), "expected `->`, found `=>`")
    assert _blocks(text) == [("a", 0)]


def test_statement_behind_a_block_is_shown_where_that_ended():
    """After a brace too many the author sees which one."""
    (diagnostic,) = parsed('target a {\n}\n  tets "/a" -> error\n}\n').diagnostics[:1]
    assert diagnostic.message == "`tets` outside of a block"
    assert (diagnostic.notes[0].message, diagnostic.notes[0].span.first) == ("the last block ends here", (2, 1))


@pytest.mark.parametrize(
    ("text", "message", "blocks"),
    [
        ("target {}", "expected the target's name (a name or a string), found `{`", []),
        ("target `a` {}", "expected the target's name (a name or a string), found a raw string", []),
        ("target\n}", "expected the target's name (a name or a string), found the end of the line", []),
        ("target", "expected the target's name (a name or a string), found the end of the file", []),
        ("target a", "expected `{`, found the end of the file", [("a", 0)]),
        ("target a }", "expected `{`, found `}`", [("a", 0)]),
        ('target a\ntest "/a" -> error }', "expected `{`, found the end of the line", [("a", 1)]),
        ('target a test "/a" -> error }', "expected `{`, found `test`", [("a", 1)]),
        ('target a b { test "/a" -> error }', "expected `{`, found `b`", [("a", 1)]),
        ('target a: # c\n test "/a" -> error }', "expected `{`, found `:`", [("a", 1)]),
        ("target target x {}", "expected `{`, found `x`", [("target", 0)]),
        ("target 1st {}", "expected the target's name (a name or a string), found `1st`", []),
        ("target a/b {}", "invalid name `a/b`", [("a/b", 0)]),
        ('target "a {\n}', "unterminated string", []),
        ('target "a\n{\n}', "unterminated string", []),
        ('target a "b {\n}', "unterminated string", [("a", 0)]),
    ],
)
def test_first_line_is_mended(text, message, blocks):
    """A mistake in a block's first line is told once, and the statements within are read."""
    assert complaints(text) == [message]
    assert _blocks(text) == blocks


def test_first_line_has_a_help():
    """The help shows what a first line looks like."""
    assert parsed("target {}").diagnostics[0].help == _FIRST_LINE


@pytest.mark.parametrize("following", ['test "/b" -> error', 'rewrite home `^/b` -> "/c"', "}"])
@pytest.mark.parametrize(
    "broken",
    ["rewrite `^/a`", "rewrite `^/a` ->", "rewrite `^/a` -> go", "test", 'test "/a"', 'test "/a" as', 'test "/a" ->'],
)
def test_statement_that_breaks_off_does_not_take_the_next_one(broken, following):
    """What is missing is told where it is missing, and the next line is read."""
    text = f"target a {{\n  {broken}\n  {following}\n" + ("}" if following != "}" else "")
    (diagnostic,) = parsed(text).diagnostics
    assert diagnostic.message.startswith("expected ")
    assert diagnostic.message.endswith("found the end of the line")
    assert diagnostic.span.first == (2, 3 + len(broken))
    assert _blocks(text) == [("a", 0 if following == "}" else 1)]


def test_bare_text_at_the_end_of_a_line_is_passed_whole():
    """What is missing behind a text without quotes is missing behind all of it."""
    _, diagnostic = parsed('target a {\n  rewrite ^/a\n  test "/b" -> error\n}').diagnostics
    assert (diagnostic.message, diagnostic.span.first) == ("expected `->`, found the end of the line", (2, 14))


def test_two_strings_without_an_arrow_are_explained():
    """The first of two strings is the name, which an author who forgot the arrow does not know."""
    (diagnostic,) = parsed('target a { rewrite "^/a" "/b" }').diagnostics
    assert diagnostic.help == "a string before another one is the rewrite's name"


def test_word_of_a_statement_is_a_name_unless_that_fails():
    """Only where reading it as a name leads nowhere does a word on a new line begin a statement."""
    text = 'target a {\n test "/a" as\n test -> error\n test "/b" as\n test "/c" -> error\n}\n'
    assert complaints(text) == ["expected a user name (a name or a string), found the end of the line"]
    assert _blocks(text) == [("a", 2)]


def test_word_of_a_block_is_no_name_on_a_new_line():
    """A `target` without a name does not take the next block's word for it."""
    text = "target\ntarget b {\n}\n"
    assert complaints(text) == ["expected the target's name (a name or a string), found the end of the line"]
    assert _blocks(text) == [("b", 0)]


def test_late_clause_is_sent_back():
    """A clause behind the expected key belongs before the arrow."""
    (diagnostic,) = parsed('target a {\n test "/a" -> "/b" as "ann"\n test "/c" -> error\n}').diagnostics
    assert diagnostic.help == "the clauses of a test stand before its `->`"


def test_pattern_at_the_start_of_a_line_is_a_rewrite():
    """A rewrite without its word is read as one."""
    text = 'target a {\n  "^/a" -> "/b"\n  `^/c` -> "/d"\n}\n'
    assert [diagnostic.help for diagnostic in parsed(text).diagnostics] == [
        "a rewrite begins with the word `rewrite`"
    ] * 2
    assert _blocks(text) == [("a", 2)]


def test_string_behind_a_statement_is_too_much():
    """A second template on the same line begins no rewrite."""
    text = 'target a {\n  rewrite `^/a` -> "/b" "/c"\n}\n'
    (diagnostic,) = parsed(text).diagnostics
    assert diagnostic.help == "the statement before it is complete"
    assert _blocks(text) == [("a", 1)]


def test_a_target_of_two_words_is_answered_with_quotes():
    """A name of several words may be any text."""
    (found,) = parsed("target my site {}").diagnostics
    assert found.help == 'a name of several words stands between quotes: `"my site"`'
