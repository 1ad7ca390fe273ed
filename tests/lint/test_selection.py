import pytest

from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.selection import Selection, UnknownWord, read_words

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
