import pytest

from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.tools.convert.report import KeysAs, Outcome, Remarks, Report

FILES = [SourceFile(name, "1\n2\n3\n") for name in ("b.yaml", "a.yaml")]


def _report(*outcomes):
    remarks = Remarks()
    for outcome in outcomes:
        remarks.add(outcome, "x", Span(FILES[0], 0, 0), "said")
    return Report(KeysAs.ACTUAL, remarks.all())


def test_remarks_are_in_the_order_of_files_and_lines():
    """Those of one line as they were made."""
    remarks = Remarks()
    for file, offset, message in ((0, 2, "third"), (1, 4, "first"), (0, 0, "second"), (0, 3, "fourth")):
        remarks.add(Outcome.CARRIED, "x", Span(FILES[file], offset, offset), message)
    assert [each.message for each in remarks.all()] == ["first", "second", "third", "fourth"]
    assert [each.where for each in remarks.all()] == ["a.yaml:3", "b.yaml:1", "b.yaml:2", "b.yaml:2"]


@pytest.mark.parametrize("outcome", Outcome)
def test_a_conversion_is_complete_if_nothing_is_lost_or_changed(outcome):
    """What is proved to be the same needs no look."""
    assert _report(Outcome.CARRIED, outcome).complete is (outcome in (Outcome.CARRIED, Outcome.ADAPTED))


def test_remarks_are_found_by_outcome():
    """Of one, or of several."""
    report = _report(Outcome.CARRIED, Outcome.CLOSED, Outcome.CHANGED)
    assert [each.outcome for each in report.of(Outcome.CLOSED, Outcome.CHANGED)] == [Outcome.CLOSED, Outcome.CHANGED]
