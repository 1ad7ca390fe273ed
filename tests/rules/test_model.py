import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_sites import rule_sets
from rule_texts import document

from tornado_proxy.rules.compile import compile_documents
from tornado_proxy.rules.keys import objection
from tornado_proxy.rules.model import RefusedResult, RewriteError, RuleSet, TemplateFailed, UserRequired
from tornado_proxy.templates.template import RequestData, TargetData, TargetKeyRewriteData, User

REWRITE = compile_documents([document('target site { rewrite home `^/a$` -> "/b" }')]).rule_sets["site"].rewrites[0]


@pytest.mark.parametrize(
    "error",
    [
        RefusedResult("the result is empty", REWRITE, ""),
        UserRequired("the template reads `user.name`, but nobody is signed in", REWRITE),
        TemplateFailed("division by zero", REWRITE),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_names_the_rewrite_that_it_happened_in(error):
    """Whoever logs it can say which rule failed, and why."""
    assert isinstance(error, RewriteError)
    assert error.rewrite.label == "home"
    assert str(error)


def test_a_refused_result_can_be_shown():
    """The text that is not a key is kept for explanations."""
    assert RefusedResult("the result contains a control character", REWRITE, "/a\n").result == "/a\n"


def _rewrites(statement):
    return rule_sets(f"target site {{ {statement} }}")["site"].rewrites


@pytest.mark.parametrize(("name", "label"), [("press", "press"), ("", "#1")])
def test_a_rewrite_is_called_by_its_name_or_its_number(name, label):
    """Logs, metrics and explain show it so."""
    (rewrite,) = _rewrites(f'rewrite {name} `^/a$` -> "/b"')
    assert (rewrite.number, rewrite.label) == (1, label)


def test_a_rewrite_knows_its_place():
    """From `rewrite` to the end of its template."""
    (rewrite,) = _rewrites('rewrite `^/a$` -> "/b"')
    assert rewrite.span.text == 'rewrite `^/a$` -> "/b"'


def rule_set(statements):
    """The compiled rules of a target, which have no mistake."""
    compiled = compile_documents([document(f"target site {{\n{statements}\n}}")])
    assert compiled.diagnostics == ()
    return compiled.rule_sets["site"]


def test_the_first_rewrite_that_matches_decides():
    """Later ones are not asked, and the result is not rewritten again."""
    rules = rule_set(
        """
        rewrite first  `^/a$` -> "/b"
        rewrite second `^/a`  -> "/c"
        rewrite third  `^/b$` -> "/d"
        """
    )
    rewritten = rules.rewrite("/a")
    assert (rewritten.key, rewritten.rewrite and rewritten.rewrite.label) == ("/b", "first")


def test_a_key_that_no_rewrite_matches_stays_as_it_is():
    """Nothing is checked of it, and no rewrite is named."""
    rewritten = rule_set('rewrite `^/a$` -> "/b"').rewrite("/file.html")
    assert (rewritten.key, rewritten.rewrite, rewritten.captures) == ("/file.html", None, None)


def test_the_whole_key_is_replaced_by_the_result():
    """What the source did not match of the key is not kept."""
    assert rule_set('rewrite `b` -> "/x"').rewrite("/abc").key == "/x"


def test_captures_are_shown_with_the_result():
    """An explanation can say what each group took."""
    rewritten = rule_set('rewrite `^/(?P<name>[^/]+)$` -> "/x/$name"').rewrite("/a")
    assert rewritten.captures is not None
    assert (rewritten.key, rewritten.captures.groups) == ("/x/a", ("/a", "a"))


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
def test_slashes_are_completed_and_otherwise_kept(template, key, method, result):
    """A leading slash is added; a directory that is read stays one; slashes in a row are part of the key."""
    assert rule_set(f'rewrite `^/a/?$` -> "{template}"').rewrite(key, method=method).key == result


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
def test_a_result_that_can_be_no_key_is_refused(template, message, result):
    """What a template makes is checked like a requested path, and never sent."""
    with pytest.raises(RefusedResult) as caught:
        rule_set(f"rewrite bad `^/a$` -> {template}").rewrite("/a")
    assert (str(caught.value), caught.value.result, caught.value.rewrite.label) == (message, result, "bad")


def test_a_template_that_reads_a_user_needs_one():
    """Where nobody is signed in, the request is refused, not the key left with a hole."""
    rules = rule_set('rewrite `^/home` -> jinja "/users/{{ user.username }}"')
    assert rules.rewrite("/home", user="ann").key == "/users/ann"
    with pytest.raises(UserRequired, match=r"reads `user.username`, but nobody is signed in"):
        rules.rewrite("/home")


def test_a_template_that_fails_says_why():
    """Any other error of a template is the rules' own."""
    with pytest.raises(TemplateFailed, match="missing header `X-Tenant`"):
        rule_set("rewrite `^/a$` -> jinja \"/{{ request.headers['X-Tenant'] }}\"").rewrite("/a")


def test_templates_see_what_a_caller_tells_of_the_request():
    """Method, host, headers, user and target reach the template."""
    rules = rule_set(
        "rewrite `^/a$` -> jinja `/{{ request.method }}/{{ request.host }}/{{ request.headers.x }}"
        "/{{ user.email }}/{{ target.name }}/{{ request.path }}`"
    )
    told = {"method": "PUT", "host": "h", "headers": (("X", "y"),), "user": User("ann", email="e")}
    assert rules.rewrite("/a", **told).key == "/PUT/h/y/e/site//a"
    assert rules.rewrite("/a", **told, target=TargetData("other")).key == "/PUT/h/y/e/other//a"


def test_a_raw_result_is_shown_unchecked():
    """What a rewrite makes can be seen before it becomes a key."""
    data = TargetKeyRewriteData("/a", None, RequestData(), TargetData())
    found = rule_set('rewrite `a` -> "x/.."').render(data)
    assert found is not None
    assert (found[0].number, found[2]) == (1, "x/..")
    assert rule_set("").render(data) is None


def test_a_rewrite_without_a_name_goes_by_its_number():
    """Numbers count from one; a rewrite knows its place in the file."""
    first, second = rule_set('rewrite `a` -> "/"\nrewrite home `b` -> "/"').rewrites
    assert (first.label, second.label) == ("#1", "home")
    assert (first.span.place, second.span.place) == ("site.rules:2:1", "site.rules:3:1")


def test_rule_sets_that_say_the_same_are_equal():
    """Equality leaves out places, so that an edit of a comment changes nothing."""
    assert rule_set('rewrite `a` -> "/b"') == rule_set('# moved\nrewrite `a` ->\n"/b"')
    assert rule_set('rewrite `a` -> "/b"') != rule_set('rewrite `a` -> "/c"')
    assert RuleSet("site") == rule_set("")


@given(st.text(max_size=8), st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_whatever_a_user_and_a_key_hold_the_result_can_be_a_key(username, name):
    """A result is either a key without objection or refused."""
    rules = rule_set("rewrite `(?s)^/(.*)$` -> jinja `/{{ user.username }}/{{ groups[1] }}`")
    try:
        key = rules.rewrite(f"/{name}", user=username).key
    except RefusedResult:
        return
    assert key.startswith("/")
    assert objection(key) is None
