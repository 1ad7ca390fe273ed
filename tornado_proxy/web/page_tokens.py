"""The tokens of the pages of listings: places that only the service can name.

A client that could choose its place would read the names of closed files out of what is missing after it.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tornado_proxy.config.model import Settings
from tornado_proxy.config.secrets import Secret
from tornado_proxy.web.limits import TOKEN_BLOCK


class PageTokens:
    """Seals places with a key of the configuration's secrets, which all instances have, also after a restart.

    Equal places have equal tokens (RFC 5297). Secrets that instances may have of their own do not count: certificates,
    and temporary credentials. Without any other, the key depends on the `digest` of the configuration.
    """

    def __init__(self, settings: Settings, digest: str = "") -> None:
        parts = settings.targets, settings.basic_providers, settings.oidc_providers
        material = "\0".join(sorted(set(_secrets(parts)))) or digest
        self._cipher = AESSIV(HKDF(SHA256(), 64, None, b"tornado-proxy listing").derive(material.encode()))

    def seal(self, place: str, *scope: str) -> str:
        """Returns the token of a place in a scope, such as a directory; its characters need no escape in a query."""
        text = place.encode()
        padded = text + bytes(-len(text) % TOKEN_BLOCK)
        return urlsafe_b64encode(self._cipher.encrypt(padded, _data(scope))).rstrip(b"=").decode()

    def unseal(self, token: str, *scope: str) -> str | None:
        """Returns the place of a token that was given out in a scope; None for any other text."""
        try:
            sealed = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
            return self._cipher.decrypt(sealed, _data(scope)).rstrip(b"\0").decode()
        except (InvalidTag, ValueError):
            return None


def _data(scope: tuple[str, ...]) -> list[bytes]:
    return [each.encode("utf-8", "surrogatepass") for each in scope]


def _secrets(value: object) -> Iterator[str]:
    """Yields the secrets of a part of the configuration."""
    if isinstance(value, Secret):
        yield value.reveal()
    elif isinstance(value, msgspec.Struct) and getattr(value, "session_token", None) is None:
        for name in value.__struct_fields__:
            yield from _secrets(getattr(value, name))
    elif isinstance(value, tuple | frozenset):
        for each in value:
            yield from _secrets(each)
