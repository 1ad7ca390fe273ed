"""The description of rule files for Vim, as far as it can be judged without Vim."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tornado_proxy.lang.reading import KEYWORDS

FOLDER = Path(__file__).parents[2] / "editors" / "vim"
SYNTAX = (FOLDER / "syntax/tornado_proxy_rules.vim").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", KEYWORDS.values())
def test_every_keyword_of_the_language_is_known(word):
    """A keyword that is added to the grammar has its colour."""
    assert re.search(rf"(?<![\w-]){word}(?![\w-])", SYNTAX.partition("highlight default")[0])


def test_every_group_that_is_named_exists():
    """A name that leads nowhere is passed over in silence by Vim."""
    defined = set(re.findall(r"^syntax (?:match|region|keyword|cluster) (\w+)", SYNTAX, re.MULTILINE))
    named = set(re.findall(r"\brules[A-Z]\w*", SYNTAX))
    assert named - defined - {"rulesString", "rulesDelimiter"} == set()  # these are the ends of regions


def test_every_file_is_of_one_type():
    """What is detected has a syntax, a plug-in and a server."""
    (name,) = {path.stem for folder in ("ftdetect", "ftplugin", "syntax") for path in (FOLDER / folder).iterdir()}
    assert f"set filetype={name}" in (FOLDER / "ftdetect" / f"{name}.vim").read_text(encoding="utf-8")
    assert f'"{name}"' in (FOLDER / "lsp/tornado_proxy.lua").read_text(encoding="utf-8")
