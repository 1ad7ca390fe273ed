"""Mistakes within a statement that other languages teach: each is reported, and read as what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lark import Token

from tornado_proxy.lang.diagnostic import Diagnostic, did_you_mean
from tornado_proxy.lang.literals import undelimited
from tornado_proxy.lang.reading import Reading, Where
from tornado_proxy.lang.recovery.sync import next_statement, next_statement_line
from tornado_proxy.lang.recovery.unexpected import CLAUSES, KEYWORDS, Unexpected, shown

_ARROWS = {*("=>", "=", "==", "-->", "->>", "~>", "→", "⇒", ">", "-", ":", ":=", ",", "|"), *("to", "into", "becomes")}
_QUOTES_HELP = 'write the string between `"`, or between backticks, where a backslash is literal'
_CHUNK = re.compile(r"(?:\{\{[^\n]*?\}\}|(?!->)\S)+")  # what would be a string, with its Jinja or Go actions
_NAME_CHUNK = re.compile(r'[^\s"`{}#;]+')
_VALUE = re.compile(r"[\w\"`]")
_LONGEST_COMMENT = 10_000  # an end that is further away belongs to something else
_CONFLICT = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?=[ \r\n]|\Z)", re.MULTILINE)
_OPEN_ACTION = re.compile(r"\{[{%](?:(?![}%]\}).)*\Z", re.DOTALL)
_TO_ARROW = re.compile(r"[^\n#]*?(?=->)")


def merge_conflict(unexpected: Unexpected) -> bool:
    """A mark that a version control system left where two edits met."""
    text = unexpected.reading.text
    mark = _CONFLICT.match(text, unexpected.start)
    if mark is None:
        return False
    message = f"merge conflict marker `{mark.group()}`"
    unexpected.reading.report("syntax-error", message, mark.span(), "resolve the conflict and remove its markers")
    unexpected.reading.move_to(_line_end(text, unexpected.start))
    return True


def inner_quotes(unexpected: Unexpected) -> bool:
    """A quote within an action of a quoted template, where it ends the template."""
    reading, last = unexpected.reading, unexpected.reading.last
    if last is None or last.type != "STRING" or reading.last_end != unexpected.start or not _OPEN_ACTION.search(last):
        return False
    if unexpected.token.type == "$END" or [token.type for token in reading.begun()[:1]] != ["REWRITE"]:
        return False
    end = reading.last_end
    advice = "put the template between backticks, where quotes are allowed"
    reading.report("syntax-error", 'the string ends at this `"`, within an action', (end - 1, end), advice)
    reading.cut_back()
    reading.move_to(next_statement(reading.text, _line_end(reading.text, end)))
    return True


def runaway_raw(unexpected: Unexpected) -> bool:
    """A raw string that took statements with it: its closing backtick is missing."""
    reading = unexpected.reading
    for token in reading.begun():
        if token.type == "RAW" and _takes_statements(reading.text, token):
            start = token.start_pos or 0
            _report_open_raw(unexpected, start)
            reading.cut_back()
            reading.move_to(_line_end(reading.text, start))
            return True
    return False


def _takes_statements(text: str, token: Token) -> bool:
    end = token.end_pos or 0
    line_end = _line_end(text, token.start_pos or 0)
    return line_end < end and next_statement_line(text, line_end, end) < end


def open_raw(unexpected: Unexpected) -> bool:
    """A raw string that nothing closes: it is taken to end with its line."""
    if unexpected.token.type != "OPEN_RAW":
        return False
    _report_open_raw(unexpected, unexpected.start)
    _end_at(unexpected, _line_end(unexpected.reading.text, unexpected.start))
    return True


def _report_open_raw(unexpected: Unexpected, start: int) -> None:
    place = (start, _line_end(unexpected.reading.text, start))
    message = "unterminated raw string"
    unexpected.reading.report("unterminated-string", message, place, "close it with a backtick")


def open_string(unexpected: Unexpected) -> bool:
    """A string whose line ends before it does."""
    if unexpected.token.type != "OPEN_STRING":
        return False
    place = (unexpected.start, unexpected.start + len(unexpected.token.rstrip()))
    advice = 'a string ends on its line: close it with `"`'
    unexpected.reading.report("unterminated-string", "unterminated string", place, advice)
    _end_at(unexpected, place[1])
    return True


def _end_at(unexpected: Unexpected, end: int) -> None:
    """Go on behind a string without an end: it may have taken an arrow or a brace with it."""
    reading = unexpected.reading
    if unexpected.where in {Where.REWRITE, Where.TEST} and "ARROW" not in {token.type for token in reading.begun()}:
        reading.cut_back()
    elif unexpected.takes_text:
        reading.insert("STRING", end)
    if unexpected.where is Where.HEADER and "{" in unexpected.token:
        reading.insert("LBRACE", end)
    reading.move_to(end)


def swallowed_arrow(unexpected: Unexpected) -> bool:
    """A string without an end, which runs over the arrow to the start of the next one."""
    last = unexpected.reading.last
    adjacent = unexpected.reading.last_end == unexpected.start and "ARROW" in unexpected.accepts
    if last is None or last.type not in {"STRING", "RAW"} or "->" not in last or not adjacent:
        return False
    mark = "backtick" if last.type == "RAW" else "quote"
    kind = "raw string" if last.type == "RAW" else "string"
    message = f"unterminated {kind} before `->`"
    advice = f"it runs on to the {mark} that should open the next string"
    reading = unexpected.reading
    reading.report("unterminated-string", message, reading.last_place(), advice)
    reading.cut_back()
    reading.move_to(next_statement(reading.text, unexpected.end))
    return True


def other_quotes(unexpected: Unexpected) -> bool:
    """A string between single or typographic quotes: read as a raw one."""
    if unexpected.token.type != "QUOTED":
        return False
    kind = "single" if unexpected.token[0] == "'" else "typographic"
    unexpected.report("syntax-error", f"{kind} quotes cannot delimit a string", _QUOTES_HELP)
    if unexpected.takes_text:
        unexpected.replace("RAW" if "RAW" in unexpected.accepts else "STRING")
    return True


def other_comment(unexpected: Unexpected) -> bool:
    """A comment as other languages write it."""
    mark = unexpected.token[:2]
    if (
        unexpected.token.type != "BARE"
        or mark not in {"//", "/*", "--"}
        or not unexpected.accepts.isdisjoint(_TEXT_OR_ARROW)
    ):
        return False
    text = unexpected.reading.text
    close = text.find("*/", unexpected.start + 2, unexpected.start + _LONGEST_COMMENT) if mark == "/*" else -1
    advice = "a comment begins with `#` and runs to the end of its line"
    unexpected.reading.report(
        "syntax-error", f"`{mark}` does not begin a comment", (unexpected.start, unexpected.start + 2), advice
    )
    unexpected.reading.move_to(close + 2 if close >= 0 else _line_end(text, unexpected.start))
    return True


_TEXT_OR_ARROW = {"STRING", "ARROW"}


def semicolon(unexpected: Unexpected) -> bool:
    """A terminator that no statement needs."""
    if unexpected.token.type != "SEMICOLON":
        return False
    unexpected.report("syntax-error", "unexpected `;`", "remove it: statements need no terminator")
    return True


def invisible(unexpected: Unexpected) -> bool:
    """An invisible character outside of strings."""
    if unexpected.token.type != "INVISIBLE":
        return False
    message = f"invisible character {shown(unexpected.token)}"
    is_return = unexpected.token == "\r"  # noqa: S105 - a line end, not a password
    advice = _LINE_ENDS if is_return else "use only spaces, tabs and line ends between words"
    # A file whose lines all end so has one mistake.
    if not (is_return and _is_told(unexpected.reading)):
        unexpected.report("control-character", message, advice)
    return True


_LINE_ENDS = "save the file with Unix or Windows line ends"


def in_comments(reading: Reading, strange: Iterable[tuple[int, str]]) -> Iterator[Diagnostic]:
    """Diagnostics of invisible characters in comments, by their offsets; one for all carriage returns."""
    told = _is_told(reading)
    for offset, character in strange:
        is_return = character == "\r"
        if not (is_return and told):
            message = f"invisible character {shown(character)} in a comment"
            span = reading.span(offset, offset + 1)
            yield Diagnostic("control-character", message, span, _LINE_ENDS if is_return else None)
        told = told or is_return


def _is_told(reading: Reading) -> bool:
    return any(each.help == _LINE_ENDS for each in reading.diagnostics)


def misspelt(unexpected: Unexpected) -> bool:
    """A word close to a keyword that would fit; in the middle of a line a statement's word stands before a string."""
    surplus = unexpected.is_surplus and unexpected.follows() not in {'"', "`"}
    if unexpected.token.type != "NAME" or surplus:
        return False
    keywords = {word: terminal for terminal, word in KEYWORDS.items() if terminal in unexpected.accepts}
    meant = did_you_mean(unexpected.token, keywords)
    if meant is None:
        return False
    unexpected.report_unexpected(f"did you mean `{meant}`?")
    unexpected.replace(keywords[meant])
    return True


def instead_of_arrow(unexpected: Unexpected) -> bool:
    """Something else where the arrow belongs."""
    if "ARROW" not in unexpected.accepts or unexpected.token not in _ARROWS:
        return False
    unexpected.report_unexpected("write `->`")
    unexpected.replace("ARROW")
    return True


def missing_arrow(unexpected: Unexpected) -> bool:
    """No arrow before what can only stand behind one."""
    words = {"unchanged", "error"} if unexpected.where is Where.TEST else {"jinja", "go"}
    string = unexpected.token.type in {"STRING", "RAW"}
    if "ARROW" not in unexpected.accepts or not (string or unexpected.token in words or _is_bare(unexpected)):
        return False
    unexpected.report_unexpected("write `->` before it")
    if unexpected.token.type == "NAME" and unexpected.follows(2) == "->":
        unexpected.reading.insert("ARROW")
        unexpected.replace(unexpected.token.upper())
        unexpected.reading.move_to(unexpected.reading.text.index("->", unexpected.end) + 2)
    else:
        unexpected.insert("ARROW")
    return True


def _is_bare(unexpected: Unexpected) -> bool:
    return unexpected.token.type == "BARE" and unexpected.has_letters


def second_arrow(unexpected: Unexpected) -> bool:
    """An arrow behind an arrow."""
    last = unexpected.reading.last
    if unexpected.token.type != "ARROW" or last is None or last.type != "ARROW":
        return False
    unexpected.report_unexpected("remove one `->`")
    return True


def missing_text(unexpected: Unexpected) -> bool:
    """An arrow without the string that belongs before it."""
    if unexpected.token.type != "ARROW" or not unexpected.takes_text:
        return False
    last = unexpected.reading.last
    begun = unexpected.reading.begun()
    named = unexpected.where is Where.REWRITE and last is not None and last.type == "NAME"
    advice = f"`{last}` is read as the rewrite's name" if named else None
    if begun[-2:-1] and begun[-2].type == "HEADER":
        advice = _header_in_two(begun[-1]) if ":" in begun[-1] else None
    unexpected.report_unexpected(advice)
    unexpected.insert("STRING")
    return True


def _header_in_two(token: Token) -> str:
    name, _, value = token.strip('"').partition(":")
    return f'a header\'s name and value are two strings: `header "{name.strip()}" "{value.strip()}"`'


def torn_name(unexpected: Unexpected) -> bool:
    """A value that has characters which no name has, such as an e-mail address without quotes."""
    last = unexpected.reading.last
    adjacent = last is not None and last.type == "NAME" and unexpected.reading.last_end == unexpected.start
    if not adjacent or unexpected.token.type != "BARE" or not unexpected.has_letters:
        return False
    chunk = _NAME_CHUNK.match(unexpected.reading.text, unexpected.reading.last_place()[0])
    assert chunk is not None  # a name is part of it
    advice = f'put it between quotes: `"{chunk.group()}"`'
    unexpected.reading.report("syntax-error", f"invalid name {shown(chunk.group())}", chunk.span(), advice)
    unexpected.reading.extend_last(chunk.end())
    return True


def surplus_word(unexpected: Unexpected) -> bool:
    """A word before a string that needs none, such as an unknown dialect; a mark before a value."""
    if not unexpected.takes_text:
        return False
    word = unexpected.token.type == "NAME" and unexpected.follows() in {'"', "`"}
    mark = unexpected.token.type == "BARE" and not unexpected.has_letters and _VALUE.match(unexpected.follows())
    if not (word or mark):
        return False
    before = unexpected.reading.begun()[-1]
    advice = _SURPLUS_HELP.get((unexpected.where, before.type))
    if word and unexpected.where is Where.REWRITE and before.type == "NAME":
        advice = f'a name of several words stands between quotes: `"{before} {unexpected.token}"`'
    elif before.type == "ARROW" and unexpected.token.casefold() in _DIALECTS:
        advice = f"did you mean `{_DIALECTS[unexpected.token.casefold()]}`?"
    unexpected.report_unexpected(advice)
    return True


_DIALECTS = {"golang": "go", "gotemplate": "go", "jinja2": "jinja", "j2": "jinja"}


_SURPLUS_HELP = {
    (Where.REWRITE, "ARROW"): "a template is plain, or begins with `jinja` or `go`",
    (Where.TEST, "TEST"): "the key comes first, then clauses such as `method GET`",
}


def bare_text(unexpected: Unexpected) -> bool:
    """A pattern, a template or a key without quotes."""
    if not unexpected.takes_text or unexpected.token.type not in {"NAME", "BARE", "LBRACE"}:
        return False
    pattern = _CHUNK if "RAW" in unexpected.accepts else _NAME_CHUNK
    chunk = pattern.match(unexpected.reading.text, unexpected.start)
    assert chunk is not None  # the token is part of it
    unexpected.report_unexpected(_quoting(unexpected, chunk), end=chunk.end())
    unexpected.reading.insert("STRING", chunk.end())
    unexpected.reading.move_to(chunk.end())
    return True


def _quoting(unexpected: Unexpected, chunk: re.Match[str]) -> str:
    """How to write a text as a string: a pattern between backticks, all else between quotes if it can be."""
    text = chunk.group().strip("`'\"")
    follows = unexpected.reading.text[chunk.end() : chunk.end() + 2].lstrip()
    keyword = unexpected.reading.begun()[-1].type
    pattern = unexpected.where is Where.REWRITE and keyword in {"REWRITE", "NAME"} and follows not in {'"', "`"}
    if "`" in text or not text.isprintable():
        return "put it between quotes"
    if pattern or "\\" in text or '"' in text:
        return f"put it between backticks: `{(pattern and undelimited(text)) or text}`"
    return f'put it between quotes: `"{text}"`'


def unknown_clause(unexpected: Unexpected) -> bool:
    """A word where a test may have a clause, and nothing close to one."""
    if unexpected.where is not Where.TEST or "AS" not in unexpected.accepts or unexpected.token.type != "NAME":
        return False
    unexpected.report_unexpected(f"a test's clauses are {', '.join(f'`{word}`' for word in CLAUSES)}")
    to_arrow = _TO_ARROW.match(unexpected.reading.text, unexpected.end)
    if to_arrow:
        unexpected.reading.move_to(to_arrow.end())
    else:
        unexpected.reading.cut_back()
        unexpected.reading.move_to(next_statement(unexpected.reading.text, unexpected.end))
    return True


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end
