"""What stands above targets and rewrites."""

from __future__ import annotations

from editing import NAME, analysed, site

from tornado_proxy.tools.lsp.lenses import lenses


def _titles(text: str) -> list[str]:
    return [f"{lens.span.text[:14]}: {lens.title}" for lens in lenses(analysed(text), NAME)]


def test_each_rewrite_shows_what_its_tests_come_to():
    """Tests count for the rewrite that takes their key, and for the target."""
    text = site(
        'rewrite a `^/a` -> "/b"',
        'rewrite c `^/c` -> "/d"',
        'rewrite e `^/e` -> "/f"',
        'test "/a1" -> "/b"',
        'test "/a2" -> "/x"',
        'test "/a3" -> "/b"',
        'test "/c" -> "/d"',
        'test "/y" -> unchanged',
    )
    assert _titles(text) == [
        "site: 1 of 5 tests fails",
        "rewrite a `^/a: 1 of 3 tests fails",
        "rewrite c `^/c: 1 test passes",
        "rewrite e `^/e: no tests",
    ]


def test_several_tests_are_spoken_of_in_the_plural():
    """Two fail, two pass."""
    failing = site('rewrite a `^/a` -> "/b"', 'test "/a1" -> "/x"', 'test "/a2" -> "/x"')
    assert _titles(failing)[1] == "rewrite a `^/a: 2 of 2 tests fail"
    assert _titles(failing.replace("/x", "/b"))[1] == "rewrite a `^/a: 2 tests pass"


def test_a_lens_leads_to_the_first_test_that_fails():
    """Or, where all pass, to the first."""
    text = site('rewrite a `^/a` -> "/b"', 'test "/a1" -> "/b"', 'test "/a2" -> "/x"')
    target, rewrite = lenses(analysed(text), NAME)
    assert target.test == rewrite.test
    assert rewrite.test.text == 'test "/a2" -> "/x"'


def test_while_there_are_mistakes_there_are_no_lenses():
    """What tests come to is not known."""
    assert _titles(site('rewrite a `^/a` -> "/b"', "test 7")) == []
    assert list(lenses(analysed(""), "other.rules")) == []
