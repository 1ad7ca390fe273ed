from __future__ import annotations

import pytest
from rule_texts import complaints_about, parsed

_STRINGS = "(a string or a raw string between backticks)"
_QUOTES = 'write the string between `"`, or between backticks, where a backslash is literal'
_COMMENT = "a comment begins with `#` and runs to the end of its line"


def _kept(statements):
    """The sources and keys of the statements that are left."""
    ((*found,),) = (block.statements for block in parsed(f"target site {{\n{statements}\n}}\n").document.blocks)
    return [(each.source if hasattr(each, "source") else each.key).value for each in found]


@pytest.mark.parametrize("arrow", ["=>", "=", "==", "→", "-->", "~>", ":", ",", "to", "into"])
def test_other_arrow_is_read_as_one(arrow):
    """What other languages write for an arrow is named, and the statement is read."""
    text = f'rewrite `^/a` {arrow} "/b"'
    assert complaints_about(text) == [(f"expected `->`, found `{arrow}`", "write `->`")]
    assert _kept(text) == ["^/a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('rewrite `^/a` "/b"', "expected `->`, found a string"),
        ('rewrite `^/a` go "/b"', "expected `->`, found `go`"),
        ('rewrite `^/a` go -> "/b"', "expected `->`, found `go`"),
        ('test "/a" `/b`', "expected `->` or a clause, found a raw string"),
        ('test "/a" as ann error', "expected `->` or a clause, found `error`"),
    ],
)
def test_missing_arrow_is_put_in(text, message):
    """What can only stand behind an arrow is read as if one were there."""
    assert complaints_about(text) == [(message, "write `->` before it")]
    assert len(_kept(text)) == 1


def test_dialect_before_its_arrow_is_the_templates():
    """The template keeps its dialect although the word stands on the wrong side."""
    (block,) = parsed('target a { rewrite `^/a` go -> "/b" }').document.blocks
    assert block.statements[0].dialect.value == "go"


def test_second_arrow_is_passed():
    """One arrow too many does no harm to the statement."""
    text = 'test "/a" -> -> "/b"'
    expected = f"expected a key {_STRINGS}, `unchanged` or `error`, found `->`"
    assert complaints_about(text) == [(expected, "remove one `->`")]
    assert _kept(text) == ["/a"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("rewrite '^/a\\.b' -> \"/b\"", "single"),
        ('rewrite “^/a\\.b” -> "/b"', "typographic"),
        ("rewrite `^/a\\.b` -> '/b'", "single"),
    ],
)
def test_other_quotes_make_a_raw_string(text, kind):
    """Quotes that are none are named, and what stands between them is read as it looks."""
    assert complaints_about(text) == [(f"{kind} quotes cannot delimit a string", _QUOTES)]
    assert _kept(text) == ["^/a\\.b"]


def test_other_quotes_around_a_name_make_a_string():
    """A target's name in single quotes is still its name."""
    result = parsed("target 'my site' {}")
    assert [block.name.value for block in result.document.blocks] == ["my site"]


def test_other_quotes_out_of_place_are_passed():
    """A quoted text between statements is named once."""
    assert complaints_about("'x'") == [("single quotes cannot delimit a string", _QUOTES)]


@pytest.mark.parametrize("comment", ["// c", "/* c */", "/* c\n c */", "-- c", "/* c", "/*/"])
def test_other_comment_is_passed(comment):
    """Comments of other languages are named and skipped."""
    text = f'rewrite `^/a` -> "/b" {comment}\nrewrite `^/c` -> "/d"'
    assert complaints_about(text) == [(f"`{comment[:2]}` does not begin a comment", _COMMENT)]
    assert _kept(text) == ["^/a", "^/c"]


def test_mark_where_a_pattern_belongs_is_no_comment():
    """A pattern without quotes may begin with slashes."""
    assert [message for message, _ in complaints_about('rewrite //a -> "/b"')] == [
        f"expected a source pattern {_STRINGS}, found `//a`"
    ]


def test_terminators_are_passed():
    """A semicolon is named each time, and ends nothing."""
    text = 'rewrite `^/a`; -> "/b";; ;'
    cure = "remove it: statements need no terminator"
    assert complaints_about(text) == [("unexpected `;`", cure)] * 3
    assert _kept(text) == ["^/a"]


def test_character_that_nobody_sees_is_passed():
    """An invisible character between words is named, and the words are read."""
    text = 'rewrite\u00a0`^/a`\u200b->\x0b"/b"'
    assert [message for message, _ in complaints_about(text)] == [
        "invisible character U+00A0 (no-break space)",
        "invisible character U+200B (zero width space)",
        "invisible character U+000B (vertical tab)",
    ]
    assert _kept(text) == ["^/a"]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('rewite `^/a` -> "/b"', "rewrite"),
        ('TEST "/a" -> error', "test"),
        ('rewrite `^/a` -> jnija "/b"', "jinja"),
        ('test "/a" usergroups "x" -> error', "user-groups"),
        ('test "/a" -> Error', "error"),
    ],
)
def test_misspelt_word_is_read_as_the_one_that_was_meant(text, meant):
    """A word close to one that would fit stands for it."""
    ((_, cure),) = complaints_about(text)
    assert cure == f"did you mean `{meant}`?"
    assert len(_kept(text)) == 1


@pytest.mark.parametrize(("value", "whole"), [("ann@example.com", "ann@example.com"), ("x/y", "x/y"), ("a,b", "a,b")])
def test_value_with_characters_that_no_name_has_wants_quotes(value, whole):
    """A torn value is named whole, and read whole."""
    text = f'test "/a" as {value} -> error'
    assert complaints_about(text) == [(f"invalid name `{whole}`", f'put it between quotes: `"{whole}"`')]
    (block,) = parsed(f"target site {{ {text} }}").document.blocks
    assert block.statements[0].clauses.user.value == whole


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        ('rewrite ^/a.*$ -> "/b"', f"a source pattern {_STRINGS}, found `^/a.*$`", "between backticks: `^/a.*$`"),
        ('rewrite x ^/a -> "/b"', f"a source pattern {_STRINGS}, found `^/a`", "between backticks: `^/a`"),
        ('rewrite ^/a` -> "/b"', f"a source pattern {_STRINGS}, found `^/a``", "between backticks: `^/a`"),
        ("rewrite `^/a` -> /b", f"a template {_STRINGS}, found `/b`", 'between quotes: `"/b"`'),
        ('rewrite `^/a` -> /b"c', f'a template {_STRINGS}, found `/b"c`', 'between backticks: `/b"c`'),
        ("rewrite `^/a` -> /b`c", f"a template {_STRINGS}, found `/b`c`", "between quotes"),
        (
            "rewrite `^/a` -> jinja {{ a }}/b",
            f"a template {_STRINGS}, found `{{{{ a }}}}/b`",
            'between quotes: `"{{ a }}/b"`',
        ),
        ('test /a -> "/b"', f"a key {_STRINGS}, found `/a`", 'between quotes: `"/a"`'),
        ('test "/a" as @ann -> error', "a user name (a name or a string), found `@ann`", 'between quotes: `"@ann"`'),
        ('rewrite 404 `^/a` -> "/b"', f"a source pattern {_STRINGS}, found `404`", 'between quotes: `"404"`'),
    ],
)
def test_text_without_quotes_is_told_how_to_have_them(text, message, help):
    """Where a string belongs, a bare text is shown as it should be written; its statement is left out."""
    assert complaints_about(text) == [(f"expected {message}", f"put it {help}")]
    assert _kept(text) == []


def test_bare_text_on_both_sides_is_told_on_both():
    """One run finds every text without quotes, and the arrow that is missing between them."""
    assert [message for message, _ in complaints_about("rewrite ^/a /b")] == [
        f"expected a source pattern {_STRINGS}, found `^/a`",
        "expected `->`, found `/b`",
        f"expected a template {_STRINGS}, found `/b`",
    ]


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ('rewrite `^/a` -> python "/b"', "a template is plain, or begins with `jinja` or `go`"),
        ('test GET "/a" -> error', "the key comes first, then clauses such as `method GET`"),
        ('test "/a" header X: 1st -> error'.replace("1st", "b"), None),
        ('test "/a" as = ann -> error', None),
    ],
)
def test_word_or_mark_too_many_is_passed(text, help):
    """What stands before a string or value that needs nothing is named, and the rest is read."""
    ((_, found),) = complaints_about(text)
    assert (found, len(_kept(text))) == (help, 1)


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ('rewrite -> "/b"', None),
        ('rewrite home -> "/b"', "`home` is read as the rewrite's name"),
        ('test -> "/b"', None),
        ('test "/a" as -> error', None),
        ('test "/a" header X -> error', None),
    ],
)
def test_missing_text_before_the_arrow_is_missed_once(text, help):
    """An arrow too early is named once, and its statement is left out."""
    ((message, found),) = complaints_about(text)
    assert message.endswith("found `->`")
    assert (found, _kept(text)) == (help, [])


def test_unknown_clause_is_passed():
    """A word that begins no clause is named with those that exist; its statement is read from the arrow on."""
    text = 'test "/a" with "x" -> error\ntest "/b" under "y"\ntest "/c" -> error'
    cure = "a test's clauses are `as`, `method`, `host`, `header`, `user-groups`, `email`"
    assert complaints_about(text) == [
        ("expected `->` or a clause, found `with`", cure),
        ("expected `->` or a clause, found `under`", cure),
    ]
    assert _kept(text) == ["/a", "/c"]


@pytest.mark.parametrize(
    "text",
    [
        'rewrite "^/a" -> "/b\nrewrite `^/c` -> "/d"',
        'rewrite "^/a\nrewrite `^/c` -> "/d"',
        '"/b\nrewrite `^/c` -> "/d"',
        'rewrite `^/c` -> "/d" "/e',
        'test "/a" as "ann -> error\nrewrite `^/c` -> "/d"',
    ],
)
def test_string_without_an_end_ends_with_its_line(text):
    """The next line is read as if nothing had happened."""
    assert complaints_about(text) == [("unterminated string", 'a string ends on its line: close it with `"`')]
    assert _kept(text) == ["^/c"]


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ('rewrite "^/a -> "/b"\nrewrite `^/c` -> "/d"', "quote"),
        ("rewrite `^/a -> `/b`\nrewrite `^/c` -> `/d`", "backtick"),
        ('test "/a -> "/b"\nrewrite `^/c` -> "/d"', "quote"),
    ],
)
def test_string_that_runs_into_the_next_one_is_named(text, mark):
    """A string with the arrow in it has lost its end; nothing is said about the wreckage behind it."""
    ((message, cure),) = complaints_about(text)
    assert message == f"unterminated {'raw ' if mark == 'backtick' else ''}string before `->`"
    assert cure == f"it runs on to the {mark} that should open the next string"
    assert _kept(text) == ["^/c"]


@pytest.mark.parametrize(
    "text",
    [
        'rewrite `^/a -> "/b"\nrewrite `^/c` -> "/d"',
        'rewrite `^/a` -> `/b\nrewrite `^/c` -> "/d"',
        'rewrite `^/a\nrewrite `^/c` -> "/d"',
        'rewrite `^/c` -> "/d"\nrewrite `^/a` -> `/b',
        'rewrite `^/c` -> "/d"\n`',
    ],
)
def test_raw_string_without_an_end_ends_with_its_line(text):
    """A missing backtick spoils its own statement only, although raw strings may span lines."""
    assert complaints_about(text) == [("unterminated raw string", "close it with a backtick")]
    assert _kept(text) == ["^/c"]


def test_string_with_an_arrow_in_it_is_not_suspected():
    """A mistake with space before it is not laid at the string's door."""
    assert complaints_about('rewrite "^/a->b" = "/c"') == [("expected `->`, found `=`", "write `->`")]


def test_word_behind_a_statement_is_no_misspelt_one():
    """Only a string behind it makes a word in the middle of a line the beginning of a statement."""
    assert complaints_about('rewrite `^/a` -> "/b" text') == [
        ("expected `rewrite`, `test` or `}`, found `text`", "the statement before it is complete")
    ]


def test_raw_string_over_several_lines_is_not_suspected():
    """A mistake behind a raw string that holds no statement is told as what it is."""
    text = 'rewrite `^/a\n  $` => "/b"'
    assert complaints_about(text) == [("expected `->`, found `=>`", "write `->`")]


def test_marks_of_a_merge_conflict_are_called_so():
    """Both sides are read, and each mark is named."""
    text = '<<<<<<< HEAD\nrewrite `^/a` -> "/b"\n||||||| base\n=======\nrewrite `^/c` -> "/d"\n>>>>>>> other'
    cure = "resolve the conflict and remove its markers"
    marks = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
    assert complaints_about(text) == [(f"merge conflict marker `{mark}`", cure) for mark in marks]
    assert _kept(text) == ["^/a", "^/c"]


@pytest.mark.parametrize("text", [">>>>>>>>", "rewrite =======", "=======x"])
def test_what_only_resembles_a_mark_is_none(text):
    """A mark has seven characters and stands at the beginning of a line."""
    assert not any("merge conflict" in message for message, _ in complaints_about(text))


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ('test "/a" header "X: y" -> unchanged', 'a header\'s name and value are two strings: `header "X" "y"`'),
        ('rewrite my home `^/a$` -> "/b"', 'a name of several words stands between quotes: `"my home"`'),
        ('rewrite `^/a$` -> golang "/b"', "did you mean `go`?"),
        ('rewrite `^/a$` -> Jinja2 "/b"', "did you mean `jinja`?"),
    ],
)
def test_what_was_meant_is_guessed(text, help):
    """The cure is what would say it."""
    ((_, found),) = complaints_about(text)
    assert found == help


@pytest.mark.parametrize(
    "template",
    [
        'jinja "/{{ request.headers["X-Team"] }}/b"',
        'go "/{{ index .Groups "1" }}"',
        'jinja "{% if a == "b" %}/c{% endif %}"',
    ],
)
def test_a_quote_within_an_action_ends_the_template(template):
    """It is told at the quote, once, and what follows is read."""
    text = f'rewrite `^/a$` -> {template}\n    test "/c" -> "/d"'
    message = 'the string ends at this `"`, within an action'
    assert complaints_about(text) == [(message, "put the template between backticks, where quotes are allowed")]
    assert _kept(text) == ["/c"]


@pytest.mark.parametrize("text", ["target a {}\rtarget b {}\rtarget c {}\r", "# a\r# b\rtarget a {}\n# c\r#d\n"])
def test_a_carriage_return_that_ends_lines_is_told_once(text):
    """The whole file is written so."""
    found = [each for each in parsed(text).diagnostics if each.code == "control-character"]
    assert [each.help for each in found] == ["save the file with Unix or Windows line ends"]


def test_a_quote_in_a_key_that_looks_like_an_action_is_none_of_a_template():
    """A test has no actions."""
    messages = [message for message, _ in complaints_about('test "/{{ "x" -> "/d"')]
    assert not any("within an action" in message for message in messages)
