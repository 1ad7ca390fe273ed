from __future__ import annotations

import pytest
import yaml
from conversions import converted, converted_target
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.rules.diagnostic import SourceFile, Span
from tornado_proxy.tools.convert.conversion import (
    CONFIGURATION,
    NOTES,
    ConversionReport,
    to_json,
    to_markdown,
    to_text,
    yaml_text,
)
from tornado_proxy.tools.convert.hosting import READERS, convert_redirects, origin_of
from tornado_proxy.tools.convert.options import UNKNOWN, OptionOutcome, Remark, Unreadable, where
from tornado_proxy.tools.convert.resources import PRIVATE_NETWORKS
from tornado_proxy.tools.convert.rewrites import KeysAs

MINIMAL = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"


def test_a_small_configuration_is_converted_completely():
    """A configuration without differences needs no review."""
    conversion = converted(MINIMAL)
    assert conversion.report.complete
    assert conversion.messages() == ["as `targets.site.mount`", "as `targets.site.bucket`"]


def test_different_defaults_are_written():
    """Defaults of s3-proxy that differ from ours are written: the address, the log, HEAD."""
    assert converted(MINIMAL).document == {
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


def test_the_configuration_names_each_rule_file():
    """Files of an earlier conversion in the same directory are not loaded."""
    rules = "keyRewriteList: [{source: ^a$, target: b}]"
    conversion = converted(
        f"targets: {{'A b': {{mount: {{path: [/1/]}}, bucket: {{name: one}}, {rules}}},"
        f" 'a/b': {{mount: {{path: [/2/]}}, bucket: {{name: two}}, {rules}}}}}"
    )
    assert conversion.document["rules"] == ["rules/a_b.rules", "rules/a_b-2.rules"]
    assert sorted(conversion.rule_sets) == ["a b", "a/b"]


def test_an_unknown_option_is_reported_with_its_place():
    conversion = converted(f"{MINIMAL}surprise: 1\n")
    (remark,) = conversion.report.of(OptionOutcome.LEFT_OUT)
    assert (remark.subject, where(remark.place)) == ("surprise", "0.yaml:2")
    assert (remark.message, remark.help) == ("this is not a known option of s3-proxy", None)


REST = "actions: {GET: {enabled: true}}, templates: {put: {path: a, inBucket: true}}, resources: [{path: /, whiteList: true}]"


@pytest.mark.parametrize(
    "name", ["cache", "bucket", "config", "resources", "actions", "templates", "x.y", "s3.example.org"]
)
def test_a_target_may_be_named_as_an_option_is(name):
    """Its options are known, and a misspelt one is reported."""
    text = f"targets: {{{name}: {{mount: {{path: [/]}}, bucket: {{name: my-bucket}}, {REST}, bukket: x}}}}"
    (remark,) = converted(text).report.of(OptionOutcome.LEFT_OUT)
    assert (remark.subject, remark.help) == (f"targets.{name}.bukket", "did you mean `bucket`?")


@pytest.mark.parametrize(
    ("text", "subject", "meant"),
    [
        ("target: {site: {bucket: {name: b}}}", "target", "targets"),
        ("server: {Listenaddress: a}", "server.Listenaddress", "listenAddr"),
        ("targets: {s.t: {mount: {path: [/]}, bucket: {name: b, s3EndPoints: x}}}", "targets.s.t.bucket.s3EndPoints", "s3Endpoint"),
        ("targets: {s: {mount: {path: [/]}, bucket: {name: b}, resources: [{path: /, whiteList: true, whitelisted: true}]}}",
         "targets.s.resources.whitelisted", "whiteList"),
        ("targets: {s: {mount: {path: [/]}, bucket: {name: b}, actions: {GET: {enabled: true, config: {indexDocuments: a}}}}}",
         "targets.s.actions.GET.config.indexDocuments", "indexDocument"),
    ],
)  # fmt: skip
def test_a_misspelt_option_is_reported_with_the_one_that_was_meant(text, subject, meant):
    """The options of each section are in a table."""
    conversion = converted(text)
    (remark,) = [each for each in conversion.report.of(OptionOutcome.LEFT_OUT) if each.message == UNKNOWN]
    assert (remark.subject, remark.help) == (subject, f"did you mean `{meant}`?")


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("tracing: {enabled: true}", "traces are sent by OTLP over HTTP here: write `tracing` with its `endpoint`"),
        (
            "internalServer: {cache: {noCacheEnabled: true}}",
            "the admin listener is for programs: its answers are neither cached nor compressed",
        ),
    ],
)
def test_an_option_without_an_equivalent_is_reported_with_the_reason(option, reason):
    conversion = converted(f"{MINIMAL}{option}\n")
    assert conversion.messages(OptionOutcome.LEFT_OUT) == [reason]


def test_a_lost_option_of_a_target_is_a_comment_above_it():
    """Comments in the configuration point out what to review."""
    conversion = converted_target("colour: red")
    assert UNKNOWN in conversion.messages(OptionOutcome.LEFT_OUT)
    assert f": {UNKNOWN}\n  site:" in conversion.files["tornado-proxy.yaml"]


@pytest.mark.parametrize("text", ["log: {level: info}", "targets: {site: {bucket: {name: b}}}"])
def test_a_configuration_without_targets_is_converted(text):
    """s3-proxy starts without a target, too, and a target that is left out is reported."""
    assert converted(text).settings.targets == ()


def test_the_page_of_all_targets_is_converted():
    """The page is converted with its resource, or closed to everyone."""
    providers = "authProviders: {basic: {staff: {realm: r}}}\n"
    page = "listTargets: {enabled: true, mount: {path: [/list/]}, resource: {path: /list/, %s}}\n"
    demand = "provider: staff, basic: {credentials: [{user: ann, password: {env: PW}}]}"
    list_targets = converted(providers + page % demand).settings.list_targets
    expected = (True, ("/list/",), "staff")
    assert (list_targets.enabled, list_targets.mount.paths, list_targets.resource.provider) == expected
    closed = converted(providers + page % "provider: staff, basic: {credentials: []}")
    assert closed.report.of(OptionOutcome.CLOSED)
    assert closed.settings.list_targets.resource.path == "/closed-until-reviewed"
    assert converted("listTargets: {enabled: false, mount: {path: [/]}}").settings.list_targets is None


def test_a_target_around_the_page_of_all_targets_is_reported():
    """Here it answers what the page does not; in s3-proxy nothing does."""
    page = "listTargets: {enabled: true, mount: {path: [/list/]}}\n"
    (message,) = converted(f"{page}{MINIMAL}").messages(OptionOutcome.CHANGED)
    assert message == "other methods, and paths below `/list/`, are those of a target; s3-proxy answers 405 and 404"
    apart = MINIMAL.replace("[/]", "[/a/]")
    assert converted(f"{page}{apart}").report.complete


@pytest.mark.parametrize(
    ("path", "reason"), [("", "its `mount` has no `path`"), ("'/{user}/'", "the mount path `/{user}/` is a pattern")]
)
def test_a_page_of_all_targets_that_has_no_place_here_is_left_out(path, reason):
    """Without a path s3-proxy shows it nowhere, and `/` would be the default here."""
    conversion = converted(f"listTargets: {{enabled: true, mount: {{path: [{path}]}}}}")
    assert conversion.settings.list_targets is None
    (message,) = conversion.messages(OptionOutcome.LEFT_OUT)
    assert message.startswith(f"the page of all targets is left out: {reason}")


@pytest.mark.parametrize(
    "text",
    [
        "tracing: {enabled: false, udpHost: x}",
        "metrics: {disableRouterPath: false}",
        "targets: {site: {mount: {path: [/]}, bucket: {name: b}, actions: {GET: {enabled: true, config: {webhooks: []}}}}}",
    ],
)
def test_a_disabled_option_has_no_remark(text):
    assert converted(text).messages(OptionOutcome.LEFT_OUT, OptionOutcome.CHANGED) == []


# PyYAML folds the line breaks of Unicode: NEL, LS and PS.
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x85\u2028\u2029"), max_size=8
) | st.sampled_from(
    ["yes", "1", "~", "a: b", "# x", "", "null", "2024-01-01", "*a", "5GiB", "\ufeff", "a/b", "-", "1e3", "0x1", ".inf"]
)
SETTINGS = st.dictionaries(
    TEXTS,
    st.recursive(
        TEXTS | st.booleans() | st.integers(),
        lambda inner: (
            st.lists(TEXTS)
            | st.lists(st.dictionaries(TEXTS, inner, min_size=1), max_size=3)
            | st.dictionaries(TEXTS, inner)
        ),
        max_leaves=8,
    ),
    min_size=1,
)


PLACE = Span(SourceFile("conf.yaml", "a: 1\nb: 2\n"), 5, 6)


@given(SETTINGS)
def test_written_yaml_is_read_as_the_same_settings(settings):
    """YAML reads every name and text back unchanged."""
    assert yaml.safe_load(yaml_text(settings)) == settings


def test_collections_of_scalars_are_written_on_one_line():
    """Other collections are written on several lines."""
    assert yaml_text(
        {"server": {"listenAddr": "", "port": 80}, "resources": [{"path": "/**", "methods": ["GET"]}]}
    ) == ("server: {listenAddr: '', port: 80}\nresources:\n- path: /**\n  methods: [GET]\n")


def test_a_listener_is_written_on_one_line():
    """A script finds address and port on this line, however many options the listener has."""
    text = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"
    text += (
        "server: {listenAddr: 127.0.0.1, cors: {enabled: true, allowOrigins: [https://a.example, https://b.example]}}"
    )
    lines = converted(text).files[CONFIGURATION].splitlines()
    assert [
        line for line in lines if line.startswith("server: {listenAddr: 127.0.0.1, port: 8080, ") and line.endswith("}")
    ]
    assert "internalServer: {listenAddr: '', port: 9090}" in lines


def test_remarks_are_in_the_order_of_files_and_lines():
    """Remarks about one line keep the order in which they were made."""
    conversion = converted("surprise: 1\nanother: 2", "third: 3")
    expected = ["0.yaml:1", "0.yaml:2", "1.yaml:1"]
    assert [where(remark.place) for remark in conversion.report.of(OptionOutcome.LEFT_OUT)] == expected


@pytest.mark.parametrize("outcome", OptionOutcome)
def test_a_conversion_is_complete_if_nothing_is_lost_or_changed(outcome):
    """A different spelling with the same effect needs no review."""
    report = ConversionReport(KeysAs.ACTUAL, (Remark(outcome, "x", "a message", PLACE),))
    assert report.complete is (outcome in (OptionOutcome.CARRIED, OptionOutcome.ADAPTED))


REPORT = ConversionReport(
    KeysAs.ACTUAL,
    (
        Remark(OptionOutcome.CARRIED, "a", "as `a`", PLACE),
        Remark(OptionOutcome.CLOSED, "b", "closed *to* `a*b`\nall", PLACE, "open it"),
        Remark(OptionOutcome.ADAPTED, "c", "otherwise", PLACE),
    ),
    (NOTES["everyone"], NOTES["actual"]),
    ("site",),
)


CLOSED = (
    "## Closed\n\nThese have no equivalent and are closed to everyone until you say who may use them.\n\n"
    "- conf.yaml:2, `b`: closed *to* `a*b` all; open it\n\n"
)


def test_the_markdown_report_begins_with_outcomes_to_review():
    """The outcomes that need no review are at the end."""
    assert to_markdown(REPORT) == (
        f"# From s3-proxy to tornado-proxy\n\n{NOTES['everyone']}\n\n{NOTES['actual']}\n\n"
        "**Closed to everyone: `site`.** The access rules of s3-proxy could not be converted.\n\n"
        f"{CLOSED}"
        "## Adapted\n\nThese are written differently and have the same effect.\n\n- conf.yaml:2, `c`: otherwise\n\n"
        "## Carried over\n\nThese are the same.\n\n- conf.yaml:2, `a`: as `a`\n"
    )


def test_the_text_report_has_only_outcomes_to_review():
    """The terminal shows only a count of the other outcomes."""
    assert to_text(REPORT, ["out/report.md"]) == (
        f"{NOTES['everyone']}\n\n{NOTES['actual']}\n\n"
        f"{CLOSED}1 carried over, 1 adapted; the report has them all.\nwrote out/report.md\n"
    )


def test_the_report_says_that_the_service_refuses_the_files():
    """A user reads it before the list of files."""
    assert "`serve --check` refuses these files: mend them first.\nwrote out/a" in to_text(
        REPORT, ["out/a"], usable=False
    )
    assert (to_json(REPORT, [], usable=False)["usable"], to_json(REPORT, [])["usable"]) == (False, True)


def test_the_json_report_has_every_remark():
    """Each remark has its file and line, and the report states whether it is complete."""
    data = to_json(REPORT, ["out/report.md"])
    assert {name: data[name] for name in ("version", "complete", "keysAs", "closedTargets", "files")} == {
        "version": 1,
        "complete": False,
        "keysAs": "actual",
        "closedTargets": ["site"],
        "files": ["out/report.md"],
    }
    assert data["remarks"][1] == {
        "outcome": "closed",
        "subject": "b",
        "message": "closed *to* `a*b`\nall",
        "help": "open it",
        "file": "conf.yaml",
        "line": 2,
    }


def test_the_report_states_how_keys_were_read():
    documented = converted_target("", keys_as=KeysAs.DOCUMENTED).report
    assert NOTES["documented"] in to_markdown(documented)
    assert converted("targets: {a: {mount: {path: [/]}, bucket: {name: b}}}").report.keys_as is KeysAs.ACTUAL


@pytest.mark.parametrize(
    ("option", "is_open"),
    [
        ("", True),
        ("internalServer: {port: 9091}", True),
        ("internalServer: {listenAddr: 0.0.0.0}", True),
        ("internalServer: {listenAddr: '::'}", True),
        ("internalServer: {listenAddr: 127.0.0.1}", False),
        ("internalServer: {listenAddr: 192.0.2.1}", False),
    ],
)
def test_an_admin_listener_open_on_every_interface_is_noted(option, is_open):
    """Every form of the report has the note; the conversion is still complete."""
    report = converted(f"{MINIMAL}{option}\n").report
    forms = to_markdown(report), to_text(report, []), "\n".join(to_json(report, [])["notes"])
    assert [NOTES["open-admin"] in form for form in forms] == [is_open] * 3
    assert report.complete


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("# a list\n/a /b 301\n", "netlify"),
        ("/a/* /b\n/c /d\n", "netlify"),
        ("# FROM TO\n/a\t/b\n/c/:active\t/d\n", "list"),
        ('[{"Redirect": {"ReplaceKeyWith": "a"}}]', "s3"),
        ("\n<RoutingRules/>", "s3"),
        ("Resources:\n  A:\n    RoutingRules: []\n", "s3"),
        ("server { return 301 /x; }", "nginx"),
        ("map $uri $new {\n/a /b;\n}\n", "nginx"),
        ("# x\nRewriteEngine on\n  RewriteRule ^a$ /b [R]\n", "apache"),
        ("redirect 301 /a /b\n", "apache"),
    ],
)
def test_what_redirects_are_for_is_seen_in_their_file(text, origin):
    """In a `_redirects`, columns without a sign are Netlify's."""
    assert origin_of(SourceFile("file", text)) == origin
    assert origin_of(SourceFile("site/_redirects", "/a /b\n")) == "netlify"


@pytest.mark.parametrize("origin", READERS)
def test_a_file_without_redirects_is_refused(origin):
    """It was probably read as one for another server."""
    with pytest.raises(Unreadable, match="`file`"):
        convert_redirects([SourceFile("file", "# nothing\n")], origin, "site")
