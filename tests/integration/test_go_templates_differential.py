"""Go templates held to a real Go: which it refuses, which fail, and what the others write."""

import base64
import json
import os
import random
import re
from itertools import islice
from pathlib import Path

import pytest
from generated_templates import Case, Generator
from go_programs import GENEROUS, GO, json_value, program, request_root
from real_go import build, build_with_modules

from tornado_proxy.templates.golang.calling import Vocabulary
from tornado_proxy.templates.golang.pages import PAGE_FUNCTIONS
from tornado_proxy.templates.golang.sprig import REFUSED, functions
from tornado_proxy.templates.golang.standard import STANDARD
from tornado_proxy.templates.template import LimitError, RenderBudget, RenderError, TemplateMistake

pytestmark = pytest.mark.integration

CASES = int(os.environ.get("TORNADO_PROXY_TEMPLATE_CASES", "50000"))
BATCH = 5000
SPEAKING = (1, 27)  # an older encoding/json writes bytes that are no UTF-8 in another way
VECTORS = json.loads((Path(__file__).parents[1] / "vectors/template.json").read_text(encoding="utf-8"))["vectors"]
SPRIG = "github.com/Masterminds/sprig/v3@v3.3.0"
HELM = Vocabulary({**STANDARD, **functions(), "tpl": PAGE_FUNCTIONS["tpl"]}, REFUSED)

# What docs/go-templates.md says is refused here and not in Go.
KNOWN_REFUSALS = (
    "an address",
    "cannot be written as a whole",
    "the present time is not available",
    "the time zone (?s:.*) is not supported",
    "chunks of (?s:.*) are not possible",
    "cannot be copied",
    r"the time .* is out of range",
    "are outside of the list",
)


def _ours(case, vocabulary):
    """What we make of a case: bytes, or the stage at which it fails; None where it is refused on purpose."""
    data = request_root(case.data) if case.request else json_value(case.data)
    try:
        return program(case.template, vocabulary).execute(data, RenderBudget(GENEROUS))
    except TemplateMistake as mistake:
        return None if any(f"`{name}` is refused" in str(mistake) for name in REFUSED) else "parse"
    except LimitError:
        return None
    except RenderError as error:
        return ("exec", any(re.search(known, str(error)) for known in KNOWN_REFUSALS))


def _theirs(answer):
    return answer["stage"] or base64.b64decode(answer["written"] or "")


def _agree(ours, theirs):
    if ours is None:
        return True
    if isinstance(ours, tuple):
        stage, known = ours
        return known or theirs == stage
    return ours == theirs


def _compare(go, vocabulary, generator):
    cases = generator.cases(CASES)
    while batch := list(islice(cases, BATCH)):
        questions = ({"Template": case.template, "Request": case.request, "Data": case.data} for case in batch)
        for case, answer in zip(batch, go.ask(questions), strict=True):
            ours, theirs = _ours(case, vocabulary), _theirs(answer)
            assert _agree(ours, theirs), (case.template, ours, theirs, answer["error"])


def _recorded(*, sprig):
    """Recorded templates to change."""
    return [
        Case(vector["template"], _smaller(vector["data"]), vector["data_kind"] == "keyrewrite")
        for vector in VECTORS
        if sprig or vector["funcs"] != "sprig"
    ]


def _smaller(data):
    """The data with numbers that Go can count to."""
    return (
        {name: min(value, 99999) if type(value) is int else value for name, value in data.items()}
        if type(data) is dict
        else data
    )


def _generator(go, *, sprig):
    if go.version < SPEAKING:
        pytest.skip(f"Go 1.27 is what the templates here speak, this is {'.'.join(map(str, go.version))}")
    seed = int(os.environ.get("TORNADO_PROXY_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"TORNADO_PROXY_SEED={seed} Go {go.version}")
    return Generator(random.Random(seed), sprig, _recorded(sprig=sprig))


def test_generated_templates_have_the_answers_of_go(tmp_path):
    """With the functions of Go's standard library: refused, failed or written alike."""
    go = build("templates", tmp_path)
    _compare(go, GO, _generator(go, sprig=False))


def test_generated_templates_have_the_answers_of_sprig(tmp_path):
    """With sprig's functions, where Go can fetch them."""
    go = build_with_modules("templates", tmp_path, SPRIG, tag="sprig")
    _compare(go, HELM, _generator(go, sprig=True))
