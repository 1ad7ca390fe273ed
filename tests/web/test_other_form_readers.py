"""Forms hold what other readers find in them: Werkzeug's, and the one of Python's e-mail package.

This service may refuse more, since readers disagree about odd forms. What it accepts has one file for all of them.
"""

from email.parser import BytesParser
from email.policy import HTTP
from io import BytesIO

from forms import forms, read
from hypothesis import given
from werkzeug.formparser import MultiPartParser
from werkzeug.http import parse_options_header

from tornado_proxy.web.incoming_file import FILE_FIELD


def _by_werkzeug(content_type, body):
    """The files that Werkzeug reads."""
    _, options = parse_options_header(content_type)
    parser = MultiPartParser(lambda **_: BytesIO())
    fields, files = parser.parse(BytesIO(body), options["boundary"].encode(), len(body))
    return [(file.filename, file.read()) for file in files.getlist(FILE_FIELD)] + [
        ("", text.encode()) for text in fields.getlist(FILE_FIELD)
    ]


def _by_email(content_type, body):
    """The files that Python's e-mail package reads."""
    message = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
    parts = message.get_payload() if message.is_multipart() else []
    named = [each for each in parts if each.get_param("name", None, "content-disposition") == FILE_FIELD]
    return [(each.get_filename(""), each.get_payload(decode=True)) for each in named]


@given(forms())
def test_werkzeug_reads_the_same_file(sent):
    if (ours := read(*sent)) is not None:
        assert _by_werkzeug(*sent) == [ours]


@given(forms())
def test_python_reads_the_same_file(sent):
    if (ours := read(*sent)) is not None:
        assert _by_email(*sent) == [ours]
