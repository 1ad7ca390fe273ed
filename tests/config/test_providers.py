from pathlib import Path

import pytest
from configurations import MINIMAL, compiled, report

from tornado_proxy.config.loading import compile_configuration
from tornado_proxy.config.providers import OidcProvider
from tornado_proxy.config.secrets import Secret, unresolved
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.rules.diagnostic import SourceFile

OIDC = "authProviders: {oidc: {id: {issuerUrl: https://id.example, clientID: me, clientSecret: {env: SECRET}}}}\n"


def test_the_paths_of_a_provider_have_its_name():
    default = OidcProvider("id", GuardedUrl("https://id.example"), "me")
    assert default.pages == {"login": "/auth/id", "callback": "/auth/id/callback", "logout": "/auth/id/logout"}
    configured = OidcProvider(
        "id", GuardedUrl("https://id.example"), "me", login="/in", callback="/back", logout="/out"
    )
    assert configured.pages == {"login": "/in", "callback": "/back", "logout": "/out"}


def test_the_key_of_sessions_is_the_session_key_or_the_client_secret():
    key, secret = Secret("x", "a key of its own"), Secret("y", "the client's secret")
    assert OidcProvider("id", GuardedUrl("u"), "me", secret, key).session_secret() == b"a key of its own"
    assert OidcProvider("id", GuardedUrl("u"), "me", secret).session_secret() == b"the client's secret"
    assert OidcProvider("id", GuardedUrl("u"), "me").session_secret() == b""


CERTIFICATE = "authProviders: {clientCertificate: {devices: {username: email}}}\n"


def _resource(options):
    return f"targets: {{site: {{bucket: {{name: my-bucket}}, resources: [{{path: /**, {options}}}]}}}}\n"


def test_a_policy_server_for_users_with_passwords_is_read():
    options = (
        "provider: staff, basic: {credentials: [{user: ann, password: {env: PW}}],"
        " authorizationOPAServer: {url: 'http://127.0.0.1:8181/v1/data/allow', tags: {a: b}}}"
    )
    text = "authProviders: {basic: {staff: {realm: R}}}\n" + _resource(options)
    loaded = compile_configuration(SourceFile("config.yaml", text), Path(), unresolved)
    assert loaded.diagnostics == ()
    server = loaded.settings.targets[0].resources[0].opa
    assert (server.url, server.tags) == (GuardedUrl("http://127.0.0.1:8181/v1/data/allow"), (("a", "b"),))


@pytest.mark.parametrize(
    "server", ["", "server: {ssl: {selfSignedHostnames: [a]}}\n", "server: {ssl: {enabled: false}}\n"]
)
def test_sign_in_by_certificates_needs_client_auth(server):
    diagnostics = compiled(server + CERTIFICATE + _resource("provider: devices")).diagnostics
    assert [diagnostic.message for diagnostic in diagnostics] == [
        "nobody can sign in by certificates: clients are not asked for one"
    ]


def test_sign_in_by_certificates_with_client_auth_is_valid():
    """A resource may require groups of a user with a certificate."""
    ssl = "server: {ssl: {selfSignedHostnames: [a], clientAuth: request, clientCAs: clients.pem}}\n"
    options = "provider: devices, clientCertificate: {authorizationAccesses: [{group: editors}]}"
    loaded = compiled(ssl + CERTIFICATE + _resource(options))
    assert loaded.diagnostics == ()
    (resource,) = loaded.settings.resources
    assert resource.authorization.accesses[0].group == "editors"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OIDC.replace(", clientSecret: {env: SECRET}", "") + _resource("provider: id"), "sessions of `id` have no key"),
        (OIDC.replace("{env: SECRET}", "{value: short}") + _resource("provider: id"), "`clientSecret` has fewer than 16"),
        (OIDC.replace("}}}}", "}, sessionKey: {value: short}}}}") + _resource("provider: id"), "`sessionKey` has fewer"),
        (OIDC.replace("me,", "me, loginPath: /,") + _resource("provider: id"), "cannot be `/`"),
        (OIDC + _resource("provider: id, header: {}"), "`header` does not fit the provider `id`"),
        (OIDC + _resource("provider: id, oidc: {authorizationAccesses: [{}]}"), "a rule names either a `group` or an `email`"),
        (OIDC.replace("https://id.example", "'https://[id'") + _resource("provider: id"), "is not a URL"),
        ("server: {trustedProxies: [10.0.0]}\n" + MINIMAL, "cannot be `10.0.0`"),
        (OIDC.replace("https://id.example", "id.example") + _resource("provider: id"), "is not a URL"),
        (OIDC.replace("me,", "me, loginPath: //evil,") + _resource("provider: id"), "cannot be `//evil`"),
        (OIDC.replace("me,", "me, cookieName: 'a b',") + _resource("provider: id"), "cannot be `a b`"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported(text, message):
    assert message in report(text)


def test_a_valid_provider_has_no_diagnostic():
    rules = "[{group: editors}, {email: '@example.org$', regexp: true}]"
    text = OIDC + _resource(f"provider: id, oidc: {{authorizationAccesses: {rules}}}")
    assert compiled(text, {"SECRET": "0123456789abcdef"}).diagnostics == ()
