"""From a configuration file to settings, with a diagnostic for every mistake in one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tornado_proxy.config import access_checks
from tornado_proxy.config.checks import CHECKS, ValidationContext
from tornado_proxy.config.document import Composed, Fault, Node, compose, span_of
from tornado_proxy.config.model import Settings
from tornado_proxy.config.reader import read as read_settings
from tornado_proxy.config.secrets import Resolver, redacted, resolver
from tornado_proxy.lang.diagnostic import Diagnostic, Note, SourceFile, Span, errors, read_file

LARGEST = 8 * 1024 * 1024
"""The most bytes that a configuration file may have."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings of a configuration file, or why it cannot be used.

    `settings` is None where a diagnostic is an error. `source` is the file as it may be shown, without its secrets;
    None where nothing could be read.
    """

    settings: Settings | None
    diagnostics: tuple[Diagnostic, ...] = ()
    source: SourceFile | None = field(default=None, repr=False)


def load(path: Path | str, env: Mapping[str, str], secrets: Resolver | None = None) -> Loaded:
    """Load a configuration file; never raises for its content or absence.

    Secrets come from `env` and from files relative to the file, unless another resolver is given: `secrets.unresolved`
    for tools that need none.
    """
    place, source = Path(path), read(path)
    if isinstance(source, Loaded):
        return source
    return compile_configuration(source, place.parent, secrets or resolver(env, place.parent))


def read(path: Path | str, *, again: bool = False) -> SourceFile | Loaded:
    """The text of a configuration file with its secrets, or a diagnostic why it cannot be read.

    The file may be a pipe, unless it will be read `again`.
    """
    try:
        content = read_file(Path(path), LARGEST, regular=again)
    except OSError as error:
        return Loaded(None, (Diagnostic("unreadable-file", f"`{path}` cannot be read: {error.strerror}"),))
    try:
        return SourceFile(str(path), content.decode())
    except UnicodeDecodeError as error:
        return _not_utf8(str(path), content, error.start)


def _not_utf8(name: str, content: bytes, start: int) -> Loaded:
    shown = redacted(SourceFile(name, content.decode(errors="replace")), Composed(whole=False), Settings)
    offset = len(content[:start].decode())
    message = f"invalid UTF-8: byte 0x{content[start]:02X}"
    span = Span(shown, offset, offset + 1)
    return Loaded(None, (Diagnostic("unreadable-file", message, span, "save the file as UTF-8"),), shown)


def compile_configuration(source: SourceFile, directory: Path, secrets: Resolver) -> Loaded:
    """Compile a configuration; `directory` is what its relative paths start from. Never raises for its content."""
    source = SourceFile(source.name, source.text.removeprefix("\ufeff"))
    composed = compose(source.text)
    shown = redacted(source, composed, Settings)
    found = [_diagnostic(fault, shown) for fault in composed.faults]
    settings = None
    if composed.whole and composed.root is None:
        advice = "a configuration has at least `targets`"
        found.append(Diagnostic("empty-value", "the configuration is empty", Span(shown, 0, 0), advice))
    elif composed.whole and composed.root:
        settings, more = _settings(composed.root, shown, directory, secrets)
        found += more
    diagnostics = tuple(sorted(dict.fromkeys(found), key=lambda each: each.span.start if each.span else 0))
    return Loaded(None if errors(diagnostics) else settings, diagnostics, shown)


def _settings(
    root: Node, shown: SourceFile, directory: Path, secrets: Resolver
) -> tuple[Settings | None, list[Diagnostic]]:
    settings, places, found = read_settings(root, shown, directory, secrets)
    if settings is None:
        return None, found
    context = ValidationContext(settings, shown, places)
    found += [diagnostic for check in (*CHECKS, *access_checks.CHECKS) for diagnostic in check(context)]
    nodes = context.items(settings, "rules") if settings.rules else ()
    rule_spans = {path: span_of(node, shown) for path, node in zip(settings.rules, nodes, strict=True)}
    return replace(settings, directory=directory, rule_spans=rule_spans), found


def _diagnostic(fault: Fault, shown: SourceFile) -> Diagnostic:
    span = Span(shown, fault.start, fault.end)
    text = span.text.strip("\"'")
    notes = (Note(fault.note[0], Span(shown, fault.note[1], fault.note[2])),) if fault.note else ()
    advice = fault.help.replace("{}", text) if fault.help else None
    return Diagnostic(fault.code, fault.message.replace("{}", text), span, advice, notes)
