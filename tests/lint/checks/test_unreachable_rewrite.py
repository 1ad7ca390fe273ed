from linting import findings, fixed, places

NAME = "unreachable-rewrite"

GENERAL = 'rewrite `^/docs/(?P<rest>.*)$` -> "/manual/$rest"'
SPECIAL = 'rewrite `^/docs/latest/(?P<rest>.*)$` -> "/manual/4.2/$rest"'


def test_a_special_case_below_the_general_one():
    """A rewrite whose keys an earlier one takes is found, with a note that shows that one."""
    (found,) = findings(NAME, f"{GENERAL}\n{SPECIAL}")
    assert found.message == "no key reaches this rewrite: `#1` takes every key that it could"
    assert [note.span.text for note in found.notes] == ["`^/docs/(?P<rest>.*)$`"]


def test_a_special_case_above_the_general_one():
    """The usual order is not a finding."""
    assert places(NAME, f"{SPECIAL}\n{GENERAL}") == []


def test_several_take_all_keys_together():
    """Those who are needed to take all keys are named, and no others."""
    text = "rewrite low `^/[a-m]` -> `/1`\nrewrite `^/0` -> `/2`\nrewrite high `^/[n-z]` -> `/3`\nrewrite `^/[a-z]` -> `/4`"
    (found,) = findings(NAME, text)
    assert found.message == "no key reaches this rewrite: `low` and `high` together take every key that it could"
    assert found.fixes == ()


def test_two_that_say_the_same_in_other_words():
    """Where neither takes more than the other, there is nothing to move."""
    (found,) = findings(NAME, "rewrite `^/(?:a|b)$` -> `/1`\nrewrite `^/[ab]$` -> `/2`")
    assert found.help == "delete one of the two"


def test_the_same_source_again_is_left_to_another_check():
    """A duplicate is not called unreachable, too."""
    assert places(NAME, "rewrite `^/a$` -> `/1`\nrewrite `^/a$` -> `/2`") == []


def test_a_duplicate_of_what_is_unreachable_is_left_to_another_check():
    """Only the first of two equal sources is called unreachable."""
    assert places(NAME, "rewrite `^/` -> `/1`\nrewrite `^/a$` -> `/2`\nrewrite `^/a$` -> `/3`") == ["`^/a$`"]


def test_the_fix_moves_the_special_case_up():
    """The rewrite goes above the one that took its keys, with its comment."""
    text = f"    # All.\n    {GENERAL}\n\n    # The latest.\n    {SPECIAL}  # again\n"
    assert fixed(NAME, text) == f"    # The latest.\n    {SPECIAL}  # again\n    # All.\n    {GENERAL}\n\n"


def test_what_shares_a_line_is_not_moved():
    """There is no fix for statements that have no lines of their own."""
    (found,) = findings(NAME, f"{GENERAL} {SPECIAL}")
    assert found.fixes == ()


def test_targets_are_kept_apart():
    """A rewrite of one target takes no key of another's."""
    text = f"{GENERAL} }} target other {{ {SPECIAL}"
    assert places(NAME, text) == []
