"""Percent-encoding of decoded paths for links and Location (RFC 3986)."""

from __future__ import annotations

from urllib.parse import quote

# What a segment may hold (RFC 3986 3.3) but for `&`, `'`, `+` and `;`, which may stand there too and are often misread.
_AS_THEY_ARE = "/!$()*,:=@"

_ASCII = str.maketrans({character: quote(character, safe=_AS_THEY_ARE) for character in map(chr, range(128))})


def path_reference(path: str) -> str:
    """A decoded absolute path as a reference to it, which decodes to that path and never begins with `//`.

    A reference that began so would name another host (RFC 3986 4.2).
    """
    # `quote` takes several times as long, which a listing of a thousand names has to pay.
    encoded = path.translate(_ASCII) if path.isascii() else quote(path, safe=_AS_THEY_ARE)
    return "/%2F" + encoded[2:] if encoded.startswith("//") else encoded
