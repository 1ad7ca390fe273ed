"""The characters of classes: sets of code points as sorted ranges, and the characters that a node matches.

RE2 knows the members of Unicode classes: it searches all code points once. What Unicode has added since RE2's tables
were made is listed here.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import assert_never

import re2  # type: ignore[import-untyped]  # google-re2 ships no annotations

from tornado_proxy.golang.regexp import syntax

Range = tuple[int, int]  # the first and the last code point

Ranges = tuple[Range, ...]  # sorted and not adjacent; compared by value
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
WORD = union((*ALNUM, *listed("_")))  # the characters that `\w` matches, next to which `\b` finds a boundary
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

_ASCII_CLASSES = {r"\d": DIGIT, r"\s": listed("\t\n\f\r "), r"\w": WORD} | {
    f"[:{name}:]": POSIX[name] for name in POSIX
}


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
LONG_NAMES = dict(pair.split("=") for pair in _LONG_NAMES.split())  # the short name of each long one
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


def _ranges(text: str) -> Ranges:
    """Ranges written as hexadecimal numbers: one alone, or two with a hyphen."""
    bounds = (each.partition("-") for each in text.split())
    return tuple((int(low, 16), int(high or low, 16)) for low, _, high in bounds)


ADDED_TO_CATEGORIES = {
    name: _ranges(text)
    for name, text in {
        "Ll": "1c8a a7cd a7cf a7db 10d70-10d85 16ebb-16ed3",
        "Lm": "a7f1 10d4e 10d6f 10ec5 11dd9 16d40-16d42 16d6b-16d6c 16ff2-16ff3 1e6ff",
        "Lo": (
            "295 88f c5c cdc 105c0-105f3 10940-10959 10d4a-10d4d 10d4f 10ec2-10ec4 10ec6-10ec7 11380-11389 1138b "
            "1138e 11390-113b5 113b7 113d1 113d3 11bc0-11be0 11db0-11dd8 11dda-11ddb 13460-143fa 16100-1611d "
            "16d43-16d6a 187f8-187ff 18cff 18d09-18d1e 18d80-18df2 1e5d0-1e5ed 1e5f0 1e6c0-1e6de 1e6e0-1e6e2 "
            "1e6e4-1e6e5 1e6e7-1e6ed 1e6f0-1e6f4 1e6fe 2b73a-2b73f 2cea2-2cead 323b0-33479"
        ),
        "Lu": "1c89 a7cb-a7cc a7ce a7d2 a7d4 a7da a7dc 10d50-10d65 16ea0-16eb8",
        "Mc": "113b8-113ba 113c2 113c5 113c7-113ca 113cc-113cd 113cf 1171e 11b61 11b65 11b67 1612a-1612c",
        "Mn": (
            "897 1acf-1add 1ae0-1aeb 10d69-10d6d 10efa-10efc 113bb-113c0 113ce 113d0 113d2 113e1-113e2 11b60 "
            "11b62-11b64 11b66 11f5a 1611e-16129 1612d-1612f 1e5ee-1e5ef 1e6e3 1e6e6 1e6ee-1e6ef 1e6f5"
        ),
        "Nd": "10d40-10d49 116d0-116e3 11bf0-11bf9 11de0-11de9 16130-16139 16d70-16d79 1ccf0-1ccf9 1e5f1-1e5fa",
        "Nl": "16ff4-16ff6",
        "Pd": "10d6e",
        "Po": "1b4e-1b4f 1b7f 10ed0 113d4-113d5 113d7-113d8 11be1 16d6d-16d6f 1e5ff",
        "Sc": "20c1",
        "Sm": "10d8e-10d8f 1cef0 1f8d0-1f8d8",
        "So": (
            "2427-2429 2b96 31e4-31e5 fbc3-fbd2 fd90-fd91 fdc8-fdce 10ed1-10ed8 1cc00-1ccef 1ccfa-1ccfc 1cd00-1ceb3 "
            "1ceba-1ced0 1cee0-1ceef 1f6d8 1f777-1f77a 1f8b2-1f8bb 1f8c0-1f8c1 1fa54-1fa57 1fa89-1fa8a 1fa8e-1fa8f "
            "1fabe 1fac6 1fac8 1facd 1fadc 1fadf 1fae9-1faea 1faef 1fbcb-1fbef 1fbfa"
        ),
    }.items()
}
"""The code points that Unicode 16 and 17 added to general categories."""

REMOVED = {"Ll": ((0x295, 0x295),), "Mn": ((0x1171E, 0x1171E),)}  # code points that moved from a category to another
ADDED_TO_SCRIPTS = {
    name: _ranges(text)
    for name, text in {
        "Arabic": "88f 897 fbc3-fbd2 fd90-fd91 fdc8-fdce 10ec2-10ec7 10ed0-10ed8 10efa-10efc",
        "Balinese": "1b4e-1b4f 1b7f",
        "Beria_Erfe": "16ea0-16eb8 16ebb-16ed3",
        "Common": (
            "20c1 2427-2429 2b96 31e4-31e5 1cc00-1ccfc 1cd00-1ceb3 1ceba-1ced0 1cee0-1cef0 1f6d8 1f777-1f77a "
            "1f8b2-1f8bb 1f8c0-1f8c1 1f8d0-1f8d8 1fa54-1fa57 1fa89-1fa8a 1fa8e-1fa8f 1fabe 1fac6 1fac8 1facd 1fadc "
            "1fadf 1fae9-1faea 1faef 1fbcb-1fbef 1fbfa"
        ),
        "Cyrillic": "1c89-1c8a",
        "Egyptian_Hieroglyphs": "13460-143fa",
        "Garay": "10d40-10d65 10d69-10d85 10d8e-10d8f",
        "Gurung_Khema": "16100-16139",
        "Han": "16ff2-16ff6 2b73a-2b73f 2cea2-2cead 323b0-33479",
        "Inherited": "1acf-1add 1ae0-1aeb",
        "Kannada": "cdc",
        "Kawi": "11f5a",
        "Khitan_Small_Script": "18cff",
        "Kirat_Rai": "16d40-16d79",
        "Latin": "a7cb-a7cf a7d2 a7d4 a7da-a7dc a7f1",
        "Myanmar": "116d0-116e3",
        "Ol_Onal": "1e5d0-1e5fa 1e5ff",
        "Sharada": "11b60-11b67",
        "Sidetic": "10940-10959",
        "Sunuwar": "11bc0-11be1 11bf0-11bf9",
        "Tai_Yo": "1e6c0-1e6de 1e6e0-1e6f5 1e6fe-1e6ff",
        "Tangut": "187f8-187ff 18d09-18d1e 18d80-18df2",
        "Telugu": "c5c",
        "Todhri": "105c0-105f3",
        "Tolong_Siki": "11db0-11ddb 11de0-11de9",
        "Tulu_Tigalari": (
            "11380-11389 1138b 1138e 11390-113b5 113b7-113c0 113c2 113c5 113c7-113ca 113cc-113d5 113d7-113d8 "
            "113e1-113e2"
        ),
    }.items()
}
"""The code points that Unicode 16 and 17 added to scripts."""

_PAIRS = [
    (0x19B, 0xA7DC),
    (0x264, 0xA7CB),
    *((lower, lower + 1) for lower in (0x1C89, 0xA7CC, 0xA7CE, 0xA7D2, 0xA7D4, 0xA7DA)),
    *((upper, upper + 0x20) for upper in range(0x10D50, 0x10D66)),
    *((upper, upper + 0x1B) for upper in range(0x16EA0, 0x16EB9)),
]

OTHER_CASE = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
"""The other case of letters for which RE2 knows none."""


_SURROGATES = (0xD800, 0xDFFF)
_PRIVATE_USE = ((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))  # fixed by the Unicode stability policy

# Unicode's simple case folding gives two letters of ASCII a third form: the Kelvin sign and the long s.
_THIRD_FORMS = {"K": "\u212a", "S": "\u017f"}


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
    special = _SPECIAL.get(name)
    if special is not None:
        return special()
    # A category of one letter has all categories that begin with it.
    added = chain.from_iterable(ADDED_TO_CATEGORIES[each] for each in ADDED_TO_CATEGORIES if name in (each, each[0]))
    characters = union((*matched(rf"\p{{{name}}}"), *added, *ADDED_TO_SCRIPTS.get(name, ())))
    return difference(characters, REMOVED.get(name, ()))


def _assigned() -> Ranges:
    added = chain.from_iterable(ADDED_TO_CATEGORIES.values())
    return union((*matched(r"[\pL\pM\pN\pP\pS\pZ\pC]"), _SURROGATES, *_PRIVATE_USE, *added))


# Classes that RE2 lacks, classes with unassigned code points, which RE2 lacks too, and constant ones.
_SPECIAL: Mapping[str, Callable[[], Ranges]] = {
    "Any": lambda: EVERYTHING,
    "ASCII": lambda: ASCII,
    "Assigned": _assigned,
    "C": lambda: union((*matched(r"\pC"), _SURROGATES, *_PRIVATE_USE, *_members("Cn"))),
    "Cn": lambda: complement(_assigned()),
    "Co": lambda: _PRIVATE_USE,
    "Cs": lambda: (_SURROGATES,),
    "LC": lambda: union(each for part in ("Lu", "Ll", "Lt") for each in _members(part)),
}


@cache
def folded(ranges: Ranges) -> Ranges:
    """Returns the code points of a set with all their other cases (Go's unicode.SimpleFold)."""
    other_cases = ((code, code) for letter, code in OTHER_CASE.items() if contains(ranges, letter))
    return union((*ranges, *matched(f"(?i)[{spelled(ranges)}]"), *other_cases)) if ranges else ranges


def matched(expression: str) -> Ranges:
    """Returns the assigned code points that a one-character expression matches; empty if RE2 refuses it."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    try:
        compiled = re2.compile(f"(?:{expression})+".encode(), options)
    except re2.error:
        return ()
    runs = (each.group().decode() for planes in _assigned_planes() for each in compiled.finditer(planes))
    return tuple((ord(run[0]), ord(run[-1])) for run in runs)


@cache
def _assigned_planes() -> tuple[bytes, ...]:
    """All code points of the planes with assigned characters, in order, without private use."""
    planes = ((*range(_SURROGATES[0]),), (*range(_SURROGATES[1] + 1, 0x40000),), (*range(0xE0000, 0xF0000),))
    return tuple(array("I", codes).tobytes().decode("utf-32").encode() for codes in planes)


@lru_cache(maxsize=4096)
def cases(character: str, *, folded: bool) -> Ranges:
    """Returns the characters that a literal character matches; with its other cases if `folded`."""
    ranges = listed(character)
    return _every_case(ranges) if folded else ranges


@lru_cache(maxsize=4096)
def characters(node: syntax.AnyOf | syntax.Member) -> Ranges:
    """Returns the characters that a node matches."""
    match node:
        case syntax.AnyCharacter():
            return EVERYTHING if node.newline else complement(listed("\n"))
        case syntax.CharacterRange():
            ranges: Ranges = ((ord(node.first), ord(node.last)),)
            return _every_case(ranges) if node.folded else ranges
        case syntax.BracketClass():
            ranges = union(each for member in node.members for each in characters(member))
        case syntax.NamedClass() if node.name in _ASCII_CLASSES:
            ranges = _ASCII_CLASSES[node.name]
            ranges = _every_case(ranges) if node.folded else ranges
        case syntax.NamedClass():
            ranges = members(node.name[3:-1], fold=node.folded)
        case _:
            assert_never(node)
    return complement(ranges) if node.negated else ranges


def _every_case(characters: Ranges) -> Ranges:
    """Returns a set with the other cases of its characters; ASCII is folded here, because RE2 takes milliseconds."""
    within = difference(characters, complement(ALPHA))
    letters = "".join(chr(code) for low, high in within for code in range(low, high + 1))
    upper = letters.upper()
    third = "".join(_THIRD_FORMS.get(each, "") for each in upper)
    return union((*characters, *listed(upper + letters.lower() + third), *folded(difference(characters, ASCII))))
