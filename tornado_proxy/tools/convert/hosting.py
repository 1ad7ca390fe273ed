"""Reads what the files of Netlify, Cloudflare and S3's websites redirect, and plain lists; knows all readers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from urllib.parse import unquote
from xml.etree.ElementTree import Element, ParseError, fromstring

from msgspec.structs import replace

from tornado_proxy.config import document
from tornado_proxy.config.document import MappingNode, Node, ScalarNode, SequenceNode
from tornado_proxy.rules.diagnostic import Diagnostic, SourceFile, Span
from tornado_proxy.tools.convert.conversion import NOTES, ConversionReport, Converted
from tornado_proxy.tools.convert.options import Remark, Unreadable
from tornado_proxy.tools.convert.redirects import STATUSES, ForeignRule, Read, changed, exactly, left_out, rules
from tornado_proxy.tools.convert.servers import apache, nginx

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
        if len(words) <= 3 and STATUSES.get(status, 200) not in (200, 410):
            yield ForeignRule(place, unquote(address), result, STATUSES[status], is_exact=True)
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
        conditions = [*words[1:at], *words[at + 2 :]]
        if not at or not status:
            yield left_out(place, _COLUMNS)
            continue
        path, result, answer, if_missing = words[0], words[at], status[1], not status[2]
        if conditions:
            yield left_out(place, f"it has a condition, `{' '.join(conditions)}`")
        elif "*" in path.removesuffix("/*") or ":" in _WHOLE_SEGMENT.sub("", path):
            yield left_out(place, "it is for a host, or `*` is not the last segment, or `:name` not a whole one")
        elif result.rstrip("/") == path.rstrip("/"):
            yield left_out(place, "it leads to its own address")
        elif path == "/*" and status[0] == "200":
            yield left_out(place, "a rewrite of every path would hide all files", "set `tryFiles` in GET's `config`")
        else:
            if answer in ("200", "410") and if_missing and not _URL.match(result):
                yield changed(place, "it hides a file at this path, which Netlify would serve")
            elif answer == "410":
                yield changed(place, f"its page `{result}` is not shown")
            for each in _with_and_without_slash(place, path, result, answer):
                yield replace(each, if_missing=if_missing) if isinstance(each, ForeignRule) else each


def _with_and_without_slash(place: Span, path: str, result: str, status: str) -> Read:
    bare = path.removesuffix("*").rstrip("/")
    if path.endswith("*") or _PLACEHOLDER.search(path):
        tail = f"(?:/{_expression('*', result)})?" if path.endswith("*") else "/?"
        yield _rule(place, path, f"^{_expression(bare, result)}{tail}$", result, status)
    else:
        # A directory is not rewritten to a file.
        yield from (
            _rule(place, each, "", result, status) for each in ((bare or "/", f"{bare}/"), (bare,))[status == "200"]
        )


def cloudflare(source: SourceFile) -> Read:
    """Reads a `_redirects` of Cloudflare: a rule is for every path, with a file or not."""
    for place, words in _lines(source):
        path, result, status = (*words, "302")[:3] if 2 <= len(words) <= 3 else ("", "", "")
        path = path.partition("#")[0]
        if not status:
            yield left_out(place, f"{_COLUMNS}: Cloudflare ignores the line")
        elif not path.startswith("/") or path.count("*") > 1:
            yield left_out(place, "it is for a host, or has several `*`")
        elif path.endswith(("/", "/*")) and result.startswith("/") and result.endswith(("/index", "/index.html")):
            yield left_out(place, "Cloudflare ignores it, as it would never end", "see `tryFiles` of GET's `config`")
        else:
            is_dynamic = "*" in path or _PLACEHOLDER.search(path)
            yield _rule(place, path, f"^{_expression(path, result)}$" if is_dynamic else "", result, status)


def _expression(path: str, result: str) -> str:
    """Returns the expression of a path with `*` and `:name`; what the result inserts is a group."""
    inserted = _PLACEHOLDER.findall(result)
    expression = ""
    for piece in re.split(r"(\*|:[A-Za-z]\w*)", path):
        name, meant = {"*": ("splat", ".*")}.get(piece, (piece[1:], "[^/]+" if piece.startswith(":") else ""))
        expression += (f"(?P<{name}>{meant})" if name in inserted else meant) if meant else exactly(unquote(piece))
    return expression


def _rule(place: Span, path: str, expression: str, result: str, status: str) -> ForeignRule | Remark:
    """Returns the entry of a line: of an exact path if there is no expression."""
    if status not in STATUSES or (status == "200" and _URL.match(result)):
        why = "it asks another server for the page" if status == "200" else f"it answers with {status}"
        return left_out(place, why)
    led = {"200": unquote(result.partition("?")[0]), "410": ""}.get(status, result)
    if not expression:
        return ForeignRule(place, unquote(path), led, STATUSES[status], is_exact=True)
    names = {"splat", *_PLACEHOLDER.findall(path)}
    led = _PLACEHOLDER.sub(lambda name: f"${{{name[1]}}}" if name[1] in names else name[0], led.replace("$", "$$"))
    sample = unquote(path).replace(":", "").replace("*", "a/b")
    return ForeignRule(place, expression, led, STATUSES[status], sample=sample)


_RULES = ("RoutingRule", "RedirectAllRequestsTo")
_ELEMENT = re.compile(rf"<((?:[\w.-]+:)?(?:{'|'.join(_RULES)}))\b.*?</\1\s*>", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)  # to the end, so that many without one take no longer
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
        host, scheme, status = rule.get("HostName"), rule.get("Protocol"), rule.get("HttpRedirectCode", "301")
        if error not in (None, "404"):
            advice = "S3 answers 403 for a missing object if it may not list the bucket: write 404 if that is meant"
            yield left_out(place, f"it is for the status {error}", advice if error == "403" else None)
        elif scheme and not host:
            yield left_out(place, "it changes the scheme of the request and keeps its host")
        elif STATUSES.get(status, 200) in (200, 410):
            yield left_out(place, f"it answers with {status}")
        else:
            if host and not scheme:
                yield changed(place, "the scheme is the request's; here it is `http`, the only one of S3's websites")
            origin = f"{scheme or 'http'}://{host}" if host else ""
            whole, led = rule.get("ReplaceKeyWith"), rule.get("ReplaceKeyPrefixWith", prefix)
            rest, result = (
                ("(?P<rest>.*)$", led.replace("$", "$$") + "${rest}")
                if whole is None
                else ("", whole.replace("$", "$$"))
            )
            words = STATUSES[status], False, False, bool(error)
            text, sample = f"^/{exactly(prefix)}{rest}", f"/{prefix}a/b"
            yield ForeignRule(place, text, f"{origin}/{result.removeprefix('/')}", *words, sample=sample)


def _of_json(source: SourceFile) -> Iterator[tuple[Span, Mapping[str, str]]]:
    composed = document.compose(source.text)
    if composed.faults:
        raise Unreadable(*(Diagnostic(each.code, f"`{source.name}`: {each.message}") for each in composed.faults))
    for node in _rules_in(composed.root):
        yield Span(source, node.start, node.end), dict(_leaves(node))


def _rules_in(node: Node | None) -> Iterator[Node]:
    if isinstance(node, SequenceNode):
        yield from chain.from_iterable(map(_rules_in, node.items))
    elif isinstance(node, MappingNode):
        names = {name: entry.value for name, entry in node.fields.items()}
        if "RedirectAllRequestsTo" in names:
            yield names["RedirectAllRequestsTo"]
        elif {"Redirect", "RedirectRule"} & names.keys():
            yield node
        else:
            yield from chain.from_iterable(map(_rules_in, names.values()))


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


READERS: Mapping[str, Callable[..., Read]] = {
    "netlify": netlify,
    "cloudflare": cloudflare,
    "s3": s3,
    "nginx": nginx,
    "apache": apache,
    "list": columns,
}
"""The readers of files that redirect, by the name of the server or service that they are for."""

_SIGNS = {
    "s3": re.compile(r"\s*[<{\[]|.*\b(?:RoutingRules|RedirectAllRequestsTo)\b", re.DOTALL),
    "apache": re.compile(r"(?:.*\n)?[ \t]*(?:Redirect|RewriteRule)[A-Za-z]*[ \t]", re.DOTALL | re.IGNORECASE),
    "nginx": re.compile(r"(?:.*[\n{;])?\s*(?:return|rewrite|map|location)\s[^\n]*[;{]", re.DOTALL),
    "netlify": re.compile(r"(?:.*\n)?[ \t]*/\S*(?:\*[ \t]|[ \t]+\S+[ \t]+[1-5][0-9]{2}\b)", re.DOTALL),
}


def origin_of(source: SourceFile) -> str:
    """Returns what a file is probably for; columns may also be Cloudflare's, which mean something else in part."""
    if Path(source.name).name in ("_redirects", "__redirects"):
        return "netlify"
    return next((name for name, sign in _SIGNS.items() if sign.match(source.text)), "list")


def convert_redirects(sources: Sequence[SourceFile], origin: str, target: str, *, lists: bool = True) -> Converted:
    """Converts files that redirect to a rule file of a target; raises `Unreadable`."""
    read = READERS[origin]
    together = [sources] if origin == "nginx" else [[each] for each in sources]  # a map may be in a file of its own
    files, remarks = rules(target, chain.from_iterable(read(*each) for each in together), lists=lists)
    if not remarks:
        raise Unreadable(Diagnostic("no-redirects", f"`{sources[0].name}` redirects nothing, read as {origin}'s"))
    note = NOTES["redirects"].replace("ORIGIN", origin)
    return Converted(files, ConversionReport(None, tuple(remarks), (note,), origin=origin))
