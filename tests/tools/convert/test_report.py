from __future__ import annotations

import pytest
from conversions import made, target

from tornado_proxy.lang.diagnostic import SourceFile, Span
from tornado_proxy.tools.convert.report import (
    READINGS,
    ConversionReport,
    KeysAs,
    OptionOutcome,
    Remark,
    Remarks,
    to_json,
    to_markdown,
    to_text,
)

FILES = [SourceFile(name, "1\n2\n3\n") for name in ("b.yaml", "a.yaml")]


def _report(*outcomes):
    remarks = Remarks()
    for outcome in outcomes:
        remarks.add(outcome, "x", Span(FILES[0], 0, 0), "said")
    return ConversionReport(KeysAs.ACTUAL, remarks.all())


def test_remarks_are_in_the_order_of_files_and_lines():
    """Those of one line as they were made."""
    remarks = Remarks()
    for file, offset, message in ((0, 2, "third"), (1, 4, "first"), (0, 0, "second"), (0, 3, "fourth")):
        remarks.add(OptionOutcome.CARRIED, "x", Span(FILES[file], offset, offset), message)
    assert [each.message for each in remarks.all()] == ["first", "second", "third", "fourth"]
    assert [each.where for each in remarks.all()] == ["a.yaml:3", "b.yaml:1", "b.yaml:2", "b.yaml:2"]


@pytest.mark.parametrize("outcome", OptionOutcome)
def test_a_conversion_is_complete_if_nothing_is_lost_or_changed(outcome):
    """What is proved to be the same needs no look."""
    assert _report(OptionOutcome.CARRIED, outcome).complete is (
        outcome in (OptionOutcome.CARRIED, OptionOutcome.ADAPTED)
    )


def test_remarks_are_found_by_outcome():
    """Of one, or of several."""
    report = _report(OptionOutcome.CARRIED, OptionOutcome.CLOSED, OptionOutcome.CHANGED)
    assert [each.outcome for each in report.of(OptionOutcome.CLOSED, OptionOutcome.CHANGED)] == [
        OptionOutcome.CLOSED,
        OptionOutcome.CHANGED,
    ]


PLACE = Span(SourceFile("conf.yaml", "a: 1\nb: 2\n"), 5, 6)
REPORT = ConversionReport(
    KeysAs.ACTUAL,
    (
        Remark(OptionOutcome.CARRIED, "a", "as `a`", PLACE),
        Remark(OptionOutcome.CLOSED, "b", "closed *to* `a*b`\nall", PLACE, "open it"),
        Remark(OptionOutcome.ADAPTED, "c", "otherwise", PLACE),
    ),
    ("site",),
)


def test_the_page_has_what_needs_a_look_first():
    """Outcomes in the order of their weight, places before subjects, nothing read as markup but code."""
    assert to_markdown(REPORT) == (
        f"# From s3-proxy to tornado-proxy\n\n{READINGS[KeysAs.ACTUAL]}\n\n"
        "**Nobody may use `site` yet:** what s3-proxy keeps closed could not be converted.\n\n"
        "## Closed\n\nNo equal, and open to nobody until you say who may: look at these first.\n\n"
        "- conf.yaml:2, `b`: closed \\*to\\* `a*b` all; open it\n\n"
        "## Written otherwise\n\nThe same on the same requests.\n\n- conf.yaml:2, `c`: otherwise\n\n"
        "## Carried over\n\nThe same.\n\n- conf.yaml:2, `a`: as `a`\n"
    )


def test_the_text_tells_only_what_needs_a_look():
    """What is the same is counted."""
    assert to_text(REPORT, ["out/report.md"]) == (
        f"{READINGS[KeysAs.ACTUAL]}\n\n"
        "Closed:\n  conf.yaml:2: b: closed *to* `a*b` all\n    help: open it\n\n"
        "1 carried over, 1 written otherwise; all of it is in the report.\nwrote out/report.md\n"
    )


def test_programs_get_every_remark():
    """With file and line, and whether there is anything to look at."""
    data = to_json(REPORT, ["out/report.md"])
    assert {name: data[name] for name in ("version", "complete", "keysAs", "closedTargets", "files")} == {
        "version": 1,
        "complete": False,
        "keysAs": "actual",
        "closedTargets": ["site"],
        "files": ["out/report.md"],
    }
    assert data["remarks"][1] == {
        "outcome": "closed",
        "subject": "b",
        "message": "closed *to* `a*b`\nall",
        "help": "open it",
        "file": "conf.yaml",
        "line": 2,
    }


def test_the_reading_is_told_that_was_taken():
    """And why."""
    documented = target("", keys_as=KeysAs.DOCUMENTED).report
    assert READINGS[KeysAs.DOCUMENTED] in to_markdown(documented)
    assert made("targets: {a: {mount: {path: [/]}, bucket: {name: b}}}").report.keys_as is KeysAs.ACTUAL
