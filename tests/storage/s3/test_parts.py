from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stores import pieces

from tornado_proxy.storage.errors import TooLarge
from tornado_proxy.storage.s3 import parts
from tornado_proxy.storage.s3.parts import MOST_PARTS, cut, part_size

MIB, TIB = 1024**2, 1024**4


async def test_chunks_are_cut_and_joined():
    """Parts are complete but the last, whatever the sizes of the chunks."""
    found = [
        (part.number, bytes(part.body), part.is_last) async for part in cut(pieces(b"abc", b"d", b"efghijk"), 4, None)
    ]
    assert found == [(1, b"abcd", False), (2, b"efgh", False), (3, b"ijk", True)]


@pytest.mark.parametrize("chunks", [[], [b""], [b"", b""]])
async def test_an_empty_stream_is_one_empty_part(chunks):
    """There is always a last part."""
    assert [(part.number, bytes(part.body), part.is_last) async for part in cut(pieces(*chunks), 4, None)] == [
        (1, b"", True)
    ]


async def test_a_stream_of_one_size_is_one_part():
    """A part is not handed on before something follows it, so that what fits in one is one."""
    assert [part.is_last async for part in cut(pieces(b"ab", b"cd", b""), 4, None)] == [True]


@given(st.lists(st.binary(max_size=20), max_size=10), st.integers(1, 9))
def test_parts_add_up_to_the_stream(chunks, size):
    """Whatever the chunks, the parts are the stream, of one size but the last, and numbered in order."""

    async def all_parts():
        return [part async for part in cut(pieces(*chunks), size, None)]

    found = _run(all_parts())
    assert b"".join(part.body for part in found) == b"".join(chunks)
    assert [part.number for part in found] == list(range(1, len(found) + 1))
    assert all(len(part.body) == size for part in found[:-1])
    assert len(found[-1].body) <= size


def _run(coroutine):
    """What a coroutine returns that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value


@pytest.mark.parametrize(("size", "fits"), [(10, True), (11, False)])
async def test_no_more_is_taken_than_may_be(size, fits):
    """One byte past the largest size raises, before a part with it is handed on."""
    taken = 0
    try:
        async for part in cut(pieces(*[b"x"] * size), 4, 10):
            taken += len(part.body)
    except TooLarge:
        assert (taken, fits) == (8, False)
    else:
        assert (taken, fits) == (10, True)


async def test_there_are_no_more_parts_than_s3_takes(monkeypatch):
    """A stream that would need more parts than S3 takes is too large."""
    monkeypatch.setattr(parts, "MOST_PARTS", 3)
    assert len([part async for part in cut(pieces(b"x" * 12), 4, None)]) == 3
    with pytest.raises(TooLarge, match="more than 3 parts"):
        assert [part async for part in cut(pieces(b"x" * 13), 4, None)]


def test_parts_of_the_first_gigabytes_are_of_one_size():
    """Some S3s want all parts to be of one size: as many are as can be."""
    assert {part_size(number, 8 * MIB) for number in range(1, 1001)} == {8 * MIB}


@pytest.mark.parametrize("smallest", [8 * MIB, 16 * MIB, 5 * 1024 * MIB])
def test_an_object_of_unknown_length_may_grow_to_the_largest(smallest):
    """Parts grow, within what S3 takes for one, so that their largest number holds 5 TiB."""
    sizes = [part_size(number, smallest) for number in range(1, MOST_PARTS + 1)]
    assert sum(sizes) >= 5 * TIB
    assert max(sizes) <= 5 * 1024 * MIB
