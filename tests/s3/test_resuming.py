"""What a read asks for when it goes on, and which answers continue it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tornado_proxy.s3.answers import ObjectHead
from tornado_proxy.s3.limits import PIECE_FOR_SLOW
from tornado_proxy.s3.resuming import FirstAnswer, Tries, quick_pieces
from tornado_proxy.semantics.conditions import ByteRange, ContentRange
from tornado_proxy.storage.store import ObjectInfo

MIB = 1024**2


@st.composite
def begun(draw):
    """An object of some size, the part of it that was asked for, and how much of that has arrived."""
    size = draw(st.integers(1, 4 * PIECE_FOR_SLOW))
    first = draw(st.integers(0, size - 1))
    last = draw(st.integers(first, size - 1))
    part = (
        draw(st.sampled_from([None, ContentRange(first, last, size)]))
        if (first, last) == (0, size - 1)
        else ContentRange(first, last, size)
    )
    answer = FirstAnswer.of(ObjectHead(ObjectInfo(size, '"e"'), part, None))
    return answer, draw(st.integers(0, last - first))


@given(begun(), st.sampled_from([None, PIECE_FOR_SLOW, 1]))
def test_what_is_missing_follows_what_has_arrived(read, most):
    """The next range begins at the byte that was reached, and ends with the part, or after a piece."""
    answer, received = read
    asked = answer.rest(received, most)
    assert asked.first == answer.first + received
    assert asked.last == answer.last if most is None else asked.last - asked.first < most
    assert asked.last <= answer.last


@given(begun(), st.sampled_from([None, PIECE_FOR_SLOW, 1]))
def test_pieces_join_to_the_whole(read, most):
    """Pieces asked for one after the other are all the missing bytes, each once."""
    answer, received = read
    positions = []
    while answer.first + received <= answer.last and len(positions) < 5:
        asked = answer.rest(received, most)
        positions.append((asked.first, asked.last))
        received += asked.last - asked.first + 1
    assert all(end + 1 == start for (_, end), (start, _) in pairwise(positions))


@given(
    begun(), st.integers(-1, 1), st.integers(-1, 1), st.integers(-1, 1), st.sampled_from(['"e"', '"f"', 'W/"e"', None])
)
def test_only_the_same_bytes_of_the_same_object_continue_it(read, start, end, grown, etag):
    """An answer with another ETag, size or range, or without a range, continues nothing."""
    answer, received = read
    asked = answer.rest(received)
    size = max(1, answer.size + grown)
    part = ContentRange(max(0, asked.first + start), max(0, asked.last + end), size)
    is_same = (part, etag) == (ContentRange(asked.first, asked.last, answer.size), '"e"')
    assert answer.is_continued_by(asked, ObjectHead(ObjectInfo(size, etag), part, None)) == is_same
    assert not answer.is_continued_by(asked, ObjectHead(ObjectInfo(answer.size, '"e"'), None, None))


@pytest.mark.parametrize("etag", [None, 'W/"e"', "e", ""])
def test_an_object_without_a_strong_etag_is_not_resumed(etag):
    """Nothing tells such an object from another one."""
    assert FirstAnswer.of(ObjectHead(ObjectInfo(10, etag), None, "v1")) is None


def test_a_part_is_continued_within_itself():
    """What is missing of a part ends where the part ends."""
    answer = FirstAnswer.of(ObjectHead(ObjectInfo(100, '"e"'), ContentRange(10, 19, 100), None))
    assert answer.rest(4) == ByteRange(14, 19)


def test_tries_are_counted_until_a_read_gets_on():
    """Eight failures in a row are eight tries; a MiB in between makes the next one the first again."""
    tries = Tries()
    for _ in range(8):
        tries = tries.after_failure(MIB - 1)
    assert tries.count == 8
    assert tries.after_failure(MIB).count == 1


def test_pauses_grow_up_to_a_limit():
    """Each pause is up to twice as long as the one before, and none is longer than ten seconds."""
    pauses = [replace(Tries(), count=count).longest_pause for count in (1, 2, 3, 20)]
    assert pauses == [0.1, 0.2, 0.4, 10.0]


def test_a_client_that_is_fast_again_gets_all_the_rest():
    """After eight pieces in a row that a client took at once, it is not slow."""
    quick: list[int | None] = [0]
    while (before := quick[-1]) is not None:
        quick.append(quick_pieces(before, 0.01))
    assert quick == [*range(8), None]


def test_a_client_that_is_slow_again_begins_anew():
    """A piece that took its client longer than a quarter of a second ends the row."""
    assert quick_pieces(7, 0.26) == 0
