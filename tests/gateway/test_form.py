"""A form is read as it arrives, and only a right one ends well."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tornado_proxy.gateway.errors import FormTooLarge, MalformedForm, NotAForm
from tornado_proxy.gateway.form import FilePart, MultipartForm, boundary

FILE = 'Content-Disposition: form-data; name="file"; filename="a.txt"'


def _part(head: str, content: bytes = b"") -> bytes:
    return b"--b\r\n" + head.encode() + b"\r\n\r\n" + content + b"\r\n"


def _field(name: str, content: bytes = b"") -> bytes:
    return _part(f'Content-Disposition: form-data; name="{name}"', content)


END = b"--b--\r\n"


async def _pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def _read(body: bytes, *, size: int = 1 << 20, limit: int = 4096, separator: bytes = b"b") -> tuple[FilePart, bytes]:
    async def story():
        form = MultipartForm(_pieces(body, size), separator, limit)
        part = await form.file()
        return part, b"".join([chunk async for chunk in form.content()])

    return asyncio.run(story())


def test_the_file_is_found_and_streamed():
    """The part named `file` gives its name, its type and its bytes."""
    body = _part(f"{FILE}\r\nContent-Type: text/plain", b"hello") + END
    assert _read(body) == (FilePart("a.txt", "text/plain"), b"hello")


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_chunks_may_break_anywhere(size):
    """However the body is cut, the file is the same."""
    body = _field("note", b"x") + _part(FILE, b"--b is not a boundary\r\n--bb\r\n") + _field("more", b"y") + END
    assert _read(body, size=size) == (FilePart("a.txt", None), b"--b is not a boundary\r\n--bb\r\n")


@given(content=st.binary(max_size=300), size=st.integers(1, 400))
@settings(max_examples=60)
def test_any_content_survives(content, size):
    """Whatever the file holds, short of the boundary, comes out as it went in."""
    if b"\r\n--b" not in b"\r\n" + content:
        assert _read(_part(FILE, content) + END, size=size)[1] == content


def test_an_empty_file_is_a_file():
    """A part without bytes is stored as an empty file."""
    assert _read(_part(FILE) + END) == (FilePart("a.txt", None), b"")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "before its closing boundary"),
        (END, "no field `file`"),
        (_field("note", b"x") + END, "no field `file`"),
        (_part(FILE, b"x"), "before its closing boundary"),
        (_part(FILE, b"x")[:-6], "before its closing boundary"),
        (b"--b\r\n" + FILE.encode(), "before its closing boundary"),
        (_part(FILE, b"x") + b"--b", "before its closing boundary"),
        (_part(FILE, b"x") + _part(FILE, b"y") + END, "more than one field `file`"),
        (b"not a form at all", "the form is broken"),
        (b"--other\r\n", "the form is broken"),
        (b"--b\r\nbad header\r\n\r\n", "the form is broken"),
        (_part("X-Nothing: 1", b"x") + END, "is not a content disposition"),
        (_part('Content-Disposition: form-data; name="file"; name="x"', b"x") + END, "repeated parameter"),
    ],
)
def test_a_form_that_is_wrong_is_refused(body, message):
    """Broken, truncated, without a file, with two: none ends well."""
    with pytest.raises(MalformedForm, match=message):
        _read(body)


@pytest.mark.parametrize(
    "body",
    [
        _field("note", b"x" * 200) + _part(FILE, b"x") + END,
        _part(FILE, b"x") + _field("note", b"x" * 200) + END,
        b"".join(_field(str(number)) for number in range(10)) + _part(FILE, b"x") + END,
        _part(FILE, b"x") + END + b"epilogue " * 30,
        b"\r\n" * 120 + _part(FILE, b"x") + END,
    ],
)
def test_all_but_the_file_is_bounded(body):
    """Other fields, many small ones, and what stands around the form count together."""
    with pytest.raises(FormTooLarge, match="more than 200 bytes besides its file"):
        _read(body, limit=200, size=16)


def test_the_file_is_not_bounded_here():
    """The file's own bytes do not count: a target's `maxSize` does that."""
    assert len(_read(_part(FILE, b"x" * 100_000) + END, limit=200, size=4096)[1]) == 100_000


def test_a_long_header_is_refused():
    """A part's header line has a limit of its own."""
    body = _part(f"{FILE}\r\nX-Long: {'x' * 20_000}", b"x") + END
    with pytest.raises(MalformedForm, match="header size"):
        _read(body, limit=1 << 20)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (FILE, "a.txt"),
        ('content-disposition: form-data; filename="größe 日本.txt"; name=file', "größe 日本.txt"),
        ('Content-Disposition: form-data; name="file"; filename="%22a%22.txt"', '"a".txt'),
        ('Content-Disposition: form-data; name="file"; filename="../../etc/passwd"', "../../etc/passwd"),
        ("Content-Disposition: form-data; name=\"file\"; filename*=utf-8''%e2%82%ac.txt", "€.txt"),
        ('Content-Disposition: form-data; name="file"', ""),
    ],
)
def test_the_name_is_what_the_client_sent(head, name):
    """The name is read as browsers and command lines write it; judging it is routing's."""
    assert _read(_part(head, b"x") + END)[0].file_name == name


def test_a_name_that_is_no_utf8_shows_it():
    """Bytes that are no UTF-8 become what no key may hold, not something else."""
    body = _part(FILE, b"x").replace(b"a.txt", b"\xff.txt") + END
    assert _read(body)[0].file_name == "\udcff.txt"


@pytest.mark.parametrize(
    "content_type",
    [None, "", "application/octet-stream", "application/x-www-form-urlencoded", "multipart/mixed; boundary=b"],
)
def test_what_is_no_form_is_told_apart(content_type):
    """Only `multipart/form-data` is a form."""
    with pytest.raises(NotAForm):
        boundary(content_type)


@pytest.mark.parametrize(
    "content_type", ["multipart/form-data; boundary=b", 'Multipart/Form-Data; charset=utf-8; boundary="b"']
)
def test_the_boundary_is_announced(content_type):
    """The boundary is read in any spelling of the header."""
    assert boundary(content_type) == b"b"


@pytest.mark.parametrize("content_type", ["multipart/form-data", "multipart/form-data; boundary="])
def test_a_form_names_its_boundary(content_type):
    """A form without a boundary cannot be read."""
    with pytest.raises(MalformedForm, match="names no boundary"):
        boundary(content_type)


def test_a_type_that_is_too_long_is_not_parsed():
    """A Content-Type of any length costs next to nothing."""
    with pytest.raises(MalformedForm, match="the Content-Type is too long"):
        boundary("multipart/form-data; boundary=b" + ";a" * 1000)


def test_a_boundary_has_a_length():
    """A boundary that no one needs is refused."""
    with pytest.raises(MalformedForm, match="boundary is unusable"):
        _read(b"", separator=b"x" * 1000)


def test_mistakes_of_clients_are_not_logged(caplog):
    """The parser's own warnings stay silent: the access log has the reason."""
    with pytest.raises(MalformedForm):
        _read(b"not a form at all")
    assert caplog.records == []
