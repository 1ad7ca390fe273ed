import pytest
import re2

from tornado_proxy.goregex.engine import ProgramRefused, compile_program, is_within, leftmost, options


def test_re2_writes_nothing_to_standard_error(capfd):
    """What RE2 has to say is in the exception alone, as text."""
    with pytest.raises(ProgramRefused, match=r"missing \): \(é"):
        compile_program("(é".encode())
    assert capfd.readouterr() == ("", "")


def test_options_have_the_memory_that_was_asked_for():
    """Memory is told in bytes."""
    chosen = options(1 << 20)
    assert (chosen.max_mem, chosen.log_errors) == (1 << 20, False)


def test_a_large_program_gets_the_memory_that_it_needs():
    """A program that does not fit RE2's 8 MiB is compiled with more."""
    assert compile_program(rb".{1000}" * 300).options.max_mem > 8 << 20
    assert compile_program(rb"a").options.max_mem == 8 << 20


def test_a_program_too_large_for_all_memory_is_refused():
    """The last refusal is the answer."""
    with pytest.raises(ProgramRefused, match="pattern too large"):
        compile_program(rb".{1000}" * 300, memory=(8 << 20, 16 << 20))


@pytest.mark.parametrize(
    ("pattern", "text", "start", "span"),
    [
        (r"\B", "é", 0, (0, 0)),
        (r"\B", "é", 1, (2, 2)),
        (r"\B", "aé", 1, (3, 3)),
        (r"\Bx?", "aéa", 0, None),
        ("é", "aé", 1, (1, 3)),
    ],
)
def test_no_match_begins_within_a_character(pattern, text, start, span):
    """Even where RE2 sees no boundary of a word between two bytes."""
    found = leftmost(re2.compile(pattern.encode()), text.encode(), start, sees_within=True)
    assert (found and found.span()) == span


def test_a_character_begins_with_its_first_byte():
    """And nothing is within one at the end of the text."""
    assert [is_within("aé".encode(), offset) for offset in range(4)] == [False, False, True, False]
