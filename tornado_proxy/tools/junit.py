"""What rule tests came to in JUnit's XML, which every CI system shows: a suite a target, a case a test."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tornado_proxy.lang.excerpt import visible
from tornado_proxy.tools.ruletest_report import failure, message, statement
from tornado_proxy.tools.ruletests import TargetRun, TestRun

# What XML 1.0 has no way to hold (section 2.2, Char) and `visible` lets through.
_NO_XML = re.compile("[\ufffe\uffff]")
_STAND_IN = "\N{REPLACEMENT CHARACTER}"


def to_junit(run: TestRun) -> str:
    """The document, ending with a line end."""
    root = Element("testsuites", name="tornado-proxy test", tests=str(run.total), failures=str(run.failed))
    for target in run.targets:
        if target.outcomes:
            _add_suite(root, target)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _add_suite(root: Element, target: TargetRun) -> None:
    name, count = _fit(target.rule_set.target), len(target.outcomes)
    suite = SubElement(root, "testsuite", name=name, tests=str(count), failures=str(target.failed), errors="0")
    for outcome in target.outcomes:
        span = outcome.test.statement.span
        case = SubElement(suite, "testcase", classname=name, name=_fit(statement(outcome.test)))
        case.attrib |= {"file": _fit(span.source.name), "line": str(span.first.line)}
        if not outcome.passed:
            told = SubElement(case, "failure", type="failed", message=_fit(message(outcome)))
            told.text = _NO_XML.sub(_STAND_IN, failure(outcome, target))


def _fit(text: str) -> str:
    return _NO_XML.sub(_STAND_IN, visible(text))
