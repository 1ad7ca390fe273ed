"""Strings, paths and URLs (sprig's strings.go, url.go and its path functions)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any
from unicodedata import category

from gotemplate.template import text as go_text
from gotemplate.template import urls
from gotemplate.template import values as go
from gotemplate.template.calling import ANY, INT, MAP, STRING, Function, budgeted, function
from gotemplate.template.errors import RenderBudget
from gotemplate.template.formatting import shown
from gotemplate.template.values import ExecutionError, Map, Slice, Value, string_slice

_SLASHES = re.compile(b"^/+")


def strings_of(budget: RenderBudget, value: Value) -> list[bytes]:
    """Returns the elements of a list as strings, without nil; any other value counts as a list with one element."""
    if isinstance(value, Slice):
        budget.spend(len(value))
        return [shown(element, budget) for element in value if element is not None]
    return [] if value is None else [shown(value, budget)]


def split(budget: RenderBudget, text: bytes, separator: bytes, most: int = -1) -> list[bytes]:
    """strings.SplitN: at most `most` parts, or all if it is negative; an empty separator separates all runes."""
    if most == 0:
        return []
    if separator:
        budget.items(text.count(separator) + 1 if most < 0 else min(most, len(text) + 1))
        return text.split(separator, most - 1 if most > 0 else -1)
    if not text:
        return []
    starts = go_text.rune_starts(text)
    if 0 < most < len(starts):
        starts = starts[:most]
    budget.items(len(starts))
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def replace(budget: RenderBudget, old: bytes, new: bytes, text: bytes) -> bytes:
    """strings.ReplaceAll: an empty `old` is found before each rune and at the end."""
    if old:
        budget.text(len(text) + text.count(old) * max(len(new) - len(old), 0))
        return text.replace(old, new)
    characters = split(budget, text, b"")
    budget.text(len(text) + len(new) * (len(characters) + 1))
    return b"".join(new + part for part in characters) + new


def _join(budget: RenderBudget, separator: bytes, value: Value) -> bytes:
    texts = strings_of(budget, value)
    budget.text(sum(map(len, texts)) + len(separator) * max(len(texts) - 1, 0))
    return separator.join(texts)


def _numbered(texts: list[bytes]) -> Map:
    return Map({b"_%d" % number: part for number, part in enumerate(texts)}, go.STRING_MAP)


def _substr(start: int, end: int, text: bytes) -> bytes:
    if start < 0:
        start = 0
    elif end < 0 or end > len(text):
        end = len(text)
    if not 0 <= start <= end <= len(text):
        raise ExecutionError(f"the bounds {start} and {end} are out of range")
    return text[start:end]


def _repeat(budget: RenderBudget, count: int, text: bytes) -> bytes:
    if count < 0:
        raise ExecutionError("the number of repetitions is negative")
    budget.text(count * len(text))
    return text * count


def _indent(budget: RenderBudget, spaces: int, text: bytes) -> bytes:
    if spaces < 0:
        raise ExecutionError("the number of spaces is negative")
    budget.text(len(text) + spaces * (text.count(b"\n") + 1))
    pad = b" " * spaces
    return pad + text.replace(b"\n", b"\n" + pad)


def _joining(form: Callable[[bytes], bytes], cost: int = 0) -> Function:
    """Returns a function that joins the texts of its arguments in a form, which takes some steps for eight bytes."""

    def join(budget: RenderBudget, *values: Value) -> bytes:
        texts = [shown(value, budget) for value in values if value is not None]
        budget.spend(cost * sum(map(len, texts)) >> 3)
        return b" ".join(map(form, texts))

    return budgeted(join, rest=ANY)


def _trim(cut: bytes, text: bytes) -> bytes:
    """strings.Trim: removes the runes of `cut` at both ends."""
    if text.isascii() and cut.isascii():
        return text.strip(cut) if cut else text
    chars = go_text.runes(cut)
    kept = text.decode("utf-8", "surrogateescape")
    # To Go, a byte that is not UTF-8 is U+FFFD, so a U+FFFD in `cut` removes it.
    if "\ufffd" in chars:
        chars += "".join(map(chr, range(0xDC80, 0xDD00)))
    return (kept.strip(chars) if chars else kept).encode("utf-8", "surrogateescape")


def _abbreviate(left: int, width: int, text: bytes) -> bytes:
    """goutils.AbbreviateFull: returns at most `width` bytes, with dots for omitted text on either side."""
    room = width - 3
    if len(text) <= width:
        return text
    left = min(left, len(text))
    if len(text) - left < room:
        left = len(text) - room
    if left <= 4:
        return text[:room] + b"..."
    if left + room < len(text):
        rest = text[left:]
        # The rest needs a width of at least four; goutils returns nothing for less.
        return b"..." + (_abbreviate(0, room, rest) if room >= 4 else b"")
    return b"..." + text[len(text) - room :]


def _wrap(budget: RenderBudget, width: int, line: bytes, text: bytes, *, cut_words: bool) -> bytes:
    """goutils.WrapCustom: wraps lines at spaces to a length in bytes; `cut_words` also cuts longer words."""
    width, line, pieces, offset = max(width, 1), line or b"\n", [], 0
    budget.text(len(text) * (1 + len(line)) if cut_words else len(text) + text.count(b" ") * len(line))
    while len(text) - offset > width:
        budget.spend()
        if text[offset : offset + 1] == b" ":
            offset += 1
            continue
        space = text.rfind(b" ", offset, offset + width + 1)
        if space < 0 and not cut_words:
            space = text.find(b" ", offset + width)
            if space < 0:
                break
        end = offset + width if space < 0 else space
        pieces.append(text[offset:end] + line)
        offset = end if space < 0 else end + 1
    return b"".join(pieces) + text[offset:]


def clean(path: bytes) -> bytes:
    """path.Clean: removes empty and `.` elements, and resolves `..` unless it begins the path; never empty."""
    return posixpath.normpath(_SLASHES.sub(b"/", path))  # POSIX keeps two slashes at the start


def _ext(path: bytes) -> bytes:
    stem, dot, extension = path.rpartition(b"/")[2].rpartition(b".")
    return dot + extension if dot or stem else b""


_PATHS = {
    "base": function(lambda path: (path.rstrip(b"/").rpartition(b"/")[2] or b"/") if path else b".", STRING),
    "clean": function(clean, STRING),
    "dir": function(lambda path: clean(path[: path.rfind(b"/") + 1]), STRING),
    "ext": function(_ext, STRING),
    "isAbs": function(lambda path: path.startswith(b"/"), STRING),
}


# The parts of a URL, and the fields of `Url` that hold them.
_URL_PARTS = {b"query": "raw_query"} | {
    name.encode(): name for name in ("scheme", "host", "path", "opaque", "fragment")
}


def _url_parse(text: bytes) -> Map:
    url = urls.parse(text)
    components = {key: getattr(url, name) for key, name in _URL_PARTS.items()}
    hostname, userinfo = urls.split_port(url.host)[0], b"" if url.user is None else bytes(url.user)
    return Map({**components, b"hostname": hostname, b"userinfo": userinfo})


def _url_join(components: Map) -> bytes:
    info = _part(components, b"userinfo")
    user = urls.parse(b"proto://" + info + b"@host").user if info else None
    fields: dict[str, Any] = {name: _part(components, key) for key, name in _URL_PARTS.items()}
    return bytes(urls.Url(user=user, **fields))


def _part(parts: Map, key: bytes) -> bytes:
    part = parts.get(key, b"")
    if type(part) is not bytes:
        raise ExecutionError(f"the part `{key.decode()}` of a URL is a string, not `{go.type_name(part)}`")
    return part


_WORD_START = re.compile(f"(?:^|(?<=[{go_text.GO_SPACES}]))[^{go_text.GO_SPACES}]")
# To strings.Title, any ASCII character but a letter, a digit and `_` separates words.
_TITLE_START = re.compile(rf"(?:^|(?<=[^0-9A-Za-z_\x80-\U0010ffff])|(?<=[{go_text.GO_SPACES}])).", re.DOTALL)


def _swapcase(text: bytes) -> bytes:
    """goutils.SwapCase: converts upper to lower case, and lower to upper, or to title case at the start of a word."""
    start, swapped = True, []
    for rune in go_text.runes(text):
        if go_text.is_upper(rune) or go_text.is_title(rune):
            swapped.append(go_text.lower(rune))
            start = False
        elif go_text.is_lower(rune):
            swapped.append(go_text.title(rune) if start else go_text.upper(rune))
            start = False
        else:
            swapped.append(rune)
            start = go_text.is_space(rune)
    return "".join(swapped).encode()


def _nospace(text: bytes) -> bytes:
    """goutils.DeleteWhiteSpace: each byte counts as a rune if one of them is white space."""
    decoded = text.decode("latin-1")
    kept = "".join(rune for rune in decoded if not go_text.is_space(rune))
    return text if kept == decoded else kept.encode()


_CONNECTORS = f"-_{go_text.GO_SPACES}"
_CONNECTED = re.compile(f"[{_CONNECTORS}]?([^{_CONNECTORS}]+)")


def _camelcase(text: bytes) -> bytes:
    """xstrings.ToPascalCase: joins words that connectors separate; each begins with a capital."""
    letters = go_text.runes(text)
    words = letters.lstrip(_CONNECTORS)
    # xstrings writes the last connector of a string without words twice.
    start = letters.removesuffix(words) if words else letters + letters[-1:]
    return (start + _CONNECTED.sub(lambda match: _capitalized(match[1]), words)).encode()


def _capitalized(word: str) -> str:
    """Returns a word with a capital; after a capital, more capitals become lower case up to another letter."""
    capitals = "".join(takewhile(go_text.is_upper, word))
    return go_text.upper(word[0]) + "".join(map(go_text.lower, capitals[1:])) + word[max(len(capitals), 1) :]


# Words are found in a text that has a letter for the kind of each rune. The last of several capitals belongs to the
# lower case after it. A number belongs to the word before it, or to lower case after it. A connector that is not white
# space belongs to punctuation before it.
_WORD = re.compile("[cs]+|p[cp]*|n[an]*|(?P<letters>U+(?=Ua)|Ua+|U+|a+|o+)(?:n++(?!a))?")

_IDEOGRAPH = re.compile("[\u4e00-\u9fcc\u3400-\u4d85\U00020000-\U0002b81d]")


def _kind(rune: str) -> str:
    if rune in _CONNECTORS:
        return "s" if go_text.is_space(rune) else "c"
    if go_text.is_upper(rune):
        return "U"
    return "o" if _IDEOGRAPH.match(rune) else {"P": "p", "L": "a", "N": "n"}.get(category(rune)[0], "o")


def _joined(text: bytes, connector: str) -> bytes:
    """xstrings.ToSnakeCase and ToKebabCase: words in lower case, with a connector between them."""
    letters = text.decode("utf-8", "surrogateescape")
    kinds = _kinds(letters)
    pieces = (_connected(match, letters, connector) for match in _WORD.finditer(kinds))
    return "".join(pieces).encode("utf-8", "surrogateescape")


def _connected(match: re.Match[str], letters: str, connector: str) -> str:
    """Returns connectors, or a word with the connector after it; punctuation has none beside it."""
    kinds, (start, end) = match.string, match.span()
    kind, following = kinds[start], kinds[end : end + 1]
    if kind in "cs":
        return "".join("\ufffd" if _is_invalid(rune) else connector for rune in letters[start:end])
    if kind == "U":
        middle = match.end("letters")
        word = "".join(
            "\ufffd" if _is_invalid(rune) else go_text.lower(rune) if go_text.is_upper(rune) else rune
            for rune in letters[start:middle]
        )
        word += letters[middle:end]
    else:
        word = letters[start:end]
    return word + connector if kind != "p" and following and following not in "csp" else word


def _kinds(letters: str) -> str:
    """Returns the kind of each rune; an invalid one has its follower's, at the end its predecessor's."""
    kinds, following = [], ""
    for rune in reversed(letters):
        following = following if _is_invalid(rune) else _kind(rune)
        kinds.append(following)
    joined = "".join(reversed(kinds))
    return joined + (joined[-1:] or "o") * (len(letters) - len(joined))


def _is_invalid(rune: str) -> bool:
    return rune == "\ufffd" or "\udc80" <= rune <= "\udcff"


def _by_rune(convert: Callable[[bytes], bytes]) -> Function:
    """Returns a function of a string that is charged for each rune."""

    def call(budget: RenderBudget, text: bytes) -> bytes:
        budget.spend(len(text) >> 1)
        return convert(text)

    return budgeted(call, STRING)


FUNCTIONS: Mapping[str, Function] = {
    "abbrev": function(lambda width, text: text if width < 4 else _abbreviate(0, width, text), INT, STRING),
    "abbrevboth": function(
        lambda left, right, text: text if right < 4 or (left > 0 and right < 7) else _abbreviate(left, right, text),
        INT,
        INT,
        STRING,
    ),
    "cat": _joining(bytes),
    "contains": function(lambda part, text: part in text, STRING, STRING),
    "hasPrefix": function(lambda part, text: text.startswith(part), STRING, STRING),
    "hasSuffix": function(lambda part, text: text.endswith(part), STRING, STRING),
    "hello": function(lambda: b"Hello!"),
    "indent": budgeted(_indent, INT, STRING),
    "join": budgeted(_join, STRING, ANY),
    "lower": function(go_text.to_lower, STRING),
    "nindent": budgeted(lambda budget, spaces, text: b"\n" + _indent(budget, spaces, text), INT, STRING),
    "plural": function(lambda one, many, count: one if count == 1 else many, STRING, STRING, INT),
    "quote": _joining(go_text.quote, cost=1),
    "repeat": budgeted(_repeat, INT, STRING),
    "replace": budgeted(replace, STRING, STRING, STRING),
    "split": budgeted(lambda budget, separator, text: _numbered(split(budget, text, separator)), STRING, STRING),
    "splitList": budgeted(lambda budget, separator, text: string_slice(split(budget, text, separator)), STRING, STRING),
    "splitn": budgeted(
        lambda budget, separator, most, text: _numbered(split(budget, text, separator, most)), STRING, INT, STRING
    ),
    "squote": _joining(lambda text: b"'%b'" % text),
    "substr": function(_substr, INT, INT, STRING),
    "toString": budgeted(lambda budget, value: shown(value, budget), ANY),
    # A nil []string stays nil, which JSON shows.
    "toStrings": budgeted(
        lambda budget, value: (
            value
            if isinstance(value, Slice) and value.type is go.STRING_SLICE
            else string_slice(strings_of(budget, value))
        ),
        ANY,
    ),
    "trim": function(go_text.trim_space, STRING),
    "trimAll": function(_trim, STRING, STRING),
    "trimPrefix": function(lambda part, text: text.removeprefix(part), STRING, STRING),
    "trimSuffix": function(lambda part, text: text.removesuffix(part), STRING, STRING),
    "trimall": function(_trim, STRING, STRING),
    "trunc": function(lambda count, text: text[count:] if count < 0 else text[:count], INT, STRING),
    "upper": function(go_text.to_upper, STRING),
    "wrap": budgeted(lambda budget, width, text: _wrap(budget, width, b"", text, cut_words=False), INT, STRING),
    "wrapWith": budgeted(
        lambda budget, width, line, text: _wrap(budget, width, line, text, cut_words=True), INT, STRING, STRING
    ),
    **_PATHS,
    **{f"os{name[0].upper()}{name[1:]}": entry for name, entry in _PATHS.items()},
    "urlJoin": function(_url_join, MAP),
    "urlParse": function(_url_parse, STRING),
    "camelcase": _by_rune(_camelcase),
    # The first byte of each word; each byte counts as a rune.
    "initials": _by_rune(lambda text: "".join(_WORD_START.findall(text.decode("latin-1"))).encode()),
    "kebabcase": _by_rune(lambda text: _joined(text, "-")),
    "nospace": _by_rune(_nospace),
    "snakecase": _by_rune(lambda text: _joined(text, "_")),
    "swapcase": _by_rune(_swapcase),
    "title": _by_rune(
        lambda text: _TITLE_START.sub(lambda match: go_text.title(match[0]), go_text.runes(text)).encode()
    ),
    "untitle": _by_rune(
        lambda text: _WORD_START.sub(lambda match: go_text.lower(match[0]), go_text.runes(text)).encode()
    ),
}
