r"""A group that captures what the template never uses.

Who names a part of a key means to use it. If the template does not, many keys become one: `/press/spring.html` and
`/press/autumn.html` both lead to the same object. What only holds alternatives together, or repeats, may stand between
plain parentheses; `(?:…)` captures nothing. Nothing is reported where the template has a slip for a reference, such as
`${page`, which is a finding of its own, nor where it takes the whole match or the whole key.

### Avoid

```rules
target site {
    rewrite `^/press/(?P<page>[^/]+)\.html$` -> "/archive/press.html"

    test "/press/spring.html" -> "/archive/press.html"
}
```

### Prefer

```rules
target site {
    rewrite `^/press/[^/]+\.html$` -> "/archive/press.html"

    test "/press/spring.html" -> "/archive/press.html"
}
```

### Fix

Makes the group one that captures nothing. Safe in a plain template that uses no group by number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from tornado_proxy.goregex.syntax import Alternation, Group, Member, Node, Repeat, children, walk
from tornado_proxy.lang.diagnostic import Diagnostic, Fix, Safety, Severity
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.findings import reworded
from tornado_proxy.lint.shapes import bare, has_group, slips
from tornado_proxy.lint.subject import Subject
from tornado_proxy.rules.model import Rewrite
from tornado_proxy.templates.template import group_number

NAME = check_name(__name__)
CATEGORY = Category.DOUBTS
SEVERITY = Severity.WARNING

# Where a template may use groups, named by a literal or not; a plain one, where its author takes it for another.
_MENTIONS = {
    Dialect.PLAIN: re.compile(r"\{\{"),
    Dialect.JINJA: re.compile(r"\bgroups\b"),
    Dialect.GO: re.compile(r"\.Groups\b|\{\{-?\s*(?:\$|\.)\s*-?\}\}"),
}

# Where it takes the whole key, with all that the groups captured, or the path that holds it.
_WHOLE = {
    Dialect.JINJA: re.compile(r"\{[{%][^}]*?(?<![.\w])(?:key|request\s*\.\s*path)\b"),
    Dialect.GO: re.compile(r"\{\{[^}]*?\.(?:Key|Path|EscapedPath|RequestURI)\b"),
}


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look for groups that no reference names, in templates that name all that they use."""
    for target in subject.targets:
        for rewrite, tree in target.sources:
            if _names_all_it_uses(rewrite):
                yield from _findings(rewrite, tree)


def _names_all_it_uses(rewrite: Rewrite) -> bool:
    """Whether no group may be used but by its name, and no name is a slip for one that seems unused."""
    if rewrite.dialect in _WHOLE and _WHOLE[rewrite.dialect].search(rewrite.template.text):
        return False
    references = rewrite.template.group_references
    mentions = _MENTIONS[rewrite.dialect].findall(rewrite.template.text)
    return len(mentions) <= len(references) and all(has_group(rewrite.pattern, name) for name, _, _ in references)


def _findings(rewrite: Rewrite, tree: Node) -> Iterator[Diagnostic]:
    used = {name for name, _, _ in rewrite.template.group_references}
    unused = [*_unused(tree, used)]
    if unused and next(slips(rewrite), None) is not None:
        return
    repeated = {id(node.body) for node in walk(tree) if isinstance(node, Repeat)} if unused else ()
    for group in unused:
        holds_together = id(group) in repeated or isinstance(bare(group), Alternation)
        if group.name or not holds_together:
            yield _finding(rewrite, group, by_number=any(map(group_number, used)))


def _unused(tree: Node, used: Collection[str]) -> Iterator[Group]:
    """The groups that capture and are not used, nor part of what is."""
    if "0" in used:
        return
    waiting: list[Node | Member] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Group) and node.number is not None:
            if str(node.number) in used or node.name in used:
                continue
            yield node
        waiting.extend(reversed(children(node)))


def _finding(rewrite: Rewrite, group: Group, *, by_number: bool) -> Diagnostic:
    source = rewrite.statement.source
    opening = f"(?P<{group.name}>" if group.name else "("
    start, end = group.extent
    if group.name and not source.value.startswith(opening, start):
        opening = f"(?<{group.name}>"
    edits = reworded(source, start, start + len(opening), "(?:")
    safe = rewrite.dialect is Dialect.PLAIN and not by_number
    fixes = (Fix("capture nothing", edits, Safety.SAFE if safe else Safety.UNSAFE),) if edits else ()
    shown = f"`{group.name}`" if group.name else f"{group.number}"
    message = f"the template never uses group {shown}"
    advice = "use it, or write `(?:…)`, which captures nothing, if keys that differ in it are meant to become one"
    return Diagnostic(NAME, message, source.at(start, end), advice, severity=SEVERITY, fixes=fixes)
