"""Encrypted and authenticated cookies, split into chunks if they are long.

A value is JSON, compressed and encrypted with AES-256-GCM. The key is derived for one purpose (RFC 5869), so a cookie
of one provider or kind cannot be used as another. The encrypted text includes the time of expiry.
"""

from __future__ import annotations

import json
import os
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tornado_proxy.auth.limits import COOKIE_CHUNK, MOST_COOKIE_CHUNKS, MOST_COOKIE_TEXTS, NONCE


class CookieTooLarge(Exception):
    """A value that does not fit into the cookies that browsers keep."""


class Sealer:
    """Seals values for one purpose with a secret of at least 16 bytes."""

    def __init__(self, secret: bytes, purpose: str) -> None:
        key = HKDF(SHA256(), 32, None, f"tornado-proxy cookie: {purpose}".encode()).derive(secret)
        self._cipher = AESGCM(key)

    def seal(self, value: Mapping[str, Any], expires: float) -> str:
        """Returns text that `unseal` reads until `expires`, in seconds since 1970."""
        plain = zlib.compress(json.dumps({"exp": expires, "value": value}, separators=(",", ":")).encode())
        nonce = os.urandom(NONCE)
        return urlsafe_b64encode(nonce + self._cipher.encrypt(nonce, plain, None)).rstrip(b"=").decode()

    def unseal(self, text: str, now: float) -> dict[str, Any] | None:
        """Returns the value; None if the text was not made here, was changed, or has expired."""
        try:
            sealed = urlsafe_b64decode(text + "=" * (-len(text) % 4))
            plain = self._cipher.decrypt(sealed[:NONCE], sealed[NONCE:], None)
        except (InvalidTag, ValueError):
            return None
        unsealed = json.loads(zlib.decompress(plain))
        value: dict[str, Any] = unsealed["value"]
        return value if unsealed["exp"] > now else None


class CookieJar(msgspec.Struct, frozen=True):
    """How cookies are written: their name, scope and attributes (RFC 6265 4.1)."""

    name: str
    domain: str = ""
    secure: bool = True
    path: str = "/"

    def write(self, text: str, max_age: int, previous: Collection[str]) -> list[str]:
        """Returns the Set-Cookie values that keep a text, and remove chunks of `previous`; raises `CookieTooLarge`."""
        chunks = [text[start : start + COOKIE_CHUNK] for start in range(0, len(text), COOKIE_CHUNK)]
        if len(chunks) > MOST_COOKIE_CHUNKS:
            raise CookieTooLarge(f"{len(text)} characters need more than {MOST_COOKIE_CHUNKS} cookies")
        names = list(self._names())
        written = [self._line(name, chunk, max_age) for name, chunk in zip(names, chunks, strict=False)]
        return [*written, *(self._line(name, "", 0) for name in names[len(chunks) :] if name in previous)]

    def remove(self, previous: Collection[str]) -> list[str]:
        """Returns the values of Set-Cookie that remove what the request sent."""
        return [self._line(name, "", 0) for name in self._names() if name in previous]

    def texts(self, sent: Mapping[str, Sequence[str]]) -> list[str]:
        """Returns the texts that the cookies may make, of most chunks first: browsers keep old ones, and a domain's."""
        texts_by_name, texts = [], [""]
        for name in self._names():
            chunks = sent.get(name, ())[:MOST_COOKIE_TEXTS]
            texts = [text + chunk for text in texts for chunk in chunks][:MOST_COOKIE_TEXTS]
            texts_by_name.append(texts)
        return [text for texts in reversed(texts_by_name) for text in texts]

    def _names(self) -> Iterator[str]:
        yield self.name
        yield from (f"{self.name}.{number}" for number in range(1, MOST_COOKIE_CHUNKS))

    def _line(self, name: str, value: str, max_age: int) -> str:
        # Lax: browsers send the cookie when a link leads here, but not with forms and scripts of other sites.
        attributes = [f"{name}={value}", f"Path={self.path}", f"Max-Age={max_age}", "HttpOnly", "SameSite=Lax"]
        if self.domain:
            attributes.append(f"Domain={self.domain}")
        if self.secure:
            attributes.append("Secure")
        return "; ".join(attributes)


def read_cookies(headers: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    """Returns the cookies of a request by name (RFC 6265 5.4), in order: no one says which of two is the right one."""
    cookies: dict[str, list[str]] = {}
    for name, value in headers:
        if name.lower() == "cookie":
            for pair in value.split(";"):
                cookie, separator, text = pair.strip(" \t").partition("=")
                if separator:
                    cookies.setdefault(cookie, []).append(text)
    return cookies
