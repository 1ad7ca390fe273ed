from pathlib import Path

import pytest
from configurations import MINIMAL, codes_and_messages, compiled, report, settings

from tornado_proxy.config.document import compose
from tornado_proxy.config.model import Target
from tornado_proxy.config.options import sections
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
def targets():
    """The targets of a configuration, the last one without a mount."""
    read_settings, _ = read(compose(TEXT).root, SOURCE, Path(), unresolved)
    assert [*sections(read_settings, Target)] == [*read_settings.targets]
    return read_settings.targets


def _texts(spans):
    return [span.text for span in spans]


def test_the_name_of_a_section_has_a_place(targets):
    assert _texts(target.place.name for target in targets) == ["'b'", "a", "c"]


def test_items_of_a_list_have_places(targets):
    paths = [target.mount.place.values("path") for target in targets[:2]]
    assert [_texts(spans) for spans in paths] == [["/x", "/y"], ["/z"]]


def test_a_missing_option_has_the_place_of_its_section(targets):
    put = targets[0].actions.put.place
    assert _texts((put.key("enabled"), *put.values("enabled"))) == ["{config: {maxSize: 5}}"] * 2
    assert (put.has("enabled"), put.has("config.maxSize")) == (False, True)


def test_a_missing_section_has_no_places(targets):
    put = targets[1].actions.put.place
    assert (put.has("config.maxSize"), put.name, put.key("enabled"), put.value("enabled")) == (False, None, None, None)


def test_places_count_in_no_comparison(targets):
    """Nor are the values of the file, which may be secret, in the text of one."""
    assert targets[0].place == targets[1].mount.place
    assert len({target.place for target in targets}) == 1
    assert repr(targets[0].place) == "ValuePlace()"


def _site(options):
    return f"targets: {{site: {{bucket: {{name: my-bucket}}, {options}}}}}"


def _server(options, listener="server"):
    return f"{listener}: {{{options}}}\n{MINIMAL}"


def _two(first, second):
    return f"targets: {{a: {{bucket: {{name: b-1}}{first}}}, b: {{bucket: {{name: b-2}}{second}}}}}"


CERTIFICATE = "certificates: [{certificateUrl: a, privateKeyUrl: b}]"
OPEN = "resources: [{path: /**, methods: [GET, PUT], whiteList: true}]"
HOOK = "actions: {GET: {config: {webhooks: [{url: '%s', secretHeaders: {A: {env: SECRET}}}]}}}"
TRACES = "tracing: {endpoint: '%s', secretHeaders: {A: {env: SECRET}}}\n" + MINIMAL
OVERLAP = "targets `a` and `b` are both mounted at "
ENDPOINT = "awsEndpoint: 'http://127.0.0.1:1'"
FETCHED = "certificates: [{certificateUrl: 's3://a/b', privateKeyUrl: b, certificateUrlConfig: {%s}}]"

FOUND = {
    "one path of several": (
        _two(", mount: {path: /x}", ", mount: {path: [/y, x/]}"), "overlapping-mounts", f"{OVERLAP}`/x/` of any host",
    ),
    "a host in another case": (
        _two(", mount: {host: a.org}", ", mount: {host: A.ORG, path: /}"),
        "overlapping-mounts", f"{OVERLAP}`/` of the host `a.org`",
    ),
    "a pattern": (
        _two(", mount: {host: '*.a.org'}", ", mount: {host: '*.A.org'}"),
        "overlapping-mounts", f"{OVERLAP}`/` of the host `*.a.org`",
    ),
    "a star for any host": (
        _two(", mount: {host: '*'}", ", mount: {path: [/]}"), "overlapping-mounts", f"{OVERLAP}`/` of any host",
    ),
    "objects that do not fit into the cache": (
        _site("cache: {maxSize: 2MiB, maxObjectSize: 3MiB}"),
        "no-effect", "objects up to `maxObjectSize` do not fit into the cache, whose `maxSize` is less",
    ),
    "no file at its own address": (
        _site('actions: {GET: {config: {tryFiles: ["$path.html"]}}}'),
        "no-effect", "no file is served at its own address: `tryFiles` lacks `$path`",
    ),
    "a directory without an index document": (
        _site('actions: {GET: {config: {tryFiles: ["$path", "$path/"]}}}'),
        "no-effect", "a path of `tryFiles` that ends in `/` has no effect: the target has no `indexDocument`",
    ),
    "suites of TLS 1.3 without it": (
        _server("ssl: {selfSignedHostnames: [a], cipherSuites: [TLS_AES_128_GCM_SHA256], maxTLSVersion: '1.2'}"),
        "bad-value", "`cipherSuites` has no suite of TLSv1.2, so nobody can connect",
    ),
    "direct uploads that would replace": (
        _site(f"actions: {{PUT: {{enabled: true, config: {{directUploads: true}}}}}}, {OPEN}"),
        "contradiction", "`directUploads` needs `allowOverride`: an upload straight to S3 replaces what is there",
    ),
    "secret headers of traces": (
        TRACES % "http://hooks.example/",
        "open-secret", "`endpoint` is `http`, so `secretHeaders` can be read on the way",
    ),
    "TLS of the admin listener without one": (
        _server("ssl: {enabled: true}", "internalServer"), "no-certificate", "TLS has no certificate",
    ),
    "a key alone": (
        _server("ssl: {certificates: [{privateKeyUrl: b}]}"),
        "missing-option", "a certificate lacks `certificate` or `certificateUrl`",
    ),
    "a certificate alone": (
        _server("ssl: {certificates: [{certificateUrl: a}]}"),
        "missing-option", "a certificate lacks `privateKey` or `privateKeyUrl`",
    ),
    "a certificate given twice": (
        _server("ssl: {certificates: [{certificate: x, certificateUrl: a, privateKeyUrl: b}]}"),
        "bad-value", "`certificate` and `certificateUrl` are both given",
    ),
    "a key given twice": (
        _server("ssl: {certificates: [{certificateUrl: a, privateKey: {env: SECRET}, privateKeyUrl: b}]}"),
        "bad-value", "`privateKey` and `privateKeyUrl` are both given",
    ),
    "a misspelt part, which is not missing too": (
        _server("ssl: {certificates: [{certificateURL: a, privateKeyUrl: b}]}"),
        "unknown-option", "unknown option `certificateURL`",
    ),
    "client certificates without authorities": (
        _server(f"ssl: {{{CERTIFICATE}, clientAuth: require}}"),
        "missing-option", "client certificates cannot be verified: `clientCAs` is missing",
    ),
    "authorities without client certificates": (
        _server(f"ssl: {{{CERTIFICATE}, clientCAs: clients.pem}}"),
        "no-effect", "`clientCAs` has no effect: clients are not asked for a certificate",
    ),
    "versions in the wrong order": (
        _server(f"ssl: {{{CERTIFICATE}, minTLSVersion: '1.3', maxTLSVersion: '1.2'}}"),
        "bad-value", "`minTLSVersion` TLSv1.3 is above `maxTLSVersion` TLSv1.2",
    ),
    "a version below the default one": (
        _server(f"ssl: {{{CERTIFICATE}, maxTLSVersion: '1.1'}}"),
        "bad-value", "`minTLSVersion` TLSv1.2 is above `maxTLSVersion` TLSv1.1",
    ),
    "no version": (
        _server(f"ssl: {{{CERTIFICATE}, minTLSVersion: x}}"), "bad-value", "`minTLSVersion` is not a version of TLS",
    ),
    "an endpoint without its region": (
        _server(f"ssl: {{{FETCHED % ENDPOINT}}}"),
        "missing-option", "`awsEndpoint` is given without `awsRegion`",
    ),
    **{
        f"credentials for {name} origin": (
            _server(f"cors: {{enabled: true, allowCredentials: true{origins}}}"),
            "no-effect", "`allowCredentials` has no effect: browsers refuse it together with every origin",
        )
        for name, origins in (("no", ""), ("every", ", allowOrigins: ['*']"), ("each", ", allowAll: true"))
    },
    "the PROXY protocol without a proxy": (
        _server("proxyProtocol: true"), "no-effect", "`proxyProtocol` has no effect: no proxy is trusted",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "code", "message"), FOUND.values(), ids=FOUND)
def test_options_that_contradict_each_other_are_found(text, code, message):
    assert codes_and_messages(text) == [(code, message)]


ACCEPTED = {
    "different paths": _two(", mount: {path: /}", ", mount: {path: /x}"),
    "different hosts": _two(", mount: {host: a.org}", ", mount: {host: b.org}"),
    "a host and any host": _two(", mount: {host: a.org}", ""),
    "a host and a pattern": _two(", mount: {host: a.org}", ", mount: {host: '*.org'}"),
    "a lone percent sign": _site("mount: {path: /100%}"),
    "two free ports": f"server: {{port: 0}}\ninternalServer: {{port: 0}}\n{MINIMAL}",
    "two addresses": f"server: {{port: 7000, listenAddr: 10.0.0.1}}\ninternalServer: {{port: 7000}}\n{MINIMAL}",
    "another server's bucket names": "targets: {a: {bucket: {name: My_Bucket, s3Endpoint: http://h}}}",
    "objects as large as the cache": _site("cache: {maxSize: 2MiB, maxObjectSize: 2MiB}"),
    "suites of TLS 1.3": _server("ssl: {selfSignedHostnames: [a], cipherSuites: [TLS_AES_128_GCM_SHA256]}"),
    "direct uploads that may replace": _site(
        f"actions: {{PUT: {{enabled: true, config: {{directUploads: true, allowOverride: true}}}}}}, {OPEN}"
    ),
    "an action that is off with its options": _site("actions: {PUT: {enabled: false, config: {}}}"),
    "an action that is off": _site("actions: {PUT: {enabled: false}}"),
    "reads that are open": _site("actions: {GET: {enabled: true}}"),
    "secrets over HTTPS": _site(HOOK % "https://hooks.example/"),
    "secrets on the loopback": _site(HOOK % "http://127.0.0.1:9/"),
    "traces over HTTPS": TRACES % "https://hooks.example/",
    "traces to the loopback": TRACES % "http://127.0.0.1:9/",
    "TLS that is off": _server("ssl: {enabled: false}"),
    "a certificate of its own": _server("ssl: {selfSignedHostnames: [localhost]}"),
    "a certificate": _server(f"ssl: {{{CERTIFICATE}}}"),
    "client certificates": _server(f"ssl: {{{CERTIFICATE}, clientAuth: request, clientCAs: [a.pem, b.pem]}}"),
    "an endpoint with its region": _server(f"ssl: {{{FETCHED % f'awsRegion: eu-west-1, {ENDPOINT}'}}}"),
    "credentials for listed origins": _server(
        "cors: {enabled: true, allowCredentials: true, allowOrigins: ['https://*.test']}"
    ),
    "all origins": _server("cors: {enabled: true, allowAll: true}"),
    "CORS that is off": _server("cors: {allowCredentials: true}"),
    "the PROXY protocol of a proxy": _server("proxyProtocol: true, trustedProxies: [10.0.0.1]"),
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED)
def test_options_that_agree_have_no_diagnostic(text):
    assert codes_and_messages(text) == []


@pytest.mark.parametrize(
    ("server", "speaks"),
    [
        ("{}", False),
        ("{ssl: {selfSignedHostnames: [localhost]}}", True),
        ("{ssl: {enabled: false, selfSignedHostnames: [localhost]}}", False),
    ],
)
def test_a_listener_with_ssl_speaks_tls_unless_it_is_disabled(server, speaks):
    assert settings(f"server: {server}\n{MINIMAL}").server.speaks_tls is speaks


USERS = "basic: {credentials: [{user: ann, password: {env: ANN}}]}"
STAFF = f"provider: staff, {USERS}"
WHITE_LIST = "whiteList: true"


def _text(*resources, mount="{path: /}", actions="{}", providers="{staff: {realm: Files}}"):
    items = "".join(f"      - {{{resource}}}\n" for resource in resources)
    return f"""\
authProviders: {{basic: {providers}}}
targets:
  site:
    bucket: {{name: my-bucket}}
    mount: {mount}
    actions: {actions}
    resources:
{items}"""


def _codes_and_messages(*resources, **parts):
    return codes_and_messages(_text(*resources, **parts))


def _only_diagnostic(*resources, **parts):
    (diagnostic,) = compiled(_text(*resources, **parts)).diagnostics
    return diagnostic


@pytest.mark.parametrize(
    ("providers", "help"),
    [
        ("{guests: {realm: Files}, friends: {realm: Files}}", "the providers are `guests` and `friends`"),
        ("{}", "declare it in `authProviders`"),
    ],
)
def test_an_unknown_provider_has_a_help(providers, help):
    assert _only_diagnostic(f"path: /**, provider: staf, {USERS}", providers=providers).help == help


@pytest.mark.parametrize(
    ("glob", "mount", "is_outside"),
    [
        ("/public/**", "{path: /files}", True),
        ("/file", "{path: /files}", True),
        ("/files", "{path: /files/deep}", True),
        ("/filesystem/*", "{path: /files}", True),
        ("/**", "{path: /files}", False),
        ("/files", "{path: /files}", False),
        ("/files/**", "{path: /files}", False),
        ("/files/a/*", "{path: [/other, /files]}", False),
        ("/*/a", "{path: /files}", False),
        ("/fi*/a", "{path: /files}", False),
    ],
)
def test_a_glob_outside_the_mount_has_a_warning(glob, mount, is_outside):
    """A glob that certainly doesn't begin with the mount path covers nothing: it matches the whole request path."""
    warning = ("outside-mount", "the glob covers nothing of target `site`")
    assert _codes_and_messages(f"path: {glob}, {WHITE_LIST}", mount=mount) == [warning] * is_outside


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("path: /a/**", "path: /a"),
        ("path: /a/*", "path: /a/*"),
        ("path: /**, methods: [GET, PUT]", "path: /x, methods: [PUT]"),
    ],
)
def test_an_unreachable_resource_has_a_warning(first, second):
    """A resource after a more general one is never used, because the first match decides."""
    diagnostic = _only_diagnostic(f"{first}, {WHITE_LIST}", f"{second}, {STAFF}")
    assert diagnostic.code == "unreachable-resource"
    assert diagnostic.message.endswith("is never used: an earlier resource matches first")
    assert diagnostic.notes[0].message == "this one matches its requests"


def test_several_resources_together_may_hide_a_resource():
    """A resource is unreachable if the earlier resources together match all of its requests."""
    resources = (f"path: /**, methods: [GET], {WHITE_LIST}", f"path: /a/**, methods: [PUT], {WHITE_LIST}")
    diagnostics = _codes_and_messages(*resources, f"path: /a/b, methods: [GET, PUT], {STAFF}")
    assert [code for code, _ in diagnostics] == ["unreachable-resource"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("path: /public/**", "path: /**"),
        ("path: /a/**", "path: /ab"),
        ("path: /**, methods: [PUT]", "path: /a"),
        ("path: /*/**", "path: /a"),
    ],
)
def test_a_reachable_resource_has_no_warning(first, second):
    assert _codes_and_messages(f"{first}, {WHITE_LIST}", f"{second}, {STAFF}") == []


def test_a_disabled_method_needs_no_resource():
    actions = "{GET: {enabled: false}, PUT: {enabled: true}}"
    assert _codes_and_messages(f"path: /**, methods: [PUT], {STAFF}", actions=actions) == []


def test_user_isolation_needs_users():
    actions = "actions: {GET: {config: {userIsolation: true}}}"
    printed = report(f"targets: {{site: {{bucket: {{name: b}}, {actions}}}}}")
    assert "error[isolation-without-users]: `userIsolation` needs users, and nobody has to sign in" in printed
