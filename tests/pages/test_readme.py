"""The README of a directory as HTML: what is rendered, what is removed, and what it may cost."""

import re

import pytest
from markupsafe import Markup

from tornado_proxy.pages.limits import LARGEST_HTML, LARGEST_README, READMES_KEPT
from tornado_proxy.pages.readme import find_readme, render_readme


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "README.md", "readme.txt"], "README.md"),
        (["readme", "ReadMe.TXT"], "ReadMe.TXT"),
        (["README/", "README.md.bak"], None),
        ([], None),
    ],
)
def test_a_readme_is_found_in_any_case(names, expected):
    assert find_readme(names) == expected


def test_markdown_is_rendered():
    html = render_readme("README.md", '# Title\n\n*soft* [guide](docs/a b.md "x")\n\n| a |\n|---|\n| 1 |\n')
    assert "<h2>Title</h2>" in html
    assert "<em>soft</em>" in html
    assert "<td>1</td>" in html
    html = render_readme("README.markdown", "[guide](<docs/a b.md>) ![picture](a.png)\n\n###### six")
    assert '<a href="docs/a%20b.md" rel="noopener noreferrer nofollow">guide</a>' in html
    assert '<img src="a.png" alt="picture">' in html
    assert "<h6>six</h6>" in html


@pytest.mark.parametrize("text", ["| a |\n|---|\n| 1 |\n", "```\na\n```\n"])
def test_what_scrolls_can_be_reached_by_keyboard(text):
    """A wide table or a long line of code scrolls in its own box."""
    assert re.match('<(table|pre) tabindex="0">', render_readme("README.md", text))


def test_a_text_readme_is_not_rendered():
    assert render_readme("README.txt", "# <b>&") == '<pre tabindex="0"># &lt;b&gt;&amp;</pre>\n'


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[a](javascript:alert(1))",
        "[a](data:text/html,x)",
        "<a href='vbscript:x'>a</a>",
        "<style>*{display:none}</style>",
        "<iframe src=x></iframe><object data=x></object><embed src=x>",
        "<form action=/x><input name=a><button>b</button></form>",
        "<p style='position:fixed' class='upload' id='announcement'>x</p>",
        "<svg onload=alert(1)><math><mtext></mtext></math></svg>",
        "<base href='//evil.example/'><meta http-equiv=refresh content=0><link rel=stylesheet href=x>",
        "<details ontoggle=alert(1) open>x</details>",
    ],
)
def test_markdown_is_sanitised(text):
    """Scripts, styles, forms, frames, handlers, classes and ids are removed."""
    html = str(render_readme("README.md", text))
    assert re.search(r"<(script|style|iframe|object|embed|form|input|button|svg|math|base|meta|link)\b", html) is None
    assert re.search(r"<[^>]*\s(on\w+|style|class|id)\s*=", html) is None
    assert re.search(r"""(href|src)=["']?\s*(javascript|data|vbscript):""", html) is None


@pytest.mark.parametrize("unit", ["[", "*a", "`", "> ", "![](", "<a", "&", "|a", "- ", "1. ", "***", "[a]: b\n", "~~"])
def test_a_hostile_readme_is_rendered_in_time(unit):
    """A README of the largest size that repeats one construct is rendered."""
    assert render_readme("README.md", (unit * LARGEST_README)[:LARGEST_README]) is not None


_HALF = LARGEST_README // 2
_COPYING = {
    "an address": f"[a]: http://x/{'y' * _HALF}\n\n" + "[a]" * (_HALF // 3 - 8),
    "a title": f"[a]: x '{'y' * _HALF}'\n\n" + "![a]" * (_HALF // 4 - 8),
    "a link that stays open": f"<p><a title='{'y' * _HALF}'></p>" + "<p>x</p>" * (_HALF // 8 - 5),
    "bold text that stays open": f"<p>{'<B>' * 3}{'<i/>' * 3}</p>" + "<p>x</p>" * (LARGEST_README // 8 - 5),
    "cells": f"|{'a|' * 5000}\n|{'-|' * 5000}\n{'|' + chr(10)}" * 1,
    "rows": f"|{'a|' * 99}\n|{'-|' * 99}\n" + "|\n" * (LARGEST_README // 2 - 250),
}


@pytest.mark.parametrize("kind", _COPYING)
def test_the_html_of_a_readme_has_a_limit(kind):
    """What Markdown or HTML would copy many times does not make a page large, and readers still see the text."""
    html = render_readme("README.md", _COPYING[kind])
    assert 0 < len(html) <= LARGEST_HTML
    assert html.count("y" * 1000) <= 2 * _HALF // 1000


def test_a_readme_that_takes_too_much_work_is_shown_as_it_is():
    """Quotes in quotes with thousands of lines are not rendered: the parser stops after a number of steps."""
    text = ">" * 1000 + "a\n" + "b\n" * 15_000
    assert render_readme("README.md", text) == Markup('<pre tabindex="0">{}</pre>\n').format(text)


def test_the_memory_of_rendered_readmes_has_a_limit():
    assert READMES_KEPT * (LARGEST_HTML + LARGEST_README) < 5 << 20


def test_links_and_emphasis_are_markdown():
    """Of HTML, the elements that a browser would open again in each block are left out, and their content stays."""
    html = render_readme(
        "README.md", "<p align=center><a href=x><img src=a.png></a> <kbd>x</kbd> <b >bold</b></p>\n\n[a](b) *c*"
    )
    assert "<img" in html
    assert "<kbd>x</kbd>" in html
    assert "bold" in html
    assert [tag for tag in ("<b>", "</b>", 'href="x"') if tag in html] == []
    assert "<em>c</em>" in html
    assert 'href="b"' in html
