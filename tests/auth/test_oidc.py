import asyncio
import json
import re
import secrets
from urllib.parse import parse_qs, parse_qsl, quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwk, jwt
from msgspec.structs import replace

from tornado_proxy.auth import oidc_provider
from tornado_proxy.auth.authenticator import SignIn
from tornado_proxy.auth.oidc import OidcAuthenticator, _Session
from tornado_proxy.config.providers import OidcProvider
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.semantics.request import Request, RequestPath, User
from tornado_proxy.wire.dialing import Fetched

KEY = jwk.RSAKey.generate_key(2048, {"kid": "one"}, private=True)
GUARD = SignedIn("id", None)
SECRET = Secret("the environment variable `SECRET`", "0123456789abcdef")
ANN = User("ann", "OIDC", "ann@example.org", ("editors",), email_verified=True)


class _Scenario:
    """A browser, the service, and an issuer in the process, which share the clock and the timer `now`."""

    def __init__(self, **settings):
        self.now, self.down, self.refuses = 1_800_000_000.0, False, False
        self.claims = {"preferred_username": "ann", "email": "ann@example.org", "email_verified": True}
        self.claims["groups"] = ["editors"]
        self.nonce, self.refresh_token = "", ""
        self.renewed: dict[str, object] = {}  # replaces members of the answer with tokens
        self.renewals: list[str] = []  # the refresh tokens that were brought
        self.status, self.wait = 200, lambda: asyncio.sleep(0)
        self.cookies: dict[str, str] = {}
        self.public_path = ""  # that a proxy takes off
        options = {"client_secret": SECRET} | settings
        self.settings = OidcProvider("id", GuardedUrl("https://id.example"), "me", **options)
        self.authenticator = OidcAuthenticator(self.settings, self.fetch, lambda: self.now, lambda: self.now)

    async def fetch(self, request):
        if self.down:
            raise OSError("timed out")
        path = urlsplit(request.url.reveal()).path
        if path == "/token":
            self.renewals += parse_qs(request.body).get("refresh_token", [])
            await self.wait()
            document = {"id_token": self.token(), "refresh_token": self.refresh_token} | self.renewed
            return Fetched(400 if self.refuses else self.status, json.dumps(document).encode())
        document = {
            "issuer": "https://id.example",
            "authorization_endpoint": "https://id.example/authorize",
            "token_endpoint": "https://id.example/token",
            "jwks_uri": "https://id.example/keys",
            "end_session_endpoint": "https://id.example/end",
        }
        keys = {"keys": [KEY.as_dict(private=False)]}
        return Fetched(200, json.dumps(keys if path == "/keys" else document).encode())

    def token(self, **claims):
        issued = {"iss": "https://id.example", "aud": "me", "exp": self.now + 300, "nonce": self.nonce}
        return jwt.encode({"alg": "RS256", "kid": "one"}, issued | self.claims | claims, KEY)

    def request(self, path="/", query="", method="GET", host="files.example", **headers):
        fields = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        pairs = tuple((name, value) for name, values in parse_qs(query).items() for value in values)
        all_headers = (("Host", host), *fields, *((("Cookie", cookies),) if cookies else ()))
        name = host.partition(":")[0]
        told = {"authority": host, "public_path": self.public_path}
        return Request(method, name, RequestPath(path), query, pairs, all_headers, "https", **told)

    def store_cookies(self, lines):
        for line in lines:
            name, _, value = line.partition(";")[0].partition("=")
            if "Max-Age=0" in line:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value

    def store_sent(self, lines, host, other):
        """Stores the cookies that a browser sends to another host than the one that set them."""
        domains = [re.search(r"Domain=([^;]+)", each) for each in lines]
        sent = [f".{other}".endswith(f".{each[1].lower()}") if each else host == other for each in domains]
        self.store_cookies([line for line, is_sent in zip(lines, sent, strict=True) if is_sent])

    async def authenticate(self, *arguments, **options):
        return await self.authenticator.authenticate(self.request(*arguments, **options), GUARD)

    async def begin(self, return_to="https://files.example/a?b=c"):
        """Visits the login page; returns the parameters that the browser sends to the issuer."""
        answer = await self.authenticator.login(self.request("/auth/id", f"rd={quote(return_to, safe='')}"))
        self.store_cookies(answer.cookies)
        parameters = {name: values[0] for name, values in parse_qs(urlsplit(answer.location).query).items()}
        self.nonce = parameters.get("nonce", "")
        return parameters

    async def call_back(self, state, extra="code=c"):
        answer = await self.authenticator.callback(self.request("/auth/id/callback", f"state={state}&{extra}"))
        self.store_cookies(answer.cookies)
        return answer

    async def sign_in(self):
        return await self.call_back((await self.begin())["state"])


@pytest.mark.parametrize("redirect_url", [None, "https://files.example", "https://files.example/files/"])
async def test_a_sign_in_behind_a_proxy_that_takes_a_path_off(redirect_url):
    """The addresses of its steps, the page to return to and the cookies have the public path, once."""
    scenario = _Scenario(redirect_url=redirect_url and GuardedUrl(redirect_url))
    scenario.public_path = "/files"
    refused = await scenario.authenticate("/a", "b=c", Accept="text/html")
    assert refused.location == "/files/auth/id?rd=https%3A%2F%2Ffiles.example%2Ffiles%2Fa%3Fb%3Dc"
    login = await scenario.authenticator.login(scenario.request("/auth/id"))
    scenario.store_cookies(login.cookies)
    sent = parse_qs(urlsplit(login.location).query)
    scenario.nonce = sent["nonce"][0]
    answer = await scenario.call_back(sent["state"][0])
    gone = await scenario.authenticator.logout(scenario.request("/auth/id/logout"))
    assert sent["redirect_uri"] == ["https://files.example/files/auth/id/callback"]
    assert (answer.status, answer.location) == (307, "/files/")
    assert "post_logout_redirect_uri=https%3A%2F%2Ffiles.example%2Ffiles%2F&" in gone.location
    assert [each for each in (*login.cookies, *answer.cookies) if "Path=/files;" not in each] == []
    assert sorted(re.findall("oidc=; Path=([^;]+); Max-Age=0", " ".join(gone.cookies))) == ["/", "/files"]


@pytest.mark.parametrize(
    ("page", "location"),
    [
        ("/€?ü=ä", "/%E2%82%AC?%C3%BC=%C3%A4"),
        ("https://files.example/a%20b?c=%2F&d=€#e", "https://files.example/a%20b?c=%2F&d=%E2%82%AC#e"),
    ],
)
async def test_a_page_to_return_to_beyond_latin_1_is_escaped(page, location):
    """The address of the page to return to is a header, which has no other characters than those of ASCII."""
    scenario = _Scenario()
    assert (await scenario.call_back((await scenario.begin(page))["state"])).location == location


@pytest.mark.parametrize(
    ("path", "query", "location"),
    [
        ("/a", "x=C:\\b", "https://files.example/a?x=C:%5Cb"),
        ("/a", "ä=%C3%A4&x=\xff", "https://files.example/a?%E4=%C3%A4&x=%FF"),
        ("/a b+c%/ä", "", "https://files.example/a%20b%2Bc%25/%C3%A4"),
        ("/a", "x=" + "y" * 2000, "https://files.example/a"),
        ("/" + "ä" * 500, "", "/"),
    ],
)
async def test_every_page_can_be_signed_in_for(path, query, location):
    """A login leads back to the same bytes of a query and the same path, or as near as possible."""
    scenario = _Scenario()
    refused = await scenario.authenticate(path, query, Accept="text/html")
    rd = dict(parse_qsl(urlsplit(refused.location).query)).get("rd", "")
    assert ((await scenario.call_back((await scenario.begin(rd))["state"])).location) == location


async def test_a_bearer_token_signs_in():
    scenario = _Scenario()
    assert await scenario.authenticate(Authorization=f"Bearer {scenario.token()}") == SignIn(ANN)
    refused = await scenario.authenticate(Authorization=f"Bearer {scenario.token(aud='other')}")
    assert (refused.status, refused.challenge) == (401, 'Bearer error="invalid_token"')
    scenario.down, scenario.now = True, scenario.now + 10_000
    assert (await _Scenario().authenticate(Authorization="Bearer x")).status == 401


@pytest.mark.parametrize(
    "cookies", ["oidc={old}; oidc={new}", "oidc=x; oidc={new}", "oidc={new}; oidc.1=x", "oidc=; oidc={new}"]
)
async def test_no_other_cookie_of_the_name_hides_a_session(cookies):
    """A session counts beside one of before `cookieDomains` changed, old chunks, and what another host of the domain set."""
    old, new = _Scenario(), _Scenario(cookie_domains=("example",))
    for each in (old, new):
        await each.sign_in()
    sent = cookies.format(old=old.cookies["oidc"], new=new.cookies["oidc"])
    new.cookies.clear()
    assert await new.authenticate(Cookie=sent) == SignIn(ANN)
    assert (await new.authenticate(method="PUT", Cookie=sent, Origin="https://evil.example")).status == 403


@pytest.mark.parametrize("verified", [True, False])
async def test_a_session_counts_as_long_as_its_address_is_verified_enough(verified):
    """After an edit to `emailVerified: true`, a session of an unverified address ends in a login, at once."""
    before, after = _Scenario(), _Scenario(email_verified=True)
    before.claims["email_verified"] = verified
    await before.sign_in()
    assert isinstance(await before.authenticate(), SignIn)
    after.cookies = before.cookies
    found = await after.authenticate(Sec_Fetch_Mode="navigate")
    assert isinstance(found, SignIn) if verified else (found.status, found.location is None) == (307, False)


@pytest.mark.parametrize("first", ["Bearer {token}", "Basic YTpi", "Bearer x"])
async def test_two_authorizations_are_refused(first):
    """Of two headers with credentials none counts, as with passwords: a server in front may have read the other one."""
    scenario = _Scenario()
    token = scenario.token()
    fields = (("Authorization", first.format(token=token)), ("authorization", f"Bearer {token}"))
    request = replace(scenario.request(), headers=fields)
    assert (await scenario.authenticator.authenticate(request, GUARD)).status == 401


async def test_a_token_in_the_cookie_signs_in():
    """A user who signed in with s3-proxy, whose cookies contain tokens, stays signed in."""
    scenario = _Scenario()
    scenario.cookies = {"oidc": scenario.token()}
    assert await scenario.authenticate() == SignIn(ANN)


@pytest.mark.parametrize("token", ["expired", "a.b.c"])
async def test_a_token_in_the_cookie_that_does_not_count_ends_in_a_login(token):
    """A browser with an old cookie of s3-proxy, or with another program's token under that name, can sign in."""
    scenario = _Scenario()
    scenario.cookies = {"oidc": scenario.token(exp=1) if token == "expired" else token}
    assert (await scenario.authenticate(Sec_Fetch_Mode="navigate")).status == 307
    assert (await scenario.authenticate(method="PUT")).status == 401
    await scenario.sign_in()
    assert await scenario.authenticate() == SignIn(ANN)


async def test_an_expired_token_within_the_tolerance_begins_no_session():
    """A token that only the tolerance for clocks saves would end in the next login, and so on without an end."""
    scenario = _Scenario()
    scenario.claims["exp"] = scenario.now - 30
    assert (await scenario.sign_in()).status == 401
    scenario.refresh_token = "r1"
    assert (await scenario.sign_in()).status == 307


async def test_logins_that_nobody_finishes_leave_few_cookies():
    """32 logins wait at most, the newest ones, so that their cookies never outgrow the head of a request."""
    scenario = _Scenario()
    states = [(await scenario.begin(f"/{'x' * 1900}"))["state"] for _ in range(50)]
    assert len(scenario.cookies) == 32
    assert len(scenario.request().headers[-1][1]) < 2200
    assert [(await scenario.call_back(state, "error=x")).status for state in states] == [400] * 18 + [401] * 32
    assert scenario.cookies == {}


@pytest.mark.parametrize("first", [0, 5, 11])
async def test_many_tabs_sign_in_at_once(first):
    """Each tab of a restored browser begins a login before any cookie has come; whichever ends first, all get their pages."""
    scenario, tabs = _Scenario(), []
    for number in range(12):
        waiting, scenario.cookies = scenario.cookies, {}
        state = (await scenario.begin(f"https://files.example/{number}"))["state"]
        scenario.cookies |= waiting
        tabs.append((number, state, scenario.nonce))
    for number, state, scenario.nonce in [tabs[first], *tabs]:
        answer = await scenario.call_back(state)
        assert (answer.status, answer.location) == (307, f"https://files.example/{number}")
        assert await scenario.authenticate() == SignIn(ANN)


@pytest.mark.parametrize(
    "change",
    ["cookie is gone", "state is old", "state was invented", "no state", "code was used", "issuer is down", "refused"],
)
async def test_a_callback_of_someone_who_is_signed_in_leads_on(change):
    """A late, repeated or bookmarked callback leads to the page that was wanted, if that is known, and to no new session."""
    scenario, extra = _Scenario(), "code=c"
    scenario.claims["exp"] = scenario.now + 10_000
    state = (await scenario.begin("https://files.example/late"))["state"]
    await scenario.sign_in()
    session = scenario.cookies["oidc"]
    match change:
        case "cookie is gone":
            scenario.cookies = {"oidc": session}
        case "state is old":
            scenario.now += 601
        case "state was invented" | "no state":
            state = "x" if "invented" in change else ""
        case "code was used":
            scenario.refuses = True
        case "issuer is down":
            scenario.down = True
        case "refused":
            extra = "error=access_denied"
    answer = await scenario.call_back(state, extra)
    page = "/" if change in ("state was invented", "no state") else "https://files.example/late"
    assert (answer.status, answer.location, scenario.cookies["oidc"]) == (307, page, session)


async def test_a_login_that_failed_offers_another_to_the_same_page():
    """Whoever is not signed in gets to the page that was wanted by one more login."""
    scenario = _Scenario()
    state = (await scenario.begin("https://files.example/a?b=c"))["state"]
    for extra, status in (("error=access_denied", 401), ("code=c", 400)):
        answer = await scenario.call_back(state, extra)
        assert (answer.status, answer.location) == (status, "/auth/id?rd=https%3A%2F%2Ffiles.example%2Fa%3Fb%3Dc")


@pytest.mark.parametrize("host", ["[::1", "[", "]", "a]:b[", "[v1.x]"])
async def test_a_malformed_host_is_no_defect(host):
    """A login with a `Host` that is no authority goes on to the issuer, who knows no such redirect."""
    assert (await _Scenario().authenticator.login(_Scenario().request("/auth/id", host=host))).status == 302


async def test_nobody_is_sent_on_to_an_invented_host():
    """Who begins a login with a `Host` of another site gets a state that leads no other browser there."""
    scenario = _Scenario()
    query = f"rd={quote('https://evil.example/', safe='')}"
    begun = await scenario.authenticator.login(scenario.request("/auth/id", query, host="evil.example"))
    state = parse_qs(urlsplit(begun.location).query)["state"][0]
    await scenario.sign_in()
    assert (await scenario.call_back(state)).location == "/"
    scenario.cookies.clear()
    assert (await scenario.call_back(state)).location == "/auth/id?rd=%2F"


@pytest.mark.parametrize(
    ("change", "extra", "status"),
    [
        ({}, "error=access_denied", 401),
        ({}, "code=", 401),
        ({}, "error=x&code=c", 401),
        ({"refuses": True}, "code=c", 401),
        ({"down": True}, "code=c", 502),
        ({"now": 1_800_000_601.0}, "code=c", 400),
    ],
)
async def test_a_login_that_fails_has_its_status(change, extra, status):
    """The issuer refuses the login or the code, or cannot be reached, or the callback comes after ten minutes."""
    scenario = _Scenario()
    state = (await scenario.begin())["state"]
    for name, value in change.items():
        setattr(scenario, name, value)
    assert (await scenario.call_back(state, extra)).status == status


async def test_a_token_of_another_login_is_refused():
    """A token with the nonce of another login gets 401 (Core 3.1.3.7, 11)."""
    scenario = _Scenario()
    state = (await scenario.begin())["state"]
    scenario.nonce = "another"
    answer = await scenario.call_back(state)
    assert (answer.status, answer.reason) == (401, "the login is not accepted: the token was made for another login")
    assert "oidc" not in scenario.cookies


async def test_no_login_begins_without_the_issuer():
    scenario = _Scenario()
    scenario.down = True
    assert (await scenario.authenticator.login(scenario.request("/auth/id"))).status == 502


async def test_an_unverified_address_may_be_refused():
    """If the configuration requires a verified email address, sign-ins and tokens without one get 403."""
    scenario = _Scenario(email_verified=True)
    scenario.claims["email_verified"] = False
    assert (await scenario.sign_in()).status == 403
    assert (await scenario.authenticate(Authorization=f"Bearer {scenario.token()}")).status == 403


async def _expired_session(refresh_token="first"):
    """A scenario with a session whose ID token has expired."""
    scenario = _Scenario()
    scenario.refresh_token = refresh_token
    await scenario.sign_in()
    scenario.now, scenario.refresh_token = scenario.now + 301, "second"
    return scenario


async def test_a_session_is_renewed_with_its_refresh_token():
    """The answer after a renewal sets the cookies of the new session."""
    scenario = await _expired_session()
    scenario.claims["groups"] = ["editors", "admins"]
    answer = await scenario.authenticate()
    assert answer.user.groups == ("editors", "admins")
    scenario.store_cookies(answer.cookies)
    assert (await scenario.authenticate()).cookies == ()


@pytest.mark.parametrize(
    "change",
    [
        {"refuses": True},
        {"claims": {"preferred_username": "eve"}},
        {"refresh_token": secrets.token_urlsafe(20_000)},
        {"renewed": {"id_token": None}},
        {"renewed": {"id_token": ""}},
        {"renewed": {"id_token": "a.b.c"}},
        {"status": 302},
        {"status": 204},
        {"status": 404},
    ],
)
async def test_a_session_that_cannot_be_renewed_ends(change):
    """A refusal, another user, more than fits into cookies, no valid ID token: only silence and faults are forgiven."""
    scenario = await _expired_session()
    for name, value in change.items():
        setattr(scenario, name, value)
    assert (await scenario.authenticate()).status == 307


@pytest.mark.parametrize("change", [{"down": True}, {"status": 500}, {"status": 503}, {"status": 429}])
async def test_a_session_goes_on_for_a_day_without_its_issuer(change):
    """While the issuer is away, a session goes on for a day after its ID token has expired, and no longer."""
    scenario = await _expired_session()
    for name, value in change.items():
        setattr(scenario, name, value)
    scenario.now += 24 * 3600 - 2
    assert await scenario.authenticate() == SignIn(ANN)
    scenario.now += 1
    assert (await scenario.authenticate()).status == 503


async def test_a_refresh_token_is_redeemed_once():
    """Parallel requests with one cookie, and late ones, share one renewal: many issuers end a session whose token comes twice."""
    scenario = await _expired_session()
    answers = await asyncio.gather(*(scenario.authenticate() for _ in range(20)))
    scenario.now += 59
    answers.append(await scenario.authenticate())
    assert scenario.renewals == ["first"]
    assert all(each.cookies for each in answers)
    scenario.store_cookies(answers[-1].cookies)
    scenario.now += 301
    await scenario.authenticate()
    assert scenario.renewals == ["first", "second"]


async def test_a_rotated_token_is_not_lost_with_its_request():
    """A renewal goes on if the client leaves, and the next request with the same cookie gets the new tokens."""
    scenario = await _expired_session()
    began, answered = asyncio.Event(), asyncio.Event()

    async def wait():
        began.set()
        await answered.wait()

    scenario.wait = wait
    request = asyncio.ensure_future(scenario.authenticate())
    await began.wait()
    request.cancel()
    await asyncio.gather(request, return_exceptions=True)
    answered.set()
    scenario.store_cookies((await scenario.authenticate()).cookies)
    scenario.now += 301
    await scenario.authenticate()
    assert scenario.renewals == ["first", "second"]


async def test_an_issuer_that_hangs_delays_few_requests(monkeypatch):
    """A request waits for a renewal for a moment only, and the next ones do not ask an issuer that hangs."""
    monkeypatch.setattr(oidc_provider.limits, "PROVIDER_PATIENCE", 0.01)
    scenario = await _expired_session()
    answered = asyncio.Event()
    scenario.wait = answered.wait
    assert await scenario.authenticate() == SignIn(ANN)
    other = await _expired_session("another")
    other.authenticator = scenario.authenticator
    assert await other.authenticate() == SignIn(ANN)
    assert scenario.renewals == ["first"]
    answered.set()
    await asyncio.sleep(0.01)
    assert (await scenario.authenticate()).cookies


async def test_a_session_counts_for_its_host_and_provider_only():
    """A session is refused on another host, unless both share a cookie domain, and by another provider."""
    scenario = _Scenario()
    await scenario.sign_in()
    assert isinstance(await scenario.authenticate(host="other.example"), Refuse)
    other_scenario = _Scenario(client_secret=Secret("x", "another secret...."))
    other_scenario.cookies = scenario.cookies
    assert isinstance(await other_scenario.authenticate(), Refuse)
    shared_scenario = _Scenario(cookie_domains=("example",))
    await shared_scenario.sign_in()
    assert await shared_scenario.authenticate(host="other.example") == SignIn(ANN)


@pytest.mark.parametrize("domains", [("example",), ("deep.files.example", ".Example")])
@pytest.mark.parametrize("host", ["files.example", "deep.files.example", "login.example", "other.test"])
async def test_a_sign_in_may_start_at_another_host_than_that_of_its_callback(domains, host):
    """The cookies of hosts that share a domain come along to the host of `redirectUrl`, and are removed there."""
    scenario = _Scenario(redirect_url=GuardedUrl("https://login.example"), cookie_domains=domains)
    begun = await scenario.authenticator.login(scenario.request("/auth/id", f"rd=https%3A%2F%2F{host}%2Fa", host=host))
    assert all(("Domain=" in each) == (host in ("files.example", "deep.files.example")) for each in begun.cookies)
    scenario.store_sent(begun.cookies, host, "login.example")
    parameters = parse_qs(urlsplit(begun.location).query)
    scenario.nonce = parameters["nonce"][0]
    query = f"state={parameters['state'][0]}&code=c"
    ended = await scenario.authenticator.callback(scenario.request("/auth/id/callback", query, host="login.example"))
    if host == "other.test":
        assert ended.status == 400
        return
    assert (ended.status, ended.location) == (307, f"https://{host}/a")
    scenario.store_sent(ended.cookies, "login.example", host)
    assert list(scenario.cookies) == ["oidc"]
    assert await scenario.authenticate(host=host) == SignIn(ANN)
    again = await scenario.authenticator.callback(scenario.request("/auth/id/callback", query, host="login.example"))
    assert (again.status, again.location) == (307, f"https://{host}/a")


@pytest.mark.parametrize("sent", [{"Sec_Fetch_Site": "cross-site"}, {"Origin": "https://evil.example"}])
async def test_a_page_of_another_origin_logs_nobody_out(sent):
    """Not even one that CORS lets write."""
    scenario = _Scenario()
    assert (await scenario.authenticator.logout(scenario.request("/", **sent))).status == 403


def _accepts(address):
    scenario = _Scenario()
    request = scenario.request("/auth/id", f"rd={quote(address, safe='')}")
    return asyncio.run(scenario.authenticator.login(request)).status == 302


@given(st.text("/\\:@.?#\t\n ehtps[]", max_size=20))
def test_no_address_leads_to_another_host(address):
    """No accepted address leads to another host, even if white space is dropped and backslashes are slashes."""
    resolved = re.sub(r"[\t\n\r]", "", address).replace("\\", "/")
    if _accepts(address) and address:
        assert re.match(r"/(?!/)", resolved) or re.match(r"https://files\.example(?:[/?#]|$)", resolved, re.IGNORECASE)


def test_a_session_shows_no_token():
    """Neither the `repr` of a session, which a traceback can contain, nor its rich form has a token."""
    session = _Session(User("ann"), 0.0, "a.example", "r3fresh", "t0ken")
    assert (repr(session), session.__rich_repr__()) == ("_Session()", [])
