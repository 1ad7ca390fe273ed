r"""A rewrite that makes a directory of a file, or a file of a directory.

Whether a request is for a directory is decided by its path: it ends in `/`. A file's key that becomes one with a
closing slash is never found: GET answers 404, PUT 403. A directory's key stays one, so a source such as `^/docs/$` that
leads to `/docs/index.html` asks for what lies below `/docs/index.html/`. The index document of a directory is a setting
of the target, not the work of a rewrite.

### Avoid

```rules
target site {
    rewrite `^/docs/$` -> "/manual/index.html"

    test "/docs/" -> "/manual/index.html/"
}
```

### Prefer

```rules
target site {
    rewrite `^/docs/$` -> "/manual/"

    test "/docs/" -> "/manual/"
}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lint.automata import Budget, Example, language, overlap
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.results import tail
from tornado_proxy.lint.subject import Subject, TargetRules
from tornado_proxy.rules.model import Rewrite

NAME = check_name(__name__)
CATEGORY = Category.DOUBTS
SEVERITY = Severity.WARNING

STEPS = 300_000
"""What the proofs about one target may cost together."""

_FILES, _DIRECTORIES = language("[^/]$"), language("/$")
# The last segment of a file's key, as far as anybody can tell.
_FILE_NAME = re.compile(r"[^/]\.[A-Za-z0-9]{1,8}$")


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look for keys of the one kind whose results are certainly of the other."""
    for target in subject.targets:
        budget = Budget(STEPS)
        for index, rewrite in enumerate(target.rewrites):
            ending = tail(rewrite)
            if ending.endswith("/"):
                key = _taken(target, index, files=True, budget=budget)
                yield from _to_directory(rewrite, key)
            elif _FILE_NAME.search(ending):
                key = _taken(target, index, files=False, budget=budget)
                yield from _to_file(rewrite, key, ending)


def _taken(target: TargetRules, index: int, *, files: bool, budget: Budget) -> str | None:
    """A key of a kind that a rewrite takes."""
    guessed = target.example(index)
    if guessed and guessed.endswith("/") is not files:
        return guessed
    kind = _FILES if files else _DIRECTORIES
    answer = overlap(target.languages[index], kind, budget.portion(budget.left))
    return answer.key if isinstance(answer, Example) and target.taker(answer.key) == index else None


def _to_directory(rewrite: Rewrite, key: str | None) -> Iterator[Diagnostic]:
    if key is not None:
        message = f"the file `{key}` becomes a directory, which is not found as a file"
        cure = "leave out the closing `/` of the result, or let the source end in `/$`"
        yield Diagnostic(NAME, message, rewrite.statement.template.span, cure, severity=SEVERITY)


def _to_file(rewrite: Rewrite, key: str | None, ending: str) -> Iterator[Diagnostic]:
    if key is not None:
        last = ending.rpartition("/")[2]
        message = f"the directory `{key}` stays one: the result is a directory `{last}/`"
        cure = "lead to a directory, whose index document the target names; or let the source end in `[^/]$`"
        yield Diagnostic(NAME, message, rewrite.statement.template.span, cure, severity=SEVERITY)
