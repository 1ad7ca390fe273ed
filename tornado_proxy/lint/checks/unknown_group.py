r"""A template that asks for a group which its source does not have.

In a plain template such a group is empty, as it is in Go: `/archive/$page.html` quietly becomes `/archive/.html`. The
longest name counts, so `$1x` is the group `1x`. The other dialects refuse it when the file is compiled.
What only looks like a reference, as other languages write one (`\1`, `$(page)`, `{page}`, `%1`, `$&`) or as
`${page` without its closing brace, is text; so is `$page` in the other dialects, which write `{{ groups.page }}` and
`{{ .Groups.page }}`.

### Avoid

```rules
target site {
    rewrite `^/press/([^/]+)\.html$` -> "/archive/$1_old.html"

    test "/press/spring.html" -> "/archive/.html"
}
```

### Prefer

```rules
target site {
    rewrite `^/press/([^/]+)\.html$` -> "/archive/${1}_old.html"

    test "/press/spring.html" -> "/archive/spring_old.html"
}
```

### Fix

Writes the group that was probably meant. Unsafe: keys are rewritten otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

from tornado_proxy.goregex.matching import Pattern
from tornado_proxy.lang.diagnostic import Diagnostic, Fix, Safety, Severity, did_you_mean
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.findings import listed, reworded
from tornado_proxy.lint.shapes import Slip, has_group, reference, slips
from tornado_proxy.lint.subject import Subject
from tornado_proxy.rules.model import Rewrite

NAME = check_name(__name__)
CATEGORY = Category.MISTAKES
SEVERITY = Severity.ERROR


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look at every reference, and at every slip for one; where a group is missing other dialects do not compile."""
    reported = {each.span for each in subject.mistakes}
    for target in subject.targets:
        for rewrite in target.rewrites:
            for name, start, end in rewrite.template.group_references:
                if not has_group(rewrite.pattern, name):
                    yield _unknown(rewrite, name, start, end)
            for slip in slips(rewrite):
                found = _slip(rewrite, slip)
                if found.span not in reported:  # as a bad escape
                    yield found


def _slip(rewrite: Rewrite, slip: Slip) -> Diagnostic:
    written = rewrite.template.text[slip.start : slip.end]
    message = f"`{written}` is text here, not a reference to a group"
    if not has_group(rewrite.pattern, slip.group):
        return _finding(rewrite, (slip.start, slip.end), message, (_groups_of(rewrite.pattern), ""))
    meant = reference(slip.group, rewrite.dialect)
    return _finding(rewrite, (slip.start, slip.end), message, (f"write `{meant}`", meant))


def _unknown(rewrite: Rewrite, name: str, start: int, end: int) -> Diagnostic:
    pattern = rewrite.pattern
    known = next((name[:length] for length in range(len(name) - 1, 0, -1) if has_group(pattern, name[:length])), None)
    if known is not None and rewrite.template.text[start : start + 2] != "${":
        meant = f"${{{known}}}{name[len(known) :]}"
        message = f"`${name}` is the group `{name}`, which the source does not have: the longest name counts"
        return _finding(rewrite, (start, end), message, (f"write `{meant}`", meant))
    message = f"the source has no group `{name}`, so that this is always empty"
    near = did_you_mean(name, pattern.names)
    if near is not None:
        return _finding(rewrite, (start, end), message, (f"did you mean `${{{near}}}`?", f"${{{near}}}"))
    return _finding(rewrite, (start, end), message, (_groups_of(pattern), ""))


def _groups_of(pattern: Pattern) -> str:
    names = [f"`{name}`" for name in pattern.names] or [f"`{n}`" for n in range(1, pattern.group_count + 1)]
    return f"it has {listed(names)}" if names else "it has no group; put what is to be kept between `(?P<name>` and `)`"


def _finding(rewrite: Rewrite, place: tuple[int, int], message: str, advice: tuple[str, str]) -> Diagnostic:
    """A finding about a part of a template, and what is to be written there, if anything is certain."""
    literal = rewrite.statement.template
    edits = reworded(literal, *place, advice[1]) if advice[1] else ()
    fixes = (Fix(f"write `{advice[1]}`", edits, Safety.UNSAFE),) if edits else ()
    return Diagnostic(NAME, message, literal.at(*place), advice[0], severity=SEVERITY, fixes=fixes)
