"""From the text of a configuration file to settings, with a diagnostic for every mistake in one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tornado_proxy.config.building import Builder
from tornado_proxy.config.checks import check
from tornado_proxy.config.composer import Fault, compose
from tornado_proxy.config.mistakes import mistakes
from tornado_proxy.config.model import Settings
from tornado_proxy.config.nodes import Node
from tornado_proxy.config.options import option_names
from tornado_proxy.config.reading import read
from tornado_proxy.config.redaction import redacted
from tornado_proxy.config.scene import Scene
from tornado_proxy.config.secrets import Resolver
from tornado_proxy.config.vocabulary import Vocabulary
from tornado_proxy.lang.diagnostic import Diagnostic, Note, errors
from tornado_proxy.lang.source import SourceFile, Span


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a configuration file says, or why it cannot be used.

    `settings` is None where a diagnostic is an error. `source` is the file as it may be shown, secrets blanked: None
    where nothing could be read.
    """

    settings: Settings | None
    diagnostics: tuple[Diagnostic, ...] = ()
    source: SourceFile | None = field(default=None, repr=False)


def compile_configuration(source: SourceFile, directory: Path, secrets: Resolver) -> Loaded:
    """Compile a configuration; `directory` is what its relative paths start from. Never raises for what it says."""
    source = SourceFile(source.name, source.text.removeprefix("\ufeff"))
    composed = compose(source.text)
    shown = redacted(source, composed, Vocabulary(option_names()))
    found = [_told(fault, shown) for fault in composed.faults]
    settings = None
    if composed.whole:
        settings, more = _compiled(composed.root, Builder(shown, secrets, directory))
        found += more
    diagnostics = tuple(sorted(dict.fromkeys(found), key=_offset))
    return Loaded(None if errors(diagnostics) else settings, diagnostics, shown)


def _compiled(root: Node | None, builder: Builder) -> tuple[Settings | None, list[Diagnostic]]:
    shown = builder.shown
    if root is None:
        cure = "a configuration has at least `targets`"
        return None, [Diagnostic("empty-value", "the configuration is empty", Span(shown, 0, 0), cure)]
    reading = read(root)
    found = list(mistakes(reading, shown))
    if reading.configuration is None:
        return None, found
    settings = builder.settings(reading.configuration)
    return settings, [*found, *builder.diagnostics, *check(Scene(reading.configuration, reading, shown))]


def _told(fault: Fault, shown: SourceFile) -> Diagnostic:
    span = Span(shown, fault.start, fault.end)
    text = span.text.strip("\"'")
    notes = (Note(fault.note[0], Span(shown, fault.note[1], fault.note[2])),) if fault.note else ()
    cure = fault.help.replace("{}", text) if fault.help else None
    return Diagnostic(fault.code, fault.message.replace("{}", text), span, cure, notes)


def _offset(diagnostic: Diagnostic) -> int:
    return diagnostic.span.start if diagnostic.span else 0
