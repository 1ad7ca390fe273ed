from __future__ import annotations

import json

import pytest
from conversions import converted, converted_target

from tornado_proxy.config.providers import BasicUser
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.access import Access, Nobody
from tornado_proxy.tools.convert.options import OptionOutcome, where
from tornado_proxy.tools.convert.rewrites import KeysAs


def _made(text):
    return converted(f"targets: {{site: {{mount: {{{text}}}, bucket: {{name: my-bucket}}}}}}")


@pytest.mark.parametrize(
    ("text", "host", "paths"),
    [
        ("path: [/a/, /b/]", "", ("/a/", "/b/")),
        ("path: '/a/,/b/'", "", ("/a/", "/b/")),
        ("host: '*'", "", ("/",)),
        ("host: Files.example.org, path: /", "files.example.org", ("/",)),
        ("host: '*.example.org', path: /", "*.example.org", ("/",)),
    ],
)
def test_a_mount_is_carried_over(text, host, paths):
    """Host and paths are the same."""
    done = _made(text)
    (site,) = done.settings.targets
    assert (site.mount.host, site.mount.paths) == (host, paths)
    assert done.report.complete


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("localhost:8080", "`localhost:8080` is `localhost` on any port: hosts are compared without their port"),
        ("f*.org", "each `*` of `f*.org` matches at least one character; in s3-proxy it may match nothing"),
    ],
)
def test_a_host_that_means_something_else_is_pointed_out(host, message):
    """The report names the difference."""
    assert _made(f"host: '{host}', path: /").messages(OptionOutcome.CHANGED) == [message]


def _bucket_made(text):
    return converted(f"targets: {{site: {{mount: {{path: [/]}}, bucket: {{name: my-bucket, {text}}}}}}}")


def _bucket(text):
    (site,) = _bucket_made(text).settings.targets
    return site.bucket


def test_a_bucket_is_carried_over_with_its_options():
    """Path style is the default of s3-proxy, but not here."""
    bucket = _bucket("prefix: a/b, region: eu-west-1, s3Endpoint: '127.0.0.1:9000', disableSSL: true")
    assert (bucket.prefix, bucket.region, bucket.s3_endpoint) == ("a/b/", "eu-west-1", "127.0.0.1:9000")
    assert (bucket.force_path_style, bucket.list_max_keys) == (True, 1000)
    assert not _bucket("s3ForcePathStyle: false").force_path_style


def test_a_prefix_with_a_leading_slash_lists_what_it_serves():
    """s3-proxy's SDK drops the slash when it reads, but not when it lists."""
    done = _bucket_made("prefix: /folder1")
    assert done.settings.targets[0].bucket.prefix == "folder1/"
    (message,) = done.messages(OptionOutcome.CHANGED)
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
    credentials = _bucket(f"credentials: {{accessKey: {text}, secretKey: {{env: S}}}}").credentials
    assert credentials.access_key == Secret(origin, "")


def test_half_a_pair_of_keys_is_none():
    """s3-proxy uses neither key then."""
    done = _bucket_made("credentials: {accessKey: {env: A}}")
    assert done.settings.targets[0].bucket.credentials is None
    assert done.messages(OptionOutcome.CHANGED)[0].startswith("one of the two keys is missing")


@pytest.mark.parametrize(("size", "here"), [(5000, 1000), (10, 10), (1000, 1000)])
def test_a_listing_has_pages(size, here):
    """The number of entries becomes the size of a page."""
    done = _bucket_made(f"s3ListMaxKeys: {size}")
    assert done.settings.targets[0].bucket.list_max_keys == here
    assert len(done.messages(OptionOutcome.CHANGED)) == (size != 1000)


def test_the_size_of_a_part_is_given_in_mebibytes():
    """s3-proxy counts in mebibytes, too."""
    assert _bucket("s3UploadPartSize: 16").part_size == 16 * 1024 * 1024


TWO = """
targets:
  good: {mount: {path: [/good/]}, bucket: {name: good}}
  bad: %s
"""


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{bucket: {name: b}}", "it has no `mount`"),
        ("{mount: {path: [/b/]}}", "it has no `bucket`"),
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
def test_a_target_that_cannot_be_expressed_is_left_out(bad, reason):
    """Its requests are answered with 404, and the report begins with it."""
    done = converted(TWO % bad)
    assert [each.name for each in done.settings.targets] == ["good"]
    (message,) = done.messages(OptionOutcome.CLOSED)
    assert message.startswith(f"the target is left out: {reason}")


CLOSED = {
    "resources": "resources: [{path: /**, provider: staff, basic: {}}]",
    "rewrites": "keyRewriteList: [{source: .*, target: '/{{ .User.GetUsername }}/{{ .Key | base }}', targetType: TEMPLATE}]",
    "all on": "resources: [{path: /**, provider: staff, basic: {}}]\nactions: {GET: {enabled: true}, HEAD: {enabled: true},"
    " PUT: {enabled: true}, DELETE: {enabled: true}}",
}


@pytest.mark.parametrize("text", CLOSED.values(), ids=CLOSED)
def test_a_target_whose_access_cannot_be_expressed_is_closed(text):
    """No path may be used with any enabled method: each request is answered with 403."""
    done = converted_target(text)
    (site,) = done.settings.targets
    access = Access(site.resources)
    paths = ("/", "/a", "/closed-until-reviewed", "/deep/er/")
    assert all(access.guard(path, method) == Nobody() for path in paths for method in site.actions.methods)
    assert done.report.closed_targets == ("site",)
    assert "the target is closed to everyone" in done.files["tornado-proxy.yaml"]


def test_a_target_without_resources_stays_open():
    """A target that is open in s3-proxy is open here."""
    (site,) = converted_target("").settings.targets
    assert site.resources == ()


def test_resources_are_carried_over_with_their_users():
    """Paths, methods and users of basic authentication are the same."""
    done = converted_target(
        "resources:\n- {path: /open/x, whiteList: true}\n"
        "- {path: /**, methods: [GET, PUT], provider: staff, basic: {credentials: [{user: ann, password: {env: ANN}}]}}"
    )
    (site,) = done.settings.targets
    first, second = site.resources
    assert (first.path, first.white_list) == ("/open/x", True)
    (user,) = second.users
    assert (second.path, second.methods, second.provider) == ("/**", ("GET", "HEAD", "PUT"), "staff")
    assert isinstance(user, BasicUser)
    assert done.report.complete


def test_rewrites_are_reported_one_by_one():
    """Each entry has a remark with its line."""
    done = converted_target(
        "keyRewriteList:\n- {source: ^a$, target: b}\n- {source: ^/c$, target: d}\n- {source: z, target: /y}"
    )
    assert [where(each.place) for each in done.report.remarks if each.subject.endswith("keyRewriteList")] == [
        "0.yaml:7",
        "0.yaml:8",
        "0.yaml:9",
    ]
    assert done.messages(OptionOutcome.ADAPTED) == ["`^a$` -> `b` is `^/a$` -> `/b`, which makes the same keys"]
    (never,) = done.messages(OptionOutcome.LEFT_OUT)
    assert never.startswith("`^/c$` -> `d` is left out, because s3-proxy never applies it")
    assert "`z` -> `/y` as it is" in done.messages(OptionOutcome.CARRIED)


def test_rules_as_documented_are_carried_over_as_they_are():
    """The keys of s3-proxy's documentation are the keys here."""
    done = converted_target("keyRewriteList: [{source: ^/c$, target: /d}]", keys_as=KeysAs.DOCUMENTED)
    assert done.messages(OptionOutcome.CARRIED)[-1:] == ["`^/c$` -> `/d` as it is"]
    assert done.rule_sets["site"].rewrite("/c").key == "/d"


def test_a_left_out_rewrite_that_reads_nobody_closes_nothing():
    """Only a rule that may separate users closes its target."""
    done = converted_target("keyRewriteList: [{source: .*, target: '/{{ .Key | base }}', targetType: TEMPLATE}]")
    assert done.report.closed_targets == ()


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
def test_a_rewrite_that_is_left_out_closes_its_target_unless_it_ignores_the_client(target):
    """The template may have kept users apart if it reads the user or the request."""
    done = converted(_with_rewrite(target))
    assert done.report.closed_targets == ("site",)


def test_a_rewrite_that_is_left_out_leaves_its_target_open_where_it_reads_the_key_only():
    """A template that makes the same key for every client separates nobody."""
    done = converted(_with_rewrite("/x//{{ .Key }}-{{ .Request.Method }}"))
    assert done.report.closed_targets == ()
    assert len(done.messages(OptionOutcome.LEFT_OUT)) == 1


def _with_rewrite(target):
    entry = json.dumps({"source": "^a.*$", "target": target, "targetType": "TEMPLATE"})
    return f"targets: {{site: {{mount: {{path: [/]}}, bucket: {{name: b}}, keyRewriteList: [{entry}]}}}}"


def test_isolated_users_stay_isolated():
    """The option and the administrators are converted; a rewrite out of the user's directory is refused here."""
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
    done = converted(text)
    get = done.settings.targets[0].actions.get
    assert (get.user_isolation, get.user_isolation_admins) == (True, ("root",))
    assert done.report.closed_targets == ()
    assert any("out of the user's own directory" in message for message in done.messages(OptionOutcome.CHANGED))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("keyRewriteList: [{source: ^a$, target: b/}]", "makes the key of a directory: a file is answered with 404"),
    ],
)
def test_what_is_not_quite_the_same_is_remarked_on(text, message):
    """The operator has to decide what is meant."""
    target = f"{{mount: {{path: [/]}}, {text}, actions: {{GET: {{enabled: true}}}}, bucket: {{name: b}}}}"
    found = converted(f"targets: {{site: {target}}}").messages(OptionOutcome.CHANGED)
    assert any(message in each for each in found)
