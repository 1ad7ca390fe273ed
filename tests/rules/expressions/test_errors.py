from tornado_proxy.rules.expressions.errors import PatternError


def test_a_mistake_has_a_message_a_place_and_a_cure():
    """What is wrong, where, and what to write instead, are apart."""
    mistake = PatternError("`*` has nothing before it to repeat", 0, 1, "write `.*` for any text")
    assert (str(mistake), mistake.offset, mistake.end, mistake.help) == (
        "`*` has nothing before it to repeat",
        0,
        1,
        "write `.*` for any text",
    )


def test_a_mistake_of_the_whole_begins_at_the_beginning():
    """Without a place, a mistake is one of the whole expression."""
    mistake = PatternError("the expression is too large")
    assert (mistake.offset, mistake.end, mistake.help) == (0, None, None)
