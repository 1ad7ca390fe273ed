import json
import re
from pathlib import Path

import pytest
from go_programs import GENEROUS, GO, HELM, json_value, program, request_root

from tornado_proxy.templates.golang.text import runes
from tornado_proxy.templates.template import RenderBudget, TemplateError

ROOT = Path(__file__).parents[3]
VECTORS = json.loads((ROOT / "tests/vectors/template.json").read_text(encoding="utf-8"))["vectors"]
VOCABULARIES = {"std": (GO,), "sprig": (HELM,), "any": (GO, HELM)}


def _answer(vector, vocabulary):
    data = request_root(vector["data"]) if vector["data_kind"] == "keyrewrite" else json_value(vector["data"])
    try:
        return runes(program(vector["template"], vocabulary).execute(data, RenderBudget(GENEROUS)))
    except TemplateError:
        return None


def _agrees(vector):
    return all(_answer(vector, vocabulary) == vector.get("expect") for vocabulary in VOCABULARIES[vector["funcs"]])


def test_recorded_answers_of_go_are_given_but_for_those_that_the_documentation_lists():
    """Each recorded template writes what Go wrote, or fails where Go failed; the documentation lists what does not."""
    documentation = (ROOT / "docs/go-templates.md").read_text(encoding="utf-8")
    failing = {vector["id"] for vector in VECTORS if not _agrees(vector)}
    assert failing == set(re.findall(r"\btpl-\d+\b", documentation))


@pytest.mark.parametrize("stage", ["parse", "exec"])
def test_what_go_refuses_when_it_parses_is_a_mistake_and_what_fails_later_is_none(stage):
    """A mistake is found at load exactly where Go's Parse returns an error."""
    found_late = []
    for vector in VECTORS:
        if vector.get("stage") == stage:
            vocabulary = VOCABULARIES[vector["funcs"]][-1]
            try:
                program(vector["template"], vocabulary)
            except TemplateError:
                found_late += [vector["id"]] if stage == "exec" else []
            else:
                found_late += [vector["id"]] if stage == "parse" else []
    assert found_late == []
