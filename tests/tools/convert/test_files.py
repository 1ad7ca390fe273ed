import pytest

from tornado_proxy.lang.source import SourceFile
from tornado_proxy.tools.convert import files
from tornado_proxy.tools.convert.files import read, together
from tornado_proxy.tools.convert.options import Section, Unreadable


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
    (tmp_path / "large").write_bytes(b"#" * (files.LARGEST + 1))
    for name, message in (
        ("missing", "cannot be read: No such file"),
        ("empty", "holds no configuration file"),
        ("latin", "is not UTF-8: the byte 0xE9 at offset 3"),
        ("large", f"is larger than {files.LARGEST} bytes"),
    ):
        with pytest.raises(Unreadable, match=message):
            read([tmp_path / name])
