from xml.etree.ElementTree import fromstring

from hypothesis import given
from hypothesis import strategies as st
from rule_sites import rule_sets

from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.lang.tree import Literal
from tornado_proxy.lang.writing import name_text
from tornado_proxy.tools.junit import to_junit
from tornado_proxy.tools.ruletests import run_tests

NOWHERE = Span(SourceFile("", ""), 0, 0)


def _document(text):
    return fromstring(to_junit(run_tests(rule_sets(text).values(), {})))


def test_targets_are_suites_and_tests_are_cases():
    """Counts stand on both levels; a case has its place; a target without tests is no suite."""
    root = _document('target a { test "/x" -> unchanged\n test "/y" -> "/z" } target b {}')
    assert root.attrib == {"name": "tornado-proxy test", "tests": "2", "failures": "1"}
    (suite,) = root
    assert suite.attrib == {"name": "a", "tests": "2", "failures": "1", "errors": "0"}
    assert suite[1].attrib == {"classname": "a", "name": 'test "/y" -> "/z"', "file": "site.rules", "line": "2"}


def test_a_failure_has_its_message_and_all_that_is_known():
    """The text is what people are shown."""
    failure = _document('target a { test "/y" -> "/z" }').find(".//failure")
    assert failure is not None
    assert failure.attrib == {"type": "failed", "message": "expected /z, got /y (unchanged)"}
    assert failure.text is not None
    assert failure.text.startswith('FAILED a: test "/y" -> "/z"\nat          site.rules:1:12\n')


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_any_text_makes_a_document_that_can_be_read(text):
    """Control characters and what XML has no way to hold get stand-ins."""
    (suite,) = _document(f'target {name_text(Literal(text, NOWHERE))} {{ test "/a" -> "/<&>" }}')
    assert suite.get("failures") == "1"
