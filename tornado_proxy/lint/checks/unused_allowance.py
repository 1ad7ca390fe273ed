r"""An allowance that silences nothing, or that names no check.

`# allow: a-check (reason)` above a statement or a block, or at its end, silences that check there, and
`# allow-file: a-check` in the whole file. What it was written for goes away one day; the comment would stay, and hide
the next finding. Allowances of checks that do not run are not reported. This finding cannot be allowed itself.

### Avoid

```rules
target site {
    rewrite `^/start$` -> "/index.html"  # allow: unanchored-source (it once was `/start`)

    test "/start" -> "/index.html"
}
```

### Prefer

```rules
target site {
    rewrite `^/start$` -> "/index.html"

    test "/start" -> "/index.html"
}
```

### Fix

Takes the name out, and the comment with it if it was the only one. Safe: a reason goes with what it was the reason for.
"""

from __future__ import annotations

from collections.abc import Iterator

from tornado_proxy.lang.diagnostic import Diagnostic, Edit, Fix, Safety, Severity, did_you_mean
from tornado_proxy.lint.allowances import MISTAKES, Allowance, without
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.subject import Subject

NAME = check_name(__name__)
CATEGORY = Category.UPKEEP
SEVERITY = Severity.WARNING


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Ask which allowances have been of use; this check comes last."""
    known = subject.allowances.known
    for each in subject.allowances.unknown():
        yield _unknown(each, did_you_mean(each.name, known))
    for comment in subject.allowances.empty:
        advice = "name the checks that are allowed: `# allow: a-check (reason)`"
        yield Diagnostic(NAME, "this allows nothing: it names no check", comment.span, advice, severity=SEVERITY)
    if subject.whole:
        for each in subject.allowances.unused():
            yield _unused(each)


def _unknown(allowance: Allowance, meant: str | None) -> Diagnostic:
    if allowance.name in MISTAKES:
        message, advice = (
            f"`{allowance.name}` is a mistake, which cannot be allowed",
            "take it out, and mend what it is about",
        )
        return Diagnostic(NAME, message, allowance.span, advice, severity=SEVERITY)
    advice = f"did you mean `{meant}`?" if meant else "`tornado-proxy lint --list` shows all"
    fixes = (Fix(f"write `{meant}`", (Edit(allowance.span, meant),), Safety.UNSAFE),) if meant else ()
    message = f"there is no check `{allowance.name}`"
    return Diagnostic(NAME, message, allowance.span, advice, severity=SEVERITY, fixes=fixes)


def _unused(allowance: Allowance) -> Diagnostic:
    if allowance.name == NAME:
        message = f"`{NAME}` cannot be allowed"
    elif allowance.covers is None:
        message = f"this allows `{allowance.name}` for nothing: no statement or block is below it"
    else:
        message = f"this allows `{allowance.name}`, but it is not found here"
    written = allowance.comment.span.text  # none where the tree was not read from a file
    fixes = (Fix("take it out", (without(allowance),), Safety.SAFE),) if written else ()
    return Diagnostic(NAME, message, allowance.span, "take it out", severity=SEVERITY, fixes=fixes)
