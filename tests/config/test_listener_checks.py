import pytest
from configurations import MINIMAL, complaints, settings

CERTIFICATE = "certificates: [{certificateUrl: a, privateKeyUrl: b}]"


def _complaints(ssl, listener="server"):
    return complaints(f"{listener}: {{ssl: {{{ssl}}}}}\n{MINIMAL}")


@pytest.mark.parametrize("listener", ["server", "internalServer"])
def test_tls_needs_a_certificate(listener):
    """One of either kind, unless it is off."""
    assert _complaints("enabled: true", listener) == [("no-certificate", "TLS has no certificate")]
    assert _complaints("enabled: false", listener) == []
    assert _complaints("selfSignedHostnames: [localhost]", listener) == []
    assert _complaints(CERTIFICATE, listener) == []


@pytest.mark.parametrize(
    ("server", "speaks"),
    [
        ("{}", False),
        ("{ssl: {selfSignedHostnames: [localhost]}}", True),
        ("{ssl: {enabled: false, selfSignedHostnames: [localhost]}}", False),
    ],
)
def test_a_listener_speaks_tls_unless_it_is_off(server, speaks):
    """Without `ssl` it speaks plain HTTP."""
    assert settings(f"server: {server}\n{MINIMAL}").server.speaks_tls is speaks


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("privateKeyUrl: b", "a certificate lacks `certificate` or `certificateUrl`"),
        ("certificateUrl: a", "a certificate lacks `privateKey` or `privateKeyUrl`"),
        ("certificate: x, certificateUrl: a, privateKeyUrl: b", "`certificate` and `certificateUrl` are both given"),
        (
            "certificateUrl: a, privateKey: {env: SECRET}, privateKeyUrl: b",
            "`privateKey` and `privateKeyUrl` are both given",
        ),
    ],
)
def test_a_certificate_has_each_part_once(given, message):
    """Neither none nor two."""
    assert [said for _, said in _complaints(f"certificates: [{{{given}}}]")] == [message]


def test_a_misspelt_part_is_reported_once():
    """The check is silent where the reader has spoken."""
    assert [code for code, _ in _complaints("certificates: [{certificateURL: a, privateKeyUrl: b}]")] == [
        "unknown-option"
    ]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (
            "clientAuth: require",
            ("missing-option", "nobody's certificate can be verified: `clientCAs` is missing"),
        ),
        (
            "clientCAs: clients.pem",
            ("no-effect", "`clientCAs` has no effect: no client is asked for a certificate"),
        ),
    ],
)
def test_certificates_of_clients_are_asked_for_with_their_authorities(given, complaint):
    """Neither alone means anything."""
    assert _complaints(f"{CERTIFICATE}, {given}") == [complaint]
    assert _complaints(f"{CERTIFICATE}, clientAuth: request, clientCAs: [a.pem, b.pem]") == []
    assert [code for code, _ in _complaints(f"{CERTIFICATE}, clientAuth: maybe")] == ["bad-value"]


def test_versions_have_an_order():
    """The oldest is not newer than the newest; what is broken is warned of."""
    message = "`minTLSVersion` TLSv1.3 is above `maxTLSVersion` TLSv1.2"
    assert _complaints(f"{CERTIFICATE}, minTLSVersion: '1.3', maxTLSVersion: '1.2'") == [("bad-value", message)]
    assert _complaints(f"{CERTIFICATE}, maxTLSVersion: '1.1'") == [
        ("bad-value", "`minTLSVersion` TLSv1.2 is above `maxTLSVersion` TLSv1.1")
    ]
    assert _complaints(f"{CERTIFICATE}, minTLSVersion: TLSv1.1") == [
        ("old-tls", "TLSv1.1 is broken, and no browser speaks it any more")
    ]
    assert _complaints(f"{CERTIFICATE}, minTLSVersion: x") == [("bad-value", "`minTLSVersion` is not a version of TLS")]


def test_cipher_suites_that_count_for_nothing_are_warned_of():
    """Those of TLS 1.3 are always offered."""
    only_new = f"{CERTIFICATE}, cipherSuites: [TLS_AES_128_GCM_SHA256]"
    assert _complaints(only_new) == [
        ("no-effect", "`cipherSuites` has none of TLS 1.2, so the usual ones are offered there")
    ]
    assert _complaints(f"{only_new}, minTLSVersion: '1.3'") == []
    assert _complaints(f"{CERTIFICATE}, cipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]") == []


def test_an_endpoint_needs_its_region():
    """The signature names it."""
    config = "certificateUrlConfig: {awsEndpoint: 'http://127.0.0.1:1'}"
    certificate = f"certificates: [{{certificateUrl: 's3://a/b', privateKeyUrl: b, {config}}}]"
    assert _complaints(certificate) == [("missing-option", "`awsEndpoint` is given without `awsRegion`")]
    assert _complaints(certificate.replace("{awsEndpoint", "{awsRegion: eu-west-1, awsEndpoint")) == []


def test_the_proxy_protocol_needs_a_proxy():
    """It is read from trusted ones only."""
    assert complaints(f"server: {{proxyProtocol: true}}\n{MINIMAL}") == [
        ("no-effect", "`proxyProtocol` has no effect: no proxy is trusted")
    ]
    assert complaints(f"server: {{proxyProtocol: true, trustedProxies: [10.0.0.1]}}\n{MINIMAL}") == []


@pytest.mark.parametrize("origins", ["", ", allowOrigins: ['*']", ", allowAll: true"])
def test_credentials_need_origins(origins):
    """Browsers refuse them together with every origin."""
    cors = f"server: {{cors: {{enabled: true, allowCredentials: true{origins}}}}}\n{MINIMAL}"
    message = "`allowCredentials` has no effect: no browser accepts it together with every origin"
    assert complaints(cors) == [("no-effect", message)]


@pytest.mark.parametrize(
    "cors",
    [
        "enabled: true, allowCredentials: true, allowOrigins: ['https://*.test']",
        "enabled: true, allowAll: true",
        "allowCredentials: true",
    ],
)
def test_other_cors_is_sound(cors):
    """Nothing is said of it."""
    assert complaints(f"server: {{cors: {{{cors}}}}}\n{MINIMAL}") == []
