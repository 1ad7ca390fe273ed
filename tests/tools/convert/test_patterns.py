import pytest

from gotemplate.regexp.syntax import PatternError
from tornado_proxy.tools.convert.options import NotConvertible
from tornado_proxy.tools.convert.patterns import Here, NeverFound, plain_target_here, source_here


@pytest.mark.parametrize(
    ("source", "prefix", "expected", "is_unchanged"),
    [
        ("^file$", "", "^/file$", False),
        (r"\Afile", "", r"\A/file", False),
        ("(?i)^file", "", "(?i)^/file", False),
        ("^", "", "^/", False),
        ("^/file$", "/", "^/file$", False),
        ("file$", "", "file$", True),
        ("file", "folder1/", "file", True),
        ("/file$", "", "^/(?s:.*?)(?:/file$)", False),
        (".*", "", "^/(?s:.*?)(?:.*)", False),
        ("", "", "^/(?s:.*?)(?:)", False),
        ("^folder1/file$", "folder1/", "^/file$", False),
        ("^/folder1/file$", "/folder1/", "^/file$", False),
        ("(?i)^FOLDER1/x", "folder1/", "(?i)^/x", False),
        (r"^a.b/x", "a.b/", "^/x", False),
        ("^fol", "folder1/", "^/", False),
    ],
)
def test_a_source_is_converted_for_keys_with_a_slash_and_no_prefix(source, prefix, expected, is_unchanged):
    """The converted source matches the same keys with the same groups."""
    assert source_here(source, prefix) == Here(expected, whole=is_unchanged)


@pytest.mark.parametrize(
    ("source", "prefix"), [("^/file$", ""), ("^/file$", "folder1/"), ("^xolder1/", "folder1/"), ("(?i)^x", "f/")]
)
def test_a_source_that_never_matches_is_not_converted(source, prefix):
    """A key of s3-proxy begins with the prefix, and without a prefix it has no leading slash."""
    with pytest.raises(NeverFound):
        source_here(source, prefix)


@pytest.mark.parametrize(
    ("source", "prefix", "reason"),
    [
        ("^a|b", "", "`^` is not only at its start"),
        ("a^b", "", "`^` is not only at its start"),
        ("(^)*a", "", "`^` is not only at its start"),
        ("^a|^b", "f/", "`^` is not only at its start"),
        (r"^[a-f]\w/x", "f1/", "it does not spell out the prefix `f1/`"),
        ("x", "a//", "the prefix has an empty segment, `//`, which s3-proxy's SDK removes on the way to S3"),
        ("^.*/file$", "f/", "it does not spell out the prefix `f/`"),
        ("^(f)/x", "f/", "it does not spell out the prefix `f/`"),
        (r"^\Qf/\Ex", "f/", r"its quotation, `\Q`, hides where its parts are"),
        ("f", "folder1/", "it may match within the prefix `folder1/`"),
        (r"\bx", "folder1/", r"its `\b` or `\B` may match in the prefix"),
        ("x", "a./", "nothing proves that it never matches within the prefix `a./`"),
        ("x", "f" * 201, f"nothing proves that it never matches within the prefix `{'f' * 201}`"),
        ("(" * 70 + "a" + ")" * 70, "", "the expression is beyond what can be proved"),
    ],
)
def test_a_source_is_not_converted_without_a_proof(source, prefix, reason):
    with pytest.raises(NotConvertible) as caught:
        source_here(source, prefix)
    assert str(caught.value) == reason


def test_an_invalid_source_is_refused():
    """s3-proxy would not start with an invalid expression."""
    with pytest.raises(PatternError):
        source_here("(", "")


@pytest.mark.parametrize(
    ("target", "source", "prefix", "expected"),
    [
        ("/new", "^/old$", "", "/new"),
        ("new", "^/old$", "", "/new"),
        ("//new", "^/old$", "", "/new"),
        ("$1", "^/(.*)$", "", "$1"),
        ("new/$1", "^/docs/(.*)$", "", "/new/$1"),
        ("new$1", "^/docs(.*)$", "", "/new$1"),
        ("$two/$one", r"^/(?P<one>\w+)/(?P<two>[^/]+)$", "", "$two/$one"),
        ("a/$none$1", r"^/(\w+)", "", "/a/$none$1"),
        ("a/$x", r"^/(?:(?P<x>a)|(?P<x>b))", "", "/a/$x"),
        ("a$$b", "^/", "", "/a$$b"),
        ("a/$1$2$3/b", r"^/(\w*)(\w*)(\w)$", "", "/a/$1$2$3/b"),
        ("folder1/new/$1", "^/old/([^/]+)", "folder1/", "/new/$1"),
        ("/folder1/new", "^/old", "/folder1", "/new"),
        ("folder1/", "^/old", "folder1", "/"),
    ],
)
def test_a_target_is_converted_to_a_key_below_the_prefix(target, source, prefix, expected):
    """The template makes the same key, with a leading slash."""
    assert plain_target_here(target, Here(source), prefix) == expected


@pytest.mark.parametrize(
    ("target", "source", "prefix", "reason"),
    [
        ("other/x", "^/a", "folder1/", "it may lead outside the prefix `folder1/`, which no rewrite can do here"),
        ("$1/x", "^/(a)", "folder1/", "it may lead outside the prefix `folder1/`, which no rewrite can do here"),
        ("folder1", "^/(a)", "folder1/", "it may lead outside the prefix `folder1/`, which no rewrite can do here"),
        ("", "^/a", "", "it is empty"),
        ("a/../b", "^/a", "", "it contains a `.` or `..` segment, which is refused here"),
        ("a//b/$1", "^/(a)", "", "it has an empty segment, `//`, which s3-proxy's SDK removes"),
    ],
)
def test_a_target_is_not_converted_without_a_proof(target, source, prefix, reason):
    with pytest.raises(NotConvertible) as caught:
        plain_target_here(target, Here(source), prefix)
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    ("target", "source", "first", "second"),
    [
        ("new/$1", "^/docs(.*)$", "`/new/`", "`$1`"),
        ("$1/x", "^/(.*)$", "`$1`", "`/x`"),
        ("a/$1/b", r"^/(\w*)$", "`/a/`", "`/b`"),
        ("a/$1", r"^/(\w+/)*x$", "`/a/`", "`$1`"),
        ("a/$1/b", r"^/(?:(\w+)|-)$", "`/a/`", "`/b`"),
        ("a/$1", r"^/a(/\b)", "`/a/`", "`$1`"),
        ("$1$2", "^/(.*)b(.*)$", "`$1`", "`$2`"),
    ],
)
def test_a_target_with_slashes_that_may_meet_is_not_converted(target, source, first, second):
    """s3-proxy's SDK would remove one of them."""
    with pytest.raises(NotConvertible, match="it may have an empty segment") as caught:
        plain_target_here(target, Here(source), "")
    assert f"between {first} and {second}, " in str(caught.value)


def test_the_whole_match_is_converted_only_with_an_unchanged_source():
    """`$0` is another text if the source has been changed."""
    assert plain_target_here("a${0}x", Here("file"), "") == "/a${0}x"
    with pytest.raises(NotConvertible, match="`\\$0` is the whole match"):
        plain_target_here("a${0}x", Here("^/file", whole=False), "")
