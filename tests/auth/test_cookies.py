import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from werkzeug.http import parse_cookie

from tornado_proxy.auth.oidc import CookieJar, CookieTooLarge, Sealer, read_cookies

NOW = 1_800_000_000
SEALER = Sealer(b"0123456789abcdef", "session")
JAR = CookieJar("oidc")


def _cookies_sent_back(lines):
    """Returns the cookies that a browser sends back after these Set-Cookie lines."""
    return {line.split("=", 1)[0]: line.split(";", 1)[0].split("=", 1)[1] for line in lines}


@given(st.text("ab=;.", max_size=16).map(lambda text: text.replace(";", "; ")))
def test_cookies_are_those_of_another_reader(header):
    """Werkzeug finds the same cookies, of names that are tokens."""
    other = parse_cookie(header)
    for name, texts in read_cookies((("Cookie", header),)).items():
        if name.isalnum():
            # The other also has a cookie without `=`, as an empty one.
            assert list(filter(None, other.getlist(name))) == list(filter(None, texts))


def test_a_sealed_value_is_read_until_it_expires():
    """The time of expiry is sealed too, so a client can't prolong it."""
    text = SEALER.seal({"user": "änn"}, NOW + 10)
    assert SEALER.unseal(text, NOW) == {"user": "änn"}
    assert SEALER.unseal(text, NOW + 10) is None


def test_equal_values_have_different_cookies():
    assert SEALER.seal({}, NOW) != SEALER.seal({}, NOW)


# All examples share one value, because each sealing has its own nonce.
SEALED = SEALER.seal({"admin": False}, NOW + 10)


@given(st.integers(0, len(SEALED) - 2), st.sampled_from("ABCabc012_-"))
def test_a_changed_value_is_ignored(index, character):
    assume(character != SEALED[index])
    assert SEALER.unseal(SEALED[:index] + character + SEALED[index + 1 :], NOW) is None


@pytest.mark.parametrize("sealer", [Sealer(b"another secret..", "session"), Sealer(b"0123456789abcdef", "login")])
def test_a_value_of_another_secret_or_purpose_is_ignored(sealer):
    assert SEALER.unseal(sealer.seal({}, NOW + 10), NOW) is None


@given(st.integers(1, 5 * 3800))
def test_a_text_is_split_into_chunks(length):
    """A long text is split into cookies of less than 4096 bytes, the limit of browsers."""
    text = "x" * length
    lines = JAR.write(text, 60, {})
    assert JAR.texts({name: [value] for name, value in _cookies_sent_back(lines).items()})[0] == text
    assert max(map(len, lines)) < 4096


def test_a_text_that_needs_more_than_five_cookies_is_refused():
    with pytest.raises(CookieTooLarge):
        JAR.write("x" * (5 * 3800 + 1), 60, {})


def test_chunks_of_a_longer_text_are_removed():
    old_cookies = _cookies_sent_back(JAR.write("x" * 8000, 60, {}))
    lines = JAR.write("y", 60, old_cookies)
    assert [line.split(";")[0] for line in lines] == ["oidc=y", "oidc.1=", "oidc.2="]


def test_cookies_are_written_with_all_protections():
    """Scripts can't read the cookies, other sites can't send them, and no plain connection carries them."""
    (line,) = CookieJar("oidc", domain="example.org").write("x", 60, {})
    assert line == "oidc=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Domain=example.org; Secure"
    assert CookieJar("oidc", secure=False).remove({"oidc": "x", "a": "b"}) == [
        "oidc=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
    ]


def test_cookies_of_a_request_are_read_by_name():
    """All cookies with the same name count; a text that is not a pair is ignored."""
    headers = (("Cookie", "a=1; b=x=y;c ; a=2"), ("cookie", "d="), ("Accept", "e=1"))
    assert read_cookies(headers) == {"a": ["1", "2"], "b": ["x=y"], "d": [""]}


def test_cookies_of_one_name_make_several_texts():
    """Each combination of chunks is a text, and so is its beginning; their number has a limit."""
    assert JAR.texts({"oidc": ["a", "b"], "oidc.1": ["c"], "oidc.3": ["d"]}) == ["ac", "bc", "a", "b"]
    assert JAR.texts({"oidc.1": ["c"]}) == []
    many = ["x", "y", "z"] * 100
    assert len(JAR.texts({"oidc": many, **{f"oidc.{number}": many for number in range(1, 5)}})) == 40
