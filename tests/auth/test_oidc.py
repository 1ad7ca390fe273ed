import asyncio
import json
import re
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwk, jwt

from tornado_proxy.auth.authenticator import SignIn
from tornado_proxy.auth.fetching import Fetched
from tornado_proxy.auth.oidc import OidcAuthenticator
from tornado_proxy.config.providers import OidcProvider
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.routing.request import Request, RequestPath
from tornado_proxy.templates.template import User

KEY = jwk.RSAKey.generate_key(2048, {"kid": "one"}, private=True)
GUARD = SignedIn("id", None)
SECRET = Secret("the environment variable `SECRET`", "0123456789abcdef")
ANN = User("ann", "OIDC", "ann@example.org", ("editors",), email_verified=True)


class _Story:
    """A browser at `host`, the service, and an issuer in the process; `now` is everybody's clock."""

    def __init__(self, **settings):
        self.now, self.down, self.refuses, self.asked = 1_800_000_000.0, False, False, []
        self.claims = {
            "preferred_username": "ann",
            "email": "ann@example.org",
            "groups": ["editors"],
            "email_verified": True,
        }
        self.nonce, self.refresh_token = "", ""
        self.cookies: dict[str, str] = {}
        given = {"client_secret": SECRET} | settings
        self.settings = OidcProvider("id", "https://id.example", "me", **given)
        self.authenticator = OidcAuthenticator(self.settings, self.fetch, lambda: self.now)

    async def fetch(self, wanted):
        self.asked.append(wanted)
        if self.down:
            raise OSError("timed out")
        path = urlsplit(wanted.url).path
        if path == "/token":
            document = {"id_token": self.token(), "refresh_token": self.refresh_token}
            return Fetched(400 if self.refuses else 200, json.dumps(document).encode())
        names = {
            "authorization_endpoint": "authorize",
            "token_endpoint": "token",
            "jwks_uri": "keys",
            "end_session_endpoint": "end",
        }
        document = {"issuer": "https://id.example"} | {
            name: f"https://id.example/{each}" for name, each in names.items()
        }
        keys = {"keys": [KEY.as_dict(private=False)]}
        return Fetched(200, json.dumps(keys if path == "/keys" else document).encode())

    def token(self, **claims):
        all_claims = {
            "iss": "https://id.example",
            "aud": "me",
            "exp": self.now + 300,
            "nonce": self.nonce,
            **self.claims,
            **claims,
        }
        return jwt.encode({"alg": "RS256", "kid": "one"}, all_claims, KEY)

    def request(self, path="/", query="", method="GET", host="files.example", **headers):
        sent = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        pairs = tuple((name, value) for name, values in parse_qs(query).items() for value in values)
        all_headers = (("Host", host), *sent, *((("Cookie", cookies),) if cookies else ()))
        name = host.partition(":")[0]
        return Request(method, name, RequestPath(path), query, pairs, all_headers, "https", authority=host)

    def keep(self, lines):
        for line in lines:
            name, _, value = line.partition(";")[0].partition("=")
            if "Max-Age=0" in line:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value

    async def authenticate(self, *arguments, **named):
        return await self.authenticator.authenticate(self.request(*arguments, **named), GUARD)

    async def begin(self, return_to="https://files.example/a?b=c"):
        """The login page; returns what the issuer is sent."""
        answer = await self.authenticator.login(self.request("/auth/id", f"rd={quote(return_to, safe='')}"))
        self.keep(answer.cookies)
        sent = {name: values[0] for name, values in parse_qs(urlsplit(answer.location).query).items()}
        self.nonce = sent.get("nonce", "")
        return sent

    async def come_back(self, state, extra="code=c"):
        answer = await self.authenticator.callback(self.request("/auth/id/callback", f"state={state}&{extra}"))
        self.keep(answer.cookies)
        return answer

    async def sign_in(self):
        return await self.come_back((await self.begin())["state"])


def _play(story):
    return asyncio.run(story)


def test_a_browser_is_sent_to_the_login_and_back_to_the_page():
    """The whole way: challenge, login, callback, session."""

    async def play():
        story = _Story()
        asked = await story.authenticate("/a", "b=c", Accept="text/html")
        assert asked.location == "/auth/id?rd=https%3A%2F%2Ffiles.example%2Fa%3Fb%3Dc"
        sent = await story.begin()
        assert (sent["client_id"], sent["redirect_uri"]) == ("me", "https://files.example/auth/id/callback")
        assert (sent["code_challenge_method"], sent["response_type"]) == ("S256", "code")
        answer = await story.come_back(sent["state"])
        assert (answer.status, answer.location) == (307, "https://files.example/a?b=c")
        assert list(story.cookies) == ["oidc"]
        assert await story.authenticate("/a") == SignIn(ANN)

    _play(play())


def test_the_page_to_return_to_is_escaped_as_a_path():
    """A space is `%20` there, since `+` would be a plus."""
    found = _play(_Story().authenticate("/a b+c%/ä", Accept="text/html"))
    assert found.location == "/auth/id?rd=https%3A%2F%2Ffiles.example%2Fa%2520b%252Bc%2525%2F%25C3%25A4"


@pytest.mark.parametrize(
    "headers",
    [{"Accept": "application/json"}, {"X_Requested_With": "XMLHttpRequest"}, {"Sec_Fetch_Mode": "cors"}],
)
def test_a_program_gets_a_401(headers):
    """It could do nothing with a page for people."""
    found = _play(_Story().authenticate("/a", **headers))
    assert (found.status, found.challenge, found.location) == (401, "Bearer", None)


def test_an_upload_without_a_session_gets_a_401():
    """A redirect would lose its body."""
    assert _play(_Story().authenticate("/a/", method="PUT", Accept="text/html")).status == 401


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_page_of_another_origin_cannot_write_with_a_token_in_a_cookie(method):
    """Browsers may send a cookie of s3-proxy with every request, since it has no SameSite."""

    async def play():
        story = _Story()
        story.cookies["oidc"] = story.token()
        found = await story.authenticate("/a/", method=method, Origin="https://evil.example")
        assert (found.status, found.reason) == (403, "a page of another origin made the request")
        assert isinstance(await story.authenticate("/a/", method=method), SignIn)

    _play(play())


def test_a_bearer_token_signs_in():
    """For programs that got one from the issuer themselves."""

    async def play():
        story = _Story()
        assert await story.authenticate(Authorization=f"Bearer {story.token()}") == SignIn(ANN)
        refused = await story.authenticate(Authorization=f"Bearer {story.token(aud='other')}")
        assert (refused.status, refused.challenge) == (401, 'Bearer error="invalid_token"')
        story.down, story.now = True, story.now + 10_000
        assert (await _Story().authenticate(Authorization="Bearer x")).status == 401

    _play(play())


def test_a_token_in_the_cookie_signs_in():
    """That is what s3-proxy's cookies hold: whoever signed in there stays signed in."""

    async def play():
        story = _Story()
        story.cookies = {"oidc": story.token()}
        assert await story.authenticate() == SignIn(ANN)

    _play(play())


def test_a_callback_that_no_login_waits_for_is_refused():
    """A state of another browser, a made-up one, or none: each might sign the victim in as the attacker."""

    async def play():
        story, other = _Story(), _Story()
        state = (await other.begin())["state"]
        for guess in (state, "made-up", ""):
            assert (await story.come_back(guess)).status == 400

    _play(play())


def test_a_state_counts_once():
    """The cookie that it is compared with goes with its first use."""

    async def play():
        story = _Story()
        state = (await story.begin())["state"]
        await story.come_back(state)
        assert (await story.come_back(state)).status == 400

    _play(play())


def test_a_login_takes_ten_minutes_at_most():
    """An old tab begins anew."""

    async def play():
        story = _Story()
        state = (await story.begin())["state"]
        story.now += 601
        assert (await story.come_back(state)).status == 400

    _play(play())


@pytest.mark.parametrize("extra", ["error=access_denied", "code=", "error=x&code=c"])
def test_a_login_that_the_issuer_refused_is_a_401(extra):
    """The user may have said no."""

    async def play():
        story = _Story()
        assert (await story.come_back((await story.begin())["state"], extra)).status == 401

    _play(play())


def test_a_token_of_another_login_is_refused():
    """Its nonce is that of the other (Core 3.1.3.7, 11)."""

    async def play():
        story = _Story()
        state = (await story.begin())["state"]
        story.nonce = "another"
        answer = await story.come_back(state)
        assert (answer.status, answer.reason) == (
            401,
            "the login is not accepted: the token was made for another login",
        )
        assert "oidc" not in story.cookies

    _play(play())


def test_a_code_that_the_issuer_does_not_accept_is_a_401_and_an_issuer_that_is_down_a_502():
    """The first is the client's matter, the second is not."""

    async def play():
        for name, status in (("refuses", 401), ("down", 502)):
            story = _Story()
            state = (await story.begin())["state"]
            setattr(story, name, True)
            assert (await story.come_back(state)).status == status
        story = _Story()
        story.down = True
        assert (await story.authenticator.login(story.request("/auth/id"))).status == 502

    _play(play())


def test_an_unverified_address_may_be_refused():
    """Where the configuration asks for a verified one, sessions and tokens are held to it."""

    async def play():
        story = _Story(email_verified=True)
        story.claims["email_verified"] = False
        assert (await story.sign_in()).status == 403
        assert (await story.authenticate(Authorization=f"Bearer {story.token()}")).status == 403

    _play(play())


def test_a_session_without_a_refresh_token_ends_with_its_token():
    """The user signs in again, which the issuer may do without asking."""

    async def play():
        story = _Story()
        await story.sign_in()
        story.now += 301
        assert (await story.authenticate()).status == 307

    _play(play())


def test_a_session_is_renewed_with_its_refresh_token():
    """The new session comes along with the answer."""

    async def play():
        story = _Story()
        story.refresh_token = "first"
        await story.sign_in()
        story.now, story.refresh_token = story.now + 301, "second"
        story.claims["groups"] = ["editors", "admins"]
        found = await story.authenticate()
        assert found.user.groups == ("editors", "admins")
        story.keep(found.cookies)
        assert (await story.authenticate()).cookies == ()

    _play(play())


def test_a_session_whose_renewal_is_refused_ends():
    """The issuer has locked the user out, or the token names somebody else."""

    async def play():
        for change in ({"refuses": True}, {"claims": {"preferred_username": "eve"}}):
            story = _Story()
            story.refresh_token = "r"
            await story.sign_in()
            story.now += 301
            for name, value in change.items():
                setattr(story, name, value)
            assert (await story.authenticate()).status == 307

    _play(play())


def test_whoever_is_signed_in_goes_on_while_the_issuer_is_down():
    """Nobody new can sign in."""

    async def play():
        story = _Story()
        story.refresh_token = "r"
        await story.sign_in()
        story.down, story.now = True, story.now + 301
        assert (await story.authenticate()).user == ANN

    _play(play())


def test_a_changed_cookie_is_no_session():
    """Each character counts."""

    async def play():
        story = _Story()
        await story.sign_in()
        head, changed, tail = story.cookies["oidc"][:40], story.cookies["oidc"][40], story.cookies["oidc"][41:]
        story.cookies["oidc"] = head + ("A" if changed != "A" else "B") + tail
        assert (await story.authenticate()).status == 307

    _play(play())


def test_a_session_of_another_host_or_provider_is_no_session():
    """A stolen cookie opens nothing elsewhere, unless the hosts share a domain on purpose."""

    async def play():
        story = _Story()
        await story.sign_in()
        assert isinstance(await story.authenticate(host="other.example"), Refuse)
        other = _Story(client_secret=Secret("x", "another secret...."))
        other.cookies = story.cookies
        assert isinstance(await other.authenticate(), Refuse)
        shared = _Story(cookie_domains=("example",))
        await shared.sign_in()
        assert await shared.authenticate(host="other.example") == SignIn(ANN)

    _play(play())


@pytest.mark.parametrize(
    "headers", [{"Sec_Fetch_Site": "cross-site"}, {"Origin": "https://evil.example"}, {"Sec_Fetch_Site": "same-site"}]
)
def test_another_origin_cannot_write_with_a_session(headers):
    """A page of another site makes the browser send the cookie along (CSRF)."""

    async def play():
        story = _Story()
        await story.sign_in()
        for method in ("PUT", "DELETE"):
            found = await story.authenticate("/a", method=method, **headers)
            assert (found.status, found.location) == (403, None)
        assert await story.authenticate("/a", method="PUT", Origin="https://files.example") == SignIn(ANN)

    _play(play())


def test_a_logout_ends_the_session_here_and_at_the_issuer():
    """The issuer is told whose session it is."""

    async def play():
        story = _Story()
        await story.sign_in()
        answer = await story.authenticator.logout(story.request("/auth/id/logout"))
        story.keep(answer.cookies)
        assert story.cookies == {}
        assert answer.location.startswith(
            "https://id.example/end?client_id=me&post_logout_redirect_uri=https%3A%2F%2Ffiles.example%2F&id_token_hint="
        )
        assert (await story.authenticator.logout(story.request("/", Sec_Fetch_Site="cross-site"))).status == 403

    _play(play())


def test_a_large_session_does_without_the_hint_for_the_logout():
    """Browsers keep five cookies of it; what does not fit at all is refused."""

    async def play():
        story = _Story()
        story.claims["groups"] = [f"group-{number * 7919 % 100_003:05}" for number in range(600)]
        await story.sign_in()
        assert (await story.authenticate()).user.groups[0] == "group-00000"
        assert len(story.cookies) > 1

    _play(play())


def _accepts(address):
    async def play():
        story = _Story()
        return (
            await story.authenticator.login(story.request("/auth/id", f"rd={quote(address, safe='')}"))
        ).status == 302

    return _play(play())


@pytest.mark.parametrize("address", ["/", "/a?b=//c", "https://files.example/", "http://FILES.example/x"])
def test_an_address_of_this_site_can_be_returned_to(address):
    """A path, or a URL of the same host and port."""
    assert _accepts(address)


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\x0b/evil.example",
        "https:evil.example",
        "https:///evil.example",
        "https://files.example@evil.example/",
        "https://files.example.evil.example/",
        "https://files.example:8443/",
        "javascript:alert(1)",
        "data:text/html,x",
        "a",
        "https://[",
        "/" + "a" * 2001,
    ],
)
def test_any_other_address_is_refused(address):
    """An open redirect sends victims from a name they trust to one they should not."""
    assert not _accepts(address)


@given(st.text("/\\:@.?#\t\n ehtps[]", max_size=20))
def test_no_address_leads_to_another_host(address):
    """As a browser resolves it: white space dropped, backslashes turned."""
    seen = re.sub(r"[\t\n\r]", "", address).replace("\\", "/")
    if _accepts(address) and address:
        assert re.match(r"/(?!/)", seen) or re.match(r"https?://files\.example(?:[/?#]|$)", seen, re.IGNORECASE)
