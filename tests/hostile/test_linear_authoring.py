"""Every reader of what authors write takes linear time, since a reload reads it beside the requests."""

from importlib.resources import files
from pathlib import Path

import pytest
from linear_time import check_linear, texts_of
from linting import report, subject

from gotemplate.regexp.matching import compile_pattern, compile_source
from tornado_proxy.config.loading import compile_configuration
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import lint
from tornado_proxy.pages.custom import FILE_HEADERS, Recipe
from tornado_proxy.pages.render import Pages
from tornado_proxy.rules.diagnostic import SourceFile, render
from tornado_proxy.rules.parser import parse, unfinished
from tornado_proxy.rules.tree import print_document
from tornado_proxy.templates import go, jinja
from tornado_proxy.templates.template import compile_plain

LONGEST = 16 * 1024  # characters
EXPRESSION = ("a", "(", ")", "[", "]", "(?i)", "*", "{2}", "|", "\\", "^", ":", "\\Q", "\\pL", "(?P<a>", "-", "é")
GO = (
    "{{ end }}", "{{ define }}", "{{", "}}", "{{.Key}}", '"', "`", "(", " ", "-", "|", "$a", ":=", "1", ".", "/*", "é",
)  # fmt: skip
GO_STATEMENTS = (
    '{{ define "a" }}', '{{ define "a№" }}{{ end }}', "{{ $a№ := 1 }}", "{{ if .Key }}", "{{ else }}",
    "{{ range 1 }}", '{{ include "a" . }}', "{{ end }}",
)  # fmt: skip
JINJA = ("{{", "}}", "{%", "%}", "{#", " if a ", " endif ", '"', "a", " ", "(", "|", ".", "1", "-", "\n", "é")
JINJA_STATEMENTS = (
    "{%if 1%}{%set x№=1%}{%endif%}", "{%set x№=1%}", "{%for x№ in 'a'%}{{x№}}{%endfor%}",
    "{%macro m№(a)%}{%endmacro%}", "{%with x№=1%}{%endwith%}", "{{x0}}",
)  # fmt: skip
RULES = ("target a {", "}", "rewrite ", '"a"', "`", '"', "->", "#", "\n", ";", "a", "//", "<<<<<<<", "“")
PAGE = ("{{", "}}", "{% if a %}", "{#", "a", " ", "\n")
# A theme compiles all its templates; the time of its own ones would hide that of the text.
OWN = [path.name for path in files("tornado_proxy.pages").joinpath("templates").iterdir()]
EMPTY = dict.fromkeys([*OWN, *(f"default/{name}" for name in OWN)], "")
# Without `^`: how anchored sources overlap is asked for each pair of them, within a budget of steps.
STATEMENTS = (
    "rewrite `/a` -> `/b`\n", "rewrite b `[^/]+` -> jinja `{{ key }}`\n", "rewrite `é` -> go `{{ .Key }}`\n",
    "redirect `/a` -> `/b/$1`\n", "gone `é`\n", 'test "/a" -> "/b"\n', 'test "/b" as "a" -> error\n',
    "# allow unescaped-dot\n", "\n",
)  # fmt: skip
REWRITE = "target a {\nrewrite `%s` -> `/$1`\n}\n"
LISTS = 'redirects "a" ignoring case\nrewrites "a"'
LINES = ("/a№ /b№\n", "/b№ /a№ 301\n", "/c№ /c\n", "/c /c/№#x\n", "/a /b # c\n", "x y\n", "#", "\n")
YAML = ("a: ", "- ", "\n", "\n ", '"', "'", "{", "[", "]", ",", ":", "#", "&a ", "*a ", "|\n", "? ", "\\", "!", "é")


def _rules(text: str) -> None:
    for diagnostic in parse(SourceFile("a.rules", text)).diagnostics:
        render(diagnostic)


def _formatted(text: str) -> None:
    print_document(parse(SourceFile("a.rules", text)).document)


def _unfinished(text: str) -> None:
    unfinished(SourceFile("a.rules", text), len(text))


def _jinja(text: str) -> None:
    jinja.compile_template(text, {}, 0)


def _page(text: str) -> None:
    Recipe(FILE_HEADERS, text, (("X-A", text),), text, (text,)).compiled()


def _configuration(text: str) -> None:
    for diagnostic in compile_configuration(SourceFile("a.yaml", text), Path(), unresolved).diagnostics:
        render(diagnostic)


# Each reader with the units of its texts, and the beginnings and ends of its texts.
READERS = {
    "rule files": (_rules, RULES, ("", 'target a {\ntest "/a" '), ("",)),
    "formatted rules": (_formatted, RULES, ("target a {\n",), ("",)),
    "unfinished rules": (_unfinished, RULES, ("target a {\n",), ("",)),
    "sources": (compile_source, EXPRESSION, ("", "a"), ("", ")")),
    "other expressions": (compile_pattern, EXPRESSION, ("",), ("",)),
    "linted sources": (lambda text: report(a=REWRITE % text.replace("`", "")), EXPRESSION, ("", "^/"), ("",)),
    "linted rules": (lambda text: report(a=text), STATEMENTS, ("target a {\n",), ("}\n",)),
    "linted lists": (lambda text: lint(subject(LISTS, lists={"a": text}), CHECKS), LINES, ("",), ("",)),
    "plain templates": (compile_plain, ("$", "{", "}", "a", "1", "$a", "${a}", "é", "²"), ("",), ("", "}")),
    "Go templates": (lambda text: go.compile_template(text, {}, 0), GO, ("", "{{ "), ("", " }}")),
    "Go statements": (lambda text: go.compile_template(text, {}, 0), GO_STATEMENTS, ("",), ("", "{{ end }}")),
    "Jinja templates": (_jinja, JINJA, ("", "{{ ", "{% "), ("", " }}", " %}")),
    "custom pages": (_page, (*GO, *GO_STATEMENTS), ("",), ("",)),
    "page templates": (lambda text: Pages("", "", "", {**EMPTY, "page.html": text}), PAGE, ("",), ("",)),
    "configurations": (_configuration, YAML, ("", "targets:\n  a:\n    bucket: {name: a}\n    b: "), ("",)),
}


def test_many_names_of_a_jinja_template_take_linear_time():
    """Jinja2 copies all names that a template sets at each branch, which thousands of statements show."""
    check_linear(_jinja, texts_of(JINJA_STATEMENTS, ("",), ("",)), 65536)


@pytest.mark.parametrize(("read", "units", "prefixes", "suffixes"), READERS.values(), ids=READERS)
def test_a_reader_of_what_authors_write_takes_linear_time(read, units, prefixes, suffixes):
    """A reader takes at most 20 times as long for eight times the length of the worst of all repetitions."""
    check_linear(read, texts_of(units, prefixes, suffixes), LONGEST)
