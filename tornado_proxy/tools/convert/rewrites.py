"""Converts a `keyRewriteList` to rewrites, and writes them as a rule file.

A rewrite is converted only if it is proved to make the same key from the same request. A later one must not take the
keys of one that is left out, so it is left out too unless the two are proved to share no key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, assert_never

import msgspec

from gotemplate.regexp.automaton import Language, language
from gotemplate.regexp.matching import compile_pattern
from gotemplate.regexp.syntax import PatternError
from gotemplate.template.errors import TemplateMistake
from tornado_proxy.rules.diagnostic import SourceFile, Span
from tornado_proxy.rules.tree import Comment, Dialect, Document, Literal, RewriteStatement, TargetBlock, print_document
from tornado_proxy.templates.go import compile_template as compile_go
from tornado_proxy.tools.convert import patterns
from tornado_proxy.tools.convert.go_targets import Surroundings, go_target_here
from tornado_proxy.tools.convert.options import OptionOutcome, Section, where


class KeysAs(Enum):
    """The form of keys that the sources and targets of a `keyRewriteList` were written for."""

    ACTUAL = "actual"  # with the prefix and without a leading slash: s3-proxy's code
    DOCUMENTED = "documented"  # without the prefix and with a leading slash: s3-proxy's documentation, and here


@dataclass(frozen=True, slots=True)
class RewriteEntry:
    """An entry of a `keyRewriteList`."""

    source: str
    target: str
    dialect: Dialect
    place: Span = field(repr=False)


class Written(NamedTuple):
    """A rewrite for our keys."""

    source: str
    dialect: Dialect
    template: str


class LeftOut(NamedTuple):
    """A rewrite that is left out: the reason and the advice; its source matches `keys`, None if unknown."""

    reason: str
    help: str | None
    keys: Language | None


class Never(NamedTuple):
    """A rewrite that is not needed, because s3-proxy never applies it; the reason."""

    reason: str


class ConvertedRewrite(msgspec.Struct, frozen=True):
    """An entry and the result of its conversion."""

    original: RewriteEntry
    result: Written | LeftOut | Never


def rewrites(target: Section, surroundings: Surroundings, keys_as: KeysAs) -> list[ConvertedRewrite]:
    """Converts the `keyRewriteList` of a target, with a remark on each entry."""
    given = []
    for section in target.sections("keyRewriteList"):
        kind = section.text("targetType", "REGEX")
        if kind not in ("REGEX", "TEMPLATE"):
            message = f"`{kind}` is not a type; it is read as `TEMPLATE`, as by s3-proxy's code"
            section.changed("targetType", message)
        dialect = Dialect.PLAIN if kind == "REGEX" else Dialect.GO
        given.append(RewriteEntry(section.text("source"), section.text("target"), dialect, section.place("")))
    entries = converted(given, surroundings, keys_as)
    for entry in entries:
        outcome, message, advice = _remark(entry)
        target.remark(outcome, "keyRewriteList", message, advice, place=entry.original.place)
    return entries


def converted(entries: Sequence[RewriteEntry], surroundings: Surroundings, keys_as: KeysAs) -> list[ConvertedRewrite]:
    """Returns the result of the conversion of each entry of a list."""
    done: list[ConvertedRewrite] = []
    missing: list[tuple[RewriteEntry, Language | None]] = []
    for entry in entries:
        result = _converted(entry, surroundings, keys_as)
        keys = language(result.source) if isinstance(result, Written) else None
        for earlier, theirs in missing:
            if keys is not None and (theirs is None or not patterns.disjoint(theirs, keys)):
                reason = f"it may take keys of an earlier entry that is left out, at {where(earlier.place)}"
                result = LeftOut(reason, "write that one by hand first", keys)
                break
        if isinstance(result, LeftOut):
            missing.append((entry, result.keys))
        done.append(ConvertedRewrite(entry, result))
    return done


def _converted(entry: RewriteEntry, surroundings: Surroundings, keys_as: KeysAs) -> Written | LeftOut | Never:
    keys: Language | None = None
    try:
        if keys_as is KeysAs.DOCUMENTED:
            pattern = compile_pattern(entry.source)
            keys = language(pattern.text)
            if entry.dialect is Dialect.GO:
                compile_go(entry.target, pattern.names, pattern.group_count, surroundings.helpers)
            return Written(pattern.text, entry.dialect, entry.target)
        source = patterns.source_here(entry.source, surroundings.prefix)
        keys = language(source.text)
        if entry.dialect is Dialect.GO:
            return Written(source.text, entry.dialect, go_target_here(entry.target, source, surroundings))
        text = patterns.plain_target_here(entry.target, source, surroundings.prefix)
        return Written(source.text, entry.dialect, text)
    except patterns.NeverFound as never:
        return Never(str(never))
    except (patterns.NotConvertible, PatternError, TemplateMistake) as error:
        what = "target" if keys else "source"
        return LeftOut(f"the {what} cannot be converted: {error}", error.help, keys)


def _remark(entry: ConvertedRewrite) -> tuple[OptionOutcome, str, str | None]:
    original = entry.original
    was = f"`{original.source}` -> `{original.target}`"
    match entry.result:
        case Written(template=template) if template.endswith("/"):
            message = f"{was} makes the key of a directory: a file is answered with 404, not read"
            return OptionOutcome.CHANGED, message, "end it with the name of a file"
        case Written(source, _, template) if (source, template) == (original.source, original.target):
            return OptionOutcome.CARRIED, f"{was} as it is", None
        case Written(source, _, template):
            return OptionOutcome.ADAPTED, f"{was} is `{source}` -> `{template}`, which makes the same keys", None
        case LeftOut(reason, help, _):
            return OptionOutcome.LEFT_OUT, f"{was} is left out: {reason}", help
        case Never(reason):
            message = f"{was} is left out, because s3-proxy never applies it: {reason}"
            advice = "if it follows the documentation, convert with `--keys-as documented`"
            return OptionOutcome.LEFT_OUT, message, advice
        case _:
            assert_never(entry.result)


_SOURCE = SourceFile("", "")
_NOWHERE = Span(_SOURCE, 0, 0)
# Characters that a reader of the file would not see in a comment.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")


def rule_text(target: str, entries: Sequence[ConvertedRewrite]) -> str:
    """Returns the text of a rule file in its canonical layout; rewrites that are left out are in comments."""
    statements: list[RewriteStatement] = []
    waiting: list[Comment] = []
    for entry in entries:
        is_first = not statements and not waiting
        waiting += (
            Comment(f"# {_UNSEEN.sub(' ', line).rstrip()}", _NOWHERE, blank_before=not number and not is_first)
            for number, line in enumerate(_lines(entry))
        )
        if isinstance(entry.result, Written):
            text, dialect, template = entry.result
            source, target_text = Literal(text, _NOWHERE, raw=True), Literal(template, _NOWHERE, raw=False)
            statements.append(RewriteStatement(None, source, dialect, target_text, _NOWHERE, tuple(waiting)))
            waiting = []
    name = Literal(target, _NOWHERE, raw=False)
    return print_document(Document(_SOURCE, (TargetBlock(name, tuple(statements), _NOWHERE, closing=tuple(waiting)),)))


def _lines(entry: ConvertedRewrite) -> Iterator[str]:
    original, result, place = entry.original, entry.result, where(entry.original.place)
    if isinstance(result, Written):
        yield f"From {place}."
    elif isinstance(result, LeftOut):
        yield f"LEFT OUT, {place}: {result.reason}" + (f" ({result.help})" if result.help else "")
    else:
        yield f"Not needed, {place}: {result.reason}"
    if not isinstance(result, Written) or (result.source, result.template) != (original.source, original.target):
        yield f"It was: {original.source} -> {original.target}"
