import argon2
import bcrypt
import pytest

from tornado_proxy.auth.basic import HashedPassword, PlainPassword, UnreadableHash, doubt, read_password

PASSWORD = "pä:ss wörd"


def _bcrypt(password, prefix="$2b$"):
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode().replace("$2b$", prefix)


def _argon2(password, kind=argon2.Type.ID):
    return argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1, type=kind).hash(password)


TEXTS = {
    "plain": PASSWORD,
    "bcrypt 2a": _bcrypt(PASSWORD, "$2a$"),
    "bcrypt 2b": _bcrypt(PASSWORD),
    "bcrypt 2y": _bcrypt(PASSWORD, "$2y$"),
    "argon2id": _argon2(PASSWORD),
    "argon2i": _argon2(PASSWORD, argon2.Type.I),
    "argon2d": _argon2(PASSWORD, argon2.Type.D),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_right_password_matches_and_no_other(text):
    """A password is configured as it is or as a hash of the kinds that htpasswd and argon2 write."""
    password = read_password(text)
    others = ["", PASSWORD + "x", PASSWORD[:-1], PASSWORD.upper(), text if text != PASSWORD else "plain"]
    assert password.matches(PASSWORD)
    assert not any(password.matches(other) for other in others)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_password_is_shown_nowhere(text):
    """Neither the text nor the hash stands in what a log or a traceback would print."""
    assert text not in repr(read_password(text))


def test_only_a_hash_costs_time():
    """Plain text is compared at once; hashes are what the verifier takes off the event loop."""
    assert isinstance(read_password("x"), PlainPassword)
    assert isinstance(read_password(TEXTS["argon2id"]), HashedPassword)


def test_bcrypt_reads_72_bytes():
    """A longer password matches by its first 72 bytes, as the tools made its hash, instead of failing."""
    password = read_password(_bcrypt("x" * 72))
    assert password.matches("x" * 72)
    assert password.matches("x" * 100)
    assert not password.matches("x" * 71)


def test_argon2_reads_all_bytes():
    """A long password is no longer password's prefix with argon2."""
    password = read_password(_argon2("x" * 100))
    assert password.matches("x" * 100)
    assert not password.matches("x" * 99)


@pytest.mark.parametrize(
    "text",
    [
        "$2b$",
        "$2b$04$tooshort",
        "$2b$99$" + "a" * 53,
        TEXTS["bcrypt 2b"] + "x",
        TEXTS["bcrypt 2b"][:28] + "a" + TEXTS["bcrypt 2b"][29:],
        "$argon2id$v=19$m=8",
        "$argon2x$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA",
    ],
    ids=["empty", "too short", "cost", "too long", "salt", "argon2 without a hash", "kind of argon2"],
)
def test_a_broken_hash_is_refused_when_it_is_read(text):
    """What begins as a hash does is never taken for a password in plain text; the message does not quote it."""
    with pytest.raises(UnreadableHash, match="but is not a valid one") as caught:
        read_password(text)
    assert text[7:] not in str(caught.value) or text == "$2b$"


@pytest.mark.parametrize("text", ["$", "$x", "$5$rounds=1$x", "a$2b$"])
def test_any_other_dollar_is_plain_text(text):
    """A password may begin with a dollar."""
    assert read_password(text).matches(text)


def test_a_hash_that_the_library_cannot_work_with_matches_nothing():
    """Parameters beyond what argon2 can do let nobody in, and raise nothing at a request."""
    text = TEXTS["argon2id"].replace("m=8,", "m=7,")
    assert not read_password(text).matches(PASSWORD)


@pytest.mark.parametrize(
    "text", ["$apr1$salt$hash", "{SHA}abc=", "{SSHA}abc=", "$5$rounds=1$x", "$6$salt$x", "$y$j9T$x"]
)
def test_a_hash_of_another_kind_is_doubted(text):
    """What htpasswd and crypt write by other schemes would be compared as if it were the password."""
    assert "of an unknown kind" in doubt(text)
    assert text not in doubt(text)


@pytest.mark.parametrize("text", ["$2b$15$" + "." * 53, "$argon2id$v=19$m=2097152,t=1,p=1$c2FsdHNhbHQ$aGFzaA"])
def test_a_hash_that_takes_seconds_is_doubted(text):
    """Whoever offers a password would keep a thread busy for as long."""
    assert doubt(text) == "a check of it takes seconds, or gigabytes of memory"


_USUAL = {**TEXTS, **{text: text for text in ("$", "$5 a day", "{SHA", "$2b$14$" + "." * 53)}}


@pytest.mark.parametrize("text", _USUAL.values(), ids=_USUAL)
def test_a_usual_password_is_not_doubted(text):
    """Plain text and hashes of the usual cost are nothing to speak of."""
    assert doubt(text) is None


def test_a_broken_hash_is_no_matter_of_doubt():
    """It is refused."""
    with pytest.raises(UnreadableHash):
        doubt("$2b$nonsense")


def test_hashes_of_one_cost_are_known_as_such():
    """The cost is that of the algorithm's parameters, whatever the salt and the spelling of the algorithm."""
    bcrypts = [bcrypt.hashpw(b"x", bcrypt.gensalt(rounds)).decode() for rounds in (4, 4, 5)]
    argon2s = [argon2.PasswordHasher(time_cost=cost, memory_cost=64).hash("x") for cost in (1, 1, 2)]
    for texts in (bcrypts, argon2s):
        first, second, third = (read_password(text).cost for text in texts)
        assert (first == second, first == third) == (True, False)
