import pytest

from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import LintSettings, SettingsMistake, UnknownWord, find_settings, read_words
from tornado_proxy.rules.diagnostic import Severity

BY_NAME = {check.name: check for check in CHECKS}


def _category(name):
    return {check.name for check in CHECKS if check.category.value == name}


def test_all_checks_run_by_default():
    assert LintSettings().checks(CHECKS) == list(CHECKS)


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
def test_a_name_overrides_a_category_and_ignore_overrides_select(select, ignore, expected):
    """Of two words of the same kind, the one in `ignore` wins."""
    settings = LintSettings(frozenset(select), frozenset(ignore))
    assert {check.name for check in settings.checks(CHECKS)} == expected


@pytest.mark.parametrize(
    ("glob", "hidden"), [("rules/*", True), ("*.rules", True), ("other/*", False), ("site.rules", False)]
)
def test_globs_match_paths_relative_to_the_settings(glob, hidden, tmp_path):
    """A glob matches a path relative to the directory of the settings, with `/`."""
    settings = LintSettings(per_file={glob: frozenset({"unescaped-dot"})}, directory=tmp_path)
    assert settings.hides(BY_NAME["unescaped-dot"], str(tmp_path / "rules" / "site.rules")) is hidden
    assert not settings.hides(BY_NAME["failing-test"], str(tmp_path / "rules" / "site.rules"))


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("unescaped-dto", "unknown check or category `unescaped-dto`; did you mean `unescaped-dot`?"),
        ("zzz", "unknown check or category `zzz`; `tornado-proxy lint --list` lists them"),
    ],
)
def test_an_unknown_word_is_refused(word, message):
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


def test_without_a_file_the_defaults_apply(tmp_path):
    """Without a file every check runs, and warnings fail the run."""
    assert find_settings(tmp_path, CHECKS) == LintSettings(fail_level=Severity.WARNING)


def test_all_settings_are_read(tmp_path):
    """Each setting is read; globs are relative to the file's directory."""
    assert _settings(tmp_path, EVERYTHING) == LintSettings(
        frozenset({"mistakes", "unescaped-dot"}),
        frozenset({"failing-test"}),
        {"generated/*": frozenset({"tests"})},
        tmp_path,
        Severity.ERROR,
    )


def test_pyproject_has_the_same_table(tmp_path):
    """A pyproject.toml has the same table under a longer name."""
    settings = _settings(tmp_path, '[tool.tornado-proxy.lint]\nfail-level = "info"', "pyproject.toml")
    assert settings.fail_level is Severity.INFO


def test_the_nearest_file_is_read(tmp_path):
    """A file in a directory above is not read."""
    (tmp_path / "tornado-proxy.toml").write_text('[lint]\nfail-level = "error"')
    (tmp_path / "rules").mkdir()
    assert _settings(tmp_path / "rules", '[lint]\nfail-level = "info"').fail_level is Severity.INFO


def test_the_search_for_a_file_begins_in_its_directory(tmp_path):
    (tmp_path / "site.rules").touch()
    (tmp_path / "tornado-proxy.toml").write_text('[lint]\nfail-level = "error"')
    assert find_settings(tmp_path / "site.rules", CHECKS).fail_level is Severity.ERROR


def test_tornado_proxy_toml_overrides_pyproject(tmp_path):
    """In one directory, tornado-proxy.toml is read even if it is empty."""
    (tmp_path / "pyproject.toml").write_text('[tool.tornado-proxy.lint]\nfail-level = "info"')
    assert _settings(tmp_path, "").fail_level is Severity.WARNING


@pytest.mark.parametrize(
    "text", ["[tool.ruff]\n", "# tornado-proxy\n[tool]\n", "[tool.tornado-proxy]\n", 'name = "tornado-proxy"']
)
def test_pyproject_without_the_table_is_skipped(tmp_path, text):
    """The search continues in the directory above."""
    (tmp_path / "tornado-proxy.toml").write_text('[lint]\nfail-level = "error"')
    (tmp_path / "rules").mkdir()
    assert _settings(tmp_path / "rules", text, "pyproject.toml").fail_level is Severity.ERROR


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[lint", "is not TOML"),
        ("lint = 1", "`lint` is not a table"),
        ("[lint]\nselct = []", "unknown setting `selct`; did you mean `select`?"),
        ("[lint]\nzzz = []", "unknown setting `zzz`; the settings are `select`, `ignore`, `fail-level`, `per-file-ignores`"),
        ('[lint]\nselect = "all"', "`select` must be a list of checks and categories"),
        ("[lint]\nignore = [1]", "`ignore` must be a list of checks and categories"),
        ('[lint]\nignore = ["unescaped-dto"]', "`ignore`: unknown check or category `unescaped-dto`"),
        ('[lint]\nfail-level = "hint"', "`fail-level` must be one of error, warning, info"),
        ("[lint]\nfail-level = []", "`fail-level` must be one of error, warning, info"),
        ("[lint]\nper-file-ignores = 1", "`per-file-ignores` must be a table"),
        ('[lint]\nper-file-ignores = {"*" = "all"}', "`per-file-ignores` must be a list of checks and categories"),
    ],
)  # fmt: skip
def test_a_mistake_names_file_and_setting(tmp_path, text, message):
    with pytest.raises(SettingsMistake) as raised:
        _settings(tmp_path, text)
    assert message in str(raised.value)
    assert "tornado-proxy.toml" in str(raised.value)


def test_all_mistakes_are_reported_at_once(tmp_path):
    with pytest.raises(SettingsMistake) as raised:
        _settings(tmp_path, '[lint]\nselct = []\nignore = 1\nselect = []\nfail-level = "hint"')
    messages = str(raised.value).splitlines()
    assert [message.count("tornado-proxy.toml") for message in messages] == [1, 1, 1, 1]
    assert "`select` is empty" in messages[2]


@pytest.mark.parametrize(
    ("text", "name"),
    [("[lnt]\nselect = []", "tornado-proxy.toml"), ("[tool.tornado-proxy.lnt]\nselect = []", "pyproject.toml")],
)
def test_a_misspelt_table_is_a_mistake(tmp_path, text, name):
    with pytest.raises(SettingsMistake, match="unknown table `lnt`; the only one is `lint`"):
        _settings(tmp_path, text, name)


def test_an_invalid_tool_is_a_mistake(tmp_path):
    with pytest.raises(SettingsMistake, match=r"`tool.tornado-proxy.lint` is not a table"):
        _settings(tmp_path, 'tool = "tornado-proxy"', "pyproject.toml")


def test_an_unreadable_file_is_a_mistake(tmp_path):
    path = tmp_path / "tornado-proxy.toml"
    path.write_bytes(b"\xff")
    with pytest.raises(SettingsMistake, match="cannot be read: 'utf-8' codec"):
        find_settings(tmp_path, CHECKS)
    path.unlink()
    path.mkdir()
    with pytest.raises(SettingsMistake, match=r"cannot be read: Is a directory$"):
        find_settings(tmp_path, CHECKS)


def test_a_file_below_the_current_directory_has_a_relative_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsMistake, match=r"^`tornado-proxy\.toml` is not TOML"):
        _settings(tmp_path, "[")
