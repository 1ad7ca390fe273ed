"""Forms that other readers may read differently, and what this service reads of them."""

import asyncio
from collections.abc import Callable

from hypothesis import strategies as st

from tornado_proxy.routing.request import RequestError
from tornado_proxy.web.incoming_file import read_form

# In each: what is usual, then what some reader somewhere reads otherwise. Of two names of a file, RFC 6266 4.3 prefers
# `filename*`, which clients send beside a name in ASCII; Python takes the first one, and Werkzeug the last.
_TYPES = (
    "multipart/form-data; boundary=b", 'multipart/form-data; boundary="b"', "Multipart/Form-Data;boundary=b", "multipart/form-data; charset=utf-8; boundary=b",
), (
    "multipart/form-data; boundary=b; boundary=c", "multipart/form-data; boundary=c; Boundary=b", "multipart/form-data; boundary*=utf-8''b", "multipart/mixed; boundary=b",
    "multipart/form-data; boundary=b, multipart/form-data; boundary=c", 'multipart/form-data; x="; boundary=c"; boundary=b', "multipart/form-data; boundary=b;", 'multipart/form-data; boundary="b', "multipart/form-data; boundary*0=b; boundary*1=c", 'multipart/form-data; boundary="\\b"',
    "multipart/form-data boundary=b", "multipart/form-data; boundary=b c", "multipart/form-data; boundary=", "multipart/form-data; boundary=b\t", "multipart/form-data; x=boundary=c; boundary=b",
    "multipart/form-data; boundary=b; x=y=z", "multipart/form-data; boundary=--b", "multipart/form-data,; boundary=b",
)  # fmt: skip
_DISPOSITIONS = (
    'form-data; name="file"; filename="a.txt"', 'form-data; name="file"; filename="a.txt"', "form-data; name=file; filename=a.txt", 'form-data; name="x"',
), (
    'form-data; name="file"; name="x"; filename="a"', 'form-data; name="file', "form-data; name*=utf-8''file; filename=a", 'form-data; name="x"; name*=utf-8\'\'file',
    "form-data; name=\"file\"; filename=\"b\"; filename*=utf-8''b", 'form-data; name="fi\\le"; filename="a"', 'attachment; name="file"; filename="a"', 'form-data; NAME="file"; filename="a"',
    'form-data; name="file"; filename="a\\"; b="c"', 'form-data; name="file"; filename=""', 'form-data; name=" file"; filename="a"', 'form-data;name="file";filename="a;b"', "form-data; name='file'; filename=a", 'form-data; name="file" x; filename="a"',
    'form-data; name="file"; filename*0="a"; filename*1="b"', 'form-data; x="; name=\\"x\\""; name="file"; filename="a"', "form-data; name=file filename=a", 'form-data; name="file\x00"; filename="a"',
)  # fmt: skip
_HEADERS = ("", "", "Content-Type: text/plain{e}", "X: y{e}"), (
    "Content-Transfer-Encoding: base64{e}", " folded{e}", "X{e}", "X : y{e}", 'Content-Disposition: form-data; name="x"{e}',
    "Content-Length: 1{e}", "X: \0{e}", "X: y\n{e}", "X: y\r{e}", "{e}", "Content-Transfer-Encoding: quoted-printable{e}", "Content Type: x{e}", "content-disposition : form-data; name=x{e}",
)  # fmt: skip
_CONTENTS = (
    b"", b"abc", b"a\r\nb", b"--b", b"\r\n", b"--b--", b"-", b"\r\n--", b"\n--b\r\n", b"\r--b\r\n", b"\r\n--b ",
    b"\r\n--b\t\r\n", b"\r\n--bb\r\n", b"\r\n--b-\r\n", b"\r\n --b\r\n", b"YWJj",
)  # fmt: skip
_ENDS = ("\r\n",), ("\n", "\r", " \r\n", "\t\r\n", "\r\r\n", "x\r\n", "")
_PREAMBLES = (b"", b"", b"\r\n"), (b"preamble\r\n", b"--c\r\n", b"\n", b"--b--\r\n", b" ")
# What follows the closing boundary on its line is not looked at, although Python then reads on.
_EPILOGUES = (b"\r\n", b"", b"\r\n"), (b"\r\nepilogue", b"\r\n--b\r\nX: y\r\n\r\n", b" \r\n", b"\n")


def _pick(choices: tuple, odd: int) -> st.SearchStrategy:
    """One of the usual pieces, or once in `odd` times one of the others."""
    return st.integers(1, odd).flatmap(lambda number: st.sampled_from(choices[number == odd]))


@st.composite
def forms(draw: Callable) -> tuple[str, bytes]:
    """A Content-Type and a body: one to three parts, usually one of them a file."""
    end = lambda: draw(_pick(_ENDS, 60)).encode()  # noqa: E731
    body = draw(_pick(_PREAMBLES, 12))
    for _ in range(draw(st.integers(1, 3))):
        headers = [f"Content-Disposition: {draw(_pick(_DISPOSITIONS, 8))}{{e}}", draw(_pick(_HEADERS, 8))]
        lines = "".join(draw(st.permutations(headers)))
        body += b"--b" + end() + b"".join(each + end() for each in lines.encode().split(b"{e}")[:-1]) + end()
        body += draw(st.sampled_from(_CONTENTS)) + end()
    return draw(_pick(_TYPES, 8)), body + b"--b--" + draw(_pick(_EPILOGUES, 12))


def read(content_type: str, body: bytes) -> tuple[str, bytes] | None:
    """The name and the content of the file; None if the form is refused."""

    async def chunks():
        yield body

    async def scenario():
        file = await read_form({"Content-Type": content_type}, chunks(), 1 << 16, None)
        content = b"".join([each async for each in file.content()])
        return file.head.file_name, content

    try:
        return asyncio.run(scenario())
    except RequestError:
        return None
