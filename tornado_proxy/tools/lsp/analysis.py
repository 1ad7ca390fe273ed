"""What the engine makes of all rule files that are read together: trees, rule sets, findings, tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tornado_proxy.config.model import Settings
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.parser import Parsed, parse
from tornado_proxy.lang.source import SourceFile
from tornado_proxy.lang.tree import Document, RewriteStatement, TargetBlock, TestStatement
from tornado_proxy.lint.check import Selection
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import lint
from tornado_proxy.lint.subject import Subject, TargetRules, subject_of
from tornado_proxy.rules.compile import compile_documents
from tornado_proxy.rules.loading import LoadedRules
from tornado_proxy.rules.model import Rewrite
from tornado_proxy.rules.testing import TestOutcome
from tornado_proxy.tools.lsp.workspace import Sources


@dataclass(frozen=True, slots=True)
class Demand:
    """What the checks go by: which of them run, and the configuration if there is one."""

    selection: Selection = field(default_factory=Selection)
    settings: Settings | None = None


@dataclass(frozen=True)  # no slots: what few requests need is made when first asked for
class Analysis:
    """Everything that is known of some files at one moment."""

    sources: Sources
    demand: Demand = field(repr=False)
    parsed: Mapping[str, Parsed] = field(repr=False)
    subject: Subject = field(repr=False)
    diagnostics: tuple[Diagnostic, ...]

    def document(self, name: str) -> Document | None:
        """The tree of a file."""
        found = self.parsed.get(name)
        return found.document if found else None

    def diagnostics_of(self, name: str) -> Iterator[Diagnostic]:
        """What is to be said about a file."""
        return (each for each in self.diagnostics if each.span and each.span.source.name == name)

    def target(self, block: TargetBlock) -> TargetRules | None:
        """The rules of a block's target, those of its other blocks too."""
        return next((each for each in self.subject.targets if each.name == block.name.value), None)

    def rewrite(self, statement: RewriteStatement) -> Rewrite | None:
        """What a statement was compiled to; None where it has a mistake."""
        return self._rewrites.get(_place(statement))

    def outcome(self, statement: TestStatement) -> TestOutcome | None:
        """What a test comes to; None where it has a mistake, or rewrites are missing because they have one."""
        return self._outcomes.get(_place(statement))

    @cached_property
    def _rewrites(self) -> Mapping[tuple[str, int], Rewrite]:
        targets = self.subject.targets
        return {_place(each.statement): each for target in targets for each in target.rewrites}

    @cached_property
    def _outcomes(self) -> Mapping[tuple[str, int], TestOutcome]:
        if not self.subject.whole:
            return {}
        targets = self.subject.targets
        return {_place(each.test.statement): each for target in targets for each in target.outcomes}


def _place(statement: RewriteStatement | TestStatement) -> tuple[str, int]:
    return statement.span.source.name, statement.span.start


def analyse(sources: Sources, demand: Demand, before: Analysis | None = None) -> Analysis:
    """The analysis of some files; what has not changed since the one `before` is not read again."""
    if before is not None and (before.sources, before.demand) == (sources, demand):
        return before
    parsed = {source.name: _parsed(source, before) for source in sources.files}
    documents = tuple(each.document for each in parsed.values())
    compiled = compile_documents(documents)
    said = (each for file in parsed.values() for each in file.diagnostics)
    loaded = LoadedRules(documents, compiled.rule_sets, (*sources.mistakes, *said, *compiled.diagnostics))
    subject = subject_of(loaded, demand.settings)
    return Analysis(sources, demand, parsed, subject, lint(subject, CHECKS, demand.selection).diagnostics)


def _parsed(source: SourceFile, before: Analysis | None) -> Parsed:
    known = before.parsed.get(source.name) if before else None
    return known if known is not None and known.document.source == source else parse(source)
