r"""A rewrite whose result is always the key that it took.

It changes nothing, and nothing that comes after it either. Where it keeps a key from a later rewrite it does have an
effect, and is not reported.

### Avoid

```rules
target site {
    rewrite `^/press/(?P<page>[^/]+)$` -> "/press/$page"

    test "/press/spring.html" -> "/press/spring.html"
}
```

### Prefer

```rules
target site {
    rewrite `^/press/draft\.html$`     -> "/press/draft.html"
    rewrite `^/press/(?P<page>[^/]+)$` -> "/archive/$page"

    test "/press/draft.html"  -> "/press/draft.html"
    test "/press/spring.html" -> "/archive/spring.html"
}
```
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tornado_proxy.goregex.alphabet import Budget
from tornado_proxy.goregex.language import Language
from tornado_proxy.goregex.proofs import Neighbours, NoKey, overlap
from tornado_proxy.goregex.syntax import Assertion, Group, Node, Sequence, Text
from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.shapes import ends_anchored, starts_anchored, takes_anything
from tornado_proxy.lint.subject import Subject, TargetRules
from tornado_proxy.rules.model import Rewrite
from tornado_proxy.templates.template import group_number

NAME = check_name(__name__)
CATEGORY = Category.DOUBTS
SEVERITY = Severity.WARNING

STEPS = 300_000
"""What the proofs about one target may cost together."""

_Pieces = list[str | int]
"""Text, and the numbers of groups, in turn."""


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look for plain templates that say again what their sources say, and shield no key."""
    for target in subject.comparable:
        idle = {index for index, language in enumerate(target.languages) if _repeats(target.rewrites[index], language)}
        for index in sorted(idle - _shielding(target, idle)):
            message = "the result is always the key itself"
            advice = "delete it, or put it above the rewrite whose keys it is to keep"
            yield Diagnostic(NAME, message, target.rewrites[index].span, advice, severity=SEVERITY)


def _repeats(rewrite: Rewrite, source: Language) -> bool:
    tree = source.tree
    if tree is None or rewrite.dialect is not Dialect.PLAIN or not starts_anchored(tree):
        return False
    parts = tree.parts if isinstance(tree, Sequence) else (tree,)
    if not (ends_anchored(tree) or (parts and takes_anything(_opened(parts[-1])))):
        return False
    written = _written(rewrite)
    return written in ([0], _said(parts))


def _opened(node: Node) -> Node:
    return node.body if isinstance(node, Group) else node


def _said(parts: tuple[Node, ...]) -> _Pieces | None:
    """What a source reads, where it is made of certain characters and of groups."""
    pieces: _Pieces = []
    for part in parts:
        match part:
            case Assertion():
                continue
            case Text(folded=False):
                _add(pieces, part.characters)
            case Group(number=int() as number):
                pieces.append(number)
            case _:
                return None
    return pieces


def _written(rewrite: Rewrite) -> _Pieces:
    """What a plain template writes; a group that does not exist is empty."""
    text = rewrite.template.text
    pieces: _Pieces = []
    end = 0
    for name, start, following in rewrite.template.group_references:
        _add(pieces, text[end:start])
        number = rewrite.pattern.names.get(name, group_number(name))
        if number is not None:
            pieces.append(number)
        end = following
    _add(pieces, text[end:])
    return pieces


def _add(pieces: _Pieces, text: str) -> None:
    if not text:
        return
    if pieces and isinstance(pieces[-1], str):
        pieces[-1] += text
    else:
        pieces.append(text)


def _shielding(target: TargetRules, idle: Collection[int]) -> set[int]:
    """Those of some rewrites that take a key which a later one may match."""
    found: set[int] = set()
    if not idle:
        return found
    languages, budget = target.languages, Budget(STEPS)
    later = Neighbours(languages)
    for index in reversed(range(len(languages))):
        if index in idle and any(_may_share(languages[index], languages[each], budget) for each in later.of(index)):
            found.add(index)
        later.add(index)
    return found


def _may_share(one: Language, other: Language, budget: Budget) -> bool:
    return not isinstance(overlap(one, other, budget.portion(budget.left)), NoKey)
