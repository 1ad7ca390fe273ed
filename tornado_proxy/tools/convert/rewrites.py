"""Converts a `keyRewriteList` to rewrites, and writes them as a rule file.

A rewrite is converted only if it is proved to make the same key from the same request. A later one must not take the
keys of one that is left out, so it is left out too unless the two are proved to share no key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

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


class RewriteEntry(msgspec.Struct, frozen=True):
    """An entry of a `keyRewriteList`."""

    source: str
    target: str
    dialect: Dialect
    place: Span


class Written(NamedTuple):
    """A rewrite for our keys."""

    source: str
    dialect: Dialect
    template: str


class ConvertedRewrite(msgspec.Struct, frozen=True):
    """An entry with its rewrite, whose source matches `keys` here: None if they are unknown.

    Without a rewrite there is a reason, and advice; one that s3-proxy never applies is not needed.
    """

    original: RewriteEntry
    written: Written | None = None
    keys: Language | None = None
    reason: str = ""
    help: str | None = None
    is_needed: bool = True

    @property
    def is_left_out(self) -> bool:
        """Whether s3-proxy applies the rewrite, and this service does not."""
        return self.written is None and self.is_needed

    @property
    def is_unchanged(self) -> bool:
        """Whether source and target are as they were."""
        before = self.original.source, self.original.target
        return self.written is not None and (self.written.source, self.written.template) == before


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
    for entry in entries:
        result = _converted(entry, surroundings, keys_as)
        for earlier in (each for each in done if each.is_left_out):
            if result.written and not (earlier.keys and result.keys and patterns.disjoint(earlier.keys, result.keys)):
                reason = f"it may take keys of an earlier entry that is left out, at {where(earlier.original.place)}"
                result = ConvertedRewrite(entry, None, result.keys, reason, "write that one by hand first")
        done.append(result)
    return done


def _converted(entry: RewriteEntry, surroundings: Surroundings, keys_as: KeysAs) -> ConvertedRewrite:
    keys: Language | None = None
    try:
        if keys_as is KeysAs.DOCUMENTED:
            pattern = compile_pattern(entry.source)
            keys = language(pattern.text)
            if entry.dialect is Dialect.GO:
                compile_go(entry.target, pattern.names, pattern.group_count, surroundings.helpers)
            return ConvertedRewrite(entry, Written(pattern.text, entry.dialect, entry.target), keys)
        source = patterns.source_here(entry.source, surroundings.prefix)
        keys = language(source.text)
        if entry.dialect is Dialect.GO:
            text = go_target_here(entry.target, source, surroundings)
        else:
            text = patterns.plain_target_here(entry.target, source, surroundings.prefix)
        return ConvertedRewrite(entry, Written(source.text, entry.dialect, text), keys)
    except patterns.NeverFound as never:
        return ConvertedRewrite(entry, reason=str(never), is_needed=False)
    except (patterns.NotConvertible, PatternError, TemplateMistake) as error:
        reason = f"the {'target' if keys else 'source'} cannot be converted: {error}"
        return ConvertedRewrite(entry, None, keys, reason, error.help)


def _remark(entry: ConvertedRewrite) -> tuple[OptionOutcome, str, str | None]:
    was, written = f"`{entry.original.source}` -> `{entry.original.target}`", entry.written
    if entry.is_left_out:
        return OptionOutcome.LEFT_OUT, f"{was} is left out: {entry.reason}", entry.help
    if written is None:
        message = f"{was} is left out, because s3-proxy never applies it: {entry.reason}"
        advice = "if it follows the documentation, convert with `--keys-as documented`"
        return OptionOutcome.LEFT_OUT, message, advice
    if written.template.endswith("/"):
        message = f"{was} makes the key of a directory: a file is answered with 404, not read"
        return OptionOutcome.CHANGED, message, "end it with the name of a file"
    if entry.is_unchanged:
        return OptionOutcome.CARRIED, f"{was} as it is", None
    message = f"{was} is `{written.source}` -> `{written.template}`, which makes the same keys"
    return OptionOutcome.ADAPTED, message, None


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
        if entry.written:
            text, dialect, template = entry.written
            source, target_text = Literal(text, _NOWHERE, raw=True), Literal(template, _NOWHERE, raw=False)
            statements.append(RewriteStatement(None, source, dialect, target_text, _NOWHERE, tuple(waiting)))
            waiting = []
    name = Literal(target, _NOWHERE, raw=False)
    return print_document(Document(_SOURCE, (TargetBlock(name, tuple(statements), _NOWHERE, closing=tuple(waiting)),)))


def _lines(entry: ConvertedRewrite) -> Iterator[str]:
    place = where(entry.original.place)
    if entry.written:
        yield f"From {place}."
    elif entry.is_needed:
        yield f"LEFT OUT, {place}: {entry.reason}" + (f" ({entry.help})" if entry.help else "")
    else:
        yield f"Not needed, {place}: {entry.reason}"
    if not entry.is_unchanged:
        yield f"It was: {entry.original.source} -> {entry.original.target}"
