import os
import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest
from config_schema import description, published
from configurations import MINIMAL, report

from tornado_proxy.config.loading import compile_configuration
from tornado_proxy.config.model import Settings
from tornado_proxy.config.options import Mark, Option, OptionGroup, OptionPath, OptionType, all_options, options_of
from tornado_proxy.config.secrets import Reference, unresolved
from tornado_proxy.config.values import Duration, GuardedUrl, Size
from tornado_proxy.rules.diagnostic import SourceFile

DOCS = Path(__file__).parents[2] / "docs" / "configuration.md"
TEXT = DOCS.read_text(encoding="utf-8")
_TOP = "Top level"
_SHORT = 12  # rows
_HEAD = ("| option | type | default | meaning |", "|---|---|---|---|")

_BLOCKS = [*re.findall(r"```(yaml|text)\n(.*?)```", TEXT, re.DOTALL), ("", "")]
_PAIRS = list(pairwise(_BLOCKS))
VALID_EXAMPLES = [text for (kind, text), (after, _) in _PAIRS if kind == "yaml" and after != "text"]
INVALID_EXAMPLES = [
    (text, expected) for (kind, text), (after, expected) in _PAIRS if kind == "yaml" and after == "text"
]

_SECRET_OPTIONS = [id(each) for each in options_of(Reference)]
_SECRET = "A secret"
_NAMES = {bool: "boolean", int: "number", str: "string", Path: "string", GuardedUrl: "string"}
_PLURALS = {"string": "strings", "secret": "secrets"}
_SIZES = {"MiB": 1024 * 1024, "KiB": 1024, "": 1}
_PERIODS = {"m": 60, "s": 1, "ms": 0.001}


def _type(kind: OptionType) -> str:
    """Returns the name of an option's type in the docs."""
    quantity = next((mark for mark in kind.marks if isinstance(mark, Size | Duration)), None)
    if quantity:
        return type(quantity).__name__.lower()
    if kind.is_list:
        item = kind.item
        if kind.is_mapping:
            return f"{_PLURALS.get(_type(item), 'sections')} by name"
        plural = "sections" if item.section else "methods" if get_origin(item.base) is Literal else "strings"
        return "string, or a list of them" if Mark.ONE_OR_MANY in kind.marks else f"list of {plural}"
    if get_origin(kind.base) is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(kind.base))
    return "secret" if kind.is_secret else "section" if kind.section else _NAMES[kind.base]


def _default(option: Option, kind: str) -> str:
    """Returns a default as a file could contain it, or an empty text if there is no such value."""
    if option.is_required:
        return "required"
    default = option.default
    if default in (None, ()) or option.type.section:
        return ""
    if kind in ("size", "duration"):
        units = _SIZES if kind == "size" else _PERIODS
        return "`{}{}`".format(
            *next((int(default / size), unit) for unit, size in units.items() if default >= 5 * size)
        )
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`[{', '.join(default)}]`" if isinstance(default, tuple) else f"`{default}`" if default != "" else '`""`'


def _heading(path: OptionPath) -> str:
    """Returns the heading of an option's table; all options of secrets share one."""
    if id(path.option) in _SECRET_OPTIONS:
        return _SECRET
    return f"`{'.'.join(path.path[:-1])}`" if path.path[1:] else _TOP


def _sections() -> dict[str, dict[str, str]]:
    """Returns the rest of each option's row after its name, by heading and name."""
    sections = defaultdict(dict)
    for path in all_options(Settings):
        kind = "section" if isinstance(path.option, OptionGroup) else _type(path.option.type)
        default = "" if isinstance(path.option, OptionGroup) else _default(path.option, kind)
        sections[_heading(path)][path.option.name] = f"{kind} | {default} | {description(path.option)} |"
    return sections


def _rows() -> dict[str, tuple[str, ...]]:
    """Returns the rows of the options by heading; a short section's rows stand in the table of the section around it."""
    sections = _sections()
    contents = [tuple(section.items()) for section in sections.values()]
    folded = set()

    def rows(heading: str, prefix: str = "") -> list[str]:
        lines = []
        for name, rest in sections[heading].items():
            lines.append(f"| `{prefix}{name}` | {rest}")
            for below in (name, f"{name}.*"):
                section = f"`{below}`" if heading == _TOP else f"`{heading.strip('`')}.{below}`"
                if section in sections and contents.count(tuple(sections[section].items())) == 1:
                    short = rows(section, f"{prefix}{below}.")
                    if len(short) <= _SHORT:
                        folded.add(section)
                        lines += short
        return lines

    tables = {heading: tuple(rows(heading)) for heading in sections}
    return {heading: table for heading, table in tables.items() if heading not in folded}


def tables() -> dict[str, str]:
    """Returns the tables of the docs by heading; sections with the same options share one table."""
    sections = defaultdict(list)
    for heading, rows in _rows().items():
        sections[rows].append(heading)
    by_heading = {}
    for heading, rows in _rows().items():
        other_headings = [other_heading for other_heading in sections[rows] if other_heading != heading]
        if heading == max(sections[rows], key=lambda title: title.startswith("`targets")):
            also = f"The same options are in {', '.join(other_headings)}.\n"
            by_heading[heading] = "\n".join([*([also] if other_headings else []), *_HEAD, *rows])
    return by_heading


def _updated(text: str) -> str:
    """Returns the docs with new tables in the order of the options; the prose after a table stays with its options."""
    start, end = (text.index(f"\n## {heading}\n") for heading in ("Options", "Secrets"))
    intro, *sections = re.split(r"^### ", text[start:end], flags=re.MULTILINE)
    prose = {
        section.partition("\n")[0]: re.split(r"^\|---.*(?:\n\|.*)*", section, maxsplit=1, flags=re.MULTILINE)[1].strip()
        for section in sections
    }
    for heading in prose.keys() - tables().keys():
        around = max((other for other in tables() if heading.startswith(other.rstrip("`"))), key=len, default=_TOP)
        prose[around] = f"{prose.get(around, '')}\n\n{prose[heading]}".strip()
    parts = [
        "\n\n".join(filter(None, (f"### {heading}", table, prose.get(heading, ""))))
        for heading, table in tables().items()
        if heading != _SECRET
    ]
    return text[:start] + intro + "\n\n".join(parts) + "\n" + text[end:]


def test_docs_are_written_anew():
    """`UPDATE_DOCS=1` writes the tables of the docs and the published schema, for a review."""
    if "UPDATE_DOCS" not in os.environ:
        pytest.skip("nothing is written unless UPDATE_DOCS is set")
    DOCS.write_text(_updated(TEXT), encoding="utf-8")
    DOCS.with_name("configuration.schema.json").write_text(published(), encoding="utf-8")


@pytest.mark.parametrize(("heading", "table"), tables().items())
def test_every_option_is_in_the_docs(heading, table):
    (section,) = re.findall(rf"^### {re.escape(heading)}$(.*?)(?=^##|\Z)", TEXT, re.DOTALL | re.MULTILINE)
    assert table in section


def test_docs_have_no_other_option():
    expected = {row for rows in _rows().values() for row in rows}
    options_of_docs = re.findall(r"^\| `[A-Za-z0-9.*]+` \|.*\|.*\|.*\|$", TEXT, re.MULTILINE)
    assert [row for row in options_of_docs if row not in expected] == []


@pytest.mark.parametrize("text", VALID_EXAMPLES)
def test_a_valid_example_has_no_diagnostic(text):
    complete = text if "targets:" in text else text + MINIMAL
    loaded = compile_configuration(SourceFile("config.yaml", complete), Path(), unresolved)
    assert [diagnostic.message for diagnostic in loaded.diagnostics] == []
    assert loaded.settings


@pytest.mark.parametrize(("text", "expected"), INVALID_EXAMPLES)
def test_an_invalid_example_is_reported_as_shown(text, expected):
    assert report(text) == expected.rstrip("\n")


def test_the_first_example_has_every_section():
    settings = compile_configuration(SourceFile("config.yaml", VALID_EXAMPLES[0]), Path(), unresolved).settings
    assert [target.name for target in settings.targets] == ["site", "files"]
    top = {path.path[0] for path in all_options(Settings)}
    assert [name for name in top if not re.search(rf"^{name}:", VALID_EXAMPLES[0], re.MULTILINE)] == []
