"""Documents become rule sets: blocks of one target add up, every mistake becomes a diagnostic with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tornado_proxy.lang.diagnostic import Diagnostic, Note
from tornado_proxy.lang.tree import Dialect, Document, Literal, RewriteStatement, TargetBlock, TestStatement
from tornado_proxy.rules.model import Compiled, Rewrite, RuleSet, RuleTest
from tornado_proxy.rules.patterns import Pattern, PatternError, compile_pattern
from tornado_proxy.rules.testing import compile_test
from tornado_proxy.templating import plain
from tornado_proxy.templating.errors import TemplateMistake
from tornado_proxy.templating.template import Template

CompileTemplate = Callable[[str, Mapping[str, int], int], Template]


def _plain() -> CompileTemplate:
    return plain.compile_template


def _jinja() -> CompileTemplate:
    from tornado_proxy.templating import jinja  # noqa: PLC0415 - Jinja2 is imported only where a file needs it

    return jinja.compile_template


def _go() -> CompileTemplate:
    from tornado_proxy.rules.go_templates import compile_go_template  # noqa: PLC0415 - only where a file needs it

    return compile_go_template


_DIALECTS: Mapping[Dialect, Callable[[], CompileTemplate]] = {
    Dialect.PLAIN: _plain,
    Dialect.JINJA: _jinja,
    Dialect.GO: _go,
}


def compile_documents(documents: Sequence[Document]) -> Compiled:
    """The rule sets of parsed files, given in their order; a statement with a mistake is left out of its set."""
    targets: dict[str, _Target] = {}
    diagnostics: list[Diagnostic] = []
    for document in documents:
        for block in document.blocks:
            target = targets.setdefault(block.name.value, _Target(block.name.value))
            diagnostics.extend(target.add(block))
    return Compiled({name: target.rule_set() for name, target in targets.items()}, tuple(diagnostics))


@dataclass(slots=True)
class _Target:
    """A rule set in the making; numbers count every rewrite, those with mistakes too, as their author counts them."""

    name: str
    number: int = 0
    rewrites: list[Rewrite] = field(default_factory=list)
    tests: list[RuleTest] = field(default_factory=list)
    names: dict[str, Literal] = field(default_factory=dict)

    def rule_set(self) -> RuleSet:
        """What has been added so far, frozen."""
        return RuleSet(self.name, tuple(self.rewrites), tuple(self.tests))

    def add(self, block: TargetBlock) -> Iterator[Diagnostic]:
        """Take in one more block; yields its mistakes."""
        for statement in block.statements:
            if isinstance(statement, RewriteStatement):
                yield from self._add_rewrite(statement)
            else:
                yield from self._add_test(statement)

    def _add_rewrite(self, statement: RewriteStatement) -> Iterator[Diagnostic]:
        self.number += 1
        if statement.name is not None:
            yield from self._claim(statement.name)
        pattern = _compiled_source(statement.source)
        if isinstance(pattern, Diagnostic):
            yield pattern
            return
        template = _compiled_template(statement, pattern)
        if isinstance(template, Diagnostic):
            yield template
            return
        name = statement.name.value if statement.name else None
        self.rewrites.append(Rewrite(self.number, name, pattern, statement.dialect, template, statement))

    def _claim(self, name: Literal) -> Iterator[Diagnostic]:
        first = self.names.setdefault(name.value, name)
        if first is not name:
            yield Diagnostic(
                "duplicate-name",
                f"`{self.name}` has two rewrites named `{name.value}`",
                name.span,
                help="give one of them another name, or none",
                notes=(Note("the first is here", first.span),),
            )

    def _add_test(self, statement: TestStatement) -> Iterator[Diagnostic]:
        test = compile_test(statement)
        if isinstance(test, RuleTest):
            self.tests.append(test)
        else:
            yield from test


def _compiled_source(source: Literal) -> Pattern | Diagnostic:
    try:
        return compile_pattern(source.value)
    except PatternError as error:
        return Diagnostic("bad-source", str(error), source.at(error.offset, error.end), help=error.help)


def _compiled_template(statement: RewriteStatement, pattern: Pattern) -> Template | Diagnostic:
    literal = statement.template
    try:
        return _DIALECTS[statement.dialect]()(literal.value, pattern.names, pattern.group_count)
    except TemplateMistake as error:
        return Diagnostic("bad-template", str(error), literal.at(error.offset, error.end), help=error.help)
