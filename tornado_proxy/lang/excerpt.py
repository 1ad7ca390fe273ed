"""A diagnostic in full, for people: headline, place, the lines with carets under the span, help and notes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from tornado_proxy.lang.diagnostic import Diagnostic, Note, Position, Severity, SourceFile, Span

_TAB = 4
_WIDEST = 120
_CUT = "…"

_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_BLUE = "\x1b[1;34m"
_CYAN = "\x1b[1;36m"
_SEVERITY_COLORS = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m", Severity.INFO: _CYAN}

# A terminal obeys control characters; bidirectional controls make a line look like another one (Unicode TR 36).
_CONTROLS = (*range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_SURROGATES = range(0xD800, 0xE000)
_NONCHARACTERS = (0xFFFE, 0xFFFF)  # XML 1.0 cannot hold them (section 2.2, Char)
_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)}
_STAND_INS = _PICTURES | dict.fromkeys((*_CONTROLS, *_SURROGATES, *_NONCHARACTERS), "\N{REPLACEMENT CHARACTER}")


def render(diagnostic: Diagnostic, *, color: bool = False) -> str:
    """The full form, ending without a line end; lines stay harmless to a terminal whatever the file holds."""
    paint = _Paint(color, _SEVERITY_COLORS[diagnostic.severity])
    return "\n".join(_report(diagnostic, paint))


def visible(text: str) -> str:
    """A text on one line, with a visible stand-in for each character that a terminal would obey."""
    return text if text.isascii() and text.isprintable() else text.translate(_STAND_INS)


@dataclass(frozen=True, slots=True)
class _Paint:
    """Text in a colour, or as it is."""

    enabled: bool
    severity: str

    def __call__(self, style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if self.enabled and text else text


def _report(diagnostic: Diagnostic, paint: _Paint) -> Iterator[str]:
    spans = (diagnostic.span, *(note.span for note in diagnostic.notes))
    gutter = max((len(str(span.last.line)) for span in spans if span), default=1)
    headline = f"{diagnostic.severity.value}[{diagnostic.code}]"
    yield paint(paint.severity, headline) + paint(_BOLD, f": {visible(diagnostic.message)}")
    if diagnostic.span:
        yield from _excerpt(diagnostic.span, gutter, paint)
    if diagnostic.help:
        yield from _remark("help", diagnostic.help, gutter, paint)
    for note in diagnostic.notes:
        yield from _note(note, gutter, paint)


def _remark(label: str, text: str, gutter: int, paint: _Paint) -> Iterator[str]:
    first, *others = text.split("\n")
    yield f"{' ' * gutter} {paint(_BLUE, '=')} {paint(_CYAN, label)}: {visible(first)}"
    margin = " " * (gutter + len(label) + 5)
    yield from (f"{margin}{visible(line)}" for line in others)


def _note(note: Note, gutter: int, paint: _Paint) -> Iterator[str]:
    if note.span is None:
        yield from _remark("note", note.message, gutter, paint)
        return
    yield f"{paint(_CYAN, 'note')}: {visible(note.message)}"
    yield from _excerpt(note.span, gutter, paint)


def _excerpt(span: Span, gutter: int, paint: _Paint) -> Iterator[str]:
    bar = paint(_BLUE, "|")
    margin = " " * gutter
    yield f"{margin}{paint(_BLUE, '-->')} {visible(span.place)}"
    yield f"{margin} {bar}"
    next_number = span.first.line
    for line in _marked_lines(span):
        if line.number > next_number:
            yield f"{margin}{paint(_BLUE, '...')}"
        next_number = line.number + 1
        yield f"{paint(_BLUE, f'{line.number:>{gutter}} |')} {line.text}".rstrip()
        yield f"{margin} {bar} {' ' * line.indent}{paint(paint.severity, '^' * line.carets)}"


@dataclass(frozen=True, slots=True)
class _MarkedLine:
    """A line as shown: where its carets begin and how many they are, in columns of a terminal."""

    number: int
    text: str
    indent: int
    carets: int


def _marked_lines(span: Span) -> Iterator[_MarkedLine]:
    """The line of a span; the first and the last one if it runs over several."""
    first, last = span.first, span.last
    # A span that takes a line's end with it ends there, not at the start of the next line.
    if last.line > first.line and last.column == 1:
        last = Position(last.line - 1, len(span.source.line(last.line - 1)) + 1)
    if first.line == last.line:
        yield _marked(span.source, first, last.column)
        return
    yield _marked(span.source, first, len(span.source.line(first.line)) + 1)
    text = span.source.line(last.line)
    indent = len(text) - len(text.lstrip())
    yield _marked(span.source, Position(last.line, min(indent + 1, last.column)), last.column)


def _marked(source: SourceFile, first: Position, end_column: int) -> _MarkedLine:
    line = source.line(first.line)
    before, inside, after = line[: first.column - 1], line[first.column - 1 : end_column - 1], line[end_column - 1 :]
    before = _clipped_left(before)
    shown_before = _on_screen(before, 0)
    shown_inside = _on_screen(inside[:_WIDEST], width(shown_before))
    if len(inside) > _WIDEST:
        shown_inside, after = shown_inside + _CUT, ""
    shown_after = _on_screen(_clipped_right(after), width(shown_before + shown_inside))
    indent, carets = width(shown_before), max(1, width(shown_inside))
    return _MarkedLine(first.line, shown_before + shown_inside + shown_after, indent, carets)


def _clipped_left(text: str) -> str:
    return text if len(text) <= _WIDEST else _CUT + text[-_WIDEST // 2 :]


def _clipped_right(text: str) -> str:
    return text if len(text) <= _WIDEST else text[:_WIDEST] + _CUT


def _on_screen(text: str, column: int) -> str:
    """A part of a line with tabs spread to their stops and nothing that a terminal would obey."""
    if "\t" not in text:
        return visible(text)
    shown = []
    for part in text.split("\t"):
        harmless = visible(part)
        column += width(harmless)
        shown.append(harmless)
        spaces = _TAB - column % _TAB
        column += spaces
        shown.append(" " * spaces)
    return "".join(shown[:-1])


def width(text: str) -> int:
    """The columns that a text takes."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def padded(text: str, columns: int) -> str:
    """A text with spaces behind it up to a number of columns."""
    return text + " " * (columns - width(text))


def _character_width(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
