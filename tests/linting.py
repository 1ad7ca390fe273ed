"""Rule files as the linter sees them, and what it finds in them."""

from __future__ import annotations

from pathlib import Path

from tornado_proxy.config.loading import compile_configuration
from tornado_proxy.config.model import Settings
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.lang.diagnostic import Diagnostic, Safety, SourceFile
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import LintReport, fix_all, lint
from tornado_proxy.lint.settings import Selection
from tornado_proxy.lint.subject import Subject, TargetRules, subject_of
from tornado_proxy.rules.loading import RuleFile, compile_rule_files

EVERY_FIX = frozenset({Safety.SAFE, Safety.UNSAFE})


def rule_files(**texts: str) -> list[RuleFile]:
    """Rule files by their names: `site="…"` is `site.rules`."""
    return [RuleFile(f"{name}.rules", text.encode()) for name, text in texts.items()]


def block(statements: str) -> str:
    """A file with one block of the target `site`."""
    return f"target site {{\n{statements}\n}}\n"


def settings(text: str) -> Settings:
    """The settings of a configuration without mistakes."""
    loaded = compile_configuration(SourceFile("proxy.yaml", text), Path(), unresolved)
    assert loaded.settings is not None, loaded.diagnostics
    return loaded.settings


def subject(statements: str, configuration: Settings | None = None) -> Subject:
    """The subject that one block makes."""
    return subject_of(compile_rule_files(rule_files(site=block(statements))), configuration)


def target(statements: str) -> TargetRules:
    """The rules of one block."""
    (only,) = subject(statements).targets
    return only


def report(configuration: Settings | None = None, only: str | None = None, **texts: str) -> LintReport:
    """What all checks, or one, say of files."""
    selection = Selection() if only is None else Selection(frozenset({only}))
    return lint(subject_of(compile_rule_files(rule_files(**texts)), configuration), CHECKS, selection)


def findings(only: str, statements: str, configuration: Settings | None = None) -> list[Diagnostic]:
    """What one check finds in one block, which is free of other mistakes."""
    found = report(configuration, only, site=block(statements)).diagnostics
    assert {each.code for each in found} <= {only}, found
    return list(found)


def places(only: str, statements: str, configuration: Settings | None = None) -> list[str]:
    """The texts under the carets."""
    return [each.span.text if each.span else "" for each in findings(only, statements, configuration)]


def fixed(only: str, statements: str, allowed: frozenset[Safety] = EVERY_FIX) -> str:
    """The inside of a block after the fixes of one check."""
    files = rule_files(site=block(statements))
    selection = Selection(frozenset({only}))
    result = fix_all(files, lambda those: lint(subject_of(compile_rule_files(those)), CHECKS, selection), allowed)
    return result.files[0].data.decode().removeprefix("target site {\n").removesuffix("\n}\n")
