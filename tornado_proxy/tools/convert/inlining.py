"""Puts helper templates into the rewrites that call them, so that what a rewrite makes can be proved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tornado_proxy.templates.golang.template import BUILT_IN

_ACTION = re.compile(r"\{\{(-?)\s*(/\*.*?\*/|.*?)\s*(-?)\}\}", re.DOTALL)
_CALL = re.compile(r'(?:template|include)\s+["`]([^"`]+)["`]\s+[.$]')
_DEFINE = re.compile(r'define\s+["`]([^"`]+)["`]')
_OPENS = re.compile(r"(?:if|with|range|define|block)\b")


def with_helpers(target: str, helpers: Sequence[str]) -> str:
    """A rewrite's template in which each call of a helper on the whole data is replaced by the helper's text."""
    known = {**BUILT_IN, **{name: body for text in helpers for name, body in _definitions(text)}}
    for _ in range(10):  # a helper may call another; one that calls itself is left as it is
        inlined = _inlined(target, known)
        if inlined == target:
            break
        target = inlined
    return target


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
