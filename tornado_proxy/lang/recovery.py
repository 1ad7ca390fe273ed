"""How reading goes on after a mistake, so that one run reports every mistake of a file and invents none.

A *strategy* recognises one kind of mistake, reports it, and brings parser and lexer to where reading can go on. Where
no strategy applies, the statement is left out and reading goes on at the next one.
"""

from __future__ import annotations

import re

from lark import Token

from tornado_proxy.lang.diagnostic import Note, did_you_mean
from tornado_proxy.lang.literals import undelimited
from tornado_proxy.lang.reading import CLAUSES, INVISIBLE, KEYWORDS, STATEMENT_WORDS, Reading, Where
from tornado_proxy.lang.unexpected import (
    IN_STATEMENT,
    STRINGS,
    Unexpected,
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
        _abandon(reading, token.start_pos or 0)
        return
    unexpected = Unexpected.at(reading, token)
    if not any(strategy(unexpected) for strategy in _STRATEGIES):
        _resynchronise(unexpected)


def _abandon(reading: Reading, start: int) -> None:
    message = f"more than {MOST_MISTAKES} mistakes: the rest of the file is not read"
    reading.report("too-many-mistakes", message, (start, start))
    if reading.where(reading.accepts()) is not Where.BLOCK:
        reading.cut_back()
    if reading.where(reading.accepts()) is Where.BLOCK:
        reading.insert("RBRACE")
    reading.move_to(len(reading.text))


_CONVERT = (
    "`tornado-proxy convert s3-proxy` makes rule files of a `keyRewriteList`; a configuration is given by `--config`"
)
_SAME = 'write rewrite `^/old/(.*)$` -> "/new/$1" inside `target NAME { … }`'
_CONDITION = "rules match the key only; test other parts of the request in a `jinja` or `go` template"
_NGINX = (
    r'(?P<what>rewrite|return)[ \t]+(?:"[^"\n]*"|[^\s`"]\S*)(?:[ \t]+[^\s`"=-]\S*?){0,2}[ \t]*;[ \t]*(?:#[^\n]*)?\r?$'
)
_YAML_KEYS = r"targets?|keyRewriteList|authProviders|listTargets|internalServer|server|targetType|source|rules|log"

_OUTSIDE = frozenset({Where.FILE, Where.HEADER})

# What is not of this language, and how to write the same here: lines of other programs' configurations, then pieces to
# pass over. The end of a comment that is further away belongs to something else.
_LINES = tuple(
    (re.compile(rf"[ \t]*{line}", re.MULTILINE), f"{what} in a rule file", advice)
    for line, what, advice in (
        (r"(?P<what>RewriteCond)[ \t]+\S[^\n]*", "Apache directive `{}`", _CONDITION),
        (
            r"(?P<what>Rewrite(?:Rule|Engine|Base|Map|Options)|Redirect(?:Match|Permanent|Temp)?)[ \t]+\S[^\n]*",
            "Apache directive `{}`",
            _SAME,
        ),
        (_NGINX, "nginx directive `{} …;`", _SAME),
        (r"(?P<what>http|server|location)\b[^\n{};\"`]*\{", "nginx directive `{} {{`", _SAME),
        (rf"(?:-[ \t]+)?(?P<what>{_YAML_KEYS})[ \t]*:(?:[ \t][^\n]*)?$", "YAML key `{}:`", _CONVERT),
        (r"\{\s*\"(?P<what>\w+)\"\s*:", 'JSON key `"{}":`', _CONVERT),
    )
)
_MARK = r"^(?P<what><{7}|\|{7}|={7}|>{7})(?:[ \r][^\n]*)?$"
_COMMENT = r"(?P<what>//|--|/\*)(?:(?<=/\*)[\s\S]{0,10000}?\*/|[^\n]*)"
_PIECES = tuple(
    (re.compile(piece, re.MULTILINE), message, advice)
    for piece, message, advice in (
        (_MARK, "merge conflict marker {}", "resolve the conflict and remove its markers"),
        (_COMMENT, "{} does not begin a comment", "a comment begins with `#` and runs to the end of its line"),
        (r"(?P<what>;);*", "unexpected {}", "remove it: statements need no terminator"),
        (INVISIBLE, "invisible character {}", "use only spaces, tabs and line ends"),
    )
)


def _foreign(unexpected: Unexpected) -> bool:
    """A line of another program's configuration, reported once for each kind of them, or a piece to pass over."""
    reading, start = unexpected.reading, unexpected.start
    for line, message, advice in _LINES:
        match = line.match(reading.text, line_start(reading.text, start))
        if match and match.end() > start:
            if not any(each.help == advice for each in reading.diagnostics):
                reading.report("syntax-error", message.format(match["what"]), match.span("what"), advice)
            if unexpected.where is not Where.BLOCK:
                reading.cut_back()
            # Outside of blocks the rest of the file is one too.
            unexpected.pass_over(len(reading.text) if unexpected.where in _OUTSIDE else match.end())
            return True
    pattern_fits = not unexpected.accepts.isdisjoint({"STRING", "ARROW"})
    for piece, message, advice in _PIECES:
        match = piece.match(reading.text, start)
        if match and not (pattern_fits and match[0].startswith(("/", "-"))):
            code = "syntax-error" if match["what"].isprintable() else "control-character"
            reading.report(code, message.format(shown(match["what"])), match.span("what"), advice)
            reading.move_to(match.end())
            return True
    return False


_OPEN_ACTION = re.compile(r"\{[{%](?:(?![}%]\}).)*\Z", re.DOTALL)


def _spoilt_line(unexpected: Unexpected) -> bool:
    """A string that ends too late or too early: nothing is said about the rest of its line, or of its statement."""
    reading, token = unexpected.reading, unexpected.token
    opened = token if token.type in {"OPEN_STRING", "OPEN_RAW"} else None
    running_on = [string for string in reading.begun() if string.type in STRINGS and _runs_on(unexpected, string)]
    if opened is None and _ends_in_action(unexpected):
        advice = "put the template between backticks, where quotes are allowed"
        place = (unexpected.start - 1, unexpected.start)
        reading.report("syntax-error", 'the string ends at this `"`, within an action', place, advice)
        reading.cut_back()
        reading.move_to(line_end(reading.text, unexpected.start))
        return True
    if opened is None and not running_on:
        return False
    string = opened or running_on[0]
    start, is_raw = string.start_pos or 0, string.startswith("`")
    end = line_end(reading.text, start)
    message = "unterminated raw string" if is_raw else "unterminated string"
    advice = "close it with a backtick" if is_raw else 'a string ends on its line: close it with `"`'
    reading.report("unterminated-string", message, (start, min(end, start + len(string.rstrip()))), advice)
    if opened is None or unexpected.where in IN_STATEMENT:
        reading.cut_back()
    elif unexpected.where is Where.HEADER:
        _complete_header(unexpected, brace="{" in string)
    reading.move_to(end)
    return True


def _runs_on(unexpected: Unexpected, string: Token) -> bool:
    """Whether a string holds statements, or an arrow with a token right behind it where the arrow should stand."""
    text, start, end = unexpected.reading.text, string.start_pos or 0, string.end_pos or 0
    if "\n" in string and next_statement(text, line_end(text, start)) < end:
        return True
    return "->" in string and end == unexpected.start and "ARROW" in unexpected.accepts


def _ends_in_action(unexpected: Unexpected) -> bool:
    """Whether a quote within an action of a quoted template has ended the template right before the token."""
    last = unexpected.reading.last
    if last is None or last.type != "STRING" or last.end_pos != unexpected.start or not _OPEN_ACTION.search(last):
        return False
    return unexpected.token.type != "$END" and unexpected.reading.begun()[0].type == "REWRITE"


def _other_quotes(unexpected: Unexpected) -> bool:
    """A string between single or typographic quotes: read as a raw one."""
    if unexpected.token.type != "QUOTED":
        return False
    kind = "single" if unexpected.token.startswith("'") else "typographic"
    advice = 'write the string between `"`, or between backticks, where a backslash is literal'
    place = (unexpected.start, unexpected.end)
    unexpected.reading.report("syntax-error", f"{kind} quotes cannot delimit a string", place, advice)
    if fitting := [terminal for terminal in ("RAW", "STRING") if terminal in unexpected.accepts]:
        unexpected.replace(fitting[0])
    return True


def _torn_value(unexpected: Unexpected) -> bool:
    """A value that the lexer has cut at a character that no name has, such as an e-mail address without quotes."""
    reading, last = unexpected.reading, unexpected.reading.last
    if last is None or last.type != "NAME" or reading.last_end != unexpected.start or not unexpected.is_text:
        return False
    reading.give_back()
    return _bare_text(Unexpected.at(reading, Token.new_borrow_pos("BARE", last + unexpected.token, last)))


def _keyword_as_name(unexpected: Unexpected) -> bool:
    """A statement that ends before a name, so that the keyword of the next line was taken for it."""
    reading, last = unexpected.reading, unexpected.reading.last
    if last is None or last not in STATEMENT_WORDS or last.type != "NAME" or reading.begun()[-1:] != [last]:
        return False
    start = last.start_pos or 0
    if reading.text[line_start(reading.text, start) : start].strip(" \t"):
        return False
    reading.give_back()
    before = Unexpected.at(reading, last)
    return _broken_off(before) or _header(before)


def _unclosed_block(unexpected: Unexpected) -> bool:
    """A block's end is missing before the next block or the end of the file."""
    reading, at_end = unexpected.reading, unexpected.token.type == "$END"
    if unexpected.where is not Where.BLOCK or not (at_end or unexpected.token == "target"):  # noqa: S105 - a word
        return False
    brace = reading.opening_brace()
    if brace is not None:
        note = Note("the block opens here", reading.span(brace.start_pos or 0, brace.end_pos or 0))
        place = (reading.last_end, reading.last_end) if at_end else (unexpected.start, unexpected.end)
        what = "the end of the file" if at_end else "`target`"
        reading.report("unclosed-block", f"expected `}}`, found {what}", place, None, note)
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


_TO_BRACE = re.compile(r"[^\n#{]*+\{?")


def _header(unexpected: Unexpected) -> bool:
    """A block's first line without a name or a brace, or with something more."""
    if unexpected.where is not Where.HEADER or (unexpected.is_text and "STRING" in unexpected.accepts):
        return False
    token = unexpected.token
    unexpected.report("a block begins with `target NAME {`; a name of several words stands between quotes")
    _complete_header(unexpected, brace=True)
    rest = _TO_BRACE.match(unexpected.reading.text, unexpected.start)
    again = unexpected.breaks_off or token.type == "RBRACE" or token in STATEMENT_WORDS
    behind = max(unexpected.end, rest.end() if rest else 0)
    unexpected.reading.move_to(unexpected.start if again else behind)
    return True


def _complete_header(unexpected: Unexpected, *, brace: bool) -> None:
    for terminal in ("NAME",) * ("STRING" in unexpected.accepts) + ("LBRACE",) * brace:
        unexpected.reading.insert(terminal)


def _broken_off(unexpected: Unexpected) -> bool:
    """A statement that ends too early: it is left out, and the token is read again."""
    breaks_off = unexpected.breaks_off or unexpected.token.type == "RBRACE"
    if unexpected.where not in IN_STATEMENT or not breaks_off:
        return False
    name = unexpected.reading.begun()[1:-1]  # before a pattern
    is_string = [token.type for token in name] == ["STRING"] and "ARROW" in unexpected.accepts
    unexpected.report("a string before another one is the rewrite's name" if is_string else None)
    unexpected.reading.cut_back()
    unexpected.reading.move_to(unexpected.start)
    return True


_ARROWS = {*("=>", "=", "==", "-->", "->>", "~>", "→", "⇒", ">", "-", ":", ":=", ",", "|"), *("to", "into", "becomes")}
_BEHIND_ARROW = {"unchanged", "error", "jinja", "go"}


def _replaced(unexpected: Unexpected) -> bool:
    """A misspelt keyword, or something else for the arrow: read as what was meant."""
    token, accepts = unexpected.token, unexpected.accepts
    keywords = {word: terminal for terminal, word in KEYWORDS.items() if terminal in accepts}
    surplus = unexpected.is_surplus and unexpected.follows() not in _QUOTES
    meant = did_you_mean(token, keywords) if token.type == "NAME" and not surplus else None
    if meant is None and token in _ARROWS and "ARROW" in accepts and unexpected.follows(2) != "->":
        meant, keywords = "->", {"->": "ARROW"}
    if meant is None:
        return False
    unexpected.report("write `->`" if meant == "->" else f"did you mean `{meant}`?")
    unexpected.replace(keywords[meant])
    return True


def _inserted(unexpected: Unexpected) -> bool:
    """No arrow before what can only stand behind one, or a block or a rewrite without the word that begins it."""
    token, where, is_string = unexpected.token, unexpected.where, unexpected.token.type in STRINGS
    behind_arrow = is_string or token in _BEHIND_ARROW or unexpected.is_text
    if "ARROW" in unexpected.accepts and behind_arrow and unexpected.follows(2) != "->":
        terminal, advice = "ARROW", "write `->` before it"
    elif where is Where.FILE and (is_string or token.type == "NAME") and unexpected.follows() == "{":
        terminal, advice = "TARGET", "a block begins with the word `target`"
    elif where is Where.BLOCK and is_string and unexpected.first_on_line:
        terminal, advice = "REWRITE", "a rewrite begins with the word `rewrite`"
    else:
        return False
    unexpected.report(advice)
    unexpected.insert(terminal)
    return True


_CHUNK = re.compile(r"(?:\{\{[^\n]*?\}\}|(?!->)\S)+")  # what would be a string, with its Jinja or Go actions
_NAME_CHUNK = re.compile(r'[^\s"`{}#;]+')
_QUOTES = {'"', "`"}


def _bare_text(unexpected: Unexpected) -> bool:
    """A pattern, a template, a key or a value without quotes."""
    reading, token = unexpected.reading, unexpected.token
    word = token.type == "NAME" and unexpected.follows() not in _QUOTES
    action = token.type == "LBRACE" and unexpected.follows() == "{"
    if "STRING" not in unexpected.accepts or not (word or action or unexpected.is_text):
        return False
    chunk = (_CHUNK if "RAW" in unexpected.accepts else _NAME_CHUNK).match(reading.text, unexpected.start)
    end = chunk.end() if chunk else unexpected.end
    unexpected.report(_quoted(unexpected, reading.text[unexpected.start : end].strip("`'\"")), end=end)
    reading.insert("STRING", end)
    reading.move_to(end)
    return True


def _quoted(unexpected: Unexpected, text: str) -> str:
    """How to write a text as a string: a pattern between backticks, all else between quotes if it can be."""
    if "`" in text or not text.isprintable():
        return "put it between quotes"
    begun = [token.type for token in unexpected.reading.begun()]
    if begun[0] == "REWRITE" and "ARROW" not in begun:
        return f"put it between backticks: `{undelimited(text) or text}`"
    return f"put it between backticks: `{text}`" if '"' in text else f'put it between quotes: `"{text}"`'


# In order: what is of another language or spoils the text behind it, blocks and statements, words.
_STRATEGIES = (
    _foreign,
    _spoilt_line,
    _other_quotes,
    _torn_value,
    _keyword_as_name,
    _unclosed_block,
    _outside_block,
    _header,
    _broken_off,
    _replaced,
    _inserted,
    _bare_text,
)


def _resynchronise(unexpected: Unexpected) -> None:
    """Leaves the statement out, and goes on at the next one."""
    reading = unexpected.reading
    unexpected.report(_help(unexpected))
    if unexpected.where in IN_STATEMENT:
        reading.cut_back()
    unexpected.pass_over(next_statement(reading.text, unexpected.start))


def _help(unexpected: Unexpected) -> str | None:
    """What to do about a token, by what stands before it."""
    token, where, last = unexpected.token, unexpected.where, unexpected.reading.last
    begun = [each.type for each in unexpected.reading.begun()]
    before, is_word = begun[-1:], token.type == "NAME"
    table = (
        (where is Where.FILE, "a rule file consists of blocks: `target NAME { … }`"),
        (where is Where.BLOCK and token in CLAUSES, "the clauses of a test stand before its `->`"),
        (unexpected.is_surplus, "the statement before it is complete"),
        (where is Where.BLOCK, "a statement begins with `rewrite` or `test`"),
        (before == ["ARROW"] and is_word, "a template is plain, or begins with `jinja` or `go`"),
        (before == ["TEST"] and is_word, "the key comes first, then clauses such as `method GET`"),
        (begun[-2:] == ["REWRITE", "NAME"], f"`{last}` is read as the rewrite's name"),
        ("HEADER" in begun[-2:], 'a header takes its name and its value: `header "X-Team" "press"`'),
        ("AS" in unexpected.accepts, f"a test's clauses are {', '.join(f'`{word}`' for word in CLAUSES)}"),
    )
    return next((advice for applies, advice in table if applies), None)
