import pytest
from conversions import made, target

from tornado_proxy.config.model import BasicUser
from tornado_proxy.routing.access import Access, Nobody
from tornado_proxy.tools.convert.report import KeysAs, Outcome

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
    (message,) = done.messages(Outcome.CLOSED)
    assert message.startswith(f"the target is left out: {reason}")


CLOSED = {
    "isolation": "actions: {GET: {enabled: true, config: {userIsolation: true}}}",
    "resources": "resources: [{path: /**, provider: company, oidc: {}}]",
    "rewrites": "keyRewriteList: [{source: .*, target: '/{{ .User.GetUsername }}/{{ .Key | base }}', targetType: TEMPLATE}]",
    "all on": "actions: {GET: {enabled: true, config: {userIsolation: true}}, HEAD: {enabled: true}, PUT: {enabled: true},"
    " DELETE: {enabled: true}}",
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
    assert done.messages(Outcome.ADAPTED) == ["`^a$` -> `b` is `^/a$` -> `/b`, which makes the same keys"]
    (never,) = done.messages(Outcome.LEFT_OUT)
    assert never.startswith("`^/c$` -> `d` is left out, since s3-proxy never applies it")
    assert "`z` -> `/y` as it is" in done.messages(Outcome.CARRIED)


def test_rules_as_documented_are_carried_over_as_they_are():
    """The documentation's keys are this project's."""
    done = target("keyRewriteList: [{source: ^/c$, target: /d}]", keys_as=KeysAs.DOCUMENTED)
    assert done.messages(Outcome.CARRIED)[-1:] == ["`^/c$` -> `/d` as it is"]
    assert done.rule_sets["site"].rewrite("/c").key == "/d"


def test_a_left_out_rewrite_that_reads_nobody_closes_nothing():
    """Only rules that part users are a matter of access."""
    done = target("keyRewriteList: [{source: .*, target: '/{{ .Key | base }}', targetType: TEMPLATE}]")
    assert done.report.closed_targets == ()
