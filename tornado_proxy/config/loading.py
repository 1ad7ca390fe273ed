"""Converts a configuration file to settings and diagnostics, which quote only a redacted copy of the file.

The copy is of equal length, with a dot for each character that may belong to a secret. The value of a known option is
shown unless the option is a secret. Comments are hidden, and so are the values of unknown options, which may be a
misspelt `password`. A text that is not YAML is hidden completely.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path

import msgspec

from tornado_proxy.config import checks, document
from tornado_proxy.config.limits import LARGEST_CONFIGURATION
from tornado_proxy.config.model import Settings
from tornado_proxy.config.options import Option, OptionGroup, OptionType, SettingsSection, members_of
from tornado_proxy.config.reader import read as read_settings
from tornado_proxy.config.secrets import Reference, Resolver, holds_secrets, resolver
from tornado_proxy.rules.diagnostic import Diagnostic, Note, SourceFile, Span, decode, did_you_mean, errors, read_file

MASK = "•"

_Range = tuple[int, int]

_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.MULTILINE)
_WITHOUT_MARGINS = re.compile(r"\S(?:[^\n\r]*\S)?")
_TELLS = re.compile(r"//[^/\s]*@|://\S*[?#]|(?:pass|pwd|secret|token|key)[\w.-]*[\"']?\s*[:=]", re.IGNORECASE)
_NAMES = {  # the forms of names; a secret that was put there by mistake rarely has one
    "env": re.compile(r"\w+"),
    "path": re.compile(r"\S.*"),
    "credential": re.compile(r"[\w.@:-]+"),
}


class Loaded(msgspec.Struct, frozen=True):
    """The settings of a configuration file, or the reasons why it cannot be used.

    `settings` is None if a diagnostic is an error. `source` is the file with its secrets redacted; None if the file
    could not be read.
    """

    settings: Settings | None
    diagnostics: tuple[Diagnostic, ...] = ()
    source: SourceFile | None = None


def load(path: Path | str, env: Mapping[str, str], secrets: Resolver | None = None) -> Loaded:
    """Loads a configuration file; never raises for its content or absence.

    Secrets come from `env` and from files relative to the configuration file, unless another resolver is given:
    `secrets.unresolved` is for tools that need no secrets.
    """
    place, source = Path(path), read(path)
    if isinstance(source, Loaded):
        return source
    return compile_configuration(source, place.parent, secrets or resolver(env, place.parent))


def read(path: Path | str, *, again: bool = False) -> SourceFile | Loaded:
    """Returns the text of a configuration file with its secrets, or why not; a pipe cannot be read `again`."""
    try:
        content = read_file(Path(path), LARGEST_CONFIGURATION, regular=again)
    except OSError as error:
        return Loaded(None, (Diagnostic("unreadable-file", f"`{path}` cannot be read: {error.strerror}"),))
    return decoded(str(path), content)


def decoded(name: str, content: bytes) -> SourceFile | Loaded:
    """Returns the text of a configuration file with its secrets, or a diagnostic if it is not UTF-8."""
    text = decode(name, content)
    if isinstance(text, SourceFile):
        return text
    assert text.span is not None, "an invalid byte has a place"
    shown = redacted(text.span.source, document.Composed(whole=False))
    span = msgspec.structs.replace(text.span, source=shown)
    return Loaded(None, (msgspec.structs.replace(text, code="unreadable-file", span=span),), shown)


def compile_configuration(source: SourceFile, directory: Path, secrets: Resolver) -> Loaded:
    """Compiles a configuration; relative paths start from `directory`. Never raises for its content."""
    source = SourceFile(source.name, source.text.removeprefix("\ufeff"))
    composed = document.compose(source.text)
    shown = redacted(source, composed)
    diagnostics = [_diagnostic(fault, shown) for fault in composed.faults]
    settings = None
    if composed.whole and composed.root is None:
        advice = "a configuration has at least `targets`"
        diagnostics.append(Diagnostic("empty-value", "the configuration is empty", Span(shown, 0, 0), advice))
    elif composed.whole and composed.root:
        settings, mistakes = read_settings(composed.root, shown, directory, secrets)
        diagnostics += mistakes
        if settings:
            diagnostics += [each for check in checks.CHECKS for each in check(settings)]
            settings = checks.resolved(settings)
    ordered = tuple(sorted(dict.fromkeys(diagnostics), key=lambda each: each.span.start if each.span else 0))
    return Loaded(None if errors(ordered) else settings, ordered, shown)


def _diagnostic(fault: document.Fault, shown: SourceFile) -> Diagnostic:
    span = Span(shown, fault.start, fault.end)
    text = span.text.strip("\"'")
    notes = (Note(fault.note[0], Span(shown, fault.note[1], fault.note[2])),) if fault.note else ()
    advice = fault.help.replace("{}", text) if fault.help else None
    return Diagnostic(fault.code, fault.message.replace("{}", text), span, advice, notes)


def redacted(source: SourceFile, composed: document.Composed) -> SourceFile:
    """The copy of a source file that may be shown."""
    if not composed.whole:
        return SourceFile(source.name, _masked(source.text, [(0, len(source.text))]))
    scalars = [each for root in composed.documents for each in _scalars(root)]
    plain = (each for root in composed.documents[:1] for each in _plain(OptionType(Settings), root))
    # An alias may stand where its text is plain, and where it is a secret.
    hidden = Counter(scalars) - Counter(each for each in plain if not _TELLS.search(each.text))
    comments = _COMMENT.finditer(_masked(source.text, map(_place, scalars)))
    return SourceFile(source.name, _masked(source.text, (*map(_place, hidden), *(each.span() for each in comments))))


def _place(node: document.Node) -> _Range:
    return node.start, node.end


def _masked(text: str, ranges: Iterable[_Range]) -> str:
    masked, reached = [], 0
    for start, end in sorted(ranges):
        if end > reached:
            start = max(start, reached)  # noqa: PLW2901 - ranges may overlap
            masked += [text[reached:start], _WITHOUT_MARGINS.sub(lambda match: MASK * len(match[0]), text[start:end])]
            reached = end
    return "".join((*masked, text[reached:]))


@cache
def _is_guarded(section: type[SettingsSection], group: OptionGroup | None) -> bool:
    """Whether a secret belongs here, so that what is no option could be one."""
    members = members_of(section, group).values()
    return section is Reference or any(isinstance(each, Option) and each.type.is_secret for each in members)


def _scalars(node: document.Node) -> Iterator[document.ScalarNode]:
    if isinstance(node, document.ScalarNode):
        yield node
        return
    inner = node.items if isinstance(node, document.SequenceNode) else chain.from_iterable(node.entries)
    for each in inner:
        yield from _scalars(each)


def _plain(kind: OptionType, node: document.Node, group: OptionGroup | None = None) -> Iterator[document.ScalarNode]:
    """Yields the scalars of an option, or of a group of a section, that cannot be secrets."""
    section = kind.section
    if isinstance(node, document.MappingNode) and section:
        for entry in node.entries:
            sources = document.merged(entry)
            yield from _scalars(entry.key) if sources else _plain_entry(section, entry, group)
            for source in sources:
                yield from _plain(kind, source, group)
    elif isinstance(node, document.MappingNode) and kind.is_mapping:
        for key, value in node.entries:
            yield from _plain(OptionType(str), key)
            yield from _plain(kind.item, value)
    elif isinstance(node, document.SequenceNode) and kind.is_list and not kind.is_mapping:
        for item in node.items:
            yield from _plain(kind.item, item)
    elif isinstance(node, document.ScalarNode):
        may_hold_secrets = holds_secrets(section) if section else kind.is_list and kind.item.section
        yield from () if may_hold_secrets else (node,)


def _plain_entry(
    section: type[SettingsSection], entry: document.MappingEntry, group: OptionGroup | None
) -> Iterator[document.ScalarNode]:
    key, value = entry
    members, guarded = members_of(section, group), _is_guarded(section, group)
    name = key.text if isinstance(key, document.ScalarNode) else ""
    # Somebody may write `{ann: hunter2}` for a name and a password.
    if isinstance(key, document.ScalarNode) and (not guarded or name in members or did_you_mean(name, members)):
        yield key
    member = members.get(name)
    if isinstance(member, OptionGroup):
        yield from _plain(OptionType(section), value, member)
    elif member and section is Reference:
        if name in _NAMES and isinstance(value, document.ScalarNode) and _NAMES[name].fullmatch(value.text):
            yield value
    # As in `user: ann:hunter2`.
    elif member and not (guarded and isinstance(value, document.ScalarNode) and ":" in value.text):
        yield from _plain(member.type, value)
