"""Mistakes in how blocks and statements stand: braces that are missing or too many, statements that break off."""

from __future__ import annotations

import re

from tornado_proxy.lang.diagnostic import Note, did_you_mean
from tornado_proxy.lang.reading import Where
from tornado_proxy.lang.recovery.sync import STATEMENT_WORDS, next_statement
from tornado_proxy.lang.recovery.unexpected import CLAUSES, Unexpected, found

_BLOCK_OPENS = re.compile(r"[\w-]+[ \t]+[^\s{}]+[ \t]*\{")
_TO_BRACE = re.compile(r"[^\n#]*?\{")
_REST_OF_LINE = re.compile(r"[^\n#]*")


def unclosed_block(unexpected: Unexpected) -> bool:
    """A block's end is missing before the next block or the end of the file."""
    at_end = unexpected.token.type == "$END"
    if unexpected.where is not Where.BLOCK or not (at_end or _opens_block(unexpected)):
        return False
    brace = unexpected.reading.opening_brace()
    if brace is not None:
        note = Note("the block opens here", unexpected.reading.span(brace.start_pos or 0, brace.end_pos or 0))
        message = f"expected `}}`, found {found(unexpected.token)}"
        unexpected.reading.report("unclosed-block", message, unexpected.place, None, note)
        unexpected.reading.owed_braces += not at_end
    unexpected.insert("RBRACE")
    return True


def _opens_block(unexpected: Unexpected) -> bool:
    if unexpected.token == "target":  # noqa: S105 - a word of the language
        return True
    opens = _BLOCK_OPENS.match(unexpected.reading.text, unexpected.start) is not None
    return opens and did_you_mean(unexpected.token, STATEMENT_WORDS) == "target"


def stray_brace(unexpected: Unexpected) -> bool:
    """A closing brace without a block."""
    if unexpected.where is not Where.FILE or unexpected.token.type != "RBRACE":
        return False
    if unexpected.reading.owed_braces:
        unexpected.reading.owed_braces -= 1
    else:
        unexpected.report("syntax-error", "unmatched `}`", "remove it, or look for an extra brace above")
    return True


def missing_target(unexpected: Unexpected) -> bool:
    """A block without the word that begins it."""
    named = unexpected.token.type in {"NAME", "STRING"} and unexpected.follows() == "{"
    if unexpected.where is not Where.FILE or not named:
        return False
    unexpected.report_unexpected("a block begins with the word `target`")
    unexpected.insert("TARGET")
    return True


def outside_block(unexpected: Unexpected) -> bool:
    """A statement outside of a block: it is read as if it stood in one."""
    if unexpected.where is not Where.FILE or unexpected.token.type != "NAME":
        return False
    if did_you_mean(unexpected.token, STATEMENT_WORDS) not in {"rewrite", "test"}:
        return False
    reading = unexpected.reading
    notes = [Note("the last block ends here", reading.span(*reading.last_place()))] if reading.last else []
    message = f"`{unexpected.token}` outside of a block"
    unexpected.report("outside-block", message, "put statements inside `target NAME { … }`", *notes)
    unexpected.insert("TARGET", "NAME", "LBRACE")
    return True


def first_line(unexpected: Unexpected) -> bool:
    """A block's first line without a name or a brace, or with something more."""
    bare_name = unexpected.takes_text and unexpected.token.type == "BARE" and unexpected.has_letters
    if unexpected.where is not Where.HEADER or bare_name:
        return False
    last = unexpected.reading.last
    advice = "a block begins with `target NAME {`"
    if unexpected.token.type == "NAME" and last is not None and last.type == "NAME" and unexpected.follows() == "{":
        advice = f'a name of several words stands between quotes: `"{last} {unexpected.token}"`'
    unexpected.report_unexpected(advice)
    missing = [terminal for terminal, fits in (("NAME", unexpected.takes_text), ("LBRACE", True)) if fits]
    if unexpected.token.type == "LBRACE":
        unexpected.insert("NAME")
    elif unexpected.breaks_off or unexpected.token.type == "RBRACE" or unexpected.token in STATEMENT_WORDS:
        unexpected.insert(*missing)
    else:
        _pass_first_line(unexpected, missing)
    return True


def _pass_first_line(unexpected: Unexpected, missing: list[str]) -> None:
    """Go on behind the line's brace, or behind the line."""
    reading = unexpected.reading
    for terminal in missing:
        reading.insert(terminal)
    rest = _TO_BRACE.match(reading.text, unexpected.start) or _REST_OF_LINE.match(reading.text, unexpected.start)
    reading.move_to(max(unexpected.end, rest.end() if rest else 0))


def word_as_name(unexpected: Unexpected) -> bool:
    """A statement that ends too early, so that the word that begins the next one was taken for a name."""
    reading, last = unexpected.reading, unexpected.reading.last
    if last is None or last.type != "NAME" or last not in STATEMENT_WORDS:
        return False
    if not any(each is last for each in reading.begun()):
        return False  # what it belonged to has been left out
    start = last.start_pos or 0
    if reading.text[reading.text.rfind("\n", 0, start) + 1 : start].strip(" \t"):
        return False
    reading.give_back()
    before = Unexpected.at(reading, last)
    return broken_off(before) or first_line(before)


def broken_off(unexpected: Unexpected) -> bool:
    """A statement that ends too early."""
    within = unexpected.where in {Where.REWRITE, Where.TEST}
    if not within or not (unexpected.breaks_off or unexpected.token.type == "RBRACE"):
        return False
    *_, last = begun = unexpected.reading.begun()
    named = len(begun) == 3 and begun[1].type == "STRING" and last.type in {"STRING", "RAW"}
    unexpected.report_unexpected("a string before another one is the rewrite's name" if named else None)
    unexpected.reading.cut_back()
    unexpected.reading.move_to(unexpected.start)
    return True


def late_clause(unexpected: Unexpected) -> bool:
    """A test's clause behind its end."""
    if unexpected.where is not Where.BLOCK or unexpected.token not in CLAUSES:
        return False
    unexpected.report_unexpected("the clauses of a test stand before its `->`")
    unexpected.reading.move_to(next_statement(unexpected.reading.text, unexpected.end))
    return True


def missing_rewrite(unexpected: Unexpected) -> bool:
    """A pattern that stands where a statement begins."""
    text = unexpected.token.type in {"STRING", "RAW"}
    if unexpected.where is not Where.BLOCK or not text or not unexpected.first_on_line:
        return False
    unexpected.report_unexpected("a rewrite begins with the word `rewrite`")
    unexpected.insert("REWRITE")
    return True
