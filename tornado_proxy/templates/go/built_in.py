"""The templates that others call by name: s3-proxy's own file of helpers, and which texts a template needs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

BUILT_IN: Mapping[str, str] = {
    "main.userIdentifier": "{{ if .User }}{{ .User.GetIdentifier }}{{ end }}",
    "main.headers.contentType": (
        '{{ if contains "application/json" (.Request.Header.Get "Accept") }}application/json{{ else }}text/html'
        "{{ end }}; charset=utf-8"
    ),
    "main.body.errorJsonBody": '{"error": {{ toJson .Error.Error }}}',
}
"""The bodies of the helpers in s3-proxy's own file of helpers, by name."""

_CALLS = re.compile(r"(?:template|include|block)\b")
_DEFINES = re.compile(r'\{\{-?\s*(?:define|block)\s+["`]([^"`]*)["`]')


def calls_helpers(text: str) -> bool:
    """Returns whether a template may call others by name; most do not, and are compiled without helpers."""
    action = text.find("{{")
    return action >= 0 and _CALLS.search(text, action) is not None


@lru_cache(maxsize=64)
def _defined(text: str) -> frozenset[str]:
    return frozenset(_DEFINES.findall(text))


def built_in(texts: Sequence[str]) -> str:
    """Returns the definitions of the built-in helpers that no text defines: Go allows one definition of a name."""
    own = frozenset[str]().union(*map(_defined, texts))
    lines = (f'{{{{- define "{name}" }}}}{body}{{{{ end -}}}}' for name, body in BUILT_IN.items() if name not in own)
    return "".join(lines)


def callable_from(text: str, helpers: Sequence[str]) -> tuple[str, ...]:
    """Returns the texts of the built-in and all other helpers that a template may call; none if it calls none."""
    return (built_in([*helpers, text]), *helpers) if calls_helpers(text) else ()
