"""Lines of other programs' configurations in a rule file: what they are, and how to write the same here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tornado_proxy.lang.reading import Where
from tornado_proxy.lang.recovery.unexpected import Unexpected

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
_SAME = 'write rewrite `^/old/(.*)$` -> "/new/$1" inside `target NAME { … }`'
_CONDITION = "rules match the key only; test other parts of the request in a `jinja` or `go` template"


@dataclass(frozen=True, slots=True)
class _Language:
    """How another program's lines look, those that may stand between them, and the message for the first."""

    line: re.Pattern[str]
    between: re.Pattern[str]
    fact: str
    advice: Callable[[re.Match[str]], str]


def _rule(found: re.Match[str]) -> str:
    return _CONDITION if found["what"] == "RewriteCond" else _SAME


_LANGUAGES = (
    _Language(_APACHE, _PASSED, "Apache directive `{}` in a rule file", _rule),
    _Language(_NGINX, _PASSED, "nginx directive `{} …;` in a rule file", _rule),
    _Language(_YAML, _YAML_PASSED, "YAML key `{}:` in a rule file", lambda _: _CONVERT),
)


def foreign_lines(unexpected: Unexpected) -> bool:
    """Lines of Apache's or nginx's configuration, or of YAML or JSON: reported once, and skipped."""
    text = unexpected.reading.text
    start = text.rfind("\n", 0, unexpected.start) + 1
    if unexpected.token.type == "LBRACE" and not text[: unexpected.start].strip() and (found := _JSON.match(text)):
        _tell(unexpected, found, f'JSON key `"{found["what"]}":` in a rule file', _CONVERT)
        unexpected.reading.move_to(len(text))
        return True
    if unexpected.where is Where.FILE and (found := _NGINX_BLOCK.match(text, start)) and found.end() > unexpected.start:
        _tell(unexpected, found, f"nginx directive `{found['what']} {{` in a rule file", _SAME)
        unexpected.reading.move_to(_closing(text, found.end()))
        return True
    for language in _LANGUAGES:
        found = language.line.match(text, start)
        if found is not None and found.end() > unexpected.start:
            _tell(unexpected, found, language.fact.format(found["what"]), language.advice(found))
            unexpected.reading.move_to(_end(text, found.end(), language))
            return True
    return False


def _tell(unexpected: Unexpected, found: re.Match[str], message: str, advice: str) -> None:
    """Report the first; the others of its kind are passed over without a word."""
    reading = unexpected.reading
    if not any(each.help == advice for each in reading.diagnostics):
        reading.report("syntax-error", message, found.span("what"), advice)
    if unexpected.where in {Where.REWRITE, Where.TEST, Where.HEADER}:
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
