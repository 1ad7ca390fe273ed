import pytest
from linting import block, findings, fixed, marked_texts, report

from gotemplate.regexp import matching
from tornado_proxy.rules.diagnostic import Safety, Severity

OVERLAPPING_REWRITES = "overlapping-rewrites"
CHAINED_REWRITE = "chained-rewrite"
NO_EFFECT = "no-effect"


BLOG = "rewrite blog `^/blog/(?P<rest>.*)$` -> `/archive/$rest`"
DRAFTS = "rewrite `^/[^/]+/draft/(?P<page>[^/]+)$` -> `/drafts/$page`"


def test_an_overlap_is_reported_with_a_key():
    (finding,) = findings(OVERLAPPING_REWRITES, f"{BLOG}\n{DRAFTS}")
    assert finding.message == "`blog` comes first and takes keys that this source also matches, such as `/blog/draft/a`"


def test_a_test_of_another_key_does_not_confirm_the_order():
    """A test confirms the order only if both rewrites match its key."""
    assert len(marked_texts(OVERLAPPING_REWRITES, f"{BLOG}\n{DRAFTS}\ntest `/blog/a` -> `/archive/a`")) == 1


def test_several_overlaps_of_one_rewrite_are_one_finding():
    """A rewrite that overlaps several earlier ones has one finding, with three notes at most."""
    several = "\n".join(f"rewrite `^/{letter}/(?P<rest>.*)$` -> `/{letter}{letter}/$rest`" for letter in "abcde")
    (finding,) = findings(OVERLAPPING_REWRITES, f"{several}\n{DRAFTS}")
    assert finding.message.startswith("`#1` and 4 more come first and take keys")
    assert len(finding.notes) == 3


@pytest.mark.parametrize(
    "statements",
    [
        "rewrite `^/blog/a$` -> `/1`\nrewrite `^/blog/` -> `/2`",  # the special case comes first
        "rewrite `^/blog/` -> `/1`\nrewrite `^/blog/a$` -> `/2`",  # unreachable
        "rewrite `^/a/` -> `/1`\nrewrite `^/b/` -> `/2`",
        "rewrite `^/a$` -> `/1`\nrewrite `^/a$` -> `/2`",
        "rewrite `/a/` -> `/1`\nrewrite `/b/` -> `/2`",  # not anchored
        f"{BLOG}\n{DRAFTS}\ntest `/blog/draft/b` -> `/archive/draft/b`",
        f"rewrite `^/blog/draft/[^/]+$` -> `/0`\n{BLOG}\n{DRAFTS}",  # a third one takes the key before both
    ],
)
def test_an_intended_order_has_no_finding(statements):
    """Special cases first, orders that other checks report, and orders that a test confirms have no finding."""
    assert marked_texts(OVERLAPPING_REWRITES, statements) == []


def test_a_result_that_another_rewrite_matches_is_reported():
    """The message has a key, its result, and the rewrite that matches the result."""
    (finding,) = findings(CHAINED_REWRITE, "rewrite `^/a/(.*)$` -> `/b/$1`\nrewrite second `^/b/(.*)$` -> `/c/$1`")
    assert finding.message == "`/a/` becomes `/b/`, which `second` matches but does not rewrite again"
    assert finding.notes[0].span.text == "`^/b/(.*)$`"
    assert finding.severity is Severity.WARNING


def test_a_chain_to_a_key_that_several_rewrites_lead_to_is_an_information():
    """Such a key is probably there, and the other rewrite is for the rest below it."""
    chain = "rewrite `^/a$` -> `/b/x`\nrewrite `^/c$` -> `/b/x`\nrewrite `^/b/(.*)$` -> `/d/$1`"
    assert [each.severity for each in findings(CHAINED_REWRITE, chain)] == [Severity.INFO] * 2


@pytest.mark.parametrize(
    "statements",
    [
        "rewrite `^/a/(.*)$` -> `/b/$1`",
        "rewrite `^/a/(.*)$` -> `/a/b/$1`",  # the same rewrite
        "rewrite `^/docs/latest/(.*)$` -> `/docs/4.2/$1`\nrewrite `^/docs/(.*)$` -> `/manual/$1`",  # both match the key
        "rewrite `^/a$` -> jinja `/{{ user.username }}`\nrewrite `^/b` -> `/c`",  # nobody is signed in
        "rewrite `^a` -> `/b`\nrewrite `^/b` -> `/c`",  # no key reaches it
    ],
)
def test_a_result_without_a_second_match_has_no_finding(statements):
    """A match by the rewrite itself, or by one that already matched the key, and an unknown result have no finding."""
    assert marked_texts(CHAINED_REWRITE, statements) == []


@pytest.mark.parametrize(
    ("source", "template"),
    [
        ("^/a$", "/a"),
        ("^/a/(?P<rest>.*)$", "/a/$rest"),
        ("^/a/(?P<rest>.*)", "/a/$1"),
        ("^/(a)(b)$", "/$1${2}"),
        ("^/[a-z]+$", "$0"),
        ("^(/.*)$", "$1"),
        (r"^/\$(.*)$", "/$$$1"),
    ],
)
def test_a_rewrite_without_an_effect_is_reported(source, template):
    """A template that writes all that the source matches changes no key."""
    assert len(marked_texts(NO_EFFECT, f"rewrite `{source}` -> `{template}`")) == 1


@pytest.mark.parametrize(
    ("source", "template"),
    [
        ("^/a/(?P<rest>.*)$", "/b/$rest"),
        ("^/a/", "/a/"),
        ("/a$", "/a"),
        ("(?i)^/a$", "/a"),
        ("^/a/(?P<rest>[^/]*)", "/a/$rest"),
        ("^/[a-z]$", "/a"),
        ("^/(a)(b)$", "/$2$1"),
        ("^/a$", "/a$nope"),
        (".*/a$", "$0"),
        ("^", "$0"),
        (r"^/\$\$(.*)$", "/$$$1"),
    ],
)
def test_a_rewrite_that_may_change_a_key_has_no_finding(source, template):
    """A rewrite that may change a key is accepted; a missing group is empty."""
    expected = 1 if template == "/a$nope" else 0
    assert len(marked_texts(NO_EFFECT, f"rewrite `{source}` -> `{template}`")) == expected


def test_a_later_rewrite_of_other_keys_does_not_matter():
    """A rewrite exempts no key from a later one that shares no key with it."""
    text = "rewrite `^/a/[a-m]$` -> `$0`\nrewrite `^/b/` -> `/c`\nrewrite `\\.x$` -> `/d`\nrewrite `^/a/[n-z]$` -> `/e`"
    assert len(marked_texts(NO_EFFECT, text)) == 1


UNMATCHABLE_SOURCE = "unmatchable-source"
DUPLICATE_REWRITE = "duplicate-rewrite"
UNREACHABLE_REWRITE = "unreachable-rewrite"


@pytest.mark.parametrize("source", ["^/docs/", "docs/", "^.", r"^/\.well-known/", r"^/a\.\.b$"])
def test_a_source_that_matches_a_key_has_no_finding(source):
    assert marked_texts(UNMATCHABLE_SOURCE, f"rewrite `{source}` -> `/x`") == []


@pytest.mark.parametrize("source", [r"\n", r"/\.\./", "/a$b", "a^/", "^//?[^/a]{0}$(?:a)", "[^\\x00-\\x{10FFFF}]"])
def test_a_source_that_matches_no_key_is_reported(source):
    """A source with a control character, a dot segment, or text after the end matches no key."""
    (finding,) = findings(UNMATCHABLE_SOURCE, f"rewrite `{source}` -> `/x`")
    assert finding.message == "no key can match this"


def test_a_missing_slash_is_reported():
    (finding,) = findings(UNMATCHABLE_SOURCE, "rewrite `^docs/(.*)$` -> `/manual/$1`")
    assert finding.message == "no key can match this: every key begins with `/`"
    assert finding.help == "write `^/docs/(.*)$`"


def test_the_fix_writes_the_slash():
    """The fix inserts the slash after the anchor."""
    assert fixed(UNMATCHABLE_SOURCE, "rewrite `^docs/$` -> `/x`") == "rewrite `^/docs/$` -> `/x`"


@pytest.mark.parametrize(
    ("source", "corrected"), [(r"/^\/foo$/i", "(?i)^/foo$"), ("/^/foo/", "^/foo"), (r"/\/foo$/g", "/foo$")]
)
def test_a_source_between_slashes_is_reported(source, corrected):
    """A source in the notation of other languages has its own message, and the fix moves the flags to the front."""
    (finding,) = findings(UNMATCHABLE_SOURCE, f"rewrite `{source}` -> `/x`")
    assert finding.message == "no key can match this: the slashes around it are part of the source"
    assert finding.help == f"write `{corrected}`"
    assert fixed(UNMATCHABLE_SOURCE, f"rewrite `{source}` -> `/x`") == f"rewrite `{corrected}` -> `/x`"


def test_a_duplicate_source_is_reported():
    """The second of two equal sources is reported, with a note at the first."""
    (finding,) = findings(DUPLICATE_REWRITE, "rewrite first `^/a$` -> `/1`\nrewrite `^/a$` -> `/2`")
    assert finding.message == "`first` has the same source and takes every key"
    assert finding.help == "delete one of the two"
    assert finding.notes[0].span.first.line == 2


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
def test_deleting_a_duplicate_is_safe_if_nothing_is_lost(second, safety):
    (finding,) = findings(DUPLICATE_REWRITE, f"rewrite `^/a$` -> `/1`\n{second}")
    assert [fix.safety for fix in finding.fixes] == [safety]


def test_the_fix_deletes_a_duplicate():
    """A statement is deleted with its line and its comments."""
    text = "rewrite `^/a$` -> `/1`\n# again\nrewrite `^/a$` -> `/1`  # and again\ntest `/a` -> `/1`"
    assert fixed(DUPLICATE_REWRITE, text) == "rewrite `^/a$` -> `/1`\ntest `/a` -> `/1`"


def test_a_duplicate_in_a_later_block_is_reported():
    """A source is compared with those of all blocks of its target."""
    (finding,) = findings(DUPLICATE_REWRITE, "rewrite `^/a$` -> `/1` } target site { rewrite `^/a$` -> `/1`")
    assert finding.code == DUPLICATE_REWRITE


def test_two_sides_of_a_merge_are_not_compared():
    """A file with conflict markers has both sides of a merge, so its duplicates are not reported."""
    sides = "<<<<<<< HEAD\nrewrite `^/a$` -> `/1`\n=======\nrewrite `^/a$` -> `/2`\n>>>>>>> other"
    complete = "target calm {\nrewrite `^/a$` -> `/1`\nrewrite `^/a$` -> `/2`\n}"
    diagnostics = report(site=block(sides), calm=complete, check=DUPLICATE_REWRITE).diagnostics
    assert {(diagnostic.code, diagnostic.span.source.name) for diagnostic in diagnostics} == {
        ("syntax-error", "site.rules"),
        (DUPLICATE_REWRITE, "calm.rules"),
    }


GENERAL = 'rewrite `^/docs/(?P<rest>.*)$` -> "/manual/$rest"'
SPECIAL = 'rewrite `^/docs/latest/(?P<rest>.*)$` -> "/manual/4.2/$rest"'


def test_a_special_case_after_the_general_one_is_reported():
    """A rewrite that no key reaches is reported, with a note at the earlier one."""
    (finding,) = findings(UNREACHABLE_REWRITE, f"{GENERAL}\n{SPECIAL}")
    assert finding.message == "no key reaches this rewrite: `#1` takes every key that it matches"
    assert [note.span.text for note in finding.notes] == ["`^/docs/(?P<rest>.*)$`"]


def test_several_rewrites_together_may_take_all_keys():
    """The message names exactly the rewrites that take all keys together."""
    text = "rewrite low `^/[a-m]` -> `/1`\nrewrite `^/0` -> `/2`\nrewrite high `^/[n-z]` -> `/3`\nrewrite `^/[a-z]` -> `/4`"
    (finding,) = findings(UNREACHABLE_REWRITE, text)
    assert finding.message == "no key reaches this rewrite: `low` and `high` together take every key that it matches"
    assert finding.fixes == ()


def test_two_sources_for_the_same_keys_have_no_fix_by_moving():
    """If two sources match the same keys, the help is to delete one."""
    (finding,) = findings(UNREACHABLE_REWRITE, "rewrite `^/(?:a|b)$` -> `/1`\nrewrite `^/[ab]$` -> `/2`")
    assert finding.help == "delete one of the two"


@pytest.mark.parametrize(
    ("check", "statements"),
    [
        (NO_EFFECT, "rewrite `^/a$` -> jinja `/a`"),  # no plain template
        (NO_EFFECT, "rewrite `^/a$` -> `/a`\nrewrite `^/` -> `/b`"),  # keeps a key from a later one
        (DUPLICATE_REWRITE, "rewrite `^/a$` -> `/1` } target other { rewrite `^/a$` -> `/1`"),
        (UNREACHABLE_REWRITE, f"{SPECIAL}\n{GENERAL}"),
        (UNREACHABLE_REWRITE, "rewrite `^/a$` -> `/1`\nrewrite `^/a$` -> `/2`"),  # which its own check reports
    ],
)
def test_what_is_meant_has_no_finding(check, statements):
    assert marked_texts(check, statements) == []


def test_only_the_first_of_two_unreachable_duplicates_is_reported():
    assert marked_texts(
        UNREACHABLE_REWRITE, "rewrite `^/` -> `/1`\nrewrite `^/a$` -> `/2`\nrewrite `^/a$` -> `/3`"
    ) == ["`^/a$`"]


def test_the_fix_moves_the_special_case_up():
    """The fix moves the rewrite with its comments above the one that takes its keys."""
    text = f"    # All.\n    {GENERAL}\n\n    # The latest.\n    {SPECIAL}  # again\n"
    assert (
        fixed(UNREACHABLE_REWRITE, text) == f"    # The latest.\n    {SPECIAL}  # again\n    # All.\n    {GENERAL}\n\n"
    )


def test_a_statement_that_shares_its_line_is_not_moved():
    (finding,) = findings(UNREACHABLE_REWRITE, f"{GENERAL} {SPECIAL}")
    assert finding.fixes == ()


def test_rewrites_of_other_targets_take_no_keys():
    text = f"{GENERAL} }} target other {{ {SPECIAL}"
    assert marked_texts(UNREACHABLE_REWRITE, text) == []


def test_a_move_that_makes_the_other_rewrite_unreachable_is_not_offered():
    """The first and the moved rewrite together would take every key of the one that takes its keys now."""
    statements = 'rewrite `^/(?P<x>a)(?P<y>b)?` -> "/a"\nrewrite `^(?:/a|/b)` -> "/a"\nrewrite `^/b` -> "/a"'
    (finding,) = findings(UNREACHABLE_REWRITE, statements)
    assert (finding.span.text, finding.help, finding.fixes) == ("`^/b`", "delete one of the two", ())
    statements = 'rewrite `^/c` -> "/a"\nrewrite `^(?:/a|/b|/c)` -> "/a"\nrewrite `^/b` -> "/a"'
    (finding,) = findings(UNREACHABLE_REWRITE, statements)
    assert len(finding.fixes) == 1


def test_sources_are_combined_once_however_many_rewrites_no_key_reaches(monkeypatch):
    """A set of all earlier sources for each of them would take quadratic time."""
    combined = []
    portions_of = matching._portions_of
    monkeypatch.setattr(matching, "_portions_of", lambda patterns: combined.append(patterns) or portions_of(patterns))
    pairs = (f"rewrite `^/{each}/x$` -> `/1`\nrewrite `^/{each}/(?:x)$` -> `/2`\n" for each in range(10))
    assert len(findings(UNREACHABLE_REWRITE, "".join(pairs))) == 10
    assert len([*filter(None, combined)]) == 1


LISTED = 'rewrites "moved.txt"'


@pytest.mark.parametrize(
    ("statements", "listed", "marked"),
    [
        (LISTED, "/a /b\n/b /c\n/d /d\n", ["/b"]),
        (f"{LISTED} ignoring case", "/a /b\n/B /c\n", ["/b"]),
        (f"{LISTED}\nrewrite `^/b$` -> `/c`", "/a /b\n", ["/b"]),
        (f"rewrite `^/a$` -> `/b`\n{LISTED}", "/b /c\n", ["`/b`"]),
        (f"{LISTED}\nrewrite `^/[ab]$` -> `/c`", "/a /b\n", []),  # which would also take the key itself
        (f"{LISTED}\nredirect `^/b$` -> `/a`\ngone `^/c$`", "/a /b\n/d /c\n", []),  # for clients
        ("redirect `^/a$` -> `/b`\nrewrite `^/b$` -> `/c`\ntest `/a` -> redirect `/b`", "", []),
    ],
)
def test_lines_of_rewrites_make_chains(statements, listed, marked):
    """A line is judged as a rewrite of its address; a redirect of the result is for clients, not for the key."""
    found = findings(CHAINED_REWRITE, statements, lists={"moved.txt": listed})
    assert [each.span.text for each in found if each.span] == marked


@pytest.mark.parametrize(
    ("statements", "listed", "marked"),
    [
        (LISTED, "/a /a\n/b /c\n", ["/a /a"]),
        (f"{LISTED}\nrewrite `^/` -> `/x`", "/a /a\n", []),
        (f'{LISTED}\nrewrites "moved.txt"', "/a /a\n", ["/a /a"]),
        (f"{LISTED} ignoring case", "/a /a\n", []),  # capitals become small
        (f"rewrite `^/a$` -> `/a`\n{LISTED}", "/b /c\n", ["rewrite `^/a$` -> `/a`"]),
        (f"rewrite `^/a$` -> `/a`\n{LISTED}", "/a /c\n", []),
        (f"{LISTED}\nrewrite `^/[ab]$` -> `$0`", "/a /c\n", ["rewrite `^/[ab]$` -> `$0`"]),
        ("redirect `^/a$` -> `/a`", "", []),  # a loop
    ],
)
def test_lines_have_and_give_effect(statements, listed, marked):
    """A line without effect is reported; a rewrite may keep a key from a list."""
    found = findings(NO_EFFECT, statements, lists={"moved.txt": listed})
    assert [each.span.text for each in found if each.span] == marked


@pytest.mark.parametrize(
    ("statements", "listed", "count"),
    [
        ("rewrite `^/a$` -> `/x`", "/a /b\n", 1),
        ("gone `^/(a|b)$`", "/a /b\n/b /c\n", 1),
        ("gone `(?i)^/a$`", "/a /b\n", 0),
        ("rewrite `/a` -> `/x`\ngone `^/a$`", "/a /b\n", 1),  # so the fix is not to move it up
        ("gone `^/[a-z]$`", "\n".join(f"/{letter} /x" for letter in "abcdefgh"), 0),  # not every key was tried
        ("rewrite `^/b` -> `/y`\nrewrite `^/[ab]$` -> `/x`", "/a /b\n", 0),  # nor is this proved
        ("rewrite `^/a` -> `/x`", "/a /b\n", 0),
        ("rewrite `^a` -> `/x`", "/a /b\n", 0),  # no key matches it
    ],
)
def test_a_list_may_have_every_key_of_a_source(statements, listed, count):
    """The source is then never reached."""
    found = findings(UNREACHABLE_REWRITE, f"{LISTED}\n{statements}", lists={"moved.txt": listed})
    assert [each.message for each in found] == [
        "no key reaches this rewrite: the list `moved.txt` has every key that it matches"
    ] * count


def test_a_list_in_any_case_has_every_case():
    """The addresses of such a list are all forms of the letters."""
    statements = f"{LISTED} ignoring case\ngone `(?i)^/ab$`"
    assert len(findings(UNREACHABLE_REWRITE, statements, lists={"moved.txt": "/Ab /x"})) == 1


@pytest.mark.parametrize(("listed", "by", "moves"), [("/a", "^/b", 1), ("/bc", "^/b", 0), ("/a", "^/b[c-z]|^/qu", 1)])
def test_an_unreachable_rewrite_may_move_up_to_a_list(listed, by, moves):
    """Unless the list has the first of its keys."""
    statements = f"{LISTED}\nrewrite `^/bd` -> `/y`\nrewrite x `{by}` -> `/y`\nrewrite `^/b[c-z]` -> `/z`"
    found = findings(UNREACHABLE_REWRITE, statements, lists={"moved.txt": f"{listed} /z"})
    assert [each.help.startswith("move it above `x`") for each in found] == [moves]


def test_an_overlap_shows_no_key_of_a_list():
    """A key that a list before both takes does not show their order."""
    overlapping = "rewrite `^/[ab]$` -> `/x`\nrewrite `^/[bc]$` -> `/y`"
    assert len(findings(OVERLAPPING_REWRITES, f"{LISTED}\n{overlapping}", lists={"moved.txt": "/a /z\n"})) == 1
    assert findings(OVERLAPPING_REWRITES, f"{LISTED}\n{overlapping}", lists={"moved.txt": "/b /z\n"}) == []


def test_what_is_gone_is_gone_in_any_order():
    """Which of two statements says so shows nowhere."""
    assert marked_texts(OVERLAPPING_REWRITES, "gone `^/[ab]$`\ngone `^/[bc]$`") == []
    assert len(marked_texts(OVERLAPPING_REWRITES, "gone `^/[ab]$`\nredirect `^/[bc]$` -> `/x`")) == 1


def test_kinds_differ_though_sources_do_not():
    """A redirect with the source of a rewrite says something else."""
    (finding,) = findings(DUPLICATE_REWRITE, "rewrite `^/a$` -> `/b`\nredirect `^/a$` -> `/b`")
    assert (finding.help, finding.fixes[0].safety) == ("delete one of the two", Safety.UNSAFE)
