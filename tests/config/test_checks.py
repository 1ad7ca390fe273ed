from __future__ import annotations

from pathlib import Path

import pytest
from configurations import MINIMAL, codes_and_messages, codes_and_messages_in_target, compiled, settings

from tornado_proxy.config.document import compose
from tornado_proxy.config.model import Mount, Target
from tornado_proxy.config.reader import read
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.lang.diagnostic import Diagnostic, Note, Severity, SourceFile, Span

TEXT = """\
targets:
  'b': {bucket: {name: b-b}, mount: {path: [/x, /y]}, actions: {PUT: {config: {maxSize: 5}}}}
  a: {bucket: {name: a-a}, mount: {path: /z}}
  c: {bucket: {name: c-c}}
"""
SHOWN = SourceFile("config.yaml", TEXT)


@pytest.fixture
def context():
    """Three targets, the last one without a mount of its own."""
    found, _ = read(compose(TEXT).root, SHOWN, Path(), unresolved)
    return found


def _texts(*nodes):
    return [TEXT[node.start : node.end] for node in nodes]


def test_sections_of_a_class_are_found_in_the_order_of_the_file(context):
    """Only those that stand in the file, not defaults."""
    assert [each.name for each in context.sections(Target)] == ["b", "a", "c"]
    assert [each.paths for each in context.sections(Mount)] == [("/x/", "/y/"), ("/z/",)]


def test_name_of_a_section_has_a_node(context):
    """The key that names a target is found, quotes and all."""
    assert _texts(*(context.name(each) for each in context.settings.targets)) == ["'b'", "a", "c"]
    assert context.quoted_name(context.settings.targets[0]) == "`b`"


def test_items_of_a_list_have_nodes(context):
    """The nodes of a list's items are found, and the one of an item that stands for a list."""
    paths = [context.items(each, "path") for each in context.sections(Mount)]
    assert [_texts(*nodes) for nodes in paths] == [["/x", "/y"], ["/z"]]


def test_option_has_nodes(context):
    """The key and the value of an option are found, in a group too."""
    put = context.settings.targets[0].actions.put
    nodes = context.key(put, "config.maxSize"), context.value(put, "config.maxSize")
    assert _texts(*nodes) == ["maxSize", "5"]
    assert context.given(put, "config.maxSize")


def test_option_left_out_stands_where_its_section_does(context):
    """A diagnostic can point at the section that lacks the option."""
    put = context.settings.targets[0].actions.put
    assert _texts(context.key(put, "enabled")) == ["{config: {maxSize: 5}}"]
    assert not context.given(put, "enabled")


def test_section_left_out_has_no_options(context):
    """A default gives nothing, whatever its values are."""
    assert not context.given(context.settings.log, "level")
    assert not context.given(context.settings.targets[1].actions.put, "config.maxSize")


def test_finding_becomes_a_diagnostic_with_both_places(context):
    """An error or a warning has the span of its node, and a note that of the second."""
    first, second, _ = (context.name(each) for each in context.settings.targets)
    finding = ("a-code", "a fact", second, "a cure", ("the other", first))
    note = Note("the other", Span(SHOWN, first.start, first.end))
    span = Span(SHOWN, second.start, second.end)
    assert context.error(*finding) == Diagnostic("a-code", "a fact", span, "a cure", (note,))
    assert context.warning(*finding) == Diagnostic("a-code", "a fact", span, "a cure", (note,), Severity.WARNING)


def _targets(*mounts):
    bodies = (f"  {name}: {{bucket: {{name: my-bucket}}{mount}}}\n" for name, mount in zip("abc", mounts, strict=False))
    return "targets:\n" + "".join(bodies)


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [
        ("", "", "`/` of any host"),
        (", mount: {path: /x}", ", mount: {path: [/y, x/]}", "`/x/` of any host"),
        (", mount: {host: a.org}", ", mount: {host: A.ORG, path: /}", "`/` of the host `a.org`"),
        (", mount: {host: '*.a.org'}", ", mount: {host: '*.A.org'}", "`/` of the host `*.a.org`"),
        (", mount: {host: '*'}", ", mount: {path: [/]}", "`/` of any host"),
    ],
)
def test_two_targets_at_one_place_are_an_error(first, second, place):
    """Targets that cannot be told apart are both named."""
    assert codes_and_messages(_targets(first, second)) == [
        ("overlapping-mounts", f"targets `a` and `b` are both mounted at {place}")
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
def test_more_special_mount_is_no_overlap(first, second):
    """A longer path, another host or a pattern tells targets apart."""
    assert codes_and_messages(_targets(first, second)) == []


def test_overlap_has_both_places():
    """The second mount has the mistake, the first a note."""
    (told,) = compiled(_targets(", mount: {path: [/y, /x]}", ", mount: {path: x}")).diagnostics
    (note,) = told.notes
    assert (told.span.text, note.span.text, note.message) == ("x", "/x", "`a` is mounted here")
    assert told.help == "give one of them another path or host"


@pytest.mark.parametrize(
    ("first", "second", "places"),
    [
        ("", "", ("b", "a")),
        (", mount: {}", ", mount: {host: ''}", ("b", "a")),
    ],
)
def test_a_default_mount_is_shown_by_the_name_of_its_target(first, second, places):
    """A default has no place of its own."""
    (told,) = compiled(_targets(first, second)).diagnostics
    assert (told.span.text, told.notes[0].span.text) == places


def test_only_valid_options_are_compared():
    """Contradictions are reported once each option can be read."""
    assert [code for code, _ in codes_and_messages(_targets(", mount: {path: 5}", ""))] == ["wrong-type"]


@pytest.mark.parametrize(
    ("text", "escape"),
    [
        ("mount: {path: [/a, /b%20c]}", "%20"),
        ("resources: [{path: /100%25/**, whiteList: true}]", "%25"),
    ],
)
def test_percent_escape_in_a_path_is_warned_of(text, escape):
    """Paths are compared decoded, so an escape stands for itself."""
    assert codes_and_messages_in_target(text) == [
        ("percent-escape", f"`{escape}` is not decoded: paths are compared after decoding")
    ]


def test_percent_sign_alone_is_no_escape():
    """A path may have a percent sign in it."""
    assert codes_and_messages_in_target("mount: {path: /100%}") == []


@pytest.mark.parametrize(
    "text",
    [
        "server: {port: 9090}",
        "internalServer: {port: 8080}",
        "server: {port: 7000, listenAddr: ''}\ninternalServer: {port: 7000}",
        "server: {port: 7000}\ninternalServer: {port: 7000, listenAddr: 0.0.0.0}",
    ],
)
def test_two_listeners_on_one_port_are_an_error(text):
    """The second could not listen where the first does."""
    ((code, message),) = codes_and_messages(f"{text}\n{MINIMAL}")
    assert code == "same-listener"
    assert message.startswith("`server` and `internalServer` both listen on port")


@pytest.mark.parametrize(
    "text",
    [
        "server: {port: 0}\ninternalServer: {port: 0}",
        "server: {port: 7000, listenAddr: 10.0.0.1}\ninternalServer: {port: 7000}",
    ],
)
def test_listeners_apart_are_no_mistake(text):
    """Any free port, and ports of different addresses, do not meet."""
    assert codes_and_messages(f"{text}\n{MINIMAL}") == []


def test_second_listener_is_noted():
    """Where both ports are given, both are shown."""
    (told,) = compiled(f"server: {{port: 7000}}\ninternalServer: {{port: 7000}}\n{MINIMAL}").diagnostics
    assert [note.span.first.line for note in told.notes] == [1]
    assert told.span.first.line == 2


def test_place_of_rules_listed_twice_is_an_error():
    """The rewrites of one place would be there twice."""
    assert codes_and_messages(f"rules: [a, b, ./a/]\n{MINIMAL}") == [
        ("duplicate-place", "the rules in `./a/` are listed twice")
    ]


def test_bucket_name_that_aws_refuses_is_warned_of():
    """Where AWS is asked, its rules for names hold."""
    assert codes_and_messages("targets: {a: {bucket: {name: My_Bucket}}}") == [
        ("bucket-name", "`My_Bucket` is not a valid bucket name on AWS")
    ]


def test_other_servers_have_other_bucket_names():
    """Where another server is asked, its names are its own affair."""
    assert codes_and_messages("targets: {a: {bucket: {name: My_Bucket, s3Endpoint: http://h}}}") == []


def test_a_form_of_s3_replaces_what_is_there():
    """It has no condition, so the configuration has to allow it."""
    resources = "resources: [{path: /**, methods: [GET, PUT], whiteList: true}]"
    config = "actions: {PUT: {enabled: true, config: {directUploads: true%s}}}"
    message = "`directUploads` needs `allowOverride`: an upload straight to S3 replaces what is there"
    assert codes_and_messages_in_target(f"{config % ''}\n{resources}") == [("contradiction", message)]
    assert codes_and_messages_in_target(f"{config % ', allowOverride: true'}\n{resources}") == []


@pytest.mark.parametrize("body", ["config: {allowOverride: true}", "config: {}"])
def test_configured_action_that_is_off_is_warned_of(body):
    """Whoever configures uploads wants them on, or says that they are off."""
    assert codes_and_messages_in_target(f"actions: {{PUT: {{{body}}}}}") == [
        ("no-effect", "`PUT` is configured but not enabled")
    ]


@pytest.mark.parametrize("body", ["enabled: false, config: {}", "enabled: false"])
def test_action_that_is_off_on_purpose_is_no_mistake(body):
    """`enabled: false` is an answer."""
    assert "no-effect" not in [code for code, _ in codes_and_messages_in_target(f"actions: {{PUT: {{{body}}}}}")]


def test_warnings_do_not_keep_a_configuration_from_use():
    """What is only odd is told, and used."""
    loaded = compiled("targets: {a: {bucket: {name: My_Bucket}}}")
    assert [each.severity for each in loaded.diagnostics] == [Severity.WARNING]
    assert loaded.settings


@pytest.mark.parametrize(
    ("url", "warned"),
    [("http://hooks.example/", True), ("https://hooks.example/", False), ("http://127.0.0.1:9/", False)],
)
def test_secret_headers_over_http_are_warned_of(url, warned):
    """Of webhooks and of traces, unless they stay on the machine."""
    hook = f"actions: {{GET: {{config: {{webhooks: [{{url: '{url}', secretHeaders: {{A: {{env: SECRET}}}}}}]}}}}}}"
    traces = f"tracing: {{endpoint: '{url}', secretHeaders: {{A: {{env: SECRET}}}}}}\n{MINIMAL}"
    message = "`{}` is `http`, so `secretHeaders` can be read on the way"
    assert codes_and_messages_in_target(hook) == ([("open-secret", message.format("url"))] if warned else [])
    assert codes_and_messages(traces) == ([("open-secret", message.format("endpoint"))] if warned else [])


CERTIFICATE = "certificates: [{certificateUrl: a, privateKeyUrl: b}]"


def _complaints(ssl, listener="server"):
    return codes_and_messages(f"{listener}: {{ssl: {{{ssl}}}}}\n{MINIMAL}")


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
            ("missing-option", "client certificates cannot be verified: `clientCAs` is missing"),
        ),
        (
            "clientCAs: clients.pem",
            ("no-effect", "`clientCAs` has no effect: clients are not asked for a certificate"),
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
        ("old-tls", "TLSv1.1 is broken, and browsers no longer support it")
    ]
    assert _complaints(f"{CERTIFICATE}, minTLSVersion: x") == [("bad-value", "`minTLSVersion` is not a version of TLS")]


def test_an_endpoint_needs_its_region():
    """The signature names it."""
    config = "certificateUrlConfig: {awsEndpoint: 'http://127.0.0.1:1'}"
    certificate = f"certificates: [{{certificateUrl: 's3://a/b', privateKeyUrl: b, {config}}}]"
    assert _complaints(certificate) == [("missing-option", "`awsEndpoint` is given without `awsRegion`")]
    assert _complaints(certificate.replace("{awsEndpoint", "{awsRegion: eu-west-1, awsEndpoint")) == []


def test_the_proxy_protocol_needs_a_proxy():
    """It is read from trusted ones only."""
    assert codes_and_messages(f"server: {{proxyProtocol: true}}\n{MINIMAL}") == [
        ("no-effect", "`proxyProtocol` has no effect: no proxy is trusted")
    ]
    assert codes_and_messages(f"server: {{proxyProtocol: true, trustedProxies: [10.0.0.1]}}\n{MINIMAL}") == []


@pytest.mark.parametrize("origins", ["", ", allowOrigins: ['*']", ", allowAll: true"])
def test_credentials_need_origins(origins):
    """Browsers refuse them together with every origin."""
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
def test_other_cors_is_sound(cors):
    """Nothing is said of it."""
    assert codes_and_messages(f"server: {{cors: {{{cors}}}}}\n{MINIMAL}") == []
