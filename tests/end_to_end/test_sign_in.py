"""Sign-in at an OpenID issuer and by headers with a running server, and attacks on it."""

from urllib.parse import parse_qs, urlsplit

import pytest
from browsing import Browser
from issuer import ANN, CLIENT, CLIENT_SECRET, new_key, running_issuer
from joserfc import jwt
from running import form, start_proxy

SAME_ORIGIN = {"Origin": "http://files.example", "Sec-Fetch-Site": "same-origin"}
CONFIGURATION = """
server: {{port: 0, trustedProxies: [{trusted}]}}
authProviders:
  oidc:
    id: {{issuerUrl: "{issuer}", clientID: {client}, clientSecret: {{value: {secret}}}}}
    other: {{issuerUrl: "{issuer}", clientID: other, clientSecret: {{value: {secret}}}, cookieName: other}}
  basic: {{staff: {{realm: Staff}}}}
  header:
    front: {{usernameHeader: X-User, emailHeader: X-Email, groupsHeader: X-Groups}}
targets:
  site:
    bucket: {{name: {bucket.name}, s3Endpoint: "{bucket.endpoint}", region: us-east-1}}
    mount: {{path: [/]}}
    actions: {{PUT: {{enabled: true, config: {{allowOverride: true}}}}, DELETE: {{enabled: true}}}}
    resources:
      - path: /editors/**
        provider: id
        oidc: {{authorizationAccesses: [{{email: mallory@example.org, forbidden: true}}, {{group: editors}}]}}
      - {{path: /policy/**, provider: id, oidc: {{authorizationOPAServer: {{url: "{issuer}/policy", tags: {{a: b}}}}}}}}
      - path: /password/**
        provider: staff
        basic:
          credentials: [{{user: ann, password: {{value: right}}}}]
          authorizationOPAServer: {{url: "{issuer}/policy"}}
      - {{path: /headers/**, provider: front, header: {{authorizationAccesses: [{{group: editors}}]}}}}
      - {{path: /other/**, provider: other}}
      - {{path: /**, methods: [GET, PUT, DELETE], provider: id}}
"""


@pytest.fixture(scope="module")
def issuer():
    """An issuer for all tests of the module."""
    with running_issuer() as started:
        yield started


def _start(folder, issuer, bucket, trusted):
    for folder_name in ("", "editors/", "policy/", "headers/", "other/", "password/"):
        bucket.put(f"{folder_name}a.txt", f"{folder_name}a.txt".encode())
    bucket.put("deep/b c.txt", b"deep/b c.txt")
    text = CONFIGURATION.format(issuer=issuer.url, client=CLIENT, secret=CLIENT_SECRET, bucket=bucket, trusted=trusted)
    return start_proxy(folder, text)


@pytest.fixture(scope="module")
def proxy(issuer, bucket, tmp_path_factory):
    """A server that trusts no proxy."""
    with _start(tmp_path_factory.mktemp("proxy"), issuer, bucket, "") as started:
        yield started


@pytest.fixture(scope="module")
def trusting_proxy(issuer, bucket, tmp_path_factory):
    """A server that trusts the tests as a proxy."""
    with _start(tmp_path_factory.mktemp("behind"), issuer, bucket, "127.0.0.1") as started:
        yield started


@pytest.fixture(autouse=True)
def _usual_claims(issuer):
    issuer.claims, issuer.policy_allows = dict(ANN), True
    issuer.policy_inputs.clear()


@pytest.fixture
def ann(proxy):
    """A browser in which Ann is signed in."""
    browser = Browser(proxy)
    browser.open("/a.txt")
    return browser


def _token(issuer, **claims):
    return {"Authorization": f"Bearer {issuer.token(**claims)}"}


def test_a_deep_link_is_kept_through_the_login(proxy):
    """The login leads back to the requested page, and the next page needs no login."""
    browser = Browser(proxy)
    answer = browser.open("/deep/b%20c.txt?x=1&y=%2F")
    assert (answer.status, answer.text) == (200, "deep/b c.txt")
    assert browser.url == "http://files.example/deep/b%20c.txt?x=1&y=%2F"
    assert list(browser.cookies) == ["oidc"]
    assert browser.request("/a.txt").status == 200
    assert all("HttpOnly; SameSite=Lax" in line for line in browser.set_cookie_headers)


def test_a_sign_in_works_behind_a_proxy_that_takes_a_path_off(trusting_proxy):
    """Each step, the page to return to and the cookies are found below the path."""
    browser = Browser(trusting_proxy, public_path="/files")
    assert browser.open("/files/deep/b%20c.txt?x=1").text == "deep/b c.txt"
    assert browser.url == "http://files.example/files/deep/b%20c.txt?x=1"
    assert all("Path=/files;" in line for line in browser.set_cookie_headers)
    page = browser.request("/files/auth/id/logout").text
    assert 'action="/files/auth/id/logout"' in page
    browser.request("/files/auth/id/logout", "POST", SAME_ORIGIN)
    assert browser.cookies == {}


def test_a_logout_ends_the_session_here_and_at_the_issuer(ann, issuer):
    """A logout deletes the cookie and redirects to the issuer's logout with the token, and the next page needs a login."""
    answer = ann.request("/auth/id/logout", "POST", SAME_ORIGIN)
    assert (answer.status, urlsplit(answer.headers["location"]).path) == (303, "/end")
    query = parse_qs(urlsplit(answer.headers["location"]).query)
    assert (query["client_id"], query["post_logout_redirect_uri"]) == ([CLIENT], ["http://files.example/"])
    assert jwt.decode(query["id_token_hint"][0], issuer.key, ["RS256"]).claims["preferred_username"] == "ann"
    assert ann.cookies == {}
    assert ann.request("/a.txt").status == 307
    assert issuer.url in answer.headers["location"]


def test_a_program_signs_in_with_a_token_or_gets_a_401(proxy, issuer):
    assert proxy.request("GET", "/a.txt", headers=_token(issuer)).text == "a.txt"
    refused = proxy.request("GET", "/a.txt", headers={"Accept": "application/json"})
    assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize(
    ("claims", "status"),
    [({}, 200), ({"groups": ["guests"]}, 403), ({"groups": []}, 403), ({"email": "mallory@example.org"}, 403)],
)
def test_rules_decide_about_groups_and_addresses(proxy, issuer, claims, status):
    """The first rule that matches the user's group or address decides."""
    assert proxy.request("GET", "/editors/a.txt", headers=_token(issuer, **claims)).status == status


@pytest.mark.parametrize(("permits", "status"), [(True, 200), (False, 403)])
def test_a_policy_decides(proxy, issuer, permits, status):
    issuer.policy_allows = permits
    assert proxy.request("GET", "/policy/a.txt?x=1", headers=_token(issuer)).status == status
    (policy_input,) = issuer.policy_inputs
    assert (policy_input["user"]["preferred_username"], policy_input["user"]["groups"]) == ("ann", ["editors"])
    request = policy_input["request"]
    assert (request["path"], request["parsed_path"]) == ("/policy/a.txt?x=1", ["policy", "a.txt"])
    assert policy_input["tags"] == {"a": "b"}


@pytest.mark.parametrize(("permits", "status"), [(True, 200), (False, 403)])
def test_a_policy_decides_about_users_with_passwords(proxy, issuer, permits, status):
    issuer.policy_allows = permits
    assert proxy.request("GET", "/password/a.txt", user="ann:wrong").status == 401
    assert issuer.policy_inputs == []
    assert proxy.request("GET", "/password/a.txt", user="ann:right").status == status
    assert issuer.policy_inputs[0]["user"] == {"username": "ann", "email": "", "groups": []}


HEADERS = {"X-User": "ann", "X-Email": "ann@example.org", "X-Groups": "editors, staff"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [(HEADERS, 200), ({**HEADERS, "X-Groups": "guests"}, 403), ({"X-User": "ann"}, 401), ({}, 401)],
)
def test_headers_of_a_trusted_proxy_name_the_user(trusting_proxy, headers, status):
    """A trusted proxy must send name and address, and rules use the groups."""
    assert trusting_proxy.request("GET", "/headers/a.txt", headers=headers).status == status


# Attacks


def test_headers_of_other_clients_are_ignored(proxy):
    """Headers that name a user count only from a trusted proxy."""
    assert proxy.request("GET", "/headers/a.txt", headers=HEADERS).status == 401
    forged = {**HEADERS, "X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1"}
    assert proxy.request("GET", "/headers/a.txt", headers=forged).status == 401


@pytest.mark.parametrize("name", ["../ben", "..", "a/b", "a\tb"])
def test_a_name_that_is_no_path_segment_is_refused(trusting_proxy, proxy, issuer, name):
    """A user's name becomes a segment of keys, so a name with a slash or dots is refused in headers and tokens."""
    assert trusting_proxy.request("GET", "/headers/a.txt", headers={**HEADERS, "X-User": name}).status in (400, 401)
    assert proxy.request("GET", "/a.txt", headers=_token(issuer, preferred_username=name)).status == 401


@pytest.mark.parametrize("path", ["//evil.example/%2e%2e", "/%5Cevil.example/", "//evil.example"])
def test_a_path_that_looks_like_another_site_leads_back_to_this_one(proxy, path):
    """The login gets the requested page as an absolute URL of this site."""
    answer = Browser(proxy).request(path)
    if answer.status == 307:
        return_url = parse_qs(urlsplit(answer.headers["location"]).query)["rd"][0]
        assert urlsplit(return_url).netloc == "files.example"
        assert answer.headers["location"].startswith("/auth/id?rd=")
    else:
        assert answer.status == 400


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "cross-site"}]
)
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_page_of_another_origin_writes_nothing(ann, bucket, method, headers):
    """A PUT or DELETE with the cookie is refused if a page of another origin sends it."""
    form_headers, body = form("a.txt", b"changed")
    path = "/" if method == "PUT" else "/a.txt"
    answer = ann.request(path, method, {**form_headers, **headers}, body if method == "PUT" else None)
    assert answer.status == 403
    assert bucket.get("a.txt") == b"a.txt"


def test_a_page_of_this_origin_writes(ann, bucket):
    headers, body = form("new.txt", b"new")
    assert ann.request("/", "PUT", {**headers, "Origin": "http://files.example"}, body).status == 201
    assert bucket.get("new.txt") == b"new"


def test_a_picture_logs_nobody_out(ann):
    """A GET of the logout, which a page can make with a picture, asks by a form that posts."""
    for headers in ({}, {"Sec-Fetch-Dest": "image"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = ann.request("/auth/id/logout?x", "GET", headers)
        assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
        assert '<form class="ways" method="post" action="/auth/id/logout">' in answer.text
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "form-action" not in answer.headers["content-security-policy"]
    assert ann.request("/a.txt").status == 200


def test_a_login_cookie_is_not_a_session(proxy):
    browser = Browser(proxy)
    browser.request("/auth/id")
    (login,) = browser.cookies.values()
    assert Browser(proxy, cookies={"oidc": login}).request("/a.txt").status == 307


def _start_login(browser):
    """Starts a login; returns the URL at the issuer and the state in it."""
    location = browser.request("/auth/id").headers["location"]
    return location, parse_qs(urlsplit(location).query)["state"][0]


def test_a_state_counts_once_and_in_its_own_browser(proxy):
    browser = Browser(proxy)
    _, state = _start_login(browser)
    stranger = Browser(proxy)
    assert stranger.request(f"/auth/id/callback?code=c&state={state}").status == 400
    assert browser.request("/auth/id/callback?code=c&state=other").status == 400
    assert browser.request(f"/auth/id/callback?code=c&state={state}").status == 401
    assert browser.request(f"/auth/id/callback?code=c&state={state}").status == 400


def test_a_code_of_another_login_is_refused(proxy, issuer):
    """A code of another login doesn't match the PKCE verifier and the nonce."""
    attacker, victim = Browser(proxy), Browser(proxy)
    location, _ = _start_login(attacker)
    query = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
    issuer.logins["stolen"] = query
    _, state = _start_login(victim)
    assert victim.request(f"/auth/id/callback?code=stolen&state={state}").status == 401
    assert "oidc" not in victim.cookies


def _forged(issuer):
    claims = jwt.decode(issuer.token(), issuer.key, ["RS256"]).claims
    header, payload, signature = issuer.token().split(".")
    kid = issuer.key.kid
    return {
        "no signature": f"{header}.{payload}.",
        "alg none": f"eyJhbGciOiJub25lIn0.{payload}.",
        "alg NONE": f"eyJhbGciOiJOT05FIn0.{payload}.",
        "another key": jwt.encode({"alg": "RS256", "kid": kid}, claims, new_key(kid)),
        "another payload": f"{header}.{payload[:-2]}AA.{signature}",
        "five parts": "a.b.c.d.e",
        "empty": "",
        "large": "a" * 20000,
    }


def test_a_forged_token_opens_nothing(proxy, issuer):
    for attack, token in _forged(issuer).items():
        answer = proxy.request("GET", "/a.txt", headers={"Authorization": f"Bearer {token}"})
        assert answer.status in (401, 431), attack
        assert Browser(proxy, cookies={"oidc": token}).request("/a.txt").status in (307, 401, 431), attack


def test_a_forged_host_changes_no_redirect(proxy, issuer):
    """A forwarded host of an untrusted client doesn't change the URL that the issuer redirects to."""
    location = Browser(proxy).request("/auth/id", headers={"X-Forwarded-Host": "evil.example"}).headers["location"]
    assert parse_qs(urlsplit(location).query)["redirect_uri"] == ["http://files.example/auth/id/callback"]
    assert location.startswith(f"{issuer.url}/authorize?")
