from __future__ import annotations

import pytest

from tornado_proxy.lang.diagnostic import Diagnostic, Severity, did_you_mean, errors
from tornado_proxy.lang.source import SourceFile, Span


def test_place_names_file_line_and_column():
    """A diagnostic's place is the start of its span."""
    assert Diagnostic("code", "message", Span(SourceFile("a.rules", "\nx"), 1, 2)).place == "a.rules:2:1"


def test_diagnostic_without_a_span_has_no_place():
    """What belongs to no place has an empty one."""
    assert Diagnostic("code", "message").place == ""


def test_errors_leave_out_lesser_findings():
    """Only errors keep a set of files from being used."""
    error, warning = Diagnostic("a", "a"), Diagnostic("b", "b", severity=Severity.WARNING)
    assert errors([warning, error, Diagnostic("c", "c", severity=Severity.INFO)]) == (error,)


def test_a_line_is_what_compilers_print():
    """Place, severity, code and message stand on one line."""
    span = Span(SourceFile("a.rules", "\nx"), 1, 2)
    assert Diagnostic("code", "message", span).line == "a.rules:2:1: error[code] message"
    assert Diagnostic("code", "message", severity=Severity.INFO).line == "info[code] message"


KEYWORDS = ("target", "rewrite", "test")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("rewrit", "rewrite"),
        ("tagret", "target"),
        ("REWRITE", "rewrite"),
        ("tset", "test"),
        ("location", None),
        ("", None),
    ],
)
def test_closest_candidate_is_suggested(word, meant):
    """A word close to a candidate is taken for it, in any case; any other word for none."""
    assert did_you_mean(word, KEYWORDS) == meant


def test_suggestion_keeps_the_candidates_case():
    """The candidate comes back as it is written."""
    assert did_you_mean("indexdocument", ["indexDocument"]) == "indexDocument"


def test_endless_word_is_close_to_nothing():
    """A word longer than any keyword is not even compared."""
    assert did_you_mean("rewrite" * 100, KEYWORDS) is None
