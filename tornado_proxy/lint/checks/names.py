"""Names that refer to nothing: of targets that are not configured, and of checks in comments that allow them."""

from __future__ import annotations

from collections.abc import Iterator

from tornado_proxy.lang.diagnostic import Edit, Safety, Severity, did_you_mean
from tornado_proxy.lint.allowances import UNALLOWABLE, without
from tornado_proxy.lint.check import Category, LintFinding, check, offer
from tornado_proxy.lint.subject import Subject
from tornado_proxy.rules.compile import unknown_targets


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
        for each in subject.allowances.unused():
            if each.name == UNALLOWABLE:
                message = f"`{each.name}` cannot be allowed"
            elif each.covers is None:
                message = f"this allows `{each.name}` for nothing: no statement or block follows"
            else:
                message = f"this allows `{each.name}`, which finds nothing here"
            # The text is empty where the tree was not read from a file.
            edits = (without(each),) if each.comment.span.text else ()
            yield LintFinding(message, each.span, "remove it", fixes=offer("remove it", edits, Safety.SAFE))
