import pytest
from linting import block, findings, fixed, marked_texts, report

from tornado_proxy.lang.diagnostic import Safety

UNMATCHABLE_SOURCE = "unmatchable-source"
DUPLICATE_REWRITE = "duplicate-rewrite"
UNREACHABLE_REWRITE = "unreachable-rewrite"


@pytest.mark.parametrize("source", ["^/docs/", "docs/", "^.", r"^/\.well-known/", r"^/a\.\.b$"])
def test_sources_that_keys_have_are_left_alone(source):
    """What any key can match is not a finding."""
    assert marked_texts(UNMATCHABLE_SOURCE, f"rewrite `{source}` -> `/x`") == []


@pytest.mark.parametrize("source", [r"\n", r"/\.\./", "/a$b", "a^/", "^//?[^/a]{0}$(?:a)", "[^\\x00-\\x{10FFFF}]"])
def test_sources_that_no_key_has(source):
    """Control characters, dot segments, and what follows the end are never found."""
    (found,) = findings(UNMATCHABLE_SOURCE, f"rewrite `{source}` -> `/x`")
    assert found.message == "no key can match this"


def test_the_missing_slash_is_named():
    """The habit of keys without a leading slash gets its own message."""
    (found,) = findings(UNMATCHABLE_SOURCE, "rewrite `^docs/(.*)$` -> `/manual/$1`")
    assert found.message == "no key can match this: every key begins with `/`"
    assert found.help == "write `^/docs/(.*)$`"


def test_the_fix_writes_the_slash():
    """The slash goes behind the anchor."""
    assert fixed(UNMATCHABLE_SOURCE, "rewrite `^docs/$` -> `/x`") == "rewrite `^/docs/$` -> `/x`"


@pytest.mark.parametrize(
    ("source", "meant"), [(r"/^\/foo$/i", "(?i)^/foo$"), ("/^/foo/", "^/foo"), (r"/\/foo$/g", "/foo$")]
)
def test_a_source_between_slashes_is_written_without_them(source, meant):
    """The habit of other languages gets its own message, and the flags go to the front."""
    (found,) = findings(UNMATCHABLE_SOURCE, f"rewrite `{source}` -> `/x`")
    assert found.message == "no key can match this: the slashes around it are part of the source"
    assert found.help == f"write `{meant}`"
    assert fixed(UNMATCHABLE_SOURCE, f"rewrite `{source}` -> `/x`") == f"rewrite `{meant}` -> `/x`"


def test_the_same_source_again():
    """The second of two equal sources is found, with a note that shows the first."""
    (found,) = findings(DUPLICATE_REWRITE, "rewrite first `^/a$` -> `/1`\nrewrite `^/a$` -> `/2`")
    assert found.message == "`first` has the same source and takes every key"
    assert found.help == "delete one of the two"
    assert found.notes[0].span.first.line == 2


@pytest.mark.parametrize(
    ("second", "safety"),
    [
        ("rewrite `^/a$` -> `/1`", Safety.SAFE),
        ("rewrite `^/a$` -> `/2`", Safety.UNSAFE),
        ("rewrite `^/a$` -> jinja `/1`", Safety.UNSAFE),
        ("rewrite name `^/a$` -> `/1`", Safety.UNSAFE),
        ("# why\nrewrite `^/a$` -> `/1`", Safety.UNSAFE),
        ("rewrite `^/a$` -> `/1`  # why", Safety.UNSAFE),
    ],
)
def test_deleting_is_safe_where_nothing_is_lost(second, safety):
    """A duplicate without a comment of its own can be removed by a fix."""
    (found,) = findings(DUPLICATE_REWRITE, f"rewrite `^/a$` -> `/1`\n{second}")
    assert [fix.safety for fix in found.fixes] == [safety]


def test_the_fix_takes_the_line_out():
    """A statement goes with its line and its comments."""
    text = "rewrite `^/a$` -> `/1`\n# again\nrewrite `^/a$` -> `/1`  # and again\ntest `/a` -> `/1`"
    assert fixed(DUPLICATE_REWRITE, text) == "rewrite `^/a$` -> `/1`\ntest `/a` -> `/1`"


def test_other_targets_do_not_count():
    """Two targets may have the same source."""
    assert findings(DUPLICATE_REWRITE, "rewrite `^/a$` -> `/1` } target other { rewrite `^/a$` -> `/1`") == []


def test_blocks_of_one_target_add_up():
    """A source in a later block of the target is found."""
    (found,) = findings(DUPLICATE_REWRITE, "rewrite `^/a$` -> `/1` } target site { rewrite `^/a$` -> `/1`")
    assert found.code == DUPLICATE_REWRITE


def test_two_sides_of_a_merge_are_not_compared():
    """Where the marks of a conflict stand, so do both sides, and one of them will go."""
    sides = "<<<<<<< HEAD\nrewrite `^/a$` -> `/1`\n=======\nrewrite `^/a$` -> `/2`\n>>>>>>> other"
    whole = "target calm {\nrewrite `^/a$` -> `/1`\nrewrite `^/a$` -> `/2`\n}"
    found = report(site=block(sides), calm=whole, check=DUPLICATE_REWRITE).diagnostics
    assert {(each.code, each.span.source.name) for each in found} == {
        ("syntax-error", "site.rules"),
        (DUPLICATE_REWRITE, "calm.rules"),
    }


GENERAL = 'rewrite `^/docs/(?P<rest>.*)$` -> "/manual/$rest"'
SPECIAL = 'rewrite `^/docs/latest/(?P<rest>.*)$` -> "/manual/4.2/$rest"'


def test_a_special_case_below_the_general_one():
    """A rewrite whose keys an earlier one takes is found, with a note that shows that one."""
    (found,) = findings(UNREACHABLE_REWRITE, f"{GENERAL}\n{SPECIAL}")
    assert found.message == "no key reaches this rewrite: `#1` takes every key that it matches"
    assert [note.span.text for note in found.notes] == ["`^/docs/(?P<rest>.*)$`"]


def test_a_special_case_above_the_general_one():
    """The usual order is not a finding."""
    assert marked_texts(UNREACHABLE_REWRITE, f"{SPECIAL}\n{GENERAL}") == []


def test_several_take_all_keys_together():
    """Those who are needed to take all keys are named, and no others."""
    text = "rewrite low `^/[a-m]` -> `/1`\nrewrite `^/0` -> `/2`\nrewrite high `^/[n-z]` -> `/3`\nrewrite `^/[a-z]` -> `/4`"
    (found,) = findings(UNREACHABLE_REWRITE, text)
    assert found.message == "no key reaches this rewrite: `low` and `high` together take every key that it matches"
    assert found.fixes == ()


def test_two_that_say_the_same_in_other_words():
    """Where neither takes more than the other, there is nothing to move."""
    (found,) = findings(UNREACHABLE_REWRITE, "rewrite `^/(?:a|b)$` -> `/1`\nrewrite `^/[ab]$` -> `/2`")
    assert found.help == "delete one of the two"


def test_the_same_source_again_is_left_to_another_check():
    """A duplicate is not called unreachable, too."""
    assert marked_texts(UNREACHABLE_REWRITE, "rewrite `^/a$` -> `/1`\nrewrite `^/a$` -> `/2`") == []


def test_a_duplicate_of_what_is_unreachable_is_left_to_another_check():
    """Only the first of two equal sources is called unreachable."""
    assert marked_texts(
        UNREACHABLE_REWRITE, "rewrite `^/` -> `/1`\nrewrite `^/a$` -> `/2`\nrewrite `^/a$` -> `/3`"
    ) == ["`^/a$`"]


def test_the_fix_moves_the_special_case_up():
    """The rewrite goes above the one that took its keys, with its comment."""
    text = f"    # All.\n    {GENERAL}\n\n    # The latest.\n    {SPECIAL}  # again\n"
    assert (
        fixed(UNREACHABLE_REWRITE, text) == f"    # The latest.\n    {SPECIAL}  # again\n    # All.\n    {GENERAL}\n\n"
    )


def test_what_shares_a_line_is_not_moved():
    """There is no fix for statements that have no lines of their own."""
    (found,) = findings(UNREACHABLE_REWRITE, f"{GENERAL} {SPECIAL}")
    assert found.fixes == ()


def test_targets_are_kept_apart():
    """A rewrite of one target takes no key of another's."""
    text = f"{GENERAL} }} target other {{ {SPECIAL}"
    assert marked_texts(UNREACHABLE_REWRITE, text) == []
