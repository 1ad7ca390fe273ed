"""How reading goes on after a mistake, so that one run reports every mistake of a file and invents none.

A *strategy* recognises one kind of mistake, reports it, and brings parser and lexer to where reading can go on. Where
no strategy applies, the statement is left out and reading goes on at the next one.
"""

from __future__ import annotations

import re

from lark import Token

from tornado_proxy.lang.diagnostic import Note, did_you_mean
from tornado_proxy.lang.foreign import foreign_line, passed_over
from tornado_proxy.lang.literals import undelimited
from tornado_proxy.lang.reading import Reading, Where
from tornado_proxy.lang.unexpected import (
    CLAUSES,
    IN_STATEMENT,
    KEYWORDS,
    STATEMENT_WORDS,
    STRINGS,
    Unexpected,
    found,
    line_end,
    line_start,
    next_statement,
    shown,
)

# A file with more mistakes is not a rule file. Each step reports or moves on, so the limit also bounds the time.
MOST_MISTAKES = 1000


def recover(reading: Reading, token: Token) -> None:
    """Reports a token that does not fit, and lets reading go on behind it or, with the parser changed, at it."""
    if len(reading.diagnostics) >= MOST_MISTAKES:
        _abandon(reading, token)
        return
    unexpected = Unexpected.at(reading, token)
    if not any(strategy(unexpected) for strategy in _STRATEGIES):
        _resynchronise(unexpected)


def _abandon(reading: Reading, token: Token) -> None:
    start = token.start_pos or 0
    message = f"more than {MOST_MISTAKES} mistakes: the rest of the file is not read"
    reading.report("too-many-mistakes", message, (start, start))
    if reading.where(reading.accepts()) is not Where.BLOCK:
        reading.cut_back()
    if reading.where(reading.accepts()) is Where.BLOCK:
        reading.insert("RBRACE")
    reading.move_to(len(reading.text))


def _invisible(unexpected: Unexpected) -> bool:
    """An invisible character outside of strings; carriage returns that end all lines are one mistake."""
    if unexpected.token.type != "INVISIBLE":
        return False
    is_return = unexpected.token == "\r"  # noqa: S105 - a line end, not a password
    advice = "save the file with LF or CR LF line ends" if is_return else "use only spaces, tabs and line ends"
    if not (is_return and any(each.help == advice for each in unexpected.reading.diagnostics)):
        message = f"invisible character {shown(unexpected.token)}"
        unexpected.reading.report("control-character", message, (unexpected.start, unexpected.end), advice)
    return True


def _unterminated(unexpected: Unexpected) -> bool:
    """A string without its end: it is open at the end of its line, or runs on to the start of another one."""
    reading, opened = unexpected.reading, unexpected.token
    if opened.type not in {"OPEN_STRING", "OPEN_RAW"}:
        running_on = [token for token in reading.begun() if token.type in STRINGS and _runs_on(unexpected, token)]
        if not running_on:
            return False
        opened = running_on[0]
        reading.cut_back()
    start = opened.start_pos or 0
    end = min(line_end(reading.text, start), start + len(opened.rstrip()))
    raw = opened.type in {"RAW", "OPEN_RAW"}
    message = "unterminated raw string" if raw else "unterminated string"
    advice = "close it with a backtick" if raw else 'a string ends on its line: close it with `"`'
    reading.report("unterminated-string", message, (start, end), advice)
    if opened is unexpected.token and unexpected.where in IN_STATEMENT:
        reading.cut_back()
    if unexpected.where is Where.HEADER:
        _complete_header(unexpected, brace="{" in opened)
    reading.move_to(line_end(reading.text, start))
    return True


def _runs_on(unexpected: Unexpected, string: Token) -> bool:
    """Whether a string holds statements, or an arrow with a token right behind it where the arrow should stand."""
    text, start, end = unexpected.reading.text, string.start_pos or 0, string.end_pos or 0
    if "\n" in string and next_statement(text, line_end(text, start)) < end:
        return True
    return "->" in string and end == unexpected.start and "ARROW" in unexpected.accepts


_OPEN_ACTION = re.compile(r"\{[{%](?:(?![}%]\}).)*\Z", re.DOTALL)


def _inner_quote(unexpected: Unexpected) -> bool:
    """A quote within an action of a quoted template, where it ends the template."""
    reading, last = unexpected.reading, unexpected.reading.last
    if last is None or last.type != "STRING" or reading.last_end != unexpected.start or not _OPEN_ACTION.search(last):
        return False
    if unexpected.token.type == "$END" or [token.type for token in reading.begun()[:1]] != ["REWRITE"]:
        return False
    advice = "put the template between backticks, where quotes are allowed"
    place = (unexpected.start - 1, unexpected.start)
    reading.report("syntax-error", 'the string ends at this `"`, within an action', place, advice)
    reading.cut_back()
    reading.move_to(unexpected.line_end)
    return True


def _other_quotes(unexpected: Unexpected) -> bool:
    """A string between single or typographic quotes: read as a raw one."""
    if unexpected.token.type != "QUOTED":
        return False
    kind = "single" if unexpected.token.startswith("'") else "typographic"
    advice = 'write the string between `"`, or between backticks, where a backslash is literal'
    place = (unexpected.start, unexpected.end)
    unexpected.reading.report("syntax-error", f"{kind} quotes cannot delimit a string", place, advice)
    fitting = [terminal for terminal in ("RAW", "STRING") if terminal in unexpected.accepts]
    if fitting:
        unexpected.replace(fitting[0])
    return True


def _word_as_name(unexpected: Unexpected) -> bool:
    """A statement that ends too early, so that the keyword of the next one was taken for a name."""
    reading, last = unexpected.reading, unexpected.reading.last
    if last is None or last.type != "NAME" or last not in STATEMENT_WORDS:
        return False
    begun, start = reading.begun(), last.start_pos or 0
    if not begun or begun[-1] is not last or reading.text[line_start(reading.text, start) : start].strip(" \t"):
        return False
    reading.give_back()
    before = Unexpected.at(reading, last)
    return _broken_off(before) or _header(before)


def _broken_off(unexpected: Unexpected) -> bool:
    """A statement that ends too early: it is left out, and the token is read again."""
    breaks_off = unexpected.breaks_off or unexpected.token.type == "RBRACE"
    if unexpected.where not in IN_STATEMENT or not breaks_off:
        return False
    *_, last = begun = unexpected.reading.begun()
    named = len(begun) == 3 and begun[1].type == "STRING" and last.type in STRINGS
    unexpected.report_unexpected("a string before another one is the rewrite's name" if named else None)
    unexpected.reading.cut_back()
    unexpected.reading.move_to(unexpected.start)
    return True


_OPENS_BLOCK = re.compile(r"(?P<word>[\w-]+)[ \t]+[^\s{}]+[ \t]*\{")


def _unclosed_block(unexpected: Unexpected) -> bool:
    """A block's end is missing before the next block or the end of the file."""
    reading, at_end = unexpected.reading, unexpected.token.type == "$END"
    opens = _OPENS_BLOCK.match(reading.text, unexpected.start)
    is_target = opens is not None and did_you_mean(opens["word"], STATEMENT_WORDS) == "target"
    if unexpected.where is not Where.BLOCK or not (at_end or is_target or unexpected.token == "target"):  # noqa: S105 - a word
        return False
    brace = reading.opening_brace()
    if brace is not None:
        note = Note("the block opens here", reading.span(brace.start_pos or 0, brace.end_pos or 0))
        place = (reading.last_end, reading.last_end) if at_end else (unexpected.start, unexpected.end)
        reading.report("unclosed-block", f"expected `}}`, found {found(unexpected.token)}", place, None, note)
        reading.owed_braces += not at_end
    unexpected.insert("RBRACE")
    return True


def _outside_block(unexpected: Unexpected) -> bool:
    """A brace or a statement outside of a block; the statement is read as if it stood in one."""
    reading, place = unexpected.reading, (unexpected.start, unexpected.end)
    if unexpected.where is not Where.FILE:
        return False
    if unexpected.token.type == "RBRACE":
        if not reading.owed_braces:
            reading.report("syntax-error", "unmatched `}`", place, "remove it, or look for an extra brace above")
        reading.owed_braces = max(0, reading.owed_braces - 1)
        return True
    if unexpected.token.type != "NAME" or did_you_mean(unexpected.token, STATEMENT_WORDS) not in {"rewrite", "test"}:
        return False
    notes = [Note("the last block ends here", reading.span(*reading.last_place()))] if reading.last else []
    message = f"`{unexpected.token}` outside of a block"
    reading.report("outside-block", message, place, "put statements inside `target NAME { … }`", *notes)
    unexpected.insert("TARGET", "NAME", "LBRACE")
    return True


def _missing_keyword(unexpected: Unexpected) -> bool:
    """A block or a rewrite without the word that begins it."""
    if unexpected.where is Where.FILE and unexpected.token.type in {"NAME", "STRING"} and unexpected.follows() == "{":
        unexpected.report_unexpected("a block begins with the word `target`")
        unexpected.insert("TARGET")
        return True
    if unexpected.where is Where.BLOCK and unexpected.token.type in STRINGS and unexpected.first_on_line:
        unexpected.report_unexpected("a rewrite begins with the word `rewrite`")
        unexpected.insert("REWRITE")
        return True
    return False


_TO_BRACE = re.compile(r"[^\n#{]*+\{?")


def _header(unexpected: Unexpected) -> bool:
    """A block's first line without a name or a brace, or with something more."""
    if unexpected.where is not Where.HEADER or (unexpected.is_text and "STRING" in unexpected.accepts):
        return False
    last, token = unexpected.reading.last, unexpected.token
    advice = "a block begins with `target NAME {`"
    if token.type == "NAME" and last is not None and last.type == "NAME" and unexpected.follows() == "{":
        advice = f'a name of several words stands between quotes: `"{last} {token}"`'
    unexpected.report_unexpected(advice)
    _complete_header(unexpected, brace=True)
    rest = _TO_BRACE.match(unexpected.reading.text, unexpected.start)
    again = unexpected.breaks_off or token.type == "RBRACE" or token in STATEMENT_WORDS
    behind = max(unexpected.end, rest.end() if rest else 0)
    unexpected.reading.move_to(unexpected.start if again else behind)
    return True


def _complete_header(unexpected: Unexpected, *, brace: bool) -> None:
    for terminal in ("NAME",) * ("STRING" in unexpected.accepts) + ("LBRACE",) * brace:
        unexpected.reading.insert(terminal)


_ARROWS = {*("=>", "=", "==", "-->", "->>", "~>", "→", "⇒", ">", "-", ":", ":=", ",", "|"), *("to", "into", "becomes")}
_AFTER_ARROW = {"unchanged", "error", "jinja", "go"}


def _other_word(unexpected: Unexpected) -> bool:
    """A misspelt keyword, something else for the arrow, or no arrow before what can only stand behind one."""
    token = unexpected.token
    keywords = {word: terminal for terminal, word in KEYWORDS.items() if terminal in unexpected.accepts}
    surplus = unexpected.is_surplus and unexpected.follows() not in {'"', "`"}
    meant = did_you_mean(token, keywords) if token.type == "NAME" and not surplus else None
    if meant is not None:
        unexpected.report_unexpected(f"did you mean `{meant}`?")
        unexpected.replace(keywords[meant])
    elif "ARROW" not in unexpected.accepts or unexpected.follows(2) == "->":
        return False
    elif token in _ARROWS:
        unexpected.report_unexpected("write `->`")
        unexpected.replace("ARROW")
    elif token.type in STRINGS or token in _AFTER_ARROW or unexpected.is_text:
        unexpected.report_unexpected("write `->` before it")
        unexpected.insert("ARROW")
    else:
        return False
    return True


_CHUNK = re.compile(r"(?:\{\{[^\n]*?\}\}|(?!->)\S)+")  # what would be a string, with its Jinja or Go actions
_NAME_CHUNK = re.compile(r'[^\s"`{}#;]+')
_QUOTES = {'"', "`"}


def _torn_value(unexpected: Unexpected) -> bool:
    """A value that the lexer has cut at a character that no name has, such as an e-mail address without quotes."""
    reading, last = unexpected.reading, unexpected.reading.last
    if last is None or last.type != "NAME" or reading.last_end != unexpected.start or not unexpected.is_text:
        return False
    reading.give_back()
    return _bare_text(Unexpected.at(reading, Token.new_borrow_pos("BARE", last + unexpected.token, last)))


def _bare_text(unexpected: Unexpected) -> bool:
    """A pattern, a template, a key or a value without quotes."""
    reading, token = unexpected.reading, unexpected.token
    word = token.type == "NAME" and unexpected.follows() not in _QUOTES
    action = token.type == "LBRACE" and unexpected.follows() == "{"
    if "STRING" not in unexpected.accepts or not (word or action or unexpected.is_text):
        return False
    pattern = _CHUNK if "RAW" in unexpected.accepts else _NAME_CHUNK
    chunk = pattern.match(reading.text, unexpected.start)
    end = chunk.end() if chunk else unexpected.end
    unexpected.report_unexpected(_quoted(unexpected, end), end=end)
    reading.insert("STRING", end)
    reading.move_to(end)
    return True


def _quoted(unexpected: Unexpected, end: int) -> str:
    """How to write a text as a string: a pattern between backticks, all else between quotes if it can be."""
    reading = unexpected.reading
    text = reading.text[unexpected.start : end].strip("`'\"")
    before_arrow = unexpected.where is Where.REWRITE and "ARROW" not in {token.type for token in reading.begun()}
    pattern = before_arrow and reading.text[end : end + 2].strip() not in _QUOTES
    if "`" in text or not text.isprintable():
        return "put it between quotes"
    if pattern or "\\" in text or '"' in text:
        return f"put it between backticks: `{(pattern and undelimited(text)) or text}`"
    return f'put it between quotes: `"{text}"`'


# In order: what spoils the text behind it, what is no token, blocks and statements, words.
_STRATEGIES = (
    foreign_line,
    passed_over,
    _invisible,
    _inner_quote,
    _unterminated,
    _other_quotes,
    _torn_value,
    _word_as_name,
    _unclosed_block,
    _outside_block,
    _missing_keyword,
    _header,
    _broken_off,
    _other_word,
    _bare_text,
)


def _resynchronise(unexpected: Unexpected) -> None:
    """Leaves the statement out, and goes on at the next one."""
    reading = unexpected.reading
    unexpected.report_unexpected(_help(unexpected))
    if unexpected.where in IN_STATEMENT:
        reading.cut_back()
    unexpected.pass_over(next_statement(reading.text, unexpected.start))


_DIALECTS = {"golang": "go", "gotemplate": "go", "jinja2": "jinja", "j2": "jinja"}
_HELP = {
    Where.FILE: "a rule file consists of blocks: `target NAME { … }`",
    Where.BLOCK: "a statement begins with `rewrite` or `test`",
}


def _help(unexpected: Unexpected) -> str | None:
    """What to do about a token, by what stands before it."""
    token, where, begun = unexpected.token, unexpected.where, [token.type for token in unexpected.reading.begun()]
    before, word = begun[-1:], token.type == "NAME"
    last = unexpected.reading.last
    table = (
        (where is Where.BLOCK and token in CLAUSES, "the clauses of a test stand before its `->`"),
        (unexpected.is_surplus, "the statement before it is complete"),
        ("ARROW" in before and token.type == "ARROW", "remove one `->`"),
        ("ARROW" in before and token.casefold() in _DIALECTS, f"did you mean `{_DIALECTS.get(token.casefold())}`?"),
        ("ARROW" in before and word, "a template is plain, or begins with `jinja` or `go`"),
        (before == ["TEST"] and word, "the key comes first, then clauses such as `method GET`"),
        (
            before == ["NAME"] and where is Where.REWRITE and word,
            f'a name of several words stands between quotes: `"{last} {token}"`',
        ),
        (before == ["NAME"] and where is Where.REWRITE, f"`{last}` is read as the rewrite's name"),
        ("HEADER" in begun[-2:], 'a header takes its name and its value: `header "X-Team" "press"`'),
        ("ARROW" in unexpected.accepts and unexpected.follows(2) == "->", "write `->` before it"),
        ("AS" in unexpected.accepts, f"a test's clauses are {', '.join(f'`{word}`' for word in CLAUSES)}"),
    )
    return next((advice for applies, advice in table if applies), _HELP.get(where))
