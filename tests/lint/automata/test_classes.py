import unicodedata

import pytest

from tornado_proxy.lint.automata.classes import cases, characters, holds, readable
from tornado_proxy.lint.automata.parser import parse
from tornado_proxy.lint.automata.syntax import Sequence, Text
from tornado_proxy.rules.expressions.properties import matched
from tornado_proxy.rules.expressions.ranges import complement, difference, union
from tornado_proxy.rules.patterns import compile_pattern

SAMPLE = [chr(code) for code in (*range(0x250), *range(0x370, 0x400), *range(0x1E00, 0x1E20), 0x2028, 0x212A, 0x212B)]

ONE_CHARACTER = [
    *("a", "k", "S", "é", "/", ".", "[^/]", "[a-z]", "[^a-z]", "[]-]", r"[\d-a]", r"[^\W_]", r"[\x{e0}-\x{ff}]"),
    *(rf"\{letter}" for letter in "dDsSwW"),
    *(
        f"[[:{name}:]]"
        for name in [
            "alnum",
            "alpha",
            "ascii",
            "blank",
            "cntrl",
            "digit",
            "graph",
            "lower",
            "print",
            "punct",
            "space",
            "upper",
            "word",
        ]
    ),
    *("[[:xdigit:]]", "[[:^alpha:]]", "[^[:^space:]]", r"\pL", r"\PL", r"\p{Greek}", r"[^\p{Lu}\d]", r"\p{Nd}"),
]


def _read(text):
    """What an expression of one character reads, which may have flags in front."""
    tree = parse(text)
    node = tree.parts[-1] if isinstance(tree, Sequence) else tree
    return cases(node.characters, folded=node.folded) if isinstance(node, Text) else characters(node)


@pytest.mark.parametrize("flags", ["", "(?i)", "(?s)"])
@pytest.mark.parametrize("text", ONE_CHARACTER)
def test_a_node_reads_what_the_matcher_reads(text, flags):
    """A class, a character or a dot reads exactly the characters that the matcher finds for it."""
    ranges = _read(flags + text)
    pattern = compile_pattern(rf"\A{flags}{text}\z")
    wrong = [each for each in SAMPLE if holds(ranges, each) != (pattern.search(each) is not None)]
    assert wrong == []


@pytest.mark.parametrize("text", ["[a-zA-Z]", "[0-9/_-]", "k", "s"])
def test_other_cases_of_ascii_are_those_of_re2(text):
    """The cases that are added by arithmetic are those that RE2 adds, among all code points."""
    assert _read(f"(?i){text}") == matched(f"(?i){text}")


def test_classes_follow_the_matcher_beyond_pythons_tables():
    """A letter of Unicode 16 is a letter here, whether Python knows it or not."""
    garay = "\U00010d50"
    assert unicodedata.category(garay) in {"Cn", "Lu"}
    assert holds(characters(parse(r"\p{Lu}")), garay)


def test_what_a_key_cannot_hold_is_left_out():
    """Control characters and surrogates are read by no position of an automaton."""
    assert readable(parse("[^a]")) == difference(
        complement(((0x61, 0x61),)), union(((0, 0x1F), (0x7F, 0x9F), (0xD800, 0xDFFF)))
    )
    assert cases("\n", folded=False) == ()


@pytest.mark.parametrize(("character", "held"), [("a", False), ("b", True), ("d", True), ("e", False), ("z", True)])
def test_holding_is_membership(character, held):
    """A character is held where one of the ranges has it."""
    assert holds(((0x62, 0x64), (0x7A, 0x7A)), character) is held
