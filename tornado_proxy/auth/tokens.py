"""Verifies the tokens of an OpenID provider: JSON Web Tokens signed with a key that the provider publishes.

Sources: RFC 7519 (JWT), RFC 8725 (best practice), OpenID Connect Core 3.1.3.7 (what a client must check).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from tornado_proxy.rules.model import segment_objection
from tornado_proxy.templates.template import User

# Never `none`, and never HMAC: with those, anyone with the public key could sign (RFC 8725 3.1).
_ASYMMETRIC = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"}
)
_DEFAULT_ALGORITHMS = ("RS256",)  # OpenID Connect Discovery 3
_LONGEST_TOKEN = 16 * 1024
_LEEWAY = 60
"""Seconds by which the clocks of provider and service may differ."""

_END_OF_TIME = 2**53
"""Seconds since 1970 that a float still counts exactly."""

Claims = Mapping[str, Any]


class TokenError(Exception):
    """A token that is not accepted; the text is for the log, never for a client."""


class UnknownKey(TokenError):
    """A token signed with a key that is not in the set: the provider may have rotated its keys."""


def accepted_algorithms(published: object) -> tuple[str, ...]:
    """Returns the signature algorithms of a provider's metadata that are safe to accept."""
    names = published if isinstance(published, list) else _DEFAULT_ALGORITHMS
    return tuple(name for name in names if name in _ASYMMETRIC)


def read_keys(document: object) -> KeySet:
    """Reads a JSON Web Key Set (RFC 7517); raises `TokenError` if it has no usable key."""
    keys = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(keys, list):
        raise TokenError("the key set has no list `keys`")
    usable = [each for each in map(_read_key, keys) if each is not None]
    if not usable:
        raise TokenError("the key set holds no key for signatures")
    return KeySet([key for each in usable for key in each.keys])


def _read_key(key: object) -> KeySet | None:
    """Reads one key; None for another use or an unknown kind, which must be skipped (RFC 7517 5)."""
    if not isinstance(key, dict) or key.get("use", "sig") != "sig" or key.get("kty") == "oct":
        return None
    try:
        return KeySet.import_key_set({"keys": [key]})
    except (JoseError, ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True, slots=True)
class Trust:
    """The accepted tokens: those of an issuer for a client, signed with one of these algorithms."""

    issuer: str
    client_id: str
    algorithms: Sequence[str] = _DEFAULT_ALGORITHMS


def verify_token(token: str, keys: KeySet, trust: Trust, now: float) -> Claims:
    """Returns the claims of a token that the issuer signed for the client; raises `TokenError`.

    `now` is in seconds since 1970.
    """
    if len(token) > _LONGEST_TOKEN:
        raise TokenError(f"the token is longer than {_LONGEST_TOKEN} characters")
    claims = _verified(token, keys, list(trust.algorithms))
    if not isinstance(claims, dict):
        raise TokenError("the token's payload is not an object")
    _check(claims, trust, now)
    return claims


def _verified(token: str, keys: KeySet, algorithms: list[str]) -> object:
    """The payload of a token that one of the keys signed; without a `kid` each key is tried (RFC 7515 4.1.4)."""
    try:
        kid = jws.extract_compact(token.encode()).headers().get("kid")
        candidates = [key for key in keys.keys if kid is None or key.kid == kid]
        if not candidates:
            raise UnknownKey("the token is signed with a key that the provider does not publish")
        for key in candidates[:-1]:
            with suppress(JoseError, ValueError):
                return jwt.decode(token, key, algorithms).claims
        return jwt.decode(token, candidates[-1], algorithms).claims
    except (JoseError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise TokenError(f"the token cannot be verified: {error}") from None


def _check(claims: Claims, trust: Trust, now: float) -> None:
    """Raises `TokenError` unless the token is from this issuer, for this client, and valid now."""
    if claims.get("iss") != trust.issuer:
        raise TokenError("the token is from another issuer")
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if trust.client_id not in audiences:
        raise TokenError("the token is for another client")
    authorized = claims.get("azp")
    if authorized != trust.client_id and (authorized is not None or len(audiences) > 1):
        raise TokenError("the token was given to another client")
    if not _is_time(claims.get("exp")) or claims["exp"] + _LEEWAY <= now:
        raise TokenError("the token has expired")
    for name in ("nbf", "iat"):
        if name in claims and (not _is_time(claims[name]) or claims[name] - _LEEWAY > now):
            raise TokenError("the token is not valid yet")


def _is_time(value: object) -> bool:
    """Whether a value is a NumericDate (RFC 7519 2) that a clock can have; not NaN or infinity."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _END_OF_TIME


def user_of(claims: Claims, group_claim: str) -> User:
    """Returns the user of claims; raises `TokenError` if they do not name one.

    `group_claim` is the name of the claim that lists groups; dots lead into objects (`realm_access.roles`).
    """
    username, email = _text(claims.get("preferred_username")), _text(claims.get("email"))
    identifier = username or email
    objection = segment_objection(identifier)
    if objection is not None:
        # The name becomes a segment of keys: `..` or a slash in it would lead to another user's files.
        raise TokenError(f"the user's name {objection}")
    groups = _claim(claims, group_claim)
    return User(
        username=username or email,
        kind="OIDC",
        email=email,
        groups=tuple(each for each in groups if isinstance(each, str)) if isinstance(groups, list) else (),
        name=_text(claims.get("name")),
        given_name=_text(claims.get("given_name")),
        family_name=_text(claims.get("family_name")),
        email_verified=claims.get("email_verified") is True,
    )


def _claim(claims: Claims, path: str) -> object:
    if path in claims:
        return claims[path]
    found: object = claims
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
