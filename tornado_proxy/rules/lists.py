"""Lists of exact addresses, in files beside the rule files: found, and read line by line."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from gotemplate.template.errors import unmarked
from tornado_proxy.rules.diagnostic import Diagnostic, FileTooLargeError, SourceFile, Span, read_file
from tornado_proxy.rules.limits import LARGEST_LISTS, MOST_MISTAKES
from tornado_proxy.rules.model import AddressList, objection, path_objection
from tornado_proxy.rules.tree import DEFAULT_STATUS, REDIRECTS, ListStatement, NoLocation, RuleKind, read_location

ListFile = Callable[[str], bytes]
"""Returns the content of a list of addresses by its path; raises `OSError`."""


def from_disk(path: str) -> bytes:
    """Returns the content of a list that is read now; raises `OSError`."""
    return read_file(Path(path), LARGEST_LISTS, regular=True)


# Any text that could be such a statement: to read a file that none names does no harm.
_NAMED = re.compile(r"""\b(?:redirects|rewrites)\b[^"`\n#]*(?:("(?:[^"\\\n]|\\.)+")|`([^`\n]+)`)""")


def read_lists(files: Iterable[tuple[str, bytes]]) -> Mapping[str, bytes | str]:
    """Reads the lists that rule files name, each a name and its bytes; a text says why a list cannot be read."""
    lists: dict[str, bytes | str] = {}
    left = LARGEST_LISTS
    for file, data in files:
        for quoted, raw in _NAMED.findall(data.decode(errors="replace")):
            try:
                path = list_path(file, raw or json.loads(quoted, strict=False))
                os.fsencode(path)
            except ValueError:
                continue  # an escape that the parser refuses
            if path in lists:
                continue
            try:
                lists[path] = content = read_file(Path(path), left, regular=True)
            except OSError as error:
                lists[path] = why_unread(error)
            else:
                left -= len(content)
    return lists


def why_unread(error: OSError) -> str:
    """Returns why a list cannot be read."""
    if isinstance(error, FileTooLargeError):
        return f"the lists are larger than {LARGEST_LISTS // 1024**2} MiB together"
    return error.strerror or str(error)


def list_path(rule_file: str, name: str) -> str:
    """Returns the path of a list that a rule file names: relative to its directory."""
    return os.path.normpath(os.path.join(os.path.dirname(rule_file), name))  # noqa: PTH118, PTH120 - names are texts


_COLUMNS = re.compile(
    r"[ \t]*(?P<address>[^\s#]\S*)(?:[ \t]+(?P<result>[^\s#]\S*))?(?:[ \t]+(?P<status>[^\s#]\S*))?(?P<rest>.*?)\r?"
)
_REST = re.compile(r"[ \t]*(?:#.*)?\r?")
# A result that needs no further look: nothing to encode, no dot segment, no second slash at the start.
_CLEAR = re.compile(
    r"(?:https?://[a-z0-9-]+(?:\.[a-z0-9-]+)+(?=/)|(?=/(?!/)))(?:/(?!\.)[\w~!$&'()*+,;=:@.-]*)+", re.ASCII
)
_OF_LIST = {
    RuleKind.REDIRECT: "a line is an address, where it leads, and a status if need be: `/old /new 301`",
    RuleKind.REWRITE: "a line is an address and the key that takes its place: `/old /new`",
}


class _BadLine(ValueError):
    """A line of a list that is none; `column` is the group of `_COLUMNS` that is wrong."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column = column


def read_list(
    statement: ListStatement, source: SourceFile, number: int = 1
) -> tuple[AddressList, Sequence[Diagnostic]]:
    """Reads a list; returns it with its mistakes. White space separates columns, `#` begins a comment."""
    lines: dict[str, tuple[int, str, int]] = {}
    doubles: list[tuple[int, int]] = []
    mistakes: list[Diagnostic] = []
    status = statement.redirecting.status or DEFAULT_STATUS
    for line, text in enumerate(source.text.split("\n"), 1):
        columns = _COLUMNS.fullmatch(text)
        if columns is None:
            continue
        try:
            address, result, own = _read_line(columns, statement.kind)
        except _BadLine as bad:
            start = source.offset(line, 1)
            span = Span(source, *(start + each for each in columns.span(bad.column)))
            mistakes.append(Diagnostic("bad-line", str(bad), span, _OF_LIST[statement.kind]))
            if len(mistakes) == MOST_MISTAKES:
                break
            continue
        led = line, result, own or status
        if (first := lines.setdefault(address.casefold() if statement.any_case else address, led)) is not led:
            doubles.append((line, first[0]))
    return AddressList(number, statement, source, lines, tuple(doubles)), mistakes


def _read_line(columns: re.Match[str], kind: RuleKind) -> tuple[str, str, int | None]:
    """Returns the address, the result and the status of a line; raises `_BadLine`."""
    address, result, status, rest = columns.groups()
    if not address.startswith("/"):
        raise _BadLine("address", "the address does not begin with `/`")
    if "?" in address or "#" in address:
        raise _BadLine("address", "the address has a query or a fragment, which no key has")
    if reason := objection(address := unquote(address)):
        raise _BadLine("address", f"the address {reason}")
    if result is None:
        raise _BadLine("address", "the line does not say where its address leads")
    if status is not None and (
        kind is RuleKind.REWRITE or not (status.isascii() and status.isdecimal()) or int(status[:4]) not in REDIRECTS
    ):
        raise _BadLine("status", f"`{status}` is not the status of a redirect")
    if not _REST.fullmatch(rest):
        raise _BadLine("rest", "the line has too many columns")
    return address, _listed_result(result, kind), int(status) if status else None


def _listed_result(result: str, kind: RuleKind) -> str:
    if kind is RuleKind.REDIRECT and _CLEAR.fullmatch(result):
        return result
    if kind is RuleKind.REWRITE:
        result = unquote(result)
        reason = objection(result) if result.startswith("/") else "does not begin with `/`"
    else:
        try:
            location = read_location(result)
        except NoLocation as error:
            raise _BadLine("result", f"the result {error}") from error
        reason = path_objection(unquote(location.path))
        if unmarked(result) != result:
            reason = "contains a control character"  # which would be read as a mark of what is inserted
        if not result.startswith(("/", location.path)):
            reason = "is neither a path nor a URL"
        result = str(location)
    if reason:
        raise _BadLine("result", f"the result {reason}")
    return result
