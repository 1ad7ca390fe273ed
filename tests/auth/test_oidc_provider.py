import asyncio
import hmac
import json
from base64 import urlsafe_b64encode
from urllib.parse import parse_qs

import pytest
from joserfc import jwk, jws, jwt
from msgspec import structs
from msgspec.structs import replace

from tornado_proxy.auth import oidc_provider
from tornado_proxy.auth.oidc_provider import (
    GrantRefused,
    Metadata,
    Provider,
    ProviderAway,
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
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.semantics.request import User
from tornado_proxy.wire.dialing import Fetch, Fetched

ISSUER = "https://id.example"
DOCUMENT = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/keys",
    "id_token_signing_alg_values_supported": ["RS256", "HS256"],
}
METADATA = Metadata(ISSUER, f"{ISSUER}/authorize", f"{ISSUER}/token", f"{ISSUER}/keys")
OLD_KEY, NEW_KEY = (jwk.RSAKey.generate_key(2048, {"kid": name}, private=True) for name in ("old", "new"))


def _json(value, status=200):
    return Fetched(status, json.dumps(value).encode())


KEYS = {"keys": [OLD_KEY.as_dict(private=False)]}


DISCOVERY_ANSWERS = _json(DOCUMENT), _json(KEYS)
PUBLIC = OidcProvider("id", GuardedUrl(f"{ISSUER}/"), "me")
CONFIDENTIAL = structs.replace(PUBLIC, client_secret=Secret("", "s:e c"))


def _provider(*answers, settings=PUBLIC, discovery=DISCOVERY_ANSWERS):
    """Makes a provider that gets these answers, and the list of its requests."""
    requests, pending = [], [*discovery, *answers]

    async def fetch(request):
        requests.append(request)
        return pending.pop(0)

    return Provider(settings, fetch, lambda: 1_800_000_000.0, lambda: 0.0), requests


async def test_discovery_reads_the_metadata_below_the_issuer():
    provider, requests = _provider()
    assert replace(await provider.metadata(), keys=METADATA.keys) == METADATA
    assert requests == [
        Fetch(GuardedUrl(f"{ISSUER}/.well-known/openid-configuration")),
        Fetch(GuardedUrl(METADATA.jwks_uri)),
    ]


INSIDE = "http://keycloak:8080/realms/x"


def _at(**urls):
    """The settings with URLs for single endpoints."""
    return structs.replace(PUBLIC, **{name: GuardedUrl(url) for name, url in urls.items()})


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/anything"])
async def test_metadata_are_read_at_another_address_than_the_name_of_the_issuer(path):
    """The issuer keeps its name, which tokens have, and the endpoints are those that the metadata name."""
    document = DOCUMENT | {"token_endpoint": f"{INSIDE}/token", "jwks_uri": f"{INSIDE}/keys"}
    settings = _at(discovery_url=f"{INSIDE}{path}")
    provider, requests = _provider(settings=settings, discovery=(_json(document), _json(KEYS)))
    metadata = await provider.metadata()
    assert [each.url.reveal() for each in requests] == [f"{INSIDE}{path}", f"{INSIDE}/keys"]
    assert (metadata.issuer, metadata.authorization_endpoint) == (ISSUER, f"{ISSUER}/authorize")
    assert metadata.token_endpoint == f"{INSIDE}/token"


async def test_single_endpoints_replace_those_of_the_metadata():
    """Metadata that name outside addresses only are corrected where the service reaches the issuer elsewhere."""
    urls = {"discovery_url": f"{INSIDE}/metadata", "token_url": f"{INSIDE}/token", "jwks_url": f"{INSIDE}/keys"}
    answer = _json({"id_token": "a.b.c"})
    provider, requests = _provider(answer, settings=_at(**urls, end_session_url="https://id.example/bye"))
    await provider.redeem("code", "verifier", "https://here.example/callback")
    assert [each.url.reveal() for each in requests] == list(
        {name: urls[name] for name in ("discovery_url", "jwks_url", "token_url")}.values()
    )
    metadata = await provider.metadata()
    assert (metadata.authorization_endpoint, metadata.end_session_endpoint) == (
        f"{ISSUER}/authorize",
        "https://id.example/bye",
    )


@pytest.mark.parametrize("issuer", [ISSUER, f"{ISSUER}/"])
@pytest.mark.parametrize("algorithm", ["RS256", "PS256"])
async def test_an_issuer_without_metadata_is_known_by_its_endpoints(issuer, algorithm):
    """With all three endpoints nothing is discovered; tokens have the name of the issuer as it is configured."""
    urls = {"authorization_url": f"{ISSUER}/authorize", "token_url": f"{INSIDE}/token", "jwks_url": f"{INSIDE}/keys"}
    settings = structs.replace(_at(**urls), issuer_url=GuardedUrl(issuer))
    provider, requests = _provider(settings=settings, discovery=(_json(KEYS),))
    claims = {"iss": issuer, "aud": "me", "exp": 1_800_000_300}
    assert await provider.verify(jwt.encode({"alg": algorithm, "kid": "old"}, claims, OLD_KEY, [algorithm])) == claims
    assert [each.url.reveal() for each in requests] == [f"{INSIDE}/keys"]
    forged = jwt.encode({"alg": algorithm, "kid": "old"}, claims | {"iss": INSIDE}, OLD_KEY, [algorithm])
    with pytest.raises(TokenError, match="from another issuer"):
        await provider.verify(forged)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (_json({}, 404), "came with status 404"),
        (Fetched(200, b"<html>"), "is not JSON"),
        (_json([]), "is not an object"),
        (_json({**DOCUMENT, "issuer": "https://evil.example"}), "names another issuer, 'https://evil.example'"),
        (_json({**DOCUMENT, "id_token_signing_alg_values_supported": ["HS256"]}), "signs with none of RS256"),
        (_json({**DOCUMENT, "id_token_signing_alg_values_supported": []}), "signs with none of RS256"),
        (_json({**DOCUMENT, "token_endpoint": "file:///etc/passwd"}), "has no URL `token_endpoint`"),
        (_json({**DOCUMENT, "jwks_uri": None}), "has no URL `jwks_uri`"),
        (_json({**DOCUMENT, "jwks_uri": "https://["}), "has no URL `jwks_uri`"),
        (_json({**DOCUMENT, "authorization_endpoint": "https://a\r\nb"}), "has no URL `authorization_endpoint`"),
        (Fetched(200, b"[" * 100_000), "is not JSON"),
        (_json({**DOCUMENT, "end_session_endpoint": "javascript:alert(1)"}), "has no URL `end_session_endpoint`"),
    ],
)
async def test_unusable_metadata_is_refused(answer, message):
    """Unsuccessful, malformed or foreign metadata raises ProviderError (Discovery 4.3)."""
    provider, _ = _provider(discovery=(answer,))
    with pytest.raises(ProviderError, match=message):
        await provider.metadata()


async def test_a_code_is_redeemed_with_the_verifier_and_the_secret():
    """The secret is sent in the Authorization header, form-encoded (RFC 6749 2.3.1)."""
    answer = _json({"id_token": "a.b.c", "refresh_token": "r"})
    provider, requests = _provider(answer, settings=CONFIDENTIAL)
    tokens = await provider.redeem("code", "verifier", "https://here.example/callback")
    assert tokens == Tokens("a.b.c", "r")
    assert requests[-1].headers["Authorization"] == "Basic bWU6cyUzQWUrYw=="
    assert parse_qs(requests[-1].body) == {
        "grant_type": ["authorization_code"],
        "code": ["code"],
        "redirect_uri": ["https://here.example/callback"],
        "code_verifier": ["verifier"],
    }


async def test_a_public_client_names_itself_in_the_form():
    """A client without a secret sends its ID in the form (RFC 6749 3.2.1)."""
    provider, requests = _provider(_json({"id_token": "a.b.c"}))
    await provider.renew("r")
    assert "Authorization" not in requests[-1].headers
    assert parse_qs(requests[-1].body) == {"grant_type": ["refresh_token"], "refresh_token": ["r"], "client_id": ["me"]}


@pytest.mark.parametrize(("fields", "refresh_token"), [({}, "old"), ({"refresh_token": "new"}, "new")])
async def test_a_refresh_token_is_kept_unless_it_is_replaced(fields, refresh_token):
    """A renewal without a new refresh token keeps the old one (RFC 6749 6)."""
    provider, _ = _provider(_json({"id_token": "t", **fields}))
    assert (await provider.renew("old")).refresh_token == refresh_token


@pytest.mark.parametrize(
    ("answer", "error_class"),
    [
        (_json({"error": "invalid_grant"}, 400), GrantRefused),
        (_json({}, 500), ProviderAway),
        (_json({}, 429), ProviderAway),
        (_json({}, 302), ProviderError),
        (_json({"access_token": "x"}), ProviderError),
    ],
)
async def test_an_answer_without_tokens_is_an_error(answer, error_class):
    provider, _ = _provider(answer)
    with pytest.raises(error_class):
        await provider.redeem("code", "verifier", "https://here.example/")


def test_secrets_are_never_shown():
    printed = repr(
        (Tokens("t0ken", "r3fresh"), Fetch(GuardedUrl("http://s3cret@u/?s3cret"), {"A": "s3cret"}, "s3cret"))
    )
    assert not any(secret in printed for secret in ("s3cret", "t0ken", "r3fresh"))


class _Issuer:
    """An issuer in the process and a provider that asks it; `down` leaves requests unanswered.

    `now` is the time of the timer, and `step` how much the clock was set since.
    """

    def __init__(self):
        self.now, self.step, self.down, self.key, self.urls = 1_800_000_000.0, 0.0, False, OLD_KEY, []
        self.wait = lambda: asyncio.sleep(0)
        self.provider = Provider(PUBLIC, self.fetch, lambda: self.now + self.step, lambda: self.now)

    async def fetch(self, request):
        self.urls.append(request.url)
        await self.wait()
        if self.down:
            raise OSError("timed out")
        return _json(
            {"keys": [self.key.as_dict(private=False)]} if request.url.reveal() == METADATA.jwks_uri else DOCUMENT
        )

    def token(self, key):
        claims = {"iss": ISSUER, "aud": "me", "exp": self.now + self.step + 300}
        return jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key)


async def test_concurrent_verifications_share_one_discovery():
    """Tokens that are verified while metadata and keys are requested wait for the same answers."""
    issuer = _Issuer()
    await asyncio.gather(*(issuer.provider.verify(issuer.token(OLD_KEY)) for _ in range(20)))
    assert len(issuer.urls) == 2


@pytest.mark.parametrize("step", [0.0, -86_400.0])
async def test_rotated_keys_are_read_for_a_token_that_names_one(step):
    """Keys are read again for a token with an unknown key, at most once in ten seconds, also if the clock is corrected."""
    issuer = _Issuer()
    await issuer.provider.verify(issuer.token(OLD_KEY))
    issuer.key, issuer.step = NEW_KEY, step
    with pytest.raises(UnknownKey):
        await issuer.provider.verify(issuer.token(NEW_KEY))  # the keys were read a moment ago
    assert len(issuer.urls) == 2
    issuer.now += 11
    assert (await issuer.provider.verify(issuer.token(NEW_KEY)))["aud"] == "me"
    assert len(issuer.urls) == 4


async def test_a_login_begins_before_the_issuer_has_keys():
    """An empty key set refuses each token with the reason, until keys come; it does not replace those that are known."""
    empty = _json({"keys": []})
    requests = iter([_json(DOCUMENT), empty, _json(DOCUMENT), _json(KEYS), _json(DOCUMENT), empty])
    now = 0.0

    async def fetch(_request):
        return next(requests)

    provider = Provider(PUBLIC, fetch, lambda: 1_800_000_000.0, lambda: now)
    claims = {"iss": ISSUER, "aud": "me", "exp": 1_800_000_300}
    token = jwt.encode({"alg": "RS256", "kid": "old"}, claims, OLD_KEY)
    assert (await provider.metadata()).authorization_endpoint == f"{ISSUER}/authorize"
    with pytest.raises(TokenError, match="nor any for signatures, of at least 2048 bits"):
        await provider.verify(token)
    now = 20.0
    assert await provider.verify(token) == claims
    now = 10_000.0
    assert await provider.verify(token) == claims
    assert next(requests, None) is None


async def test_known_keys_stay_in_use_while_the_issuer_is_down():
    """Tokens of known keys are verified, and the issuer is asked again at most every ten seconds."""
    issuer = _Issuer()
    await issuer.provider.metadata()
    issuer.now, issuer.down = issuer.now + 4000, True
    await issuer.provider.verify(issuer.token(OLD_KEY))
    await issuer.provider.verify(issuer.token(OLD_KEY))
    assert len(issuer.urls) == 3


async def test_known_keys_stay_in_use_while_the_issuer_hangs(monkeypatch):
    """Tokens of known keys do not wait for old keys to be fetched anew: twenty take no longer than one."""
    monkeypatch.setattr(oidc_provider.limits, "PROVIDER_PATIENCE", 0.01)
    issuer = _Issuer()
    await issuer.provider.metadata()
    issuer.now, issuer.wait = issuer.now + 4000, asyncio.Event().wait
    for _ in range(20):
        await issuer.provider.verify(issuer.token(OLD_KEY))
    assert len(issuer.urls) == 3


async def test_those_who_wait_for_an_issuer_wait_once():
    """Callers who wait for an issuer that does not answer share one failure; none of them asks again."""
    issuer, answered = _Issuer(), asyncio.Event()
    issuer.down, issuer.wait = True, answered.wait
    asking = [asyncio.ensure_future(issuer.provider.metadata()) for _ in range(20)]
    await asyncio.sleep(0.01)
    issuer.now += 11
    answered.set()
    assert all(isinstance(each, ProviderError) for each in await asyncio.gather(*asking, return_exceptions=True))
    assert len(issuer.urls) == 1


async def test_an_unreachable_issuer_is_an_error_until_it_answers():
    issuer = _Issuer()
    issuer.down = True
    for _ in range(2):
        with pytest.raises(ProviderError, match="gives no answer: timed out"):
            await issuer.provider.metadata()
    assert len(issuer.urls) == 1
    issuer.now, issuer.down = issuer.now + 11, False
    assert (await issuer.provider.metadata()).issuer == ISSUER


NOW = 1_800_000_000
RSA = jwk.RSAKey.generate_key(2048, {"kid": "rsa"}, private=True)
EC = jwk.ECKey.generate_key("P-256", {"kid": "ec"}, private=True)
UNKNOWN_RSA = jwk.RSAKey.generate_key(2048, {"kid": "rsa"}, private=True)
SIGNING_KEYS = read_keys({"keys": [RSA.as_dict(private=False), EC.as_dict(private=False)]})
CLAIMS = {"iss": "https://id.example", "aud": "me", "exp": NOW + 300, "iat": NOW, "preferred_username": "ann"}


def _token(key=RSA, algorithm="RS256", kid="rsa", **claims):
    header = {"alg": algorithm} | ({"kid": kid} if kid else {})
    present = {name: value for name, value in (CLAIMS | claims).items() if value is not None}
    return jwt.encode(header, present, key, algorithms=[algorithm])


def _signed(payload):
    return jws.serialize_compact({"alg": "RS256", "kid": "rsa"}, payload, RSA)


def _verify(token, algorithms=("RS256", "ES256")):
    return verify_token(token, replace(METADATA, algorithms=algorithms, keys=SIGNING_KEYS), "me", NOW)


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
    """The signature is checked with the key that the header names, or with every key if it names no key."""
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
        (_signed(b'{"iss": "https://id.example", "aud": "me", "exp": 1e10, "nonce": "\\ud800"}'), "cannot be verified"),
        (f"{urlsafe_b64encode(b'[' * 9_000).decode()}.e30.", "cannot be verified"),
        (f"{urlsafe_b64encode(b'{}').decode()}.e30.", "cannot be verified"),
        (_token(nbf=NOW + 120), "not valid yet"),
        (_token(iat=NOW + 120), "not valid yet"),
        (_token(UNKNOWN_RSA), "cannot be verified"),
        (_token()[:-4] + "AAAA", "cannot be verified"),
        ("", "cannot be verified"),
        ("a.b.c", "cannot be verified"),
        ("x" * 20_000, "longer than"),
        # No algorithm, and a key that an attacker may choose (RFC 8725 2.1 and 3.10).
        (f"eyJhbGciOiJub25lIn0.{_token().split('.')[1]}.", "cannot be verified"),
        (jwt.encode({"alg": "RS256", "jwk": UNKNOWN_RSA.as_dict(private=False)}, CLAIMS, UNKNOWN_RSA), "cannot be"),
    ],
)
def test_any_other_token_is_refused(token, message):
    with pytest.raises(TokenError, match=message):
        _verify(token)


def test_a_token_signed_with_the_public_key_as_a_secret_is_refused():
    """An HMAC with the published key is refused (RFC 8725 2.1)."""
    head = urlsafe_b64encode(b'{"alg":"HS256","kid":"rsa"}').rstrip(b"=")
    signed = head + b"." + _token().split(".")[1].encode()
    mac = urlsafe_b64encode(hmac.digest(RSA.as_pem(private=False), signed, "sha256")).rstrip(b"=")
    with pytest.raises(TokenError):
        _verify((signed + b"." + mac).decode())


@pytest.mark.parametrize(
    "document",
    [
        *({}, {"keys": {}}, {"keys": []}, {"keys": [{"kty": "oct", "k": "c2VjcmV0"}, {"kty": "RSA"}, 1]}),
        {"keys": [RSA.as_dict(private=False) | {"use": "enc"}]},
    ],
)
def test_a_key_set_without_a_usable_key_is_refused(document):
    """Secrets, keys for encryption (RFC 7517 4.2), malformed ones and what is no key are skipped; no key is a TokenError."""
    with pytest.raises(TokenError):
        read_keys(document)


def test_claims_become_a_user():
    """Groups may be nested in objects, as in Keycloak's roles, and the email address is the name if there is no other."""
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
    with pytest.raises(TokenError):
        user_of({"preferred_username": name}, "groups")
