"""Checks of the house rules that no linter checks: sizes, names, layers, and test files that mirror the modules."""

import ast
import io
import pkgutil
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from programs import ROOT, output_of

PACKAGE = ROOT / "tornado_proxy"
MODULES = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "gotemplate").rglob("*.py")])

LONGEST_MODULE = 500
LONGEST_FUNCTION = 40

# Functions that may be longer, each with the reason; the list may only shrink.
LONG_FUNCTIONS: dict[str, str] = {}

# Modules that are tested in a file of another name.
TESTED_ELSEWHERE = {
    "gotemplate/template/values.py": "tests/gotemplate/template/test_standard.py",
    "__main__.py": "tests/cli/test_main.py",
    "lint/shapes.py": "tests/lint/checks/test_texts.py",
    "cli/serve.py": "tests/end_to_end/test_serve.py",
    "service/embedding.py": "tests/end_to_end/test_embedding.py",
    "wire/stream.py": "tests/wire/test_connection.py",
    "web/handler.py": "tests/web/test_handlers.py",
}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix().removeprefix("tornado_proxy/")


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _statements(path: Path) -> Iterator[ast.AST]:
    """All statements of a module, also nested ones; unlike `ast.walk`, it does not visit expressions."""
    pending: list[ast.AST] = [_tree(path)]
    while pending:
        node = pending.pop()
        yield node
        pending += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]


def _functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in _statements(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_imports_go_down_the_layers():
    """Every import contract in pyproject.toml is kept."""
    output_of(Path(sys.executable).parent / "lint-imports", "--no-cache", cwd=ROOT)


def test_no_module_is_too_long():
    """A module of more than 500 lines is probably two."""
    lines = {_name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: count for name, count in lines.items() if count > LONGEST_MODULE} == {}


def test_no_function_is_too_long():
    """A function has at most 40 lines, unless the list gives a reason."""
    long = [
        f"{_name(path)}:{function.name}"
        for path in MODULES
        for function in _functions(path)
        if (function.end_lineno or 0) - function.lineno >= LONGEST_FUNCTION
    ]
    assert [name for name in long if name not in LONG_FUNCTIONS] == []


def test_every_module_has_its_test_file():
    """Each module has a test file at the same path in tests/, or the table names its test file."""
    # A module of limits has only constants, which the tests of those who use them reach.
    names = [_name(path) for path in MODULES if path.name not in {"__init__.py", "limits.py"}]
    beside = {name: f"tests/{Path(name).with_name('test_' + Path(name).name)}" for name in names}
    expected = {name: TESTED_ELSEWHERE.get(name) or path for name, path in beside.items()}
    assert {name: tests for name, tests in expected.items() if not (ROOT / tests).exists()} == {}


def test_no_two_classes_share_a_name():
    """The name of a class identifies it in the whole product."""
    modules_by_class = defaultdict(list)
    for path in MODULES:
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef):
                modules_by_class[node.name].append(_name(path))
    assert {name: paths for name, paths in modules_by_class.items() if len(paths) > 1} == {}


def _is_beyond_structs(node: ast.ClassDef) -> bool:
    """Whether a class has a field that is left out of comparisons, of `repr` or of the arguments."""
    fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
    calls = [call for each in fields for call in ast.walk(each) if isinstance(call, ast.Call)]
    words = {keyword.arg for call in calls for keyword in call.keywords}
    return not words.isdisjoint({"compare", "repr", "init"})


def test_values_are_structs():
    """A value is a dataclass only where no struct of msgspec can say the same."""
    classes = [(path, node) for path in MODULES for node in _statements(path) if isinstance(node, ast.ClassDef)]
    dataclasses = [each for each in classes if any("dataclass" in ast.unparse(mark) for mark in each[1].decorator_list)]
    assert [f"{_name(path)}: {node.name}" for path, node in dataclasses if not _is_beyond_structs(node)] == []


def _prose(path: Path, names: re.Pattern[str]) -> str:
    """The text of a page, or the docstrings and comments of a module; all of a module without such a name."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md" or not names.search(text):
        return text
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    docstrings = [ast.get_docstring(node) or "" for node in _statements(path) if isinstance(node, documented)]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return "\n".join([*docstrings, *(token.string for token in tokens if token.type == tokenize.COMMENT)])


def _resolves(name: str) -> bool:
    try:
        pkgutil.resolve_name(name if name.startswith("gotemplate.") else f"{PACKAGE.name}.{name}")
    except (ImportError, AttributeError):
        return False
    return True


def test_every_module_named_in_prose_exists():
    """A dotted name in backticks that begins with a package of the product is a module or a name in one."""
    packages = "|".join([r"gotemplate(?!\.lark)", *(path.parent.name for path in PACKAGE.glob("*/__init__.py"))])
    names = re.compile(rf"`((?:{packages})(?:\.\w+)+)`")
    pages = [ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md"]
    named = {(path.name, name) for path in [*MODULES, *pages] for name in names.findall(_prose(path, names))}
    assert len(named) > 30
    assert sorted((page, name) for page, name in named if not _resolves(name)) == []


def test_the_trees_of_errors_are_complete():
    """A docstring with a tree of errors names all errors of its module."""
    missing = []
    for path in MODULES:
        tree = _tree(path)
        docstring = ast.get_docstring(tree) or ""
        named = {"Exception", *re.findall(r"\w+", docstring)}
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)] if "├──" in docstring else []
        errors = [node.name for node in classes if named & {ast.unparse(base) for base in node.bases}]
        missing += [f"{_name(path)}:{name}" for name in errors if name not in named]
    assert missing == []


def test_no_module_has_a_vague_name():
    """No module is named utils, helpers, common, manager or misc."""
    assert [_name(path) for path in MODULES if re.search(r"util|helper|common|manager|\bmisc", path.stem)] == []


def test_no_comment_promises_work():
    """No comment is a TODO, and no function is unimplemented."""
    unfinished = re.compile(r"#.*\b(TODO|FIXME|XXX)\b|NotImplementedError\b(?! is)")
    places = [_name(path) for path in MODULES if unfinished.search(path.read_text(encoding="utf-8"))]
    assert places == []


def test_no_group_is_repeated_possessively():
    """Python before 3.11.5, such as Debian 12's, takes for matched what an incomplete last repetition has read."""
    possessive = re.compile(r"[^(]\)[*+?]\+")
    readers = [*MODULES, *(ROOT / "grammar").glob("*.lark")]
    assert [path.name for path in readers if possessive.search(path.read_text(encoding="utf-8"))] == []


_COPIES = """
import dataclasses
import msgspec

@dataclasses.dataclass
class Line:
    length: int

class Square(msgspec.Struct):
    length: int

dataclasses.replace(Line(1), length=2)
msgspec.structs.replace(Square(1), length=2)
dataclasses.replace(Square(1), length=2)
msgspec.structs.replace(Line(1), length=2)
"""


@pytest.mark.integration
def test_mypy_tells_structs_from_dataclasses(tmp_path):
    """A function for the other kind of value would fail only where it is called."""
    path = tmp_path / "copies.py"
    path.write_text(_COPIES, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path), str(path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    refused = [_COPIES.splitlines()[int(line) - 1] for line in re.findall(r"copies.py:(\d+): error", result.stdout)]
    assert refused == _COPIES.splitlines()[-2:], result.stdout + result.stderr
