import pytest

from tornado_proxy.lang.delimited import undelimited


@pytest.mark.parametrize(
    ("text", "meant"),
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
def test_slashes_and_flags_around_a_pattern_are_no_part_of_it(text, meant):
    """Flags that change what is found stand in front, and a slash needs no backslash."""
    assert undelimited(text) == meant
