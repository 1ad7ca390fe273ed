import pytest

from tornado_proxy.rules.expressions.errors import PatternError
from tornado_proxy.rules.expressions.groups import Opening, read_opening


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("(?:a)", Opening("(?:")),
        ("(?P<name>a)", Opening("(?P<name>", name="name")),
        ("(?<n_1>a)", Opening("(?<n_1>", name="n_1")),
        ("(?<9>a)", Opening("(?<9>", name="9")),
        ("(?i:a)", Opening("(?i:", fold=True)),
        ("(?i)a", Opening("(?i)", fold=True)),
        ("(?ims-U)a", Opening("(?ims-U)", fold=True)),
        ("(?s-i:a)", Opening("(?s-i:", fold=False)),
        ("(?i-i)a", Opening("(?i-i)", fold=False)),
        ("(?U)", Opening("(?U)")),
        ("(?)", Opening("(?)")),
    ],
)
def test_what_go_knows_behind_a_question_mark(text, opening):
    """Names, flags for a group, flags for the rest of one."""
    assert read_opening(f"x{text}", 1) == opening


@pytest.mark.parametrize(("text", "opens"), [("(?:", True), ("(?i:", True), ("(?i)", False), ("(?P<n>", True)])
def test_flags_alone_open_no_group(text, opens):
    """What ends in a parenthesis needs no other."""
    assert read_opening(text, 0).opens is opens


@pytest.mark.parametrize(
    ("text", "start", "end", "message"),
    [
        ("(?=a)", 0, 3, "`(?=` begins a look-ahead, which Go does not have"),
        ("(?!a)", 0, 3, "`(?!` begins a look-ahead, which Go does not have"),
        ("(?<=a)", 0, 4, "`(?<=` begins a look-behind, which Go does not have"),
        ("(?<!a>b)", 0, 4, "`(?<!` begins a look-behind, which Go does not have"),
        ("(?>a)", 0, 3, "`(?>` begins an atomic group, which Go does not have"),
        ("(?P=n)", 0, 4, "`(?P=` begins a back-reference, which Go does not have"),
        ("(?1)", 0, 3, "`(?1` begins a recursion, which Go does not have"),
        ("(?#a)", 0, 3, "`(?#` begins a comment within an expression, which Go does not have"),
        ("(?'n'a)", 0, 3, "`(?'` begins a named group in another spelling, which Go does not have"),
        ("(?P<n.1>a)", 4, 7, "`n.1` is no name for a group"),
        ("(?<é>a)", 3, 4, "`é` is no name for a group"),
        ("(?<>a)", 3, 3, "`` is no name for a group"),
        ("(?P<n", 0, 4, "the name of the group is never closed"),
        ("(?<n", 0, 3, "the name of the group is never closed"),
        ("(?x)a", 2, 3, "`x` is no flag that Go knows"),
        ("(?iL)a", 3, 4, "`L` is no flag that Go knows"),
        ("(?i", 0, 3, "the group is never closed"),
        ("(?-)a", 2, 3, "no flag stands behind the `-`"),
        ("(?i-:a)", 3, 4, "no flag stands behind the `-`"),
        ("(?i--s)", 4, 5, "`-` is no flag that Go knows"),
        ("(?Px)", 2, 3, "`P` is no flag that Go knows"),
    ],
)
def test_a_refused_group_says_what_it_is_and_where(text, start, end, message):
    """The message names what other dialects call it, at the characters that make it so."""
    with pytest.raises(PatternError) as caught:
        read_opening(text, 0)
    assert (str(caught.value), caught.value.offset, caught.value.end) == (message, start, end)
    assert caught.value.help
