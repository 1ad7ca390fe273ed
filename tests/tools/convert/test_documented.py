"""Holds docs/migrating-from-s3-proxy.md true: the conversion gives the rules and access that it describes."""

import re
from pathlib import Path

import pytest
from conversions import converted

from tornado_proxy.tools.convert.options import OptionOutcome
from tornado_proxy.tools.convert.resources import CLOSED

PAGE = (Path(__file__).parents[3] / "docs" / "migrating-from-s3-proxy.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(.+?)` → `(.+?)` \| (?:`(.+?)` → `(.+?)`|(left out: .+?)) \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_rule_of_the_table_is_converted_as_documented(row):
    """Each row of the table applies to the prefix that the page names."""
    source, target, expected_source, expected_target, left_out = row
    entry = f"{{source: '{source}', target: '{target}'}}"
    conversion = converted(
        f"targets: {{site: {{mount: {{path: [/]}}, bucket: {{name: b-1, prefix: public}}, keyRewriteList: [{entry}]}}}}"
    )
    (rewrite,) = conversion.rule_sets["site"].rewrites or [None]
    if left_out:
        assert rewrite is None
        assert len(conversion.messages(OptionOutcome.LEFT_OUT)) == 1
    else:
        assert (rewrite.pattern.text, rewrite.template.text) == (expected_source, expected_target)


def test_the_table_was_found():
    """The table has rules that are converted, and rules that are not."""
    assert [bool(row[4]) for row in ROWS] == [False, False, True, True, True]


def test_the_name_of_a_closed_path_is_documented():
    """A reader who finds the name in a configuration can look it up."""
    assert f"`{CLOSED}`" in PAGE
