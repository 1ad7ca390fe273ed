import os
from pathlib import Path

import pytest

from tornado_proxy.config.document import ScalarKind, ScalarNode
from tornado_proxy.config.limits import LARGEST_SECRET
from tornado_proxy.config.secrets import (
    Credentials,
    Reference,
    Secret,
    SecretMissing,
    Unshown,
    file_of,
    resolver,
    unresolved,
)
from tornado_proxy.config.values import GuardedUrl

ENV = {"WORD": "hunter2", "EMPTY": "", "BYTES": "hunter2\udcff"}


def _missing_secret(reference, env=ENV, directory=Path()):
    with pytest.raises(SecretMissing) as caught:
        resolver(env, directory)(reference)
    return caught.value


def test_a_secret_is_shown_by_its_origin():
    secret = Secret("the environment variable `WORD`", "hunter2")
    assert repr(secret) == str(secret) == "Secret(origin='the environment variable `WORD`')"
    assert secret.reveal() == "hunter2"


class _Password(Unshown, frozen=True):
    text: str


def test_an_unshown_value_is_shown_by_its_class():
    """Its fields may be secret."""
    assert repr(_Password("hunter2")) == "_Password()"


@pytest.mark.parametrize(
    "shown",
    [
        Secret("a file", "hunter2"),
        Reference(value="hunter2"),
        _Password("hunter2"),
        ScalarNode(0, 7, ScalarKind.STRING, "hunter2"),
        GuardedUrl("https://ann:hunter2@id.example"),
    ],
    ids=["secret", "reference", "unshown", "scalar", "url"],
)
def test_no_repr_has_a_secret(shown):
    """Neither do the fields that the library Rich prints of a value, also in tracebacks with locals, have the secret."""
    assert "hunter2" not in repr(shown)
    assert "hunter2" not in repr([*shown.__rich_repr__()])


def test_a_resolver_hides_its_environment():
    assert "hunter2" not in repr(resolver(ENV, Path()))


def test_an_environment_variable_holds_a_secret():
    secret = resolver(ENV, Path())(Reference(env="WORD"))
    assert (secret.origin, secret.reveal()) == ("the environment variable `WORD`", "hunter2")


def test_a_file_holds_a_secret(tmp_path):
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "word").write_text("hunter2")
    secret = resolver({}, tmp_path)(Reference(path="secrets/word"))
    assert (secret.origin, secret.reveal()) == ("the file `secrets/word`", "hunter2")


def test_a_systemd_credential_holds_a_secret(tmp_path):
    (tmp_path / "s3").write_text("hunter2\n")
    env = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    secret = resolver(env, Path())(Reference(credential="s3"))
    assert (secret.origin, secret.reveal()) == ("the systemd credential `s3`", "hunter2")


@pytest.mark.parametrize(
    ("content", "secret"),
    [("word\n", "word"), ("word\r\n", "word"), ("word\n\n", "word\n"), ("word\r", "word\r"), (" word ", " word ")],
)
def test_one_line_end_is_removed(content, secret):
    """The last line end, which an editor or `echo` writes, is not part of a secret."""
    assert resolver({"WORD": content}, Path())(Reference(env="WORD")).reveal() == secret


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (Reference(env="NO"), "the environment variable `NO` is not set"),
        (Reference(env="EMPTY"), "the environment variable `EMPTY` is empty"),
        (Reference(path="no/file"), "the file `no/file` cannot be read: No such file or directory"),
        (Reference(path="/"), "the file `/` cannot be read: Is a directory"),
        (Reference(env="BYTES"), "the environment variable `BYTES` is not UTF-8"),
        (Reference(value="\n"), "`value` is empty"),
    ],
)
def test_a_missing_secret_is_named(reference, message):
    assert _missing_secret(reference).message == message


def test_a_credential_needs_systemd():
    """If systemd passes no credentials, the help names the setting of the unit."""
    error = _missing_secret(Reference(credential="s3"))
    assert error.message == "the systemd credential `s3` cannot be found: `CREDENTIALS_DIRECTORY` is not set"
    assert error.help == "systemd sets `CREDENTIALS_DIRECTORY` for a unit with `LoadCredential=`"


@pytest.mark.parametrize(
    ("reference", "env", "cure"),
    [
        (Reference(env="NO"), {}, "set it where the service starts; for a unit of systemd, in its `EnvironmentFile=`"),
        (Reference(path="no/file"), {}, "it was looked for at `/etc/no/file`"),
        (Reference(path="/no/file"), {}, None),
        (Reference(credential="s3"), {"CREDENTIALS_DIRECTORY": "/no"}, "it was looked for at `/no/s3`"),
    ],
)
def test_the_help_of_a_missing_secret_says_where_it_belongs(reference, env, cure):
    """A relative path begins at the configuration, and a unit has no variables of a shell."""
    assert _missing_secret(reference, env, Path("/etc")).help == cure


@pytest.mark.parametrize(
    ("reference", "env", "file"),
    [
        (Reference(path="word"), {}, Path("etc/word")),
        (Reference(path="/run/word"), {}, Path("/run/word")),
        (Reference(credential="s3"), {"CREDENTIALS_DIRECTORY": "/run/credentials"}, Path("/run/credentials/s3")),
        (Reference(credential="s3"), {}, None),
        (Reference(env="WORD"), {}, None),
        (Reference(value="hunter2"), {}, None),
    ],
)
def test_a_secret_may_have_a_file(reference, env, file):
    assert file_of(reference, env, Path("etc")) == file


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.write_bytes(b"hunter2\xff"), "is not UTF-8"),
        (os.mkfifo, "cannot be read: it is not a regular file"),
        (lambda path: path.write_bytes(b"x" * (LARGEST_SECRET + 1)), "cannot be read: it is larger than 65536 bytes"),
    ],
    ids=["not UTF-8", "a pipe", "too large"],
)
def test_a_file_that_holds_no_secret_is_refused(tmp_path, make, reason):
    """The error doesn't show its content; a pipe could not be read again after an edit."""
    make(tmp_path / "word")
    error = _missing_secret(Reference(path="word"), directory=tmp_path)
    assert (error.message, error.__suppress_context__) == (f"the file `word` {reason}", True)


def test_an_unresolved_secret_is_empty():
    assert unresolved(Reference(env="NO")) == Secret("the environment variable `NO`", "")


@pytest.mark.parametrize("token", [None, "t"])
def test_a_key_pair_is_revealed_with_its_token(token):
    """Credentials are revealed in the order that clients of AWS accept."""
    pair = Credentials(Secret("x", "a"), Secret("x", "s"), None if token is None else Secret("x", token))
    assert pair.reveal() == ("a", "s", token)
