"""What a README says, without what it could do."""

from __future__ import annotations

import re

import pytest

from tornado_proxy.pages.readme import LARGEST, find_readme, render_readme


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["a", "README.md", "readme.txt"], "README.md"),
        (["readme", "ReadMe.TXT"], "ReadMe.TXT"),
        (["README/", "README.md.bak"], None),
        ([], None),
    ],
)
def test_a_readme_is_found_in_any_case(names, found):
    """Markdown is preferred to text."""
    assert find_readme(names) == found


def test_markdown_is_rendered():
    """Headings stand below the page's own; tables and relative links work."""
    html = render_readme("README.md", '# Title\n\n*soft* [guide](docs/a b.md "x")\n\n| a |\n|---|\n| 1 |\n')
    assert "<h2>Title</h2>" in html
    assert "<em>soft</em>" in html
    assert "<td>1</td>" in html
    html = render_readme("README.markdown", "[guide](<docs/a b.md>) ![picture](a.png)\n\n###### six")
    assert '<a href="docs/a%20b.md" rel="noopener noreferrer nofollow">guide</a>' in html
    assert '<img src="a.png" alt="picture">' in html
    assert "<h6>six</h6>" in html


def test_text_stays_text():
    """A README that is no Markdown is shown as it is."""
    assert render_readme("README.txt", "# <b>&") == "<pre># &lt;b&gt;&amp;</pre>\n"


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
        "<p style='position:fixed' class='upload' id='said'>x</p>",
        "<svg onload=alert(1)><math><mtext></mtext></math></svg>",
        "<base href='//evil.example/'><meta http-equiv=refresh content=0><link rel=stylesheet href=x>",
        "<details ontoggle=alert(1) open>x</details>",
    ],
)
def test_nothing_in_it_can_do_harm(text):
    """Scripts, styles, forms, frames, handlers and the classes and ids of the page are taken out."""
    html = str(render_readme("README.md", text))
    assert re.search(r"<(script|style|iframe|object|embed|form|input|button|svg|math|base|meta|link)\b", html) is None
    assert re.search(r"<[^>]*\s(on\w+|style|class|id)\s*=", html) is None
    assert re.search(r"""(href|src)=["']?\s*(javascript|data|vbscript):""", html) is None


@pytest.mark.parametrize("unit", ["[", "*a", "`", "> ", "![](", "<a", "&", "|a", "- ", "1. ", "***", "[a]: b\n", "~~"])
def test_a_hostile_readme_takes_no_age(unit):
    """As much of one construct as a README may have is rendered, in bounded time."""
    assert render_readme("README.md", (unit * LARGEST)[:LARGEST]) is not None
