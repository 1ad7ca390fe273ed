from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.semantics.credentials import BasicCredentials, challenge


def basic(credentials: bytes) -> str:
    return "Basic " + b64encode(credentials).decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", BasicCredentials("Aladdin", "open sesame")),
        ("bASIC  QWxhZGRpbjpvcGVuIHNlc2FtZQ== ", BasicCredentials("Aladdin", "open sesame")),
        ("Basic dGVzdDoxMjPCow==", BasicCredentials("test", "123£")),
        (basic(b"ann:a:b:"), BasicCredentials("ann", "a:b:")),
        (basic(b"ann:"), BasicCredentials("ann", "")),
        (basic(b":"), BasicCredentials("", "")),
    ],
)
def test_credentials_are_read(text, expected):
    """The examples of RFC 7617 and their neighbours: a scheme in any case, UTF-8, colons in the password."""
    assert BasicCredentials.from_header(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        None, "", "Basic", "Basic ", "Bearer QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Basic !", "Basic QWxhZGRpbg", "BasicQWxhZGRpbjo=",
        "Basic QWxhZGRpbjo= extra", "Basic QWxh=ZGRpbjo=",
        basic(b"no colon"), basic(b"ann:\xff"), basic(b"ann:a\x00b"), basic(b"a\nnn:x"), basic(b"ann:\x7f"),
    ],
)  # fmt: skip
def test_what_says_no_credentials_is_none(text):
    """Another scheme, broken base64 or UTF-8, no colon, and control characters are no credentials."""
    assert BasicCredentials.from_header(text) is None


def test_a_password_is_never_shown():
    """The value's `repr` has no password in it."""
    assert repr(BasicCredentials("ann", "hunter2")) == "BasicCredentials(user='ann')"


@given(
    user=st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters=":")),
    password=st.text(st.characters(exclude_categories=["Cc", "Cs"])),
)
def test_credentials_survive_their_header(user, password):
    """Credentials that are written are read again as they were."""
    value = BasicCredentials(user, password)
    assert BasicCredentials.from_header(value.to_header()) == value


@pytest.mark.parametrize(
    ("realm", "expected"),
    [
        ("Files", 'Basic realm="Files", charset="UTF-8"'),
        (r'The "old" \ files', r'Basic realm="The \"old\" \\ files", charset="UTF-8"'),
        ("a\r\nSet-Cookie: b", 'Basic realm="a??Set-Cookie: b", charset="UTF-8"'),
        ("Käse", 'Basic realm="K?se", charset="UTF-8"'),
    ],
)
def test_a_challenge_quotes_its_realm(realm, expected):
    """The realm is a quoted string of a header, whatever it holds."""
    assert challenge(realm) == expected
