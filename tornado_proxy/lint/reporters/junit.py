"""JUnit's XML, which every CI system shows: a suite a file, a case a finding; what fails no run is not a failure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.excerpt import render as in_full
from tornado_proxy.lang.excerpt import visible
from tornado_proxy.lint.engine import LintReport

_ELSEWHERE = "tornado-proxy lint"
# What XML 1.0 has no way to hold (section 2.2, Char) and `visible` lets through.
_NO_XML = re.compile("[\ufffe\uffff]")


def render(report: LintReport) -> str:
    """The document, ending with a line end."""
    failing = set(map(id, report.failing))
    root = _element(None, "testsuites", name="tornado-proxy lint")
    for name, found in _by_file(report).items():
        _add_suite(root, name, found, failing)
    _count(root, root.iter("testcase"))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _by_file(report: LintReport) -> Mapping[str, list[Diagnostic]]:
    files: dict[str, list[Diagnostic]] = {name: [] for name in report.files}
    for each in report.diagnostics:
        files.setdefault(each.span.source.name if each.span else _ELSEWHERE, []).append(each)
    return files


def _add_suite(root: Element, name: str, found: list[Diagnostic], failing: set[int]) -> None:
    suite = _element(root, "testsuite", name=name)
    for each in found:
        _add_case(suite, each, fails=id(each) in failing)
    if not found:
        _element(suite, "testcase", classname=name, name="clean")
    _count(suite, suite.iter("testcase"))


def _add_case(suite: Element, diagnostic: Diagnostic, *, fails: bool) -> None:
    line, column = diagnostic.span.first if diagnostic.span else (1, 1)
    name = f"{diagnostic.code} at {line}:{column}"
    case = _element(suite, "testcase", classname=suite.get("name", ""), name=name, line=str(line))
    shown = "\n".join(map(_fit, in_full(diagnostic).split("\n")))
    if fails:
        failure = _element(case, "failure", type=diagnostic.severity.value, message=diagnostic.message)
        failure.text = shown
    else:
        _element(case, "system-out").text = shown


def _count(element: Element, cases: Iterable[Element]) -> None:
    listed = list(cases)
    element.set("tests", str(len(listed)))
    element.set("failures", str(sum(case.find("failure") is not None for case in listed)))


def _element(parent: Element | None, tag: str, /, **attributes: str) -> Element:
    fitting = {name: _fit(value) for name, value in attributes.items()}
    return Element(tag, fitting) if parent is None else SubElement(parent, tag, fitting)


def _fit(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", visible(text))
