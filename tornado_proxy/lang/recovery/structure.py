"""Mistakes in how blocks and statements stand: braces that are missing or too many, statements that break off."""

from __future__ import annotations

import re

from tornado_proxy.lang.diagnostic import Note, did_you_mean
from tornado_proxy.lang.reading import Where
from tornado_proxy.lang.recovery.expectation import CLAUSES, found
from tornado_proxy.lang.recovery.landmarks import STATEMENT_WORDS, next_statement
from tornado_proxy.lang.recovery.trouble import Trouble

_BLOCK_OPENS = re.compile(r"[\w-]+[ \t]+[^\s{}]+[ \t]*\{")
_TO_BRACE = re.compile(r"[^\n#]*?\{")
_REST_OF_LINE = re.compile(r"[^\n#]*")


def unclosed_block(trouble: Trouble) -> bool:
    """A block's end is missing before the next block or the end of the file."""
    at_end = trouble.token.type == "$END"
    if trouble.where is not Where.BLOCK or not (at_end or _opens_block(trouble)):
        return False
    brace = trouble.reading.opening_brace()
    if brace is not None:
        note = Note("the block opens here", trouble.reading.span(brace.start_pos or 0, brace.end_pos or 0))
        message = f"expected `}}`, found {found(trouble.token)}"
        trouble.reading.report("unclosed-block", message, trouble.place, None, note)
        trouble.reading.owed_braces += not at_end
    trouble.insert("RBRACE")
    return True


def _opens_block(trouble: Trouble) -> bool:
    if trouble.token == "target":  # noqa: S105 - a word of the language
        return True
    opens = _BLOCK_OPENS.match(trouble.reading.text, trouble.start) is not None
    return opens and did_you_mean(trouble.token, STATEMENT_WORDS) == "target"


def stray_brace(trouble: Trouble) -> bool:
    """A closing brace without a block."""
    if trouble.where is not Where.FILE or trouble.token.type != "RBRACE":
        return False
    if trouble.reading.owed_braces:
        trouble.reading.owed_braces -= 1
    else:
        trouble.report("syntax-error", "`}` closes no block", "leave it out, or look for a brace too many above")
    return True


def missing_target(trouble: Trouble) -> bool:
    """A block without the word that begins it."""
    named = trouble.token.type in {"NAME", "STRING"} and trouble.follows() == "{"
    if trouble.where is not Where.FILE or not named:
        return False
    trouble.report_unexpected("a block begins with the word `target`")
    trouble.insert("TARGET")
    return True


def outside_block(trouble: Trouble) -> bool:
    """A statement outside of a block: it is read as if it stood in one."""
    if trouble.where is not Where.FILE or trouble.token.type != "NAME":
        return False
    if did_you_mean(trouble.token, STATEMENT_WORDS) not in {"rewrite", "test"}:
        return False
    reading = trouble.reading
    notes = [Note("the last block ends here", reading.span(*reading.last_place()))] if reading.last else []
    message = f"`{trouble.token}` stands outside of a block"
    trouble.report("outside-block", message, "statements stand within `target NAME { … }`", *notes)
    trouble.insert("TARGET", "NAME", "LBRACE")
    return True


def first_line(trouble: Trouble) -> bool:
    """A block's first line without a name or a brace, or with something more."""
    bare_name = trouble.takes_text and trouble.token.type == "BARE" and trouble.has_letters
    if trouble.where is not Where.HEADER or bare_name:
        return False
    last = trouble.reading.last
    cure = "a block begins with `target NAME {`"
    if trouble.token.type == "NAME" and last is not None and last.type == "NAME" and trouble.follows() == "{":
        cure = f'a name of several words stands between quotes: `"{last} {trouble.token}"`'
    trouble.report_unexpected(cure)
    missing = [terminal for terminal, fits in (("NAME", trouble.takes_text), ("LBRACE", True)) if fits]
    if trouble.token.type == "LBRACE":
        trouble.insert("NAME")
    elif trouble.breaks_off or trouble.token.type == "RBRACE" or trouble.token in STATEMENT_WORDS:
        trouble.insert(*missing)
    else:
        _pass_first_line(trouble, missing)
    return True


def _pass_first_line(trouble: Trouble, missing: list[str]) -> None:
    """Go on behind the line's brace, or behind the line."""
    reading = trouble.reading
    for terminal in missing:
        reading.insert(terminal)
    rest = _TO_BRACE.match(reading.text, trouble.start) or _REST_OF_LINE.match(reading.text, trouble.start)
    reading.move_to(max(trouble.end, rest.end() if rest else 0))


def word_as_name(trouble: Trouble) -> bool:
    """A statement that ends too early, so that the word that begins the next one was taken for a name."""
    reading, last = trouble.reading, trouble.reading.last
    if last is None or last.type != "NAME" or last not in STATEMENT_WORDS:
        return False
    if not any(each is last for each in reading.begun()):
        return False  # what it belonged to has been left out
    start = last.start_pos or 0
    if reading.text[reading.text.rfind("\n", 0, start) + 1 : start].strip(" \t"):
        return False
    reading.give_back()
    before = Trouble.at(reading, last)
    return broken_off(before) or first_line(before)


def broken_off(trouble: Trouble) -> bool:
    """A statement that ends too early."""
    within = trouble.where in {Where.REWRITE, Where.TEST}
    if not within or not (trouble.breaks_off or trouble.token.type == "RBRACE"):
        return False
    *_, last = begun = trouble.reading.begun()
    named = len(begun) == 3 and begun[1].type == "STRING" and last.type in {"STRING", "RAW"}
    trouble.report_unexpected("a string before another one is the rewrite's name" if named else None)
    trouble.reading.cut_back()
    trouble.reading.move_to(trouble.start)
    return True


def late_clause(trouble: Trouble) -> bool:
    """A test's clause behind its end."""
    if trouble.where is not Where.BLOCK or trouble.token not in CLAUSES:
        return False
    trouble.report_unexpected("the clauses of a test stand before its `->`")
    trouble.reading.move_to(next_statement(trouble.reading.text, trouble.end))
    return True


def missing_rewrite(trouble: Trouble) -> bool:
    """A pattern that stands where a statement begins."""
    text = trouble.token.type in {"STRING", "RAW"}
    if trouble.where is not Where.BLOCK or not text or not trouble.first_on_line:
        return False
    trouble.report_unexpected("a rewrite begins with the word `rewrite`")
    trouble.insert("REWRITE")
    return True
