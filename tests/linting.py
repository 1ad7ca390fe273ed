"""Functions that lint rule files, and return the findings or the fixed text."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from tornado_proxy.config.loading import compile_configuration
from tornado_proxy.config.model import Settings
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import LintReport, LintSettings, fix_all, lint
from tornado_proxy.lint.subject import Subject, TargetRules, subject_of
from tornado_proxy.rules.diagnostic import Diagnostic, Safety, SourceFile
from tornado_proxy.rules.loading import RuleFile, compile_rule_files
from tornado_proxy.rules.model import LoadedRules

EVERY_FIX = frozenset({Safety.SAFE, Safety.UNSAFE})


def rule_files(**texts: str) -> list[RuleFile]:
    """Rule files; `site="…"` is `site.rules`."""
    return [RuleFile(f"{name}.rules", text.encode()) for name, text in texts.items()]


def block(statements: str) -> str:
    """A file with one block of the target `site`."""
    return f"target site {{\n{statements}\n}}\n"


def settings(text: str) -> Settings:
    """The settings of a configuration without errors."""
    loaded = compile_configuration(SourceFile("proxy.yaml", text), Path(), unresolved)
    assert loaded.settings is not None, loaded.diagnostics
    return loaded.settings


def loaded(files: Iterable[RuleFile], lists: Mapping[str, str] = {}) -> LoadedRules:
    """Compiled rule files, with lists by name."""
    return compile_rule_files(files, list_file=lambda path: lists[Path(path).name].encode())


def subject(statements: str, configuration: Settings | None = None, lists: Mapping[str, str] = {}) -> Subject:
    """The subject of one block of the target `site`."""
    return subject_of(loaded(rule_files(site=block(statements)), lists), configuration)


def target(statements: str) -> TargetRules:
    """The rules of one block of the target `site`."""
    (only,) = subject(statements).targets
    return only


def report(configuration: Settings | None = None, check: str | None = None, **texts: str) -> LintReport:
    """The report of all checks, or of one, about files."""
    settings = LintSettings() if check is None else LintSettings(frozenset({check}))
    return lint(subject_of(compile_rule_files(rule_files(**texts)), configuration), CHECKS, settings)


def findings(
    check: str, statements: str, configuration: Settings | None = None, lists: Mapping[str, str] = {}
) -> list[Diagnostic]:
    """The findings of one check in one block, which must not have other diagnostics."""
    checked = subject(statements, configuration, lists)
    diagnostics = lint(checked, CHECKS, LintSettings(frozenset({check}))).diagnostics
    assert {diagnostic.code for diagnostic in diagnostics} <= {check}, diagnostics
    return list(diagnostics)


def marked_texts(check: str, statements: str, configuration: Settings | None = None) -> list[str]:
    """The texts of the spans of one check's findings."""
    return [finding.span.text if finding.span else "" for finding in findings(check, statements, configuration)]


def fixed(
    check: str, statements: str, configuration: Settings | None = None, allowed: frozenset[Safety] = EVERY_FIX
) -> str:
    """The statements of a block after the fixes of one check."""
    files = rule_files(site=block(statements))
    chosen = LintSettings(frozenset({check}))
    result = fix_all(
        files, lambda current: lint(subject_of(compile_rule_files(current), configuration), CHECKS, chosen), allowed
    )
    return result.files[0].data.decode().removeprefix("target site {\n").removesuffix("\n}\n")
