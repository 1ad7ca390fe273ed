"""The engine: runs checks over a subject, drops what is allowed, and turns a check that fails into a finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lint.allowances import find_allowances
from tornado_proxy.lint.check import Check, Selection
from tornado_proxy.lint.subject import Subject

INTERNAL_ERROR = "internal-error"
"""The code of what is said where a check itself fails: the tool could not do its work."""

_WEIGHTS = {Severity.INFO: 0, Severity.WARNING: 1, Severity.ERROR: 2}


@dataclass(frozen=True, slots=True)
class LintReport:
    """What the linter has to say, in the order of the files, and what it has looked at.

    `judged` names the checks that ran: what has another code comes from parser, compiler or configuration.
    """

    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...] = ()
    rewrite_count: int = 0
    judged: frozenset[str] = frozenset()
    fail_level: Severity | None = Severity.WARNING  # None: nothing fails the run

    @property
    def failing(self) -> tuple[Diagnostic, ...]:
        """The findings that fail the run."""
        if self.fail_level is None:
            return ()
        worst = _WEIGHTS[self.fail_level]
        return tuple(each for each in self.diagnostics if _WEIGHTS[each.severity] >= worst)

    @property
    def broken(self) -> bool:
        """Whether a check itself has failed."""
        return any(each.code == INTERNAL_ERROR for each in self.diagnostics)


def lint(subject: Subject, checks: Sequence[Check], selection: Selection | None = None) -> LintReport:
    """Look for what a selection of all `checks` looks for, in their order."""
    chosen = selection or Selection()
    running = chosen.checks(checks)
    able = frozenset(check.name for check in running if subject.settings or not check.needs_configuration)
    allowances = find_allowances(subject.documents, able, tuple(check.name for check in checks))
    asked = replace(subject, allowances=allowances)
    found = [*subject.mistakes]
    for check in running:
        for each in _looked(check, asked):
            if not (allowances.silence(each) or (each.span and chosen.hides(check, each.span.source.name))):
                found.append(each)  # noqa: PERF401 - a check sees what the ones before it were allowed
    names = tuple(document.source.name for document in subject.documents)
    return LintReport(tuple(_in_order(found, names)), names, subject.rewrite_count, able)


def _looked(check: Check, subject: Subject) -> Iterator[Diagnostic]:
    """What a check finds; whatever goes wrong in it is found, too."""
    try:
        yield from check.look(subject)
    except Exception as error:  # noqa: BLE001 - one check's defect must not hide what the others find
        message = f"the check `{check.name}` failed: {type(error).__name__}: {error}"
        cure = "please report this, with the rule files if you can"
        yield Diagnostic(INTERNAL_ERROR, message, None, cure)


def _in_order(found: Iterable[Diagnostic], names: Sequence[str]) -> list[Diagnostic]:
    """By file, in the order in which they were read, then by place; what has no place comes first."""
    order = {name: number for number, name in enumerate(names)}

    def key(diagnostic: Diagnostic) -> tuple[int, str, int]:
        if diagnostic.span is None:
            return -1, "", 0
        name = diagnostic.span.source.name
        return order.get(name, -1), name, diagnostic.span.start

    return sorted(found, key=key)
