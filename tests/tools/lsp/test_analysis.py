"""What is known of rule files at one moment."""

from __future__ import annotations

from editing import NAME, analysed, site

from tornado_proxy.lang.source import SourceFile
from tornado_proxy.lint.check import Selection
from tornado_proxy.tools.lsp.analysis import Demand, analyse
from tornado_proxy.tools.lsp.workspace import Sources

_TEXT = site('rewrite a `^/a$` -> "/b"', 'test "/a" -> "/b"')


def test_parser_compiler_and_checks_have_their_say():
    """Findings of all three stand in one list, by file."""
    analysis = analysed(site('rewrite `^/a(` -> "/b"', 'rewrite `^/c.d$` -> "/e"', "test 7"))
    codes = {each.code for each in analysis.diagnostics_of(NAME)}
    assert {"syntax-error", "bad-source", "unescaped-dot"} <= codes


def test_files_that_are_read_together_are_judged_together():
    """A test of one file may reach the rewrite of another."""
    analysis = analysed(site('rewrite `^/a$` -> "/b"'), other=site('test "/a" -> "/b"'))
    assert analysis.diagnostics == ()


def test_a_rewrite_and_a_test_are_found_by_their_statements():
    """What statements were compiled to is at hand."""
    analysis = analysed(_TEXT)
    rewrite, test = analysis.document(NAME).blocks[0].statements
    assert analysis.rewrite(rewrite).name == "a"
    assert analysis.outcome(test).rewrite is analysis.rewrite(rewrite)


def test_while_there_are_mistakes_no_test_has_an_outcome():
    """A rewrite that is missing because of a mistake may be the one that a test needs."""
    analysis = analysed(_TEXT + "target")
    assert analysis.outcome(analysis.document(NAME).blocks[0].statements[1]) is None


def test_the_same_files_are_not_analysed_again():
    """The last analysis is kept where nothing has changed."""
    sources = Sources((SourceFile(NAME, _TEXT),))
    first = analyse(sources, Demand())
    assert analyse(Sources((SourceFile(NAME, _TEXT),)), Demand(), first) is first


def test_other_settings_are_another_question():
    """What the checks go by counts as well as what they look at."""
    sources = Sources((SourceFile(NAME, site('rewrite `^/a$` -> "/b"')),))
    first = analyse(sources, Demand())
    second = analyse(sources, Demand(Selection(ignore=frozenset({"untested-rewrite"}))), first)
    assert (len(first.diagnostics), len(second.diagnostics)) == (1, 0)


def test_only_files_that_changed_are_parsed_again():
    """The trees of the others are kept."""
    other = SourceFile("other.rules", "target other {}\n")
    first = analyse(Sources((SourceFile(NAME, _TEXT), other)), Demand())
    second = analyse(Sources((SourceFile(NAME, "# new\n"), other)), Demand(), first)
    assert second.document("other.rules") is first.document("other.rules")
    assert second.document(NAME).blocks == ()


def test_a_file_that_is_not_there_has_no_document():
    """Nothing is known of what was not read."""
    assert analysed(_TEXT).document("other.rules") is None
