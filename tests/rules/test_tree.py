import pytest
from documents import comment_texts, documents, scattered_texts
from hypothesis import given
from lark import Token
from rule_texts import document, parsed

from tornado_proxy.rules.diagnostic import SourceFile, Span
from tornado_proxy.rules.recovery import undelimited
from tornado_proxy.rules.tree import Comment, Literal, group_lines, literal, name_text, print_document, string_text

SOURCE = SourceFile("a.rules", r'"a\\b"')
LITERAL = Literal("a\\b", Span(SOURCE, 0, 6), offsets=(1, 2, 4, 5))


@pytest.mark.parametrize(
    ("start", "end", "text"), [(0, 1, "a"), (1, 2, r"\\"), (0, 3, r"a\\b"), (3, None, ""), (1, None, ""), (7, 9, "")]
)
def test_part_of_a_value_has_a_span_in_the_file(start, end, text):
    """Offsets in a value become a span of the written text, which is empty beyond the end of the value."""
    assert LITERAL.at(start, end).text == text


def test_literal_without_offsets_has_one_span():
    assert Literal("x", Span(SOURCE, 1, 3)).at(0, 1) == Span(SOURCE, 1, 3)


def test_nodes_are_compared_without_layout():
    """The place, the quotes and a blank line above a node take no part in a comparison."""
    here, there = Span(SOURCE, 0, 1), Span(SOURCE, 1, 2)
    assert Literal("x", here, raw=True) == Literal("x", there)
    assert Comment("# x", here, blank_before=True) == Comment("# x", there)


def _literal(kind, text):
    source = SourceFile("a.rules", text)
    return literal(source, Token(kind, text, start_pos=0, end_pos=len(text)))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('""', ""),
        ('"a b"', "a b"),
        (r'"\\ \" \n \t"', '\\ " \n \t'),
        (r'"\u0041\u00e9"', "Aé"),
        (r'"\uD83D\uDE00"', "\N{GRINNING FACE}"),
        (r'"\\u0041"', r"\u0041"),
        ('"a`b"', "a`b"),
    ],
)
def test_escapes_of_a_string_stand_for_their_characters(written, value):
    """A string has five escapes, and a pair of surrogates is one character."""
    literal, mistake = _literal("STRING", written)
    assert (literal.value, literal.raw, mistake) == (value, False, None)


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("NAME", "site"),
        ("STRING", '"abc"'),
        ("STRING", r'"a\\b\u0041c"'),
        ("STRING", r'"\uD83D\uDE00x"'),
        ("STRING", r'"a\.b"'),
        ("RAW", "`abc`"),
        ("RAW", "`a\r\nb`"),
    ],
)
def test_every_character_has_its_offset(kind, written):
    """There is an offset for each character of the value and one for its end, in order, within the text."""
    literal, _ = _literal(kind, written)
    assert len(literal.offsets) == len(literal.value) + 1
    assert list(literal.offsets) == sorted(literal.offsets)
    assert literal.offsets[-1] in {len(written), len(written) - 1}
    plain = [(index, offset) for index, offset in enumerate(literal.offsets[:-1]) if written[offset] != "\\"]
    assert all(literal.value[index] == written[offset] for index, offset in plain)


def test_escaped_digit_is_explained_as_a_group():
    """The help about an escaped digit shows how a plain template refers to a group."""
    _, mistake = _literal("STRING", r'"/b/\1"')
    assert mistake.help == "write `${1}` in a plain template for what the group captured"


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        (r"/^\/foo$/i", "(?i)^/foo$"),
        ("/^/foo/", "^/foo"),
        (r"/\/foo\/(\d+)/gi", r"(?i)/foo/(\d+)"),
        ("/^a.b$/smx", None),
        ("/^a.b$/smg", "(?ms)^a.b$"),
        ("/foo/", None),
        ("^/foo/", None),
        ("//i", None),
    ],
)
def test_slashes_and_flags_around_a_pattern_are_removed(text, pattern):
    """Flags that change the matches move to the front, and an escaped slash loses its backslash."""
    assert undelimited(text) == pattern


NOWHERE = Span(SourceFile("a.rules", ""), 0, 0)


@pytest.mark.parametrize(
    ("name", "text"),
    [("site", "site"), ("target", "target"), ("a-b.c_1", "a-b.c_1"), ("", '""'), ("1st", '"1st"'), ("a->", '"a->"')],
)
def test_name_is_quoted_only_if_necessary(name, text):
    assert name_text(Literal(name, NOWHERE)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("/a", '"/a"'),
        (r"^/a\.b", r"`^/a\.b`"),
        ('{{ groups["1"] }}', '`{{ groups["1"] }}`'),
        ("`\\", r'"`\\"'),
        ('\n"', r'"\n\""'),
        ("\t", r'"\t"'),
        ("é\u00a0\u200b", r'"é\u00a0\u200b"'),
    ],
)
def test_quoted_string_is_printed_raw_if_it_has_escapes(value, text):
    """A string with a backslash or a quote is printed between backticks, unless it has invisible characters."""
    assert string_text(Literal(value, NOWHERE)) == text


@pytest.mark.parametrize(
    ("value", "text"), [("/a", "`/a`"), ("a\nb", "`a\nb`"), ("a`b", '"a`b"'), ("a\r\nb", r'"a\u000d\nb"')]
)
def test_raw_string_is_quoted_only_if_necessary(value, text):
    """A raw string is printed between quotes only if it has a backtick or a carriage return."""
    assert string_text(Literal(value, NOWHERE, raw=True)) == text


UNTIDY = """\
# header


target "site" { # opening
  rewrite `^/a` -> "/b"    # one
    rewrite home "^/c\\\\." # inner
      -> jinja
    "/d"


  # apart
  rewrite `^/e`->go '/f'
    test "/a" -> "/b" test "/long" as ann -> unchanged

  # closing
}
# about other
target other { } target third { # nothing
}
# end""".replace("'", '"')

TIDY = """\
# header

target site {  # opening
    rewrite `^/a` -> "/b"  # one
    # inner
    rewrite home `^/c\\.` -> jinja "/d"

    # apart
    rewrite `^/e` -> go "/f"
    test "/a"             -> "/b"
    test "/long" as "ann" -> unchanged

    # closing
}

# about other
target other {}

target third {  # nothing
}

# end
"""


def test_untidy_text_gets_the_canonical_layout():
    """An untidy text is printed in the canonical layout, with every comment."""
    assert print_document(document(UNTIDY)) == TIDY


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", ""),
        ("\n\n", ""),
        ("\n\n# a\n\n\n# b", "# a\n\n# b\n"),
        ("\n\ntarget a {\n\n\n# c\n}", "target a {\n    # c\n}\n"),
        ("target a {\n\n\n test `/a` -> error\n\n\n}", "target a {\n    test `/a` -> error\n}\n"),
        ("# a\n\ntarget a {}\n# b\n\ntarget b {}", "# a\n\ntarget a {}\n\n# b\n\ntarget b {}\n"),
        ("target a {}\ntarget b {} # c", "target a {}\n\ntarget b {}  # c\n"),
        ("target a {\n test `/a` -> error\n# c\n}", "target a {\n    test `/a` -> error\n    # c\n}\n"),
    ],
)
def test_blank_lines_are_added_and_removed(text, printed):
    """One blank line separates blocks, at most one separates statements, and there is no blank line at an edge."""
    assert print_document(document(text)) == printed


def test_arrows_are_aligned_within_a_group():
    """Blank lines, comments and a change from rewrites to tests divide the groups whose arrows are aligned."""
    text = """\
target site {
    rewrite `^/a` -> "/a"
    rewrite `^/bb` -> "/b"

    rewrite `^/cccc` -> "/c"
    # another
    rewrite `^/d` -> "/d"
    test "/e" -> error
}
"""
    assert print_document(document(text)) == text.replace("`^/a` ->", "`^/a`  ->")


@given(documents)
def test_printed_text_is_unchanged(document):
    text = print_document(document)
    assert print_document(parsed(text).document) == text


@given(documents)
def test_every_comment_is_printed_once(document):
    assert comment_texts(parsed(print_document(document)).document) == comment_texts(document)


@given(scattered_texts())
def test_formatting_keeps_the_document(text_and_comments):
    """A file in any layout parses to the same document after formatting, and formatting it again changes nothing."""
    before = document(text_and_comments[0])
    printed = print_document(before)
    assert document(printed) == before
    assert print_document(document(printed)) == printed


def _lines(text):
    (block,) = document(f"target site {{ {text} }}").blocks
    return group_lines(block.statements)


def test_names_and_dialects_have_columns_of_their_own():
    """A name or a dialect of one rewrite has a column, which the other rewrites of the group leave empty."""
    assert _lines('rewrite `^/a` -> "/b" rewrite home `^/c` -> jinja "/d" rewrite `^/e` -> go "/f"') == [
        'rewrite      `^/a` ->       "/b"',
        'rewrite home `^/c` -> jinja "/d"',
        'rewrite      `^/e` -> go    "/f"',
    ]


def test_clauses_have_one_order_and_one_form():
    """Clauses are printed in one order, their values between quotes, and methods without quotes."""
    text = 'test `/a` email e user-groups a header X-A `1"` host h method "GET" as ann -> error'
    assert _lines(text) == [
        'test `/a` as "ann" method GET host "h" header "X-A" `1"` user-groups "a" email "e" -> error'
    ]


@pytest.mark.parametrize("source", ["`^/" + "a" * 90 + "`", "`^/a\n  b`"], ids=["wide", "several lines"])
def test_long_source_is_not_aligned(source):
    """A source that is very wide or has several lines does not move the arrows of the other rewrites."""
    expected = [f'rewrite {source} -> "/b"', 'rewrite `^/c` -> "/d"']
    assert _lines(f'rewrite {source} -> "/b" rewrite `^/c` -> "/d"') == expected


def test_wide_characters_take_two_columns():
    """Arrows are aligned by the columns of a terminal."""
    expected = ['rewrite `日本`  -> "/b"', 'rewrite `^/abc` -> "/d"']
    assert _lines('rewrite `日本` -> "/b" rewrite `^/abc` -> "/d"') == expected
