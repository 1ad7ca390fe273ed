"""Lines of other programs' configurations, pasted into a rule file: what they are, and what says the same here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tornado_proxy.lang.reading import Where
from tornado_proxy.lang.recovery.trouble import Trouble

_APACHE = re.compile(
    r"[ \t]*(?P<what>Rewrite(?:Rule|Cond|Engine|Base|Map|Options)|Redirect(?:Match|Permanent|Temp)?)[ \t]+\S[^\n]*"
)
_NGINX = re.compile(
    r"[ \t]*(?P<what>rewrite|return)[ \t]+(?:\"[^\"\n]*\"|[^\s`\"]\S*)(?:[ \t]+[^\s`\"=-]\S*?)?"
    r"(?:[ \t]+(?:last|break|redirect|permanent))?[ \t]*;[ \t]*(?:#[^\n]*)?(?=\r?\n|\Z)"
)
_NGINX_BLOCK = re.compile(r"[ \t]*(?P<what>http|server|location)\b[^\n{};\"`]*\{")
_BRACE = re.compile(r"[{}]")
_YAML_KEYS = r"targets|keyRewriteList|authProviders|listTargets|internalServer|server|targetType|source|rules|log"
_YAML = re.compile(rf"[ \t]*(?:-[ \t]+)?(?P<what>{_YAML_KEYS})[ \t]*:(?:[ \t][^\n]*)?$", re.MULTILINE)
_JSON = re.compile(r"\s*\{\s*\"(?P<what>\w+)\"\s*:[\s\S]*")

_PASSED = re.compile(r"[ \t]*(?:#[^\n]*)?")
_YAML_PASSED = re.compile(
    r"[ \t]*(?:-(?:[ \t][^\n]*)?|[\"']?[\w.-]+[\"']?[ \t]*:(?:[ \t][^\n]*)?|#[^\n]*)?$", re.MULTILINE
)

_CONVERT = (
    "`tornado-proxy convert s3-proxy` makes rule files of a `keyRewriteList`; a configuration is given by `--config`"
)
_SAME = 'a rule is written rewrite `^/old/(.*)$` -> "/new/$1", within `target NAME { … }`'
_CONDITION = "a rule sees the key alone; what depends on the request is asked for in a `jinja` or `go` template"


@dataclass(frozen=True, slots=True)
class _Language:
    """How another program's lines look, those that may stand between them, and what is said of the first."""

    line: re.Pattern[str]
    between: re.Pattern[str]
    fact: str
    cure: Callable[[re.Match[str]], str]


def _rule(found: re.Match[str]) -> str:
    return _CONDITION if found["what"] == "RewriteCond" else _SAME


_LANGUAGES = (
    _Language(_APACHE, _PASSED, "`{}` is a directive of Apache", _rule),
    _Language(_NGINX, _PASSED, "`{} …;` is a directive of nginx", _rule),
    _Language(_YAML, _YAML_PASSED, "`{}:` is YAML, and this is a rule file", lambda _: _CONVERT),
)


def foreign_lines(trouble: Trouble) -> bool:
    """Lines of Apache's or nginx's configuration, or of YAML or JSON: told once, and passed over."""
    text = trouble.reading.text
    start = text.rfind("\n", 0, trouble.start) + 1
    if trouble.token.type == "LBRACE" and not text[: trouble.start].strip() and (found := _JSON.match(text)):
        _tell(trouble, found, f'`"{found["what"]}":` is JSON, and this is a rule file', _CONVERT)
        trouble.reading.move_to(len(text))
        return True
    if trouble.where is Where.FILE and (found := _NGINX_BLOCK.match(text, start)) and found.end() > trouble.start:
        _tell(trouble, found, f"`{found['what']} {{` is a directive of nginx", _SAME)
        trouble.reading.move_to(_closing(text, found.end()))
        return True
    for language in _LANGUAGES:
        found = language.line.match(text, start)
        if found is not None and found.end() > trouble.start:
            _tell(trouble, found, language.fact.format(found["what"]), language.cure(found))
            trouble.reading.move_to(_end(text, found.end(), language))
            return True
    return False


def _tell(trouble: Trouble, found: re.Match[str], message: str, cure: str) -> None:
    """Report the first; the others of its kind are passed over without a word."""
    reading = trouble.reading
    if not any(each.help == cure for each in reading.diagnostics):
        reading.report("syntax-error", message, found.span("what"), cure)
    if trouble.where in {Where.REWRITE, Where.TEST, Where.HEADER}:
        reading.cut_back()


def _end(text: str, end: int, language: _Language) -> int:
    """Where the last line of a language ends that follows one that ends here, with what stands between them."""
    last = end
    while end < len(text):
        line = language.line.match(text, end + 1) or language.between.match(text, end + 1)
        if line is None or (line.end() < len(text) and text[line.end()] != "\n"):
            break
        end = line.end()
        last = end if line.group().strip() else last
    return last


def _closing(text: str, offset: int) -> int:
    """Where the block ends that has been opened before an offset; at last the end."""
    depth = 1
    for brace in _BRACE.finditer(text, offset):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return brace.end()
    return len(text)
