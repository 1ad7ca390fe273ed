import pytest

from tornado_proxy.lint import checks
from tornado_proxy.lint.check import Category, Selection, UnknownWord, check_name, check_of, read_words
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
