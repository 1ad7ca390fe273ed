"""Continues reading after a mistake, so that one run reports every mistake of a file and invents no other.

A *strategy* recognises one kind of mistake, reports it, and brings parser and lexer to a place where reading can
continue. If no strategy applies, the statement is left out, and reading continues at the next keyword.
"""

from __future__ import annotations

import re

from lark import Token

from tornado_proxy.rules.diagnostic import Note, did_you_mean, shortened
from tornado_proxy.rules.limits import LONGEST_SHOWN
from tornado_proxy.rules.reading import CLAUSES, INNER_WORDS, KEYWORDS, STATEMENT_WORDS, STATEMENTS, Reading, Where


def recover(reading: Reading, token: Token) -> None:
    """Reports a token that does not fit, and continues after it or, with the parser changed, at it."""
    unexpected = _Unexpected(reading, _misread(reading, token))
    if any(strategy(unexpected) for strategy in _STRATEGIES):
        return
    # The statement is left out, and reading continues at the next one.
    begun = [each.type for each in reading.begun()]
    is_named = unexpected.where is Where.REWRITE and begun[-1] == "NAME" and "ARROW" not in begun
    table = (
        (is_named, f"`{reading.last}` is read as the rewrite's name"),
        (unexpected.where is Where.FILE, "a rule file consists of blocks: `target NAME { … }`"),
        (unexpected.where is not Where.BLOCK, None),
        (unexpected.token in CLAUSES, "the clauses of a test stand before its `->`"),
        (reading.text.startswith(_OTHER_COMMENTS, unexpected.start), _COMMENT),
        (unexpected.is_surplus, "the statement before it is complete"),
        (True, "a statement begins with `rewrite`, `redirect`, `gone` or `test`"),
    )
    unexpected.report(next(advice for applies, advice in table if applies))
    if unexpected.in_statement:
        reading.cut_back()
    text, start = reading.text, unexpected.start
    end = _next_statement(text, start)
    unexpected.pass_over(min(end, _line_end(text, start)) if unexpected.is_surplus else end)


def _misread(reading: Reading, token: Token) -> Token:
    """Returns the token that is wrong: this one, or the name before it, which is then taken back.

    Such a name is the keyword of a new line, or begins a text without quotes: `ann` in `ann@example.com`.
    """
    last = reading.last
    if last is None or last.type != "NAME" or last not in reading.begun()[-1:]:
        return token
    start = last.start_pos or 0
    if last in STATEMENT_WORDS and not reading.text[_line_start(reading.text, start) : start].strip(" \t"):
        reading.give_back()
        return last
    if last.end_pos == token.start_pos and _is_text(token):
        reading.give_back()
        return Token("BARE", last + token, start_pos=start, end_pos=token.end_pos)
    return token


def _is_text(token: Token) -> bool:
    """Returns whether a token is text without quotes, and not only punctuation."""
    return token.type == "BARE" and any(map(str.isalnum, token))


def _line_start(text: str, offset: int) -> int:
    return text.rfind("\n", 0, offset) + 1


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


# A line that begins with a keyword or a closing brace, or that has an arrow and does not continue a statement.
_LINE = re.compile(
    rf"""^[ \t]*+(?P<at>\}} | (?:{"|".join(STATEMENT_WORDS)})(?![\w.-])
    | (?!(?:{"|".join(INNER_WORDS)})\b)[\w"'`/^][^\n]*->)""",
    re.MULTILINE | re.VERBOSE,
)
_IN_LINE = re.compile(
    r'[^\n#{}]*?(?P<at>\b(?:rewrites?|redirects?|gone|test)[ \t]+(?:[\w.-]++[ \t]++){0,4}+["`]'
    r"|\btarget[ \t]+\S+[ \t]*\{|\})"
)


def _next_statement(text: str, offset: int) -> int:
    """Returns where reading can continue: at a statement or brace in the rest of the line or below, or at the end."""
    keyword = _IN_LINE.match(text, offset) or _LINE.search(text, offset + 1)  # not the line that begins here
    return keyword.start("at") if keyword else len(text)


_STRINGS = frozenset({"STRING", "RAW"})
_OPENING = frozenset(map(str.upper, STATEMENT_WORDS)) - {"TARGET"}
_WORDS = {
    "STATEMENT": "a statement",
    "ARROW": "`->`",
    "LBRACE": "`{`",
    "NAME": "a name",
    "STRING": "a string",
    "RAW": "a raw string",
}
_WORDS |= {terminal: f"`{word}`" for terminal, word in KEYWORDS.items()} | {"RBRACE": "`}`"}
"""The words for terminals, in the order of messages."""


class _Unexpected:
    """A token that does not fit, the terminals that would fit, and the part of the file that the parser is within."""

    def __init__(self, reading: Reading, token: Token) -> None:
        self.reading, self.token = reading, token
        self.start, self.end = token.start_pos or 0, token.end_pos or 0
        self.accepts = reading.accepts()
        self.where = reading.where(self.accepts)
        self.in_statement = self.where in STATEMENTS
        self.first_on_line = reading.last is None or "\n" in reading.text[reading.last_end : self.start]

    @property
    def is_surplus(self) -> bool:
        """Whether the token is on the same line as a statement that is complete."""
        last = self.reading.last
        return self.where is Where.BLOCK and not self.first_on_line and last is not None and last.type != "LBRACE"

    @property
    def breaks_off(self) -> bool:
        """Whether a statement or first line is incomplete, and the token begins something else."""
        if self.token.type == "$END":
            return True
        if self.where in {Where.FILE, Where.BLOCK} or not self.first_on_line:
            return False
        return _LINE.match(self.reading.text, _line_start(self.reading.text, self.start)) is not None

    def follows(self, length: int = 1) -> str:
        """Returns the text after the token, without the space before it."""
        return self.reading.text[self.end : self.end + 200].lstrip(" \t")[:length]

    def report(self, help: str | None = None, *, end: int | None = None) -> None:
        """Reports what was expected and what was found: the token, or the text from it to an offset."""
        place = (self.start, end or self.end)
        text = self.reading.text[slice(*place)]
        unexpected = _WORDS[self.token.type] if self.token.type in _STRINGS else _shown(text)
        if self.breaks_off:
            place = (self.reading.last_end, self.reading.last_end)
            unexpected = f"the end of the {'file' if self.token.type == '$END' else 'line'}"
        # A string before an arrow could also be a rewrite's name, which is unlikely.
        fitting = self.accepts - _STRINGS if "ARROW" in self.accepts else self.accepts
        fitting = (fitting - _OPENING) | {"STATEMENT"} if "REWRITE" in fitting else fitting
        *words, last = (word for terminal, word in _WORDS.items() if terminal in fitting)
        expected = f"{', '.join(words)} or {last}" if words else last
        self.reading.report("syntax-error", f"expected {expected}, found {unexpected}", place, help)

    def insert(self, *terminals: str) -> None:
        """Reads tokens that are missing as if they were before this one, which is then read again."""
        for terminal in terminals:
            self.reading.insert(terminal)
        self.reading.move_to(self.start)

    def replace(self, terminal: str) -> None:
        """Reads the token as if it were another one."""
        self.reading.feed(Token.new_borrow_pos(terminal, str(self.token), self.token))

    def pass_over(self, end: int) -> None:
        """Continues at an offset; the braces before it need not be closed."""
        passed = self.reading.text[self.start : end]
        self.reading.owed_braces += max(0, passed.count("{") - passed.count("}"))
        self.reading.move_to(end)


def _shown(text: str) -> str:
    """Returns a piece of the file between backticks, or the number of the first invisible character in it."""
    invisible = next((character for character in text if not character.isprintable()), None)
    if invisible is not None:
        return f"U+{ord(invisible):04X}"
    return f"`{shortened(text, LONGEST_SHOWN)}`"


_SAME = (
    'write rewrite `^/old/(.*)$` -> "/new/$1", or `redirect` if clients shall see it; '
    "`tornado-proxy convert redirects` does that"
)
_CONVERT = (
    "`tornado-proxy convert s3-proxy` makes rule files of a `keyRewriteList`; a configuration is given by `--config`"
)
_RESOLVE = "resolve the conflict and remove its markers"
_OTHER_COMMENTS = ("//", "--", "/*")
_COMMENT = "a comment begins with `#` and runs to the end of its line"
_YAML_KEYS = r"targets?|keyRewriteList|authProviders|listTargets|internalServer|server|targetType|source|rules|log"
_OTHERS = (
    (r"(?P<what>Re(?:write[A-Z]|direct)\w*)[ \t]+\S[^\n]*", "Apache directive `{}` in a rule file", _SAME),
    (
        r"(?P<what>rewrite|return)\b(?![^\n]*(?:->|`|[ \t]=))[^\n;]+;[ \t]*(?:#[^\n]*)?\r?$",
        *("nginx directive `{} …;` in a rule file", _SAME),
    ),
    (r"(?P<what>http|server|location)\b[^\n{};\"`]*\{", "nginx directive `{} {{` in a rule file", _SAME),
    (rf"(?:-[ \t]+)?(?P<what>{_YAML_KEYS})[ \t]*:(?:[ \t][^\n]*)?$", "YAML key `{}:` in a rule file", _CONVERT),
    (r"(?P<what><{7}|\|{7}|={7}|>{7})(?:[ \r][^\n]*)?$", "merge conflict marker `{}`", _RESOLVE),
    # A more distant end of a comment belongs to another comment.
    (r"(?P<what>//|--|/\*)(?:(?<=\*)[\s\S]{0,10000}?\*/|[^\n]*)", "`{}` does not begin a comment", _COMMENT),
)
_FOREIGN_LINES = [(re.compile(rf"[ \t]*{line}", re.MULTILINE), message, advice) for line, message, advice in _OTHERS]
"""Lines of other programs, with their description and advice."""


def _foreign_line(unexpected: _Unexpected) -> bool:
    """Handles a line of another program; outside of blocks, the rest of the file is treated in the same way."""
    reading, start = unexpected.reading, unexpected.start
    line_start = _line_start(reading.text, start)
    for line, message, advice in _FOREIGN_LINES:
        if (match := line.match(reading.text, line_start)) and match.end() > start:
            reading.report("syntax-error", message.format(match["what"]), match.span("what"), advice)
            if unexpected.where is not Where.BLOCK:
                reading.cut_back()
            inside = unexpected.where not in {Where.FILE, Where.HEADER} or advice in {_RESOLVE, _COMMENT}
            unexpected.pass_over(match.end() if inside else len(reading.text))
            return True
    return False


_ODD_TOKENS = {
    "SEMICOLON": ("unexpected {}", "remove it: statements need no terminator"),
    "INVISIBLE": ("invisible character {}", "use only spaces, tabs and line ends"),
    "QUOTED": ("wrong quotes", 'write the string between `"`, or between backticks, where a backslash is literal'),
}


def _odd_token(unexpected: _Unexpected) -> bool:
    """Handles a token that the language does not have; a text in wrong quotes is read as a string."""
    if unexpected.token.type not in _ODD_TOKENS:
        return False
    message, advice = _ODD_TOKENS[unexpected.token.type]
    code = "control-character" if unexpected.token.type == "INVISIBLE" else "syntax-error"
    place = (unexpected.start, unexpected.end)
    unexpected.reading.report(code, message.format(_shown(unexpected.token)), place, advice)
    fitting = [terminal for terminal in ("RAW", "STRING") if terminal in unexpected.accepts]
    if unexpected.token.type == "QUOTED" and fitting:
        unexpected.replace(fitting[0])
    return True


def _open_string(unexpected: _Unexpected) -> bool:
    """Handles a string that ends too late or too early; no other mistake is reported on the rest of its line."""
    reading, token, last = unexpected.reading, unexpected.token, unexpected.reading.last
    is_open = token.type in {"OPEN_STRING", "OPEN_RAW"}
    string = token if is_open else last
    if not string or not (is_open or string.type in _STRINGS):
        return False
    start = string.start_pos or 0
    end = _line_end(reading.text, start)
    # Behind a string, a keyword is one: a source may end its statement.
    is_word = token.type == "NAME" or token.type in KEYWORDS or _is_text(token)
    touches = string.end_pos == unexpected.start and is_word
    holds_statement = "\n" in string and _next_statement(reading.text, end) < (string.end_pos or 0)
    if is_open or holds_statement or (touches and "->" in string):
        quoted = ("string", 'a string ends on its line: close it with `"`')
        kind, advice = ("raw string", "close it with a backtick") if string[0] == "`" else quoted
        place = (start, min(end, start + len(string.rstrip())))
        reading.report("unterminated-string", f"unterminated {kind}", place, advice)
    elif touches:
        end = _line_end(reading.text, unexpected.start)
        advice = "write the string between backticks, where quotes are allowed"
        place = (unexpected.start - 1, unexpected.start)
        reading.report("syntax-error", f"the string ends at this `{string[-1]}`", place, advice)
    else:
        return False
    if unexpected.where is Where.HEADER:
        _complete_header(unexpected)
    elif unexpected.in_statement or not is_open:
        reading.cut_back()
    reading.move_to(end)
    return True


def _unclosed_block(unexpected: _Unexpected) -> bool:
    """Handles a block that is not closed before the next block or the end of the file."""
    reading, at_end = unexpected.reading, unexpected.token.type == "$END"
    if unexpected.where is not Where.BLOCK or not (at_end or unexpected.token == "target"):  # noqa: S105 - a word
        return False
    brace = reading.opening_brace()
    if brace is not None:
        note = Note("the block opens here", reading.span(brace.start_pos or 0, brace.end_pos or 0))
        place = (reading.last_end, reading.last_end) if at_end else (unexpected.start, unexpected.end)
        end = "the end of the file" if at_end else "`target`"
        reading.report("unclosed-block", f"expected `}}`, found {end}", place, None, note)
        reading.owed_braces += not at_end
    unexpected.insert("RBRACE")
    return True


def _outside_block(unexpected: _Unexpected) -> bool:
    """Handles a brace or a statement outside of a block; the statement is read as if it were in a block."""
    reading, token, place = unexpected.reading, unexpected.token, (unexpected.start, unexpected.end)
    if unexpected.where is not Where.FILE:
        return False
    if token.type == "RBRACE":
        if not reading.owed_braces:
            reading.report("syntax-error", "unmatched `}`", place, "remove it, or look for an extra brace above")
        reading.owed_braces = max(0, reading.owed_braces - 1)
        return True
    if token.type != "NAME" or did_you_mean(token, STATEMENT_WORDS) in {None, "target"}:
        return False
    reading.report("outside-block", f"`{token}` outside of a block", place, "put it inside `target NAME { … }`")
    unexpected.insert("TARGET", "NAME", "LBRACE")
    return True


_TO_BRACE = re.compile(r"[^\n#{]*+\{?")


def _header(unexpected: _Unexpected) -> bool:
    """Handles the first line of a block that lacks a name or a brace, or has something more."""
    reading, token = unexpected.reading, unexpected.token
    if unexpected.where is not Where.HEADER or (_is_text(token) and "STRING" in unexpected.accepts):
        return False
    unexpected.report("a block begins with `target NAME {`; put a name of several words between quotes")
    _complete_header(unexpected)
    rest = _TO_BRACE.match(reading.text, unexpected.start)
    again = unexpected.breaks_off or token.type == "RBRACE" or token in STATEMENT_WORDS
    reading.move_to(unexpected.start if again or rest is None else max(unexpected.end, rest.end()))
    return True


def _complete_header(unexpected: _Unexpected) -> None:
    for terminal in ("NAME", "LBRACE") if "STRING" in unexpected.accepts else ("LBRACE",):
        unexpected.reading.insert(terminal)


def _broken_off(unexpected: _Unexpected) -> bool:
    """Handles a statement that ends too early: it is left out, and the token is read again."""
    if not unexpected.in_statement or not (unexpected.breaks_off or unexpected.token.type == "RBRACE"):
        return False
    strings = [token.type for token in unexpected.reading.begun()[1:]]
    named = "ARROW" in unexpected.accepts and strings[:1] == ["STRING"] and len(strings) > 1
    unexpected.report("a string before another one is the rewrite's name" if named else None)
    unexpected.reading.cut_back()
    unexpected.reading.move_to(unexpected.start)
    return True


_ARROWS = {"=>", "=", "→", ":", ",", "to"}
_AFTER_ARROW = {"unchanged", "error", "gone", "redirect", "jinja", "go"}
_QUOTES = {'"', "`"}


def _repaired(unexpected: _Unexpected) -> bool:
    """Handles a misspelt keyword, a misspelt or missing arrow, or a block without its word: reads it as corrected."""
    token, accepts, is_string = unexpected.token, unexpected.accepts, unexpected.token.type in _STRINGS
    keywords = {word: terminal for terminal, word in KEYWORDS.items() if terminal in accepts}
    surplus = unexpected.is_surplus and unexpected.follows() not in _QUOTES
    meant = did_you_mean(token, keywords) if token.type == "NAME" and not surplus else None
    arrow_fits = "ARROW" in accepts and unexpected.follows(2) != "->"
    if meant:
        unexpected.report(f"did you mean `{meant}`?")
        unexpected.replace(keywords[meant])
    elif arrow_fits and token in _ARROWS:
        unexpected.report("write `->`")
        unexpected.replace("ARROW")
    elif arrow_fits and (is_string or token in _AFTER_ARROW or _is_text(token)):
        unexpected.report("write `->` before it")
        unexpected.insert("ARROW")
    elif unexpected.where is Where.FILE and (is_string or token.type == "NAME") and unexpected.follows() == "{":
        unexpected.report("a block begins with the word `target`")
        unexpected.insert("TARGET")
    else:
        return False
    return True


# A pattern that begins differently may be meant literally: `/a/`.
_DELIMITED = re.compile(r"/(?P<body>(?:\^|\\/).*)/(?P<flags>[dgimsuvy]*)", re.DOTALL)
_MEANT = "ims"  # the other flags are about the search, not the pattern


def undelimited(text: str) -> str | None:
    """Returns a pattern without the delimiters of other languages; None if it has no delimiters."""
    match = _DELIMITED.fullmatch(text)
    if match is None:
        return None
    flags = "".join(each for each in _MEANT if each in match["flags"])
    body = match["body"].replace("\\/", "/")
    return f"(?{flags}){body}" if flags else body


_CHUNK = re.compile(r"(?:\{\{[^\n]*?\}\}|(?!->)\S)+")  # what would be a string, with its Jinja or Go actions


def _bare_text(unexpected: _Unexpected) -> bool:
    """Handles a pattern, a template, a key or a value without quotes."""
    reading, token = unexpected.reading, unexpected.token
    word = token.type == "NAME" and unexpected.follows() not in _QUOTES
    action = token.type == "LBRACE" and unexpected.follows() == "{"
    if "STRING" not in unexpected.accepts or not (word or action or _is_text(token)):
        return False
    chunk = _CHUNK.match(reading.text, unexpected.start) if "RAW" in unexpected.accepts else None
    end = chunk.end() if chunk else unexpected.end
    text = reading.text[unexpected.start : end].strip("`'\"")
    begun = {each.type for each in reading.begun()}
    is_source = unexpected.where is Where.REWRITE and begun.isdisjoint({"STRING", "RAW", "ARROW"})
    written = f"backticks: `{undelimited(text) or text}`" if is_source or '"' in text else f'quotes: `"{text}"`'
    unexpected.report(f"put it between {written}", end=end)
    reading.insert("STRING", end)
    reading.move_to(end)
    return True


# In order: mistakes that affect the text after them, then blocks and statements, then words.
_STRATEGIES = (
    *(_foreign_line, _odd_token, _open_string),
    *(_unclosed_block, _outside_block, _header, _broken_off),
    *(_repaired, _bare_text),
)
