import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.routing.globs import path_expression
from tornado_proxy.rules.patterns import compile_pattern
from tornado_proxy.tools.convert.globs import apart, glob_here

GLOBS = st.lists(st.sampled_from(["/", "/", "a", "b", "*", "**"]), max_size=6).map(lambda parts: "/" + "".join(parts))
PATHS = st.text("/ab", max_size=6).map(lambda text: f"/{text}")


def _covers_there(glob, path):
    parts = re.findall(r"\*\*|.", glob)
    return (
        re.fullmatch("".join({"**": ".*", "*": "[^/]*"}.get(part, re.escape(part)) for part in parts), path) is not None
    )


@given(GLOBS, PATHS)
def test_a_glob_covers_the_same_paths_here(glob, path):
    """Not one more, not one less."""
    here = glob_here(glob)
    assert (here is None) == ("***" in glob)
    if here is not None:
        assert (compile_pattern(path_expression(here)).search(path) is not None) == _covers_there(glob, path)


@given(GLOBS, GLOBS, PATHS)
def test_globs_that_are_apart_cover_no_path_together(one, other, path):
    """What begins differently never meets."""
    if apart(one, other):
        assert not (_covers_there(one, path) and _covers_there(other, path))


@pytest.mark.parametrize(("one", "other"), [("/a/**", "/b"), ("/a/b*", "/a/c/**")])
def test_globs_of_different_directories_are_apart(one, other):
    """The proof is worth something."""
    assert apart(one, other)
