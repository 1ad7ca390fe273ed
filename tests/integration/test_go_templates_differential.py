"""Go templates compared with a real Go: refusals, failures and output."""

import base64
import os
import random
import re
from itertools import islice

import pytest
from generated_templates import Case, Generator
from go_programs import GENEROUS, GO, json_value, program, request_root
from real_go import build, build_with_modules
from recorded import vectors

from gotemplate.sprig import REFUSED, functions
from gotemplate.template.calling import Vocabulary
from gotemplate.template.errors import LimitError, RenderBudget, RenderError, TemplateMistake
from gotemplate.template.standard import STANDARD
from tornado_proxy.templates.go import PAGE_FUNCTIONS

pytestmark = pytest.mark.integration

CASES = int(os.environ.get("TORNADO_PROXY_TEMPLATE_CASES", "50000"))
BATCH = 5000
OLDEST_GO = (1, 27)  # an older encoding/json writes invalid UTF-8 differently
VECTORS = vectors("template")
# The versions that s3-proxy ships.
SPRIG = (
    "github.com/Masterminds/sprig/v3@v3.3.0",
    "github.com/Masterminds/semver/v3@v3.5.0",
    "github.com/spf13/cast@v1.10.0",
    "dario.cat/mergo@v1.0.2",
)
HELM = Vocabulary({**STANDARD, **functions(), "tpl": PAGE_FUNCTIONS["tpl"]}, REFUSED)

# Refusals that docs/go-templates.md documents as different from Go.
KNOWN_REFUSALS = (
    "an address", "cannot be written as a whole", "the present time is not available",
    "the time zone (?s:.*) is not supported", "chunks of (?s:.*) are not possible", "cannot be copied",
    r"the time .* is out of range", "are outside of the list",
    r"cannot be merged into `\*.*`: only dictionaries can",
)  # fmt: skip


def _our_result(case, vocabulary):
    """Returns our output, or the stage of the failure; None for a deliberate refusal."""
    data = request_root(case.data) if case.request else json_value(case.data)
    try:
        return program(case.template, vocabulary).execute(data, RenderBudget(GENEROUS))
    except TemplateMistake as mistake:
        return None if any(f"`{name}` is refused" in str(mistake) for name in REFUSED) else "parse"
    except LimitError:
        return None
    except RenderError as error:
        return ("exec", any(re.search(pattern, str(error)) for pattern in KNOWN_REFUSALS))


def _agree(ours, theirs):
    if ours is None:
        return True
    if isinstance(ours, tuple):
        stage, is_known = ours
        return is_known or theirs == stage
    return ours == theirs


def _compare(go, vocabulary, generator):
    cases = generator.cases(CASES)
    while batch := list(islice(cases, BATCH)):
        questions = ({"Template": case.template, "Request": case.request, "Data": case.data} for case in batch)
        for case, answer in zip(batch, go.ask(questions), strict=True):
            ours, theirs = _our_result(case, vocabulary), answer["stage"] or base64.b64decode(answer["output"] or "")
            assert _agree(ours, theirs), (case.template, ours, theirs, answer["error"])


def _recorded_templates(*, sprig):
    """Returns recorded templates to vary."""
    return [
        Case(vector["template"], _with_small_numbers(vector["data"]), vector["data_kind"] == "keyrewrite")
        for vector in VECTORS
        if sprig or vector["funcs"] != "sprig"
    ]


def _with_small_numbers(data):
    """Returns the data with numbers small enough to count to."""
    return (
        {name: min(value, 99999) if type(value) is int else value for name, value in data.items()}
        if type(data) is dict
        else data
    )


def _generator(go, *, sprig):
    if go.version < OLDEST_GO:
        pytest.skip(f"the templates here are those of Go 1.27, this is {'.'.join(map(str, go.version))}")
    seed = int(os.environ.get("TORNADO_PROXY_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"TORNADO_PROXY_SEED={seed} Go {go.version}")
    return Generator(random.Random(seed), sprig, _recorded_templates(sprig=sprig))


def test_generated_templates_have_the_results_of_go(tmp_path):
    """With the functions of Go's standard library, both refuse, fail or write the same."""
    go = build("templates", tmp_path)
    _compare(go, GO, _generator(go, sprig=False))


def test_generated_templates_have_the_results_of_sprig(tmp_path):
    """With sprig's functions, both refuse, fail or write the same, if Go can fetch sprig."""
    go = build_with_modules("templates", tmp_path, *SPRIG, tag="sprig")
    _compare(go, HELM, _generator(go, sprig=True))
