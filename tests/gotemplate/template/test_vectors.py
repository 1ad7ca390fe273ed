import re
from pathlib import Path

import pytest
from go_programs import GENEROUS, GO, HELM, json_value, program, request_root
from recorded import vectors

from gotemplate.template.errors import RenderBudget, RenderError, TemplateMistake
from gotemplate.template.text import runes

ROOT = Path(__file__).parents[3]
VECTORS = vectors("template")
VOCABULARIES = {"std": (GO,), "sprig": (HELM,), "any": (GO, HELM)}


def _result(vector, vocabulary):
    data = request_root(vector["data"]) if vector["data_kind"] == "keyrewrite" else json_value(vector["data"])
    try:
        return runes(program(vector["template"], vocabulary).execute(data, RenderBudget(GENEROUS)))
    except (TemplateMistake, RenderError):
        return None


def _agrees(vector):
    return all(_result(vector, vocabulary) == vector.get("expect") for vocabulary in VOCABULARIES[vector["funcs"]])


def test_templates_have_the_recorded_results_of_go():
    """Each recorded template has the result or the failure of Go, except those that the documentation lists."""
    documentation = (ROOT / "docs/go-templates.md").read_text(encoding="utf-8")
    failing = {vector["id"] for vector in VECTORS if not _agrees(vector)}
    assert failing == set(re.findall(r"\btpl-\d+\b", documentation))


@pytest.mark.parametrize("stage", ["parse", "exec"])
def test_mistakes_at_load_are_those_of_go_s_parse(stage):
    different = []
    for vector in VECTORS:
        if vector.get("stage") == stage:
            vocabulary = VOCABULARIES[vector["funcs"]][-1]
            try:
                program(vector["template"], vocabulary)
            except TemplateMistake:
                different += [vector["id"]] if stage == "exec" else []
            else:
                different += [vector["id"]] if stage == "parse" else []
    assert different == []
