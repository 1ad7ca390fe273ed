"""Helper templates: those that every template may call by name, and those of a user's own files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

BUILT_IN: Mapping[str, str] = MappingProxyType(
    {
        "main.userIdentifier": "{{ if .User }}{{ .User.GetIdentifier }}{{ end }}",
        "main.headers.contentType": (
            '{{ if contains "application/json" (.Request.Header.Get "Accept") }}application/json{{ else }}text/html'
            "{{ end }}; charset=utf-8"
        ),
        "main.body.errorJsonBody": '{"error": {{ toJson .Error.Error }}}',
    }
)
"""The bodies of the helpers that s3-proxy's own file of helpers defines, by their names."""

_CALLS = re.compile(r"\{\{.*(?:template|include|block)\b", re.DOTALL)
_DEFINES = re.compile(r'\{\{-?\s*(?:define|block)\s+["`]([^"`]*)["`]')


def calls_helpers(text: str) -> bool:
    """Whether a template may call others by name; most do not, and are compiled without any."""
    return _CALLS.search(text) is not None


def built_in(texts: Sequence[str]) -> str:
    """The definitions of the built-in helpers, but for those that texts define themselves: Go allows no second one."""
    own = {name for text in texts for name in _DEFINES.findall(text)}
    lines = (f'{{{{- define "{name}" }}}}{body}{{{{ end -}}}}' for name, body in BUILT_IN.items() if name not in own)
    return "".join(lines)


def leading(helpers: Sequence[str], text: str) -> str:
    """The definitions of all helpers as they stand before a template's own text."""
    return "".join(f"{each}\n" for each in (built_in([*helpers, text]), *helpers))
