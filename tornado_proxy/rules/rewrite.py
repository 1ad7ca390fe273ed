"""A rewrite: the pair of source and template that one statement of a rule file says, compiled."""

from __future__ import annotations

from dataclasses import dataclass, field

from tornado_proxy.lang.source import Span
from tornado_proxy.lang.tree import Dialect, RewriteStatement
from tornado_proxy.rules.patterns import Pattern
from tornado_proxy.templates.template import Template


@dataclass(frozen=True, slots=True)
class Rewrite:
    """An ordered pair of source pattern and target template; `number` counts from 1 within its target."""

    number: int
    name: str | None
    pattern: Pattern
    dialect: Dialect
    template: Template
    statement: RewriteStatement = field(repr=False, compare=False)

    @property
    def span(self) -> Span:
        """Its place in the rule file."""
        return self.statement.span

    @property
    def label(self) -> str:
        """What logs, metrics and explain call it: its name, or its number."""
        return self.name or f"#{self.number}"
