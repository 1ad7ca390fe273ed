from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_texts import complaints, complaints_about, kept, parsed

from tornado_proxy.lang.excerpt import render
from tornado_proxy.lang.parser import MOST_MISTAKES
from tornado_proxy.lang.tree import TestStatement

CASES = sorted((Path(__file__).parent / "mistakes").glob("*.txt"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_mistakes_are_reported_as_in_their_golden_file(case):
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
    ["} " * 2000, "target x y\n" * 2000, "target x\n" + "rewrite }\n" * 2000, "target a {" + "; " * 2000],
)
def test_file_that_is_given_up_has_no_blocks(text):
    """Wherever reading stopped, nothing of the file is kept."""
    assert parsed(text).diagnostics[-1].code == "too-many-mistakes"
    assert parsed(text).document.blocks == ()


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


@pytest.mark.parametrize("line", ['redirect "/a" -> "/b"', '"/a" -> "/b"'])
def test_line_that_looks_like_a_statement_is_reported_once(line):
    """Reading goes on behind a line that has an arrow and no keyword, even if it is not indented."""
    assert len(complaints(f"target site {{\n{line}\n}}\n")) == 1


def test_braces_within_what_is_skipped_are_not_missed_later():
    """A foreign block within a block closes with its own brace, about which nothing is said."""
    assert complaints("target site {\n    elsewhere /x {\n    }\n}\n") == [
        "expected `rewrite`, `test` or `}`, found `elsewhere`"
    ]


_FIRST_LINE = "a block begins with `target NAME {`; put a name of several words between quotes"


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


@pytest.mark.parametrize(
    ("text", "message", "blocks"),
    [
        ("target {}", "expected a name or a string, found `{`", []),
        ("target `a` {}", "expected a name or a string, found a raw string", []),
        ("target\n}", "expected a name or a string, found the end of the line", []),
        ("target", "expected a name or a string, found the end of the file", []),
        ("target a", "expected `{`, found the end of the file", [("a", 0)]),
        ("target a }", "expected `{`, found `}`", [("a", 0)]),
        ('target a\ntest "/a" -> error }', "expected `{`, found the end of the line", [("a", 1)]),
        ('target a test "/a" -> error }', "expected `{`, found `test`", [("a", 1)]),
        ('target a b { test "/a" -> error }', "expected `{`, found `b`", [("a", 1)]),
        ('target a: # c\n test "/a" -> error }', "expected `{`, found `:`", [("a", 1)]),
        ("target target x {}", "expected `{`, found `x`", [("target", 0)]),
        ("target 1st {}", "expected a name or a string, found `1st`", []),
        ("target a/b {}", "expected a name or a string, found `a/b`", []),
        ('target "a {\n}', "unterminated string", []),
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
    assert complaints(text) == ["expected a name, a string or a raw string, found the end of the line"]
    assert _blocks(text) == [("a", 2)]


def test_word_of_a_block_is_no_name_on_a_new_line():
    """A `target` without a name does not take the next block's word for it."""
    text = "target\ntarget b {\n}\n"
    assert complaints(text) == ["expected a name or a string, found the end of the line"]
    assert _blocks(text) == [("b", 0)]


def test_late_clause_is_sent_back():
    """A clause behind the expected key belongs before the arrow."""
    (diagnostic,) = parsed('target a {\n test "/a" -> "/b" as "ann"\n test "/c" -> error\n}').diagnostics
    assert diagnostic.help == "the clauses of a test stand before its `->`"


def test_string_behind_a_statement_is_too_much():
    """A second template on the same line begins no rewrite."""
    text = 'target a {\n  rewrite `^/a` -> "/b" "/c"\n}\n'
    (diagnostic,) = parsed(text).diagnostics
    assert diagnostic.help == "the statement before it is complete"
    assert _blocks(text) == [("a", 1)]


def test_a_target_of_two_words_is_answered_with_quotes():
    """A name of several words may be any text."""
    (found,) = parsed("target my site {}").diagnostics
    assert found.help == _FIRST_LINE


_STRINGS = "a string or a raw string"
_VALUES = "a name, a string or a raw string"
_TEMPLATES = "a string, a raw string, `jinja` or `go`"
_CLAUSES = "`->`, `as`, `method`, `host`, `header`, `user-groups` or `email`"
_QUOTES = 'write the string between `"`, or between backticks, where a backslash is literal'


@pytest.mark.parametrize("arrow", ["=>", "=", "→", ":", ",", "to"])
def test_other_arrow_is_read_as_one(arrow):
    """What other languages write for an arrow is named, and the statement is read."""
    text = f'rewrite `^/a` {arrow} "/b"'
    assert complaints_about(text) == [(f"expected `->`, found `{arrow}`", "write `->`")]
    assert kept(text) == ["^/a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('rewrite `^/a` "/b"', "expected `->`, found a string"),
        ('rewrite `^/a` go "/b"', "expected `->`, found `go`"),
        ('test "/a" `/b`', f"expected {_CLAUSES}, found a raw string"),
        ('test "/a" as ann error', f"expected {_CLAUSES}, found `error`"),
    ],
)
def test_missing_arrow_is_put_in(text, message):
    """What can only stand behind an arrow is read as if one were there."""
    assert complaints_about(text) == [(message, "write `->` before it")]
    assert len(kept(text)) == 1


def test_dialect_before_its_arrow_is_out_of_place():
    """The statement is left out: its dialect stands on the wrong side."""
    assert complaints_about('rewrite `^/a` go -> "/b"') == [("expected `->`, found `go`", None)]


def test_second_arrow_is_passed():
    """One arrow too many is one mistake."""
    text = 'test "/a" -> -> "/b"'
    expected = "expected a string, a raw string, `unchanged` or `error`, found `->`"
    assert complaints_about(text) == [(expected, None)]


@pytest.mark.parametrize(
    "text",
    ["rewrite '^/a\\.b' -> \"/b\"", 'rewrite “^/a\\.b” -> "/b"', "rewrite `^/a\\.b` -> '/b'"],
)
def test_other_quotes_make_a_raw_string(text):
    """Quotes that are none are named, and what stands between them is read as it looks."""
    assert complaints_about(text) == [("wrong quotes", _QUOTES)]
    assert kept(text) == ["^/a\\.b"]


def test_other_quotes_around_a_name_make_a_string():
    """A target's name in single quotes is still its name."""
    result = parsed("target 'my site' {}")
    assert [block.name.value for block in result.document.blocks] == ["my site"]


def test_other_quotes_out_of_place_are_passed():
    """A quoted text between statements is named once."""
    assert complaints_about("'x'") == [("wrong quotes", _QUOTES)]


def test_character_that_nobody_sees_is_passed():
    """An invisible character between words is named, and the words are read."""
    text = 'rewrite\u00a0`^/a`\u200b->\x0b"/b"'
    assert [message for message, _ in complaints_about(text)] == [
        "invisible character U+00A0",
        "invisible character U+200B",
        "invisible character U+000B",
    ]
    assert kept(text) == ["^/a"]


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
    assert len(kept(text)) == 1


@pytest.mark.parametrize(("value", "whole"), [("ann@example.com", "ann@example.com"), ("x/y", "x/y"), ("a,b", "a,b")])
def test_value_with_characters_that_no_name_has_wants_quotes(value, whole):
    """A torn value is named whole."""
    message = f"expected {_VALUES}, found `{whole}`"
    assert complaints_about(f'test "/a" as {value} -> error') == [(message, f'put it between quotes: `"{whole}"`')]


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        ('rewrite ^/a.*$ -> "/b"', f"{_VALUES}, found `^/a.*$`", "between backticks: `^/a.*$`"),
        ('rewrite x ^/a -> "/b"', f"{_STRINGS}, found `^/a`", "between backticks: `^/a`"),
        ('rewrite ^/a` -> "/b"', f"{_VALUES}, found `^/a``", "between backticks: `^/a`"),
        ("rewrite `^/a` -> /b", f"{_TEMPLATES}, found `/b`", 'between quotes: `"/b"`'),
        ('rewrite `^/a` -> /b"c', f'{_TEMPLATES}, found `/b"c`', 'between backticks: `/b"c`'),
        ("rewrite `^/a` -> /b`c", f"{_TEMPLATES}, found `/b`c`", 'between quotes: `"/b`c"`'),
        (
            "rewrite `^/a` -> jinja {{ a }}/b",
            f"{_STRINGS}, found `{{{{ a }}}}/b`",
            'between quotes: `"{{ a }}/b"`',
        ),
        ('test /a -> "/b"', f"{_STRINGS}, found `/a`", 'between quotes: `"/a"`'),
        (
            'test "/a" as @ann -> error',
            f"{_VALUES}, found `@ann`",
            'between quotes: `"@ann"`',
        ),
        ('rewrite 404 `^/a` -> "/b"', f"{_VALUES}, found `404`", "between backticks: `404`"),
    ],
)
def test_text_without_quotes_is_told_how_to_have_them(text, message, help):
    """Where a string belongs, a bare text is shown as it should be written; its statement is left out."""
    assert complaints_about(text) == [(f"expected {message}", f"put it {help}")]
    assert kept(text) == []


def test_bare_text_on_both_sides_is_reported_on_both():
    """One run finds every text without quotes, and the arrow that is missing between them."""
    assert [message for message, _ in complaints_about("rewrite ^/a /b")] == [
        f"expected {_VALUES}, found `^/a`",
        "expected `->`, found `/b`",
        f"expected {_TEMPLATES}, found `/b`",
    ]


@pytest.mark.parametrize(
    "text",
    [
        'rewrite `^/a` -> python "/b"',
        'test GET "/a" -> error',
        'test "/a" header X: b -> error',
        'test "/a" as = ann -> error',
    ],
)
def test_word_or_mark_too_many_is_one_mistake(text):
    """What stands before a string or value that needs nothing is named once."""
    assert len(complaints_about(text)) == 1


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
    assert (found, kept(text)) == (help, [])


def test_unknown_clause_is_passed():
    """A word that begins no clause is named with those that exist."""
    text = 'test "/a" with "x" -> error\ntest "/b" under "y"\ntest "/c" -> error'
    assert complaints_about(text) == [
        (f"expected {_CLAUSES}, found `with`", None),
        (f"expected {_CLAUSES}, found `under`", None),
    ]
    assert kept(text) == ["/c"]


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
    assert kept(text) == ["^/c"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('rewrite "^/a -> "/b"\nrewrite `^/c` -> "/d"', "string"),
        ("rewrite `^/a -> `/b`\nrewrite `^/c` -> `/d`", "raw string"),
        ('test "/a -> "/b"\nrewrite `^/c` -> "/d"', "string"),
    ],
)
def test_string_that_runs_into_the_next_one_is_named(text, kind):
    """A string with the arrow in it has lost its end; nothing is reported about the rest of its line."""
    ((message, _),) = complaints_about(text)
    assert message == f"unterminated {kind}"
    assert kept(text) == ["^/c"]


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
    assert kept(text) == ["^/c"]


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
    message = 'the string ends at this `"`'
    assert complaints_about(text) == [(message, "write the string between backticks, where quotes are allowed")]
    assert kept(text) == ["/c"]


_STRINGS_OF_FOREIGN = "(a string or a raw string between backticks)"
_COMMENT = "a comment begins with `#` and runs to the end of its line"
_TEST = '    test "/a" -> "/b"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RewriteEngine On\nRewriteCond %{HTTPS} off\n\n# why\nRewriteRule ^/a(.*)$ /b$1 [L]\n", "Apache directive `RewriteEngine`"),
        ("RewriteCond %{HTTPS} off\nRewriteRule ^/a /b\n", "Apache directive `RewriteCond` in a rule file"),
        ("Redirect 301 /a /b", "Apache directive `Redirect` in a rule file"),
        ('rewrite ^/a(.*)$ /b$1 last;\nrewrite "^/a{2}" /b; # x\nreturn 404;\n', "nginx directive `rewrite …;` in a rule file"),
        ("server {\n location / {\n rewrite ^/a /b break;\n }\n}\n", "nginx directive `server {` in a rule file"),
        ("server {\n location / {\n", "nginx directive `server {` in a rule file"),
        ("targets:\n  - name: x\n    keyRewriteList:\n      - source: ^/a$\n        target: /b\n", "YAML key `targets:`"),
    ],
)  # fmt: skip
def test_the_configuration_of_another_program_is_reported_once(text, message):
    """One finding says what it is, whatever the number of lines."""
    (found,) = parsed(text).diagnostics
    assert message in found.message
    assert found.code == "syntax-error"
    assert found.help


@pytest.mark.parametrize(
    "lines",
    [
        "    rewrite ^/a(.*)$ /b$1 last;\n    rewrite ^/c(.*)$ /d$1 last;\n",
        "    RewriteRule ^/a(.*)$ /b$1 [L]\n",
        "    - source: ^/a$\n      target: /b\n",
    ],
)
def test_what_stands_around_foreign_lines_is_read(lines):
    """Within a block, before it and behind it."""
    document = parsed(f"target site {{\n{_TEST}{lines}{_TEST}{lines}{_TEST}}}\n").document
    assert [len(block.statements) for block in document.blocks] == [3]


@pytest.mark.parametrize(
    "text",
    [
        "rewrite ^/a => /b;",
        "rewrite ^/a -> /b;",
        'rewrite `^/a` => "/b";',
        "rewrite ^/a; b",
        "sources: x",
        "{",
    ],
)
def test_what_only_resembles_them_is_reported_as_what_it_is(text):
    """A slip of this language is none of another one."""
    assert not [each for each in complaints(text) if "nginx" in each or "YAML" in each or "JSON" in each]


@pytest.mark.parametrize(
    "text", ["target a {\n rewrite ^/a /b;", "location /a {} b", "http {} rewrite ^/a /b;", "target a {} location {} x"]
)
def test_reading_goes_on_behind_them(text):
    """What follows on the same line is not read from the line's beginning again."""
    assert complaints(text)


_PIECES = [
    *(
        "target",
        "s",
        "{",
        "}",
        "rewrite",
        "^/a",
        "/b",
        "last",
        ";",
        "`^/a`",
        "->",
        "jinja",
        "test",
        '"/a"',
        "#",
        "`",
        ":",
    ),
    *("RewriteRule", "RewriteCond x", "targets:", "- source: x", "server {", "location /a {", '"/{{"', "x", "\r", "\n"),
    *("return 301;", '{"a":', "header", "rewrite ^/a /b;"),
]


@given(st.lists(st.tuples(st.sampled_from(_PIECES), st.sampled_from(["", " ", "\n"])), max_size=25))
def test_no_mixture_makes_reading_fail(pieces):
    """Whatever stands between whatever, reading ends."""
    parsed("".join(map("".join, pieces)))


@pytest.mark.parametrize("comment", ["// c", "/* c */", "/* c\n c */", "-- c", "/* c", "/*/"])
def test_other_comment_is_passed(comment):
    """Comments of other languages, on lines of their own, are named and skipped."""
    text = f'rewrite `^/a` -> "/b"\n{comment}\nrewrite `^/c` -> "/d"'
    assert complaints_about(text) == [(f"`{comment[:2]}` does not begin a comment", _COMMENT)]
    assert kept(text) == ["^/a", "^/c"]


def test_terminators_are_passed():
    """A semicolon is named each time, and ends nothing."""
    text = 'rewrite `^/a`; -> "/b"; ;'
    cure = "remove it: statements need no terminator"
    assert complaints_about(text) == [("unexpected `;`", cure)] * 3
    assert kept(text) == ["^/a"]


def test_marks_of_a_merge_conflict_are_called_so():
    """Both sides are read, and each mark is named."""
    text = '<<<<<<< HEAD\nrewrite `^/a` -> "/b"\n||||||| base\n=======\nrewrite `^/c` -> "/d"\n>>>>>>> other'
    cure = "resolve the conflict and remove its markers"
    marks = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
    assert complaints_about(text) == [(f"merge conflict marker `{mark}`", cure) for mark in marks]
    assert kept(text) == ["^/a", "^/c"]


@pytest.mark.parametrize("text", [">>>>>>>>", "rewrite =======", "=======x"])
def test_what_only_resembles_a_mark_is_none(text):
    """A mark has seven characters and stands at the beginning of a line."""
    assert not any("merge conflict" in message for message, _ in complaints_about(text))


def test_a_word_of_a_first_line_that_was_left_out_is_not_taken_back():
    """The line below is told as what it is."""
    assert complaints('target rewrite\nserver: {\n"x"')
