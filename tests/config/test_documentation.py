from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from configurations import MINIMAL, report

from tornado_proxy.config.compilation import compile_configuration
from tornado_proxy.config.options import Option, options
from tornado_proxy.config.quantities import Duration, Size
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.config.section import OneOrMany, Section
from tornado_proxy.config.target_sections import SecretSection
from tornado_proxy.lang.source import SourceFile

TEXT = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
CASES = sorted((Path(__file__).parent / "cases").glob("*.case"))

_BLOCKS = [*re.findall(r"```(yaml|text)\n(.*?)```", TEXT, re.DOTALL), ("", "")]
_PAIRS = list(pairwise(_BLOCKS))
SOUND = [text for (kind, text), (after, _) in _PAIRS if kind == "yaml" and after != "text"]
UNSOUND = [(text, told) for (kind, text), (after, told) in _PAIRS if kind == "yaml" and after == "text"]

_SECRET_OPTIONS = {field.description for field in SecretSection.model_fields.values()}
_NAMES = {bool: "boolean", int: "number", float: "number", str: "string", SecretSection: "secret"}
_SIZES = {"MiB": 1024 * 1024, "KiB": 1024}
_PERIODS = {"m": 60, "s": 1}


def _type(annotation: Any, marks: tuple[Any, ...] = ()) -> str:
    """What the docs call the type of an option."""
    quantity = next((mark for mark in marks if isinstance(mark, Size | Duration)), None)
    if quantity:
        return type(quantity).__name__.lower()
    inner, *others = get_args(annotation) or (annotation,)
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{choice}`" for choice in (inner, *others))
    if get_origin(annotation) is dict:
        return "sections by name"
    if get_origin(annotation) is list:
        one_or_many = any(isinstance(mark, OneOrMany) for mark in marks)
        return f"{_type(inner)}, or a list of them" if one_or_many else f"list of {_plural(inner)}"
    if inner is not annotation:
        return _type(inner, getattr(inner, "__metadata__", ()))
    return _NAMES.get(annotation, "section")


def _plural(annotation: Any) -> str:
    return "methods" if get_origin(annotation) is Literal else "sections"


def _default(option: Option, kind: str) -> str:
    """A default as the file could say it; nothing where leaving the option out says something else."""
    if option.field.is_required():
        return "required"
    default = option.field.get_default(call_default_factory=True)
    if default is None or isinstance(default, Section) or default in ([], {}):
        return ""
    if kind in ("size", "duration"):
        units = _SIZES if kind == "size" else _PERIODS
        return "`{}{}`".format(
            *next((int(default / size), unit) for unit, size in units.items() if default >= 5 * size)
        )
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`[{', '.join(default)}]`" if isinstance(default, list) else f"`{default}`" if default != "" else '`""`'


def _heading(option: Option) -> str:
    """The heading that an option stands under; those of secrets stand in one place."""
    is_secret = option.field.description in _SECRET_OPTIONS
    return "A secret" if is_secret else f"`{'.'.join(option.path[:-1])}`" if option.path[1:] else "Top level"


def tables() -> dict[str, list[str]]:
    """The rows that the docs have for the options, by heading."""
    rows = defaultdict(list)
    for option in options():
        kind = _type(option.field.annotation, tuple(option.field.metadata))
        row = f"| `{option.name}` | {kind} | {_default(option, kind)} | {option.field.description} |"
        if row not in rows[_heading(option)]:
            rows[_heading(option)].append(row)
    return rows


@pytest.mark.parametrize(("heading", "rows"), tables().items())
def test_every_option_is_in_the_docs(heading, rows):
    """Under the heading of its section, each option has a row with its type, its default and its meaning."""
    (section,) = re.findall(rf"^### {re.escape(heading)}$(.*?)(?=^##|\Z)", TEXT, re.DOTALL | re.MULTILINE)
    assert "\n".join(["| option | type | default | meaning |", "|---|---|---|---|", *rows]) in section


def test_docs_have_no_other_option():
    """No row tells of an option that is gone."""
    known = {row for rows in tables().values() for row in rows}
    options_of_docs = re.findall(r"^\| `[A-Za-z0-9]+` \|.*\|.*\|.*\|$", TEXT, re.MULTILINE)
    assert [row for row in options_of_docs if row not in known] == []


@pytest.mark.parametrize("text", SOUND)
def test_example_is_sound(text):
    """An example without a message below it is a configuration about which there is nothing to say."""
    whole = text if "targets:" in text else text + MINIMAL
    loaded = compile_configuration(SourceFile("config.yaml", whole), Path(), unresolved)
    assert [each.message for each in loaded.diagnostics] == []
    assert loaded.settings


@pytest.mark.parametrize(("text", "told"), UNSOUND)
def test_example_of_a_mistake_is_told_as_shown(text, told):
    """Below an example of mistakes stands what is said about it."""
    assert report(text) == told.rstrip("\n")


def test_whole_example_shows_every_section():
    """The first example has all sections in it, and several targets."""
    settings = compile_configuration(SourceFile("config.yaml", SOUND[0]), Path(), unresolved).settings
    assert [target.name for target in settings.targets] == ["site", "files"]
    top = {option.name for option in options() if len(option.path) == 1}
    assert [name for name in top if not re.search(rf"^{name}:", SOUND[0], re.MULTILINE)] == []


def test_every_code_is_in_the_docs():
    """The table of codes has those that the cases show, and that of a file that cannot be read."""
    documented = set(re.findall(r"^\| `([a-z0-9-]+)` \| [^|]*\|$", TEXT, re.MULTILINE))
    shown = set(re.findall(r"^(?:error|warning)\[([a-z0-9-]+)\]", "\n".join(map(Path.read_text, CASES)), re.MULTILINE))
    assert documented == shown | {"unreadable-file"}
