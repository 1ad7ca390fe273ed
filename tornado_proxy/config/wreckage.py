"""Where secrets may stand in text that is not YAML: too much rather than too little.

Nobody can tell how such a text is meant, so the rule goes by lines: what follows a name that is not an open option's
is suspicious, with the lines below that are indented deeper or name nothing; and where brackets or quotes do not
pair, all the rest.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from tornado_proxy.config.vocabulary import Meaning, Vocabulary

_Range = tuple[int, int]
_Tally = tuple[int, bool, bool]

_NAME = re.compile(r"(?<![\w.-])([\w.-]++|\"[^\"\n]*\"|'[^'\n]*')[\"']?\s*+[:=]")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_LEAD = re.compile(r"[\s?-]*")
_PAIRED: _Tally = (0, False, False)


def suspicious_ranges(text: str, vocabulary: Vocabulary) -> list[_Range]:
    """What may be a secret, in a text of any kind."""
    wreck = _Wreck(text)
    # What is anchored may be a secret's value in another place.
    anchors = (wreck.region(each.start(), each.start()) for each in re.finditer("&", text))
    return [*_after_names(wreck, vocabulary), *anchors]


def _after_names(wreck: _Wreck, vocabulary: Vocabulary) -> Iterator[_Range]:
    reached = 0
    for found in _NAME.finditer(wreck.text):
        if found.start() >= reached and _is_suspicious(found, wreck, vocabulary):
            start, reached = wreck.region(*found.span())
            yield start, reached


def _is_suspicious(found: re.Match[str], wreck: _Wreck, vocabulary: Vocabulary) -> bool:
    name = found[1].strip("\"'")
    meaning = vocabulary.meaning(name)
    if meaning in (Meaning.UNKNOWN, Meaning.LIKE_OPEN):
        # A target's name stands above its options; a backslash may spell `password` in another way.
        return "\\" in name or not wreck.names_follow(found.end())
    return meaning is not Meaning.OPEN


class _Wreck:
    """A text by lines, and whether brackets and quotes pair in what stands before each."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.split("\n")
        self._starts = list(accumulate((len(line) + 1 for line in self._lines), initial=0))
        self._tallies = list(accumulate(map(_tally, self._lines), _sum, initial=_PAIRED))

    def region(self, start: int, end: int) -> _Range:
        """From the end of a name that starts somewhere to the end of what may belong to it."""
        first, last = self._line(start), self._line(end)
        lead = self.text[self._starts[first] : start]
        column = len(lead) if _LEAD.fullmatch(lead) else _indentation(lead)
        while last + 1 < len(self._lines) and _belongs(self._lines[last + 1], column):
            last += 1
        paired = self._tallies[first] == self._tallies[last + 1] == _PAIRED
        return end, self._starts[last + 1] if paired else len(self.text)

    def names_follow(self, end: int) -> bool:
        """Whether nothing but a comment follows on the line, and the next line with anything begins with a name."""
        line = self._line(end)
        if _bare(self.text[end : self._starts[line + 1]]).strip():
            return False
        following = (_bare(self._lines[index]).strip(" \t\r-?") for index in range(line + 1, len(self._lines)))
        return bool(_NAME.match(next(filter(None, following), "")))

    def _line(self, offset: int) -> int:
        return bisect_right(self._starts, min(offset, len(self.text))) - 1


def _bare(line: str) -> str:
    return _COMMENT.sub("", line)


def _belongs(line: str, column: int) -> bool:
    indentation = _indentation(line)
    is_item = line[indentation : indentation + 1] == "-"
    return indentation > column or (indentation == column and is_item) or not _NAME.search(line)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _tally(line: str) -> _Tally:
    bare = _bare(line)
    opened = sum(map(bare.count, "[{")) - sum(map(bare.count, "]}"))
    return opened, bare.count('"') % 2 == 1, bare.count("'") % 2 == 1


def _sum(first: _Tally, second: _Tally) -> _Tally:
    return first[0] + second[0], first[1] != second[1], first[2] != second[2]
