import re
from pathlib import Path

import pytest
from go_programs import rendered

from tornado_proxy.templates.golang.parser import DEEPEST, MOST_TEMPLATES
from tornado_proxy.templates.golang.sprig.regex import LONGEST
from tornado_proxy.templates.golang.template import vocabulary
from tornado_proxy.templates.golang.urls import HEADER, VALUES
from tornado_proxy.templates.golang.view import BUCKET, MOUNT, REQUEST, ROOT, TARGET, URL, USERINFO, USERS
from tornado_proxy.templates.template import RenderLimits

TEXT = (Path(__file__).parents[3] / "docs/go-templates.md").read_text(encoding="utf-8")


def _section(title):
    return TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]


def _rows(text):
    """The cells of each table row but the heads."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip().replace(r"\|", "|") for cell in row] for row in rows]


def _quoted(text):
    return set(re.findall(r"`([^`]+)`", text))


def test_every_function_is_in_the_table_and_none_else():
    """The documentation lists what a rule may call."""
    table = "".join(line for line in _section("Functions").splitlines() if line.startswith("|"))
    assert _quoted(table) == set(vocabulary().functions)


def test_every_refused_function_is_in_the_table_with_its_reason():
    """The table gives the reason that the message gives."""
    rows = {name.strip("`"): reason for name, reason in _rows(_section("Refused functions"))}
    assert rows == dict(vocabulary().refused)


def test_every_field_and_method_is_named():
    """The page names each one, of every type."""
    types = (ROOT, REQUEST, URL, USERINFO, TARGET, BUCKET, MOUNT, HEADER, VALUES, *USERS.values())
    names = {name.decode() for of in types for name in (*getattr(of, "getters", ()), *of.methods)}
    words = set(re.findall(r"\w+", _section("Data")))
    assert names - words == set()


@pytest.mark.parametrize("kind", sorted(USERS))
def test_a_user_s_fields_are_listed_by_its_kind(kind):
    """The page lists exactly the fields that the type of the user has."""
    (fields,) = [fields for name, *rest in _rows(_section("Data")) for fields in rest if name == f"`{kind}`"]
    assert _quoted(fields) == {name.decode() for name in USERS[kind].getters}


def test_the_limits_are_those_of_the_product():
    """The page gives each limit, in order."""
    numbers = [int(number) for number in re.findall(r"^\| (\d+) \|", _section("Limits"), re.MULTILINE)]
    limits = RenderLimits()
    assert numbers == [limits.steps, limits.text, limits.items, LONGEST, limits.depth, DEEPEST, MOST_TEMPLATES]


@pytest.mark.parametrize(("template", "result"), _rows(_section("Syntax")))
def test_examples_write_what_they_say(template, result):
    """Each row of the table is run."""
    assert rendered(template.strip("`")) == result.strip("`")
