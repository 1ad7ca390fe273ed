from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from lark import Lark, Token
from lark.exceptions import UnexpectedToken
from lark.grammar import Rule
from lark.lexer import TerminalDef

from tornado_proxy.lang.diagnostic import SourceFile
from tornado_proxy.lang.reading import (
    _HOOKS,
    _MISTAKES,
    _OPTIONS,
    FOLDERS,
    TABLES,
    Reading,
    Where,
    grammar_text,
    kept_parser,
    origin_of,
    rules_parser,
)


def test_grammar_is_found():
    """The rule language's grammar is part of the installation."""
    assert "document" in grammar_text("rules.lark")


def test_grammar_in_the_package_comes_first(tmp_path):
    """A wheel's grammar, in the package, is taken before one beside it."""
    for name in ("package", "beside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rules.lark").write_text(name)
    assert grammar_text("rules.lark", [tmp_path / "package", tmp_path / "beside"]) == "package"


def test_grammar_beside_the_package_is_taken_in_a_checkout(tmp_path):
    """Where the package has no grammar, the one beside it serves."""
    (tmp_path / "rules.lark").write_text("beside")
    assert grammar_text("rules.lark", [tmp_path / "package", tmp_path]) == "beside"


def test_missing_grammar_is_named():
    """A grammar that is nowhere is an error that names it."""
    with pytest.raises(FileNotFoundError, match=r"`no\.lark`"):
        grammar_text("no.lark")


def test_both_places_belong_to_the_project():
    """The folders are the package's own and the checkout's."""
    assert [folder.name for folder in FOLDERS] == ["grammar", "grammar"]


def test_grammar_stands_by_itself():
    """The file is a whole grammar for Lark, LALR(1) without conflicts."""
    reader = Lark(grammar_text("rules.lark"), start="document", parser="lalr")
    text = 'target target { rewrite jinja `a` -> jinja "b" # c\n test "/a" as as -> unchanged }'
    assert reader.parse(text).data == "document"


GRAMMAR = """
start: "a" pair*
pair: NAME ":" NAME
NAME: /[a-z]+/
%ignore " "
"""
OPTIONS = {"parser": "lalr", "lexer": "contextual"}


_WIDEST = 1 << 16


def _written(parser, grammar, options, hooks):
    """The tables of a parser that was built of a grammar, as text: always the same for the same tables."""
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    data["options"] = {name: value for name, value in data["options"].items() if name not in hooks}
    data["parser"]["parser"] = _in_order(data["parser"]["parser"])
    shared = [memo[number] for number in range(len(memo))]
    for pattern in (each["pattern"] for each in shared if each["__type__"] == "TerminalDef"):
        if "_width" in pattern:  # what is endless has another number in another Python; the lexer only sorts by it
            pattern["_width"] = [min(width, _WIDEST) for width in pattern["_width"]]
    kept = {"origin": origin_of(grammar, options), "data": data, "memo": shared}
    return json.dumps(kept, separators=(",", ":"), sort_keys=True).replace('},"', '},\n"') + "\n"


def _in_order(table):
    """A parse table whose tokens and states are numbered by their names, and by the way that leads to them."""
    names = table["tokens"]
    tokens = sorted(names.values())
    states = {
        state: dict(sorted((tokens.index(names[token]), action) for token, action in actions.items()))
        for state, actions in table["states"].items()
    }
    numbers = _reached(states, table["start_states"].values())
    return {
        "tokens": tokens,
        "states": [
            {token: (kind, arg if kind else numbers[arg]) for token, (kind, arg) in states[state].items()}
            for state in numbers
        ],
        "start_states": {name: numbers[state] for name, state in table["start_states"].items()},
        "end_states": {name: numbers[state] for name, state in table["end_states"].items()},
    }


def _reached(states, starts):
    """New numbers of states, in the order in which they are reached from the first."""
    numbers = {state: number for number, state in enumerate(starts)}
    waiting = [*numbers]
    for state in waiting:
        for kind, arg in states[state].values():
            if not kind and arg not in numbers:
                numbers[arg] = len(numbers)
                waiting.append(arg)
    return numbers


def _keep(hooks, grammar=GRAMMAR, options=OPTIONS):
    """The tables of a parser, as text."""
    return _written(Lark(grammar, **options, **hooks), grammar, options, hooks)


def test_the_tables_are_those_of_the_grammar():
    """What is kept beside the grammar was made of it as it is now; `make tables` writes it anew."""
    path = Path(__file__).parents[2] / "grammar" / TABLES
    tables = _keep(_HOOKS, grammar_text("rules.lark") + _MISTAKES, _OPTIONS)
    if os.environ.get("UPDATE_TABLES"):
        path.write_text(tables, encoding="utf-8")
    assert tables == path.read_text(encoding="utf-8")


def test_the_parser_is_made_of_what_is_kept():
    """Nothing is built where the tables are of this grammar and of this Lark."""
    assert rules_parser().source_path == "<deserialized>"


def test_a_parser_of_kept_tables_reads_as_the_one_that_was_built():
    """Tables say all that a parser knows."""
    tables = _keep({})
    text = "a one : two three : four"
    assert kept_parser(tables, GRAMMAR, OPTIONS, {}).parse(text) == Lark(GRAMMAR, **OPTIONS).parse(text)


def test_hooks_are_given_to_the_parser_that_is_made():
    """What is an object is not part of the tables."""
    seen = []
    hooks = {"lexer_callbacks": {"NAME": lambda token: seen.append(str(token)) or token}}
    kept_parser(_keep(hooks), GRAMMAR, OPTIONS, hooks).parse("a one : two")
    assert seen == ["one", "two"]


@pytest.mark.parametrize(
    ("grammar", "options"),
    [(GRAMMAR.replace("pair*", "pair+"), OPTIONS), (GRAMMAR, OPTIONS | {"keep_all_tokens": True})],
)
def test_tables_of_another_grammar_are_passed_over(grammar, options):
    """A grammar that was edited, or is read with other options, is built anew."""
    assert kept_parser(_keep({}), grammar, options, {}) is None


def test_tables_of_another_lark_are_passed_over():
    """What another version of Lark has written is never read."""
    assert kept_parser(_keep({}).replace('"origin":"', '"origin":"0'), GRAMMAR, OPTIONS, {}) is None


def _reading(text):
    """A reading that has been fed all tokens that fit."""
    reading = Reading(SourceFile("a.rules", text), text)
    for token in reading.tokens():
        reading.feed(token)
    return reading


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", Where.FILE),
        ("target a {}", Where.FILE),
        ("target", Where.HEADER),
        ("target a", Where.HEADER),
        ("target a {", Where.BLOCK),
        ('target a { rewrite "x"', Where.REWRITE),
        ('target a { rewrite "x" -> go', Where.REWRITE),
        ('target a { rewrite "x" -> "y"', Where.BLOCK),
        ('target a { test "x" as', Where.TEST),
        ('target a { test "x" -> error', Where.BLOCK),
    ],
)
def test_reading_knows_what_it_is_in_the_middle_of(text, where):
    """A statement that may end is done; one that may not is being read."""
    reading = _reading(text)
    assert reading.where(reading.accepts()) is where


def test_token_that_does_not_fit_is_refused():
    """Feeding a token out of place raises, and the reading stays where it is."""
    reading = _reading("target")
    with pytest.raises(UnexpectedToken):
        reading.feed(Token("RBRACE", "}"))
    assert reading.accepts() == {"NAME", "STRING"}


def test_text_that_is_incomplete_has_no_end():
    """The tree comes out only of a whole document."""
    with pytest.raises(UnexpectedToken):
        _reading("target a {").end()
    assert _reading("target a {}").end().data == "document"


def test_statement_can_be_forgotten():
    """Cutting back leads to where the statement began."""
    reading = _reading('target a { rewrite "x" ->')
    reading.cut_back()
    assert {"REWRITE", "TEST", "RBRACE"} <= reading.accepts()


def test_nothing_is_forgotten_between_blocks():
    """Where nothing has begun, cutting back does nothing."""
    reading = _reading("")
    reading.cut_back()
    assert reading.accepts() == {"TARGET", "$END"}


def test_lexer_can_go_back():
    """After a move the tokens come again from there, and so do the comments."""
    reading = _reading("# one\n# two\n")
    reading.move_to(3)
    assert [str(comment) for comment in reading.comments] == ["# one"]
    reading.move_to(0)
    assert list(reading.tokens()) == []
    assert [str(comment) for comment in reading.comments] == ["# one", "# two"]


def test_made_up_brace_opened_nothing():
    """The brace that a note may point at stands in the text."""
    reading = _reading("target a")
    assert reading.opening_brace() is None
    reading.insert("LBRACE")
    assert reading.opening_brace() is None
    assert _reading("target a {").opening_brace().start_pos == 9


def test_name_can_be_given_back():
    """A word that was taken for a name can be read as something else."""
    reading = _reading("target target")
    reading.give_back()
    assert (str(reading.last), reading.accepts()) == ("target", {"NAME", "STRING"})


def test_parser_is_built_once():
    """All readings share one parser and nothing else."""
    first, second = _reading("# a"), _reading("")
    assert rules_parser() is rules_parser()
    assert (len(first.comments), len(second.comments)) == (1, 0)
