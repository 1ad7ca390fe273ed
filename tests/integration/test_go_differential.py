"""Expressions and expansions compared with a real Go: acceptance, matches and results."""

import base64
import os
import random
import re
from itertools import islice

import pytest
import re2
from generated_expressions import Generator
from real_go import build
from recorded import vectors

from gotemplate.regexp.classes import unicode_tables
from gotemplate.regexp.matching import compile_pattern
from gotemplate.regexp.parser import parse
from gotemplate.regexp.program import print_program
from gotemplate.regexp.syntax import PatternError
from tornado_proxy.templates.template import compile_plain

pytestmark = pytest.mark.integration

CASES = int(os.environ.get("TORNADO_PROXY_CASES", "100000"))
BATCH = 5000
OUR_UNICODE = "17.0.0"
FOLDED = (
    "L", "Lu", "Ll", "Lt", "Lm", "M", "Mn", "LC", "Nl", "So", "Greek", "Common", "Inherited", "Latin", "ASCII", "C",
)  # fmt: skip
FLAGS = "", "(?i)"
NAMES = unicode_tables().names
OLD_NAMES = ("L", "Lu", "Ll", "Nd", "P", "S", "Z", "Greek", "Latin", "Han", "Common")
VECTORS = vectors("regexp")


@pytest.fixture(scope="module")
def go(tmp_path_factory):
    """The program that runs Go's regexp package."""
    return build("regexps", tmp_path_factory.mktemp("go"))


def _text(data):
    return data.decode("utf-8", "surrogateescape")


def _recorded_expressions(go):
    """Yields recorded expressions to vary; an older Go doesn't know names of scripts with an underscore."""
    for vector in VECTORS:
        expression = vector["pattern"]
        if len(expression) < 200 and (
            go.version >= (1, 27) or not re.search(r"\\p\{\^?[a-z]+_", expression, re.IGNORECASE)
        ):
            yield expression


def _generator(go):
    seed = int(os.environ.get("TORNADO_PROXY_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"TORNADO_PROXY_SEED={seed} Go {go.version}, Unicode {go.unicode}")
    is_same_unicode = go.unicode == OUR_UNICODE
    return Generator(
        random.Random(seed), is_same_unicode, [*_recorded_expressions(go)], NAMES if is_same_unicode else OLD_NAMES
    )


def _our_result(expression, text, template):
    """Returns our result for a case; an error is a text."""
    try:
        pattern = compile_pattern(expression)
    except PatternError:
        return "refused"
    match = pattern.search(_text(text))
    if match is None:
        return "no match"
    expanded = compile_plain(template).expand(match)
    return list(match.groups), dict(pattern.names), expanded


def _go_result(answer, text):
    if answer["error"]:
        return "refused"
    if not answer["match"]:
        return "no match"
    spans = zip(answer["match"][::2], answer["match"][1::2], strict=True)
    groups = [None if start < 0 else _text(text[start:end]) for start, end in spans]
    names = {name: number for number, name in reversed([*enumerate(answer["names"])]) if name}
    return groups, names, _text(base64.b64decode(answer["expanded"]))


def test_generated_expressions_have_the_results_of_go(go):
    """Go and this project both refuse an expression, find no match, or find and expand the same match."""
    cases = _generator(go).cases(CASES)
    while batch := list(islice(cases, BATCH)):
        questions = (
            {"Pattern": expression, "Text": base64.b64encode(text).decode(), "Template": template}
            for expression, text, template in batch
        )
        for case, answer in zip(batch, go.ask(questions), strict=True):
            assert (case, _our_result(*case)) == (case, _go_result(answer, case[1]))


def _members(expression):
    """Returns the ranges of code points that an expression of one character matches."""
    text = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
    runs = re2.compile(f"(?:{print_program(parse(expression).tree)})+".encode()).finditer(text.encode())
    ranges = []
    for low, high in ((ord(run[0]), ord(run[-1])) for run in (match.group().decode() for match in runs)):
        if low < 0xD800 and high > 0xDFFF:
            ranges += [low, 0xD7FF], [0xE000, high]
        else:
            ranges.append([low, high])
    return ranges


@pytest.mark.parametrize(
    "expressions",
    [
        [rf"\p{{{name}}}" for name in NAMES],
        [rf"(?i)\p{{{name}}}" for name in FOLDED],
        [rf"(?i)[^\P{{{name}}}k\d]" for name in FOLDED],
        [rf"{flag}[{text}]" for flag in FLAGS for text in (r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", "^k", "ß-ſ")],
        [f"{flag}[[:{sign}{name}:]]" for flag in FLAGS for sign in ("", "^") for name in ("alpha", "upper", "word")],
        [".", "(?s).", "(?i)\u019b", "(?i)[\U00010d50-\U00010d52]", "(?i)ß"],
    ],
    ids=["properties", "folded properties", "negated", "Perl", "POSIX", "others"],
)
def test_classes_have_the_members_of_go(go, expressions):
    """Every code point is a member in both or in neither."""
    if go.unicode != OUR_UNICODE:
        pytest.skip(f"this Go knows Unicode {go.unicode}; the classes here are those of {OUR_UNICODE}")
    answers = go.ask({"Pattern": f"^(?:{expression})$", "Members": True} for expression in expressions)
    different = [
        expression
        for expression, answer in zip(expressions, answers, strict=True)
        if answer["error"] or answer["ranges"] != _members(expression)
    ]
    assert different == []
