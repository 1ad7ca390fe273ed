"""Tests the files for Vim, as far as that is possible without Vim."""

import re
from pathlib import Path

import pytest

from tornado_proxy.rules.reading import KEYWORDS

FOLDER = Path(__file__).parents[2] / "editors" / "vim"
SYNTAX = (FOLDER / "syntax/tornado_proxy_rules.vim").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", KEYWORDS.values())
def test_every_keyword_of_the_language_is_highlighted(word):
    assert re.search(rf"(?<![\w-]){word}(?![\w-])", SYNTAX.partition("highlight default")[0])


def test_every_used_syntax_group_is_defined():
    """Vim ignores undefined groups silently."""
    defined = set(re.findall(r"^syntax (?:match|region|keyword|cluster) (\w+)", SYNTAX, re.MULTILINE))
    used = set(re.findall(r"\brules[A-Z]\w*", SYNTAX))
    assert used - defined - {"rulesString", "rulesDelimiter"} == set()  # these are the ends of regions


def test_all_files_have_the_same_file_type():
    """The detected file type has a syntax, a plug-in and a server."""
    (name,) = {path.stem for folder in ("ftdetect", "ftplugin", "syntax") for path in (FOLDER / folder).iterdir()}
    assert f"set filetype={name}" in (FOLDER / "ftdetect" / f"{name}.vim").read_text(encoding="utf-8")
    assert f'"{name}"' in (FOLDER / "lsp/tornado_proxy.lua").read_text(encoding="utf-8")
