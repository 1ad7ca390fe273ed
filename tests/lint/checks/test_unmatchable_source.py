import pytest
from linting import findings, fixed, places

NAME = "unmatchable-source"


@pytest.mark.parametrize("source", ["^/docs/", "docs/", "^.", r"^/\.well-known/", r"^/a\.\.b$"])
def test_sources_that_keys_have_are_left_alone(source):
    """What any key can match is not a finding."""
    assert places(NAME, f"rewrite `{source}` -> `/x`") == []


@pytest.mark.parametrize("source", [r"\n", r"/\.\./", "/a$b", "a^/", "^//?[^/a]{0}$(?:a)", "[^\\x00-\\x{10FFFF}]"])
def test_sources_that_no_key_has(source):
    """Control characters, dot segments, and what follows the end are never found."""
    (found,) = findings(NAME, f"rewrite `{source}` -> `/x`")
    assert found.message == "no key can match this"


def test_the_missing_slash_is_named():
    """The habit of keys without a leading slash gets its own message."""
    (found,) = findings(NAME, "rewrite `^docs/(.*)$` -> `/manual/$1`")
    assert found.message == "no key can match this: every key begins with `/`"
    assert found.help == "write `^/docs/(.*)$`"


def test_the_fix_writes_the_slash():
    """The slash goes behind the anchor."""
    assert fixed(NAME, "rewrite `^docs/$` -> `/x`") == "rewrite `^/docs/$` -> `/x`"


@pytest.mark.parametrize(
    ("source", "meant"), [(r"/^\/foo$/i", "(?i)^/foo$"), ("/^/foo/", "^/foo"), (r"/\/foo$/g", "/foo$")]
)
def test_a_source_between_slashes_is_written_without_them(source, meant):
    """The habit of other languages gets its own message, and the flags go to the front."""
    (found,) = findings(NAME, f"rewrite `{source}` -> `/x`")
    assert found.message == "no key can match this: the slashes around it are part of the source"
    assert found.help == f"write `{meant}`"
    assert fixed(NAME, f"rewrite `{source}` -> `/x`") == f"rewrite `{meant}` -> `/x`"
