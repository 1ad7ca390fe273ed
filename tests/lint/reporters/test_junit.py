from dataclasses import replace
from xml.etree.ElementTree import fromstring

from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lint.engine import LintReport
from tornado_proxy.lint.reporters.junit import render


def test_a_suite_for_each_file(report, golden):
    """A case for each finding, and one for each file without any."""
    golden(render(report), "junit.xml")


def test_failures_are_those_that_fail_the_run(report):
    """Words and exit status agree: what fails no run is not a failure."""
    root = fromstring(render(report))
    assert root.get("failures") == str(len(report.failing))
    assert fromstring(render(replace(report, fail_level=None))).get("failures") == "0"
    assert len(list(root.iter("testcase"))) == int(root.get("tests", "")) == len(report.diagnostics) + 1


def test_a_clean_run(clean):
    """Every file is a suite with a case that passes."""
    suites = list(fromstring(render(clean)))
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in suites] == [
        ("a.rules", "1", "0"),
        ("b.rules", "1", "0"),
    ]


def test_what_no_xml_holds():
    """Characters that XML cannot hold have a stand-in."""
    found = Diagnostic("odd", "\x00\ufffe\ud800", severity=Severity.ERROR)
    root = fromstring(render(LintReport((found,))))
    assert root.find(".//failure").get("message") == "\u2400\ufffd\ufffd"
