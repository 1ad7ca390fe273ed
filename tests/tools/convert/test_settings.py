import json
from functools import reduce

import pytest
import yaml
from certificates import pair
from conversions import converted, converted_target

from tornado_proxy.routing.access import Access, Nobody
from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.tools.convert.conversion import convert
from tornado_proxy.tools.convert.options import OptionOutcome, together

MINIMAL = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"
PAIR = pair("a.test")


RANDOM = "{{ uuidv4 }} {{ randInt 1 6 }} {{ randAlphaNum 8 }}"
HOOK = {
    "url": "http://hooks.example/x",
    "method": "PUT",
    "headers": {"h1": "v1"},
    "secretHeaders": {"authorization": {"env": "TOKEN"}},
    "retryCount": 2,
    "defaultWaitTime": "1500ms",
    "maxWaitTime": "2500ms",
}
FETCHED = {
    "certificateUrl": "s3://a/b",
    "certificateUrlConfig": {
        "httpTimeout": "1500ms",
        "awsRegion": "eu-west-1",
        "awsEndpoint": "a:1",
        "awsDisableSSL": True,
        "awsCredentials": {"accessKey": {"env": "A"}, "secretKey": {"path": "/b"}},
    },
    "privateKeyUrl": "/etc/a.key",
}
SAME = [
    (
        "server.ssl",
        {
            "enabled": True,
            "certificates": [FETCHED],
            "selfSignedHostnames": ["a.test"],
            "minTLSVersion": "TLSv1.2",
            "maxTLSVersion": "1.3",
            "cipherSuites": ["TLS_AES_128_GCM_SHA256"],
        },
    ),
    ("internalServer.ssl", {"enabled": True, "selfSignedHostnames": ["a.test"]}),
    (
        "server.cors",
        {
            "enabled": True,
            "allowOrigins": ["https://a.test"],
            "allowMethods": ["GET"],
            "allowHeaders": ["X-A"],
            "exposeHeaders": ["X-B"],
            "maxAge": 300,
            "allowCredentials": True,
        },
    ),
    ("server.cache", {"cacheControl": "max-age=60", "xAccelExpires": "5"}),
    (
        "targets.site.bucket",
        {
            "name": "tenant:b",
            "prefix": "a/b",
            "region": "eu-west-1",
            "s3Endpoint": "127.0.0.1:9000",
            "disableSSL": True,
            "credentials": {"accessKey": {"env": "A"}, "secretKey": {"path": "/b"}},
            "requestConfig": {"getHeaders": {"x-amz-request-payer": "requester"}},
        },
    ),
    ("targets.site.actions.GET", {"enabled": True, "config": {"streamedFileHeaders": {"x-id": RANDOM}, "webhooks": [HOOK]}}),
    ("targets.site.actions.HEAD", {"enabled": True, "config": {"webhooks": [HOOK]}}),
    (
        "targets.site.actions.PUT.config",
        {
            "allowOverride": True,
            "metadata": {"team": "{{ .Key }}"},
            "systemMetadata": {"cacheControl": "no-cache", "expires": "2065-10-21T07:28:00Z"},
            "storageClass": "STANDARD_IA",
            "cannedACL": "private",
            "webhooks": [HOOK],
        },
    ),
    ("targets.site.actions.DELETE", {"enabled": True, "config": {"webhooks": [HOOK]}}),
    (
        "targets.site.templates.notFoundError",
        {"path": "a.tpl", "inBucket": True, "headers": {"x-id": RANDOM}, "status": "{{ randInt 404 405 }}"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("path", "options"), SAME, ids=[path for path, _ in SAME])
def test_what_is_the_same_is_copied(path, options):
    """Every option that has the same name and meaning here keeps its value, without a remark."""
    names = path.split(".")
    document = yaml.safe_load(MINIMAL)
    document["targets"]["site"]["actions"] = {"GET": {"enabled": True}, "PUT": {"enabled": True}}
    inner = document
    for name in names:
        inner = inner.setdefault(name, {})
    inner |= options
    conversion = converted(yaml.safe_dump(document))
    there = reduce(dict.__getitem__, names, conversion.document)
    assert {name: there[name] for name in options} == options
    assert conversion.messages(OptionOutcome.LEFT_OUT, OptionOutcome.CLOSED) == []


@pytest.mark.parametrize(
    ("reference", "here"),
    [("{path: /run/key, env: KEY}", {"path": "/run/key"}), ("{env: KEY, value: x}", {"env": "KEY"}), ("{value: x}", {"value": "x"})],
)  # fmt: skip
def test_a_secret_has_the_place_that_s3_proxy_prefers(reference, here):
    """That is a file, then the environment."""
    text = f"credentials: {{accessKey: {reference}, secretKey: {{env: S}}}}"
    bucket = _convert_bucket(text).document["targets"]["site"]["bucket"]
    assert bucket["credentials"]["accessKey"] == here


def _convert_tls(ssl, name="server"):
    return converted(f"{MINIMAL}{name}: {{listenAddr: 0.0.0.0, ssl: {{enabled: true, {ssl}}}}}\n")


def test_inline_certificates_stay_in_the_configuration():
    """Only its owner may read the file."""
    text = f"certificates: [{{certificate: {PAIR.chain!r}, privateKey: {PAIR.key!r}}}]".replace("'", '"')
    assert _convert_tls(text).document["server"]["ssl"]["certificates"] == [
        {"certificate": PAIR.chain, "privateKey": {"value": PAIR.key}}
    ]


def test_a_relative_path_of_a_certificate_is_reported():
    """Here a relative path is relative to the configuration file."""
    conversion = _convert_tls("certificates: [{certificateUrl: a.crt, privateKeyUrl: a.key}]")
    expected = ["server.ssl.certificates.certificateUrl", "server.ssl.certificates.privateKeyUrl"]
    assert conversion.subjects(OptionOutcome.CHANGED) == expected


def _convert_server(text):
    return converted(f"{MINIMAL}server: {{{text}}}\n")


@pytest.mark.parametrize(("name", "text"), [("cors", "allowAll: true"), ("ssl", "selfSignedHostnames: [a.test]")])
def test_what_is_disabled_is_omitted(name, text):
    """Options that are off need no remark."""
    conversion = _convert_server(f"{name}: {{enabled: false, {text}}}")
    assert name not in conversion.document["server"]
    assert conversion.messages(OptionOutcome.LEFT_OUT) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("port: 80", {"minSize": 0}),
        ("compress: {level: 5}", {"minSize": 0}),
        ("compress: {level: 1, types: [text/html, Text/*]}", {"minSize": 0, "level": 1, "types": ["text/html", "Text/*"]}),
        ("compress: {enabled: false, level: 1}", {"enabled": False}),
    ],
)  # fmt: skip
def test_compression_is_converted(text, expected):
    """Compression is on by default, also for the smallest answers."""
    conversion = _convert_server(text)
    assert conversion.document["server"]["compress"] == expected
    assert conversion.messages(OptionOutcome.LEFT_OUT, OptionOutcome.CHANGED) == []


def test_the_maximum_age_of_cors_is_limited_to_a_day():
    """Browsers keep the response to a preflight for at most a day."""
    conversion = _convert_server("cors: {enabled: true, maxAge: 1000000}")
    assert conversion.settings.server.cors.max_age == 86400


@pytest.mark.parametrize("text", ["port: 80", "cache: {noCacheEnabled: true, pragma: x}"])
def test_caching_is_forbidden_by_default(text):
    """s3-proxy forbids caching by default."""
    assert _convert_server(text).document["server"]["cache"] == {"noCacheEnabled": True}


def _convert(text):
    return converted(f"{MINIMAL}{text}\n")


def test_addresses_and_ports_of_the_servers_are_converted():
    """Without an address, both servers listen on every interface."""
    settings = _convert("server: {port: 80}\ninternalServer: {listenAddr: '::1'}").settings
    assert (settings.server.address, settings.server.port) == ("", 80)
    assert (settings.internal_server.address, settings.internal_server.port) == ("::1", 9090)


@pytest.mark.parametrize(
    ("text", "level", "log_format"),
    [("{}", "info", "json"), ("{level: warn, format: text}", "warning", "text"), ("{level: TRACE}", "debug", "json")],
)
def test_level_and_format_of_the_log_are_converted(text, level, log_format):
    """Levels have other names, and the default format is JSON."""
    log = _convert(f"log: {text}").settings.log
    assert (log.level, log.format) == (level, log_format)


def test_timeouts_are_converted():
    """Two time-outs are the same, and two limit the time without progress."""
    timeouts = "{idleTimeout: 2m, readHeaderTimeout: 1500ms, readTimeout: 0.25s, writeTimeout: 3s}"
    conversion = _convert(f"server: {{timeouts: {timeouts}}}")
    limits = {"idleTimeout": 120, "headerTimeout": "1500ms", "bodyTimeout": "250ms", "sendTimeout": 3}
    assert conversion.document["limits"] == limits
    assert (conversion.settings.limits.header_timeout, conversion.settings.limits.body_timeout) == (1.5, 0.25)
    assert conversion.subjects(OptionOutcome.CHANGED) == ["server.timeouts.readTimeout", "server.timeouts.writeTimeout"]


def test_time_outs_of_the_admin_listener_are_a_known_option():
    """The report says what holds instead."""
    conversion = converted(
        f"{MINIMAL}internalServer: {{timeouts: {{readTimeout: 10s}}}}\nlog: {{filePath: /var/log/a}}"
    )
    assert conversion.messages(OptionOutcome.CHANGED) == [
        "the admin listener closes idle connections after an hour, no others",
        "the log goes to standard error, where systemd or a container takes it, and to no file",
    ]
    assert not conversion.messages(OptionOutcome.LEFT_OUT)


@pytest.mark.parametrize(
    ("text", "methods"),
    [
        ("{GET: {enabled: true}}", ("GET",)),
        ("{PUT: {enabled: true}}", ("PUT",)),
        ("{HEAD: {enabled: true}, DELETE: {enabled: true}, GET: {enabled: false}}", ("HEAD", "DELETE")),
        ("{GET: {enabled: true}, HEAD: {enabled: false}, PUT: {config: {allowOverride: true}}}", ("GET",)),
    ],
)
def test_only_enabled_actions_are_converted(text, methods):
    """Actions that are not named are off, as in s3-proxy."""
    (site,) = converted_target(f"actions: {text}").settings.targets
    assert site.actions.methods == methods


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("redirectWithTrailingSlashForNotFoundFile: true", "a missing file is redirected only if there is a directory"),
        ("disableListing: true", "a directory is answered with 403; s3-proxy shows an empty one"),
    ],
)
def test_an_option_with_another_answer_is_reported(option, message):
    conversion = converted_target(f"actions: {{GET: {{enabled: true, config: {{{option}}}}}}}")
    assert conversion.messages(OptionOutcome.CHANGED)[0].startswith(message)
    assert conversion.document["targets"]["site"]["actions"]["GET"]["config"] == {option.partition(":")[0]: True}


@pytest.mark.parametrize("text", ["pages/index.html", "/pages/index.html", "pages/index.html/"])
def test_an_index_document_may_lie_below_its_directory(text):
    """s3-proxy joins it to the directory as a path."""
    conversion = converted_target(f"actions: {{GET: {{enabled: true, config: {{indexDocument: {text}}}}}}}")
    config = conversion.document["targets"]["site"]["actions"]["GET"]["config"]
    assert config == {"indexDocument": "pages/index.html"}


@pytest.mark.parametrize(
    ("config", "allowed", "reported"),
    [
        *((config, True, [True]) for config in ("", ", config: ", ", config: {}", ", config: {metadata: {}}")),
        (", config: {metadata: {a: b}}", False, []),
        (", config: {allowOverride: true}", True, []),
    ],
)
def test_uploads_replace_files_if_allowed_or_without_a_configuration(config, allowed, reported):
    """s3-proxy's code checks whether a file exists only if PUT has a `config`."""
    conversion = converted_target(f"actions: {{PUT: {{enabled: true{config}}}}}")
    assert conversion.settings.targets[0].actions.put.allow_override is allowed
    told = [each for each in conversion.messages(OptionOutcome.CHANGED) if "replaced" in each]
    assert [each.startswith("files may be replaced, as s3-proxy's code allows") for each in told] == reported


def test_differences_of_uploads_are_reported_if_uploads_are_enabled():
    """The report names the path of uploads, and attachments."""
    assert (
        converted_target("actions: {GET: {enabled: true}, PUT: {enabled: false}}").messages(OptionOutcome.CHANGED) == []
    )
    slash, attachment = converted_target("actions: {PUT: {enabled: true, config: {allowOverride: true}}}").messages(
        OptionOutcome.CHANGED
    )
    assert slash.startswith("the path of an upload has to end in `/`")
    assert attachment.startswith("files that browsers might run")


def _put(config):
    return converted_target(f"actions: {{PUT: {{enabled: true, config: {config}}}}}")


LOST = (OptionOutcome.LEFT_OUT, OptionOutcome.CLOSED)


def test_templates_of_all_targets_are_converted():
    """Options have the same names, and an upload is answered with 204, as by s3-proxy."""
    text = "templates: {folderList: {path: list.tpl, headers: {A: b}, status: 404}, put: {path: p.tpl}}"
    conversion = converted(MINIMAL + text)
    assert conversion.document["templates"] == {
        "folderList": {"path": "list.tpl", "headers": {"a": "b"}, "status": "404"},
        "put": {"path": "p.tpl", "status": "204"},
    }
    assert conversion.messages(*LOST) == []
    (message,) = [text for text in conversion.messages(OptionOutcome.CHANGED) if "p.tpl" in text]
    assert message == "the template `p.tpl` was not found: put it at `p.tpl` beside the new configuration"


def test_templates_of_a_target_are_converted():
    """Templates and helpers may be files or objects in the bucket."""
    text = "templates:\n  helpers: [{path: templates/_helpers.tpl}, {path: h, inBucket: true}]\n"
    text += "  notFoundError: {path: t, inBucket: true, status: '404'}\n"
    conversion = converted_target(text)
    assert conversion.document["targets"]["site"]["templates"] == {
        "helpers": [{"path": "h", "inBucket": True}],
        "notFoundError": {"path": "t", "inBucket": True, "status": "404"},
    }
    assert conversion.messages(*LOST) == []


def test_a_page_of_a_target_keeps_the_status_of_the_general_one():
    """A page of a target without a status has that of the page for all targets, or else s3-proxy's default."""
    general = "templates: {put: {status: '200'}}\n"
    target = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}, templates: {put: {path: p}, delete: {path: d}}}}"
    pages = converted(f"{general}{target}").document["targets"]["site"]["templates"]
    assert pages == {"put": {"path": "p"}, "delete": {"path": "d", "status": "204"}}


def test_template_files_are_copied():
    """Relative files are copied below the output directory, and absolute paths are kept."""
    text = "templates: {helpers: [../h.tpl], put: {path: ./a/p.tpl}, delete: {path: /etc/d.tpl}}\n"
    conversion = convert(together([SourceFile("a.yaml", MINIMAL + text)]), read_file=lambda path: f"text of {path}")
    expected = {"templates/h.tpl": "text of ../h.tpl", "a/p.tpl": "text of ./a/p.tpl"}
    assert {name: text for name, text in conversion.files.items() if name.endswith(".tpl")} == expected


def test_targets_share_a_file_of_helpers_with_all():
    """The helpers of a target replace the general ones, so nothing is defined twice."""
    texts = {"own.tpl": '{{ define "own" }}x{{ end }}', "list.tpl": '{{ template "own" . }}'}
    text = (
        "templates: {helpers: [own.tpl], folderList: {path: list.tpl}}\n"
        "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket},"
        " templates: {helpers: [{path: own.tpl}], folderList: {path: list.tpl}}}}"
    )
    report = convert(together([SourceFile("0.yaml", text)]), read_file=texts.get).report
    assert report.complete


def _convert_mount(text):
    return converted(f"targets: {{site: {{mount: {{{text}}}, bucket: {{name: my-bucket}}}}}}")


@pytest.mark.parametrize(
    ("text", "host", "paths"),
    [
        ("path: [/a/, /b/]", "", ("/a/", "/b/")),
        ("path: '/a/,/b/'", "", ("/a/", "/b/")),
        ("host: '*', path: [/]", "", ("/",)),
        ("host: Files.example.org, path: /", "files.example.org", ("/",)),
        ("host: '*.example.org', path: /", "*.example.org", ("/",)),
    ],
)
def test_a_mount_is_converted(text, host, paths):
    conversion = _convert_mount(text)
    (site,) = conversion.settings.targets
    assert (site.mount.host, site.mount.paths) == (host, paths)
    assert conversion.report.complete


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("localhost:8080", "`localhost:8080` is `localhost` on any port: hosts are compared without their port"),
        ("f*.org", "each `*` of `f*.org` matches at least one character; in s3-proxy it may match nothing"),
    ],
)
def test_a_host_with_another_meaning_is_reported(host, message):
    assert _convert_mount(f"host: '{host}', path: /").messages(OptionOutcome.CHANGED) == [message]


def _convert_bucket(text):
    return converted(f"targets: {{site: {{mount: {{path: [/]}}, bucket: {{name: my-bucket, {text}}}}}}}")


@pytest.mark.parametrize(
    ("text", "name", "value", "message"),
    [
        ("prefix: /folder1", "prefix", "folder1/", "s3-proxy lists below `/folder1`, where there is nothing"),
        ("credentials: {accessKey: {env: A}}", "credentials", None, "one of the two keys is missing"),
        ("credentials: {accessKey: {}, secretKey: {other: x}}", "credentials", None, "one of the two keys is missing"),
        ("s3UploadPartSize: 1", "part_size", 5 << 20, "`1` is `5` here"),
        ("s3UploadPartSize: 9000", "part_size", 5120 << 20, "`9000` is `5120` here"),
    ],
)
def test_an_option_that_s3_proxy_reads_otherwise_is_reported(text, name, value, message):
    """With one key of two, s3-proxy uses neither; with another size of parts, each of its uploads fails."""
    conversion = _convert_bucket(text)
    assert getattr(conversion.settings.targets[0].bucket, name) == value
    assert conversion.messages(OptionOutcome.CHANGED)[0].startswith(message)


@pytest.mark.parametrize(("size", "expected"), [(5000, 5000), (50_000, 10_000), (10, 10), (1000, 1000)])
def test_the_size_of_a_listing_is_the_size_of_a_page(size, expected):
    conversion = _convert_bucket(f"s3ListMaxKeys: {size}")
    assert conversion.settings.targets[0].bucket.list_max_keys == expected
    assert len(conversion.messages(OptionOutcome.CHANGED)) == (size != 1000)


NO_PATH = "its `mount` has no `path`, so no request reaches it in s3-proxy"
TWO_TARGETS = """
targets:
  good: {mount: {path: [/good/]}, bucket: {name: good}}
  bad: %s
"""


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("{bucket: {name: b}}", "it has no `mount`"),
        ("{mount: {path: [/b/]}}", "it has no `bucket`"),
        ("{mount: {host: b.test}, bucket: {name: b}}", NO_PATH),
        ("{mount: {host: b.test, path: []}, bucket: {name: b}, actions: {DELETE: {enabled: true}}}", NO_PATH),
        ("{mount: {host: b.test, path: ''}, bucket: {name: b}}", NO_PATH),
        ("{mount: {path: ['/{user}/']}, bucket: {name: b}}", "the mount path `/{user}/` is a pattern of s3-proxy's router"),
        ("{mount: {path: [/b/]}, bucket: {name: b, prefix: a//b}}", "the prefix `a//b` has an empty segment"),
    ],
)  # fmt: skip
def test_a_target_that_cannot_be_converted_is_left_out(target, reason):
    """Its requests are answered with 404, and the report begins with it."""
    conversion = converted(TWO_TARGETS % target)
    assert [target.name for target in conversion.settings.targets] == ["good"]
    (message,) = conversion.messages(OptionOutcome.CLOSED)
    assert message.startswith(f"the target is left out: {reason}")


CLOSED = {
    "resources": "resources: [{path: /**, provider: staff, basic: {}}]",
    "rewrites": "keyRewriteList: [{source: .*, target: '/{{ with .User }}{{ .Username }}{{ end }}', targetType: TEMPLATE}]",
    "all on": "resources: [{path: /**, provider: staff, basic: {}}]\nactions: {GET: {enabled: true}, HEAD: {enabled: true},"
    " PUT: {enabled: true}, DELETE: {enabled: true}}",
}


@pytest.mark.parametrize("text", CLOSED.values(), ids=CLOSED)
def test_a_target_is_closed_if_its_access_cannot_be_converted(text):
    """Each request with an enabled method is answered with 403."""
    conversion = converted_target(text)
    (site,) = conversion.settings.targets
    access = Access(site.resources)
    paths = ("/", "/a", "/closed-until-reviewed", "/deep/er/")
    assert all(access.guard(path, method) == Nobody() for path in paths for method in site.actions.methods)
    assert conversion.report.closed_targets == ("site",)
    assert "the target is closed to everyone" in conversion.files["tornado-proxy.yaml"]


def test_a_target_without_resources_stays_open():
    (site,) = converted_target("").settings.targets
    assert site.resources == ()


@pytest.mark.parametrize(
    "target",
    [
        '{{ template "own.helper" . }}',
        '/{{ index .Request.Header "X-User" }}{{ template "x" }}',
        "/{{ with .User }}{{ .Username }}{{ end }}/x",
        "/{{ $all := . }}{{ $all.User.Username }}/x",
        "/{{ range $name, $value := .Request.Header }}{{ $name }}{{ end }}",
        "/{{ .Request.Host }}/x{{ end }}",
    ],
)
def test_a_left_out_rewrite_that_reads_the_client_closes_its_target(target):
    """The template may have separated users if it reads the user or the request."""
    conversion = converted(_configuration_with_rewrite(target))
    assert conversion.report.closed_targets == ("site",)


def test_a_left_out_rewrite_that_reads_only_the_key_closes_no_target():
    """A template that makes the same key for every client separates no users."""
    conversion = converted(_configuration_with_rewrite("/{{ with .Key }}x{{ end }}-{{ .Request.Method }}"))
    assert conversion.report.closed_targets == ()
    assert len(conversion.messages(OptionOutcome.LEFT_OUT)) == 1


def _configuration_with_rewrite(target):
    entry = json.dumps({"source": "^a.*$", "target": target, "targetType": "TEMPLATE"})
    return f"targets: {{site: {{mount: {{path: [/]}}, bucket: {{name: b}}, keyRewriteList: [{entry}]}}}}"


def test_isolated_users_stay_isolated():
    """The option and the administrators are converted, and a rewrite out of the user's directory is refused here."""
    text = """
authProviders: {basic: {staff: {realm: r}}}
targets:
  site:
    mount: {path: [/]}
    bucket: {name: b}
    actions: {GET: {enabled: true, config: {userIsolation: true, userIsolationAdmins: [root]}}}
    keyRewriteList: [{source: ^ann/a$, target: ann/b}]
    resources: [{path: /**, provider: staff, basic: {credentials: [{user: ann, password: {env: PW}}]}}]
"""
    conversion = converted(text)
    get = conversion.settings.targets[0].actions.get
    assert (get.user_isolation, get.user_isolation_admins) == (True, ("root",))
    assert conversion.report.closed_targets == ()
    assert any("out of the user's own directory" in message for message in conversion.messages(OptionOutcome.CHANGED))


def test_a_rewrite_to_a_directory_is_reported():
    """The operator has to decide which key is meant."""
    conversion = converted_target("keyRewriteList: [{source: ^a$, target: b/}]\nactions: {GET: {enabled: true}}")
    message = "makes the key of a directory: a file is answered with 404"
    assert any(message in reported for reported in conversion.messages(OptionOutcome.CHANGED))
