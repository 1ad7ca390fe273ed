import pytest
from conversions import made, target

from tornado_proxy.tools.convert.report import OptionOutcome
from tornado_proxy.tools.convert.servers import UNKNOWN
from tornado_proxy.tools.convert.sign_in import PRIVATE_NETWORKS

MINIMAL = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"


def test_a_small_configuration_is_carried_over_whole():
    """Where nothing differs, nothing is left to look at."""
    done = made(MINIMAL)
    assert done.report.complete
    assert done.messages() == ["as `targets.site.mount`", "as `targets.site.bucket`"]


def test_defaults_that_differ_are_written_out():
    """What s3-proxy does without being told is told here: where it listens, how it logs, that HEAD is off."""
    assert made(MINIMAL).document == {
        "server": {
            "listenAddr": "",
            "port": 8080,
            "cache": {"noCacheEnabled": True},
            "compress": {"minSize": 0},
            "trustedProxies": list(PRIVATE_NETWORKS),
        },
        "internalServer": {"listenAddr": "", "port": 9090},
        "log": {"level": "info", "format": "json"},
        "targets": {
            "site": {
                "mount": {"path": ["/"]},
                "bucket": {"name": "my-bucket", "region": "us-east-1", "s3ForcePathStyle": True},
                "actions": {
                    "GET": {"enabled": True},
                    "HEAD": {"enabled": False},
                    "PUT": {"enabled": False},
                    "DELETE": {"enabled": False},
                },
            }
        },
    }


def test_rule_files_are_named_one_by_one():
    """What an earlier conversion left in the directory is not loaded."""
    rules = "keyRewriteList: [{source: ^a$, target: b}]"
    done = made(
        f"targets: {{'A b': {{mount: {{path: [/1/]}}, bucket: {{name: one}}, {rules}}},"
        f" 'a/b': {{mount: {{path: [/2/]}}, bucket: {{name: two}}, {rules}}}}}"
    )
    assert done.document["rules"] == ["rules/a_b.rules", "rules/a_b-2.rules"]
    assert sorted(done.rule_sets) == ["a b", "a/b"]


def test_what_nobody_knows_is_reported_with_its_place():
    """An option that no table knows is left out by name, file and line."""
    done = made(f"{MINIMAL}surprise: 1\n")
    (remark,) = done.report.of(OptionOutcome.LEFT_OUT)
    assert (remark.subject, remark.where) == ("surprise", "0.yaml:2")
    assert remark.message == "this is not a known option of s3-proxy"


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("tracing: {enabled: true}", "traces are sent by OTLP over HTTP here: write `tracing` with its `endpoint`"),
        ("metrics: {disableRouterPath: true}", "no metric is labelled with a path"),
        (
            "internalServer: {cache: {noCacheEnabled: true}}",
            "the admin listener is for programs: nothing of it is cached or compressed",
        ),
        ("log: {filePath: /var/log/s3}", "the log goes to standard error, where systemd or a container takes it"),
    ],
)
def test_what_has_no_equal_is_reported_with_the_reason(option, reason):
    """Each option without an equal says why."""
    done = made(f"{MINIMAL}{option}\n")
    assert done.messages(OptionOutcome.LEFT_OUT) == [reason]


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("colour: red", UNKNOWN),
    ],
)
def test_what_a_target_loses_stands_above_it(option, reason):
    """The configuration says in comments what to look at."""
    done = target(option)
    assert reason in done.messages(OptionOutcome.LEFT_OUT)
    assert f": {reason}\n  site:" in done.files["tornado-proxy.yaml"]


@pytest.mark.parametrize("text", ["log: {level: info}", "targets: {site: {bucket: {name: b}}}"])
def test_a_configuration_without_targets_starts(text):
    """s3-proxy starts without a target, too, and a target that is left out is reported."""
    assert made(text).settings.targets == ()


def test_the_page_of_all_targets_is_carried_over():
    """With who may see it; where that cannot be said, nobody may."""
    providers = "authProviders: {basic: {staff: {realm: r}}}\n"
    page = "listTargets: {enabled: true, mount: {path: [/list/]}, resource: {path: /list/, %s}}\n"
    demand = "provider: staff, basic: {credentials: [{user: ann, password: {env: PW}}]}"
    found = made(providers + page % demand).settings.list_targets
    assert (found.enabled, found.mount.paths, found.resource.provider) == (True, ("/list/",), "staff")
    closed = made(providers + page % "provider: staff, basic: {credentials: []}")
    assert closed.report.of(OptionOutcome.CLOSED)
    assert closed.settings.list_targets.resource.path == "/closed-until-reviewed"
    assert made("listTargets: {enabled: false, mount: {path: [/]}}").settings.list_targets is None


@pytest.mark.parametrize(
    "text",
    [
        "tracing: {enabled: false, udpHost: x}",
        "server: {cors: {enabled: false, allowAll: true}}",
        "metrics: {disableRouterPath: false}",
        "targets: {site: {mount: {path: [/]}, bucket: {name: b}, actions: {GET: {enabled: true, config: {webhooks: []}}}}}",
    ],
)
def test_an_option_that_is_off_is_not_lost(text):
    """Nobody misses what asked for nothing."""
    assert made(text).messages(OptionOutcome.LEFT_OUT, OptionOutcome.CHANGED) == []
