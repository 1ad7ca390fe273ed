"""The characters of classes: sets of code points as sorted ranges, and the characters that a node matches.

The library `regex` knows the members of Unicode classes and the cases of letters: it has Go's version of Unicode, while
RE2's is older.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from typing import assert_never

from tornado_proxy.golang.regexp import syntax

Range = tuple[int, int]
"""The first and the last code point."""

Ranges = tuple[Range, ...]
"""Sorted and not adjacent; compared by value."""

LAST = 0x10FFFF
EVERYTHING: Ranges = ((0, LAST),)


def union(ranges: Iterable[Range]) -> Ranges:
    """Returns ranges, in any order, as one set."""
    merged: list[Range] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """Returns the code points that are not in a set."""
    edges = [(-1, -1), *ranges, (LAST + 1, LAST + 1)]
    gaps = ((left[1] + 1, right[0] - 1) for left, right in pairwise(edges))
    return tuple(gap for gap in gaps if gap[0] <= gap[1])


def difference(ranges: Ranges, others: Ranges) -> Ranges:
    """Returns the code points of one set that are not in another."""
    return complement(union((*complement(ranges), *others)))


def contains(ranges: Ranges, code_point: int) -> bool:
    """Whether a code point is in a set."""
    index = bisect_right(ranges, (code_point, LAST)) - 1
    return index >= 0 and code_point <= ranges[index][1]


def listed(characters: str) -> Ranges:
    """Returns the characters of a text as a set."""
    return union((ord(each), ord(each)) for each in characters)


def spelled(ranges: Iterable[Range]) -> str:
    """Returns ranges as they are written between the brackets of a class."""
    return "".join(f"\\x{{{low:x}}}" if low == high else f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges)


def bracketed(ranges: Ranges) -> str:
    """Returns a class of exactly these code points, in the syntax of Go and RE2."""
    return f"[{spelled(ranges)}]" if ranges else f"[^{spelled(EVERYTHING)}]"


DIGIT: Ranges = ((0x30, 0x39),)
UPPER: Ranges = ((0x41, 0x5A),)
LOWER: Ranges = ((0x61, 0x7A),)
ALPHA = UPPER + LOWER
ALNUM = DIGIT + ALPHA
GRAPH: Ranges = ((0x21, 0x7E),)
ASCII: Ranges = ((0, 0x7F),)
WORD = union((*ALNUM, *listed("_")))
r"""The characters that `\w` matches, next to which `\b` finds a boundary."""

PERL = {"d": DIGIT, "s": listed("\t\n\f\r "), "w": WORD}
r"""The classes `\d`, `\s` and `\w` by letter."""

POSIX = {
    "alnum": ALNUM,
    "alpha": ALPHA,
    "ascii": ASCII,
    "blank": listed("\t "),
    "cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "digit": DIGIT,
    "graph": GRAPH,
    "lower": LOWER,
    "print": ((0x20, 0x7E),),
    "punct": difference(GRAPH, ALNUM),
    "space": listed("\t\n\v\f\r "),
    "upper": UPPER,
    "word": WORD,
    "xdigit": listed("0123456789ABCDEFabcdef"),
}
"""The classes between `[:` and `:]` by name."""


_CATEGORIES = """
    C Cc Cf Cn Co Cs L LC Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs
"""

# PropertyValueAliases.txt, property gc, as Go's unicode.CategoryAliases has them.
_LONG_NAMES = """
    Cased_Letter=LC Close_Punctuation=Pe Combining_Mark=M Connector_Punctuation=Pc Control=Cc Currency_Symbol=Sc
    Dash_Punctuation=Pd Decimal_Number=Nd Enclosing_Mark=Me Final_Punctuation=Pf Format=Cf Initial_Punctuation=Pi
    Letter=L Letter_Number=Nl Line_Separator=Zl Lowercase_Letter=Ll Mark=M Math_Symbol=Sm Modifier_Letter=Lm
    Modifier_Symbol=Sk Nonspacing_Mark=Mn Number=N Open_Punctuation=Ps Other=C Other_Letter=Lo Other_Number=No
    Other_Punctuation=Po Other_Symbol=So Paragraph_Separator=Zp Private_Use=Co Punctuation=P Separator=Z
    Space_Separator=Zs Spacing_Mark=Mc Surrogate=Cs Symbol=S Titlecase_Letter=Lt Unassigned=Cn Uppercase_Letter=Lu
    cntrl=Cc digit=Nd punct=P
"""
LONG_NAMES = dict(pair.split("=") for pair in _LONG_NAMES.split())
"""The short name of each long one."""

_SCRIPTS = """
    Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Beria_Erfe
    Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham
    Cherokee Chorasmian Common Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra
    Duployan Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Garay Georgian Glagolitic Gothic Grantha Greek Gujarati
    Gunjala_Gondi Gurmukhi Gurung_Khema Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic
    Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi
    Khitan_Small_Script Khmer Khojki Khudawadi Kirat_Rai Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian
    Mahajani Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui
    Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari
    New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Ol_Onal Old_Hungarian Old_Italic
    Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya
    Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada
    Shavian Siddham Sidetic SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Sunuwar Syloti_Nagri Syriac
    Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Tai_Yo Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh
    Tirhuta Todhri Tolong_Siki Toto Tulu_Tigalari Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi
    Zanabazar_Square
"""

NAMES = (*_CATEGORIES.split(), *_SCRIPTS.split(), *LONG_NAMES, "Any", "ASCII", "Assigned")
"""The names of all classes."""


# Unicode's simple case folding gives two letters of ASCII a third form: the Kelvin sign and the long s.
_THIRD_FORMS = {"K": "\u212a", "S": "\u017f"}
# The capital with a dot and the small letter without one are no cases of `i` to Go, but to `regex`.
_DOTLESS_OR_DOTTED = ((0x130, 0x131),)


def _plain(name: str) -> str:
    """Returns a name in the form in which names are compared: lower case, without spaces, hyphens and underscores."""
    return name.lower().translate({ord(each): None for each in " -_"})


@cache
def _by_plain_name() -> Mapping[str, str]:
    return {_plain(name): LONG_NAMES.get(name, name) for name in NAMES}


def resolve(name: str) -> str | None:
    """Returns the official name of a Unicode class; None for an unknown one."""
    return _by_plain_name().get(_plain(name)) if name.isascii() else None


def members(name: str, *, fold: bool = False) -> Ranges:
    """Returns the code points of a class by its official name; `fold` adds their other cases."""
    # Go has no folding table for LC.
    return folded(_members(name)) if fold and name != "LC" else _members(name)


@cache
def _members(name: str) -> Ranges:
    return tuple((ord(run[0]), ord(run[-1])) for run in _found(rf"\p{{{name}}}+", _every_character()))


@cache
def folded(ranges: Ranges) -> Ranges:
    """Returns the code points of a set with all their other cases (Go's unicode.SimpleFold)."""
    bounds = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in difference(ranges, _DOTLESS_OR_DOTTED))
    return union((*ranges, *listed("".join(_found(f"(?i)[{bounds}]", _cased()))))) if bounds else ranges


def _found(expression: str, text: str) -> list[str]:
    """Returns what an expression of the library `regex` finds."""
    import regex  # noqa: PLC0415 - 13 ms that few expressions need

    return regex.findall(expression, text)


def _every_character() -> str:
    """All code points in order; it is made in 10 ms, and not kept, because it takes 4 MiB."""
    octets = range(256)
    units = bytearray(4 * (LAST + 1))  # of UTF-32, the lowest octet first
    units[0::4] = bytes(octets) * (17 * 256)
    units[1::4] = b"".join(bytes((high,)) * 256 for high in octets) * 17
    units[2::4] = b"".join(bytes((plane,)) * 0x10000 for plane in range(17))
    return units.decode("utf-32-le", "surrogatepass")


@cache
def _cased() -> str:
    """The characters that may have other cases."""
    return "".join(_found(r"(?![\u0130\u0131])[\p{CWCM}\p{CWCF}]", _every_character()))


@lru_cache(maxsize=4096)
def cases(character: str, *, folded: bool) -> Ranges:
    """Returns the characters that a literal character matches; with its other cases if `folded`."""
    ranges = listed(character)
    return _every_case(ranges) if folded else ranges


@lru_cache(maxsize=4096)
def characters(node: syntax.AnyOf | syntax.Member) -> Ranges:
    """Returns the characters that a node matches."""
    match node:
        case syntax.BracketClass():
            found = union(each for member in node.members for each in characters(member))
            return complement(found) if node.negated else found
        case syntax.AnyCharacter():
            return EVERYTHING if node.newline else complement(listed("\n"))
        case syntax.UnicodeClass():
            found = members(node.name, fold=node.folded)
            return complement(found) if node.negated else found
        case syntax.PerlClass() | syntax.PosixClass():
            found = PERL[node.letter] if isinstance(node, syntax.PerlClass) else POSIX[node.name]
            found = _every_case(found) if node.folded else found
            return complement(found) if node.negated else found
        case syntax.Character() | syntax.CharacterRange():
            found = (
                listed(node.character) if isinstance(node, syntax.Character) else ((ord(node.first), ord(node.last)),)
            )
            return _every_case(found) if node.folded else found
        case _:
            assert_never(node)


def _every_case(characters: Ranges) -> Ranges:
    """Returns a set with the other cases of its characters; ASCII is folded here, because RE2 takes milliseconds."""
    within = difference(characters, complement(ALPHA))
    letters = "".join(chr(code) for low, high in within for code in range(low, high + 1))
    upper = letters.upper()
    third = "".join(_THIRD_FORMS.get(each, "") for each in upper)
    return union((*characters, *listed(upper + letters.lower() + third), *folded(difference(characters, ASCII))))
