from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_texts import complaints, complaints_about, kept, parsed

from tornado_proxy.lang import foreign

_STRINGS = "(a string or a raw string between backticks)"
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
        ('{"targets": {"x": {"keyRewriteList": [{"source": "^/a"}]}}}\n', 'JSON key `"targets":`'),
    ],
)  # fmt: skip
def test_the_configuration_of_another_program_is_told_once(text, message):
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
def test_what_only_resembles_them_is_told_as_what_it_is(text):
    """A slip of this language is none of another one."""
    assert not [each for each in complaints(text) if "nginx" in each or "YAML" in each or "JSON" in each]


def test_a_condition_is_answered_otherwise_than_a_rule():
    """A rule sees the key alone."""
    (found,) = parsed("RewriteCond %{HTTPS} off").diagnostics
    assert found.help == foreign._CONDITION


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


def test_a_word_of_a_first_line_that_was_left_out_is_not_taken_back():
    """The line below is told as what it is."""
    assert complaints('target rewrite\nserver: {\n"x"')


@pytest.mark.parametrize("comment", ["// c", "/* c */", "/* c\n c */", "-- c", "/* c", "/*/"])
def test_other_comment_is_passed(comment):
    """Comments of other languages are named and skipped."""
    text = f'rewrite `^/a` -> "/b" {comment}\nrewrite `^/c` -> "/d"'
    assert complaints_about(text) == [(f"`{comment[:2]}` does not begin a comment", _COMMENT)]
    assert kept(text) == ["^/a", "^/c"]


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
