from __future__ import annotations

import json

import pytest
from conversions import converted, converted_target

from tornado_proxy.config.providers import BasicUser
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.access import Access, Nobody
from tornado_proxy.tools.convert.options import OptionOutcome, where
from tornado_proxy.tools.convert.rewrites import KeysAs


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
    """Host and paths are the same."""
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
    """The report names the difference."""
    assert _convert_mount(f"host: '{host}', path: /").messages(OptionOutcome.CHANGED) == [message]


def _convert_bucket(text):
    return converted(f"targets: {{site: {{mount: {{path: [/]}}, bucket: {{name: my-bucket, {text}}}}}}}")


def _converted_bucket(text):
    (site,) = _convert_bucket(text).settings.targets
    return site.bucket


def test_a_bucket_is_converted_with_its_options():
    """Path style is the default of s3-proxy, but not here."""
    bucket = _converted_bucket("prefix: a/b, region: eu-west-1, s3Endpoint: '127.0.0.1:9000', disableSSL: true")
    assert (bucket.prefix, bucket.region, bucket.s3_endpoint) == ("a/b/", "eu-west-1", "127.0.0.1:9000")
    assert (bucket.force_path_style, bucket.list_max_keys) == (True, 1000)
    assert not _converted_bucket("s3ForcePathStyle: false").force_path_style


def test_a_prefix_loses_its_leading_slash():
    """s3-proxy's SDK drops the slash when it reads, but not when it lists."""
    conversion = _convert_bucket("prefix: /folder1")
    assert conversion.settings.targets[0].bucket.prefix == "folder1/"
    (message,) = conversion.messages(OptionOutcome.CHANGED)
    assert message.startswith("s3-proxy lists below `/folder1`, where there is nothing")


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("{env: KEY}", "the environment variable `KEY`"),
        ("{path: /run/key, env: KEY}", "the file `/run/key`"),
        ("{env: KEY, value: x}", "the environment variable `KEY`"),
        ("{value: x}", "the configuration file"),
    ],
)
def test_credentials_are_references(text, origin):
    """s3-proxy prefers a file, then the environment."""
    credentials = _converted_bucket(f"credentials: {{accessKey: {text}, secretKey: {{env: S}}}}").credentials
    assert credentials.access_key == Secret(origin, "")


def test_a_single_key_of_a_pair_is_dropped():
    """s3-proxy uses neither key if the other is missing."""
    conversion = _convert_bucket("credentials: {accessKey: {env: A}}")
    assert conversion.settings.targets[0].bucket.credentials is None
    assert conversion.messages(OptionOutcome.CHANGED)[0].startswith("one of the two keys is missing")


@pytest.mark.parametrize(("size", "expected"), [(5000, 5000), (50_000, 10_000), (10, 10), (1000, 1000)])
def test_the_size_of_a_listing_is_the_size_of_a_page(size, expected):
    """The number of entries becomes the size of a page."""
    conversion = _convert_bucket(f"s3ListMaxKeys: {size}")
    assert conversion.settings.targets[0].bucket.list_max_keys == expected
    assert len(conversion.messages(OptionOutcome.CHANGED)) == (size != 1000)


def test_the_size_of_a_part_is_in_mebibytes():
    """s3-proxy counts in mebibytes, too."""
    assert _converted_bucket("s3UploadPartSize: 16").part_size == 16 * 1024 * 1024


@pytest.mark.parametrize(("size", "expected"), [(1, 5), (9000, 5120)])
def test_the_size_of_a_part_is_one_that_s3_takes(size, expected):
    """With another, each upload of s3-proxy fails."""
    conversion = _convert_bucket(f"s3UploadPartSize: {size}")
    assert conversion.settings.targets[0].bucket.part_size == expected * 1024 * 1024
    (message,) = conversion.messages(OptionOutcome.CHANGED)
    assert message.startswith(f"`{size}` is `{expected}` here")


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
        (
            "{mount: {host: b.test}, bucket: {name: b}}",
            "its `mount` has no `path`, so no request reaches it in s3-proxy",
        ),
        (
            "{mount: {host: b.test, path: []}, bucket: {name: b}, actions: {DELETE: {enabled: true}}}",
            "its `mount` has no `path`, so no request reaches it in s3-proxy",
        ),
        (
            "{mount: {host: b.test, path: ''}, bucket: {name: b}}",
            "its `mount` has no `path`, so no request reaches it in s3-proxy",
        ),
        (
            "{mount: {path: ['/{user}/']}, bucket: {name: b}}",
            "the mount path `/{user}/` is a pattern of s3-proxy's router",
        ),
        ("{mount: {path: [/a/../]}, bucket: {name: b}}", "the mount path `/a/../` contains a `.` or `..` segment"),
        ("{mount: {host: 'x[0-9].org', path: [/b/]}, bucket: {name: b}}", "the host `x[0-9].org` is not a host"),
        ("{mount: {path: [/b/]}, bucket: {name: 'a b'}}", "the bucket's name `a b` is not a bucket's name"),
        ("{mount: {path: [/b/]}, bucket: {name: b, prefix: ..}}", "the prefix `..` contains a `.` or `..` segment"),
        ("{mount: {path: [/b/]}, bucket: {name: b, prefix: a//b}}", "the prefix `a//b` has an empty segment"),
        (
            "{mount: {path: [/b/]}, bucket: {name: b, s3Endpoint: 'ftp://x'}}",
            "the endpoint `ftp://x` is not the URL of an S3 server",
        ),
    ],
)
def test_a_target_that_cannot_be_converted_is_left_out(target, reason):
    """Its requests are answered with 404, and the report begins with it."""
    conversion = converted(TWO_TARGETS % target)
    assert [target.name for target in conversion.settings.targets] == ["good"]
    (message,) = conversion.messages(OptionOutcome.CLOSED)
    assert message.startswith(f"the target is left out: {reason}")


CLOSED = {
    "resources": "resources: [{path: /**, provider: staff, basic: {}}]",
    "rewrites": "keyRewriteList: [{source: .*, target: '/{{ .User.GetUsername }}/{{ .Key | base }}', targetType: TEMPLATE}]",
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
    """A target that is open in s3-proxy is open here."""
    (site,) = converted_target("").settings.targets
    assert site.resources == ()


def test_resources_are_converted_with_their_users():
    """Paths, methods and users of basic authentication are the same."""
    conversion = converted_target(
        "resources:\n- {path: /open/x, whiteList: true}\n"
        "- {path: /**, methods: [GET, PUT], provider: staff, basic: {credentials: [{user: ann, password: {env: ANN}}]}}"
    )
    (site,) = conversion.settings.targets
    first, second = site.resources
    assert (first.path, first.white_list) == ("/open/x", True)
    (user,) = second.users
    assert (second.path, second.methods, second.provider) == ("/**", ("GET", "HEAD", "PUT"), "staff")
    assert isinstance(user, BasicUser)
    assert conversion.report.complete


def test_each_rewrite_has_a_remark():
    """Each entry has a remark with its line."""
    conversion = converted_target(
        "keyRewriteList:\n- {source: ^a$, target: b}\n- {source: ^/c$, target: d}\n- {source: z, target: /y}"
    )
    assert [
        where(remark.place) for remark in conversion.report.remarks if remark.subject.endswith("keyRewriteList")
    ] == [
        "0.yaml:7",
        "0.yaml:8",
        "0.yaml:9",
    ]
    assert conversion.messages(OptionOutcome.ADAPTED) == ["`^a$` -> `b` is `^/a$` -> `/b`, which makes the same keys"]
    (never,) = conversion.messages(OptionOutcome.LEFT_OUT)
    assert never.startswith("`^/c$` -> `d` is left out, because s3-proxy never applies it")
    assert "`z` -> `/y` as it is" in conversion.messages(OptionOutcome.CARRIED)


def test_rules_read_as_documented_are_unchanged():
    """The keys of s3-proxy's documentation are the keys here."""
    conversion = converted_target("keyRewriteList: [{source: ^/c$, target: /d}]", keys_as=KeysAs.DOCUMENTED)
    assert conversion.messages(OptionOutcome.CARRIED)[-1:] == ["`^/c$` -> `/d` as it is"]
    assert conversion.rule_sets["site"].rewrite("/c").key == "/d"


def test_a_left_out_rewrite_that_ignores_the_user_closes_no_target():
    """Only a rule that may separate users closes its target."""
    conversion = converted_target("keyRewriteList: [{source: .*, target: '/{{ .Key | base }}', targetType: TEMPLATE}]")
    assert conversion.report.closed_targets == ()


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
    conversion = converted(_configuration_with_rewrite("/x//{{ .Key }}-{{ .Request.Method }}"))
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("keyRewriteList: [{source: ^a$, target: b/}]", "makes the key of a directory: a file is answered with 404"),
    ],
)
def test_a_rewrite_to_a_directory_is_reported(text, message):
    """The operator has to decide which key is meant."""
    target = f"{{mount: {{path: [/]}}, {text}, actions: {{GET: {{enabled: true}}}}, bucket: {{name: b}}}}"
    messages = converted(f"targets: {{site: {target}}}").messages(OptionOutcome.CHANGED)
    assert any(message in reported for reported in messages)


def test_headers_of_calls_are_converted():
    """Each kind of call keeps its headers; those that the service sets itself are left out with the reason."""
    payer = "{X-Amz-Request-Payer: requester, Accept-Encoding: gzip}"
    conversion = _convert_bucket(f"requestConfig: {{getHeaders: {payer}, listHeaders: {{x-a: 'ä'}}}}")
    added = conversion.settings.targets[0].bucket.request_config
    assert (added.get_headers, added.list_headers) == ((("x-amz-request-payer", "requester"),), ())
    assert conversion.messages(OptionOutcome.LEFT_OUT) == [
        "`x-a`: is not the value of a header",
        "`accept-encoding`: cannot have `accept-encoding`",
    ]


def test_a_bucket_of_a_tenant_is_converted():
    """A name on Ceph may begin with that of the tenant."""
    (site,) = converted("targets: {site: {mount: {path: [/]}, bucket: {name: 'tenant:b'}}}").settings.targets
    assert site.bucket.name == "tenant:b"
