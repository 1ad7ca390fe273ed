r"""A rewrite that no test reaches.

A test beside a rewrite says in one line what it is for, and shows the next editor of the file what broke.
For a target without any test there is one finding, unless all its rewrites allow to be without. What no key can reach
is not asked for.

### Avoid

```rules
target site {
    rewrite `^/press/(?P<page>[^/]+)$` -> "/archive/$page"
    rewrite `^/shop/(?P<page>[^/]+)$`  -> "/market/$page"

    test "/press/spring.html" -> "/archive/spring.html"
}
```

### Prefer

```rules
target site {
    rewrite `^/press/(?P<page>[^/]+)$` -> "/archive/$page"
    rewrite `^/shop/(?P<page>[^/]+)$`  -> "/market/$page"

    test "/press/spring.html" -> "/archive/spring.html"
    test "/shop/apples.html"  -> "/market/apples.html"
}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from tornado_proxy.goregex.proofs import Covered, NoKey
from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lang.literals import string_text
from tornado_proxy.lang.tree import Literal, TestStatement
from tornado_proxy.lint.allowances import Allowances
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.subject import Subject, TargetRules
from tornado_proxy.rules.model import Rewrite

NAME = check_name(__name__)
CATEGORY = Category.TESTS
SEVERITY = Severity.INFO

_LONGEST = 200  # characters of a test that anybody would copy


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look for rewrites that take the key of no test, where no mistake has left a test out."""
    if not subject.whole:
        return
    for target in subject.targets:
        if _has_tests(target):
            yield from _untested(target)
        else:
            yield from _without_tests(target, subject.allowances)


def _has_tests(target: TargetRules) -> bool:
    return any(isinstance(each, TestStatement) for block in target.blocks for each in block.statements)


def _without_tests(target: TargetRules, allowances: Allowances) -> Iterator[Diagnostic]:
    """One finding for all rewrites but those that are allowed to be without."""
    asked = [index for index, each in enumerate(target.rewrites) if not allowances.silence(_finding(each))]
    if asked:
        message = f"the target `{target.name}` has no test"
        advice = _suggestion(target, asked[0])
        yield Diagnostic(NAME, message, target.blocks[0].name.span, advice, severity=SEVERITY)


def _untested(target: TargetRules) -> Iterator[Diagnostic]:
    for index, rewrite in enumerate(target.rewrites):
        if rewrite.number not in target.tested and not isinstance(target.reaches[index], Covered | NoKey):
            yield _finding(rewrite, _suggestion(target, index))


def _finding(rewrite: Rewrite, advice: str | None = None) -> Diagnostic:
    return Diagnostic(NAME, "no test reaches this rewrite", rewrite.statement.source.span, advice, severity=SEVERITY)


def _suggestion(target: TargetRules, index: int) -> str:
    """A test to begin with, that says what happens now."""
    key = target.example(index)
    result = None if key is None else target.result(key)
    if key is None or result is None or len(key + result) > _LONGEST:
        return "say with a `test` what becomes of a key"
    span = target.rewrites[index].span
    written = (string_text(Literal(each, span)) for each in (key, result))
    return f"add a test of a real key, such as `test {' -> '.join(written)}`"
