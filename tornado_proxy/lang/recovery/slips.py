"""Small mistakes within a statement that other languages teach: each is named, and read as what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lark import Token

from tornado_proxy.lang.diagnostic import Diagnostic, did_you_mean
from tornado_proxy.lang.literals import undelimited
from tornado_proxy.lang.reading import Reading, Where
from tornado_proxy.lang.recovery.expectation import CLAUSES, KEYWORDS, shown
from tornado_proxy.lang.recovery.landmarks import next_statement, next_statement_line
from tornado_proxy.lang.recovery.trouble import Trouble

_ARROWS = {*("=>", "=", "==", "-->", "->>", "~>", "→", "⇒", ">", "-", ":", ":=", ",", "|"), *("to", "into", "becomes")}
_QUOTES_HELP = 'a string stands between `"`, or between backticks, where a backslash stands for itself'
_CHUNK = re.compile(r"(?:\{\{[^\n]*?\}\}|(?!->)\S)+")  # what would be a string, with its Jinja or Go actions
_NAME_CHUNK = re.compile(r'[^\s"`{}#;]+')
_VALUE = re.compile(r"[\w\"`]")
_LONGEST_COMMENT = 10_000  # an end that is further away belongs to something else
_CONFLICT = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?=[ \r\n]|\Z)", re.MULTILINE)
_OPEN_ACTION = re.compile(r"\{[{%](?:(?![}%]\}).)*\Z", re.DOTALL)
_TO_ARROW = re.compile(r"[^\n#]*?(?=->)")


def merge_conflict(trouble: Trouble) -> bool:
    """A mark that a version control system left where two edits met."""
    text = trouble.reading.text
    mark = _CONFLICT.match(text, trouble.start)
    if mark is None:
        return False
    message = f"`{mark.group()}` is the mark of a merge conflict"
    trouble.reading.report(
        "syntax-error", message, mark.span(), "keep what is meant of the two sides, without the marks"
    )
    trouble.reading.move_to(_line_end(text, trouble.start))
    return True


def inner_quotes(trouble: Trouble) -> bool:
    """A quote within an action of a quoted template, where it ends the template."""
    reading, last = trouble.reading, trouble.reading.last
    if last is None or last.type != "STRING" or reading.last_end != trouble.start or not _OPEN_ACTION.search(last):
        return False
    if trouble.token.type == "$END" or [token.type for token in reading.begun()[:1]] != ["REWRITE"]:
        return False
    end = reading.last_end
    cure = "put the template between backticks: quotes can stand in it"
    reading.report("syntax-error", 'the string ends at this `"`, within an action', (end - 1, end), cure)
    reading.cut_back()
    reading.move_to(next_statement(reading.text, _line_end(reading.text, end)))
    return True


def runaway_raw(trouble: Trouble) -> bool:
    """A raw string that took statements with it: its closing backtick is missing."""
    reading = trouble.reading
    for token in reading.begun():
        if token.type == "RAW" and _takes_statements(reading.text, token):
            start = token.start_pos or 0
            _report_open_raw(trouble, start)
            reading.cut_back()
            reading.move_to(_line_end(reading.text, start))
            return True
    return False


def _takes_statements(text: str, token: Token) -> bool:
    end = token.end_pos or 0
    line_end = _line_end(text, token.start_pos or 0)
    return line_end < end and next_statement_line(text, line_end, end) < end


def open_raw(trouble: Trouble) -> bool:
    """A raw string that nothing closes: it is taken to end with its line."""
    if trouble.token.type != "OPEN_RAW":
        return False
    _report_open_raw(trouble, trouble.start)
    _end_at(trouble, _line_end(trouble.reading.text, trouble.start))
    return True


def _report_open_raw(trouble: Trouble, start: int) -> None:
    place = (start, _line_end(trouble.reading.text, start))
    message = "the raw string has no closing backtick"
    trouble.reading.report("unterminated-string", message, place, "close it with a backtick")


def open_string(trouble: Trouble) -> bool:
    """A string whose line ends before it does."""
    if trouble.token.type != "OPEN_STRING":
        return False
    place = (trouble.start, trouble.start + len(trouble.token.rstrip()))
    cure = 'a string ends on its line: close it with `"`'
    trouble.reading.report("unterminated-string", "the string has no closing quote", place, cure)
    _end_at(trouble, place[1])
    return True


def _end_at(trouble: Trouble, end: int) -> None:
    """Go on behind a string without an end: it may have taken an arrow or a brace with it."""
    reading = trouble.reading
    if trouble.where in {Where.REWRITE, Where.TEST} and "ARROW" not in {token.type for token in reading.begun()}:
        reading.cut_back()
    elif trouble.takes_text:
        reading.insert("STRING", end)
    if trouble.where is Where.HEADER and "{" in trouble.token:
        reading.insert("LBRACE", end)
    reading.move_to(end)


def swallowed_arrow(trouble: Trouble) -> bool:
    """A string that ends only where the next one should begin, arrow included; what that holds follows at once."""
    last = trouble.reading.last
    adjacent = trouble.reading.last_end == trouble.start and "ARROW" in trouble.accepts
    if last is None or last.type not in {"STRING", "RAW"} or "->" not in last or not adjacent:
        return False
    mark = "backtick" if last.type == "RAW" else "quote"
    kind = "raw string" if last.type == "RAW" else "string"
    message = f"the {kind} has no closing {mark} before `->`"
    cure = f"it runs on to the {mark} that should open the next string"
    reading = trouble.reading
    reading.report("unterminated-string", message, reading.last_place(), cure)
    reading.cut_back()
    reading.move_to(next_statement(reading.text, trouble.end))
    return True


def other_quotes(trouble: Trouble) -> bool:
    """A string between single or typographic quotes: read as a raw one."""
    if trouble.token.type != "QUOTED":
        return False
    kind = "single" if trouble.token[0] == "'" else "typographic"
    trouble.report("syntax-error", f"{kind} quotes enclose no string", _QUOTES_HELP)
    if trouble.takes_text:
        trouble.replace("RAW" if "RAW" in trouble.accepts else "STRING")
    return True


def other_comment(trouble: Trouble) -> bool:
    """A comment as other languages write it."""
    mark = trouble.token[:2]
    if trouble.token.type != "BARE" or mark not in {"//", "/*", "--"} or not trouble.accepts.isdisjoint(_TEXT_OR_ARROW):
        return False
    text = trouble.reading.text
    close = text.find("*/", trouble.start + 2, trouble.start + _LONGEST_COMMENT) if mark == "/*" else -1
    cure = "a comment begins with `#` and runs to the end of its line"
    trouble.reading.report("syntax-error", f"`{mark}` begins no comment", (trouble.start, trouble.start + 2), cure)
    trouble.reading.move_to(close + 2 if close >= 0 else _line_end(text, trouble.start))
    return True


_TEXT_OR_ARROW = {"STRING", "ARROW"}


def semicolon(trouble: Trouble) -> bool:
    """A terminator that no statement needs."""
    if trouble.token.type != "SEMICOLON":
        return False
    trouble.report("syntax-error", "`;` ends no statement", "leave it out: a statement ends where its shape ends")
    return True


def invisible(trouble: Trouble) -> bool:
    """A character that nobody can see, outside of strings."""
    if trouble.token.type != "INVISIBLE":
        return False
    message = f"{shown(trouble.token)} stands outside of strings"
    is_return = trouble.token == "\r"  # noqa: S105 - a line end, not a password
    cure = _LINE_ENDS if is_return else "only spaces, tabs and line ends may stand between words"
    # A file whose lines all end so has one mistake.
    if not (is_return and _is_told(trouble.reading)):
        trouble.report("control-character", message, cure)
    return True


_LINE_ENDS = "a line ends in a line feed: save the file with the line ends of Unix or of Windows"


def in_comments(reading: Reading, strange: Iterable[tuple[int, str]]) -> Iterator[Diagnostic]:
    """What is said of characters in comments that nobody can see, by their offsets; of carriage returns once."""
    told = _is_told(reading)
    for offset, character in strange:
        is_return = character == "\r"
        if not (is_return and told):
            message = f"{shown(character)} stands in a comment"
            span = reading.span(offset, offset + 1)
            yield Diagnostic("control-character", message, span, _LINE_ENDS if is_return else None)
        told = told or is_return


def _is_told(reading: Reading) -> bool:
    return any(each.help == _LINE_ENDS for each in reading.diagnostics)


def misspelt(trouble: Trouble) -> bool:
    """A word close to a keyword that would fit; in the middle of a line a statement's word stands before a string."""
    surplus = trouble.is_surplus and trouble.follows() not in {'"', "`"}
    if trouble.token.type != "NAME" or surplus:
        return False
    keywords = {word: terminal for terminal, word in KEYWORDS.items() if terminal in trouble.accepts}
    meant = did_you_mean(trouble.token, keywords)
    if meant is None:
        return False
    trouble.report_unexpected(f"did you mean `{meant}`?")
    trouble.replace(keywords[meant])
    return True


def instead_of_arrow(trouble: Trouble) -> bool:
    """Something else where the arrow belongs."""
    if "ARROW" not in trouble.accepts or trouble.token not in _ARROWS:
        return False
    trouble.report_unexpected("write `->`")
    trouble.replace("ARROW")
    return True


def missing_arrow(trouble: Trouble) -> bool:
    """No arrow before what can only stand behind one."""
    words = {"unchanged", "error"} if trouble.where is Where.TEST else {"jinja", "go"}
    string = trouble.token.type in {"STRING", "RAW"}
    if "ARROW" not in trouble.accepts or not (string or trouble.token in words or _is_bare(trouble)):
        return False
    trouble.report_unexpected("write `->` before it")
    if trouble.token.type == "NAME" and trouble.follows(2) == "->":
        trouble.reading.insert("ARROW")
        trouble.replace(trouble.token.upper())
        trouble.reading.move_to(trouble.reading.text.index("->", trouble.end) + 2)
    else:
        trouble.insert("ARROW")
    return True


def _is_bare(trouble: Trouble) -> bool:
    return trouble.token.type == "BARE" and trouble.has_letters


def second_arrow(trouble: Trouble) -> bool:
    """An arrow behind an arrow."""
    last = trouble.reading.last
    if trouble.token.type != "ARROW" or last is None or last.type != "ARROW":
        return False
    trouble.report_unexpected("one `->` is enough")
    return True


def missing_text(trouble: Trouble) -> bool:
    """An arrow without the string that belongs before it."""
    if trouble.token.type != "ARROW" or not trouble.takes_text:
        return False
    last = trouble.reading.last
    begun = trouble.reading.begun()
    named = trouble.where is Where.REWRITE and last is not None and last.type == "NAME"
    cure = f"`{last}` is read as the rewrite's name" if named else None
    if begun[-2:-1] and begun[-2].type == "HEADER":
        cure = _header_in_two(begun[-1]) if ":" in begun[-1] else None
    trouble.report_unexpected(cure)
    trouble.insert("STRING")
    return True


def _header_in_two(token: Token) -> str:
    name, _, value = token.strip('"').partition(":")
    return f'a header\'s name and value are two strings: `header "{name.strip()}" "{value.strip()}"`'


def torn_name(trouble: Trouble) -> bool:
    """A value that has characters which no name has, such as an e-mail address without quotes."""
    last = trouble.reading.last
    adjacent = last is not None and last.type == "NAME" and trouble.reading.last_end == trouble.start
    if not adjacent or trouble.token.type != "BARE" or not trouble.has_letters:
        return False
    chunk = _NAME_CHUNK.match(trouble.reading.text, trouble.reading.last_place()[0])
    assert chunk is not None  # a name is part of it
    cure = f'put it between quotes: `"{chunk.group()}"`'
    trouble.reading.report("syntax-error", f"{shown(chunk.group())} is no name", chunk.span(), cure)
    trouble.reading.extend_last(chunk.end())
    return True


def surplus_word(trouble: Trouble) -> bool:
    """A word before a string that needs none, such as an unknown dialect; a mark before a value."""
    if not trouble.takes_text:
        return False
    word = trouble.token.type == "NAME" and trouble.follows() in {'"', "`"}
    mark = trouble.token.type == "BARE" and not trouble.has_letters and _VALUE.match(trouble.follows())
    if not (word or mark):
        return False
    before = trouble.reading.begun()[-1]
    cure = _SURPLUS_HELP.get((trouble.where, before.type))
    if word and trouble.where is Where.REWRITE and before.type == "NAME":
        cure = f'a name of several words stands between quotes: `"{before} {trouble.token}"`'
    elif before.type == "ARROW" and trouble.token.casefold() in _DIALECTS:
        cure = f"did you mean `{_DIALECTS[trouble.token.casefold()]}`?"
    trouble.report_unexpected(cure)
    return True


_DIALECTS = {"golang": "go", "gotemplate": "go", "jinja2": "jinja", "j2": "jinja"}


_SURPLUS_HELP = {
    (Where.REWRITE, "ARROW"): "a template is plain, or begins with `jinja` or `go`",
    (Where.TEST, "TEST"): "the key comes first, then clauses such as `method GET`",
}


def bare_text(trouble: Trouble) -> bool:
    """A pattern, a template or a key without quotes."""
    if not trouble.takes_text or trouble.token.type not in {"NAME", "BARE", "LBRACE"}:
        return False
    pattern = _CHUNK if "RAW" in trouble.accepts else _NAME_CHUNK
    chunk = pattern.match(trouble.reading.text, trouble.start)
    assert chunk is not None  # the token is part of it
    trouble.report_unexpected(_quoting(trouble, chunk), end=chunk.end())
    trouble.reading.insert("STRING", chunk.end())
    trouble.reading.move_to(chunk.end())
    return True


def _quoting(trouble: Trouble, chunk: re.Match[str]) -> str:
    """How to write a text as a string: a pattern between backticks, all else between quotes if it can be."""
    text = chunk.group().strip("`'\"")
    follows = trouble.reading.text[chunk.end() : chunk.end() + 2].lstrip()
    keyword = trouble.reading.begun()[-1].type
    pattern = trouble.where is Where.REWRITE and keyword in {"REWRITE", "NAME"} and follows not in {'"', "`"}
    if "`" in text or not text.isprintable():
        return "put it between quotes"
    if pattern or "\\" in text or '"' in text:
        return f"put it between backticks: `{(pattern and undelimited(text)) or text}`"
    return f'put it between quotes: `"{text}"`'


def unknown_clause(trouble: Trouble) -> bool:
    """A word where a test may have a clause, and nothing close to one."""
    if trouble.where is not Where.TEST or "AS" not in trouble.accepts or trouble.token.type != "NAME":
        return False
    trouble.report_unexpected(f"a test's clauses are {', '.join(f'`{word}`' for word in CLAUSES)}")
    to_arrow = _TO_ARROW.match(trouble.reading.text, trouble.end)
    if to_arrow:
        trouble.reading.move_to(to_arrow.end())
    else:
        trouble.reading.cut_back()
        trouble.reading.move_to(next_statement(trouble.reading.text, trouble.end))
    return True


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end
