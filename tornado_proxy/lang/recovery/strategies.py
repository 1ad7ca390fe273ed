"""The recovery strategies in their order; where none applies, reading goes on at the next sync point."""

from __future__ import annotations

from collections.abc import Callable

from lark import Token

from tornado_proxy.lang.reading import Reading, Where
from tornado_proxy.lang.recovery import foreign, statements, tokens
from tornado_proxy.lang.recovery.sync import next_statement
from tornado_proxy.lang.recovery.unexpected import Unexpected

# A file with more mistakes is not a rule file. A strategy that does not report reads on, so the limit also ends the
# reading of any text.
MOST_MISTAKES = 1000

Strategy = Callable[[Unexpected], bool]

# In order: mistakes that spoil the rest, text that is not a token, misplaced tokens, misspelt words.
_STRATEGIES: tuple[Strategy, ...] = (
    tokens.merge_conflict,
    foreign.foreign_lines,
    tokens.inner_quotes,
    tokens.runaway_raw,
    tokens.swallowed_arrow,
    tokens.open_raw,
    tokens.open_string,
    tokens.other_quotes,
    tokens.other_comment,
    tokens.semicolon,
    tokens.invisible,
    tokens.torn_name,
    statements.word_as_name,
    statements.unclosed_block,
    statements.stray_brace,
    statements.missing_target,
    statements.outside_block,
    statements.first_line,
    statements.broken_off,
    statements.missing_rewrite,
    statements.late_clause,
    tokens.misspelt,
    tokens.instead_of_arrow,
    tokens.missing_arrow,
    tokens.second_arrow,
    tokens.missing_text,
    tokens.surplus_word,
    tokens.bare_text,
    tokens.unknown_clause,
)

_HELP = {
    Where.FILE: "a rule file consists of blocks: `target NAME { … }`",
    Where.BLOCK: "a statement begins with `rewrite` or `test`",
}


def recover(reading: Reading, token: Token) -> None:
    """Report a token that does not fit, and let reading go on behind it or, with the parser changed, at it."""
    if len(reading.diagnostics) >= MOST_MISTAKES:
        _abandon(reading, token)
        return
    unexpected = Unexpected.at(reading, token)
    if not any(strategy(unexpected) for strategy in _STRATEGIES):
        _give_up(unexpected)


def _give_up(unexpected: Unexpected) -> None:
    reading = unexpected.reading
    complete = "the statement before it is complete" if unexpected.is_surplus else None
    unexpected.report_unexpected(complete or _HELP.get(unexpected.where))
    # An opening brace goes with its closing one.
    offset = next_statement(reading.text, unexpected.start if unexpected.token.type == "LBRACE" else unexpected.end)
    if unexpected.where in {Where.REWRITE, Where.TEST}:
        reading.cut_back()
    skipped = reading.text[unexpected.start : offset]
    reading.owed_braces += max(0, skipped.count("{") - skipped.count("}"))
    reading.move_to(offset)


def _abandon(reading: Reading, token: Token) -> None:
    start = token.start_pos or 0
    message = f"more than {MOST_MISTAKES} mistakes: the rest of the file is not read"
    reading.report("too-many-mistakes", message, (start, start))
    if reading.where(reading.accepts()) is not Where.BLOCK:
        reading.cut_back()
    if reading.where(reading.accepts()) is Where.BLOCK:
        reading.insert("RBRACE")
    reading.move_to(len(reading.text))
