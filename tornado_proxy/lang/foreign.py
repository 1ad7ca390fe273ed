"""Text of other languages in a rule file: lines of other programs' configurations, comments, and terminators."""

from __future__ import annotations

import re

from tornado_proxy.lang.reading import Where
from tornado_proxy.lang.unexpected import Unexpected, line_start

_CONVERT = (
    "`tornado-proxy convert s3-proxy` makes rule files of a `keyRewriteList`; a configuration is given by `--config`"
)
_SAME = 'write rewrite `^/old/(.*)$` -> "/new/$1" inside `target NAME { … }`'
_CONDITION = "rules match the key only; test other parts of the request in a `jinja` or `go` template"
_YAML_KEYS = r"targets?|keyRewriteList|authProviders|listTargets|internalServer|server|targetType|source|rules|log"

_REST = r"[ \t]*(?:#[^\n]*)?\r?$"

# Lines of other programs' configurations: what they are, and how to write the same here.
_FOREIGN = tuple(
    (re.compile(rf"[ \t]*{line}", re.MULTILINE), message, advice)
    for line, message, advice in (
        (r"(?P<what>RewriteCond)[ \t]+\S[^\n]*", "Apache directive `{}` in a rule file", _CONDITION),
        (
            r"(?P<what>Rewrite(?:Rule|Engine|Base|Map|Options)|Redirect(?:Match|Permanent|Temp)?)[ \t]+\S[^\n]*",
            "Apache directive `{}` in a rule file",
            _SAME,
        ),
        (
            rf'(?P<what>rewrite|return)[ \t]+(?:"[^"\n]*"|[^\s`"]\S*)(?:[ \t]+[^\s`"=-]\S*?){{0,2}}[ \t]*;{_REST}',
            "nginx directive `{} …;` in a rule file",
            _SAME,
        ),
        (r"(?P<what>http|server|location)\b[^\n{};\"`]*\{", "nginx directive `{} {{` in a rule file", _SAME),
        (rf"(?:-[ \t]+)?(?P<what>{_YAML_KEYS})[ \t]*:(?:[ \t][^\n]*)?$", "YAML key `{}:` in a rule file", _CONVERT),
        (r"\{\s*\"(?P<what>\w+)\"\s*:", 'JSON key `"{}":` in a rule file', _CONVERT),
    )
)


def foreign_line(unexpected: Unexpected) -> bool:
    """A line of another program's configuration: reported once for each kind; outside of blocks the rest is one too."""
    reading, start = unexpected.reading, line_start(unexpected.reading.text, unexpected.start)
    for line, message, advice in _FOREIGN:
        match = line.match(reading.text, start)
        if match is None or match.end() <= unexpected.start:
            continue
        if not any(each.help == advice for each in reading.diagnostics):
            reading.report("syntax-error", message.format(match["what"]), match.span("what"), advice)
        if unexpected.where is not Where.BLOCK:
            reading.cut_back()
        outside = unexpected.where in {Where.FILE, Where.HEADER}
        unexpected.pass_over(len(reading.text) if outside else match.end())
        return True
    return False


# Text to pass over: what it is called, and what to do about it.
_PASSED = (
    (
        re.compile(r"^(?P<what><{7}|\|{7}|={7}|>{7})(?:[ \r][^\n]*)?$", re.MULTILINE),
        "merge conflict marker `{}`",
        "resolve the conflict and remove its markers",
    ),
    (
        # The end of a comment that is further away belongs to something else.
        re.compile(r"(?P<what>//|--|/\*)(?:(?<=/\*)[\s\S]{0,10000}?\*/|[^\n]*)"),
        "`{}` does not begin a comment",
        "a comment begins with `#` and runs to the end of its line",
    ),
    (re.compile(r"(?P<what>;)[;]*"), "unexpected `{}`", "remove it: statements need no terminator"),
)


def passed_over(unexpected: Unexpected) -> bool:
    """A mark of a merge conflict, a comment as other languages write it, or a terminator."""
    pattern_fits = not unexpected.accepts.isdisjoint({"STRING", "ARROW"})
    for pattern, message, advice in _PASSED:
        match = pattern.match(unexpected.reading.text, unexpected.start)
        if match and not (pattern_fits and match[0].startswith(("/", "-"))):
            unexpected.reading.report("syntax-error", message.format(match["what"]), match.span("what"), advice)
            unexpected.reading.move_to(match.end())
            return True
    return False
