r"""A template whose result is always refused.

No result may be empty, have `.` or `..` as a segment, or hold a control character: a request for such a key gets
400. A template that cannot make another result is of no use. Nothing is reported where a test expects the error.

### Avoid

```rules
target site {
    rewrite `^/press/(?P<page>[^/]+)$` -> "/archive/../old/$page"  # allow: untested-rewrite
}
```

### Prefer

```rules
target site {
    rewrite `^/press/(?P<page>[^/]+)$` -> "/old/$page"
    rewrite `^/drafts/`                -> ""

    test "/press/a.html"  -> "/old/a.html"
    test "/drafts/a.html" -> error
}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lang.tree import Dialect, Verdict
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.shapes import constant
from tornado_proxy.lint.subject import Subject, TargetRules
from tornado_proxy.rules.model import Rewrite, objection, path_objection

NAME = check_name(__name__)
CATEGORY = Category.MISTAKES
SEVERITY = Severity.ERROR

_HELP = "write the key of the object that is to be served; where refusing is meant, a test that expects `error` says so"


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look at results that are known, and at what is known of others."""
    for target in subject.targets:
        for rewrite in target.rewrites:
            reason = _objection(rewrite)
            if reason is not None and not _is_expected(target, rewrite):
                span = rewrite.statement.template.span
                yield Diagnostic(NAME, f"the result is always refused: it {reason}", span, _HELP, severity=SEVERITY)


def _objection(rewrite: Rewrite) -> str | None:
    """Why no result of a rewrite can be a key; None where one may be."""
    text = constant(rewrite)
    if text is not None:
        return objection(text if text.startswith("/") else f"/{text}") if text else "is empty"
    return path_objection(_filled(rewrite)) if rewrite.dialect is Dialect.PLAIN else None


def _filled(rewrite: Rewrite) -> str:
    """A plain template with something harmless in its holes: what is wrong with it then no group can mend."""
    text = "/"
    end = 0
    for _, start, following in rewrite.template.group_references:
        text += f"{rewrite.template.text[end:start]}x"
        end = following
    return text + rewrite.template.text[end:]


def _is_expected(target: TargetRules, rewrite: Rewrite) -> bool:
    return any(each.test.expected is Verdict.ERROR for each in target.tested.get(rewrite.number, ()))
