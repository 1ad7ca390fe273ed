import pytest
from conversions import made

from tornado_proxy.tools.convert.options import Unreadable
from tornado_proxy.tools.convert.report import OptionOutcome
from tornado_proxy.tools.convert.sign_in import PRIVATE_NETWORKS

TARGETS = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"
SECRET = "clientSecret: {env: SECRET}"
NEEDED = "issuerUrl: 'https://id.example', clientID: me, state: s"


def _oidc(options):
    return made(f"{TARGETS}authProviders: {{oidc: {{id: {{{NEEDED}, {options}}}}}}}\n")


def _provider(options):
    return _oidc(options).document["authProviders"]["oidc"]["id"]


def test_a_provider_is_carried_over_as_it_is():
    """Every option of the same meaning, and nothing is reported."""
    options = (
        "groupClaim: roles, cookieName: session, scopes: [openid, email], cookieDomains: [example.org],"
        " emailVerified: true, cookieSecure: true, loginPath: /in, callbackPath: /back, redirectUrl: 'https://a.example/'"
    )
    done = _oidc(f"{SECRET}, {options}")
    assert done.document["authProviders"]["oidc"]["id"] == {
        "issuerUrl": "https://id.example",
        "clientID": "me",
        "clientSecret": {"env": "SECRET"},
        "groupClaim": "roles",
        "cookieName": "session",
        "scopes": ["openid", "email"],
        "cookieDomains": ["example.org"],
        "emailVerified": True,
        "cookieSecure": True,
        "redirectUrl": "https://a.example/",
        "loginPath": "/in",
        "callbackPath": "/back",
    }
    assert done.report.complete


def test_the_path_of_the_redirect_url_is_a_part_of_the_callback_s():
    """As in s3-proxy, which is asked there, too."""
    done = _provider(f"{SECRET}, redirectUrl: 'https://a.example/files/'")
    assert (done["redirectUrl"], done["callbackPath"]) == ("https://a.example", "/files/auth/id/callback")
    assert done["loginPath"] == "/auth/id"


@pytest.mark.parametrize(("secret", "why"), [("", "there is no"), ("clientSecret: {value: short},", "is too short")])
def test_sessions_without_a_secret_get_a_random_one(secret, why):
    """Each conversion makes another; the report names it."""
    first, second = (_oidc(f"{secret} emailVerified: true") for _ in range(2))
    keys = [each.document["authProviders"]["oidc"]["id"]["sessionKey"]["value"] for each in (first, second)]
    assert keys[0] != keys[1]
    assert all(len(each) >= 40 for each in keys)
    assert any(why in message for message in first.messages(OptionOutcome.ADAPTED))


def test_headers_are_believed_from_private_networks():
    """s3-proxy believes everybody; the report says so."""
    headers = "usernameHeader: X-User, emailHeader: X-Email, groupsHeader: X-Groups"
    done = made(f"{TARGETS}authProviders: {{header: {{front: {{{headers}}}}}}}\n")
    assert done.document["server"]["trustedProxies"] == list(PRIVATE_NETWORKS)
    assert done.files["tornado-proxy.yaml"].count('\nserver: {listenAddr: "", port: 8080, ') == 1
    assert done.document["authProviders"]["header"]["front"]["groupsHeader"] == "X-Groups"
    (message,) = done.messages(OptionOutcome.CHANGED)
    assert message.startswith("headers that name a user are believed from 127.0.0.0/8, ")


def test_providers_of_one_name_get_names_of_their_own():
    """In s3-proxy a name counts within its kind."""
    done = made(f"{TARGETS}authProviders: {{basic: {{id: {{realm: R}}}}, oidc: {{id: {{{NEEDED}, {SECRET}}}}}}}\n")
    assert done.document["authProviders"]["basic"] == {"id": {"realm": "R"}}
    assert done.document["authProviders"]["oidc"]["id-oidc"]["loginPath"] == "/auth/id"
    assert "another provider is called `id`: it is `id-oidc`" in done.messages(OptionOutcome.ADAPTED)


@pytest.mark.parametrize(
    ("providers", "message"),
    [
        ("oidc: {id: {clientID: me}}", "`authProviders.oidc.id.issuerUrl` is missing"),
        ("oidc: {id: {issuerUrl: id, clientID: me}}", "`authProviders.oidc.id.issuerUrl` is not a URL"),
        (f"oidc: {{id: {{{NEEDED.replace('state: s', 'state: a:b')}}}}}", "`state` holds a `:`"),
        (f"oidc: {{id: {{{NEEDED}, loginPath: /}}}}", "cannot be the pages of a login"),
        (f"oidc: {{id: {{{NEEDED}, callbackPath: /}}}}", "cannot be the pages of a login"),
        (f"oidc: {{id: {{{NEEDED}, loginPath: /a, callbackPath: /a}}}}", "cannot be the pages of a login"),
        (f"oidc: {{id: {{{NEEDED}, loginPath: //a}}}}", "cannot be `//a`"),
        ("header: {front: {usernameHeader: X-User}}", "`authProviders.header.front.emailHeader` is missing"),
        ("header: {front: {usernameHeader: 'a b', emailHeader: X-Email}}", "usernameHeader` cannot be `a b`"),
    ],
)
def test_a_provider_with_which_s3_proxy_does_not_start_is_refused(providers, message):
    """There is nothing that would run as before."""
    with pytest.raises(Unreadable) as refused:
        made(f"{TARGETS}authProviders: {{{providers}}}\n")
    assert message in str(refused.value)
