import ast
import re
from pathlib import Path

import tornado_proxy
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.codes import CODES, explain_code


def test_every_code_of_the_manual_is_explained():
    """And every code that is explained is in the manual."""
    pages = (Path(__file__).parents[2] / "docs" / name for name in ("language.md", "configuration.md"))
    rows = {
        code
        for page in pages
        for code in re.findall(r"^\| `([a-z0-9]+(?:-[a-z0-9]+)*)` \|", page.read_text(), re.MULTILINE)
    }
    assert set(CODES) <= rows


def _codes(package):
    """The codes that a package's diagnostics have."""
    for file in (Path(tornado_proxy.__file__).parent / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                # `report` of an unexpected token takes a help alone.
                if name in {"Diagnostic", "report"} and re.fullmatch(r"[a-z0-9-]+", str(node.args[0].value)):
                    yield node.args[0].value


def test_every_code_is_explained():
    """Those that parser, compiler and configuration have; a few are a check's too."""
    codes = {*_codes("lang"), *_codes("rules"), *_codes("config")}
    assert codes - {check.name for check in CHECKS} <= set(CODES)
    assert "bad-source" in codes


def test_a_page_says_what_a_mistake_is():
    """The sentence, and whether it is the rules' or the configuration's."""
    assert explain_code("bad-source").startswith("bad-source (rules)\n\nA source that is not a regular expression")
    assert explain_code("open-writes").startswith("open-writes (configuration)\n\nAnyone may upload or delete.")
