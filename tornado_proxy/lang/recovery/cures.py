"""The cures in their order; where none helps, reading goes on at the next thing that looks like a statement."""

from __future__ import annotations

from collections.abc import Callable

from lark import Token

from tornado_proxy.lang.reading import Reading, Where
from tornado_proxy.lang.recovery import foreign, slips, structure
from tornado_proxy.lang.recovery.landmarks import next_statement
from tornado_proxy.lang.recovery.trouble import Trouble

# A file with more mistakes is no rule file. Since what does not report a mistake reads on, the limit also ends the
# reading of any text.
MOST_MISTAKES = 1000

Cure = Callable[[Trouble], bool]

# In order: what spoils all that follows, what is no token at all, what has lost its place, what is only misspelt.
_CURES: tuple[Cure, ...] = (
    slips.merge_conflict,
    foreign.foreign_lines,
    slips.inner_quotes,
    slips.runaway_raw,
    slips.swallowed_arrow,
    slips.open_raw,
    slips.open_string,
    slips.other_quotes,
    slips.other_comment,
    slips.semicolon,
    slips.invisible,
    slips.torn_name,
    structure.word_as_name,
    structure.unclosed_block,
    structure.stray_brace,
    structure.missing_target,
    structure.outside_block,
    structure.first_line,
    structure.broken_off,
    structure.missing_rewrite,
    structure.late_clause,
    slips.misspelt,
    slips.instead_of_arrow,
    slips.missing_arrow,
    slips.second_arrow,
    slips.missing_text,
    slips.surplus_word,
    slips.bare_text,
    slips.unknown_clause,
)

_HELP = {
    Where.FILE: "a rule file holds blocks: `target NAME { … }`",
    Where.BLOCK: "a statement begins with `rewrite` or `test`",
}


def recover(reading: Reading, token: Token) -> None:
    """Report a token that does not fit, and let reading go on behind it or, with the parser changed, at it."""
    if len(reading.diagnostics) >= MOST_MISTAKES:
        _abandon(reading, token)
        return
    trouble = Trouble.at(reading, token)
    if not any(cure(trouble) for cure in _CURES):
        _give_up(trouble)


def _give_up(trouble: Trouble) -> None:
    reading = trouble.reading
    complete = "the statement before it is complete" if trouble.is_surplus else None
    trouble.report_unexpected(complete or _HELP.get(trouble.where))
    # An opening brace goes with its closing one.
    offset = next_statement(reading.text, trouble.start if trouble.token.type == "LBRACE" else trouble.end)
    if trouble.where in {Where.REWRITE, Where.TEST}:
        reading.cut_back()
    skipped = reading.text[trouble.start : offset]
    reading.owed_braces += max(0, skipped.count("{") - skipped.count("}"))
    reading.move_to(offset)


def _abandon(reading: Reading, token: Token) -> None:
    start = token.start_pos or 0
    message = f"the rest of the file is not read: it has more than {MOST_MISTAKES} mistakes"
    reading.report("too-many-mistakes", message, (start, start))
    if reading.where(reading.accepts()) is not Where.BLOCK:
        reading.cut_back()
    if reading.where(reading.accepts()) is Where.BLOCK:
        reading.insert("RBRACE")
    reading.move_to(len(reading.text))
