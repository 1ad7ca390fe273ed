"""Redirects and what is gone: read, compiled and applied."""

from __future__ import annotations

import pytest
from loaded_rules import mistakes_of, rules_of
from rule_texts import document

from tornado_proxy.rules.loading import compile_documents
from tornado_proxy.rules.model import InvalidResult, Key, Moved, TemplateFailed
from tornado_proxy.rules.tree import RedirectLocation, RewriteStatement, print_document

NO_HOST = "does not name its host in the rule's own words"
DOTS = "contains a `.` or `..` segment"


@pytest.mark.parametrize(
    ("statement", "key", "answer"),
    [
        ("redirect `^/a/(.*)$` -> `/b/$1`", "/a/x y", "redirect 302 /b/x%20y"),
        ("redirect 308 `^/a$` -> `https://example.org/?x`", "/a", "redirect 308 https://example.org/?x"),
        ("redirect 301 `^/a/(?P<p>.*)$` -> jinja `/{{ groups.p | upper }}/{{ user.username }}`", "/a/b?", "redirect 301 /B%3F/ann"),
        ("redirect `^/a$` -> go `/x{{ .Key }}?q={{ .User.Username }}`", "/a", "redirect 302 /x/a?q=ann"),
        ("redirect `^/a$` -> go `{{ if .User }}https://example.org/{{ else }}/b{{ end }}`", "/a", "redirect 302 https://example.org/"),
        ("redirect `^(.*)$` -> `$1`", "/\\evil.org", "redirect 302 /%5Cevil.org"),
        ("gone `^/a`", "/abc", "gone"),
    ],
)  # fmt: skip
def test_a_rule_may_answer(statement, key, answer):
    """The first source that matches decides, whatever its kind; the key stays as it is."""
    rules = rules_of(f"rewrite `^/never$` -> `/`\n{statement}\nrewrite `.` -> `/other`")
    rewritten = rules.rewrite(key, user="ann")
    assert (str(rewritten.moved), rewritten.key, rewritten.rewrite.number) == (answer, key, 2)
    rule = rewritten.rewrite
    assert (rule.source_text, rule.result_text) == (rule.statement.source.value, rule.statement.template.value)


def test_a_redirect_has_its_words():
    """The result of a redirect says whether it has `if missing` and `without query`."""
    rules = rules_of("redirect if missing 307 `^/a` -> `/b` without query")
    assert rules.rewrite("/a").moved == Moved(307, RedirectLocation("/b"), if_missing=True, keeps_query=False)


@pytest.mark.parametrize(
    ("dialect", "template", "error"),
    [
        ("", "/b/$1", f"the result {DOTS}"),
        ("jinja", "{{ 'https://' }}{{ groups['1'] }}/..", f"the result {DOTS}"),
        ("jinja", "{% filter reverse %}x{{ key }}{% endfilter %}", "the result has what it inserts in disorder"),
        ("jinja", "{% if key %}https://{% endif %}{{ key }}", f"the result {NO_HOST}"),
    ],
)
def test_a_result_that_leads_nowhere_is_refused(dialect, template, error):
    """What only a request shows is refused then, as any other result."""
    with pytest.raises(InvalidResult, match=error.replace(".", r"\.")):
        rules_of(f"redirect `^/a/(.*)$` -> {dialect} `{template}`").rewrite("/a/../b")


def test_a_template_of_a_redirect_may_fail():
    """A failure is that of any other template."""
    with pytest.raises(TemplateFailed):
        rules_of("redirect `^/a` -> go `/{{ fail .Key }}`").rewrite("/a")


@pytest.mark.parametrize(
    ("statement", "code", "message"),
    [
        ("redirect `^/a` -> `//evil.org/`", "bad-location", "begins with `//`, which would name a host"),
        ("redirect `^/a` -> `/b/../c`", "bad-location", DOTS),
        ("redirect `^/a` -> `ftp://a/`", "bad-location", "is neither a path nor a URL of `http` or `https`"),
        ("redirect `^/a(.*)` -> `https://$1/`", "open-redirect", NO_HOST),
        ("redirect `^/a(.*)` -> `https://example.org$1`", "open-redirect", NO_HOST),
        ("redirect `^/a` -> jinja `https://{{ key }}/`", "open-redirect", NO_HOST),
        ("redirect `^/a` -> go `http://a{{ .Key }}`", "open-redirect", NO_HOST),
    ],
)
def test_a_redirect_that_leads_nowhere_is_a_mistake(statement, code, message):
    """It is found when the rules are loaded, at the template."""
    ((found, place, said),) = mistakes_of(statement)
    assert (found, said) == (code, f"the location {message}")
    assert place.startswith("rules/site.rules:2:")


@pytest.mark.parametrize(
    ("statement", "mistake"),
    [
        ("redirect 304 `^/a` -> `/b`", ("bad-status", "rules/site.rules:2:10", "`304` is not the status of a redirect")),
        ('test "/a" -> redirect 99999999 "/b"', ("bad-status", "rules/site.rules:2:23", "`99999999` is not the status of a redirect")),
        ('test "/a" -> redirect "//b"', ("bad-test", "rules/site.rules:2:23", "the location begins with `//`, which would name a host")),
    ],
)  # fmt: skip
def test_a_mistake_has_its_place(statement, mistake):
    """A status that is no redirect's, or an expectation that no rule can meet."""
    assert mistakes_of(statement) == [mistake]


def test_statements_are_printed_in_their_layout():
    """Words have one order; statements of one kind are aligned."""
    text = """\
target site {
    redirect     `^/a$`  ->    "/b"
    redirect 308 `^/ab$` -> go "/b" without query
    redirect if missing 301 `^/c$` -> "/d"
    gone old `^/e`
    gone     "^/f"
    redirects if missing 301 "moved.txt" ignoring case without query
    redirects "more.txt"
    rewrites "keys.txt" ignoring case

    test "/a" -> redirect "/b"
    test "/e" -> gone
}
"""
    assert print_document(document(text)) == text


def test_a_redirect_may_be_called_if():
    """Its name is printed between quotes, since the word begins `if missing`."""
    text = 'target site {\n    redirect "if" `^/a$` -> "/b"\n    gone if `^/c$`\n}\n'
    assert print_document(document(text)) == text


def test_old_names_stay_names():
    """The new words are keywords only where a statement begins, or where they fit."""
    text = "target gone { rewrite redirect `^/a$` -> `/b`\nredirect missing `^/c` -> `/d`\nrewrite redirects `^/e$` -> `/f` }"
    statements = document(text).blocks[0].statements
    expected = ["redirect", "missing", "redirects"]
    assert [each.name.value for each in statements if isinstance(each, RewriteStatement)] == expected
    (loaded,) = compile_documents([document(text)]).rule_sets.values()
    assert loaded.rewrite("/a").key == Key("/b")
