from __future__ import annotations

import pytest
from editing import NAME, after, analysed, site
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_texts import parsed

from tornado_proxy.lang.printer import print_document
from tornado_proxy.tools.lsp.edits import Action, actions, layout_edits, safe_fixes

_DOT = 'rewrite `^/a.b$` -> "/c"'


def _offered(text: str) -> list[Action]:
    return list(actions(analysed(text), NAME, 0, len(text)))


def _codes(text: str) -> list[str]:
    return [each.code for each in analysed(text).diagnostics_of(NAME)]


def _allow(text: str, name: str) -> str:
    action = next(each for each in _offered(text) if each.title == f"allow `{name}` here")
    return after(text, action.edits)


def test_fixes_say_what_they_promise():
    """Only a safe one is preferred, so that a key press never changes a key."""
    text = site(_DOT, 'test "/a.b" -> "/c"  # allow: unescaped-dot')
    offered = [(each.title, each.preferred) for each in _offered(text)]
    assert ("escape the dot (keys may change)", False) in offered
    assert ("take it out", True) in offered


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        (site(_DOT), site("# allow: unescaped-dot", _DOT)),
        (site(f"{_DOT}  # allow: no-effect"), site(f"{_DOT}  # allow: no-effect, unescaped-dot")),
        (site("# allow: no-effect (why)", _DOT), site("# allow: no-effect, unescaped-dot (why)", _DOT)),
        (f"target site {{ {_DOT}\n}}\n", f"target site {{ {_DOT}  # allow: unescaped-dot\n}}\n"),
        (site(f"  {_DOT}"), site("  # allow: unescaped-dot", f"  {_DOT}")),
    ],
    ids=["above", "beside another", "before a reason", "behind", "indented"],
)
def test_a_finding_can_be_allowed_by_a_comment(before, behind):
    """Above the statement, in the comment that is there, or behind it."""
    assert _allow(before, "unescaped-dot") == behind
    assert "unescaped-dot" not in _codes(behind)


def test_a_finding_about_a_target_is_allowed_above_its_block():
    """A target without tests is found at its name."""
    text = site('rewrite `^/a$` -> "/b"')
    assert _allow(text, "untested-rewrite") == f"# allow: untested-rewrite\n{text}"


def test_where_no_comment_can_stand_none_is_offered():
    """Several statements on one line leave no room."""
    titles = [each.title for each in _offered(f'target site {{ {_DOT} test "/a.b" -> "/c" }}')]
    assert "allow `unescaped-dot` here" not in titles


def test_mistakes_cannot_be_allowed():
    """What parser and compiler say, and what is said of allowances, has no such action."""
    text = site('rewrite `^/(` -> "/b"', 'test "/a" -> unchanged  # allow: no-effekt')
    assert [each.title for each in _offered(text) if each.title.startswith("allow")] == []


def test_only_what_touches_the_stretch_is_offered():
    """An editor asks for the place of the cursor."""
    text = site(_DOT, 'rewrite `^/d.e$` -> "/f"')
    offset = text.index("d.e") + 1
    found = list(actions(analysed(text), NAME, offset, offset))
    assert {each.finding.span.start for each in found} == {offset}


def test_all_safe_fixes_can_be_had_at_once():
    """As `lint --fix` applies them."""
    text = site('rewrite `^/a(?P<x>b)$` -> "/c"', 'test "/ab" -> "/c"  # allow: no-effect')
    fixed = after(text, [edit for fix in safe_fixes(analysed(text), NAME) for edit in fix.edits])
    assert fixed == site('rewrite `^/a(?:b)$` -> "/c"', 'test "/ab" -> "/c"')


_STATEMENTS = st.lists(
    st.sampled_from(
        [
            _DOT,
            'rewrite `/x` -> "y/$q"',
            'rewrite `^docs/` -> "/z"',
            'test "/a.b" -> "/z"',
            "# a comment",
            'test "/q" -> unchanged',
        ]
    ),
    max_size=6,
)


@settings(max_examples=30, deadline=None)
@given(_STATEMENTS)
def test_what_is_allowed_is_not_found_again(statements):
    """Every such action does what it says, wherever it is offered."""
    text = site(*statements)
    for action in _offered(text):
        if action.title.startswith("allow"):
            changed = after(text, action.edits)
            assert len(_codes(changed)) < len(_codes(text)), changed


def test_between_statements_there_is_nothing_to_allow():
    """A finding about a comment that stands nowhere has no statement to stand above."""
    text = "target site {}\n# allow: unescaped-dot\n"
    assert [each.title for each in _offered(text)] == ["take it out"]


_LONG = "target site {\n" + '  rewrite `^/a$`->"/b"\n' * 2001 + "}\n"


@pytest.mark.parametrize(
    "text",
    [
        'target site{rewrite `^/a`->"/b"}',
        "target site {\n\n\n}\n",
        "# x\r\ntarget site {}\r\n",
        "target a {}\ntarget b {}",
        _LONG,
    ],
    ids=["one line", "blank lines", "CR LF", "no line end", "long"],
)
def test_the_edits_lay_out_the_file(text):
    """What they make is what `fmt` prints."""
    found = parsed(text)
    assert after(text, layout_edits(found)) == print_document(found.document)


def test_lines_that_stay_are_not_touched():
    """Only the line that changes is replaced."""
    text = 'target site {\n    rewrite `^/a$` -> "/b"\n\n  test "/a" -> "/b"\n}\n'
    (edit,) = layout_edits(parsed(text))
    assert edit.span.text == '  test "/a" -> "/b"\n'


@pytest.mark.parametrize("text", ["", "target site {}\n", "target site {", "target site { rewrit }"])
def test_a_file_in_its_layout_or_with_a_mistake_is_left_alone(text):
    """What cannot be read has no layout."""
    assert layout_edits(parsed(text)) == ()


@given(st.text(alphabet='target{} site\n\r"`#\u2028->', max_size=50))
def test_no_text_makes_it_fail(text):
    """Either there is nothing to do, or the result is the layout."""
    found = parsed(text)
    if not found.diagnostics:
        assert after(text, layout_edits(found)) == print_document(found.document)
