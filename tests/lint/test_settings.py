import pytest

from tornado_proxy.lang.diagnostic import Severity
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.settings import LintSettings, Selection, SettingsMistake, UnknownWord, find_settings, read_words

BY_NAME = {check.name: check for check in CHECKS}


def _names(select=("all",), ignore=()):
    return {check.name for check in Selection(frozenset(select), frozenset(ignore)).checks(CHECKS)}


def _category(name):
    return {check.name for check in CHECKS if check.category.value == name}


def test_all_run_by_default():
    """Nothing is left out unless somebody says so."""
    assert Selection().checks(CHECKS) == list(CHECKS)


@pytest.mark.parametrize(
    ("select", "ignore", "expected"),
    [
        (["unescaped-dot"], [], {"unescaped-dot"}),
        (["tests"], [], _category("tests")),
        (["tests"], ["failing-test"], _category("tests") - {"failing-test"}),
        (["failing-test", "all"], ["tests"], set(BY_NAME) - _category("tests") | {"failing-test"}),
        (["failing-test"], ["failing-test"], set()),
        (["all"], ["all"], set()),
        (["tests"], ["all"], _category("tests")),
        (["upkeep", "unescaped-dot"], [], {"unused-allowance", "unescaped-dot"}),
    ],
)
def test_a_name_beats_a_category_and_off_beats_on(select, ignore, expected):
    """Of two words alike the one that turns off wins."""
    assert _names(select, ignore) == expected


@pytest.mark.parametrize(
    ("glob", "hidden"), [("rules/*", True), ("*.rules", True), ("other/*", False), ("site.rules", False)]
)
def test_globs_are_of_paths_seen_from_the_settings(glob, hidden, tmp_path):
    """A path is given relative to the directory of the settings, with `/`."""
    selection = Selection(per_file={glob: frozenset({"unescaped-dot"})}, directory=tmp_path)
    assert selection.hides(BY_NAME["unescaped-dot"], str(tmp_path / "rules" / "site.rules")) is hidden
    assert not selection.hides(BY_NAME["failing-test"], str(tmp_path / "rules" / "site.rules"))


@pytest.mark.parametrize("word", ["unescaped-dot", "security", "all"])
def test_words_that_mean_something(word):
    """Names, categories and `all` are words."""
    assert read_words([word], CHECKS) == {word}


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("unescaped-dto", "unknown check or category `unescaped-dto`; did you mean `unescaped-dot`?"),
        ("zzz", "unknown check or category `zzz`"),
    ],
)
def test_a_word_that_means_nothing(word, message):
    """It is told, with what was probably meant."""
    with pytest.raises(UnknownWord) as raised:
        read_words(["all", word], CHECKS)
    assert str(raised.value) == message


EVERYTHING = """
[lint]
select = ["mistakes", "unescaped-dot"]
ignore = ["failing-test"]
fail-level = "error"
per-file-ignores = {"generated/*" = ["tests"]}
"""


def _settings(folder, text, name="tornado-proxy.toml"):
    (folder / name).write_text(text)
    return find_settings(folder / "rules" / "site.rules", CHECKS)


def test_without_a_file_all_is_as_it_is(tmp_path):
    """Every check runs, and warnings fail the run."""
    assert find_settings(tmp_path, CHECKS) == LintSettings(Selection(), Severity.WARNING)


def test_everything_that_can_be_set(tmp_path):
    """Each setting is read; globs are seen from the file's directory."""
    selection = Selection(
        frozenset({"mistakes", "unescaped-dot"}),
        frozenset({"failing-test"}),
        {"generated/*": frozenset({"tests"})},
        tmp_path,
    )
    assert _settings(tmp_path, EVERYTHING) == LintSettings(selection, Severity.ERROR)


def test_the_table_of_a_shared_file(tmp_path):
    """A pyproject.toml has the same table under a longer name."""
    found = _settings(tmp_path, '[tool.tornado-proxy.lint]\nfail-level = "info"', "pyproject.toml")
    assert found.fail_level is Severity.INFO


def test_the_nearest_file_counts(tmp_path):
    """One above is not looked at."""
    (tmp_path / "tornado-proxy.toml").write_text('[lint]\nfail-level = "error"')
    (tmp_path / "rules").mkdir()
    assert _settings(tmp_path / "rules", '[lint]\nfail-level = "info"').fail_level is Severity.INFO


def test_a_path_that_is_a_file(tmp_path):
    """The search begins in its directory."""
    (tmp_path / "site.rules").touch()
    (tmp_path / "tornado-proxy.toml").write_text('[lint]\nfail-level = "error"')
    assert find_settings(tmp_path / "site.rules", CHECKS).fail_level is Severity.ERROR


def test_the_file_of_our_own_comes_first(tmp_path):
    """In one directory it beats the shared one, even where it is empty."""
    (tmp_path / "pyproject.toml").write_text('[tool.tornado-proxy.lint]\nfail-level = "info"')
    assert _settings(tmp_path, "").fail_level is Severity.WARNING


@pytest.mark.parametrize(
    "text", ["[tool.ruff]\n", "# tornado-proxy\n[tool]\n", "[tool.tornado-proxy]\n", 'name = "tornado-proxy"']
)
def test_a_shared_file_without_the_table_is_passed_over(tmp_path, text):
    """The search goes on above it."""
    (tmp_path / "tornado-proxy.toml").write_text('[lint]\nfail-level = "error"')
    (tmp_path / "rules").mkdir()
    assert _settings(tmp_path / "rules", text, "pyproject.toml").fail_level is Severity.ERROR


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[lint", "is not TOML"),
        ("lint = 1", "`lint` is not a table"),
        ("[lint]\nselct = []", "unknown setting `selct`; did you mean `select`?"),
        (
            "[lint]\nzzz = []",
            "unknown setting `zzz`; the settings are `select`, `ignore`, `fail-level`, `per-file-ignores`",
        ),
        ('[lint]\nselect = "all"', "`select` must be a list of checks and categories"),
        ("[lint]\nignore = [1]", "`ignore` must be a list of checks and categories"),
        ('[lint]\nignore = ["unescaped-dto"]', "`ignore`: unknown check or category `unescaped-dto`"),
        ('[lint]\nfail-level = "hint"', "`fail-level` must be one of error, warning, info"),
        ("[lint]\nfail-level = []", "`fail-level` must be one of error, warning, info"),
        ("[lint]\nper-file-ignores = 1", "`per-file-ignores` must be a table"),
        ('[lint]\nper-file-ignores = {"*" = "all"}', "`per-file-ignores` must be a list of checks and categories"),
    ],
)
def test_mistakes_name_file_and_setting(tmp_path, text, said):
    """What cannot be used is told, with what would do."""
    with pytest.raises(SettingsMistake) as raised:
        _settings(tmp_path, text)
    assert said in str(raised.value)
    assert "tornado-proxy.toml" in str(raised.value)


def test_all_mistakes_are_reported_at_once(tmp_path):
    """Each on a line of its own."""
    with pytest.raises(SettingsMistake) as raised:
        _settings(tmp_path, '[lint]\nselct = []\nignore = 1\nselect = []\nfail-level = "hint"')
    said = str(raised.value).splitlines()
    assert [line.count("tornado-proxy.toml") for line in said] == [1, 1, 1, 1]
    assert "`select` is empty" in said[2]


@pytest.mark.parametrize(
    ("text", "name"),
    [("[lnt]\nselect = []", "tornado-proxy.toml"), ("[tool.tornado-proxy.lnt]\nselect = []", "pyproject.toml")],
)
def test_a_table_that_is_misspelt_is_a_mistake(tmp_path, text, name):
    """It would be passed over, and nobody would know."""
    with pytest.raises(SettingsMistake, match="unknown table `lnt`; the only one is `lint`"):
        _settings(tmp_path, text, name)


def test_tool_is_no_table(tmp_path):
    """A shared file may be odd further up, too."""
    with pytest.raises(SettingsMistake, match=r"`tool.tornado-proxy.lint` is not a table"):
        _settings(tmp_path, 'tool = "tornado-proxy"', "pyproject.toml")


def test_a_file_that_cannot_be_read(tmp_path):
    """Bytes that are no text are told, not skipped."""
    (tmp_path / "tornado-proxy.toml").write_bytes(b"\xff")
    with pytest.raises(SettingsMistake, match="cannot be read"):
        find_settings(tmp_path, CHECKS)


def test_a_file_below_the_current_directory_is_named_as_seen_from_there(tmp_path, monkeypatch):
    """A message is read by somebody who stands somewhere."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsMistake, match=r"^`tornado-proxy\.toml` is not TOML"):
        _settings(tmp_path, "[")
