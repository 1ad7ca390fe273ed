import os
from pathlib import Path

import pytest

from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import lint
from tornado_proxy.lint.reporters import render_full
from tornado_proxy.lint.subject import subject_of
from tornado_proxy.rules.loading import RuleFile, compile_rule_files

BROKEN = Path(__file__).parent / "broken"


@pytest.mark.parametrize("path", sorted(BROKEN.glob("*.rules")), ids=lambda path: path.stem)
def test_a_broken_file_has_helpful_diagnostics(path):
    """Each broken rule file has the expected report; `UPDATE_GOLDEN=1` writes the reports."""
    files = [RuleFile(path.name, path.read_bytes())]
    text = render_full(lint(subject_of(compile_rule_files(files)), CHECKS))
    expected = path.with_suffix(".txt")
    if os.environ.get("UPDATE_GOLDEN"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")
