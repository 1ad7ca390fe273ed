"""Where the grammar files are, and the tables of a parser that are kept beside its grammar."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

_PACKAGE = Path(__file__).parent.parent
FOLDERS = (_PACKAGE / "grammar", _PACKAGE.parent / "grammar")


def grammar_text(name: str, folders: Iterable[Path] = FOLDERS) -> str:
    """The text of a grammar file, from the first folder that has it; raises FileNotFoundError where none has."""
    for folder in folders:
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8")
    raise FileNotFoundError(f"the grammar `{name}` is not part of this installation")


_WIDEST = 1 << 16

Options = Mapping[str, Any]
"""Options of `lark.Lark`."""


def kept_parser(tables: str, grammar: str, options: Options, hooks: Options) -> lark.Lark | None:
    """The parser of kept tables; None where they are of another grammar, of other options or of another Lark.

    `hooks` are the options that are objects, and no part of the tables.
    """
    kept = json.loads(tables)
    if kept["origin"] != _origin(grammar, options):
        return None
    data, table = kept["data"], kept["data"]["parser"]["parser"]
    table["tokens"] = dict(enumerate(table["tokens"]))
    table["states"] = dict(enumerate(_by_number(actions) for actions in table["states"]))
    memo = dict(enumerate(kept["memo"]))
    # What the parsers call that Lark itself writes (`lark.tools.standalone`); `Lark.load` would want a pickle.
    parser: lark.Lark = lark.Lark._load_from_dict(data, memo, **hooks)  # type: ignore[no-untyped-call] # noqa: SLF001
    return parser


def written(parser: lark.Lark, grammar: str, options: Options, hooks: Options) -> str:
    """The tables of a parser that was built of a grammar, as text: always the same for the same tables."""
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    data["options"] = {name: value for name, value in data["options"].items() if name not in hooks}
    data["parser"]["parser"] = _in_order(data["parser"]["parser"])
    shared = [memo[number] for number in range(len(memo))]
    for pattern in (each["pattern"] for each in shared if each["__type__"] == "TerminalDef"):
        if "_width" in pattern:  # what is endless has another number in another Python; the lexer only sorts by it
            pattern["_width"] = [min(width, _WIDEST) for width in pattern["_width"]]
    kept = {"origin": _origin(grammar, options), "data": data, "memo": shared}
    return json.dumps(kept, separators=(",", ":"), sort_keys=True).replace('},"', '},\n"') + "\n"


def _origin(grammar: str, options: Options) -> str:
    made_of = f"lark {lark.__version__}\n{sorted(options.items())}\n{grammar}"
    return hashlib.sha256(made_of.encode()).hexdigest()


def _by_number(actions: Mapping[str, Any]) -> Mapping[int, Any]:
    """What JSON has made of a mapping from numbers."""
    return {int(number): action for number, action in actions.items()}


def _in_order(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """A parse table whose tokens and states are numbered by their names, and by the way that leads to them."""
    names: Mapping[int, str] = table["tokens"]
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


def _reached(states: Mapping[int, Mapping[int, Any]], starts: Iterable[int]) -> Mapping[int, int]:
    """New numbers of states, in the order in which they are reached from the first."""
    numbers = {state: number for number, state in enumerate(starts)}
    waiting = [*numbers]
    for state in waiting:
        for kind, arg in states[state].values():
            if not kind and arg not in numbers:
                numbers[arg] = len(numbers)
                waiting.append(arg)
    return numbers
