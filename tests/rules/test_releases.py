"""Releases of rules, and the pointer to the one in force."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.rules.loading import LARGEST, RuleFile
from tornado_proxy.rules.releases import MOST_FILES, MOST_MOVES, Pointer, Release, UnusableRelease

A, B, C = (letter * 64 for letter in "abc")
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=9)


def _pointer(*digests: str) -> Pointer:
    pointer = Pointer()
    for number, digest in enumerate(digests):
        pointer = pointer.pushed(digest, f"2026-01-0{number + 1}T00:00:00Z", "ann", f"push {number}")
    return pointer


@given(st.dictionaries(NAMES, st.text(), min_size=1))
def test_a_release_is_read_back(texts):
    """The object has all files, in the order of a directory, and the digest is the SHA-256 of its bytes."""
    release = Release.of(RuleFile(name, text.encode()) for name, text in texts.items())
    assert Release.read(release.data, release.digest) == release
    assert release.digest == sha256(release.data).hexdigest()
    assert [file.name for file in release.files] == sorted(texts, key=str.encode)


def test_files_of_a_release_are_below_its_place():
    """Diagnostics name the bucket."""
    (file,) = Release.of([RuleFile("sub/a.rules", b"text")]).below("s3://bucket/rules/")
    assert (file.name, file.data) == ("s3://bucket/rules/sub/a.rules", b"text")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ([], "no rule file"),
        ([RuleFile("a.rules", b"\xff")], "must be UTF-8"),
        ([RuleFile("\udcff.rules", b"")], "must be UTF-8"),
        ([RuleFile("a\n.rules", b"")], "control character"),
        ([RuleFile(f"{number}.rules", b"") for number in range(MOST_FILES + 1)], "more than 10,000 rule files"),
        ([RuleFile("a.rules", b" " * (LARGEST + 1))], "more than 8 MiB"),
        ([RuleFile("a.rules", b"\x01" * (LARGEST // 2))], "more than 8 MiB"),
    ],
    ids=["none", "content", "name", "control", "many", "large", "escaped"],
)
def test_files_that_make_no_release(files, reason):
    """What the service would not read is not pushed."""
    with pytest.raises(UnusableRelease, match=reason):
        Release.of(files)


def test_another_content_is_refused():
    """The digest is that of another object."""
    with pytest.raises(UnusableRelease, match=f"its digest is {sha256(b'{}').hexdigest()}"):
        Release.read(b"{}", A)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is not a release"),
        ("[]", "it is not a release"),
        ("[" * 100_000, "it is not a release"),
        ('{"version": 2}', "it is of version 2"),
        ('{"version": 1, "files": []}', "it is not a release"),
        ('{"version": 1, "files": {"a": 1}}', "it is not a release"),
        ('{"version": 1, "files": {"a\\nb": ""}}', "control character"),
        ('{"version": 1, "files": {}}', "no rule file"),
    ],
    ids=["empty", "list", "deep", "version", "files", "content", "name", "none"],
)
def test_an_object_that_is_no_release(text, reason):
    """Each is refused with its reason, even under its digest."""
    with pytest.raises(UnusableRelease, match=reason):
        Release.read(text.encode(), sha256(text.encode()).hexdigest())


def test_a_pointer_is_read_back():
    """The newest move is the first, and names the release before."""
    pointer = _pointer(A, B)
    assert Pointer.read(pointer.data) == pointer
    assert [(move.digest, move.previous, move.note) for move in pointer.moves] == [
        (B, A, "push 1"),
        (A, None, "push 0"),
    ]
    assert (pointer.digest, Pointer().digest) == (B, None)


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({"version": 1, "moves": []}, "it has no move"),
        ({"version": 1, "moves": [{"digest": "a", "at": "", "by": ""}]}, "64 digits"),
        ({"version": 1, "moves": [{"digest": A, "at": "", "by": "", "previous": "b"}]}, "64 digits"),
        ({"version": 1, "moves": [{"digest": A, "at": "", "by": "ann\n"}]}, "control character"),
        ({"version": 1, "moves": [{"digest": A}]}, "it is not a pointer"),
        ({"version": 2}, "version 2"),
    ],
    ids=["none", "digest", "previous", "control", "lacking", "version"],
)
def test_an_object_that_is_no_pointer(form, reason):
    """Each is refused with its reason."""
    with pytest.raises(UnusableRelease, match=reason):
        Pointer.read(json.dumps(form).encode())


def test_rollbacks_go_back_step_by_step():
    """A rollback returns to the release before; the next one goes on from there."""
    pointer = _pointer(A, B, C)
    for expected in (B, A):
        pointer = pointer.rolled_back("", "later", "ben")
        assert pointer.digest == expected
    with pytest.raises(UnusableRelease, match="no release before"):
        pointer.rolled_back("", "later", "ben")
    assert [move.digest for move in pointer.moves] == [A, B, C, B, A]


def test_a_rollback_to_a_named_release():
    """The start of a digest names a release of the history."""
    assert _pointer(A, B, C).rolled_back("aaaa", "later", "ben", "broken").digest == A
    with pytest.raises(UnusableRelease, match="no release `dddd`"):
        _pointer(A).rolled_back("dddd", "later", "ben")
    with pytest.raises(UnusableRelease, match="several releases"):
        _pointer("a" * 63 + "b", A).rolled_back("aaaa", "later", "ben")


def test_without_a_push_there_is_nothing_to_roll_back():
    """A bucket without a pointer has no history."""
    with pytest.raises(UnusableRelease, match="no release before"):
        Pointer().rolled_back("", "later", "ben")


def test_the_history_is_limited():
    """The oldest moves, and the ends of long texts, are dropped."""
    pointer = _pointer(A)
    for _ in range(MOST_MOVES):
        pointer = pointer.pushed(B, "later", "ann" * 100, "n" * 1000)
    assert len(pointer.moves) == MOST_MOVES
    assert {move.digest for move in pointer.moves} == {B}
    assert (len(pointer.moves[0].by), len(pointer.moves[0].note)) == (200, 200)
