import pytest

from tornado_proxy.lang.diagnostic import Severity
from tornado_proxy.lint import checks
from tornado_proxy.lint.check import (
    Category,
    LintSettings,
    Selection,
    SettingsMistake,
    UnknownWord,
    check_name,
    check_of,
    find_settings,
    read_words,
)
from tornado_proxy.lint.checks import CHECKS, missing_user, unescaped_dot


def test_a_name_is_that_of_the_module():
    """Hyphens stand for what cannot stand in a module's name."""
    assert check_name("tornado_proxy.lint.checks.unescaped_dot") == "unescaped-dot"


def test_a_check_is_its_module():
    """Everything about it is read off the module."""
    check = check_of(unescaped_dot)
    assert (check.name, check.category, check.look) == ("unescaped-dot", Category.DOUBTS, unescaped_dot.check)
    assert check.summary == "A `.` that stands for any character where a dot is probably meant."
    assert not check.needs_configuration
    assert check_of(missing_user).needs_configuration


def test_every_module_is_listed():
    """A check that nobody lists would never run."""
    modules = {name for name in vars(checks) if hasattr(vars(checks)[name], "SEVERITY")} - {"Check"}
    assert {check.name for check in CHECKS} == {name.replace("_", "-") for name in modules}


def test_allowances_are_judged_last():
    """The check of allowances asks what the others have silenced."""
    assert CHECKS[-1].name == "unused-allowance"


@pytest.mark.parametrize("category", Category)
def test_no_category_is_empty_or_a_check(category):
    """A word means one thing."""
    assert any(check.category is category for check in CHECKS)
    assert category.value not in {check.name for check in CHECKS}


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
        ("unescaped-dto", "there is no check or category `unescaped-dto`; did you mean `unescaped-dot`?"),
        ("zzz", "there is no check or category `zzz`"),
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
        ("[lint]\nselct = []", "there is no setting `selct`; did you mean `select`?"),
        (
            "[lint]\nzzz = []",
            "there is no setting `zzz`; there are `select`, `ignore`, `fail-level`, `per-file-ignores`",
        ),
        ('[lint]\nselect = "all"', "`select` is a list of names and categories"),
        ("[lint]\nignore = [1]", "`ignore` is a list of names and categories"),
        ('[lint]\nignore = ["unescaped-dto"]', "in `ignore` there is no check or category `unescaped-dto`"),
        ('[lint]\nfail-level = "hint"', "`fail-level` is one of error, warning, info"),
        ("[lint]\nfail-level = []", "`fail-level` is one of error, warning, info"),
        ("[lint]\nper-file-ignores = 1", "`per-file-ignores` is a table"),
        ('[lint]\nper-file-ignores = {"*" = "all"}', "`per-file-ignores` is a list of names and categories"),
    ],
)
def test_mistakes_name_file_and_setting(tmp_path, text, said):
    """What cannot be used is told, with what would do."""
    with pytest.raises(SettingsMistake) as raised:
        _settings(tmp_path, text)
    assert said in str(raised.value)
    assert "tornado-proxy.toml" in str(raised.value)


def test_all_mistakes_are_told_at_once(tmp_path):
    """Each on a line of its own."""
    with pytest.raises(SettingsMistake) as raised:
        _settings(tmp_path, '[lint]\nselct = []\nignore = 1\nselect = []\nfail-level = "hint"')
    said = str(raised.value).splitlines()
    assert [line.count("tornado-proxy.toml") for line in said] == [1, 1, 1, 1]
    assert "`select` names nothing" in said[2]


@pytest.mark.parametrize(
    ("text", "name"),
    [("[lnt]\nselect = []", "tornado-proxy.toml"), ("[tool.tornado-proxy.lnt]\nselect = []", "pyproject.toml")],
)
def test_a_table_that_is_misspelt_is_a_mistake(tmp_path, text, name):
    """It would be passed over, and nobody would know."""
    with pytest.raises(SettingsMistake, match="there is no table `lnt`, only `lint`"):
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
