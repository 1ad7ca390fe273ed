from __future__ import annotations

import json

import pytest
from conversions import made, target

from tornado_proxy.config.model import BasicUser
from tornado_proxy.routing.access import Access, Nobody
from tornado_proxy.tools.convert.options import OptionOutcome
from tornado_proxy.tools.convert.rewrites import KeysAs


def _made(text):
    return made(f"targets: {{site: {{mount: {{{text}}}, bucket: {{name: my-bucket}}}}}}")


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
        ("localhost:8080", "`localhost:8080` is `localhost`, on any port: hosts are compared without their port"),
        ("f*.org", "each `*` of `f*.org` stands for one character at least; for s3-proxy it may stand for nothing"),
    ],
)
def test_a_host_that_means_something_else_is_pointed_out(host, message):
    """What is not quite the same is said."""
    assert _made(f"host: '{host}', path: /").messages(OptionOutcome.CHANGED) == [message]


def _action(text, name):
    return target(f"actions: {text}").document["targets"]["site"]["actions"][name]


@pytest.mark.parametrize(
    ("text", "methods"),
    [
        ("{GET: {enabled: true}}", ("GET",)),
        ("{PUT: {enabled: true}}", ("PUT",)),
        ("{HEAD: {enabled: true}, DELETE: {enabled: true}, GET: {enabled: false}}", ("HEAD", "DELETE")),
        ("{GET: {enabled: true}, HEAD: {enabled: false}, PUT: {config: {allowOverride: true}}}", ("GET",)),
    ],
)
def test_only_what_is_enabled_is_answered(text, methods):
    """What is not named is off, as in s3-proxy; HEAD too."""
    (site,) = target(f"actions: {text}").settings.targets
    assert site.actions.methods == methods


def test_the_configuration_of_get_is_carried_over():
    """Its options have the same names."""
    config = "indexDocument: index.html, redirectToSignedUrl: true, signedUrlExpiration: 1h30m"
    assert _action(f"{{GET: {{enabled: true, config: {{{config}}}}}}}", "GET")["config"] == {
        "indexDocument": "index.html",
        "redirectToSignedUrl": True,
        "signedUrlExpiration": 5400,
    }


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "redirectWithTrailingSlashForNotFoundFile: true",
            "a missing file is redirected only where there is a directory",
        ),
        ("disableListing: true", "a directory is answered with 403; s3-proxy shows an empty one"),
    ],
)
def test_what_is_answered_otherwise_is_said(option, message):
    """The option is carried over, and the report tells the difference."""
    done = target(f"actions: {{GET: {{enabled: true, config: {{{option}}}}}}}")
    assert done.messages(OptionOutcome.CHANGED)[0].startswith(message)
    assert done.document["targets"]["site"]["actions"]["GET"]["config"] == {option.partition(":")[0]: True}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("indexDocument: a/index.html", "`a/index.html` contains a `/`"),
        ("signedUrlExpiration: -1s", "`-1s` is not a whole number of seconds up to 7 days"),
        ("signedUrlExpiration: 169h", "`169h` is not a whole number of seconds up to 7 days"),
        ("signedUrlExpiration: 1.5s", "`1.5s` is not a whole number of seconds up to 7 days"),
    ],
)
def test_what_cannot_be_here_is_left_out(option, message):
    """The default stands then."""
    done = target(f"actions: {{GET: {{enabled: true, config: {{{option}}}}}}}")
    assert done.messages(OptionOutcome.LEFT_OUT)[0].startswith(message)


@pytest.mark.parametrize("config", ["", ", config: ", ", config: {}", ", config: {metadata: {}}"])
def test_uploads_replace_files_where_s3_proxy_lets_them(config):
    """Its code asks whether a file exists only where PUT has a `config`, whatever its documentation says."""
    done = target(f"actions: {{PUT: {{enabled: true{config}}}}}")
    assert done.settings.targets[0].actions.put.allow_override
    assert done.messages(OptionOutcome.CHANGED)[-1].startswith("files may be replaced, as s3-proxy's code allows")


@pytest.mark.parametrize(("config", "allowed"), [("{metadata: {a: b}}", False), ("{allowOverride: true}", True)])
def test_with_a_configuration_uploads_replace_what_it_says(config, allowed):
    """There, code and documentation agree."""
    done = target(f"actions: {{PUT: {{enabled: true, config: {config}}}}}")
    assert done.settings.targets[0].actions.put.allow_override is allowed
    assert not any("replaced" in each for each in done.messages(OptionOutcome.CHANGED))


def test_what_is_different_for_uploads_is_said_where_they_are_enabled():
    """The path that they need, and how what browsers might run is sent from then on."""
    assert target("actions: {GET: {enabled: true}, PUT: {enabled: false}}").messages(OptionOutcome.CHANGED) == []
    slash, attachment = target("actions: {PUT: {enabled: true, config: {allowOverride: true}}}").messages(
        OptionOutcome.CHANGED
    )
    assert slash.startswith("the path of an upload is a directory's")
    assert attachment.startswith("files that browsers might run")


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
        ("{mount: {path: [/b/]}, bucket: {name: b, prefix: a//b}}", "the prefix `a//b` holds an empty segment"),
        (
            "{mount: {path: [/b/]}, bucket: {name: b, s3Endpoint: 'ftp://x'}}",
            "the endpoint `ftp://x` is not an HTTP URL",
        ),
    ],
)
def test_a_target_that_cannot_be_said_is_left_out(bad, reason):
    """Its requests lead nowhere, and the report says so first."""
    done = made(TWO % bad)
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
def test_a_target_whose_access_cannot_be_said_is_closed(text):
    """No path may be used with any method that is on: a request is answered with 403."""
    done = target(text)
    (site,) = done.settings.targets
    access = Access(site.resources)
    paths = ("/", "/a", "/closed-until-reviewed", "/deep/er/")
    assert all(access.guard(path, method) == Nobody() for path in paths for method in site.actions.methods)
    assert done.report.closed_targets == ("site",)
    assert "CLOSED to everyone" in done.files["tornado-proxy.yaml"]


def test_a_target_without_resources_stays_open():
    """What s3-proxy leaves open is open here."""
    (site,) = target("").settings.targets
    assert site.resources == ()


def test_resources_are_carried_over_with_their_users():
    """Paths, methods and users of basic authentication are the same."""
    done = target(
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
    """Each entry has its remark, with its line."""
    done = target("keyRewriteList:\n- {source: ^a$, target: b}\n- {source: ^/c$, target: d}\n- {source: z, target: /y}")
    assert [each.where for each in done.report.remarks if each.subject.endswith("keyRewriteList")] == [
        "0.yaml:7",
        "0.yaml:8",
        "0.yaml:9",
    ]
    assert done.messages(OptionOutcome.ADAPTED) == ["`^a$` -> `b` is `^/a$` -> `/b`, which makes the same keys"]
    (never,) = done.messages(OptionOutcome.LEFT_OUT)
    assert never.startswith("`^/c$` -> `d` is left out, since s3-proxy never applies it")
    assert "`z` -> `/y` as it is" in done.messages(OptionOutcome.CARRIED)


def test_rules_as_documented_are_carried_over_as_they_are():
    """The documentation's keys are this project's."""
    done = target("keyRewriteList: [{source: ^/c$, target: /d}]", keys_as=KeysAs.DOCUMENTED)
    assert done.messages(OptionOutcome.CARRIED)[-1:] == ["`^/c$` -> `/d` as it is"]
    assert done.rule_sets["site"].rewrite("/c").key == "/d"


def test_a_left_out_rewrite_that_reads_nobody_closes_nothing():
    """Only rules that part users are a matter of access."""
    done = target("keyRewriteList: [{source: .*, target: '/{{ .Key | base }}', targetType: TEMPLATE}]")
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
    """What a left-out template read of the user or the request may have kept users apart."""
    done = made(_with_rewrite(target))
    assert done.report.closed_targets == ("site",)


def test_a_rewrite_that_is_left_out_leaves_its_target_open_where_it_reads_the_key_only():
    """A template that is proved to make the same key for every client kept nobody out."""
    done = made(_with_rewrite("/x//{{ .Key }}-{{ .Request.Method }}"))
    assert done.report.closed_targets == ()
    assert len(done.messages(OptionOutcome.LEFT_OUT)) == 1


def _with_rewrite(target):
    entry = json.dumps({"source": "^a.*$", "target": target, "targetType": "TEMPLATE"})
    return f"targets: {{site: {{mount: {{path: [/]}}, bucket: {{name: b}}, keyRewriteList: [{entry}]}}}}"


def test_isolated_users_stay_isolated():
    """The option and the administrators are carried over; a rewrite out of a directory is refused here."""
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
    done = made(text)
    get = done.settings.targets[0].actions.get
    assert (get.user_isolation, get.user_isolation_admins) == (True, ("root",))
    assert done.report.closed_targets == ()
    assert any("out of the user's own directory" in message for message in done.messages(OptionOutcome.CHANGED))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("keyRewriteList: [{source: ^a$, target: b/}]", "makes a directory's key: a file is answered with 404"),
    ],
)
def test_what_is_not_quite_the_same_is_remarked_on(text, message):
    """The operator decides what was meant."""
    target = f"{{mount: {{path: [/]}}, {text}, actions: {{GET: {{enabled: true}}}}, bucket: {{name: b}}}}"
    found = made(f"targets: {{site: {target}}}").messages(OptionOutcome.CHANGED)
    assert any(message in each for each in found)
