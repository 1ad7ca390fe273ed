"""An OpenID provider: its metadata, its keys, and the tokens that it gives and has signed.

Sources: OpenID Connect Discovery 1.0, OpenID Connect Core 1.0, RFC 6749 (OAuth 2.0), RFC 7636 (PKCE).
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

from joserfc.jwk import KeySet

from tornado_proxy.auth.fetching import Fetch, Fetched, Fetcher
from tornado_proxy.auth.tokens import (
    Claims,
    TokenError,
    Trust,
    UnknownKey,
    accepted_algorithms,
    read_keys,
    verify_token,
)

_DISCOVERY = "/.well-known/openid-configuration"
_FRESH = 3600.0
"""Seconds for which metadata and keys count without asking again."""

_PAUSE = 10.0
"""Seconds between two attempts to ask a provider: a client that sends unknown keys must not make us flood it."""

_LONG_AGO = float("-inf")


class ProviderError(Exception):
    """A provider that cannot be reached or gives no usable answer; the text is for the log."""


class GrantRefused(ProviderError):
    """A code or a refresh token that the provider does not accept (RFC 6749 5.2)."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a provider (Discovery 3)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    end_session_endpoint: str = ""
    algorithms: Sequence[str] = ("RS256",)


@dataclass(frozen=True, slots=True)
class Client:
    """The registration of this service at the provider; a client without a secret is a public one."""

    id: str
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens that the provider gave for a code or a refresh token."""

    id_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)


def _read_metadata(document: Mapping[str, Any], issuer: str) -> Metadata:
    published = document.get("issuer")
    # Discovery 4.3: another issuer here means that someone else answers. Slashes at the end are often lost in files.
    if not isinstance(published, str) or published.rstrip("/") != issuer.rstrip("/"):
        raise ProviderError("the provider's metadata names another issuer")
    return Metadata(
        published,
        _endpoint(document, "authorization_endpoint"),
        _endpoint(document, "token_endpoint"),
        _endpoint(document, "jwks_uri"),
        _endpoint(document, "end_session_endpoint") if document.get("end_session_endpoint") else "",
        accepted_algorithms(document.get("id_token_signing_alg_values_supported")),
    )


def _document(answer: Fetched, name: str) -> dict[str, Any]:
    if answer.status != 200:
        raise ProviderError(f"{name} came with status {answer.status}")
    try:
        document = json.loads(answer.body)
    except ValueError:
        raise ProviderError(f"{name} is not JSON") from None
    if not isinstance(document, dict):
        raise ProviderError(f"{name} is not an object")
    return document


def _endpoint(document: Mapping[str, Any], name: str) -> str:
    url = document.get(name)
    if not isinstance(url, str) or urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise ProviderError(f"the provider's metadata has no URL `{name}`")
    return url


class Provider:
    """A provider with cached metadata and keys: callers share one fetch, and an unknown key causes another."""

    def __init__(self, issuer: str, client: Client, fetch: Fetcher, clock: Callable[[], float]) -> None:
        self.client = client
        self._issuer = issuer
        self._fetch = fetch
        self._clock = clock
        self._asking = asyncio.Lock()
        self._asked_at = _LONG_AGO
        self._known_at = _LONG_AGO
        self._known: tuple[Metadata, KeySet] | None = None
        self._failure = ""

    async def metadata(self) -> Metadata:
        """Returns the provider's metadata; raises `ProviderError`."""
        return (await self._current())[0]

    async def redeem(self, code: str, verifier: str, redirect_uri: str) -> Tokens:
        """Exchanges a code for tokens (RFC 6749 4.1.3, RFC 7636 4.5); raises `ProviderError`."""
        grant = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        return await self._request_tokens({**grant, "code_verifier": verifier})

    async def renew(self, refresh_token: str) -> Tokens:
        """Exchanges a refresh token for new tokens (RFC 6749 6); raises `ProviderError`."""
        tokens = await self._request_tokens({"grant_type": "refresh_token", "refresh_token": refresh_token})
        return Tokens(tokens.id_token, tokens.refresh_token or refresh_token)

    async def verify(self, token: str) -> Claims:
        """Returns the claims of a token that was issued to this client; raises `TokenError` and `ProviderError`."""
        metadata, keys = await self._current()
        try:
            return self._verify(token, metadata, keys)
        except UnknownKey:
            metadata, keys = await self._current(newer_than=self._known_at)
            return self._verify(token, metadata, keys)

    def _verify(self, token: str, metadata: Metadata, keys: KeySet) -> Claims:
        trust = Trust(metadata.issuer, self.client.id, metadata.algorithms)
        return verify_token(token, keys, trust, self._clock())

    async def _request_tokens(self, grant: Mapping[str, str]) -> Tokens:
        metadata, client = await self.metadata(), self.client
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        if client.secret:
            # RFC 6749 2.3.1: both parts are form-encoded before they are joined.
            pair = f"{quote_plus(client.id)}:{quote_plus(client.secret)}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        else:
            grant = {**grant, "client_id": client.id}
        answer = await self._answer(Fetch(metadata.token_endpoint, headers, urlencode(grant)))
        if 400 <= answer.status < 500:
            raise GrantRefused(f"the provider refused the grant with status {answer.status}")
        document = _document(answer, "the provider's answer with tokens")
        id_token, refresh_token = document.get("id_token"), document.get("refresh_token")
        if not isinstance(id_token, str):
            raise ProviderError("the provider's answer holds no ID token")
        return Tokens(id_token, refresh_token if isinstance(refresh_token, str) else "")

    async def _answer(self, wanted: Fetch) -> Fetched:
        try:
            return await self._fetch(wanted)
        except OSError as error:
            raise ProviderError(f"`{wanted.url}` gives no answer: {error}") from None

    async def _current(self, newer_than: float = _LONG_AGO) -> tuple[Metadata, KeySet]:
        """Returns metadata and keys, fetched again if they are older than an hour or than a given time."""
        if self._known is None or self._is_stale(newer_than):
            async with self._asking:
                if (self._known is None or self._is_stale(newer_than)) and self._clock() - self._asked_at >= _PAUSE:
                    await self._ask()
        if self._known is None:
            raise ProviderError(self._failure)
        return self._known

    def _is_stale(self, newer_than: float) -> bool:
        return self._known_at <= max(newer_than, self._clock() - _FRESH)

    async def _ask(self) -> None:
        """Fetches metadata and keys; keeps the cached ones if that fails."""
        self._asked_at = self._clock()
        try:
            answer = await self._answer(Fetch(self._issuer.rstrip("/") + _DISCOVERY))
            metadata = _read_metadata(_document(answer, "the provider's metadata"), self._issuer)
            keys = await self._answer(Fetch(metadata.jwks_uri))
            self._known = metadata, read_keys(_document(keys, "the provider's key set"))
            self._known_at = self._clock()
        except (ProviderError, TokenError) as error:
            self._failure = str(error)
