"""A diagnostic in full, for people: headline, place, the line with carets under the span, help and notes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

from tornado_proxy.rules.diagnostic import Diagnostic, Severity, Span

_TAB = 4
_WIDEST = 120
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
    if text.isascii() and text.isprintable():
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
    before, inside, after = _pieces(span)
    carets = " " * width(before) + paint(color, "^" * max(1, width(inside)))
    yield f"{margin}{paint(_BLUE, '-->')} {visible(span.place)}"
    yield f"{margin} {bar}"
    yield f"{paint(_BLUE, f'{span.first.line:>{gutter}} |')} {before}{inside}{after}".rstrip()
    yield f"{margin} {bar} {carets}"


def _pieces(span: Span) -> tuple[str, str, str]:
    """Returns the first line of a span as it is shown: the text before the span, in it, and after it."""
    first, last = span.first, span.last
    line = span.source.line(first.line)
    before = line[: first.column - 1].expandtabs(_TAB)
    through = (line[: last.column - 1] if last.line == first.line else line).expandtabs(_TAB)
    inside, after = through[len(before) :], line.expandtabs(_TAB)[len(through) :]
    if len(before) > _WIDEST:
        before = _CUT + before[-_WIDEST // 2 :]
    if len(inside) > _WIDEST:
        inside, after = inside[:_WIDEST] + _CUT, ""
    if len(after) > _WIDEST:
        after = after[:_WIDEST] + _CUT
    return visible(before), visible(inside), visible(after)


def width(text: str) -> int:
    """The number of columns that a text takes."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def padded(text: str, columns: int) -> str:
    """Returns a text with spaces after it, up to a number of columns."""
    return text + " " * (columns - width(text))


def _character_width(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
