"""The example and the figures of the README are true."""

import re
from pathlib import Path

import pytest
from recorded import vectors

import gotemplate

README = (Path(gotemplate.__file__).parent / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_text_says(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (printed,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out == printed


def test_the_public_names_have_rows():
    """Each name that other programs import is explained, but for what a row names beside it."""
    assert [name for name in gotemplate.__all__ if f"`{name}`" not in README and name != "Vocabulary"] == []


def test_the_vectors_are_as_many_as_the_text_says():
    counts = re.findall(r"(\d[\d,]*) (searches|expansions|templates)", README)
    files = {"searches": "regexp", "expansions": "expand", "templates": "template"}
    assert {name: int(count.replace(",", "")) for count, name in counts} == {
        name: len(vectors(file)) for name, file in files.items()
    }


_ROWS = [
    re.split(r"(?<!\\)\|", line)[1:-1] for line in README.splitlines() if line.startswith("| `{{") or "{{-" in line
]


@pytest.mark.parametrize(("template", "result"), _ROWS)
def test_templates_write_what_their_row_says(template, result):
    """The template in each row has the result beside it."""
    template, result = (cell.strip().strip("`").replace(r"\|", "|") for cell in (template, result))
    assert gotemplate.compile_template(template).render() == result
