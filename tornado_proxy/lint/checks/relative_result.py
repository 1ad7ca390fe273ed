r"""A template whose result has no leading slash.

A key begins with `/`; a result that does not gets one. That works, and reads as if the result were put behind
something, which it is not: the whole key is replaced. That is found of text, and of a group at the beginning that never
matches a slash first. A result such as `https://example.com/` is not a redirect either,
but the key `/https://example.com/`. White space at the beginning of a plain template is part of the key, too.

### Avoid

```rules
target site {
    rewrite `^/press/(?P<page>[^/]+)$` -> "archive/$page"

    test "/press/spring.html" -> "/archive/spring.html"
}
```

### Prefer

```rules
target site {
    rewrite `^/press/(?P<page>[^/]+)$` -> "/archive/$page"

    test "/press/spring.html" -> "/archive/spring.html"
}
```

### Fix

Writes the slash. Safe: the key has it anyway. Where a plain template begins with white space, the slash takes its
place, which is unsafe: the key loses it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tornado_proxy.goregex.automaton import Automaton, atoms, bits
from tornado_proxy.goregex.classes import contains
from tornado_proxy.goregex.syntax import Group, Node, Repeat, Sequence, walk
from tornado_proxy.lang.diagnostic import Diagnostic, Fix, Safety, Severity
from tornado_proxy.lang.tree import Dialect, Literal
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.findings import inserted, reworded
from tornado_proxy.lint.shapes import head, is_address
from tornado_proxy.lint.subject import Subject
from tornado_proxy.rules.model import Rewrite
from tornado_proxy.templates.template import GO_SPACES

NAME = check_name(__name__)
CATEGORY = Category.DOUBTS
SEVERITY = Severity.WARNING

_ADVICE = "begin it with `/`"


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look at how every template begins: with text, or with a group that never begins with a slash."""
    for target in subject.targets:
        for rewrite, source in zip(target.rewrites, target.languages, strict=True):
            beginning = head(rewrite)
            if beginning and not beginning.startswith("/"):
                yield _finding(rewrite, beginning)
            elif not beginning and source.tree is not None and _begins_with_relative_group(rewrite, source.tree):
                yield _finding(rewrite, rewrite.template.text[: rewrite.template.group_references[0][2]])


def _begins_with_relative_group(rewrite: Rewrite, source: Node) -> bool:
    """Whether a plain template begins with a group that always matches some text, and none that begins with `/`."""
    references = rewrite.template.group_references
    if rewrite.dialect is not Dialect.PLAIN or not references or references[0][1] > 0:
        return False
    groups = [each for each in walk(source) if isinstance(each, Group) and references[0][0] in _names(each)]
    return len(groups) == 1 and groups[0] in _certain(source) and _reads_no_slash_first(groups[0])


def _names(group: Group) -> tuple[str, ...]:
    return () if group.number is None else (str(group.number), group.name or "")


def _certain(node: Node) -> Iterator[Node]:
    """The parts that take part in every match."""
    yield node
    if isinstance(node, Group) or (isinstance(node, Repeat) and node.least > 0):
        yield from _certain(node.body)
    elif isinstance(node, Sequence):
        for part in node.parts:
            yield from _certain(part)


def _reads_no_slash_first(group: Group) -> bool:
    found = Automaton(tuple(atoms(group.body)))  # a source that was compiled is never too large for one
    table = found.table(0)
    first = [found.sets[position] for position in bits(table.first)]
    # With assertions inside, other characters may come first.
    return not found.truths and not table.stages[-1].empty and not any(contains(each, ord("/")) for each in first)


def _finding(rewrite: Rewrite, beginning: str) -> Diagnostic:
    template = rewrite.statement.template
    start = len(template.value) - len(template.value.lstrip(GO_SPACES))
    if start and rewrite.dialect is Dialect.PLAIN:
        return _spaced(template, start)
    span = template.at(start, start + len(beginning))
    if is_address(beginning):
        message = f"a result is a key, not an address: this asks the bucket for `/{beginning}…`"
        advice = "a rewrite cannot redirect; write the key of the object that is to be served"
        return Diagnostic(NAME, message, span, advice, severity=SEVERITY)
    edits = inserted(template, start, "/")
    fixes = (Fix("write the slash", edits, Safety.SAFE),) if edits else ()
    message = "the result has no leading slash, and gets one"
    return Diagnostic(NAME, message, span, _ADVICE, severity=SEVERITY, fixes=fixes)


def _spaced(template: Literal, start: int) -> Diagnostic:
    """The finding where white space comes first, which only other dialects trim."""
    slash = "" if template.value.startswith(("/", "$"), start) else "/"
    edits = reworded(template, 0, start, slash)
    fixes = (Fix("take the white space out", edits, Safety.UNSAFE),) if edits else ()
    message = "the result begins with white space, which a plain template keeps, and gets a slash before it"
    return Diagnostic(NAME, message, template.at(0, start), _ADVICE, severity=SEVERITY, fixes=fixes)
