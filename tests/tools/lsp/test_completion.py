from __future__ import annotations

import pytest
from editing import site, split_at_cursor

from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import edited
from tornado_proxy.rules.diagnostic import Edit
from tornado_proxy.rules.tree import Dialect
from tornado_proxy.templates import go_data
from tornado_proxy.templates.jinja_values import NAMES, RECORDS
from tornado_proxy.tools.lsp.completion import BY_DIALECT, Completion, completions, fields, group_names


def _completions(text: str) -> list[Completion]:
    return completions(*split_at_cursor(text), ["site", "team"])[1]


def _labels(text: str) -> list[str]:
    return [item.label for item in _completions(text)]


STATEMENTS = ["rewrite", "redirect", "gone", "redirects", "rewrites", "test"]


@pytest.mark.parametrize(
    ("template", "labels"),
    [
        ('"/b/$‸"', ["1", "page"]),
        ('"/b/$pa‸"', ["1", "page"]),
        ('"/b/${‸"', ["1}", "page}"]),
        ('"/b/${‸}"', ["1", "page"]),
        ('"/b/${pa‸ge}"', ["1", "page"]),
        ('"/b/${‸/c"', ["1}", "page}"]),
        ('"/b/$$‸"', []),
        ('"/b/$$$‸"', ["1", "page"]),
        ('"/b‸"', []),
        ("`/b/$‸", ["1", "page"]),
        ('jinja "/{{ groups.‸ }}"', ["page"]),
        ("jinja \"/{{ groups['‸'] }}\"", ["1", "page"]),
        ('jinja "/{{ groups[\\"pa‸', ["1", "page"]),
        ('jinja "/‸{{ key }}"', []),
        ('go "/{{ .Groups.‸ }}"', ["page"]),
        ('go "/{{ $.Groups.pa‸', ["page"]),
        ('go `/{{ index .Groups "‸" }}`', ["1", "page"]),
        ('go "/{{ index $.Groups `p‸', ["1", "page"]),
        ('go `/{{ .Request.Header.Get "‸" }}`', []),
        ("jinja \"/{{ request.headers['‸'] }}\"", []),
        ('jinja `/{{ "it\\"s" ~ groups["‸"] }}`', ["1", "page"]),
        ('go "/‸"', []),
    ],
)
def test_groups_of_the_source_are_completed_in_a_template(template, labels):
    """Groups are offered whether or not the string is closed."""
    assert _labels(f"target site {{ {_PAGE}{template}") == labels


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ('jinja "/{{ ‸ }}"', {"user", "request", "target", "key", "groups"}),
        ('jinja "{% if us‸', {"user", "groups"}),
        ('jinja "/{{ user.‸ }}"', {"username", "email", "groups"}),
        ('jinja "/{{ target.bucket.na‸ }}"', {"name", "prefix", "region"}),
        ('jinja "/{{ key | ‸ }}"', {"lower", "replace"}),
        ('go "/{{ ‸ }}"', {".User", ".Key", ".Groups", "lower"}),
        ('go "/{{ .‸ }}"', {"User", "Key", "Groups"}),
        ('go "/{{ .User.Get‸ }}"', {"GetUsername", "GetEmail"}),
        ('go "/{{ .Request.URL.‸ }}"', {"Path", "RawQuery"}),
        ('jinja "/{{ key is ‸ }}"', {"defined", "none"}),
        ('jinja "/{{ key is not de‸ }}"', {"defined"}),
        ('jinja "/{{ key is defined and ‸ }}"', {"user", "key"}),
        ('jinja "{% ‸ %}"', {"if", "for", "set", "endif"}),
        ('jinja "{%- end‸', {"endif", "endfor"}),
        ('go "/{{ .Key | lo‸ }}"', {"lower"}),
    ],
)
def test_variables_and_functions_are_completed_in_templates(template, expected):
    assert expected <= set(_labels(f"target site {{ {_PAGE}{template}"))


def test_variables_that_a_go_template_declares_are_completed():
    """Each variable is offered once and replaces the dollar sign."""
    text = f"target site {{ {_PAGE}go `{{{{ $a := 1 }}}}{{{{ range $i, $x := .Groups }}}}{{{{ $a = 2 }}}}{{{{ $‸ }}}}"
    word, items = completions(*split_at_cursor(text))
    assert [item.label for item in items] == ["$a", "$i", "$x"]
    assert word.text == "$"


_PAGE = "rewrite `^/(a)/(?P<page>[^/]+)$` -> "


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("‸", ["target"]),
        ("tar‸", ["target"]),
        ("target ‸", ["site", "team"]),
        ("target si‸ {}", ["site", "team"]),
        ("target site { ‸ }", STATEMENTS),
        ("target site { rew‸ }", STATEMENTS),
        ("target site { rewrite ‸", []),
        ("target site { rewrite `^/a` ‸", ["->"]),
        ("target site { rewrite `^/a` -> ‸", ["jinja", "go"]),
        ("target site { rewrite `^/a` -> j‸", ["jinja", "go"]),
        ("target site { rewrite `^/a` -> jinja ‸", []),
        ('target site { test "/a" ‸', ["as", "method", "host", "header", "user-groups", "email", "->"]),
        ('target site { test "/a" user-‸', ["as", "method", "host", "header", "user-groups", "email"]),
        ('target site { test "/a" method ‸', ["GET", "HEAD", "PUT", "DELETE"]),
        ('target site { test "/a" method PUT -> ‸', ["redirect", "gone", "unchanged", "error"]),
        ('target site { test "/a" -> "/b" ‸', STATEMENTS),
        ("# ‸", ["allow:", "allow-file:"]),
        ("# al‸", ["allow:", "allow-file:"]),
        ("# some words ‸", []),
        ("# allow: a (rea‸", []),
        ('target site { rewrite `^/a` ‸ -> "/b"', []),  # no second arrow
        ("target site { rewrite `^/$‸", []),
        ('target site { test "/a" as "‸', []),
        ('target site { test "/a" -> "/$‸', []),
        ('target site { rewrite `^/(?P<page>[^/` -> "/$‸', ["page"]),  # the source is not finished
    ],
)
def test_keywords_and_names_are_completed(text, labels):
    """Other strings, such as a source, a key and the name of a user, are free text."""
    assert _labels(text) == labels


@pytest.mark.parametrize("comment", ["# allow: ‸", "# allow: no-effect, un‸", "#allow-file:‸"])
def test_checks_are_completed_in_an_allowance(comment):
    """Each check has its summary and its manual page."""
    items = _completions(comment)
    assert [item.label for item in items] == [check.name for check in CHECKS]
    assert all(item.detail and item.manual for item in items)


@pytest.mark.parametrize(
    "text", ["tar‸ {}", 'target site { rew‸ `^/a` -> "/b" }', "target site { rewrite `a` -> j‸ `b`"]
)
def test_a_keyword_before_its_strings_is_completed_without_a_snippet(text):
    """A snippet would repeat the strings that follow."""
    assert [item.snippet for item in _completions(text)] == ["" for _ in _completions(text)]
    assert _completions(text)


def test_a_completion_replaces_the_word_before_the_cursor():
    text = site(f'{_PAGE}jinja "/{{{{ user.user‸ }}}}"')
    word, items = completions(*split_at_cursor(text))
    assert "username" in [item.label for item in items]
    assert "{{ user.username }}" in edited(word.source.text, [Edit(word, "username")])


def test_keywords_have_snippets():
    """The snippet of a keyword puts the cursor where the first string belongs."""
    (completion,) = [item for item in _completions("target site { ‸ }") if item.label == "rewrite"]
    assert completion.snippet == 'rewrite `^/$1$` -> "/$2"'


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("^/(?P<a>x)/(y)/(?<b>z)", ["a", "2", "b"]),
        ("^/(?:x)", []),
        ("^/(?P<a>x)|(?P<a>y)", ["a"]),
        ("^/(?P<a>x)/(?P<b>[^/", ["a", "b"]),
    ],
)
def test_groups_have_a_name_or_a_number(source, names):
    """In an unfinished expression, only named groups are known."""
    assert group_names(source) == names


_GO_TYPES = {
    "": (go_data.ROOT,),
    "User": tuple(go_data.USERS.values()),
    "Request": (go_data.REQUEST,),
    "Request.URL": (go_data.URL,),
    "Target": (go_data.TARGET,),
    "Target.Bucket": (go_data.BUCKET,),
    "Target.Mount": (go_data.MOUNT,),
}


def test_every_variable_of_jinja_templates_is_described():
    names = {*NAMES, *(f"{path}.{name}" for path, names in RECORDS.items() for name in names)}
    assert set(BY_DIALECT[Dialect.JINJA]) == names


def test_every_variable_of_go_templates_is_described():
    names = {
        f"{path}.{name.decode()}".removeprefix(".")
        for path, types in _GO_TYPES.items()
        for go_type in types
        for name in (*go_type.getters, *go_type.methods)
    }
    assert set(BY_DIALECT[Dialect.GO]) == names


def test_the_fields_of_a_variable_are_those_directly_below_it():
    """The variable itself and deeper fields are not included."""
    assert [name for name, _ in fields(Dialect.JINJA, "target.mount")] == ["host", "path"]
    assert [name for name, _ in fields(Dialect.GO, "")] == ["User", "Request", "Target", "Key", "Groups"]
    assert list(fields(Dialect.PLAIN, "")) == []
