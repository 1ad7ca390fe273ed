import pytest

from tornado_proxy.rules.expressions.pieces import (
    Kind,
    Piece,
    alternated,
    captured,
    concatenated,
    grouped,
    literal,
    repeated,
)

A = literal(0, 1, fold=False)
WORD = literal(0, 3, fold=False)
DOT = Piece(Kind.OTHER, 0)
EMPTY = concatenated(0, [])


def test_neighbouring_characters_are_one_literal():
    """A literal is one level deep, however long it is."""
    assert concatenated(0, [A, WORD, A]) == literal(0, 5, fold=False)


def test_literals_of_different_case_rules_are_two():
    """What `(?i)` applies to is apart from what it does not."""
    joined = concatenated(0, [A, literal(0, 1, fold=True)])
    assert (joined.kind, joined.size, joined.depth) == (Kind.CONCATENATION, 2, 2)


def test_a_concatenation_within_another_is_no_level():
    """`(?:ab*)c` is as deep as `ab*c`."""
    inner = concatenated(0, [A, repeated(A, 0, None)])
    assert (inner.depth, concatenated(0, [inner, DOT]).depth) == (3, 3)


def test_an_alternation_counts_its_branches():
    """Each branch but one costs an instruction."""
    both = alternated(0, [WORD, DOT, WORD])
    assert (both.kind, both.size, both.depth) == (Kind.ALTERNATION, 9, 2)


def test_empty_branches_that_are_neighbours_are_one():
    """`(||a)` has two branches, as Go counts."""
    assert alternated(0, [EMPTY, EMPTY, WORD]) == alternated(0, [EMPTY, WORD])
    assert alternated(0, [EMPTY, EMPTY]) == EMPTY


@pytest.mark.parametrize(
    ("least", "most", "size", "copies"),
    [
        (0, None, 5, 1),
        (1, None, 4, 1),
        (3, None, 10, 3),
        (0, 1, 4, 1),
        (2, 5, 18, 5),
        (4, 4, 12, 4),
        (0, 0, 1, 1),
    ],
)
def test_a_repetition_makes_copies(least, most, size, copies):
    """`x{2,5}` is `xx(x(x(x)?)?)?`; what is repeated no times leaves nothing."""
    piece = repeated(WORD, least, most)
    assert (piece.size, piece.depth, piece.copies) == (size, 2, copies)


def test_repetitions_within_one_another_multiply():
    """Ten times ten copies are a hundred, through groups, and beside smaller ones."""
    ten = captured(0, repeated(A, 10, 10))
    assert repeated(concatenated(0, [ten, DOT]), 0, 10).copies == 100
    assert repeated(ten, 0, 0).copies == 1


def test_parentheses_that_capture_are_a_level():
    """A group that captures costs two instructions and one level."""
    piece = captured(7, WORD)
    assert (piece.start, piece.size, piece.depth) == (7, 5, 2)


def test_parentheses_that_capture_nothing_part_a_repetition_from_what_follows():
    """They change nothing else."""
    assert grouped(repeated(A, 0, None)).kind is Kind.OTHER
    assert grouped(WORD) == WORD
