"""A `keyRewriteList` as rewrites: what is carried over, what is left out, and what has to be left out with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from tornado_proxy.goregex.language import Language, language
from tornado_proxy.goregex.matching import compile_pattern
from tornado_proxy.goregex.syntax import PatternError
from tornado_proxy.lang.diagnostic import Span
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.templates.golang import compile_template as compile_go
from tornado_proxy.templates.golang.program import BUILT_IN
from tornado_proxy.templates.template import TemplateMistake
from tornado_proxy.tools.convert.go_targets import Surroundings, go_target_here
from tornado_proxy.tools.convert.options import OptionOutcome, Section
from tornado_proxy.tools.convert.patterns import (
    Here,
    NeverFound,
    NotConvertible,
    disjoint,
    plain_target_here,
    source_here,
)

_ACTION = re.compile(r"\{\{(-?)\s*(/\*.*?\*/|.*?)\s*(-?)\}\}", re.DOTALL)
_CALL = re.compile(r'(?:template|include)\s+["`]([^"`]+)["`]\s+[.$]')
_DEFINE = re.compile(r'define\s+["`]([^"`]+)["`]')
_OPENS = re.compile(r"(?:if|with|range|define|block)\b")


def with_helpers(target: str, helpers: Sequence[str]) -> str:
    """A rewrite's template in which each call of a helper on the whole data is replaced by the helper's text."""
    known = helper_bodies(helpers)
    for _ in range(10):  # a helper may call another; one that calls itself is left as it is
        inlined = _inlined(target, known)
        if inlined == target:
            break
        target = inlined
    return target


def helper_bodies(helpers: Sequence[str]) -> Mapping[str, str]:
    """The helper templates that may be called, those that are built in among them, by name."""
    return {**BUILT_IN, **{name: body for text in helpers for name, body in _definitions(text)}}


def _inlined(text: str, known: Mapping[str, str]) -> str:
    made, end = "", 0
    for action in _ACTION.finditer(text):
        call = _CALL.fullmatch(action[2])
        before = text[end : action.start()]
        if call is None or call[1] not in known:
            made, end = made + before + action[0], action.end()
            continue
        made += (before.rstrip() if action[1] else before) + known[call[1]]
        rest = text[action.end() :]
        end = action.end() + (len(rest) - len(rest.lstrip()) if action[3] else 0)
    return made + text[end:]


def _definitions(text: str) -> Iterator[tuple[str, str]]:
    """The templates that a text defines, with their bodies."""
    name, start, depth, trims = "", 0, 0, False
    for action in _ACTION.finditer(text):
        define = _DEFINE.fullmatch(action[2])
        if define is not None and not depth:
            name, start, trims = define[1], action.end(), bool(action[3])
        if _OPENS.match(action[2]):
            depth += 1
        elif action[2] == "end":
            depth -= 1
            if not depth and name:
                body = text[start : action.start()]
                body = body.lstrip() if trims else body
                yield name, body.rstrip() if action[1] else body
                name = ""


class KeysAs(Enum):
    """Which keys the sources and targets of a `keyRewriteList` are taken to be about."""

    ACTUAL = "actual"  # the prefix in front, no leading slash: s3-proxy's code
    DOCUMENTED = "documented"  # a leading slash, no prefix: s3-proxy's documentation, and this project


@dataclass(frozen=True, slots=True)
class Given:
    """An entry of a `keyRewriteList`."""

    source: str
    target: str
    dialect: Dialect
    place: Span = field(repr=False)


class Written(NamedTuple):
    """A rewrite for this project's keys."""

    source: str
    dialect: Dialect
    template: str


class LeftOut(NamedTuple):
    """Why there is no rewrite, and the advice; `keys` is what its source finds, None where that is not known."""

    reason: str
    help: str | None
    keys: Language | None


class Never(NamedTuple):
    """Why there need be no rewrite: s3-proxy's never applies."""

    reason: str


@dataclass(frozen=True, slots=True)
class ConvertedRewrite:
    """An entry and what became of it."""

    given: Given
    result: Written | LeftOut | Never


def given_entries(target: Section) -> list[Given]:
    """The entries of a target's list."""
    return [_given(section) for section in target.sections("keyRewriteList")]


def _given(section: Section) -> Given:
    kind = section.text("targetType", "REGEX")
    if kind not in ("REGEX", "TEMPLATE"):
        message = (
            f"`{kind}` is not a type; s3-proxy's code renders what is not `REGEX` as a template, and so does this one"
        )
        section.remark(OptionOutcome.CHANGED, "targetType", message)
    dialect = Dialect.PLAIN if kind == "REGEX" else Dialect.GO
    return Given(section.text("source"), section.text("target"), dialect, section.span)


def converted(entries: Sequence[Given], surroundings: Surroundings, keys_as: KeysAs) -> list[ConvertedRewrite]:
    """What becomes of a list of entries.

    A later entry must not take the keys of one that is left out: s3-proxy would not have asked it. So it stays only
    where the two are proved to share no key.
    """
    done: list[ConvertedRewrite] = []
    missing: list[tuple[Given, Language | None]] = []
    for given in entries:
        result = _converted(given, surroundings, keys_as)
        if isinstance(result, Written):
            result = _unless_in_doubt(result, missing)
        if isinstance(result, LeftOut):
            missing.append((given, result.keys))
        done.append(ConvertedRewrite(given, result))
    return done


def _unless_in_doubt(written: Written, missing: Sequence[tuple[Given, Language | None]]) -> Written | LeftOut:
    keys = language(written.source)
    for earlier, theirs in missing:
        if theirs is None or not disjoint(theirs, keys):
            place = f"{earlier.place.source.name}:{earlier.place.first.line}"
            reason = f"it may take keys of an earlier entry that is left out, at {place}"
            return LeftOut(reason, "settle that one first", keys)
    return written


def _converted(given: Given, surroundings: Surroundings, keys_as: KeysAs) -> Written | LeftOut | Never:
    keys: Language | None = None
    try:
        source = _source(given, surroundings.prefix, keys_as)
        if isinstance(source, NeverFound):
            return Never(source.reason)
        keys = language(source.text)
        return Written(source.text, given.dialect, _template(given, source, surroundings, keys_as))
    except (NotConvertible, PatternError, TemplateMistake) as error:
        what = "target" if keys else "source"
        return LeftOut(f"the {what} cannot be carried over: {error}", error.help, keys)


def _source(given: Given, prefix: str, keys_as: KeysAs) -> Here | NeverFound:
    if keys_as is KeysAs.DOCUMENTED:
        return Here(compile_pattern(given.source).text)
    if "//" in prefix:
        raise NotConvertible("the prefix holds an empty segment, `//`, which s3-proxy's SDK takes out on the way to S3")
    return source_here(given.source, prefix)


def _template(given: Given, source: Here, surroundings: Surroundings, keys_as: KeysAs) -> str:
    target = with_helpers(given.target, surroundings.helpers) if given.dialect is Dialect.GO else given.target
    if keys_as is KeysAs.ACTUAL:
        if given.dialect is Dialect.GO:
            return go_target_here(target, source, surroundings)
        return plain_target_here(given.target, source, surroundings.prefix)
    if given.dialect is Dialect.GO:
        pattern = compile_pattern(source.text)
        compile_go(target, pattern.names, pattern.group_count)
    return target
