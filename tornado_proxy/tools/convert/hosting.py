"""Reads what the files of Netlify, Cloudflare and S3's websites redirect, and plain lists of addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree.ElementTree import Element, ParseError, fromstring

from tornado_proxy.config import document
from tornado_proxy.config.document import MappingNode, Node, ScalarNode, SequenceNode
from tornado_proxy.rules.diagnostic import Diagnostic, SourceFile, Span
from tornado_proxy.rules.tree import REDIRECTS
from tornado_proxy.tools.convert.options import Remark, Unreadable
from tornado_proxy.tools.convert.redirects import ForeignRule, Read, changed, left_out, literally

_STATUS = re.compile(r"([1-5][0-9]{2})(!?)")
_URL = re.compile(r"https?://", re.IGNORECASE)
_PLACEHOLDER = re.compile(r":([A-Za-z]\w*)")
_WHOLE_SEGMENT = re.compile(r"(?<=/):[A-Za-z]\w*(?=/|\Z)")
_COLUMNS = "it is not a path, where it leads, and perhaps a status"


def _lines(source: SourceFile) -> Iterator[tuple[Span, list[str]]]:
    """Yields the lines that are neither empty nor comments, and their words."""
    start = 0
    for line in source.text.split("\n"):
        text = line.strip()
        if text and not text.startswith("#"):
            yield Span(source, start, start + len(line.rstrip())), text.split()
        start += len(line) + 1


def columns(source: SourceFile) -> Read:
    """Reads a list of exact addresses in two or three columns, separated by tabs or, in lines without one, spaces."""
    for place, spaced in _lines(source):
        words = [each.strip() for each in place.text.strip().split("\t")] if "\t" in place.text.strip() else spaced
        address, result, status = (*filter(None, words), "301")[:3] if len(words) > 1 else ("", "", "")
        if len(words) <= 3 and status.isdecimal() and int(status) in REDIRECTS:
            yield ForeignRule(place, unquote(address), result, int(status), is_exact=True)
        else:
            yield left_out(place, _COLUMNS)


def netlify(source: SourceFile) -> Read:
    """Reads a `_redirects` of Netlify.

    A rule without `!` is for paths without a file. A path is the same with and without its last slash, `*` stands at
    its end, and `:name` is a whole segment.
    """
    for place, line in _lines(source):
        words = line[: next((n for n, word in enumerate(line) if word.startswith("#")), None)]
        at = next((n for n, word in enumerate(words[1:], 1) if word.startswith("/") or _URL.match(word)), 0)
        status = _STATUS.fullmatch(words[at + 1] if len(words) > at + 1 else "301")
        path, conditions = words[0], [*words[1:at], *words[at + 2 :]]
        if not at or not status:
            yield left_out(place, _COLUMNS)
        elif conditions:
            yield left_out(place, f"it has a condition, `{' '.join(conditions)}`")
        elif "*" in path.removesuffix("/*") or ":" in _WHOLE_SEGMENT.sub("", path):
            yield left_out(place, "it is for a host, or `*` is not the last segment, or `:name` not a whole one")
        elif words[at].rstrip("/") == path.rstrip("/"):
            yield left_out(place, "it leads to its own address")
        elif path == "/*" and status[0] == "200":
            yield left_out(place, "a rewrite of every path would hide all files", "set `tryFiles` in GET's `config`")
        else:
            answer = _Answer(words[at], int(status[1]), if_missing=not status[2])
            if answer.status in (200, 410) and answer.if_missing and not _URL.match(answer.result):
                yield changed(place, "it hides a file at this path, which Netlify would serve")
            elif answer.status == 410:
                yield changed(place, f"its page `{answer.result}` is not shown")
            yield from _netlify(place, path, answer)


class _Answer(NamedTuple):
    """What a line wants for a path."""

    result: str
    status: int
    if_missing: bool = False


def _netlify(place: Span, path: str, answer: _Answer) -> Read:
    bare = path.removesuffix("*").rstrip("/")
    if path.endswith("*") or _PLACEHOLDER.search(path):
        tail = f"(?:/{_expression('*', answer)})?" if path.endswith("*") else "/?"
        yield _rule(place, path, f"^{_expression(bare, answer)}{tail}$", answer)
        return
    for each in dict.fromkeys((path, f"{bare}/", bare or "/")):
        if answer.status != 200 or each == bare:  # a directory is not rewritten to a file
            yield _rule(place, each, "", answer)


def cloudflare(source: SourceFile) -> Read:
    """Reads a `_redirects` of Cloudflare: a rule is for every path, with a file or not."""
    for place, words in _lines(source):
        path, result, status = (*words, "302")[:3] if len(words) > 1 else ("", "", "")
        path = path.partition("#")[0]
        if len(words) > 3 or not status.isdecimal():
            yield left_out(place, f"{_COLUMNS}: Cloudflare ignores the line")
        elif not path.startswith("/") or path.count("*") > 1:
            yield left_out(place, "it is for a host, or has several `*`")
        else:
            answer, is_dynamic = _Answer(result, int(status)), "*" in path or _PLACEHOLDER.search(path)
            yield _rule(place, path, f"^{_expression(path, answer)}$" if is_dynamic else "", answer)


def _expression(path: str, answer: _Answer) -> str:
    """Returns the expression of a path with `*` and `:name`; what the answer inserts is a group."""
    inserted = _PLACEHOLDER.findall(answer.result)
    expression = ""
    for piece in re.split(r"(\*|:[A-Za-z]\w*)", path):
        name, meant = {"*": ("splat", ".*")}.get(piece, (piece[1:], "[^/]+" if piece.startswith(":") else ""))
        expression += (f"(?P<{name}>{meant})" if name in inserted else meant) if meant else literally(unquote(piece))
    return expression


def _rule(place: Span, path: str, expression: str, answer: _Answer) -> ForeignRule | Remark:
    """Returns the entry of a line: of an exact path if there is no expression."""
    result, status, if_missing = answer
    if status == 200 and _URL.match(result):
        return left_out(place, "it asks another server for the page")
    if status not in {*REDIRECTS, 200, 410}:
        return left_out(place, f"it answers with {status}")
    led = {200: unquote(result.partition("?")[0]), 410: ""}.get(status, result)
    if not expression:
        return ForeignRule(place, unquote(path), led, status, is_exact=True, if_missing=if_missing)
    names = {"splat", *_PLACEHOLDER.findall(path)}
    led = _PLACEHOLDER.sub(lambda name: f"${{{name[1]}}}" if name[1] in names else name[0], led.replace("$", "$$"))
    sample = unquote(path).replace(":", "").replace("*", "a/b")
    return ForeignRule(place, expression, led, status, if_missing=if_missing, sample=sample)


_RULES = ("RoutingRule", "RedirectAllRequestsTo")
_ELEMENT = re.compile(rf"<((?:[\w.-]+:)?(?:{'|'.join(_RULES)}))\b.*?</\1\s*>", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_WEBSITE = "it is neither the website configuration of a bucket nor its routing rules"


def s3(source: SourceFile) -> Read:
    """Reads routing rules of a website, as XML or as JSON (or CloudFormation's YAML), alone or within other settings.

    A rule is for keys that begin with its prefix, and if it names 404, for those without an object.
    """
    found = [*(_of_xml if source.text.lstrip("\ufeff \t\r\n").startswith("<") else _of_json)(source)]
    if not found:
        raise Unreadable(Diagnostic("no-redirects", f"`{source.name}`: {_WEBSITE}"))
    for place, rule in found:
        error, prefix = rule.get("HttpErrorCodeReturnedEquals"), rule.get("KeyPrefixEquals", "")
        host, scheme = rule.get("HostName"), rule.get("Protocol")
        if error not in (None, "404"):
            advice = "S3 answers 403 for a missing object if it may not list the bucket: write 404 if that is meant"
            yield left_out(place, f"it is for the status {error}", advice if error == "403" else None)
            continue
        if scheme and not host:
            yield left_out(place, "it changes the scheme of the request and keeps its host")
            continue
        if host and not scheme:
            yield changed(place, "the scheme is that of the request; here it is `http`, the only one of S3's websites")
        whole, prefixed = rule.get("ReplaceKeyWith"), rule.get("ReplaceKeyPrefixWith", prefix)
        led = (prefixed if whole is None else whole).removeprefix("/").replace("$", "$$")
        result = (f"{scheme or 'http'}://{host}" if host else "") + f"/{led}" + ("${rest}" if whole is None else "")
        text = f"^/{literally(prefix)}" + ("(?P<rest>.*)$" if whole is None else "")
        status = rule.get("HttpRedirectCode", "301")
        yield ForeignRule(place, text, result, int(status), if_missing=bool(error), sample=f"/{prefix}a/b")


def _of_json(source: SourceFile) -> Iterator[tuple[Span, Mapping[str, str]]]:
    composed = document.compose(source.text)
    if composed.faults:
        raise Unreadable(*(Diagnostic(each.code, f"`{source.name}`: {each.message}") for each in composed.faults))
    waiting = [composed.root] if composed.root else []
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, SequenceNode):
            waiting = [*node.items, *waiting]
        elif isinstance(node, MappingNode):
            names = {name: entry.value for name, entry in node.fields.items()}
            whole = names.get("RedirectAllRequestsTo", node if {"Redirect", "RedirectRule"} & {*names} else None)
            if whole:
                yield Span(source, whole.start, whole.end), dict(_leaves(whole))
            else:
                waiting = [*names.values(), *waiting]


def _leaves(node: Node) -> Iterator[tuple[str, str]]:
    for name, entry in node.fields.items() if isinstance(node, MappingNode) else ():
        if isinstance(entry.value, ScalarNode):
            yield name, entry.value.text
        else:
            yield from _leaves(entry.value)


def _of_xml(source: SourceFile) -> Iterator[tuple[Span, Mapping[str, str]]]:
    text = _COMMENT.sub(lambda comment: " " * len(comment[0]), source.text).removeprefix("\ufeff")
    if "<!" in text:
        raise Unreadable(Diagnostic("bad-xml", f"`{source.name}` has a document type, which is not read"))
    try:
        root = fromstring(text)  # noqa: S314 - without a document type nothing can expand
    except ParseError as error:
        raise Unreadable(Diagnostic("bad-xml", f"`{source.name}` is not XML: {error}")) from None
    moved = len(source.text) - len(text)
    places = (Span(source, each.start() + moved, each.end() + moved) for each in _ELEMENT.finditer(text))
    elements = (each for each in root.iter() if _name(each) in _RULES)
    for place, element in zip(places, elements, strict=False):
        yield place, {_name(each): (each.text or "").strip() for each in element.iter()}


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]
