import pytest
from conversions import made, target

from tornado_proxy.lang.diagnostic import SourceFile
from tornado_proxy.tools.convert import conversion
from tornado_proxy.tools.convert.conversion import read, together
from tornado_proxy.tools.convert.options import OptionOutcome, Section, Unreadable
from tornado_proxy.tools.convert.resources import PRIVATE_NETWORKS
from tornado_proxy.tools.convert.servers import UNKNOWN


def _together(*texts):
    return Section(together([SourceFile(f"{number}.yaml", text) for number, text in enumerate(texts)]))


def test_mappings_are_merged_and_lists_replaced():
    """Of two files the later counts, but for mappings, which add up."""
    root = _together("a: {b: 1, c: [1, 2]}\nd: 1", "a: {c: [3], e: 4}\nd: {f: 2}")
    inner = root.section("a")
    assert (inner.text("b"), [each.value for each in inner.texts("c")], inner.text("e")) == ("1", ["3"], "4")
    assert root.section("d").text("f") == "2"


def test_cases_of_names_are_not_told_apart():
    """As viper does, every name is read in lower case."""
    root = _together("LOG: {Level: debug}", "log: {format: json}")
    assert (root.section("Log").text("level"), root.section("log").text("FORMAT")) == ("debug", "json")


@pytest.mark.parametrize("text", ["a:", "a: ~", "a: {}", "a: {b: {}, c: }", "a: {b: {c: null}}"])
def test_what_says_nothing_was_never_given(text):
    """Empty options override nothing: so does viper, which turns `config: {}` into no `config` at all."""
    assert "a" not in _together(text)
    assert _together("a: 1", text).text("a") == "1"


def test_lists_keep_what_says_nothing():
    """Only mappings lose their empty options."""
    (only,) = _together("a: [{b: }]").sections("a")
    assert "b" in only


def test_merge_keys_and_anchors_are_followed():
    """`<<` brings in what the mapping does not say itself."""
    root = _together("base: &base {x: 1, y: 2}\na: {<<: *base, y: 3}\nb: {<<: [{x: 4}, *base]}")
    assert [root.section(name).text(key) for name, key in (("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"))] == list(
        "1342"
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "~\n", "---\n"])
def test_an_empty_file_says_nothing(text):
    """A file of comments is not a mistake."""
    assert _together(text, "a: 1").text("a") == "1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "0.yaml:1:"),
        ("a: 1\na: 2", "0.yaml:2:1: what stands there is given twice"),
        ("- a", "a configuration is a mapping"),
        ("secret: !hidden hush", "0.yaml:1:9: a tag has no meaning here"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(text, message):
    """The message has the place, and nothing of the text, which may be a secret."""
    with pytest.raises(Unreadable) as refused:
        _together(text)
    assert message in str(refused.value)
    assert "hush" not in str(refused.value)


def test_a_directory_is_read_in_the_order_of_names(tmp_path):
    """Hidden files and directories are not part of it; what is read last counts."""
    for name, value in (("b.yaml", "2"), ("a.yml", "1"), (".c.yaml", "3"), ("README", "x")):
        (tmp_path / name).write_text(f"a: {value}")
    (tmp_path / "d.yaml").mkdir()
    assert Section(read([tmp_path])).text("a") == "2"


def test_of_two_extensions_the_preferred_one_counts_for_both(tmp_path):
    """Viper looks for a file's name without its extension, JSON first."""
    (tmp_path / "a.json").write_text('{"a": 1}')
    (tmp_path / "a.yaml").write_text("a: 2")
    assert Section(read([tmp_path])).text("a") == "1"


def test_a_format_that_is_not_read_is_never_passed_over(tmp_path):
    """What s3-proxy would have read as well must not be missing silently."""
    (tmp_path / "a.toml").write_text("a = 1")
    with pytest.raises(Unreadable, match="only YAML and JSON are read"):
        read([tmp_path])


def test_files_are_read_in_the_order_given(tmp_path):
    """Several places are merged one after another."""
    (tmp_path / "a.yaml").write_text("\ufeffa: 1")
    (tmp_path / "b.yaml").write_text("a: 2")
    assert Section(read([tmp_path / "b.yaml", tmp_path / "a.yaml"])).text("a") == "1"


def test_what_is_not_there_is_refused(tmp_path):
    """A file that is missing, a directory without a file, a text that is not UTF-8, a file that is far too large."""
    (tmp_path / "latin").write_bytes(b"a: \xe9")
    (tmp_path / "empty").mkdir()
    (tmp_path / "large").write_bytes(b"#" * (conversion.LARGEST + 1))
    for name, message in (
        ("missing", "cannot be read: No such file"),
        ("empty", "holds no configuration file"),
        ("latin", "is not UTF-8: the byte 0xE9 at offset 3"),
        ("large", f"is larger than {conversion.LARGEST} bytes"),
    ):
        with pytest.raises(Unreadable, match=message):
            read([tmp_path / name])


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
        (
            "internalServer: {cache: {noCacheEnabled: true}}",
            "the admin listener is for programs: nothing of it is cached or compressed",
        ),
    ],
)
def test_what_has_no_equal_is_reported_with_the_reason(option, reason):
    """Each option without an equal says why."""
    done = made(f"{MINIMAL}{option}\n")
    assert done.messages(OptionOutcome.LEFT_OUT) == [reason]


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("metrics: {disableRouterPath: true}", "no metric is labelled with a path"),
        ("log: {filePath: /var/log/s3}", "the log goes to standard error, where systemd or a container takes it"),
    ],
)
def test_what_is_done_otherwise_is_reported_as_a_change(option, reason):
    """Nothing is lost."""
    done = made(f"{MINIMAL}{option}\n")
    assert done.messages(OptionOutcome.LEFT_OUT) == []
    assert reason in done.messages(OptionOutcome.CHANGED)


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
