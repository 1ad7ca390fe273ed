import argon2
import bcrypt
import pytest

from tornado_proxy.auth.basic import UnreadableHash, doubt, read_password

PASSWORD = "pä:ss wörd"


def _bcrypt(password, prefix="$2b$"):
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode().replace("$2b$", prefix)


def _argon2(password, algorithm=argon2.Type.ID):
    return argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1, type=algorithm).hash(password)


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
def test_only_the_right_password_matches(text):
    """A password is configured in plain text, or as a hash that htpasswd or argon2 writes."""
    password = read_password(text)
    wrong_passwords = ["", PASSWORD + "x", PASSWORD[:-1], PASSWORD.upper(), text if text != PASSWORD else "plain"]
    assert password.matches(PASSWORD)
    assert not any(password.matches(wrong_password) for wrong_password in wrong_passwords)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_password_is_never_shown(text):
    assert text not in repr(read_password(text))


@pytest.mark.parametrize(("hashed", "length", "read"), [(_bcrypt, 72, 72), (_bcrypt, 100, 72), (_argon2, 100, 100)])
def test_a_long_password_matches_by_the_bytes_that_its_hash_reads(hashed, length, read):
    """Bcrypt reads 72, as in the tools that make the hashes, and argon2 reads all."""
    password = read_password(hashed("x" * read))
    assert password.matches("x" * length)
    assert not password.matches("x" * (read - 1))


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
def test_a_malformed_hash_is_refused(text):
    """A text that begins like a hash is never read as plain text, and the message doesn't quote it."""
    with pytest.raises(UnreadableHash, match="but is not a valid one") as caught:
        read_password(text)
    assert text[7:] not in str(caught.value) or text == "$2b$"


@pytest.mark.parametrize("text", ["$", "$x", "$5$rounds=1$x", "a$2b$"])
def test_any_other_dollar_is_plain_text(text):
    assert read_password(text).matches(text)


def test_a_hash_with_unsupported_parameters_matches_nothing():
    """A hash with parameters that argon2 doesn't support matches no password and raises nothing."""
    text = TEXTS["argon2id"].replace("m=8,", "m=7,")
    assert not read_password(text).matches(PASSWORD)


@pytest.mark.parametrize(
    "text", ["$apr1$salt$hash", "{SHA}abc=", "{SSHA}abc=", "$5$rounds=1$x", "$6$salt$x", "$y$j9T$x"]
)
def test_a_hash_of_another_kind_is_doubted(text):
    """A hash of a scheme that is not supported is doubted, because it would be compared as plain text."""
    assert "of an unknown kind" in doubt(text)
    assert text not in doubt(text)


@pytest.mark.parametrize("text", ["$2b$15$" + "." * 53, "$argon2id$v=19$m=2097152,t=1,p=1$c2FsdHNhbHQ$aGFzaA"])
def test_a_hash_that_takes_seconds_is_doubted(text):
    assert doubt(text) == "a check of it takes seconds, or gigabytes of memory"


def test_hashes_with_equal_parameters_have_the_same_cost():
    bcrypts = [bcrypt.hashpw(b"x", bcrypt.gensalt(rounds)).decode() for rounds in (4, 4, 5)]
    argon2s = [argon2.PasswordHasher(time_cost=cost, memory_cost=64).hash("x") for cost in (1, 1, 2)]
    for texts in (bcrypts, argon2s):
        first, second, third = (read_password(text).cost for text in texts)
        assert (first == second, first == third) == (True, False)
