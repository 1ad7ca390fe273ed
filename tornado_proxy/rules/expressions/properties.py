r"""Unicode classes by name, `\p{Greek}`, with the code points that they have in Go 1.27 (package unicode).

What a class holds is asked of RE2, by letting it read every code point once, and completed by what Unicode has added
since RE2's tables were made.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from tornado_proxy.rules.engine import ProgramRefused, compile_program
from tornado_proxy.rules.expressions import additions
from tornado_proxy.rules.expressions.ranges import (
    EVERYTHING,
    Range,
    Ranges,
    complement,
    contains,
    difference,
    spelled,
    union,
)

_SURROGATES = (0xD800, 0xDFFF)
_PRIVATE_USE = ((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))  # for good: Unicode stability policy

_CATEGORIES = """
    C Cc Cf Cn Co Cs L LC Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs
"""

# PropertyValueAliases.txt, property gc, as Go's unicode.CategoryAliases has them.
_LONG_NAMES = {
    "Cased_Letter": "LC",
    "Close_Punctuation": "Pe",
    "Combining_Mark": "M",
    "Connector_Punctuation": "Pc",
    "Control": "Cc",
    "Currency_Symbol": "Sc",
    "Dash_Punctuation": "Pd",
    "Decimal_Number": "Nd",
    "Enclosing_Mark": "Me",
    "Final_Punctuation": "Pf",
    "Format": "Cf",
    "Initial_Punctuation": "Pi",
    "Letter": "L",
    "Letter_Number": "Nl",
    "Line_Separator": "Zl",
    "Lowercase_Letter": "Ll",
    "Mark": "M",
    "Math_Symbol": "Sm",
    "Modifier_Letter": "Lm",
    "Modifier_Symbol": "Sk",
    "Nonspacing_Mark": "Mn",
    "Number": "N",
    "Open_Punctuation": "Ps",
    "Other": "C",
    "Other_Letter": "Lo",
    "Other_Number": "No",
    "Other_Punctuation": "Po",
    "Other_Symbol": "So",
    "Paragraph_Separator": "Zp",
    "Private_Use": "Co",
    "Punctuation": "P",
    "Separator": "Z",
    "Space_Separator": "Zs",
    "Spacing_Mark": "Mc",
    "Surrogate": "Cs",
    "Symbol": "S",
    "Titlecase_Letter": "Lt",
    "Unassigned": "Cn",
    "Uppercase_Letter": "Lu",
    "cntrl": "Cc",
    "digit": "Nd",
    "punct": "P",
}

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


def _plain(name: str) -> str:
    """A name as names are compared: in any case, without spaces, hyphens and underscores (regexp/syntax)."""
    return name.lower().translate({ord(each): None for each in " -_"})


NAMES = (*_CATEGORIES.split(), *_SCRIPTS.split(), *_LONG_NAMES, "Any", "ASCII", "Assigned")
"""Every name of a class, for suggestions."""

_BY_PLAIN_NAME = {_plain(name): _LONG_NAMES.get(name, name) for name in NAMES}


def resolve(name: str) -> str | None:
    """The one name of a class that has several; None for what is none."""
    return _BY_PLAIN_NAME.get(_plain(name)) if name.isascii() else None


def members(name: str, *, fold: bool = False) -> Ranges:
    """The code points of a class by its one name, and under `(?i)` those that differ from them in case only."""
    # Go has no folding table for LC.
    return folded(_members(name)) if fold and name != "LC" else _members(name)


@cache
def _members(name: str) -> Ranges:
    special = _SPECIAL.get(name)
    if special is not None:
        return special()
    added = (*_added_to_categories(name), *additions.SCRIPTS.get(name, ()))
    known = union((*matched(rf"\p{{{name}}}"), *added))
    return difference(known, additions.LEFT.get(name, ()))


def _assigned() -> Ranges:
    added = (each for ranges in additions.CATEGORIES.values() for each in ranges)
    return union((*matched(r"[\pL\pM\pN\pP\pS\pZ\pC]"), _SURROGATES, *_PRIVATE_USE, *added))


def _other() -> Ranges:
    return union((*matched(r"\pC"), _SURROGATES, *_PRIVATE_USE, *_members("Cn")))


# Classes that RE2 does not have, or has without what is not assigned, and those that need no asking.
_SPECIAL: Mapping[str, Callable[[], Ranges]] = {
    "Any": lambda: EVERYTHING,
    "ASCII": lambda: ((0, 0x7F),),
    "Assigned": _assigned,
    "C": _other,
    "Cn": lambda: complement(_assigned()),
    "Co": lambda: _PRIVATE_USE,
    "Cs": lambda: (_SURROGATES,),
    "LC": lambda: union(each for part in ("Lu", "Ll", "Lt") for each in _members(part)),
}


def _added_to_categories(name: str) -> Iterable[Range]:
    """What a category has more, or all categories that begin with a letter."""
    parts = (part for part in additions.CATEGORIES if name in (part, part[0]))
    return (each for part in parts for each in additions.CATEGORIES[part])


@cache
def folded(ranges: Ranges) -> Ranges:
    """The code points of a set and all that differ from them in case only (Go's unicode.SimpleFold)."""
    other_cases = ((code, code) for letter, code in additions.OTHER_CASE.items() if contains(ranges, letter))
    return union((*ranges, *matched(f"(?i)[{spelled(ranges)}]"), *other_cases)) if ranges else ranges


def matched(expression: str) -> Ranges:
    """The assigned code points that an expression of one character matches; none if RE2 does not know the class."""
    try:
        compiled = compile_program(f"(?:{expression})+".encode())
    except ProgramRefused:
        return ()
    runs = (each.group().decode() for planes in _assigned_planes() for each in compiled.finditer(planes))
    return tuple((ord(run[0]), ord(run[-1])) for run in runs)


@cache
def _assigned_planes() -> tuple[bytes, ...]:
    """Every code point of the planes that hold characters, in order, but for those of private use."""
    planes = ((*range(_SURROGATES[0]),), (*range(_SURROGATES[1] + 1, 0x40000),), (*range(0xE0000, 0xF0000),))
    return tuple(array("I", codes).tobytes().decode("utf-32").encode() for codes in planes)
