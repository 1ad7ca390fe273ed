import asyncio
import hmac
import json
import time
from base64 import urlsafe_b64encode
from dataclasses import replace
from urllib.parse import parse_qs

import pytest
from joserfc import jwk, jws, jwt

from tornado_proxy.auth.fetching import Fetch, Fetched
from tornado_proxy.auth.oidc_provider import (
    GrantRefused,
    Metadata,
    Provider,
    ProviderError,
    TokenError,
    Tokens,
    UnknownKey,
    read_keys,
    user_of,
    verify_token,
)
from tornado_proxy.config.providers import OidcProvider
from tornado_proxy.config.secrets import Secret
from tornado_proxy.templates.template import User

ISSUER = "https://id.example"
DOCUMENT = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/keys",
    "id_token_signing_alg_values_supported": ["RS256", "HS256"],
}
METADATA = Metadata(ISSUER, f"{ISSUER}/authorize", f"{ISSUER}/token", f"{ISSUER}/keys")
OLD, NEW = (jwk.RSAKey.generate_key(2048, {"kid": name}, private=True) for name in ("old", "new"))


def _json(value, status=200):
    return Fetched(status, json.dumps(value).encode())


KEYS = {"keys": [OLD.as_dict(private=False)]}


KNOWN = _json(DOCUMENT), _json(KEYS)
PUBLIC = OidcProvider("id", f"{ISSUER}/", "me")
CONFIDENTIAL = replace(PUBLIC, client_secret=Secret("", "s:e c"))


def _provider(*answers, settings=PUBLIC, known=KNOWN):
    """A provider with answers at hand, and the list of what it was asked."""
    asked, left = [], [*known, *answers]

    async def fetch(wanted):
        asked.append(wanted)
        return left.pop(0)

    return Provider(settings, fetch, lambda: 1_800_000_000.0), asked


def test_discovery_reads_the_metadata_below_the_issuer():
    """Algorithms that are not safe are left out."""
    provider, asked = _provider()
    assert asyncio.run(provider.metadata()) == METADATA
    assert asked == [Fetch(f"{ISSUER}/.well-known/openid-configuration"), Fetch(METADATA.jwks_uri)]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (_json({}, 404), "came with status 404"),
        (Fetched(200, b"<html>"), "is not JSON"),
        (_json([]), "is not an object"),
        (_json({**DOCUMENT, "issuer": "https://evil.example"}), "names another issuer"),
        (_json({**DOCUMENT, "token_endpoint": "file:///etc/passwd"}), "has no URL `token_endpoint`"),
        (_json({**DOCUMENT, "jwks_uri": None}), "has no URL `jwks_uri`"),
        (_json({**DOCUMENT, "end_session_endpoint": "javascript:alert(1)"}), "has no URL `end_session_endpoint`"),
    ],
)
def test_metadata_that_cannot_be_used_is_refused(answer, message):
    """Another issuer means that somebody else answers (Discovery 4.3)."""
    provider, _ = _provider(known=(answer,))
    with pytest.raises(ProviderError, match=message):
        asyncio.run(provider.metadata())


def test_keys_that_cannot_be_used_are_refused():
    """There would be nothing to verify a token with."""
    provider, _ = _provider(known=(_json(DOCUMENT), _json({"keys": []})))
    with pytest.raises(ProviderError, match="no key for signatures"):
        asyncio.run(provider.metadata())


def test_a_code_is_redeemed_with_the_verifier_and_the_secret():
    """The secret stands in the header, form-encoded (RFC 6749 2.3.1)."""
    answer = _json({"id_token": "a.b.c", "refresh_token": "r"})
    provider, asked = _provider(answer, settings=CONFIDENTIAL)
    tokens = asyncio.run(provider.redeem("code", "verifier", "https://here.example/callback"))
    assert tokens == Tokens("a.b.c", "r")
    assert asked[-1].headers["Authorization"] == "Basic bWU6cyUzQWUrYw=="
    assert parse_qs(asked[-1].body) == {
        "grant_type": ["authorization_code"],
        "code": ["code"],
        "redirect_uri": ["https://here.example/callback"],
        "code_verifier": ["verifier"],
    }


def test_a_public_client_names_itself_in_the_form():
    """It has no secret to show (RFC 6749 3.2.1)."""
    provider, asked = _provider(_json({"id_token": "a.b.c"}))
    asyncio.run(provider.renew("r"))
    assert "Authorization" not in asked[-1].headers
    assert parse_qs(asked[-1].body) == {"grant_type": ["refresh_token"], "refresh_token": ["r"], "client_id": ["me"]}


@pytest.mark.parametrize(("given", "kept"), [({}, "old"), ({"refresh_token": "new"}, "new")])
def test_a_refresh_token_counts_until_another_one_comes(given, kept):
    """A provider need not rotate it (RFC 6749 6)."""
    provider, _ = _provider(_json({"id_token": "t", **given}))
    assert asyncio.run(provider.renew("old")).refresh_token == kept


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (_json({"error": "invalid_grant"}, 400), GrantRefused),
        (_json({}, 500), ProviderError),
        (_json({"access_token": "x"}), ProviderError),
    ],
)
def test_an_answer_without_tokens_is_an_error(answer, kind):
    """A refusal is the client's matter, all else the provider's."""
    provider, _ = _provider(answer)
    with pytest.raises(kind):
        asyncio.run(provider.redeem("code", "verifier", "https://here.example/"))


def test_nothing_secret_shows_in_what_is_logged():
    """A `repr` ends in logs."""
    shown = repr((Tokens("t0ken", "r3fresh"), Fetch("u", {"A": "s3cret"}, "s3cret")))
    assert not any(secret in shown for secret in ("s3cret", "t0ken", "r3fresh"))


class _Issuer:
    """A provider in the process; `now` is its clock, and `down` leaves requests without an answer."""

    def __init__(self):
        self.now, self.down, self.key, self.asked = 1_800_000_000.0, False, OLD, []
        self.provider = Provider(PUBLIC, self.fetch, lambda: self.now)

    async def fetch(self, wanted):
        self.asked.append(wanted.url)
        await asyncio.sleep(0)
        if self.down:
            raise OSError("timed out")
        return _json({"keys": [self.key.as_dict(private=False)]} if wanted.url == METADATA.jwks_uri else DOCUMENT)

    def token(self, key):
        claims = {"iss": ISSUER, "aud": "me", "exp": self.now + 300}
        return jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key)


def test_many_tokens_ask_the_provider_once():
    """Those who come while it is asked wait for the same answer."""

    async def story():
        issuer = _Issuer()
        await asyncio.gather(*(issuer.provider.verify(issuer.token(OLD)) for _ in range(20)))
        assert len(issuer.asked) == 2

    asyncio.run(story())


def test_rotated_keys_are_read_when_a_token_names_one():
    """And a flood of unknown keys does not become a flood of requests."""

    async def story():
        issuer = _Issuer()
        await issuer.provider.verify(issuer.token(OLD))
        issuer.key = NEW
        with pytest.raises(UnknownKey):
            await issuer.provider.verify(issuer.token(NEW))  # asked a moment ago
        assert len(issuer.asked) == 2
        issuer.now += 11
        assert (await issuer.provider.verify(issuer.token(NEW)))["aud"] == "me"
        assert len(issuer.asked) == 4

    asyncio.run(story())


def test_what_is_known_stays_in_use_while_the_provider_is_down():
    """Tokens of known keys are verified; the provider is asked again every ten seconds at most."""

    async def story():
        issuer = _Issuer()
        await issuer.provider.metadata()
        issuer.now, issuer.down = issuer.now + 4000, True
        await issuer.provider.verify(issuer.token(OLD))
        await issuer.provider.verify(issuer.token(OLD))
        assert len(issuer.asked) == 3

    asyncio.run(story())


def test_a_provider_that_was_never_reached_is_an_error_until_it_answers():
    """Nothing is remembered but the failure, and that for ten seconds."""

    async def story():
        issuer = _Issuer()
        issuer.down = True
        for _ in range(2):
            with pytest.raises(ProviderError, match="gives no answer: timed out"):
                await issuer.provider.metadata()
        assert len(issuer.asked) == 1
        issuer.now, issuer.down = issuer.now + 11, False
        assert (await issuer.provider.metadata()).issuer == ISSUER

    asyncio.run(story())


NOW = 1_800_000_000
RSA = jwk.RSAKey.generate_key(2048, {"kid": "rsa"}, private=True)
EC = jwk.ECKey.generate_key("P-256", {"kid": "ec"}, private=True)
STRANGER = jwk.RSAKey.generate_key(2048, {"kid": "rsa"}, private=True)
SIGNING = read_keys({"keys": [RSA.as_dict(private=False), EC.as_dict(private=False)]})
CLAIMS = {"iss": "https://id.example", "aud": "me", "exp": NOW + 300, "iat": NOW, "preferred_username": "ann"}


def _token(key=RSA, algorithm="RS256", kid="rsa", **claims):
    named = {"alg": algorithm} | ({"kid": kid} if kid else {})
    merged = {name: value for name, value in (CLAIMS | claims).items() if value is not None}
    return jwt.encode(named, merged, key, algorithms=[algorithm])


def _signed(payload):
    return jws.serialize_compact({"alg": "RS256", "kid": "rsa"}, payload, RSA)


def _verify(token, algorithms=("RS256", "ES256")):
    return verify_token(token, replace(METADATA, algorithms=algorithms, keys=SIGNING), "me", NOW)


@pytest.mark.parametrize(
    "token",
    [
        _token(),
        _token(EC, "ES256", "ec"),
        _token(kid=None),
        _token(aud=["me", "other"], azp="me"),
        _token(exp=NOW - 30),
    ],
    ids=["RSA", "EC", "no kid", "two audiences", "clocks differ"],
)
def test_a_token_of_the_issuer_for_this_client_is_accepted(token):
    """The signature is checked with the key that the header names, or with each where it names none."""
    assert _verify(token)["preferred_username"] == "ann"


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (_token(iss="https://evil.example"), "from another issuer"),
        (_token(iss=None), "from another issuer"),
        (_token(aud="other"), "for another client"),
        (_token(aud=None), "for another client"),
        (_token(aud=["me", "other"]), "given to another client"),
        (_token(azp="other"), "given to another client"),
        (_token(exp=NOW - 61), "has expired"),
        (_token(exp=None), "has expired"),
        (_token(exp="tomorrow"), "has expired"),
        (_token(exp=True), "has expired"),
        (_token(exp=10**400), "has expired"),
        (_signed(b'{"iss": "https://id.example", "aud": "me", "exp": Infinity}'), "has expired"),
        (_signed(b'{"iss": "https://id.example", "aud": "me", "exp": NaN}'), "has expired"),
        (_signed(b"[" * 10_000), "cannot be verified"),
        (f"{urlsafe_b64encode(b'[' * 9_000).decode()}.e30.", "cannot be verified"),
        (f"{urlsafe_b64encode(b'{}').decode()}.e30.", "cannot be verified"),
        (_token(nbf=NOW + 120), "not valid yet"),
        (_token(iat=NOW + 120), "not valid yet"),
        (_token(STRANGER), "cannot be verified"),
        (_token()[:-4] + "AAAA", "cannot be verified"),
        ("", "cannot be verified"),
        ("a.b.c", "cannot be verified"),
        ("x" * 20_000, "longer than"),
    ],
)
def test_any_other_token_is_refused(token, message):
    """Issuer, audience, authorized party, times and signature: each alone is enough to refuse."""
    with pytest.raises(TokenError, match=message):
        _verify(token)


def test_a_token_without_a_signature_is_refused():
    """`alg: none` is what an attacker writes (RFC 8725 2.1)."""
    body = _token().split(".")[1]
    with pytest.raises(TokenError):
        _verify(f"eyJhbGciOiJub25lIn0.{body}.")


def test_a_token_signed_with_the_public_key_as_a_secret_is_refused():
    """HMAC with the published key, which everybody knows (RFC 8725 2.1)."""
    head = urlsafe_b64encode(b'{"alg":"HS256","kid":"rsa"}').rstrip(b"=")
    signed = head + b"." + _token().split(".")[1].encode()
    mac = urlsafe_b64encode(hmac.digest(RSA.as_pem(private=False), signed, "sha256")).rstrip(b"=")
    with pytest.raises(TokenError):
        _verify((signed + b"." + mac).decode())


def test_a_key_inside_the_token_counts_for_nothing():
    """The header's own `jwk` is the attacker's (RFC 8725 3.10)."""
    named = {"alg": "RS256", "jwk": STRANGER.as_dict(private=False)}
    with pytest.raises(TokenError):
        _verify(jwt.encode(named, CLAIMS, STRANGER))


def test_an_unknown_key_is_distinguished():
    """The provider may have rotated its keys since they were read."""
    with pytest.raises(UnknownKey):
        _verify(_token(kid="new"))


@pytest.mark.parametrize(
    "document",
    [{}, {"keys": {}}, {"keys": []}, {"keys": [{"kty": "oct", "k": "c2VjcmV0"}, {"kty": "RSA"}, 1]}],
)
def test_a_key_set_without_a_usable_key_is_refused(document):
    """Secrets, broken keys and what is not a key are skipped, and nothing is left."""
    with pytest.raises(TokenError):
        read_keys(document)


def test_a_key_for_encryption_verifies_nothing():
    """A key's use is respected (RFC 7517 4.2)."""
    with pytest.raises(TokenError):
        read_keys({"keys": [RSA.as_dict(private=False) | {"use": "enc"}]})


def test_claims_become_a_user():
    """Groups are found below objects, too, as Keycloak writes its roles."""
    claims = {
        "preferred_username": "ann",
        "email": "ann@example.org",
        "email_verified": True,
        "name": "Ann Lee",
        "given_name": "Ann",
        "family_name": "Lee",
        "realm_access": {"roles": ["editors", 7]},
    }
    expected = User("ann", "OIDC", "ann@example.org", ("editors",), "Ann Lee", "Ann", "Lee", email_verified=True)
    assert user_of(claims, "realm_access.roles") == expected
    assert user_of({"email": "ann@example.org", "groups": "no list"}, "groups").username == "ann@example.org"
    assert user_of({"preferred_username": "ann", "https://x/groups.y": ["a"]}, "https://x/groups.y").groups == ("a",)


@pytest.mark.parametrize("name", ["", "a/b", "..", ".", "a\nb", 7])
def test_a_name_that_is_not_one_segment_is_refused(name):
    """The name becomes part of keys."""
    with pytest.raises(TokenError):
        user_of({"preferred_username": name}, "groups")


def test_the_clock_of_tokens_is_that_of_the_world():
    """Seconds since 1970."""
    with pytest.raises(TokenError, match="not valid yet"):
        verify_token(_token(), replace(METADATA, keys=SIGNING), "me", min(time.time(), NOW - 1000))
