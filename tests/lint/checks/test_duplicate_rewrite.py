import pytest
from linting import block, findings, fixed, report

from tornado_proxy.lang.diagnostic import Safety

NAME = "duplicate-rewrite"


def test_the_same_source_again():
    """The second of two equal sources is found, with a note that shows the first."""
    (found,) = findings(NAME, "rewrite first `^/a$` -> `/1`\nrewrite `^/a$` -> `/2`")
    assert found.message == "`first` has the same source and takes every key"
    assert found.help == "delete the one that is no longer meant"
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
    """What says no more than the first, not even in a comment, may go."""
    (found,) = findings(NAME, f"rewrite `^/a$` -> `/1`\n{second}")
    assert [fix.safety for fix in found.fixes] == [safety]


def test_the_fix_takes_the_line_out():
    """A statement goes with its line and its comments."""
    text = "rewrite `^/a$` -> `/1`\n# again\nrewrite `^/a$` -> `/1`  # and again\ntest `/a` -> `/1`"
    assert fixed(NAME, text) == "rewrite `^/a$` -> `/1`\ntest `/a` -> `/1`"


def test_other_targets_do_not_count():
    """Two targets may have the same source."""
    assert findings(NAME, "rewrite `^/a$` -> `/1` } target other { rewrite `^/a$` -> `/1`") == []


def test_blocks_of_one_target_add_up():
    """A source in a later block of the target is found."""
    (found,) = findings(NAME, "rewrite `^/a$` -> `/1` } target site { rewrite `^/a$` -> `/1`")
    assert found.code == NAME


def test_two_sides_of_a_merge_are_not_compared():
    """Where the marks of a conflict stand, so do both sides, and one of them will go."""
    sides = "<<<<<<< HEAD\nrewrite `^/a$` -> `/1`\n=======\nrewrite `^/a$` -> `/2`\n>>>>>>> other"
    whole = "target calm {\nrewrite `^/a$` -> `/1`\nrewrite `^/a$` -> `/2`\n}"
    found = report(site=block(sides), calm=whole, only=NAME).diagnostics
    assert {(each.code, each.span.source.name) for each in found} == {
        ("syntax-error", "site.rules"),
        (NAME, "calm.rules"),
    }
