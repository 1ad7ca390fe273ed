from pathlib import Path

import pytest
from rule_texts import messages, messages_and_help, parsed, parsed_sources_and_keys

from tornado_proxy.rules.diagnostic import render
from tornado_proxy.rules.limits import MOST_MISTAKES

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
    "text", ["} " * 2000, "target x y\n" * 2000, "target x\n" + "rewrite }\n" * 2000, "target a {" + "; " * 2000]
)
def test_file_with_too_many_mistakes_has_no_blocks(text):
    assert parsed(text).diagnostics[-1].code == "too-many-mistakes"
    assert parsed(text).document.blocks == ()


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


def test_late_closing_brace_is_not_reported():
    """A block within a block has one diagnostic, not two."""
    text = "target a {\n target b {\n }\n}\n"
    assert messages(text) == ["expected `}`, found `target`"]
    assert _blocks(text) == [("a", 0), ("b", 0)]


def test_invisible_character_is_skipped():
    """An invisible character between words is reported, and the words are read."""
    text = 'rewrite\u00a0`^/a`\u200b->\x0b"/b"'
    expected = ["invisible character U+00A0", "invisible character U+200B", "invisible character U+000B"]
    assert [message for message, _ in messages_and_help(text)] == expected
    assert parsed_sources_and_keys(text) == ["^/a"]


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
    document = parsed(f"target site {{\n{_TEST}{lines}{_TEST}{lines}{_TEST}}}\n").document
    assert [len(block.statements) for block in document.blocks] == [3]


@pytest.mark.parametrize(
    "text", ["rewrite ^/a => /b;", "rewrite ^/a -> /b;", 'rewrite `^/a` => "/b";', "rewrite ^/a; b", "sources: x", "{"]
)
def test_similar_lines_are_not_reported_as_foreign(text):
    assert not [message for message in messages(text) if "nginx" in message or "YAML" in message or "JSON" in message]


@pytest.mark.parametrize(
    "text", ["target a {\n rewrite ^/a /b;", "location /a {} b", "http {} rewrite ^/a /b;", "target a {} location {} x"]
)
def test_text_behind_foreign_text_is_read_once(text):
    """Reading continues behind foreign text on the same line, and ends."""
    assert messages(text)


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
