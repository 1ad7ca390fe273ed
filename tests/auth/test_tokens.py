import hmac
import time
from base64 import urlsafe_b64encode

import pytest
from joserfc import jwk, jws, jwt

from tornado_proxy.auth.tokens import (
    TokenError,
    Trust,
    UnknownKey,
    accepted_algorithms,
    read_keys,
    user_of,
    verify_token,
)
from tornado_proxy.templates.template import User

NOW = 1_800_000_000
RSA = jwk.RSAKey.generate_key(2048, {"kid": "rsa"}, private=True)
EC = jwk.ECKey.generate_key("P-256", {"kid": "ec"}, private=True)
STRANGER = jwk.RSAKey.generate_key(2048, {"kid": "rsa"}, private=True)
KEYS = read_keys({"keys": [RSA.as_dict(private=False), EC.as_dict(private=False)]})
CLAIMS = {"iss": "https://id.example", "aud": "me", "exp": NOW + 300, "iat": NOW, "preferred_username": "ann"}


def _token(key=RSA, algorithm="RS256", kid="rsa", **claims):
    named = {"alg": algorithm} | ({"kid": kid} if kid else {})
    merged = {name: value for name, value in (CLAIMS | claims).items() if value is not None}
    return jwt.encode(named, merged, key, algorithms=[algorithm])


def _signed(payload):
    return jws.serialize_compact({"alg": "RS256", "kid": "rsa"}, payload, RSA)


def _verify(token, algorithms=("RS256", "ES256")):
    return verify_token(token, KEYS, Trust("https://id.example", "me", algorithms), NOW)


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
        _verify((signed + b"." + mac).decode(), accepted_algorithms(["HS256", "none", "RS256"]))


def test_a_key_inside_the_token_counts_for_nothing():
    """The header's own `jwk` is the attacker's (RFC 8725 3.10)."""
    named = {"alg": "RS256", "jwk": STRANGER.as_dict(private=False)}
    with pytest.raises(TokenError):
        _verify(jwt.encode(named, CLAIMS, STRANGER))


def test_an_unknown_key_is_told_apart():
    """The provider may have rotated its keys since they were read."""
    with pytest.raises(UnknownKey):
        _verify(_token(kid="new"))


def test_only_safe_algorithms_of_the_provider_are_accepted():
    """Where it publishes none, RS256 stands (Discovery 3)."""
    assert accepted_algorithms(["none", "HS256", "ES256", "RS256", 7]) == ("ES256", "RS256")
    assert accepted_algorithms(None) == ("RS256",)


@pytest.mark.parametrize(
    "document",
    [None, [], {}, {"keys": {}}, {"keys": []}, {"keys": [{"kty": "oct", "k": "c2VjcmV0"}, {"kty": "RSA"}, 1]}],
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
        verify_token(_token(), KEYS, Trust("https://id.example", "me"), min(time.time(), NOW - 1000))
