from __future__ import annotations

import os

import pytest
from configurations import MINIMAL

from tornado_proxy.config.loading import LARGEST, load, read
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.lang.excerpt import render

WITH_SECRETS = """\
targets:
  site:
    bucket:
      name: my-bucket
      credentials: {accessKey: {env: ACCESS}, secretKey: {path: secrets/key}}
"""


@pytest.fixture
def write(tmp_path):
    """Writes a configuration file and names it."""

    def write(content):
        path = tmp_path / "config.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_file_becomes_settings(write):
    """A file is read, and what is relative starts from its directory."""
    path = write(f"rules: [rules]\n{MINIMAL}")
    loaded = load(path, {})
    assert loaded.diagnostics == ()
    assert loaded.settings.directory == path.parent
    assert loaded.settings.rules == (path.parent / "rules",)


def test_path_may_be_a_string(write):
    """The name of the file is shown as it was given."""
    path = str(write(f"prot: 1\n{MINIMAL}"))
    (told,) = load(path, {}).diagnostics
    assert told.place == f"{path}:1:1"


def test_secrets_come_from_the_given_environment_and_from_files(write, tmp_path):
    """Nothing is taken from the process's own environment."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_text("secret\n")
    credentials = load(write(WITH_SECRETS), {"ACCESS": "access"}).settings.targets[0].bucket.credentials
    assert (credentials.access_key.reveal(), credentials.secret_key.reveal()) == ("access", "secret")


def test_missing_secrets_are_told_together(write):
    """Each reference that leads nowhere is told."""
    messages = [each.message for each in load(write(WITH_SECRETS), {}).diagnostics]
    assert messages == [
        "the environment variable `ACCESS` is not set",
        "the file `secrets/key` cannot be read: No such file or directory",
    ]


def test_tools_can_leave_secrets_unresolved(write):
    """A tool that needs no secret asks for none."""
    assert load(write(WITH_SECRETS), {}, unresolved).diagnostics == ()


def test_file_that_is_not_there_is_told(tmp_path):
    """A missing file is a diagnostic without a place."""
    loaded = load(tmp_path / "none.yaml", {})
    (told,) = loaded.diagnostics
    assert (told.code, told.span) == ("unreadable-file", None)
    assert told.message == f"`{tmp_path / 'none.yaml'}` cannot be read: No such file or directory"
    assert (loaded.settings, loaded.source) == (None, None)


def test_directory_is_no_file(tmp_path):
    """Neither is a directory read."""
    (told,) = load(tmp_path, {}).diagnostics
    assert told.message.endswith("cannot be read: Is a directory")


def test_file_that_is_too_large_is_not_read_whole(write):
    """A file beyond any configuration's size is refused."""
    (told,) = load(write(b"#" * (LARGEST + 1)), {}).diagnostics
    assert told.message.endswith("is larger than 8388608 bytes")


def test_byte_that_is_not_utf8_is_told_with_its_place(write):
    """A file in another encoding is refused at the first byte that shows it, and shows no secret."""
    path = write(MINIMAL.encode() + "password: hünter2\n# é\n".encode("latin-1"))
    (told,) = load(path, {}).diagnostics
    assert (told.message, told.help) == ("the byte 0xFC is not UTF-8", "save the file as UTF-8")
    assert told.place == f"{path}:2:12"
    assert "nter2" not in render(told)


def test_a_pipe_that_is_to_be_read_again_is_refused(tmp_path):
    """A service would wait for it at the next edit."""
    os.mkfifo(tmp_path / "pipe")
    (mistake,) = read(tmp_path / "pipe", again=True).diagnostics
    assert mistake.message == f"`{tmp_path}/pipe` cannot be read: it is no regular file"
