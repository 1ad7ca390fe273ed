"""How names and strings are written: the other direction of `literals`.

A name stands bare if it can. A string keeps its form, quoted or raw, but for two cases: a quoted one with a backslash
or a quote in it becomes raw if it can, since it reads better, and a raw one that cannot be raw becomes quoted.
"""

from __future__ import annotations

import re

from tornado_proxy.lang.tree import Literal

_NAME = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_.]|-(?!>))*")
# Controls, spaces that are not the space, marks that nobody sees; a fixed list, so that every Python prints the same.
_INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\xa0\xad\u1680\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f\u3000\ud800-\udfff\ufeff]"
)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_NOT_RAW = re.compile(r"[`\r]")


def name_text(name: Literal) -> str:
    """A name, bare or else quoted."""
    return name.value if _NAME.fullmatch(name.value) else _quoted(name.value)


def string_text(string: Literal) -> str:
    """A string, between backticks or quotes."""
    return f"`{string.value}`" if _is_raw(string) else _quoted(string.value)


def _is_raw(string: Literal) -> bool:
    if _NOT_RAW.search(string.value):
        return False
    needs_escapes = "\\" in string.value or '"' in string.value
    return string.raw or (needs_escapes and not _INVISIBLE.search(string.value))


def _quoted(value: str) -> str:
    escaped = "".join(_ESCAPES.get(character, character) for character in value)
    return f'"{_INVISIBLE.sub(_unicode_escape, escaped)}"'


def _unicode_escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"
