"""Words in strings: their case, their initials, what joins them (sprig's use of goutils and xstrings)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from tornado_proxy.templates.golang.calling import STRING, Function, budgeted
from tornado_proxy.templates.golang.text import (
    is_digit,
    is_letter,
    is_lower,
    is_number,
    is_punct,
    is_space,
    is_title,
    is_upper,
    lower,
    runes,
    title,
    upper,
)
from tornado_proxy.templates.template import RenderBudget


def _title(text: bytes) -> bytes:
    """strings.Title: each letter after what separates words in its title case; the others stay."""
    before, titled = " ", []
    for rune in runes(text):
        titled.append(title(rune) if _separates(before) else rune)
        before = rune
    return "".join(titled).encode()


def _separates(rune: str) -> bool:
    if rune.isascii():
        return not (rune.isalnum() or rune == "_")
    return not is_letter(rune) and not is_digit(rune) and is_space(rune)


def _untitle(text: bytes) -> bytes:
    """goutils.Uncapitalize: the first letter of each word in lower case."""
    start, untitled = True, []
    for rune in runes(text):
        untitled.append(lower(rune) if start and not is_space(rune) else rune)
        start = is_space(rune)
    return "".join(untitled).encode()


def _swapcase(text: bytes) -> bytes:
    """goutils.SwapCase: capitals become small, small letters capitals, or titles at the start of a word."""
    start, swapped = True, []
    for rune in runes(text):
        if is_upper(rune) or is_title(rune):
            swapped.append(lower(rune))
            start = False
        elif is_lower(rune):
            swapped.append(title(rune) if start else upper(rune))
            start = False
        else:
            swapped.append(rune)
            start = is_space(rune)
    return "".join(swapped).encode()


def _initials(text: bytes) -> bytes:
    """goutils.Initials: the first byte of each word, taken for a rune."""
    start, found = True, []
    for rune in text.decode("latin-1"):
        if start and not is_space(rune):
            found.append(rune)
        start = is_space(rune)
    return "".join(found).encode()


def _nospace(text: bytes) -> bytes:
    """goutils.DeleteWhiteSpace: each byte taken for a rune, unless none of them is white space."""
    decoded = text.decode("latin-1")
    kept = [rune for rune in decoded if not is_space(rune)]
    return text if len(kept) == len(decoded) else "".join(kept).encode()


def _is_connector(rune: str) -> bool:
    return rune in "-_" or is_space(rune)


def _camelcase(text: bytes) -> bytes:
    """xstrings.ToPascalCase: words that connectors part begin with a capital and run together."""
    letters = runes(text)
    start = next((index for index, rune in enumerate(letters) if not _is_connector(rune)), len(letters))
    if start == len(letters):
        # xstrings writes the last of nothing but connectors twice.
        return (letters + letters[-1:]).encode()
    out = [letters[:start]]
    shouting, before = is_upper(letters[start]), upper(letters[start])
    for rune in letters[start + 1 :]:
        now = rune
        if not _is_connector(before):
            # Capitals that follow a capital become small, up to the first small letter.
            shouting = shouting and is_upper(rune)
            now = lower(rune) if shouting else rune
            out.append(before)
        elif _is_connector(rune):
            out.append(before)
        else:
            shouting, now = is_upper(rune), upper(rune)
        before = now
    return "".join([*out, before]).encode()


# A letter for each kind of rune, so that words are found in a text of kinds. Two capitals before a small letter part.
# A connector that is not white space is punctuation as well, after punctuation.
_WORD = re.compile("[cs]+|p[cp]*|U+(?=Ua)|Ua+|U+|a+|n+|o+")


def _kind(rune: str) -> str:
    if _is_connector(rune):
        return "s" if is_space(rune) else "c"
    if is_punct(rune):
        return "p"
    if is_upper(rune):
        return "U"
    if is_letter(rune) and not _is_ideograph(rune):
        return "a"
    return "n" if is_number(rune) else "o"


def _is_ideograph(rune: str) -> bool:
    return "\u4e00" <= rune <= "\u9fcc" or "\u3400" <= rune <= "\u4d85" or "\U00020000" <= rune <= "\U0002b81d"


def _joined(text: bytes, connector: str) -> bytes:
    """xstrings.ToSnakeCase and ToKebabCase: words in small letters, with a connector between them."""
    letters = text.decode("utf-8", "surrogateescape")
    kinds = _kinds(letters)
    words = [(kinds[match.start()], letters[match.start() : match.end()]) for match in _WORD.finditer(kinds)]
    return "".join(_connected(words, connector)).encode("utf-8", "surrogateescape")


def _kinds(letters: str) -> str:
    """The kind of each rune; a separator takes the kind of the next rune, and at the end that of the one before."""
    kinds, following = [], ""
    for rune in reversed(letters):
        following = following if _is_invalid(rune) else _kind(rune)
        kinds.append(following)
    known = "".join(reversed(kinds))
    return known + (known[-1:] or "o") * (len(letters) - len(known))


def _is_invalid(rune: str) -> bool:
    return rune == "\ufffd" or "\udc80" <= rune <= "\udcff"


def _connected(words: list[tuple[str, str]], connector: str) -> Iterator[str]:
    """The words and connectors in order; a number belongs to the word before it, or to small letters after it."""
    position = 0
    while position < len(words):
        kind, word = words[position]
        position += 1
        if kind in "cs":
            yield "".join("\ufffd" if _is_invalid(rune) else connector for rune in word)
            continue
        yield "".join("\ufffd" if _is_invalid(rune) else lower(rune) for rune in word) if kind == "U" else word
        if kind == "n":
            position, more = _run_on(words, position)
            yield more
        elif kind != "p" and position < len(words) and words[position][0] == "n":
            number = words[position][1]
            position += 1
            if position < len(words) and words[position][0] == "a":
                yield connector
                position, more = _run_on(words, position)
                yield number + more
            else:
                yield number
        if kind != "p" and position < len(words) and words[position][0] not in "csp":
            yield connector


def _run_on(words: list[tuple[str, str]], position: int) -> tuple[int, str]:
    """The small letters and numbers from a position on, and where they end."""
    start = position
    while position < len(words) and words[position][0] in "an":
        position += 1
    return position, "".join(word for _, word in words[start:position])


def _by_rune(convert: Callable[[bytes], bytes]) -> Function:
    """A function of a string that looks at each rune by itself, which is charged by the rune."""

    def call(budget: RenderBudget, text: bytes) -> bytes:
        budget.spend(len(text) >> 1)
        return convert(text)

    return budgeted(call, STRING)


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "camelcase": _by_rune(_camelcase),
        "initials": _by_rune(_initials),
        "kebabcase": _by_rune(lambda text: _joined(text, "-")),
        "nospace": _by_rune(_nospace),
        "snakecase": _by_rune(lambda text: _joined(text, "_")),
        "swapcase": _by_rune(_swapcase),
        "title": _by_rune(_title),
        "untitle": _by_rune(_untitle),
    }
)
