import re
from pathlib import Path

import pytest

from gotemplate.limits import DEEPEST_TEMPLATE, LONGEST_EXPRESSION, MOST_TEMPLATES
from gotemplate.sprig.dates import DURATION, MONTH, TIME, WEEKDAY
from gotemplate.sprig.semver import CHANGED_VERSION, VERSION
from gotemplate.template.errors import RenderLimits
from gotemplate.template.urls import HEADER, VALUES
from tornado_proxy.templates.go import vocabulary
from tornado_proxy.templates.go_data import BUCKET, MOUNT, REQUEST, ROOT, TARGET, URL, USERINFO, USERS

TEXT = (Path(__file__).parents[2] / "docs/go-templates.md").read_text(encoding="utf-8")


def _section(title):
    return TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]


def _rows(text):
    """Returns the cells of each table row whose first cell is code."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip().replace(r"\|", "|") for cell in row] for row in rows]


def _quoted(text):
    return set(re.findall(r"`([^`]+)`", text))


def test_the_table_lists_exactly_the_functions():
    table = "".join(line for line in _section("Functions").splitlines() if line.startswith("|"))
    assert _quoted(table) == set(vocabulary().functions)


def test_the_table_lists_the_refused_functions():
    rows = _rows(_section("Refused functions"))
    assert {name: reason for names, reason in rows for name in _quoted(names)} == dict(vocabulary().refused)


def test_every_field_and_method_is_documented():
    types = (ROOT, REQUEST, URL, USERINFO, TARGET, BUCKET, MOUNT, HEADER, VALUES, *USERS.values())
    names = {name.decode() for data_type in types for name in (*getattr(data_type, "getters", ()), *data_type.methods)}
    words = set(re.findall(r"\w+", _section("Data")))
    assert names - words == set()


@pytest.mark.parametrize(
    ("of", "types"),
    [
        ("a time, as of `toDate`", (TIME,)),
        ("a duration, as of `Sub`", (DURATION,)),
        ("a month, a day of the week", (MONTH, WEEKDAY)),
        ("a changed version, as of `IncPatch`", (CHANGED_VERSION,)),
    ],
)
def test_the_methods_of_values_are_listed(of, types):
    (methods,) = re.findall(rf"^\| {of} \| (.*) \|$", _section("Data"), re.MULTILINE)
    assert all(_quoted(methods) == {name.decode() for name in each.methods} for each in types)


def test_the_methods_of_a_version_are_listed():
    """A version that was read has those of a changed one, and those that the documentation adds."""
    (methods,) = re.findall(r"^\| a version, as of `semver` \| (.*) \|$", _section("Data"), re.MULTILINE)
    assert _quoted(methods) == {name.decode() for name in VERSION.methods.keys() - CHANGED_VERSION.methods.keys()}


@pytest.mark.parametrize("kind", sorted(USERS))
def test_the_fields_of_each_kind_of_user_are_listed(kind):
    (fields,) = [fields for name, *rest in _rows(_section("Data")) for fields in rest if name == f"`{kind}`"]
    assert _quoted(fields) == {name.decode() for name in USERS[kind].getters}


def test_the_limits_are_documented():
    numbers = [int(number) for number in re.findall(r"^\| (\d+) \|", _section("Limits"), re.MULTILINE)]
    limits = RenderLimits()
    assert numbers == [
        limits.steps,
        limits.text,
        limits.items,
        LONGEST_EXPRESSION,
        limits.depth,
        DEEPEST_TEMPLATE,
        MOST_TEMPLATES,
    ]
