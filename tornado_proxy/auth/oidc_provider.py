"""An OpenID provider: its metadata and keys, the tokens that it issues, and the users whom they name.

Sources: OpenID Connect Discovery 1.0 and Core 1.0 (3.1.3.7: what a client must check), RFC 6749 (OAuth 2.0), RFC 7519
(JWT), RFC 7636 (PKCE), RFC 8725 (best practice for JWT).
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

import msgspec
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.util import base64_to_int
from msgspec.structs import replace

from tornado_proxy.auth import limits
from tornado_proxy.config.providers import OidcProvider
from tornado_proxy.config.values import GuardedUrl, Unshown
from tornado_proxy.rules.model import segment_objection
from tornado_proxy.semantics.request import User
from tornado_proxy.wire.dialing import Fetch, Fetched, Fetcher, check_unicode

_DISCOVERY = "/.well-known/openid-configuration"
_LONG_AGO = float("-inf")

# Never `none`, and never HMAC: with those, anyone with the public key could sign (RFC 8725 3.1).
_ASYMMETRIC = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
_DEFAULT_ALGORITHMS = ("RS256",)  # Discovery 3
_TRY_LATER = frozenset({408, 425, 429})
_NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_ENDPOINTS = (*_NEEDED, "end_session_endpoint")

_FOR_SIGNATURES = f"for signatures, of at least {limits.SHORTEST_RSA_KEY} bits if it is RSA"

Claims = Mapping[str, Any]


class ProviderError(Exception):
    """A provider that cannot be reached or gives no usable answer; the text is for the log."""


class ProviderAway(ProviderError):
    """A provider that gives no answer in time, or says that it has a fault of its own."""


class GrantRefused(ProviderError):
    """A code or a refresh token that the provider does not accept (RFC 6749 5.2)."""


class TokenError(Exception):
    """A token that is not accepted; the text is for the log, never for a client."""


class UnknownKey(TokenError):
    """A token signed with a key that is not in the set: the provider may have rotated its keys."""


class Metadata(msgspec.Struct, frozen=True):
    """The metadata of a provider (Discovery 3), with the keys that it publishes for signatures."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    end_session_endpoint: str = ""
    algorithms: Sequence[str] = _DEFAULT_ALGORITHMS
    keys: KeySet = msgspec.field(default_factory=lambda: KeySet([]))


class Tokens(Unshown, frozen=True):
    """The tokens that the provider gave for a code or a refresh token."""

    id_token: str
    refresh_token: str = ""


class _Asking(msgspec.Struct, frozen=True):
    """A question to a provider that several callers wait for, and that goes on if they leave; `begun` is monotonic."""

    task: asyncio.Task[Any]
    begun: float

    @classmethod
    def of(cls, question: Coroutine[Any, Any, Any]) -> _Asking:
        loop = asyncio.get_running_loop()
        return cls(loop.create_task(question), loop.time())

    async def is_answered(self) -> bool:
        """Waits until the question is answered or some seconds old; returns whether it is answered."""
        left = self.begun + limits.PROVIDER_PATIENCE - asyncio.get_running_loop().time()
        await asyncio.wait([self.task], timeout=max(0.0, left))
        return self.task.done()


class Provider:
    """A provider with cached metadata and keys: callers share one fetch, and an unknown key causes another.

    Tokens are judged by `clock`, Unix time in seconds. Pauses are timed by `timer`: a clock that is set back would make
    them as long as the step.
    """

    def __init__(
        self, settings: OidcProvider, fetch: Fetcher, clock: Callable[[], float], timer: Callable[[], float]
    ) -> None:
        self._settings = settings
        self._fetch = fetch
        self._clock = clock
        self._timer = timer
        self._asking: _Asking | None = None
        self._asked_at = _LONG_AGO
        self._known_at = _LONG_AGO
        self._known: Metadata | None = None
        self._failure = ""
        self._renewals: dict[str, tuple[float, _Asking]] = {}  # by refresh token, with the time of the timer
        self._away_until = _LONG_AGO

    async def metadata(self, newer_than: float = _LONG_AGO) -> Metadata:
        """Returns metadata and keys, fetched again if older than an hour or `newer_than`; raises `ProviderAway`."""
        if self._known is None or self._known_at <= max(newer_than, self._timer() - limits.PROVIDER_FRESH):
            if self._asking is None and self._timer() - self._asked_at >= limits.PROVIDER_PAUSE:
                self._asking = _Asking.of(self._ask())
            if self._asking is not None and (self._known is None or newer_than > _LONG_AGO):
                await asyncio.shield(self._asking.task)
            elif self._asking is not None:
                await self._asking.is_answered()
        if self._known is None:
            raise ProviderAway(self._failure)
        return self._known

    async def _ask(self) -> None:
        """Fetches metadata and keys; keeps the cached ones if that fails."""
        try:
            metadata = await self._discover()
            answer = await self._answer(Fetch(GuardedUrl(metadata.jwks_uri)))
            document = _document(answer, "the provider's key set")
            try:
                self._known, self._known_at = replace(metadata, keys=read_keys(document)), self._timer()
            except TokenError:
                # Logins can begin, and keys may come until they end; those that are known stay in use.
                self._known = self._known or metadata
        except ProviderError as error:
            self._failure = str(error)
        finally:
            self._asking, self._asked_at = None, self._timer()

    async def _discover(self) -> Metadata:
        """Fetches the metadata, unless the settings have all that is needed of it; their endpoints count first."""
        settings, issuer = self._settings, self._settings.issuer_url.reveal()
        urls = (settings.authorization_url, settings.token_url, settings.jwks_url, settings.end_session_url)
        own = {name: url.reveal() for name, url in zip(_ENDPOINTS, urls, strict=True) if url}
        if settings.discovery_url or not own.keys() >= set(_NEEDED):
            place = settings.discovery_url or GuardedUrl(issuer.rstrip("/") + _DISCOVERY)
            document = _document(await self._answer(Fetch(place)), "the provider's metadata")
        else:
            document = {"issuer": issuer, "id_token_signing_alg_values_supported": [*_ASYMMETRIC]}
        published = document.get("issuer")
        # Discovery 4.3: another issuer means that someone else answers. Slashes at the end are often lost in files.
        if not isinstance(published, str) or published.rstrip("/") != issuer.rstrip("/"):
            raise ProviderError(f"the provider's metadata names another issuer, {published!r:.200}")
        algorithms = document.get("id_token_signing_alg_values_supported")
        offered = algorithms if isinstance(algorithms, list) else _DEFAULT_ALGORITHMS
        accepted = tuple(each for each in offered if each in _ASYMMETRIC)
        if not accepted:
            # Of an empty list, the library makes one of its own.
            raise ProviderError(f"the provider signs with none of {', '.join(_ASYMMETRIC)}")
        document |= own
        authorization, token, keys = (_endpoint(document, name) for name in _NEEDED)
        logout = _endpoint(document, "end_session_endpoint") if document.get("end_session_endpoint") else ""
        return Metadata(published, authorization, token, keys, logout, accepted)

    async def redeem(self, code: str, verifier: str, redirect_uri: str) -> Tokens:
        """Exchanges a code for tokens (RFC 6749 4.1.3, RFC 7636 4.5); raises `ProviderError`."""
        grant = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        return await self._request_tokens({**grant, "code_verifier": verifier})

    async def renew(self, refresh_token: str) -> Tokens:
        """Exchanges a refresh token for new tokens (RFC 6749 6); raises `ProviderError`.

        All who bring the same token within a minute share one exchange, as many providers take a token only once. It
        goes on when they leave, since the new tokens would be lost otherwise. After `ProviderAway`, which comes soon,
        the provider is left alone for a while.
        """
        now = self._timer()
        for old_token, (at, _) in list(self._renewals.items()):
            if at + limits.RENEWAL_REMEMBERED > now:
                break
            del self._renewals[old_token]
        if refresh_token not in self._renewals:
            if now < self._away_until:
                raise ProviderAway("the provider gave no answer a moment ago")
            self._renewals[refresh_token] = now, _Asking.of(self._renew(refresh_token))
        asking = self._renewals[refresh_token][1]
        if not await asking.is_answered():
            self._away_until = self._timer() + limits.PROVIDER_PAUSE
            raise ProviderAway(f"the provider gives no answer within {limits.PROVIDER_PATIENCE:g} seconds")
        tokens: Tokens | ProviderError = asking.task.result()
        if isinstance(tokens, ProviderError):
            raise tokens
        return tokens

    async def _renew(self, refresh_token: str) -> Tokens | ProviderError:
        """The new tokens, or why there are none: an exception that nobody waits for would be logged."""
        try:
            tokens = await self._request_tokens({"grant_type": "refresh_token", "refresh_token": refresh_token})
        except ProviderAway as error:
            self._away_until = self._timer() + limits.PROVIDER_PAUSE
            self._renewals.pop(refresh_token, None)
            return error
        except ProviderError as error:
            return error
        return Tokens(tokens.id_token, tokens.refresh_token or refresh_token)

    async def _request_tokens(self, grant: Mapping[str, str]) -> Tokens:
        metadata, client_id, secret = await self.metadata(), self._settings.client_id, self._settings.client_secret
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        if secret:
            # RFC 6749 2.3.1: id and secret are form-encoded before they are joined.
            pair = f"{quote_plus(client_id)}:{quote_plus(secret.reveal())}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        else:
            grant = {**grant, "client_id": client_id}
        answer = await self._answer(Fetch(GuardedUrl(metadata.token_endpoint), headers, urlencode(grant)))
        if answer.status >= 500 or answer.status in _TRY_LATER:
            raise ProviderAway(f"the provider answers with status {answer.status}")
        if answer.status >= 400:
            raise GrantRefused(f"the provider refused the grant with status {answer.status}")
        document = _document(answer, "the provider's answer with tokens")
        id_token, refresh_token = document.get("id_token"), document.get("refresh_token")
        if not isinstance(id_token, str):
            raise ProviderError("the provider's answer has no ID token")
        return Tokens(id_token, refresh_token if isinstance(refresh_token, str) else "")

    async def _answer(self, fetch: Fetch) -> Fetched:
        try:
            return await self._fetch(fetch)
        except OSError as error:
            raise ProviderAway(f"`{fetch.url}` gives no answer: {error}") from None

    async def verify(self, token: str) -> Claims:
        """Returns the claims of a token that was issued to this client; raises `TokenError` and `ProviderError`."""
        client_id = self._settings.client_id
        try:
            return verify_token(token, await self.metadata(), client_id, self._clock())
        except UnknownKey:
            return verify_token(token, await self.metadata(newer_than=self._known_at), client_id, self._clock())


def _document(answer: Fetched, name: str) -> dict[str, Any]:
    try:
        return answer.document()
    except ValueError as error:
        raise ProviderError(f"{name} {error}") from None


def _endpoint(document: Mapping[str, Any], name: str) -> str:
    url = document.get(name)
    if isinstance(url, str) and url.isprintable():
        with suppress(ValueError):
            split = urlsplit(url)
            if split.scheme in ("http", "https") and split.hostname:
                return url
    raise ProviderError(f"the provider's metadata has no URL `{name}`")


def read_keys(document: Mapping[str, Any]) -> KeySet:
    """Reads a JSON Web Key Set (RFC 7517); raises `TokenError` if it has no usable key."""
    keys = document.get("keys")
    usable = [key for each in keys for key in _read_key(each)] if isinstance(keys, list) else []
    if not usable:
        raise TokenError(f"the key set has no key {_FOR_SIGNATURES}")
    return KeySet(usable)


def _read_key(key: object) -> list[Any]:
    """The key in a list; none for another use or an unknown kind, which must be skipped (RFC 7517 5)."""
    if not isinstance(key, dict) or key.get("use", "sig") != "sig" or key.get("kty") == "oct":
        return []
    try:
        # Those below can be factored, so they must not be used (RFC 7518 3.3); the library only warns of them.
        if key.get("kty") == "RSA" and base64_to_int(key["n"]).bit_length() < limits.SHORTEST_RSA_KEY:
            return []
        return KeySet.import_key_set({"keys": [key]}).keys
    except (JoseError, ValueError, KeyError, TypeError):
        return []


def verify_token(token: str, trusted: Metadata, client_id: str, now: float) -> Claims:
    """Returns the claims of a token signed for a client; raises `TokenError`. `now` is in seconds since 1970."""
    if len(token) > limits.LONGEST_TOKEN:
        raise TokenError(f"the token is longer than {limits.LONGEST_TOKEN} characters")
    try:
        claims = _decode(token, trusted)
        check_unicode(claims)
    except (JoseError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise TokenError(f"the token cannot be verified: {error}") from None
    _check(claims, trusted.issuer, client_id, now)
    return claims


def _decode(token: str, trusted: Metadata) -> Claims:
    """The claims of a token that one of the keys signed; without a `kid` each key is tried (RFC 7515 4.1.4)."""
    kid = jws.extract_compact(token.encode()).headers().get("kid")
    candidates = [key for key in trusted.keys.keys if kid is None or key.kid == kid]
    if not candidates:
        usable = "" if trusted.keys.keys else f", nor any {_FOR_SIGNATURES}"
        raise UnknownKey(f"the token is signed with a key that the provider does not publish{usable}")
    for key in candidates[:-1]:
        with suppress(JoseError, ValueError):
            return jwt.decode(token, key, trusted.algorithms).claims
    return jwt.decode(token, candidates[-1], trusted.algorithms).claims


def _check(claims: Claims, issuer: str, client_id: str, now: float) -> None:
    """Raises `TokenError` unless the token is from this issuer, for this client, and valid now."""
    if claims.get("iss") != issuer:
        raise TokenError(f"the token is from another issuer, {claims.get('iss')!r:.200}")
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if client_id not in audiences:
        raise TokenError("the token is for another client")
    authorized = claims.get("azp")
    if authorized != client_id and (authorized is not None or len(audiences) > 1):
        raise TokenError("the token was given to another client")
    if not _is_time(claims.get("exp")) or claims["exp"] + limits.CLOCK_LEEWAY <= now:
        raise TokenError("the token has expired")
    for name in ("nbf", "iat"):
        if name in claims and (not _is_time(claims[name]) or claims[name] - limits.CLOCK_LEEWAY > now):
            raise TokenError("the token is not valid yet")


def _is_time(value: object) -> bool:
    """Whether a value is a NumericDate (RFC 7519 2) that a clock can have; not NaN or infinity."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < limits.END_OF_TIME


def user_of(claims: Claims, group_claim: str) -> User:
    """Returns the user of claims; dots in `group_claim` lead into objects. Raises `TokenError` without a name."""
    email = _text(claims.get("email"))
    username = _text(claims.get("preferred_username")) or email
    if objection := segment_objection(username):
        # The name becomes a segment of keys: `..` or a slash in it would lead to another user's files.
        raise TokenError(f"the user's name {objection}")
    claimed = _claim(claims, group_claim)
    groups = tuple(each for each in claimed if isinstance(each, str)) if isinstance(claimed, list) else ()
    name, given_name, family_name = (_text(claims.get(each)) for each in ("name", "given_name", "family_name"))
    is_verified = claims.get("email_verified") is True
    return User(username, "OIDC", email, groups, name, given_name, family_name, is_verified)


def _claim(claims: Claims, path: str) -> object:
    if path in claims:
        return claims[path]
    claim: object = claims
    for name in path.split("."):
        claim = claim.get(name) if isinstance(claim, dict) else None
    return claim


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
