"""Names that refer to nothing: of targets that are not configured, and of checks in comments that allow them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from tornado_proxy.lint.allowances import UNALLOWABLE, Allowance, without
from tornado_proxy.lint.check import Category, LintFinding, check, offer
from tornado_proxy.lint.subject import Subject
from tornado_proxy.rules.compile import unknown_targets
from tornado_proxy.rules.diagnostic import Edit, Safety, Severity, did_you_mean


@check(Category.MISTAKES, Severity.ERROR, needs_configuration=True)
def unknown_target(subject: Subject) -> Iterator[LintFinding]:
    """A block of a target that the configuration does not name."""
    if subject.settings is not None:
        for each in unknown_targets(subject.documents, [target.name for target in subject.settings.targets]):
            yield LintFinding(each.message, each.span, each.help or "", fixes=each.fixes)


@check(Category.UPKEEP, Severity.WARNING)
def unused_allowance(subject: Subject) -> Iterator[LintFinding]:
    """An allowance that silences nothing, or that names no check."""
    check_names = subject.allowances.check_names
    for each in subject.allowances.unknown():
        meant = did_you_mean(each.name, check_names)
        advice = f"did you mean `{meant}`?" if meant else "`tornado-proxy lint --list` shows all checks"
        fixes = offer(f"write `{meant}`", (Edit(each.span, meant),)) if meant else ()
        yield LintFinding(f"unknown check `{each.name}`", each.span, advice, fixes=fixes)
    for comment in subject.allowances.empty:
        advice = "name the checks that are allowed: `# allow: a-check (reason)`"
        yield LintFinding("this allowance names no check", comment.span, advice)
    if subject.whole:
        for comment, allowances in groupby(subject.allowances.unused(), key=lambda each: each.comment):
            unused = tuple(allowances)
            # The text is empty where the tree was not read from a file.
            edits = (without(comment, unused),) if comment.span.text else ()
            # Edits of single names would touch one another, so that one run could apply only one of them.
            title = "remove it" if len(unused) == 1 else "remove all names that are not needed here"
            fixes = offer(title, edits, Safety.SAFE)
            yield from (LintFinding(_why_unused(each), each.span, "remove it", fixes=fixes) for each in unused)


def _why_unused(allowance: Allowance) -> str:
    if allowance.name == UNALLOWABLE:
        return f"`{allowance.name}` cannot be allowed"
    if allowance.covers is None:
        return f"this allows `{allowance.name}` for nothing: no statement or block follows"
    return f"this allows `{allowance.name}`, which finds nothing here"
