import re
from pathlib import Path

import pytest

from tornado_proxy.cli.main import main
from tornado_proxy.lint.check import Category
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import _FIELDS, find_settings
from tornado_proxy.lint.reporters import FORMATS
from tornado_proxy.rules.diagnostic import Safety

PAGE = (Path(__file__).parents[2] / "docs" / "lint.md").read_text(encoding="utf-8")


def test_every_check_is_in_the_table():
    """The table of checks has their names, categories, severities and summaries, in their order."""
    rows = [f"| `{c.name}` | {c.category.value} | {c.severity.value} | {c.summary} |" for c in CHECKS]
    table = PAGE.partition("| check | category | severity | |\n|---|---|---|---|\n")[2].partition("\n\n")[0]
    assert table.split("\n") == rows


@pytest.mark.parametrize(
    ("words", "row"),
    [
        ([category.value for category in Category], "| {} |"),
        ([safety.value for safety in Safety], "| {} |"),
        (FORMATS, "| `{}` |"),
        (_FIELDS, "{} = "),
    ],
)
def test_every_word_is_explained(words, row):
    """Categories, safeties, formats and settings have a row each."""
    assert [word for word in words if row.format(word) not in PAGE] == []


def test_the_example_of_settings_is_valid(tmp_path):
    """The example on the page can be read."""
    (tmp_path / "tornado-proxy.toml").write_text(re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1])
    assert find_settings(tmp_path, CHECKS).ignore == {"untested-rewrite"}


def test_the_gallery_is_clean(capsys, monkeypatch):
    """The rule files in `rules/` have no finding with the configuration of the demo."""
    monkeypatch.chdir(Path(__file__).parents[2])
    assert main(["lint", "--config", "rules/demo.yaml", "--fail-level", "info"]) == 0
    assert capsys.readouterr().out.startswith("all clean: ")
