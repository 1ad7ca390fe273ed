from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loaded_rules import rules_of
from rule_sites import rule_sets

from gotemplate.limits import LONGEST_KEY
from gotemplate.regexp.automaton import is_valid_key
from tornado_proxy.rules.expectations import evaluate
from tornado_proxy.rules.limits import LONGEST_OBJECT_KEY
from tornado_proxy.rules.model import (
    InvalidResult,
    KeyFolding,
    TemplateFailed,
    UserRequired,
    ValueRequired,
    fold,
    fold_objection,
    host_objection,
    objection,
    path_objection,
    segment_objection,
)
from tornado_proxy.templates.template import TargetData


@pytest.mark.parametrize(
    "text",
    ["/", "/a", "/a/", "//a", "/a//b", "/...", "/a../b", "/..a", "/.hidden", "/a b+c%d?e#f", "/é中", "/a\u3000b", ""],
)
def test_ordinary_and_unusual_keys_are_valid(text):
    """Several slashes, dots within names, spaces and all scripts are valid in a key."""
    assert objection(text) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("/..", "contains a `.` or `..` segment"),
        ("/.", "contains a `.` or `..` segment"),
        ("/a/../b", "contains a `.` or `..` segment"),
        ("/a/./b", "contains a `.` or `..` segment"),
        ("../a", "contains a `.` or `..` segment"),
        ("/a/..", "contains a `.` or `..` segment"),
        ("/a\nb", "contains a control character"),
        ("/\x00", "contains a control character"),
        ("/\x7f", "contains a control character"),
        ("/\x85", "contains a control character"),
        ("/\udcff", "is not valid Unicode"),
        ("/" + "é" * 513, "is longer than 1024 bytes"),
    ],
)
def test_an_invalid_key_has_a_reason(text, reason):
    """The reason is a predicate, which follows the name of the key in a message."""
    assert objection(text) == reason


def test_a_key_may_be_as_long_as_an_object_key_of_s3():
    assert objection("/" + "a" * LONGEST_OBJECT_KEY) is None
    assert objection("/" + "a" * (LONGEST_OBJECT_KEY + 1)) == "is longer than 1024 bytes"


def test_a_path_may_be_of_any_length():
    """The limit of a key does not hold for a path, because the mount is removed from it."""
    assert path_objection("/" + "a" * 5000) is None
    assert path_objection("/" + "a" * 5000 + "/..") == "contains a `.` or `..` segment"


@given(st.lists(st.sampled_from(["a", ".", "..", "/", "b"])))
def test_dot_segments_are_refused(pieces):
    text = "".join(pieces)
    assert (objection(text) is None) is (not {".", ".."} & set(text.split("/")))


@pytest.mark.parametrize(
    ("name", "objection"),
    [
        ("ann", None),
        ("ann@example.com", None),
        ("..ann", None),
        ("a\\b", None),
        ("", "is empty"),
        ("a/b", "contains a `/`"),
        ("/", "contains a `/`"),
        ("..", "contains a `.` or `..` segment"),
        (".", "contains a `.` or `..` segment"),
        ("a\n", "contains a control character"),
    ],
)
def test_a_name_is_one_segment_of_a_key(name, objection):
    assert segment_objection(name) == objection


@pytest.mark.parametrize(
    ("host", "objection"),
    [
        ("a/b", "contains `/`"),
        ("http://a", "contains `/`"),
        ("a b", "contains ` `"),
        ("a,b", "contains `,`"),
        ("100%", "contains `%`"),
        ("ä.example", "contains `ä`"),
        ("a\n", "contains a control character"),
    ],
)
def test_an_invalid_host_has_a_reason(host, objection):
    """The reason is a predicate, which follows the name of the host in a message."""
    assert host_objection(host) == objection


@given(st.text("/.ab\x85\n\x7f\ud800é", max_size=8))
def test_proofs_and_rules_have_the_same_valid_keys(text):
    assert is_valid_key(text) == (text.startswith("/") and objection(text) is None)


@pytest.mark.parametrize(("text", "valid"), [("/" + "a" * (LONGEST_KEY - 1), True), ("/" + "a" * LONGEST_KEY, False)])
def test_proofs_and_rules_have_the_same_longest_key(text, valid):
    assert ((objection(text) is None), is_valid_key(text)) == (valid, valid)


def test_the_taker_of_a_key_is_the_first_rewrite_that_matches():
    """A key that no source matches has none."""
    rules = rule_sets('target site { rewrite one `^/a` -> "/x"\nrewrite two `^/` -> "/y" }')["site"]
    assert [rule.label for rule in (rules.taker("/a"), rules.taker("/b"))] == ["one", "two"]
    assert rules.taker("a") is None


@pytest.mark.parametrize(
    ("template", "key", "method", "result"),
    [
        ("x", "/a", "GET", "/x"),
        ("/x", "/a/", "GET", "/x/"),
        ("/x/", "/a/", "HEAD", "/x/"),
        ("/x", "/a/", "HEAD", "/x/"),
        ("/x", "/a/", "PUT", "/x"),
        ("/x/", "/a", "GET", "/x/"),
        ("//x", "/a", "GET", "//x"),
        ("/x//y", "/a", "GET", "/x//y"),
    ],
)
def test_slashes_are_added_and_kept(template, key, method, result):
    """A leading slash is added, a directory stays a directory, and repeated slashes stay."""
    assert rules_of(f'rewrite `^/a/?$` -> "{template}"').rewrite(key, method=method).key == result


@pytest.mark.parametrize(
    ("template", "message", "result"),
    [
        ('"$1"', "the result is empty", ""),
        ('"/x/.."', "the result contains a `.` or `..` segment", "/x/.."),
        ('".."', "the result contains a `.` or `..` segment", ".."),
        (r'"/\u0007"', "the result contains a control character", "/\a"),
        ('"/' + "x" * 1025 + '"', "the result is longer than 1024 bytes", "/" + "x" * 1025),
    ],
)
def test_a_result_that_is_not_a_valid_key_is_refused(template, message, result):
    """The result of a template is checked as the path of a request is."""
    with pytest.raises(InvalidResult) as caught:
        rules_of(f"rewrite bad `^/a$` -> {template}").rewrite("/a")
    assert (str(caught.value), caught.value.result, caught.value.rewrite.label) == (message, result, "bad")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("jinja `/{{ request.headers['X-Team'] }}`", "missing header `X-Team`"),
        ("jinja `/{{ request.query.page.lower() }}`", "missing query parameter `page`"),
        ('go `/{{ index .Request.Header "X-Team" 0 }}`', "missing `X-Team`: the index 0 is out of range"),
        ("go `/{{ index .Request.URL.Query.page 0 }}`", "missing `page`: there is no value to index"),
    ],
)
def test_a_template_that_reads_a_value_of_the_client_needs_it(template, message):
    """A header or a query parameter that was not sent is the client's error."""
    with pytest.raises(ValueRequired) as caught:
        rules_of(f"rewrite `^/a$` -> {template}").rewrite("/a")
    assert message in str(caught.value)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    "template",
    [
        "jinja `/{{ request.headers['X-Team']|default('a')|int // 0 }}`",
        'go `/{{ .Request.Header.Get "X-Team" }}{{ index (list 1) 1 }}`',
        'go `/{{ index .Groups (print "x") }}`',
    ],
)
def test_a_template_that_fails_otherwise_is_no_error_of_the_client(template):
    with pytest.raises(TemplateFailed):
        rules_of(f"rewrite `^/a$` -> {template}").rewrite("/a")


@pytest.mark.parametrize(
    ("statement", "passed"),
    [
        ('test "/docs/intro" -> "/docs/intro.html"', True),
        ('test "/feed/" -> "/feeds/all.xml"', True),
        ('test "/user/7" -> "/index.html"', True),
        ('test "/user/7" -> "/other.html"', False),
        ('test "/user/7" -> error', False),
        ('test "/user/7" -> unchanged', True),
        ('test "/bad" -> "/index.html"', False),
        ('test "/user/7" method PUT -> "/index.html"', False),
        ('test "/" -> "/.html"', False),
    ],
)
def test_a_test_may_expect_the_key_of_an_address_that_is_tried(statement, passed):
    """What a target tries, its tests know; a request that is refused tries nothing."""
    rules = rules_of(f"rewrite `^/feed$` -> `/feeds/all.xml`\nrewrite `^/bad$` -> `/../x`\n{statement}")
    target = TargetData("site", mount_paths=("/m/",), try_files=("$path", "$path.html", "/index.html"))
    assert evaluate(rules, rules.tests[0], target).passed is passed


def test_a_template_that_reads_a_user_needs_one():
    rules = rules_of('rewrite `^/home` -> jinja "/users/{{ user.username }}"')
    assert rules.rewrite("/home", user="ann").key == "/users/ann"
    with pytest.raises(UserRequired, match=r"reads `user.username`, but nobody is signed in"):
        rules.rewrite("/home")


@given(st.text(max_size=8), st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_a_result_is_a_valid_key_for_any_user_and_key(username, name):
    rules = rules_of("rewrite `(?s)^/(.*)$` -> jinja `/{{ user.username }}/{{ groups[1] }}`")
    try:
        key = rules.rewrite(f"/{name}", user=username).key
    except InvalidResult:
        return
    assert key.startswith("/")
    assert objection(key) is None


EVERY = get_args(KeyFolding)


@pytest.mark.parametrize(
    ("folding", "path", "folded"),
    [
        ((), "//A\\b. /", "//A\\b. /"),
        (("emptySegments",), "//a///b//", "/a/b/"),
        (("backslashes",), "\\a/b\\", "/a/b/"),
        (("case",), "/ÄB/Straße", "/äb/strasse"),
        (("unicode",), "/e\u0301/ﬁ", "/é/fi"),
        (("trailingDots",), "/a. ./b.c /d..", "/a/b.c/d"),
        (EVERY, "/A\\\\É. /x", "/a/é/x"),
    ],
)
def test_a_store_folds_what_it_does_not_see(folding, path, folded):
    """Each difference that a store does not see is left out of a path."""
    assert fold(path, folding) == folded


@given(st.lists(st.sampled_from([*"/\\. aAéÉß", "e\u0301", "／", "．"])).map("".join))
def test_a_folded_path_is_folded_completely(text):
    """A path that was folded is not changed by folding it again, unless it is refused."""
    folded = fold(f"/{text}", EVERY)
    assert fold(folded, EVERY) == folded or fold_objection(f"/{text}", EVERY)


@pytest.mark.parametrize("path", ["/a\\..\\b", "/．．/a", "/... /a", "/a/ "])
def test_a_path_that_folds_to_dots_is_refused(path):
    """What a store would read as the directory above, or as a directory itself, is no path."""
    assert fold_objection(path, EVERY)
    assert fold_objection(path, ()) is None


@pytest.mark.parametrize("path", ["/.sgwtmp", "/.sgwtmp/multipart/a/1", "//.SGWTMP/a"])
def test_a_directory_of_the_store_itself_is_refused(path):
    """What versitygw keeps in a bucket is no object; a longer name, or one further down, is."""
    assert fold_objection(path, EVERY)
    assert fold_objection("/.sgwtmp2", EVERY) is None
    assert fold_objection("/a/.sgwtmp/b", EVERY) is None
