import base64

import pytest
from go_programs import written
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.templates.golang.sprig.encoding import FUNCTIONS

B32DEC, B64DEC = FUNCTIONS["b32dec"].call, FUNCTIONS["b64dec"].call


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ('b64enc "coffee"', "Y29mZmVl"),
        ('b64dec "Y29mZmVl"', "coffee"),
        ('b64dec "YQ=="', "a"),
        ('b64dec "Y\\nQ=\\r\\n=\\n"', "a"),
        ('b32enc "coffee"', "MNXWMZTFMU======"),
        ('b32dec "MNXWMZTFMU======"', "coffee"),
        ('b32dec "MNXW\\nMZTFMU======"', "coffee"),
    ],
)
def test_texts_are_encoded_and_decoded(call, result):
    """Line ends in what is encoded mean nothing."""
    assert written(f"{{{{ {call} }}}}") == result


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        (b"!!", 0),
        (b"abc", 0),
        (b"abcde", 4),
        (b"a", 0),
        (b"ab=", 3),
        (b"ab=x", 2),
        (b"ab==x", 4),
        (b"abc=x", 4),
        (b"=abc", 0),
        (b"abcd=", 4),
        (b"ab\xff=", 2),
    ],
)
def test_what_is_no_base64_gives_go_s_message(text, offset):
    """With the offset that Go tells."""
    assert B64DEC(text) == b"illegal base64 data at input byte %d" % offset


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        (b"a", 0),
        (b"A", 0),
        (b"AB", 0),
        (b"AB=", 3),
        (b"ABC=====", 3),
        (b"ABCDEF==", 6),
        (b"AB====X=", 5),
        (b"A=======", 1),
        (b"AB=ABCDEFGHI", 2),
        (b"AAAAAAAA=", 8),
    ],
)
def test_what_is_no_base32_gives_go_s_message(text, offset):
    """With the offset that Go tells."""
    assert B32DEC(text) == b"illegal base32 data at input byte %d" % offset


@given(st.binary(max_size=30))
def test_decoding_what_was_encoded_gives_the_bytes_again(text):
    """In both bases."""
    assert B64DEC(base64.b64encode(text)) == text
    assert B32DEC(base64.b32encode(text)) == text
