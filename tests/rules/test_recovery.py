from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_texts import messages, messages_and_help, parsed, parsed_sources_and_keys

from tornado_proxy.rules.excerpt import render
from tornado_proxy.rules.limits import MOST_MISTAKES
from tornado_proxy.rules.tree import TestStatement

CASES = sorted((Path(__file__).parent / "mistakes").glob("*.txt"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_mistakes_are_reported_as_in_their_golden_file(case):
    """The text in the first half of a file has exactly the diagnostics in the second half."""
    text, _, expected = case.read_text(encoding="utf-8").partition("----------\n")
    assert "\n\n".join(render(diagnostic) for diagnostic in parsed(text).diagnostics) + "\n" == expected


def test_file_has_a_limited_number_of_diagnostics():
    """After a thousand mistakes, a last diagnostic reports that the rest of the file is not read."""
    reported = messages("target site {\n" + "oops!\n" * 10 + 'rewrite "a" => "b"\n' * 2 * MOST_MISTAKES + "}\n")
    assert len(reported) == MOST_MISTAKES + 1
    assert reported[-1] == "more than 1000 mistakes: the rest of the file is not read"


@pytest.mark.parametrize(
    "text",
    ["} " * 2000, "target x y\n" * 2000, "target x\n" + "rewrite }\n" * 2000, "target a {" + "; " * 2000],
)
def test_file_with_too_many_mistakes_has_no_blocks(text):
    """The document of a file with too many mistakes is empty, wherever the parser stopped."""
    assert parsed(text).diagnostics[-1].code == "too-many-mistakes"
    assert parsed(text).document.blocks == ()


def test_unexpected_tokens_are_skipped_to_the_next_statement():
    """Unexpected tokens behind a statement are reported once, and the statements around them are read."""
    result = parsed('target site {\n    test "/a" -> "/b" ) (\n    test "/c" -> "/d"\n}\n')
    assert [diagnostic.message for diagnostic in result.diagnostics] == ["expected `rewrite`, `test` or `}`, found `)`"]
    assert len(result.document.blocks[0].statements) == 2


def test_statement_with_an_unexpected_token_is_left_out():
    """A statement with an unexpected token is left out, and the next statement is read."""
    result = parsed('target site {\n    rewrite `^/a` { -> "/b" }\n    test "/c" -> "/d"\n}\n')
    assert [diagnostic.message for diagnostic in result.diagnostics] == ["expected `->`, found `{`"]
    assert [type(statement) for statement in result.document.blocks[0].statements] == [TestStatement]


@pytest.mark.parametrize("line", ['redirect "/a" -> "/b"', '"/a" -> "/b"'])
def test_line_that_looks_like_a_statement_is_reported_once(line):
    """A line with an arrow and no keyword has one diagnostic, even if it is not indented."""
    assert len(messages(f"target site {{\n{line}\n}}\n")) == 1


def test_braces_of_skipped_text_are_matched():
    """The closing brace of a skipped inner block is not reported."""
    assert messages("target site {\n    elsewhere /x {\n    }\n}\n") == [
        "expected `rewrite`, `test` or `}`, found `elsewhere`"
    ]


_FIRST_LINE = "a block begins with `target NAME {`; put a name of several words between quotes"


def _blocks(text):
    """Returns the target of each block in the document, with the number of its statements."""
    return [(block.name.value, len(block.statements)) for block in parsed(text).document.blocks]


def test_unclosed_block_has_a_note_at_its_brace():
    """A block that is unclosed where the next one begins has a note at its opening brace."""
    text = 'target a {\n  test "/a" -> error\ntarget b {\n}\n'
    (diagnostic,) = parsed(text).diagnostics
    assert (diagnostic.code, diagnostic.message) == ("unclosed-block", "expected `}`, found `target`")
    assert (diagnostic.span.first.line, diagnostic.notes[0].span.first) == (3, (1, 10))
    assert _blocks(text) == [("a", 1), ("b", 0)]


def test_unclosed_last_block_is_reported_behind_its_last_token():
    """At the end of the file, the missing brace is reported where it should stand."""
    (diagnostic,) = parsed('target a {\n  test "/a" -> error\n\n\n').diagnostics
    assert diagnostic.message == "expected `}`, found the end of the file"
    assert diagnostic.span.first == (2, 21)


def test_late_closing_brace_is_not_reported():
    """A block within a block has one diagnostic, not two."""
    text = "target a {\n target b {\n }\n}\n"
    assert messages(text) == ["expected `}`, found `target`"]
    assert _blocks(text) == [("a", 0), ("b", 0)]


def test_block_without_braces_has_one_diagnostic():
    """The missing closing brace of a block without an opening brace is not reported."""
    assert messages('target a\n  test "/a" -> error\n') == ["expected `{`, found the end of the line"]


def test_extra_closing_brace_is_reported():
    """A closing brace without an opening brace is unmatched."""
    (diagnostic,) = parsed("target a {}\n}\n").diagnostics
    assert diagnostic.message == "unmatched `}`"
    assert diagnostic.help == "remove it, or look for an extra brace above"


@pytest.mark.parametrize("name", ["site", '"my site"'])
def test_block_without_the_word_target_is_read(name):
    """A name and a brace begin a block although the word `target` is missing."""
    text = f'{name} {{ test "/a" -> error }}'
    (diagnostic,) = parsed(text).diagnostics
    assert diagnostic.help == "a block begins with the word `target`"
    assert _blocks(text) == [(name.strip('"'), 1)]


def test_statements_outside_of_a_block_are_reported_once():
    """Statements outside of a block are checked for other mistakes, and belong to no target."""
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
def test_statements_below_a_broken_first_line_are_read(text, message, blocks):
    """A mistake in the first line of a block has one diagnostic, and the statements of the block are read."""
    assert messages(text) == [message]
    assert _blocks(text) == blocks


def test_broken_first_line_has_help():
    """The help about a broken first line shows its form."""
    assert parsed("target {}").diagnostics[0].help == _FIRST_LINE


@pytest.mark.parametrize("following", ['test "/b" -> error', 'rewrite home `^/b` -> "/c"', "}"])
@pytest.mark.parametrize(
    "incomplete",
    ["rewrite `^/a`", "rewrite `^/a` ->", "rewrite `^/a` -> go", "test", 'test "/a"', 'test "/a" as', 'test "/a" ->'],
)
def test_incomplete_statement_ends_with_its_line(incomplete, following):
    """The missing part is reported at the end of the line, and the next line is read."""
    text = f"target a {{\n  {incomplete}\n  {following}\n" + ("}" if following != "}" else "")
    (diagnostic,) = parsed(text).diagnostics
    assert diagnostic.message.startswith("expected ")
    assert diagnostic.message.endswith("found the end of the line")
    assert diagnostic.span.first == (2, 3 + len(incomplete))
    assert _blocks(text) == [("a", 0 if following == "}" else 1)]


def test_missing_part_is_reported_behind_unquoted_text():
    """The place of a missing part is the end of the unquoted text before it."""
    _, diagnostic = parsed('target a {\n  rewrite ^/a\n  test "/b" -> error\n}').diagnostics
    assert (diagnostic.message, diagnostic.span.first) == ("expected `->`, found the end of the line", (2, 14))


def test_two_strings_without_an_arrow_are_explained():
    """The help about two strings in a row explains that the first one is the name of the rewrite."""
    (diagnostic,) = parsed('target a { rewrite "^/a" "/b" }').diagnostics
    assert diagnostic.help == "a string before another one is the rewrite's name"


def test_keyword_on_a_new_line_may_be_a_name():
    """A keyword on a new line begins a statement only if it doesn't fit as the value of a clause."""
    text = 'target a {\n test "/a" as\n test -> error\n test "/b" as\n test "/c" -> error\n}\n'
    assert messages(text) == ["expected a name, a string or a raw string, found the end of the line"]
    assert _blocks(text) == [("a", 2)]


def test_word_target_on_a_new_line_begins_a_block():
    """A `target` without a name does not take the `target` of the next line as its name."""
    text = "target\ntarget b {\n}\n"
    assert messages(text) == ["expected a name or a string, found the end of the line"]
    assert _blocks(text) == [("b", 0)]


def test_clause_behind_the_expected_key_has_help():
    """The help about a clause behind the expected key names its place."""
    (diagnostic,) = parsed('target a {\n test "/a" -> "/b" as "ann"\n test "/c" -> error\n}').diagnostics
    assert diagnostic.help == "the clauses of a test stand before its `->`"


def test_string_behind_a_statement_is_reported():
    """A second template on a line is reported, and the rewrite before it is kept."""
    text = 'target a {\n  rewrite `^/a` -> "/b" "/c"\n}\n'
    (diagnostic,) = parsed(text).diagnostics
    assert diagnostic.help == "the statement before it is complete"
    assert _blocks(text) == [("a", 1)]


def test_name_of_two_words_has_help():
    """The help about a name of two words recommends quotes."""
    (diagnostic,) = parsed("target my site {}").diagnostics
    assert diagnostic.help == _FIRST_LINE


_STRINGS = "a string or a raw string"
_VALUES = "a name, a string or a raw string"
_TEMPLATES = "a string, a raw string, `jinja` or `go`"
_CLAUSES = "`->`, `as`, `method`, `host`, `header`, `user-groups` or `email`"
_QUOTES = 'write the string between `"`, or between backticks, where a backslash is literal'


@pytest.mark.parametrize("arrow", ["=>", "=", "→", ":", ",", "to"])
def test_other_arrows_are_read_as_arrows(arrow):
    """An arrow of another language is reported, and the statement is read."""
    text = f'rewrite `^/a` {arrow} "/b"'
    assert messages_and_help(text) == [(f"expected `->`, found `{arrow}`", "write `->`")]
    assert parsed_sources_and_keys(text) == ["^/a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('rewrite `^/a` "/b"', "expected `->`, found a string"),
        ('rewrite `^/a` go "/b"', "expected `->`, found `go`"),
        ('test "/a" `/b`', f"expected {_CLAUSES}, found a raw string"),
        ('test "/a" as ann error', f"expected {_CLAUSES}, found `error`"),
    ],
)
def test_missing_arrow_is_inserted(text, message):
    """A missing arrow is reported, and the statement is read as if it had the arrow."""
    assert messages_and_help(text) == [(message, "write `->` before it")]
    assert len(parsed_sources_and_keys(text)) == 1


def test_dialect_before_the_arrow_is_reported():
    """A statement with its dialect before the arrow is reported and left out."""
    assert messages_and_help('rewrite `^/a` go -> "/b"') == [("expected `->`, found `go`", None)]


def test_second_arrow_is_reported_once():
    """A repeated arrow has one diagnostic."""
    text = 'test "/a" -> -> "/b"'
    expected = "expected a string, a raw string, `unchanged` or `error`, found `->`"
    assert messages_and_help(text) == [(expected, None)]


@pytest.mark.parametrize(
    "text",
    ["rewrite '^/a\\.b' -> \"/b\"", 'rewrite “^/a\\.b” -> "/b"', "rewrite `^/a\\.b` -> '/b'"],
)
def test_other_quotes_make_a_raw_string(text):
    """Text between other quotes is reported, and read as a raw string."""
    assert messages_and_help(text) == [("wrong quotes", _QUOTES)]
    assert parsed_sources_and_keys(text) == ["^/a\\.b"]


def test_other_quotes_around_a_name_make_a_string():
    """The name of a target between single quotes is read as a name."""
    result = parsed("target 'my site' {}")
    assert [block.name.value for block in result.document.blocks] == ["my site"]


def test_other_quotes_between_statements_are_reported_once():
    """A text in other quotes between statements has one diagnostic."""
    assert messages_and_help("'x'") == [("wrong quotes", _QUOTES)]


def test_invisible_character_is_skipped():
    """An invisible character between words is reported, and the words are read."""
    text = 'rewrite\u00a0`^/a`\u200b->\x0b"/b"'
    assert [message for message, _ in messages_and_help(text)] == [
        "invisible character U+00A0",
        "invisible character U+200B",
        "invisible character U+000B",
    ]
    assert parsed_sources_and_keys(text) == ["^/a"]


@pytest.mark.parametrize(
    ("text", "keyword"),
    [
        ('rewite `^/a` -> "/b"', "rewrite"),
        ('TEST "/a" -> error', "test"),
        ('rewrite `^/a` -> jnija "/b"', "jinja"),
        ('test "/a" usergroups "x" -> error', "user-groups"),
        ('test "/a" -> Error', "error"),
    ],
)
def test_misspelt_word_is_read_as_the_similar_keyword(text, keyword):
    """A word similar to an expected keyword is read as this keyword."""
    ((_, advice),) = messages_and_help(text)
    assert advice == f"did you mean `{keyword}`?"
    assert len(parsed_sources_and_keys(text)) == 1


@pytest.mark.parametrize("value", ["ann@example.com", "x/y", "a,b"])
def test_value_with_other_characters_needs_quotes(value):
    """A value without quotes that is not a name is reported with all its characters."""
    message = f"expected {_VALUES}, found `{value}`"
    assert messages_and_help(f'test "/a" as {value} -> error') == [(message, f'put it between quotes: `"{value}"`')]


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
def test_unquoted_text_has_help(text, message, help):
    """The help about unquoted text shows it between quotes or backticks, and its statement is left out."""
    assert messages_and_help(text) == [(f"expected {message}", f"put it {help}")]
    assert parsed_sources_and_keys(text) == []


def test_unquoted_texts_on_both_sides_are_reported():
    """One run reports both unquoted texts, and the missing arrow between them."""
    assert [message for message, _ in messages_and_help("rewrite ^/a /b")] == [
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
def test_extra_word_is_reported_once(text):
    """An extra word or mark before a string or a value has one diagnostic."""
    assert len(messages_and_help(text)) == 1


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
def test_missing_text_before_the_arrow_is_reported_once(text, help):
    """An arrow in the place of a text has one diagnostic, and its statement is left out."""
    ((message, actual),) = messages_and_help(text)
    assert message.endswith("found `->`")
    assert (actual, parsed_sources_and_keys(text)) == (help, [])


def test_unknown_clause_is_reported():
    """The diagnostic of an unknown clause lists the valid ones, and its statement is left out."""
    text = 'test "/a" with "x" -> error\ntest "/b" under "y"\ntest "/c" -> error'
    assert messages_and_help(text) == [
        (f"expected {_CLAUSES}, found `with`", None),
        (f"expected {_CLAUSES}, found `under`", None),
    ]
    assert parsed_sources_and_keys(text) == ["/c"]


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
def test_unterminated_string_ends_with_its_line(text):
    """The line after an unterminated string is read as usual."""
    assert messages_and_help(text) == [("unterminated string", 'a string ends on its line: close it with `"`')]
    assert parsed_sources_and_keys(text) == ["^/c"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('rewrite "^/a -> "/b"\nrewrite `^/c` -> "/d"', "string"),
        ("rewrite `^/a -> `/b`\nrewrite `^/c` -> `/d`", "raw string"),
        ('test "/a -> "/b"\nrewrite `^/c` -> "/d"', "string"),
    ],
)
def test_string_without_its_first_end_is_unterminated(text, kind):
    """A string that contains the arrow is unterminated, and the rest of its line has no diagnostic."""
    ((message, _),) = messages_and_help(text)
    assert message == f"unterminated {kind}"
    assert parsed_sources_and_keys(text) == ["^/c"]


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
def test_unterminated_raw_string_ends_with_its_line(text):
    """A missing backtick affects its own statement only, although raw strings may span lines."""
    assert messages_and_help(text) == [("unterminated raw string", "close it with a backtick")]
    assert parsed_sources_and_keys(text) == ["^/c"]


def test_string_with_an_arrow_is_not_unterminated():
    """A string that contains an arrow is complete if a space separates it from the next mistake."""
    assert messages_and_help('rewrite "^/a->b" = "/c"') == [("expected `->`, found `=`", "write `->`")]


def test_word_behind_a_statement_has_no_suggestion():
    """A word within a line is a misspelt keyword only if a string follows it."""
    assert messages_and_help('rewrite `^/a` -> "/b" text') == [
        ("expected `rewrite`, `test` or `}`, found `text`", "the statement before it is complete")
    ]


def test_raw_string_over_several_lines_is_not_unterminated():
    """A mistake behind a raw string without statements in it is reported as itself."""
    text = 'rewrite `^/a\n  $` => "/b"'
    assert messages_and_help(text) == [("expected `->`, found `=>`", "write `->`")]


@pytest.mark.parametrize(
    "template",
    [
        'jinja "/{{ request.headers["X-Team"] }}/b"',
        'go "/{{ index .Groups "1" }}"',
        'jinja "{% if a == "b" %}/c{% endif %}"',
    ],
)
def test_a_quote_within_an_action_ends_the_template(template):
    """The quote that ends a template is reported once, and the next statement is read."""
    text = f'rewrite `^/a$` -> {template}\n    test "/c" -> "/d"'
    message = 'the string ends at this `"`'
    assert messages_and_help(text) == [(message, "write the string between backticks, where quotes are allowed")]
    assert parsed_sources_and_keys(text) == ["/c"]


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
    """One diagnostic names the other program, whatever the number of lines."""
    (diagnostic,) = parsed(text).diagnostics
    assert message in diagnostic.message
    assert diagnostic.code == "syntax-error"
    assert diagnostic.help


@pytest.mark.parametrize(
    "lines",
    [
        "    rewrite ^/a(.*)$ /b$1 last;\n    rewrite ^/c(.*)$ /d$1 last;\n",
        "    RewriteRule ^/a(.*)$ /b$1 [L]\n",
        "    - source: ^/a$\n      target: /b\n",
    ],
)
def test_statements_around_foreign_lines_are_read(lines):
    """Statements before and behind lines of another program are read."""
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
def test_similar_lines_are_not_reported_as_foreign(text):
    """A mistake in a rule is not reported as nginx, YAML or JSON."""
    assert not [message for message in messages(text) if "nginx" in message or "YAML" in message or "JSON" in message]


@pytest.mark.parametrize(
    "text", ["target a {\n rewrite ^/a /b;", "location /a {} b", "http {} rewrite ^/a /b;", "target a {} location {} x"]
)
def test_text_behind_foreign_text_is_read_once(text):
    """Reading continues behind foreign text on the same line, and ends."""
    assert messages(text)


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
def test_any_mixture_of_pieces_is_read(pieces):
    """Reading ends without an exception for any mixture of rules and foreign lines."""
    parsed("".join(map("".join, pieces)))


@pytest.mark.parametrize("comment", ["// c", "/* c */", "/* c\n c */", "-- c", "/* c", "/*/"])
def test_comment_of_another_language_is_skipped(comment):
    """A comment of another language on its own lines is reported and skipped."""
    text = f'rewrite `^/a` -> "/b"\n{comment}\nrewrite `^/c` -> "/d"'
    assert messages_and_help(text) == [(f"`{comment[:2]}` does not begin a comment", _COMMENT)]
    assert parsed_sources_and_keys(text) == ["^/a", "^/c"]


def test_semicolons_are_skipped():
    """Each semicolon is reported, and ends no statement."""
    text = 'rewrite `^/a`; -> "/b"; ;'
    advice = "remove it: statements need no terminator"
    assert messages_and_help(text) == [("unexpected `;`", advice)] * 3
    assert parsed_sources_and_keys(text) == ["^/a"]


def test_marks_of_a_merge_conflict_are_reported():
    """Each mark of a merge conflict is reported, and the statements of both sides are read."""
    text = '<<<<<<< HEAD\nrewrite `^/a` -> "/b"\n||||||| base\n=======\nrewrite `^/c` -> "/d"\n>>>>>>> other'
    advice = "resolve the conflict and remove its markers"
    marks = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
    assert messages_and_help(text) == [(f"merge conflict marker `{mark}`", advice) for mark in marks]
    assert parsed_sources_and_keys(text) == ["^/a", "^/c"]


@pytest.mark.parametrize("text", [">>>>>>>>", "rewrite =======", "=======x"])
def test_similar_text_is_not_a_merge_mark(text):
    """A mark of a merge conflict has seven characters and stands at the beginning of a line."""
    assert not any("merge conflict" in message for message, _ in messages_and_help(text))


def test_broken_line_below_a_broken_first_line_is_reported():
    """The line below an incomplete first line is reported as it is."""
    assert messages('target rewrite\nserver: {\n"x"')
