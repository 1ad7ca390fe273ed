"""Converts a `keyRewriteList` to rewrites, and writes them as a rule file.

A rewrite is converted only if it is proved to make the same key from the same request. A later one must not take the
keys of one that is left out, so it is left out too unless the two are proved to share no key.

A target of the type TEMPLATE is converted if all data that it reads is the same here or can be replaced. s3-proxy's SDK
joins adjacent slashes of a key. So unless a template prints nothing but text, the key and single segments, the slashes
of what it prints are joined here too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec.structs import asdict, replace

from gotemplate.regexp.automaton import Language, language
from gotemplate.regexp.matching import compile_pattern
from gotemplate.regexp.syntax import PatternError
from gotemplate.template import nodes
from gotemplate.template.errors import TemplateMistake
from gotemplate.template.parser import parse, scan
from gotemplate.template.text import GO_SPACES
from tornado_proxy.rules import tree
from tornado_proxy.rules.diagnostic import SourceFile, Span
from tornado_proxy.rules.tree import Comment, Dialect, Document, Literal, RewriteStatement, TargetBlock, print_document
from tornado_proxy.templates.go import built_in, compile_template
from tornado_proxy.tools.convert import patterns
from tornado_proxy.tools.convert.options import WORDS, NotConvertible, OptionOutcome, Section, where


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


class ConvertedRewrite(msgspec.Struct, frozen=True):
    """An entry, and as it is `written` for our keys: its source matches `keys` here, None if they are unknown.

    One that is not written has a reason, and advice; one that s3-proxy never applies is not needed.
    """

    original: RewriteEntry
    written: RewriteEntry | None = None
    keys: Language | None = None
    reason: str = ""
    help: str | None = None
    is_needed: bool = True

    @property
    def is_left_out(self) -> bool:
        """Whether s3-proxy applies the rewrite, and this service does not."""
        return self.written is None and self.is_needed


class Surroundings(NamedTuple):
    """The target of a template: its prefix as configured, and as s3-proxy prepends it to keys."""

    configured: str
    prefix: str
    helpers: tuple[str, ...] = ()  # texts that define the helper templates that it may call


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
        was, written, advice = f"`{entry.original.source}` -> `{entry.original.target}`", entry.written, None
        if entry.is_left_out:
            outcome, message, advice = OptionOutcome.LEFT_OUT, f"{was} is left out: {entry.reason}", entry.help
        elif written is None:
            outcome = OptionOutcome.LEFT_OUT
            message = f"{was} is left out, because s3-proxy never applies it: {entry.reason}"
            advice = "if it follows the documentation, convert with `--keys-as documented`"
        elif written.target.endswith("/"):
            message = f"{was} makes the key of a directory: a file is answered with 404, not read"
            outcome, advice = OptionOutcome.CHANGED, "end it with the name of a file"
        elif written == entry.original:
            outcome, message = OptionOutcome.CARRIED, f"{was} as it is"
        else:
            message = f"{was} is `{written.source}` -> `{written.target}`, which makes the same keys"
            outcome = OptionOutcome.ADAPTED
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
                compile_template(entry.target, pattern.names, pattern.group_count, surroundings.helpers)
            return ConvertedRewrite(entry, replace(entry, source=pattern.text), keys)
        source = patterns.source_here(entry.source, surroundings.prefix)
        keys = language(source.text)
        if entry.dialect is Dialect.GO:
            text = go_target_here(entry.target, source, surroundings)
        else:
            text = patterns.plain_target_here(entry.target, source, surroundings.prefix)
        return ConvertedRewrite(entry, replace(entry, source=source.text, target=text), keys)
    except patterns.NeverFound as never:
        return ConvertedRewrite(entry, reason=str(never), is_needed=False)
    except (NotConvertible, PatternError, TemplateMistake) as error:
        reason = f"the {'target' if keys else 'source'} cannot be converted: {error}"
        return ConvertedRewrite(entry, None, keys, reason, error.help)


_SAME, _IMPERSONAL = (tuple(f"{each}." for each in WORDS["data"][kind]) for kind in ("same", "impersonal"))

_LINE_END = re.compile(r"\r?\n")  # removed from a result
# What prints the key, if need be without directories at its start or in another case.
_PRINTS_KEY = re.compile(r'\s*\$?\.Key(?:\s*\|\s*(?:lower|upper|trimPrefix "[^"\\]*/"))*\s*')
# What prints one segment: it is never empty and has no slash.
_PRINTS_SEGMENT = re.compile(
    r"\s*\$?\.(?:User\.(?:Username|GetUsername|GetIdentifier)|Request\.Method|Target\.(?:Bucket\.)?Name)\s*"
)
_string = partial(json.dumps, ensure_ascii=False)  # a text of Go
_JOINED = '{{ define "s3-proxy" }}%s{{ end }}{{ regexReplaceAll "/(?:\\\\r?\\\\n|/)+" (include "s3-proxy" .) "/" }}'


def go_target_here(target: str, source: patterns.Here, surroundings: Surroundings) -> str:
    """Converts a template for our keys; raises `NotConvertible`, or `TemplateMistake` if it is not a template."""
    pattern = compile_pattern(source.text)
    compile_template(target, pattern.names, pattern.group_count, surroundings.helpers)
    parsed = parse(target)
    if parsed.templates:
        raise NotConvertible("it defines templates of its own", "write their text where they are used")
    helpers = parse("\n".join((built_in(surroundings.helpers), *surroundings.helpers))).templates
    edits = {start: (end, text) for start, end, text in _edits(parsed.body, surroundings, helpers)}
    if directory := patterns.directory_of(surroundings.prefix):
        _remove_prefix(target, directory, edits)
    text = target
    for start, (end, replacement) in sorted(edits.items(), reverse=True):
        text = text[:start] + replacement + text[end:]
    if _may_have_empty_segment(target, surroundings.prefix):
        text = _JOINED % text
    compile_template(text, pattern.names, pattern.group_count, surroundings.helpers)
    return text


def ignores_client(target: str) -> bool:
    """Returns whether a template is proved to make the same key for every client."""
    try:
        parsed = parse(target)
    except TemplateMistake:
        return False
    for node in _descendants(parsed.body):
        path = _path_of(node)
        reads_client = path is not None and not ".".join((*path, "")).startswith(_IMPERSONAL)
        if reads_client or isinstance(node, nodes.Call):
            return False
    return not parsed.templates


def _path_of(node: object) -> tuple[str, ...] | None:
    """Returns the fields that are read of all data, none for all of it; None for anything else."""
    match node:
        case nodes.Chain(operand=nodes.Dot() | nodes.Variable(name="$"), fields=path):
            return path
        case nodes.Dot() | nodes.Variable(name="$"):
            return ()
    return None


def _descendants(node: object) -> Iterator[object]:
    """Yields a node and all below it; the dot or the variable of a path is part of the path."""
    yield node
    if _path_of(node) is not None:
        return
    children: Iterable[object] = ()
    if isinstance(node, tuple):
        children = node
    elif isinstance(node, msgspec.Struct):
        children = asdict(node).values()
    for child in children:
        yield from _descendants(child)


def _edits(
    body: nodes.Body, surroundings: Surroundings, helpers: Mapping[bytes, nodes.Body]
) -> Iterator[tuple[int, int, str]]:
    """Yields the places that read the key or the prefix, and their text here; raises `NotConvertible`.

    `helpers` are the templates that may be called on all data.
    """
    for node in body:
        match node:
            case nodes.TextNode():
                continue
            case nodes.Output() | nodes.Branch(sets_dot=False):
                yield from _edits_of_pipeline(node, surroundings, helpers)
                if isinstance(node, nodes.Branch):
                    yield from _edits((*node.body, *node.otherwise), surroundings, helpers)
            case nodes.Call(pipeline=nodes.Pipeline(commands=((whole,),))) if _path_of(whole) == ():
                _check_helper(node.name, surroundings, helpers)
            case _:
                reason = "it has a `with`, a `range` or a call that is not of a helper with all data"
                raise NotConvertible(reason)


def _edits_of_pipeline(
    node: nodes.Output | nodes.Branch, surroundings: Surroundings, helpers: Mapping[bytes, nodes.Body]
) -> Iterator[tuple[int, int, str]]:
    handed = []
    for each in _descendants(node.pipeline):
        match each:
            case (nodes.Identifier(name="include"), nodes.Constant(value=bytes(name)), whole) if _path_of(whole) == ():
                _check_helper(name, surroundings, helpers)
                handed.append(whole)
        if (path := _path_of(each)) is None or not isinstance(each, nodes.ExpressionNode) or each in handed:
            continue
        place = each.start + node.base, each.end + node.base
        if path == ("Key",):
            below = '(trimPrefix "/" .Key)'
            yield *place, f"(print {_string(surroundings.prefix)} {below})" if surroundings.prefix else below
        elif path == ("Target", "Bucket", "Prefix"):
            yield *place, _string(surroundings.configured)
        elif not ".".join((*path, "")).startswith(_SAME):
            raise NotConvertible(f"`.{'.'.join(path)}` is not the same here")


def _check_helper(name: bytes, surroundings: Surroundings, helpers: Mapping[bytes, nodes.Body]) -> None:
    """Raises `NotConvertible` if a helper template that is called on all data needs an edit, or calls another."""
    if name not in helpers or [*_edits(helpers[name], surroundings, {})]:
        message = f"the helper template `{name.decode()}` reads the key or the prefix, or is called by another"
        raise NotConvertible(message, "write its text out")


def _remove_prefix(target: str, directory: str, edits: dict[int, tuple[int, str]]) -> None:
    """Removes the prefix from the beginning of the result; raises `NotConvertible`."""
    opening = next((piece for piece in scan(target) if piece.is_action or piece.text.strip(GO_SPACES + "\r\n")), None)
    if opening and not opening.is_action:
        bare = opening.text.lstrip(GO_SPACES + "\r\n")
        start = opening.start + len(opening.text) - len(bare)
        edits[start] = (start + patterns.below_prefix(bare, directory), "/")
    elif opening and opening.text.strip() in (".Key", "$.Key"):
        # Here the key is the path below the prefix, so it is printed as it is.
        del edits[opening.start + len(opening.text) - len(opening.text.lstrip())]
    else:
        reason = f"nothing proves that its result begins with the prefix `{directory}`"
        raise NotConvertible(reason, f"begin it with `{directory}`")


def _may_have_empty_segment(target: str, prefix: str) -> bool:
    """Returns whether two slashes may meet in the result for s3-proxy's keys, which begin with the prefix."""
    shape = ""
    for piece in scan(target):
        if not piece.is_action:
            shape += _LINE_END.sub("", piece.text)
        elif _PRINTS_KEY.fullmatch(piece.text):
            # A key has no empty segment, so no slash follows the one with which the trimmed text ends.
            shape += "/KEY/" if prefix.startswith("/") else "KEY/"
        elif _PRINTS_SEGMENT.fullmatch(piece.text):
            shape += "SEGMENT"
        else:
            return True
    return "//" in shape


NOWHERE = Span(SourceFile("", ""), 0, 0)
"""The place of what stands in no file."""

# Characters that a reader of the file would not see in a comment.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")


def one_line(text: str) -> str:
    """Returns a text for a comment."""
    return _UNSEEN.sub(" ", text).rstrip()


def document(target: str, statements: Iterable[tree.Statement], closing: Iterable[Comment] = ()) -> Document:
    """Returns a rule file of one block."""
    block = TargetBlock(Literal(target, NOWHERE, raw=False), tuple(statements), NOWHERE, closing=tuple(closing))
    return Document(NOWHERE.source, (block,))


def rule_text(target: str, entries: Sequence[ConvertedRewrite]) -> str:
    """Returns the text of a rule file in its canonical layout; rewrites that are left out are in comments."""
    statements: list[RewriteStatement] = []
    waiting: list[Comment] = []
    for entry in entries:
        is_first = not statements and not waiting
        waiting += (
            Comment(f"# {one_line(line)}", NOWHERE, blank_before=not number and not is_first)
            for number, line in enumerate(_lines(entry))
        )
        if entry.written:
            source = Literal(entry.written.source, NOWHERE, raw=True)
            template = Literal(entry.written.target, NOWHERE, raw=False)
            statements.append(RewriteStatement(None, source, entry.written.dialect, template, NOWHERE, tuple(waiting)))
            waiting = []
    return print_document(document(target, statements, waiting))


def _lines(entry: ConvertedRewrite) -> Iterator[str]:
    place = where(entry.original.place)
    if entry.written:
        yield f"From {place}."
    elif entry.is_needed:
        yield f"LEFT OUT, {place}: {entry.reason}" + (f" ({entry.help})" if entry.help else "")
    else:
        yield f"Not needed, {place}: {entry.reason}"
    if entry.written != entry.original:
        yield f"It was: {entry.original.source} -> {entry.original.target}"
