import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tornado_proxy.auth.cookies import CookieJar, CookieTooLarge, Sealer, read_cookies

NOW = 1_800_000_000
SEALER = Sealer(b"0123456789abcdef", "session")
JAR = CookieJar("oidc")


def _sent(lines):
    """What a browser sends back of what it was told to keep."""
    return {line.split("=", 1)[0]: line.split(";", 1)[0].split("=", 1)[1] for line in lines}


def test_a_sealed_value_is_read_until_it_expires():
    """The time is inside, so that a client cannot prolong it."""
    text = SEALER.seal({"user": "änn"}, NOW + 10)
    assert SEALER.unseal(text, NOW) == {"user": "änn"}
    assert SEALER.unseal(text, NOW + 10) is None


def test_equal_values_look_different():
    """Nobody can tell from two cookies that they hold the same."""
    assert SEALER.seal({}, NOW) != SEALER.seal({}, NOW)


@given(st.text(max_size=80))
def test_what_was_not_sealed_here_is_nothing(text):
    """Anybody may send any text."""
    assert SEALER.unseal(text, NOW) is None


# One for all examples: each sealing has a nonce of its own.
SEALED = SEALER.seal({"admin": False}, NOW + 10)


@given(st.integers(0, len(SEALED) - 2), st.sampled_from("ABCabc012_-"))
def test_a_changed_value_is_nothing(place, other):
    """One changed character is enough."""
    assume(other != SEALED[place])
    assert SEALER.unseal(SEALED[:place] + other + SEALED[place + 1 :], NOW) is None


@pytest.mark.parametrize("other", [Sealer(b"another secret..", "session"), Sealer(b"0123456789abcdef", "login")])
def test_a_value_of_another_secret_or_purpose_is_nothing(other):
    """A cookie of one provider opens nothing at another."""
    assert SEALER.unseal(other.seal({}, NOW + 10), NOW) is None


@given(st.integers(1, 5 * 3800))
def test_a_text_is_kept_in_chunks(length):
    """Browsers keep 4096 bytes a cookie."""
    text = "x" * length
    lines = JAR.write(text, 60, {})
    assert JAR.read(_sent(lines)) == text
    assert max(map(len, lines)) < 4096


def test_a_text_that_needs_more_than_five_cookies_is_refused():
    """The headers of each request would grow with it."""
    with pytest.raises(CookieTooLarge):
        JAR.write("x" * (5 * 3800 + 1), 60, {})


def test_chunks_of_a_longer_text_are_removed():
    """What is left over would be read as part of the new text."""
    before = _sent(JAR.write("x" * 8000, 60, {}))
    now = JAR.write("y", 60, before)
    assert [line.split(";")[0] for line in now] == ["oidc=y", "oidc.1=", "oidc.2="]


def test_cookies_are_written_with_all_protections():
    """Scripts cannot read them, other sites cannot send them, and no plain connection carries them."""
    (line,) = CookieJar("oidc", domain="example.org").write("x", 60, {})
    assert line == "oidc=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Domain=example.org; Secure"
    assert CookieJar("oidc", secure=False).remove({"oidc": "x", "a": "b"}) == [
        "oidc=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
    ]


def test_cookies_of_a_request_are_read_by_name():
    """Of two of one name the first counts; what is not a pair is passed over."""
    headers = (("Cookie", "a=1; b=x=y;c ; a=2"), ("cookie", "d="), ("Accept", "e=1"))
    assert read_cookies(headers) == {"a": "1", "b": "x=y", "d": ""}
