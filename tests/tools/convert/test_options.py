import pytest
from conversions import converted_target

from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.tools.convert.options import OptionOutcome, Section, Unreadable, read, together


def test_secrets_are_not_shown_in_a_repr():
    """A value may be a secret, so the `repr` of the options has no values."""
    assert "hush" not in repr(together([SourceFile("conf.yaml", "a: {b: hush}")]))


def _merge(*texts):
    return Section(together([SourceFile(f"{number}.yaml", text) for number, text in enumerate(texts)]))


def test_mappings_are_merged_and_lists_replaced():
    """Values of a later file replace those of an earlier one, and mappings are merged."""
    root = _merge("a: {b: 1, c: [1, 2]}\nd: 1", "a: {c: [3], e: 4}\nd: {f: 2}")
    inner = root.section("a")
    assert (inner.text("b"), inner.texts("c"), inner.text("e")) == ("1", ["3"], "4")
    assert root.section("d").text("f") == "2"


def test_names_are_case_insensitive():
    """Every name is read in lower case, as by viper."""
    root = _merge("LOG: {Level: debug}", "log: {format: json}")
    assert (root.section("Log").text("level"), root.section("log").text("FORMAT")) == ("debug", "json")


@pytest.mark.parametrize("text", ["a:", "a: ~", "a: {}", "a: {b: {}, c: }", "a: {b: {c: null}}"])
def test_an_empty_option_counts_as_missing(text):
    """An empty option replaces no value, as in viper."""
    assert "a" not in _merge(text)
    assert _merge("a: 1", text).text("a") == "1"


def test_empty_options_in_lists_are_kept():
    """Only mappings lose their empty options."""
    (section,) = _merge("a: [{b: }]").sections("a")
    assert "b" in section


def test_yaml_merge_keys_and_anchors_are_resolved():
    """`<<` adds the entries that the mapping does not have itself."""
    root = _merge("base: &base {x: 1, y: 2}\na: {<<: *base, y: 3}\nb: {<<: [{x: 4}, *base]}")
    assert [root.section(name).text(key) for name, key in (("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"))] == list(
        "1342"
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "~\n", "---\n"])
def test_an_empty_file_has_no_options(text):
    """A file with only comments is valid."""
    assert _merge(text, "a: 1").text("a") == "1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "0.yaml:1:"),
        ("a: 1\na: 2", "0.yaml:2:1: this is given twice"),
        ("- a", "a configuration is a mapping"),
        ("secret: !hidden hush", "0.yaml:1:9: a tag has no meaning here"),
    ],
)
def test_an_invalid_file_is_refused(text, message):
    """The message has the place but not the text, which may be a secret."""
    with pytest.raises(Unreadable) as caught:
        _merge(text)
    assert message in str(caught.value)
    assert "hush" not in str(caught.value)


def test_a_directory_is_read_in_the_order_of_names(tmp_path):
    """Hidden files and subdirectories are skipped, and later files have priority."""
    for name, value in (("b.yaml", "2"), ("a.yml", "1"), (".c.yaml", "3"), ("README", "x")):
        (tmp_path / name).write_text(f"a: {value}")
    (tmp_path / "d.yaml").mkdir()
    assert Section(read([tmp_path])).text("a") == "2"


def test_json_is_preferred_to_yaml_for_the_same_name(tmp_path):
    """Viper searches for the name without its extension, and prefers JSON."""
    (tmp_path / "a.json").write_text('{"a": 1}')
    (tmp_path / "a.yaml").write_text("a: 2")
    assert Section(read([tmp_path])).text("a") == "1"


def test_a_file_of_an_unsupported_format_is_refused(tmp_path):
    """A file that s3-proxy would read must not be skipped silently."""
    (tmp_path / "a.toml").write_text("a = 1")
    with pytest.raises(Unreadable, match="but only YAML and JSON are read"):
        read([tmp_path])


def test_files_are_merged_in_the_given_order(tmp_path):
    (tmp_path / "a.yaml").write_text("\ufeffa: 1")
    (tmp_path / "b.yaml").write_text("a: 2")
    assert Section(read([tmp_path / "b.yaml", tmp_path / "a.yaml"])).text("a") == "1"


def test_missing_and_unreadable_files_are_refused(tmp_path):
    (tmp_path / "latin").write_bytes(b"a: \xe9")
    (tmp_path / "empty").mkdir()
    for name, message in (
        ("missing", "cannot be read: No such file"),
        ("empty", "has no configuration file"),
        ("latin", "invalid UTF-8: byte 0xe9 at offset 3"),
    ):
        with pytest.raises(Unreadable, match=message):
            read([tmp_path / name])


def _section(text):
    return Section(together([SourceFile("conf.yaml", text)]))


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("'true'", True), ("1", True), ("F", False), ("''", False)]
)
def test_a_boolean_is_parsed_as_in_go(text, value):
    """A boolean may be quoted, and may be a number."""
    assert _section(f"a: {text}").flag("a", default=not value) is value


@pytest.mark.parametrize(
    ("text", "values"), [("[x, y]", ["x", "y"]), ("x", ["x"]), ("'/a/,/b/'", ["/a/", "/b/"]), ("''", [])]
)
def test_a_list_of_texts_may_be_one_text(text, values):
    """A text without brackets is split at its commas."""
    assert _section(f"a: {text}").texts("a") == values


@pytest.mark.parametrize(
    ("text", "read_option", "message"),
    [
        ("a: yes", lambda root: root.flag("a"), "conf.yaml:1: `a` is not a boolean"),
        ("\na: x", lambda root: root.whole("a", 1), "conf.yaml:2: `a` is not a whole number"),
        ("a: [x]", lambda root: root.text("a"), "`a` is not a single value"),
        ("a: 5", lambda root: root.duration("a"), "`a` is not a duration"),
        ("a: {b: c}", lambda root: root.texts("a"), "`a` is not a list of texts"),
        ("a: {b: [c]}", lambda root: root.section("a").section("b"), "`a.b` is not a mapping"),
        ("a: [x]", lambda root: root.sections("a"), "`a` is not a mapping"),
    ],
)
def test_a_value_of_another_type_is_refused(text, read_option, message):
    """s3-proxy does not start with such a value, either."""
    with pytest.raises(Unreadable) as caught:
        read_option(_section(text))
    assert message in str(caught.value)


def test_the_place_of_an_option_is_its_name():
    """An option that is not given has the place of its section."""
    root = _section("x: 1\na:\n  b: 1")
    assert root.section("a").place("b").first == (3, 3)
    assert root.section("a").place("c").text == "b: 1"


@pytest.mark.parametrize(
    ("text", "expected"), [("0", 0), ("1h30m", 5400), ("+1.5s", "1500ms"), ("300ms", "300ms"), ("-1h", -3600)]
)
def test_a_duration_is_parsed_as_in_go(text, expected):
    """A duration consists of numbers with units."""
    assert _section(f"a: {text}").duration("a") == expected


def _convert_password(text):
    return converted_target(
        f"resources: [{{path: /**, provider: staff, basic: {{credentials: [{{user: ann, password: {text}}}]}}}}]"
    )


def test_the_report_has_no_secrets():
    """A secret is written only to the configuration."""
    conversion = _convert_password("{value: hush}")
    assert "hush" in conversion.files["tornado-proxy.yaml"]
    assert not any("hush" in f"{remark.message}{remark.help}" for remark in conversion.report.remarks)


def test_a_relative_path_of_a_secret_is_reported():
    """A relative path is relative to the configuration file here, not to the working directory."""
    (message,) = _convert_password("{path: secrets/ann}").messages(OptionOutcome.CHANGED)
    assert message.startswith("`secrets/ann` is relative to the configuration file here")


def test_a_password_that_looks_like_a_hash_is_left_out():
    """The service would read such a password as a hash of another one."""
    conversion = _convert_password("{value: $2b$04$abc}")
    assert (
        "the user `ann` is left out: it has a password that looks like a hash, and would be taken for one"
        in conversion.messages(OptionOutcome.LEFT_OUT)
    )
    assert conversion.report.closed_targets == ("site",)
