"""Files as texts, places in them, and the messages about them, as objects and as people read them.

Reading a file is bounded and never waits. A message in full has a headline, the place, the line with carets under the
span, help and notes.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import msgspec

from tornado_proxy.rules.limits import CLOSE_ENOUGH, LONGEST_MISSPELT, SHOWN_BYTES, TAB, WIDEST_EXCERPT

_LINE_END = re.compile("\n")
_NOT_ASCII = re.compile("[^\0-\x7f]")


class Position(NamedTuple):
    """A place as people count: line and column from 1, columns in code points."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A named text; only LF ends a line."""

    name: str
    text: str = field(repr=False)
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = (0, *(end.end() for end in _LINE_END.finditer(self.text)))
        object.__setattr__(self, "_starts", starts)

    def position(self, offset: int) -> Position:
        """The line and column of a code-point offset."""
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)

    def offset(self, line: int, column: int) -> int:
        """The code-point offset of a line and column, both from 1."""
        return self._starts[line - 1] + column - 1

    def line(self, number: int) -> str:
        """The text of a line, from 1, without its end."""
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[self._starts[number - 1] : end].removesuffix("\r")


class Span(msgspec.Struct, frozen=True):
    """A stretch of a source file: code-point offsets, the end excluded; empty at a point."""

    source: SourceFile
    start: int
    end: int

    @property
    def text(self) -> str:
        """The text that it covers."""
        return self.source.text[self.start : self.end]

    @property
    def first(self) -> Position:
        """The position of its first character."""
        return self.source.position(self.start)

    @property
    def last(self) -> Position:
        """The position after its last character."""
        return self.source.position(self.end)

    @property
    def place(self) -> str:
        """The place as `file:line:column`."""
        line, column = self.first
        return f"{self.source.name}:{line}:{column}"

    def part(self, start: int, end: int) -> Span:
        """The span of a part, by offsets within this one."""
        return Span(self.source, self.start + start, self.start + end)

    def whole_lines(self) -> Span:
        """Returns the span with its indentation and its line end, if nothing else is on its lines."""
        text = self.source.text
        start = text.rfind("\n", 0, self.start) + 1
        end = text.find("\n", self.end)
        end = len(text) if end < 0 else end + 1
        alone = not (text[start : self.start] + text[self.end : end]).strip()
        return Span(self.source, start, end) if alone else self


class Severity(Enum):
    """The weight of a diagnostic: an error is certainly wrong; one of parser or compiler keeps files from use."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Note(msgspec.Struct, frozen=True):
    """A second place that explains a diagnostic, such as the first use of a name."""

    message: str
    span: Span | None = None


class Safety(Enum):
    """The promise of a fix."""

    SAFE = "safe"  # every key is rewritten as before, and nothing with a meaning is lost
    UNSAFE = "unsafe"  # probably meant: some keys may be rewritten differently, or words of the author are removed
    DISPLAY = "display"  # one of several solutions: shown, and never applied to many places at once


class Edit(msgspec.Struct, frozen=True):
    """A stretch of a file, possibly empty, and the text that takes its place."""

    span: Span
    text: str


class Fix(msgspec.Struct, frozen=True):
    """A change that a tool can apply: its title in the imperative, and the edits, which never overlap."""

    message: str
    edits: tuple[Edit, ...]
    safety: Safety


class Diagnostic(msgspec.Struct, frozen=True):
    """A mistake or a finding: `message` states it (names in backticks, no full stop), `help` advises."""

    code: str
    message: str
    span: Span | None = None
    help: str | None = None
    notes: tuple[Note, ...] = ()
    severity: Severity = Severity.ERROR
    fixes: tuple[Fix, ...] = ()

    @property
    def place(self) -> str:
        """The place as `file:line:column`; empty if there is no span."""
        return self.span.place if self.span else ""

    @property
    def line(self) -> str:
        """Everything but the help on one line, as compilers print it; the file name is not escaped."""
        place = f"{self.place}: " if self.span else ""
        return f"{place}{self.severity.value}[{self.code}] {self.message}"


def errors(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Returns the diagnostics that keep files from being used."""
    return tuple(each for each in diagnostics if each.severity is Severity.ERROR)


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """Returns the candidate closest to a word, ignoring case; None if no candidate is close."""
    if len(word) > LONGEST_MISSPELT:
        return None
    folded = {candidate.casefold(): candidate for candidate in candidates}
    close = get_close_matches(word.casefold(), folded, n=1, cutoff=CLOSE_ENOUGH)
    return folded[close[0]] if close else None


def counted(number: int, word: str, plural: str = "") -> str:
    """Returns a number of things: 1 file, 2,000 files."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def shortened(text: str, most: int) -> str:
    """Returns a text, cut after `most` characters."""
    return text if len(text) <= most else f"{text[:most]}…"


class FileTooLargeError(OSError):
    """A file that is larger than is allowed."""


def read_file(path: Path, largest: int, *, regular: bool) -> bytes:
    """Reads the bytes of a file; raises `OSError`, and `FileTooLargeError` for more than `largest` bytes.

    With `regular` it must be a regular file, which can be read again. A pipe would block the reader.
    """
    if "\0" in str(path):
        raise OSError(0, "its name contains a NUL", str(path))
    flags = os.O_NONBLOCK if regular else 0  # does not wait for the writer of a pipe
    with open(path, "rb", opener=lambda name, usual: os.open(name, usual | flags)) as file:
        if regular and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it is not a regular file", str(path))
        data = file.read(largest + 1)
    if len(data) > largest:
        raise FileTooLargeError(0, f"it is larger than {largest} bytes", str(path))
    return data


def decode(name: str, data: bytes) -> SourceFile | Diagnostic:
    """Returns the text of a file without its byte order mark, or a diagnostic."""
    mark = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    nul = data.find(b"\0")
    try:
        text = data[mark:].decode()
    except UnicodeDecodeError as error:
        if not 0 <= nul < mark + error.start:
            return _undecodable(name, data, mark + error.start)
    return SourceFile(name, text) if nul < 0 else _undecodable(name, data, nul)


def _undecodable(name: str, data: bytes, offset: int) -> Diagnostic:
    readable = data[:offset].decode("utf-8-sig")
    # The rest of a binary file may be one line of megabytes, which would fill the screen.
    source = SourceFile(name, readable + data[offset : offset + SHOWN_BYTES].decode(errors="replace"))
    span = Span(source, len(readable), len(readable) + 1)
    where = f"byte 0x{data[offset]:02x} at offset {offset}, on line {span.first.line}"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or data[:2].count(0) == 1:
        return Diagnostic("not-utf-8", f"invalid UTF-8: {where}", span, "the file seems to be UTF-16; save it as UTF-8")
    if data[offset] == 0:
        return Diagnostic("not-utf-8", f"the file is not text: {where}", span, "remove the file, or restore its text")
    return Diagnostic("not-utf-8", f"invalid UTF-8: {where}", span, "save the file as UTF-8")


_CUT = "…"

_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_BLUE = "\x1b[1;34m"
_CYAN = "\x1b[1;36m"
_SEVERITY_COLORS = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m", Severity.INFO: _CYAN}

_Paint = Callable[[str, str], str]
"""Returns a text in a style, or as it is."""

# A terminal obeys control characters; bidirectional controls make a line look like another one (Unicode TR 36).
_CONTROLS = (*range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_SURROGATES = re.compile("[\ud800-\udfff]")  # as keys of the table they would take 0.1 MiB
_NONCHARACTERS = (0xFFFE, 0xFFFF)  # XML 1.0 does not allow them (section 2.2, Char)
_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)}
_STAND_INS = _PICTURES | dict.fromkeys((*_CONTROLS, *_NONCHARACTERS), "\N{REPLACEMENT CHARACTER}")


def render(diagnostic: Diagnostic, *, color: bool = False) -> str:
    """Returns the full form without a line end; it is harmless to a terminal for any content of the file."""

    def paint(style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if color and text else text

    return "\n".join(_report(diagnostic, paint))


def visible(text: str) -> str:
    """A text on one line, with a visible stand-in for each character that a terminal would obey."""
    if text.isprintable():  # nothing that has a stand-in is
        return text
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text.translate(_STAND_INS))


def _report(diagnostic: Diagnostic, paint: _Paint) -> Iterator[str]:
    spans = (diagnostic.span, *(note.span for note in diagnostic.notes))
    gutter = max((len(str(span.first.line)) for span in spans if span), default=1)
    headline = f"{diagnostic.severity.value}[{diagnostic.code}]"
    color = _SEVERITY_COLORS[diagnostic.severity]
    yield paint(color, headline) + paint(_BOLD, f": {visible(diagnostic.message)}")
    if diagnostic.span:
        yield from _excerpt(diagnostic.span, color, gutter, paint)
    if diagnostic.help:
        yield from _remark("help", diagnostic.help, gutter, paint)
    for note in diagnostic.notes:
        if note.span is None:
            yield from _remark("note", note.message, gutter, paint)
            continue
        yield f"{paint(_CYAN, 'note')}: {visible(note.message)}"
        yield from _excerpt(note.span, color, gutter, paint)


def _remark(label: str, text: str, gutter: int, paint: _Paint) -> Iterator[str]:
    first, *others = text.split("\n")
    yield f"{' ' * gutter} {paint(_BLUE, '=')} {paint(_CYAN, label)}: {visible(first)}"
    margin = " " * (gutter + len(label) + 5)
    yield from (f"{margin}{visible(line)}" for line in others)


def _excerpt(span: Span, color: str, gutter: int, paint: _Paint) -> Iterator[str]:
    """Yields the place of a span and its first line, with carets under the part of the span on that line."""
    bar = paint(_BLUE, "|")
    margin = " " * gutter
    first = span.first
    before, inside, after = map(visible, _pieces(span, first))
    carets = " " * width(before) + paint(color, "^" * max(1, width(inside)))
    yield f"{margin}{paint(_BLUE, '-->')} {visible(span.place)}"
    yield f"{margin} {bar}"
    yield f"{paint(_BLUE, f'{first.line:>{gutter}} |')} {before}{inside}{after}".rstrip()
    yield f"{margin} {bar} {carets}"


def _pieces(span: Span, first: Position) -> tuple[str, str, str]:
    """Returns the first line of a span as it is shown: the text before the span, in it, and after it."""
    line, start = span.source.line(first.line), first.column - 1
    before = line[:start].expandtabs(TAB)
    through = line[: start + span.end - span.start].expandtabs(TAB)
    inside, after = through[len(before) :], line.expandtabs(TAB)[len(through) :]
    if len(before) > WIDEST_EXCERPT:
        before = _CUT + before[-WIDEST_EXCERPT // 2 :]
    if len(inside) > WIDEST_EXCERPT:
        inside, after = inside[:WIDEST_EXCERPT] + _CUT, ""
    if len(after) > WIDEST_EXCERPT:
        after = after[:WIDEST_EXCERPT] + _CUT
    return before, inside, after


def width(text: str) -> int:
    """The number of columns that a text takes."""
    kinds = [(unicodedata.category(each), unicodedata.east_asian_width(each)) for each in _NOT_ASCII.findall(text)]
    return len(text) + sum(-1 if category in {"Mn", "Me", "Cf"} else wide in "WF" for category, wide in kinds)


def padded(text: str, columns: int) -> str:
    """Returns a text with spaces after it, up to a number of columns."""
    return text + " " * (columns - width(text))
