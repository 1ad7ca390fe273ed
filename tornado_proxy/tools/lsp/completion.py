"""Completions: keywords, names of targets and checks, groups, variables and functions of templates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lark import Token
from lsprotocol.types import CompletionItemKind as Kind

from tornado_proxy.golang.regexp.parser import parse
from tornado_proxy.golang.regexp.syntax import PatternError
from tornado_proxy.lang.diagnostic import SourceFile, Span
from tornado_proxy.lang.literals import literal
from tornado_proxy.lang.parser import Unfinished, unfinished
from tornado_proxy.lang.reading import KEYWORDS, Where
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.rules.model import METHODS

_PLAIN_GROUP = re.compile(r"(?<!\$)(?:\$\$)*\$\{?(?P<word>\w*)\Z")
_ACTION = re.compile(r"(?:\{\{|\{%)(?:(?!\}\}|%\}).)*\Z", re.DOTALL)
_TEXT = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`""", re.DOTALL)
_QUOTE = re.compile(r"""["'`]""")
_JINJA_PATH = re.compile(r"(?P<path>(?:[A-Za-z_]\w*\.)*)(?P<word>\w*)\Z")
_JINJA_KEY = re.compile(r"""\bgroups\[\s*["'](?P<word>[^"']*)\Z""")
_JINJA_FILTER = re.compile(r"\|\s*(?P<word>\w*)\Z")
_JINJA_TEST = re.compile(r"\bis\s+(?:not\s+)?(?P<word>\w*)\Z")
_JINJA_STATEMENT = re.compile(r"\{%[-+]?\s*(?P<word>\w*)\Z")
_GO_PATH = re.compile(r"(?:\$|(?<![\w.)\]]))\.(?P<path>(?:[A-Za-z_]\w*\.)*)(?P<word>\w*)\Z")
_GO_KEY = re.compile(r"""\bindex\s+\$?\.Groups\s+["`](?P<word>[^"`]*)\Z""")
_GO_VARIABLE = re.compile(r"(?P<word>\$\w*)\Z")
_GO_DECLARED = re.compile(r"(\$[A-Za-z_]\w*)(?=\s*(?:,\s*\$\w+\s*)?:=)")
_GO_WORD = re.compile(r"(?<![\w.$])(?P<word>(?:[A-Za-z_]\w*)?)\Z")

_Items = list[tuple[str, Kind, str]]
"""Labels with their kinds and descriptions."""

_NOTHING: tuple[str, _Items] = ("", [])


def _template_items(dialect: Dialect, text: str, names: Sequence[str]) -> tuple[str, _Items]:
    """Returns the unfinished word at the end of a template's text, and its possible replacements.

    `names` are the groups of the source.
    """
    if dialect is Dialect.PLAIN:
        found = _PLAIN_GROUP.search(text)
        return (found["word"], _groups(names)) if found else _NOTHING
    action = _ACTION.search(text)
    if action is None:
        return _NOTHING
    if _QUOTE.search(_TEXT.sub("", action[0])):  # a string is open
        key = (_JINJA_KEY if dialect is Dialect.JINJA else _GO_KEY).search(action[0])
        return (key["word"], _groups(names)) if key else _NOTHING
    return _in_jinja(action[0], names) if dialect is Dialect.JINJA else _in_go(action[0], text, names)


def _items(labels: Iterable[str], kind: Kind, detail: str) -> _Items:
    return [(label, kind, detail) for label in labels]


def _groups(names: Iterable[str]) -> _Items:
    return _items(names, Kind.Variable, "group of the source")


def _in_jinja(action: str, names: Sequence[str]) -> tuple[str, _Items]:
    from tornado_proxy.templates.jinja.filters import FILTERS, TESTS  # noqa: PLC0415 - Jinja2, for such a template only
    from tornado_proxy.templates.jinja.source import CLOSED, STATEMENTS  # noqa: PLC0415 - the same

    if statement := _JINJA_STATEMENT.fullmatch(action):
        words = (*STATEMENTS, *(f"end{name}" for name in CLOSED))
        return statement["word"], _items(words, Kind.Keyword, "statement")
    if piped := _JINJA_FILTER.search(action):
        return piped["word"], _items(sorted(FILTERS), Kind.Function, "filter")
    if tested := _JINJA_TEST.search(action):
        return tested["word"], _items(sorted(TESTS), Kind.Function, "test")
    found = _JINJA_PATH.search(action)
    assert found, "the expression matches an empty text"
    return found["word"], _after(Dialect.JINJA, "groups", found["path"], names)


def _in_go(action: str, text: str, names: Sequence[str]) -> tuple[str, _Items]:
    if path := _GO_PATH.search(action):
        return path["word"], _after(Dialect.GO, "Groups", path["path"], names)
    if variable := _GO_VARIABLE.search(action):
        declared = dict.fromkeys(_GO_DECLARED.findall(text))
        return variable["word"], _items(declared, Kind.Field, "declared above")
    word = _GO_WORD.search(action)
    if word is None:
        return _NOTHING
    from tornado_proxy.templates.go.template import vocabulary  # noqa: PLC0415 - for such a template only

    found = [(f".{name}", Kind.Field, detail) for name, detail in fields(Dialect.GO, "")]
    return word["word"], found + _items(sorted(vocabulary().functions), Kind.Function, "function")


def _after(dialect: Dialect, groups: str, dotted: str, names: Iterable[str]) -> _Items:
    """Returns the fields of the variable before the last dot."""
    path = dotted.removesuffix(".")
    found = [(name, Kind.Field, detail) for name, detail in fields(dialect, path)]
    return _groups(name for name in names if not name.isdecimal()) + found if path == groups else found


@dataclass(frozen=True, slots=True)
class Completion:
    """A text that may replace `span`; `snippet` is the same with placeholders (LSP 3.17, snippets)."""

    label: str
    kind: Kind
    span: Span
    detail: str = ""
    manual: str = ""
    snippet: str = ""


_WORDS: Mapping[str, tuple[str, str]] = {
    "TARGET": ("the rewrites and tests of one target", "target ${1:name} {\n    $0\n}"),
    "REWRITE": ("replaces a key that the source matches with the result of the template", 'rewrite `^/$1$` -> "/$2"'),
    "TEST": ("the expected result of a key", 'test "/$1" -> "/$2"'),
    "JINJA": ("a Jinja2 template", 'jinja "$1"'),
    "GO": ("a template of Go's text/template, as in s3-proxy", 'go "$1"'),
    "UNCHANGED": ("no rewrite matches", ""),
    "ERROR": ("the result is refused, or the template fails", ""),
    "AS": ("who is signed in", 'as "$1"'),
    "METHOD": ("GET, HEAD, PUT or DELETE", ""),
    "HOST": ("the host of the request", 'host "$1"'),
    "HEADER": ("a header of the request", 'header "$1" "$2"'),
    "USER_GROUPS": ("the user's groups, separated by commas", 'user-groups "$1"'),
    "EMAIL": ("the user's address", 'email "$1"'),
}
# Text after the cursor, which is not proposed again.
_FILLED = re.compile(r"""[ \t]*["`{]""")
_BEFORE_ARROW = re.compile(r"[ \t]*->")
_BEFORE_BRACE = re.compile(r"\w*\}")
_OPEN_BRACE = re.compile(r"\{\w*\Z")
_NAMED = re.compile(r"\(\?P?<(\w+)>")
_WORD = re.compile(r"[A-Za-z_](?:[\w.]|-(?!>))*\Z")
_ALLOWING = re.compile(r"#\s*allow(?:-file)?\s*:(?:[^(]*[\s,:])?(?P<word>[^\s,:(]*)\Z")
_COMMENT_WORD = re.compile(r"#\s*(?P<word>[a-z-]*)\Z")


def completions(source: SourceFile, offset: int, targets: Iterable[str] = ()) -> list[Completion]:
    """Returns the completions at an offset of a file; `targets` are the known names."""
    word = _WORD.search(source.text, 0, offset)
    found = unfinished(source, offset)
    if found.open is None:
        start = word.start() if word else offset
        before = unfinished(source, start) if word else found
        return list(_at_word(before, Span(source, start, offset), targets))
    if found.open.type == "COMMENT":
        return list(_in_comment(source, found.open, offset))
    return list(_in_string(source, found, offset))


def _at_word(before: Unfinished, span: Span, targets: Iterable[str]) -> Iterator[Completion]:
    last = before.begun[-1].type if before.begun else ""
    if before.where is Where.HEADER and last == "TARGET":
        yield from (Completion(name, Kind.Module, span, "target") for name in dict.fromkeys(targets))
    elif last == "METHOD":
        yield from (Completion(method, Kind.Value, span) for method in METHODS)
    filled = _FILLED.match(span.source.text, span.end)
    for terminal, (detail, snippet) in _WORDS.items():
        if terminal in before.accepts:
            yield Completion(KEYWORDS[terminal], Kind.Keyword, span, detail, snippet="" if filled else snippet)
    arrow = _BEFORE_ARROW.match(span.source.text, span.end)
    if "ARROW" in before.accepts and span.start == span.end and not arrow:
        yield Completion("->", Kind.Keyword, span)


def _in_comment(source: SourceFile, comment: Token, offset: int) -> Iterator[Completion]:
    start = comment.start_pos or 0
    text = source.text[start:offset]
    if name := _ALLOWING.match(text):
        span = Span(source, start + name.start("word"), offset)
        yield from (Completion(each.name, Kind.EnumMember, span, each.summary, each.manual) for each in CHECKS)
    elif word := _COMMENT_WORD.match(text):
        span = Span(source, start + word.start("word"), offset)
        yield Completion("allow:", Kind.Keyword, span, "silence checks for the statement or block")
        yield Completion("allow-file:", Kind.Keyword, span, "silence checks for the file")


def _in_string(source: SourceFile, found: Unfinished, offset: int) -> Iterator[Completion]:
    """Yields completions within a template; other strings have no completions."""
    kinds = [token.type for token in found.begun]
    if found.where is not Where.REWRITE or "ARROW" not in kinds or found.open is None:
        return
    dialect = {"JINJA": Dialect.JINJA, "GO": Dialect.GO}.get(kinds[-1], Dialect.PLAIN)
    if dialect is Dialect.PLAIN and kinds[-1] != "ARROW":
        return
    start = (found.open.start_pos or 0) + 1
    text = source.text[start:offset]
    if source.text[start - 1] == '"':
        text = text.replace('\\"', '"')
    pattern, _ = literal(source, found.begun[kinds.index("ARROW") - 1])
    names = group_names(pattern.value)
    if dialect is Dialect.PLAIN and _OPEN_BRACE.search(text) and not _BEFORE_BRACE.match(source.text, offset):
        names = [f"{name}}}" for name in names]
    word, items = _template_items(dialect, text, names)
    for label, kind, detail in items:
        yield Completion(label, kind, Span(source, offset - len(word), offset), detail)


def group_names(source: str) -> Sequence[str]:
    """Returns the names of the groups of a source, or numbers of groups without a name."""
    try:
        names = parse(source).names
    except PatternError:
        # Only these are certain in an unfinished source.
        return list(dict.fromkeys(_NAMED.findall(source)))
    return list(dict.fromkeys(name or str(number) for number, name in enumerate(names, start=1)))


JINJA: Mapping[str, str] = {
    "user": "the user who is signed in; none without one",
    "user.username": "the name; always one segment of a key",
    "user.kind": "how the user signed in: `BASIC`, `HEADER`, `OIDC` or `CERTIFICATE`",
    "user.email": "the e-mail address, empty if unknown",
    "user.groups": "the groups that the user is in",
    "user.name": "the full name, empty if unknown",
    "user.given_name": "the given name, empty if unknown",
    "user.family_name": "the family name, empty if unknown",
    "user.email_verified": "whether the provider vouches for the address",
    "request": "the request",
    "request.method": "`GET`, `HEAD`, `PUT` or `DELETE`",
    "request.host": "the host of the request",
    "request.path": "the whole path, decoded, mount included",
    "request.scheme": "`http` or `https`",
    "request.remote_address": "the address that the request came from",
    "request.query": "the query's parameters by name, the first value of each",
    "request.headers": "the headers by name, in any case, the first value of each",
    "target": "the target",
    "target.name": "its name",
    "target.bucket": "its bucket",
    "target.bucket.name": "the bucket's name",
    "target.bucket.prefix": "the bucket's prefix, which no key has yet",
    "target.bucket.region": "the bucket's region",
    "target.mount": "its mount",
    "target.mount.host": "the host pattern of its mount",
    "target.mount.path": "the paths of its mount",
    "key": "the key before the rewrite, with its leading slash",
    "groups": "the texts of the groups of the source, by name and by number",
}

GO: Mapping[str, str] = {
    "User": "the user who is signed in; nil without one",
    "User.GetEmail": "the e-mail address, empty if unknown",
    "User.GetFamilyName": "the family name, empty if unknown",
    "User.GetGivenName": "the given name, empty if unknown",
    "User.GetGroups": "the groups that the user is in",
    "User.GetIdentifier": "the name, or else the e-mail address",
    "User.GetName": "the full name, empty if unknown",
    "User.GetType": "how the user signed in: `BASIC`, `HEADER`, `OIDC` or `CERTIFICATE`",
    "User.GetUsername": "the name; always one segment of a key",
    "User.IsEmailVerified": "whether the provider vouches for the address",
    "User.Username": "the name, of users with a password and of those from headers",
    "User.PreferredUsername": "the name, of users from an OpenID provider",
    "User.Email": "the e-mail address, of users from headers or an OpenID provider",
    "User.Groups": "the groups, of users from headers or an OpenID provider",
    "User.Name": "the full name, of users from an OpenID provider",
    "User.GivenName": "the given name, of users from an OpenID provider",
    "User.FamilyName": "the family name, of users from an OpenID provider",
    "User.EmailVerified": "whether the OpenID provider vouches for the address",
    "Request": "the request, as Go's `*http.Request`",
    "Request.Method": "`GET`, `HEAD`, `PUT` or `DELETE`",
    "Request.URL": "the path and the query",
    "Request.URL.EscapedFragment": "the fragment, percent-encoded; empty",
    "Request.URL.EscapedPath": "the path, percent-encoded",
    "Request.URL.Hostname": "the host of the URL without its port; empty",
    "Request.URL.IsAbs": "whether the URL has a scheme; false",
    "Request.URL.Port": "the port of the URL; empty",
    "Request.URL.Query": "the query's parameters, a list of values for each",
    "Request.URL.RequestURI": "the path and the query, as sent",
    "Request.URL.String": "the URL as a text",
    "Request.URL.Scheme": "the URL's scheme; empty",
    "Request.URL.Opaque": "the URL's opaque part; empty",
    "Request.URL.User": "the URL's user; nil",
    "Request.URL.Host": "the URL's host; empty",
    "Request.URL.Path": "the whole path, decoded, mount included",
    "Request.URL.Fragment": "the URL's fragment; empty",
    "Request.URL.RawQuery": "the query as sent, without `?`",
    "Request.URL.RawPath": "the path as sent, if that differs from the usual form; empty",
    "Request.URL.RawFragment": "the fragment as sent; empty",
    "Request.URL.ForceQuery": "whether the URL ends in `?` without a query; false",
    "Request.URL.OmitHost": "whether the URL has an empty host; false",
    "Request.FormValue": 'the first value of a query\'s parameter: `.Request.FormValue "name"`',
    "Request.ProtoAtLeast": "whether the protocol is that new: `.Request.ProtoAtLeast 1 1`",
    "Request.Referer": "the header `Referer`",
    "Request.UserAgent": "the header `User-Agent`",
    "Request.Proto": "`HTTP/1.1`",
    "Request.ProtoMajor": "1",
    "Request.ProtoMinor": "1",
    "Request.Header": 'the headers, a list of values for each: `.Request.Header.Get "X-Team"`',
    "Request.Host": "the host of the request",
    "Request.RemoteAddr": "the address that the request came from",
    "Request.RequestURI": "the path and the query, as sent",
    "Request.TLS": "the state of TLS; nil for plain HTTP",
    "Target": "the target",
    "Target.Name": "its name",
    "Target.Bucket": "its bucket",
    "Target.Bucket.Name": "the bucket's name",
    "Target.Bucket.Prefix": "the bucket's prefix, which no key has yet",
    "Target.Bucket.Region": "the bucket's region",
    "Target.Bucket.S3Endpoint": "the endpoint of the bucket",
    "Target.Bucket.S3ListMaxKeys": "the number of keys per request of a listing",
    "Target.Bucket.DisableSSL": "whether the bucket is reached without TLS",
    "Target.Mount": "its mount",
    "Target.Mount.Host": "the host pattern of its mount",
    "Target.Mount.Path": "the paths of its mount",
    "Key": "the key before the rewrite, with its leading slash",
    "Groups": "the texts of the groups of the source, by name and by number",
}

BY_DIALECT: Mapping[Dialect, Mapping[str, str]] = {Dialect.PLAIN: {}, Dialect.JINJA: JINJA, Dialect.GO: GO}
"""The variables of each dialect."""


def fields(dialect: Dialect, path: str) -> Iterator[tuple[str, str]]:
    """Yields the fields of the variable at a path, or all variables for an empty path, each with its description."""
    for each, words in BY_DIALECT[dialect].items():
        parent, _, name = each.rpartition(".")
        if parent == path:
            yield name, words
