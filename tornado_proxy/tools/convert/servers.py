"""Reads what the configurations of nginx and Apache redirect, rewrite or call gone.

Their expressions are PCRE's, of which Go has a part: what it does not know is reported, and means the same otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from gotemplate.regexp.syntax import PatternError
from tornado_proxy.rules.diagnostic import Diagnostic, SourceFile, Span
from tornado_proxy.tools.convert import patterns
from tornado_proxy.tools.convert.options import NotConvertible, OptionOutcome, Unreadable
from tornado_proxy.tools.convert.redirects import STATUSES, ForeignRule, Read, as_is, changed, exactly, left_out, remark
from tornado_proxy.tools.limits import DEEPEST_BLOCKS

_URL = re.compile(r"https?://", re.IGNORECASE)


class _Directive(NamedTuple):
    """A directive of nginx: its words, its place, and the directives in its braces."""

    words: Sequence[str]
    place: Span
    block: Sequence[_Directive] = ()

    @property
    def name(self) -> str:
        """Its first word."""
        return self.words[0]

    @property
    def moves(self) -> int:
        """The number of directives in it that redirect or rewrite."""
        return (self.name in ("return", "rewrite")) + sum(each.moves for each in self.block)


_TOKEN = re.compile(
    r"""
    \s+ | \#[^\n]* | (?P<mark>[{};])
    | (?P<word>"(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | (?!["'])(?:\\.|\$\{|[^\s;{\\])+)
    """,
    re.DOTALL | re.VERBOSE,
)
_ESCAPED = re.compile(r"\\([\"'\\])")
_FEWEST_WORDS = {"return": 2, "rewrite": 3, "location": 2, "rewritecond": 3, "rewriterule": 3, "rewritebase": 2}


def _directives(source: SourceFile) -> Sequence[_Directive]:
    """Returns the directives of a file of nginx; raises `Unreadable`."""
    stack: list[tuple[list[str], list[_Directive], int]] = [([], [], 0)]
    words: list[str] = []
    start = at = 0
    while token := _TOKEN.match(source.text, at):
        mark, at = token["mark"], token.end()
        if word := token["word"]:
            start = start if words else token.start()
            words.append(_ESCAPED.sub(r"\1", word[1:-1] if word[0] in "\"'" else word))
        elif mark == "{" and words and len(stack) <= DEEPEST_BLOCKS:
            stack.append((words, [], start))
            words = []
        elif mark == ";" and len(words) >= _FEWEST_WORDS.get("".join(words[:1]), 1):
            stack[-1][1].append(_Directive(words, Span(source, start, at - 1)))
            words = []
        elif mark == "}" and not words and len(stack) > 1:
            head, block, start = stack.pop()
            stack[-1][1].append(_Directive(head, Span(source, start, at), block))
        elif mark:
            at = token.start()
            break
    if at < len(source.text) or words or len(stack) > 1:
        line, column = source.position(at)
        raise Unreadable(Diagnostic("bad-nginx", f"`{source.name}:{line}:{column}`: nginx would not read this"))
    return stack[0][1]


class _Scope(NamedTuple):
    """The paths that a directive is for: an exact one, those that begin with a prefix, or those of an expression."""

    prefix: str = "/"
    expression: str = ""
    is_exact: bool = False
    any_case: bool = False

    def entry(self, place: Span, text: str, status: int, *, keeps_query: bool = True) -> ForeignRule:
        """Returns the entry of these paths, with our references to what the text inserts; raises `NotConvertible`."""
        names = {*re.findall(r"\(\?P?<(\w+)>", self.expression)}
        text, count = _ARGUMENTS.subn("", _OWN_HOST.sub("", text))

        def reference(variable: re.Match[str]) -> str:
            name = variable[1] or variable[2]
            if (name.isdecimal() and self.expression) or name in names:
                return f"${{{name}}}"
            if name not in _PATHS or self.expression:
                raise NotConvertible(f"it inserts `${name}`")
            return self.prefix if self.is_exact else "/${path}"

        result = _VARIABLE.sub(reference, text)
        if status != 410 and not result.startswith("/") and not _URL.match(result):
            raise NotConvertible("it leads to no path and no URL")
        source = self.expression or (self.prefix if self.is_exact else f"^{exactly(self.prefix)}")
        if "${path}" in result:
            source = f"^/(?P<path>{exactly(self.prefix[1:])}.*)$"
        keeps_query |= bool(count) or "$request_uri" in text or "?" in result  # to a query of its own, none is added
        sample = "" if self.expression else f"{self.prefix}a"
        words = self.is_exact, self.any_case, False, keeps_query
        return ForeignRule(place, source, result, status, *words, sample=sample)

    def unchanged(self, place: Span) -> ForeignRule:
        """Returns the entry of these paths if they are served as they are."""
        return as_is(place, self.entry(place, "", 410).source, is_exact=self.is_exact)


_ANY_PATH = frozenset({"^", ".*", "^.*", "^.*$", "^/", "^/.*$", "(.*)", "^(.*)$", "^/(.*)$"})
_OWN_HOST = re.compile(r"(?:\$scheme|https?)://\$(?:host|http_host|server_name)(?=[/$]|\Z)")
_ARGUMENTS = re.compile(r"(?:\$is_args\$args|\?\$(?:args|query_string))\Z")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_IF_MAPPED = re.compile(r"\(\$(\w+)(?:!=)?\)")
_LOCATION = re.compile(r"(=|~\*|~|\^~|)\s*(.*)", re.DOTALL)
_PATHS = ("uri", "document_uri", "request_uri")


def nginx(*sources: SourceFile) -> Read:
    """Reads files of nginx: the directives of a server, then its locations in the order in which nginx looks at them.

    Several servers would be several targets here: only the one with most redirects is read.
    """
    found = [each for source in sources for each in _directives(source)]
    found = [inner for each in found for inner in (each.block if each.name == "http" else (each,))]
    servers = [each for each in found if each.name == "server"]
    servers.sort(key=lambda server: -server.moves)
    for each in servers[1:]:
        yield left_out(each.place, "it is another server", "convert it alone, for a target with its host")
    reader = _Nginx({each.words[2].lstrip("$"): each for each in found if each.name == "map" and len(each.words) == 3})
    found = [*servers[0].block] if servers else found
    yield from reader.moves(found, _Scope())
    yield from reader.locations([each for each in found if each.name == "location" and len(each.words) > 1])
    for name in reader.maps.keys() - reader.used:
        place = reader.maps[name].place
        yield changed(place, f"no directive here uses `${name}`: its addresses are redirected with 301")
        yield from reader.led(place, _Scope(), f"${name}", 301)


class _Nginx:
    """Reads the directives of one server, with the maps that they may use."""

    def __init__(self, maps: Mapping[str, _Directive]) -> None:
        self.maps = maps
        self.used: set[str] = set()

    def moves(self, block: Sequence[_Directive], scope: _Scope) -> Read:
        """Reads the `rewrite`, `return` and `if` of a block, in their order."""
        for each in block:
            try:
                if each.name == "return":
                    yield from self._return(each, scope)
                elif each.name == "rewrite":
                    yield from self._rewrite(each, scope)
                elif each.name == "if":
                    asked = _IF_MAPPED.fullmatch("".join(each.words[1:]))
                    if asked and asked[1] in self.maps:
                        yield from self.moves(each.block, scope)
                    elif each.moves:
                        yield left_out(each.place, f"it has a condition, `{' '.join(each.words[1:])}`")
                elif each.name == "location" and scope != _Scope() and each.moves:
                    yield left_out(each.place, "it is a location within another")
            except NotConvertible as reason:
                yield left_out(each.place, str(reason), reason.help)

    def locations(self, locations: Sequence[_Directive]) -> Read:
        """Reads locations; one that serves files hides those that nginx looks at later."""
        ranked = []
        kinds = [_LOCATION.findall(" ".join(each.words[1:]))[0] for each in locations]
        firm = tuple(text for kind, text in kinds if kind == "^~")
        for number, (each, (kind, text)) in enumerate(zip(locations, kinds, strict=True)):
            if kind.startswith("~"):
                ranked.append((2, number, each, _Scope("", f"(?i){text}" if kind == "~*" else text)))
            elif not text.startswith("@"):
                rank = 0 if kind == "=" else 1 if firm and text.startswith(firm) else 3
                ranked.append((rank, -len(text), each, _Scope(text, is_exact=kind == "=")))
        waiting: list[ForeignRule] = []
        for _, _, each, scope in sorted(ranked, key=lambda one: one[:2]):
            moved = [*self.moves(each.block, scope)]
            if any(isinstance(one, ForeignRule) for one in moved):
                yield from waiting
                waiting = []
            else:
                waiting.append(scope.unchanged(each.place))
            yield from moved

    def _return(self, each: _Directive, scope: _Scope) -> Read:
        code, text = (*each.words[1:], "")[:2] if each.words[1].isdecimal() else ("302", each.words[1])
        if STATUSES.get(code) in (None, 200):
            raise NotConvertible(f"it answers with {code}")
        if code == "410":
            yield scope.entry(each.place, "", 410)
        else:
            yield from self.led(each.place, scope, text, STATUSES[code], keeps_query=False)

    def _rewrite(self, each: _Directive, scope: _Scope) -> Read:
        expression, text, flag = (*each.words[1:], "")[:3]
        if expression not in _ANY_PATH or re.search(r"\$[0-9]", text):
            if scope != _Scope() and (
                scope.expression or scope.is_exact or not expression.startswith(f"^{scope.prefix}")
            ):
                raise NotConvertible("both its expression and that of its `location` would have to match")
            scope = _Scope("", expression)
        if _URL.match(_OWN_HOST.sub("http://", text)) or flag in ("permanent", "redirect"):
            if "?" in text[:-1] and not text.endswith("?"):
                yield changed(each.place, "a query of the request is not added to its own")
            status, keeps_query = 301 if flag == "permanent" else 302, not text.endswith("?")
            yield from self.led(each.place, scope, text.removesuffix("?"), status, keeps_query=keeps_query)
        elif flag:
            yield scope.entry(each.place, text.partition("?")[0], 200)
        else:
            raise NotConvertible("the directives after it go on with its result")

    def led(self, place: Span, scope: _Scope, text: str, status: int, *, keeps_query: bool = True) -> Read:
        """Reads where paths lead: to one address, or to those of a map."""
        variable = next((each for each in _VARIABLE.finditer(text) if (each[1] or each[2]) in self.maps), None)
        if variable is None:
            yield scope.entry(place, text, status, keeps_query=keeps_query)
            return
        name = variable[1] or variable[2]
        self.used.add(name)
        read = self.maps[name].words[1].lstrip("$")
        if read not in _PATHS or scope != _Scope():
            raise NotConvertible(f"its map reads `${read}`, or it is in a location")
        lines = [each for each in self.maps[name].block if len(each.words) == 2]
        for each in sorted(lines, key=lambda line: (line.name == "default", line.name.startswith("~"))):
            key, value = each.words
            within = _Scope(unquote(key), is_exact=True, any_case=True)
            if key == "default":
                within = scope
            elif key.startswith("~"):
                within = _Scope("", f"(?i){key[2:]}" if key.startswith("~*") else key[1:])
            if key == "include" or (within.is_exact and "?" in key):
                yield left_out(each.place, "it names a file" if key == "include" else "it has a query")
                continue
            try:
                if value:
                    led = text[: variable.start()] + value + text[variable.end() :]
                    yield within.entry(each.place, led, status, keeps_query=keeps_query)
                elif within != scope:
                    yield within.unchanged(each.place)
            except NotConvertible as reason:
                yield left_out(each.place, str(reason), reason.help)


_WORD = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|(\S+)")
_STATUSES = {"permanent": 301, "temp": 302, "seeother": 303, "gone": 410, "": 302}
_LINE = re.compile(r"^[ \t]*(?P<text>[^\s#](?:\\\r?\n|[^\n])*)", re.MULTILINE)
_CONTINUED = re.compile(r"\\\r?\n")
_TRANSPARENT = ("ifmodule", "ifversion", "ifdefine")
_LONG_FLAGS = "REDIRECT=R LAST=L END=L NOCASE=NC GONE=G QSAPPEND=QSA QSDISCARD=QSD NOESCAPE=NE"
_FLAGS = dict(each.split("=") for each in _LONG_FLAGS.split())
_KNOWN_FLAGS = frozenset(_FLAGS.values())
_OWN_SERVER = re.compile(r"https?://%\{(?:HTTP_HOST|SERVER_NAME)\}(?=[/%]|\Z)", re.IGNORECASE)
_REFERENCE = re.compile(r"\\(.)|\$([0-9])|([$%]\{[^}]*\}?|%[0-9])|(\$)")
_NUMBER = re.compile(r"\$\{([0-9])\}")
_NO_FILE = {("%{REQUEST_FILENAME}", "!-f"), ("%{REQUEST_FILENAME}", "!-d")}


class _Rule(NamedTuple):
    """A directive that redirects, with the conditions above it."""

    place: Span
    words: Sequence[str]
    conditions: Sequence[Sequence[str]] = ()


def apache(source: SourceFile) -> Read:
    """Reads a file of Apache: mod_rewrite's rules, which come first, then the redirects of mod_alias.

    Expressions in a `.htaccess` see paths without their first slash, and so do those that do not begin with one.
    """
    conditions: list[Sequence[str]] = []
    rules: list[_Rule] = []
    redirects: list[_Rule] = []
    base = "/"
    for place, words, block in _apache_lines(source):
        name = words[0].lower()
        if block and name.startswith(("redirect", "rewriterule")):
            yield left_out(place, f"it is in `<{block}>`")
        elif name == "rewritecond":
            conditions.append(words[1:])
        elif name == "rewritebase":
            base = words[1]
        elif name == "rewriterule":
            rules.append(_Rule(place, words, tuple(conditions)))
            conditions = []
        elif name.startswith("redirect"):
            redirects.append(_Rule(place, words))
    is_in_directory = Path(source.name).name == ".htaccess"
    for each in (*rules, *redirects):
        own = base if is_in_directory or not each.words[1].startswith(("^/", "/")) else ""
        try:
            yield from _redirect(each) if each in redirects else _rewrite_rule(each, own, is_last=each is rules[-1])
        except (NotConvertible, PatternError) as reason:
            yield left_out(each.place, str(reason), reason.help)
        except patterns.NeverFound:
            message = "never used: no path without its first slash matches it"
            yield remark(OptionOutcome.ADAPTED, each.place, message)


def _apache_lines(source: SourceFile) -> Iterator[tuple[Span, Sequence[str], str]]:
    """Yields each directive, its words, and the block around it that may make it conditional."""
    is_alone = len(re.findall(r"<VirtualHost\b", source.text, re.IGNORECASE)) == 1
    blocks: list[str] = []
    for line in _LINE.finditer(source.text):
        text = line["text"].rstrip()
        words = [
            _ESCAPED.sub(r"\1", each[1] or each[2] or each[3] or "")
            for each in _WORD.finditer(_CONTINUED.sub(" ", text))
        ]
        name = words[0].lower().strip("<>")
        if words[0].startswith("</"):
            del blocks[-1:]
        elif words[0].startswith("<"):
            blocks.append("" if name in _TRANSPARENT or (name == "virtualhost" and is_alone) else name)
        else:
            start = line.start("text")
            if len(words) < _FEWEST_WORDS.get(name, 3 if name.startswith("redirect") else 1):
                place = source.position(start).line
                raise Unreadable(Diagnostic("bad-apache", f"`{source.name}:{place}`: Apache would not read this"))
            yield Span(source, start, start + len(text)), words, next(filter(None, blocks), "")


def _references(text: str) -> str:
    """Returns a result of Apache with our references to groups."""

    def written(found: re.Match[str]) -> str:
        escaped, number, inserted, _ = found.groups()
        if inserted:
            raise NotConvertible(f"it inserts `{inserted}`")
        return f"${{{number}}}" if number else "$$" if escaped in (None, "$") else escaped

    return _REFERENCE.sub(written, text)


def _status(text: str) -> int:
    status = _STATUSES.get(text.lower()) or STATUSES.get(text)
    if status in (None, 200):
        raise NotConvertible(f"it answers with {text}")
    return status


def _flags(rule: _Rule) -> Mapping[str, str]:
    """Returns the flags of a rule by their short names; raises `NotConvertible` if not the path alone decides."""
    pairs = [each.strip().partition("=") for each in "".join(rule.words[3:]).strip("[]").split(",") if each.strip()]
    flags = {_FLAGS.get(name.upper(), name.upper()): value for name, _, value in pairs}
    if unknown := next((name for name in flags if name not in _KNOWN_FLAGS), None):
        raise NotConvertible(f"it has the flag `{unknown}`")
    if rule.words[1].startswith("!"):
        raise NotConvertible("it is for the paths that its expression does not match")
    condition = next((each for each in rule.conditions if tuple(each) not in _NO_FILE), None)
    if condition:
        raise NotConvertible(f"it has a condition, `{' '.join(condition)}`")
    return flags


def _rewrite_rule(rule: _Rule, base: str, *, is_last: bool) -> Read:
    """Reads a RewriteRule: of a directory's file if it has a base."""
    flags, if_missing = _flags(rule), bool(rule.conditions)
    expression, text = rule.words[1], _OWN_SERVER.sub("", rule.words[2])
    is_absolute = text.startswith("/") or bool(_URL.match(text))
    result, query, last = _references(text if is_absolute else f"{base}{text}").partition("?")
    case = "(?i)" if "NC" in flags else ""
    source = patterns.source_here(case + expression, "").text if base else case + expression
    if base and "${0}" in result + last:  # of a whole match, which has a slash more here
        inner = f"^({expression[1:]})" if expression.startswith("^") else f"({expression})"
        source = patterns.source_here(case + inner, "").text
        result, last = (_NUMBER.sub(lambda group: f"${{{int(group[1]) + 1}}}", each) for each in (result, last))
    ends, status = "L" in flags or is_last, 410 if "G" in flags else _status(flags.get("R", ""))
    is_redirect = status != 410 and ("R" in flags or not result.startswith("/"))
    if if_missing and not is_redirect:
        raise NotConvertible("it is for paths without a file")
    if status == 410:
        yield ForeignRule(rule.place, source, "", status)
    elif text == "-" and not is_redirect:
        yield as_is(rule.place, source)
    elif not is_absolute and base != "/":
        raise NotConvertible("its address is relative")
    elif is_redirect:
        if not ends:
            yield changed(rule.place, "in Apache, rules after it without `[L]` go on with its result")
        elif "QSA" in flags and last:
            yield changed(rule.place, "a query of the request is not added to its own")
        led = f"{result}{query if last else ''}{last}"
        led = led if "NE" in flags else led.replace("#", "%23")
        keeps_query = "QSD" not in flags and bool(last or not query)
        yield ForeignRule(rule.place, source, led, status, if_missing=if_missing, keeps_query=keeps_query)
    elif ends:
        yield ForeignRule(rule.place, source, result, 200)
    else:
        raise NotConvertible("the rules after it go on with its result")


def _redirect(rule: _Rule) -> Read:
    """Reads a directive of mod_alias."""
    place, (name, *given), _ = rule
    status = {"redirectpermanent": 301, "redirecttemp": 302}.get(name.lower())
    if status is None:
        is_named = given[0].isdecimal() or given[0].lower() in _STATUSES
        status = _status(given.pop(0)) if is_named else 302
    path, url = (*given, "")[:2]
    if status != 410 and not url.startswith("/") and not _URL.match(url):
        raise NotConvertible("it leads to no path and no URL")
    if name.lower() == "redirectmatch":
        yield ForeignRule(place, path, _references(url), status)
        return
    literal = url.replace("$", "$$")
    if not path.endswith("/"):
        yield ForeignRule(place, path, url, status, is_exact=True)
        literal += "/"
    below = f"^{exactly(path.rstrip('/'))}/"
    rest, result = (below, "") if status == 410 else (f"{below}(?P<rest>.*)$", literal + "${rest}")
    yield ForeignRule(place, rest, result, status, sample=f"{path.rstrip('/')}/a/b")
