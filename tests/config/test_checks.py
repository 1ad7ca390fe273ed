from __future__ import annotations

from pathlib import Path

import pytest
from configurations import MINIMAL, codes_and_messages, codes_and_messages_in_target, settings

from tornado_proxy.config.document import compose
from tornado_proxy.config.model import Mount, Target
from tornado_proxy.config.reader import read
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.rules.diagnostic import SourceFile

TEXT = """\
targets:
  'b': {bucket: {name: b-b}, mount: {path: [/x, /y]}, actions: {PUT: {config: {maxSize: 5}}}}
  a: {bucket: {name: a-a}, mount: {path: /z}}
  c: {bucket: {name: c-c}}
"""
SOURCE = SourceFile("config.yaml", TEXT)


@pytest.fixture
def context():
    """The context of a configuration with three targets, the last one without a mount."""
    reader_context, _ = read(compose(TEXT).root, SOURCE, Path(), unresolved)
    return reader_context


def _texts(spans):
    return [span.text for span in spans]


def test_sections_of_a_class_are_in_the_order_of_the_file(context):
    """The sections that the file contains are listed, and defaults are not."""
    assert [section.name for section in context.sections(Target)] == ["b", "a", "c"]
    assert [mount.paths for mount in context.sections(Mount)] == [("/x/", "/y/"), ("/z/",)]


def test_the_name_of_a_section_has_a_place(context):
    """The place of a target's name includes its quotes."""
    assert _texts(context.name(target) for target in context.settings.targets) == ["'b'", "a", "c"]
    assert context.quoted_name(context.settings.targets[0]) == "`b`"


def test_items_of_a_list_have_places(context):
    """Each item of a list has a place, and a single value that stands for a list has one too."""
    paths = [context.values(mount, "path") for mount in context.sections(Mount)]
    assert [_texts(spans) for spans in paths] == [["/x", "/y"], ["/z"]]


def test_a_missing_option_has_the_place_of_its_section(context):
    """A diagnostic about a missing option points at its section."""
    put = context.settings.targets[0].actions.put
    assert _texts((context.key(put, "enabled"), *context.values(put, "enabled"))) == ["{config: {maxSize: 5}}"] * 2
    assert not context.is_set(put, "enabled")


def test_a_missing_section_has_no_given_options(context):
    """The options of a default section are not given in the file."""
    assert not context.is_set(context.settings.log, "level")
    assert not context.is_set(context.settings.targets[1].actions.put, "config.maxSize")


def _targets(*mounts):
    bodies = (f"  {name}: {{bucket: {{name: my-bucket}}{mount}}}\n" for name, mount in zip("abc", mounts, strict=False))
    return "targets:\n" + "".join(bodies)


@pytest.mark.parametrize(
    ("first", "second", "mount"),
    [
        ("", "", "`/` of any host"),
        (", mount: {path: /x}", ", mount: {path: [/y, x/]}", "`/x/` of any host"),
        (", mount: {host: a.org}", ", mount: {host: A.ORG, path: /}", "`/` of the host `a.org`"),
        (", mount: {host: '*.a.org'}", ", mount: {host: '*.A.org'}", "`/` of the host `*.a.org`"),
        (", mount: {host: '*'}", ", mount: {path: [/]}", "`/` of any host"),
    ],
)
def test_overlapping_mounts_are_an_error(first, second, mount):
    """Two targets with the same host and path are both named."""
    assert codes_and_messages(_targets(first, second)) == [
        ("overlapping-mounts", f"targets `a` and `b` are both mounted at {mount}")
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (", mount: {path: /}", ", mount: {path: /x}"),
        (", mount: {host: a.org}", ", mount: {host: b.org}"),
        (", mount: {host: a.org}", ""),
        (", mount: {host: a.org}", ", mount: {host: '*.org'}"),
    ],
)
def test_different_mounts_do_not_overlap(first, second):
    """Targets with different paths, hosts or patterns don't overlap."""
    assert codes_and_messages(_targets(first, second)) == []


def test_a_lone_percent_sign_has_no_warning():
    """A path may contain a percent sign."""
    assert codes_and_messages_in_target("mount: {path: /100%}") == []


@pytest.mark.parametrize(
    "text",
    [
        "server: {port: 0}\ninternalServer: {port: 0}",
        "server: {port: 7000, listenAddr: 10.0.0.1}\ninternalServer: {port: 7000}",
    ],
)
def test_listeners_with_different_addresses_are_accepted(text):
    """Listeners on port 0, or on different addresses, don't conflict."""
    assert codes_and_messages(f"{text}\n{MINIMAL}") == []


def test_other_servers_may_have_other_bucket_names():
    """With an endpoint, any bucket name is accepted."""
    assert codes_and_messages("targets: {a: {bucket: {name: My_Bucket, s3Endpoint: http://h}}}") == []


def test_a_cache_that_its_largest_objects_do_not_fit_into_has_a_warning():
    """An object above `maxSize` would never be cached."""
    message = "objects up to `maxObjectSize` do not fit into the cache, whose `maxSize` is less"
    assert codes_and_messages_in_target("cache: {maxSize: 2MiB, maxObjectSize: 3MiB}") == [("no-effect", message)]
    assert codes_and_messages_in_target("cache: {maxSize: 2MiB, maxObjectSize: 2MiB}") == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ('tryFiles: ["$path.html"]', "no file is served at its own address: `tryFiles` lacks `$path`"),
        (
            'tryFiles: ["$path", "$path/"]',
            "a path of `tryFiles` that ends in `/` has no effect: the target has no `indexDocument`",
        ),
    ],
)
def test_addresses_that_serve_no_file_have_a_warning(options, message):
    """Files without `$path`, and directories without an index document, are probably forgotten."""
    assert codes_and_messages_in_target(f"actions: {{GET: {{config: {{{options}}}}}}}") == [("no-effect", message)]


def test_suites_of_tls_1_3_only_need_tls_1_3():
    """Without a suite of the newest version that is allowed, no handshake could succeed."""
    ssl = "server: {ssl: {selfSignedHostnames: [a], cipherSuites: [TLS_AES_128_GCM_SHA256]%s}}\n"
    message = "`cipherSuites` has no suite of TLSv1.2, so nobody can connect"
    assert codes_and_messages(ssl % ", maxTLSVersion: '1.2'" + MINIMAL) == [("bad-value", message)]
    assert codes_and_messages(ssl % "" + MINIMAL) == []


def test_direct_uploads_need_allow_override():
    """A direct upload has no conditions, so the configuration must allow it to replace objects."""
    resources = "resources: [{path: /**, methods: [GET, PUT], whiteList: true}]"
    config = "actions: {PUT: {enabled: true, config: {directUploads: true%s}}}"
    message = "`directUploads` needs `allowOverride`: an upload straight to S3 replaces what is there"
    assert codes_and_messages_in_target(f"{config % ''}\n{resources}") == [("contradiction", message)]
    assert codes_and_messages_in_target(f"{config % ', allowOverride: true'}\n{resources}") == []


@pytest.mark.parametrize("body", ["enabled: false, config: {}", "enabled: false"])
def test_an_action_that_is_disabled_explicitly_has_no_warning(body):
    """`enabled: false` has no warning."""
    assert "no-effect" not in [code for code, _ in codes_and_messages_in_target(f"actions: {{PUT: {{{body}}}}}")]


@pytest.mark.parametrize(
    ("url", "has_warning"),
    [("http://hooks.example/", True), ("https://hooks.example/", False), ("http://127.0.0.1:9/", False)],
)
def test_secret_headers_over_http_have_a_warning(url, has_warning):
    """Secret headers of webhooks and traces over HTTP have a warning, except on loopback."""
    hook = f"actions: {{GET: {{config: {{webhooks: [{{url: '{url}', secretHeaders: {{A: {{env: SECRET}}}}}}]}}}}}}"
    traces = f"tracing: {{endpoint: '{url}', secretHeaders: {{A: {{env: SECRET}}}}}}\n{MINIMAL}"
    message = "`{}` is `http`, so `secretHeaders` can be read on the way"
    assert codes_and_messages_in_target(hook) == ([("open-secret", message.format("url"))] if has_warning else [])
    assert codes_and_messages(traces) == ([("open-secret", message.format("endpoint"))] if has_warning else [])


CERTIFICATE = "certificates: [{certificateUrl: a, privateKeyUrl: b}]"


def _codes_and_messages(ssl, listener="server"):
    return codes_and_messages(f"{listener}: {{ssl: {{{ssl}}}}}\n{MINIMAL}")


@pytest.mark.parametrize("listener", ["server", "internalServer"])
def test_tls_needs_a_certificate(listener):
    """TLS needs a certificate of either kind, unless it is disabled."""
    assert _codes_and_messages("enabled: true", listener) == [("no-certificate", "TLS has no certificate")]
    assert _codes_and_messages("enabled: false", listener) == []
    assert _codes_and_messages("selfSignedHostnames: [localhost]", listener) == []
    assert _codes_and_messages(CERTIFICATE, listener) == []


@pytest.mark.parametrize(
    ("options", "message"),
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
def test_a_certificate_has_each_part_once(options, message):
    """A certificate and its key are each given exactly once."""
    assert [text for _, text in _codes_and_messages(f"certificates: [{{{options}}}]")] == [message]


def test_a_misspelt_part_is_reported_once():
    """A misspelt part of a certificate is not reported as missing too."""
    assert [code for code, _ in _codes_and_messages("certificates: [{certificateURL: a, privateKeyUrl: b}]")] == [
        "unknown-option"
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            "clientAuth: require",
            ("missing-option", "client certificates cannot be verified: `clientCAs` is missing"),
        ),
        (
            "clientCAs: clients.pem",
            ("no-effect", "`clientCAs` has no effect: clients are not asked for a certificate"),
        ),
    ],
)
def test_client_certificates_need_their_authorities(options, expected):
    """`clientAuth` and `clientCAs` are given together."""
    assert _codes_and_messages(f"{CERTIFICATE}, {options}") == [expected]
    assert _codes_and_messages(f"{CERTIFICATE}, clientAuth: request, clientCAs: [a.pem, b.pem]") == []
    assert [code for code, _ in _codes_and_messages(f"{CERTIFICATE}, clientAuth: maybe")] == ["bad-value"]


def test_tls_versions_are_checked():
    """`minTLSVersion` must not be above `maxTLSVersion`, and a broken version has a warning."""
    message = "`minTLSVersion` TLSv1.3 is above `maxTLSVersion` TLSv1.2"
    assert _codes_and_messages(f"{CERTIFICATE}, minTLSVersion: '1.3', maxTLSVersion: '1.2'") == [("bad-value", message)]
    assert _codes_and_messages(f"{CERTIFICATE}, maxTLSVersion: '1.1'") == [
        ("bad-value", "`minTLSVersion` TLSv1.2 is above `maxTLSVersion` TLSv1.1")
    ]
    assert _codes_and_messages(f"{CERTIFICATE}, minTLSVersion: TLSv1.1") == [
        ("old-tls", "TLSv1.1 is broken, and browsers no longer support it")
    ]
    assert _codes_and_messages(f"{CERTIFICATE}, minTLSVersion: x") == [
        ("bad-value", "`minTLSVersion` is not a version of TLS")
    ]


def test_an_endpoint_needs_its_region():
    """An endpoint of AWS needs the region, which is part of the signature."""
    config = "certificateUrlConfig: {awsEndpoint: 'http://127.0.0.1:1'}"
    certificate = f"certificates: [{{certificateUrl: 's3://a/b', privateKeyUrl: b, {config}}}]"
    assert _codes_and_messages(certificate) == [("missing-option", "`awsEndpoint` is given without `awsRegion`")]
    assert _codes_and_messages(certificate.replace("{awsEndpoint", "{awsRegion: eu-west-1, awsEndpoint")) == []


@pytest.mark.parametrize("origins", ["", ", allowOrigins: ['*']", ", allowAll: true"])
def test_credentials_need_origins(origins):
    """`allowCredentials` without a list of origins has a warning, because browsers refuse the two together."""
    cors = f"server: {{cors: {{enabled: true, allowCredentials: true{origins}}}}}\n{MINIMAL}"
    message = "`allowCredentials` has no effect: browsers refuse it together with every origin"
    assert codes_and_messages(cors) == [("no-effect", message)]


@pytest.mark.parametrize(
    "cors",
    [
        "enabled: true, allowCredentials: true, allowOrigins: ['https://*.test']",
        "enabled: true, allowAll: true",
        "allowCredentials: true",
    ],
)
def test_other_cors_options_have_no_warning(cors):
    """Credentials with listed origins, or CORS without credentials, have no warning."""
    assert codes_and_messages(f"server: {{cors: {{{cors}}}}}\n{MINIMAL}") == []


@pytest.mark.parametrize(
    ("server", "speaks"),
    [
        ("{}", False),
        ("{ssl: {selfSignedHostnames: [localhost]}}", True),
        ("{ssl: {enabled: false, selfSignedHostnames: [localhost]}}", False),
    ],
)
def test_a_listener_with_ssl_speaks_tls_unless_it_is_disabled(server, speaks):
    """A listener without `ssl` speaks plain HTTP."""
    assert settings(f"server: {server}\n{MINIMAL}").server.speaks_tls is speaks


def test_the_proxy_protocol_needs_a_trusted_proxy():
    """The PROXY protocol is read from trusted proxies only."""
    assert codes_and_messages(f"server: {{proxyProtocol: true}}\n{MINIMAL}") == [
        ("no-effect", "`proxyProtocol` has no effect: no proxy is trusted")
    ]
    assert codes_and_messages(f"server: {{proxyProtocol: true, trustedProxies: [10.0.0.1]}}\n{MINIMAL}") == []
