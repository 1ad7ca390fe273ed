"""The words of a string: case, initials and connectors (sprig's use of goutils and xstrings)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import takewhile
from unicodedata import category

from gotemplate.template import text as go_text
from gotemplate.template.budget import RenderBudget
from gotemplate.template.calling import STRING, Function, budgeted
from gotemplate.template.text import GO_SPACES, is_space, is_upper, lower, runes, title, upper

_WORD_START = re.compile(f"(?:^|(?<=[{GO_SPACES}]))[^{GO_SPACES}]")
# To strings.Title, any ASCII character but a letter, a digit and `_` separates words.
_TITLE_START = re.compile(rf"(?:^|(?<=[^0-9A-Za-z_\x80-\U0010ffff])|(?<=[{GO_SPACES}])).", re.DOTALL)


def _swapcase(text: bytes) -> bytes:
    """goutils.SwapCase: converts upper to lower case, and lower to upper, or to title case at the start of a word."""
    start, swapped = True, []
    for rune in runes(text):
        if is_upper(rune) or go_text.is_title(rune):
            swapped.append(lower(rune))
            start = False
        elif go_text.is_lower(rune):
            swapped.append(title(rune) if start else upper(rune))
            start = False
        else:
            swapped.append(rune)
            start = is_space(rune)
    return "".join(swapped).encode()


def _nospace(text: bytes) -> bytes:
    """goutils.DeleteWhiteSpace: each byte counts as a rune if one of them is white space."""
    decoded = text.decode("latin-1")
    kept = "".join(rune for rune in decoded if not is_space(rune))
    return text if kept == decoded else kept.encode()


_CONNECTORS = f"-_{GO_SPACES}"
_CONNECTED = re.compile(f"[{_CONNECTORS}]?([^{_CONNECTORS}]+)")


def _camelcase(text: bytes) -> bytes:
    """xstrings.ToPascalCase: joins words that connectors separate; each begins with a capital."""
    letters = runes(text)
    words = letters.lstrip(_CONNECTORS)
    # xstrings writes the last connector of a string without words twice.
    start = letters.removesuffix(words) if words else letters + letters[-1:]
    return (start + _CONNECTED.sub(lambda match: _capitalized(match[1]), words)).encode()


def _capitalized(word: str) -> str:
    """Returns a word with a capital; after a capital, more capitals become lower case up to another letter."""
    capitals = "".join(takewhile(is_upper, word))
    return upper(word[0]) + "".join(map(lower, capitals[1:])) + word[max(len(capitals), 1) :]


# Words are found in a text that has a letter for the kind of each rune. The last of several capitals belongs to the
# lower case after it. A number belongs to the word before it, or to lower case after it. A connector that is not white
# space belongs to punctuation before it.
_WORD = re.compile("[cs]+|p[cp]*|n[an]*|(?P<letters>U+(?=Ua)|Ua+|U+|a+|o+)(?:n++(?!a))?")

_IDEOGRAPH = re.compile("[\u4e00-\u9fcc\u3400-\u4d85\U00020000-\U0002b81d]")


def _kind(rune: str) -> str:
    if rune in _CONNECTORS:
        return "s" if is_space(rune) else "c"
    if is_upper(rune):
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
            "\ufffd" if _is_invalid(rune) else lower(rune) if is_upper(rune) else rune for rune in letters[start:middle]
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
    "camelcase": _by_rune(_camelcase),
    # The first byte of each word; each byte counts as a rune.
    "initials": _by_rune(lambda text: "".join(_WORD_START.findall(text.decode("latin-1"))).encode()),
    "kebabcase": _by_rune(lambda text: _joined(text, "-")),
    "nospace": _by_rune(_nospace),
    "snakecase": _by_rune(lambda text: _joined(text, "_")),
    "swapcase": _by_rune(_swapcase),
    "title": _by_rune(lambda text: _TITLE_START.sub(lambda match: title(match[0]), runes(text)).encode()),
    "untitle": _by_rune(lambda text: _WORD_START.sub(lambda match: lower(match[0]), runes(text)).encode()),
}
