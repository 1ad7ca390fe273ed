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

from tornado_proxy.goregex.alphabet import Budget
from tornado_proxy.goregex.language import language
from tornado_proxy.goregex.proofs import Example, overlap
from tornado_proxy.goregex.syntax import Alternation, Node, Text
from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.findings import shown
from tornado_proxy.lint.shapes import edge_part, ends_anchored, head, is_address, open_end, tail
from tornado_proxy.lint.subject import Subject, TargetRules
from tornado_proxy.rules.model import objection

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
        for index, source in enumerate(target.languages):
            rewrite = target.rewrites[index]
            ending = "" if is_address(head(rewrite)) else tail(rewrite)
            # A source that does not say where a key ends has a finding of its own, and this one may go with it.
            if source.tree is not None and not open_end(source.tree):
                if ending.endswith("/"):
                    yield from _to_directory(target, index, _taken(target, index, budget, files=True))
                elif _FILE_NAME.search(ending) and _may_end_in_a_slash(source.tree):
                    yield from _to_file(target, index, _taken(target, index, budget, files=False))


def _may_end_in_a_slash(tree: Node) -> bool:
    """Whether keys of directories may match, as far as can be seen without a proof."""
    return not ends_anchored(tree) or _may_be_a_slash(edge_part(tree, last=True))


def _may_be_a_slash(last: Node | None) -> bool:
    if isinstance(last, Alternation):
        return any(_may_be_a_slash(edge_part(branch, last=True)) for branch in last.branches)
    return not isinstance(last, Text) or last.characters.endswith("/")


def _taken(target: TargetRules, index: int, budget: Budget, *, files: bool) -> str | None:
    """A key of a kind that a rewrite takes."""
    example = target.example(index)
    for guessed in (example, f"{example}{'a' if files else '/'}") if example else ():
        if guessed.endswith("/") is not files and target.taker(guessed) == index and not objection(guessed):
            return guessed
    kind = _FILES if files else _DIRECTORIES
    answer = overlap(target.languages[index], kind, budget.portion(budget.left))
    return answer.key if isinstance(answer, Example) and target.taker(answer.key) == index else None


def _to_directory(target: TargetRules, index: int, key: str | None) -> Iterator[Diagnostic]:
    if key is not None:
        message = f"the file {shown(key)} becomes {_result(target, key)}, which is not found as a file"
        advice = "leave out the closing `/` of the result, or let the source end in `/$`"
        yield _finding(target, index, message, advice)


def _to_file(target: TargetRules, index: int, key: str | None) -> Iterator[Diagnostic]:
    if key is not None:
        message = f"the directory {shown(key)} becomes {_result(target, key)}, which stays a directory"
        advice = "lead to a directory, whose index document the target names, or let the source end in `[^/]$`"
        yield _finding(target, index, message, advice)


def _result(target: TargetRules, key: str) -> str:
    result = target.result(key)
    return "another key" if result is None else shown(result)


def _finding(target: TargetRules, index: int, message: str, advice: str) -> Diagnostic:
    span = target.rewrites[index].statement.template.span
    return Diagnostic(NAME, message, span, advice, severity=SEVERITY)
