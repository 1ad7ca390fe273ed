import os
from pathlib import Path

import pytest
from configurations import MINIMAL, compiled, report
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.limits import LARGEST_CONFIGURATION
from tornado_proxy.config.loading import load, read
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.rules.diagnostic import render

WITH_SECRETS = """\
targets:
  site:
    bucket:
      name: my-bucket
      credentials: {accessKey: {env: ACCESS}, secretKey: {path: secrets/key}}
"""


@pytest.fixture
def write(tmp_path):
    """Writes a configuration file and returns its path."""

    def write(content):
        path = tmp_path / "config.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_a_file_becomes_settings(write):
    """The relative paths in a file start from its directory."""
    path = write(f"rules: [rules]\n{MINIMAL}")
    loaded = load(path, {})
    assert loaded.diagnostics == ()
    assert loaded.settings.directory == path.parent
    assert loaded.settings.rules == (path.parent / "rules",)


def test_secrets_come_from_the_given_environment_and_from_files(write, tmp_path):
    """No secret is read from the environment of the process itself."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_text("secret\n")
    credentials = load(write(WITH_SECRETS), {"ACCESS": "access"}).settings.targets[0].bucket.credentials
    assert (credentials.access_key.reveal(), credentials.secret_key.reveal()) == ("access", "secret")


def test_tools_can_leave_secrets_unresolved(write):
    """A tool without a need for secrets can load a configuration whose secrets are missing."""
    assert load(write(WITH_SECRETS), {}, unresolved).diagnostics == ()


@pytest.mark.parametrize(("name", "reason"), [("none.yaml", "No such file or directory"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read_is_reported(tmp_path, name, reason):
    loaded = load(tmp_path / name, {})
    (diagnostic,) = loaded.diagnostics
    assert (diagnostic.code, diagnostic.span) == ("unreadable-file", None)
    assert diagnostic.message == f"`{tmp_path / name}` cannot be read: {reason}"
    assert (loaded.settings, loaded.source) == (None, None)


def test_a_file_that_is_too_large_is_refused(write):
    (diagnostic,) = load(write(b"#" * (LARGEST_CONFIGURATION + 1)), {}).diagnostics
    assert diagnostic.message.endswith("is larger than 8388608 bytes")


def test_invalid_utf_8_is_reported_with_its_place(write):
    """A file in another encoding is refused at its first invalid byte, without showing a secret."""
    path = write(MINIMAL.encode() + "password: hünter2\n# é\n".encode("latin-1"))
    (diagnostic,) = load(path, {}).diagnostics
    assert diagnostic.message.startswith("invalid UTF-8: byte 0xfc at offset")
    assert (diagnostic.help, diagnostic.place) == ("save the file as UTF-8", f"{path}:2:12")
    assert "nter2" not in render(diagnostic)


def test_utf_16_is_recognised(write):
    """An editor may have saved the file so: the help names the encoding, as for a rule file."""
    (diagnostic,) = load(write(MINIMAL.encode("utf-16")), {}).diagnostics
    assert (diagnostic.code, diagnostic.help) == ("unreadable-file", "the file seems to be UTF-16; save it as UTF-8")


def test_a_pipe_is_refused_if_it_is_to_be_read_again(tmp_path):
    """A service would block at the next edit of a pipe."""
    os.mkfifo(tmp_path / "pipe")
    (diagnostic,) = read(tmp_path / "pipe", again=True).diagnostics
    assert diagnostic.message == f"`{tmp_path}/pipe` cannot be read: it is not a regular file"


CASES = sorted((Path(__file__).parent / "cases").glob("*.case"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_case_is_reported_as_expected(case):
    text, expected = case.read_text(encoding="utf-8").split("----------\n")
    assert report(text) == expected.rstrip("\n")


def test_the_source_has_no_secret():
    """The source of the diagnostics is a copy without secrets."""
    loaded = compiled("password: hunter2\n" + MINIMAL)
    assert loaded.source.text == "password: •••••••\n" + MINIMAL
    assert all(diagnostic.span.source == loaded.source for diagnostic in loaded.diagnostics)


def test_a_byte_order_mark_is_ignored():
    assert compiled(f"\ufeff{MINIMAL}").settings
    (diagnostic,) = compiled(f"\ufeffprot: 1\n{MINIMAL}").diagnostics
    assert diagnostic.span.text == "prot"


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_configuration_is_reported(text):
    assert [diagnostic.message for diagnostic in compiled(text).diagnostics] == ["the configuration is empty"]


def test_anchors_and_merges_work():
    """Options that targets share can be written once."""
    text = """\
targets:
  a: &a
    bucket: &bucket {name: my-bucket, region: eu-west-1}
    mount: {path: /a}
  b:
    <<: *a
    bucket: {<<: *bucket, prefix: b}
    mount: {path: /b}
"""
    a, b = compiled(text).settings.targets
    assert (b.bucket.region, b.bucket.prefix, b.mount.paths) == ("eu-west-1", "b/", ("/b/",))
    assert a.bucket.prefix == ""


_WORDS = st.sampled_from(
    [
        "targets", "site", "bucket", "name", "my-bucket", "mount", "path", "host", "/", "/a", "resources", "basic",
        "credentials", "user", "password", "env", "value", "ANN", "provider", "staff", "actions", "GET", "PUT",
        "enabled", "config", "true", "yes", "5GiB", "012", "~", "1.5", "authProviders", "realm", "rules", "*a", "&a",
        "<<", "server", "port", "8080", "'x'", '"\\u0000"', "[", "]", "{", "}", ":", ",", "-", "?", "!", "|", ">", "#",
        "%", "@", "`", "---",
    ]
)  # fmt: skip


@given(
    st.lists(st.tuples(_WORDS, st.sampled_from([" ", ": ", "\n", "\n  ", "\n    ", "\n      - ", ", "])), max_size=30)
)
def test_any_text_gives_settings_or_diagnostics(parts):
    text = "".join(word + separator for word, separator in parts)
    loaded = compiled(text)
    assert loaded.settings or loaded.diagnostics
    assert isinstance(report(text), str)


_VALUES = st.recursive(
    st.sampled_from(["/", "x", "/**", "GET", "..", "5MiB", "1s", "eu", "", "a:b"]) | st.none() | st.booleans() | st.integers(-2, 99999),
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(
        st.sampled_from(["site", "bucket", "name", "mount", "path", "host", "resources", "basic", "credentials", "user", "password", "env", "value"]),
        inner,
        max_size=3,
    ),
    max_leaves=10,
)  # fmt: skip


@given(_VALUES)
def test_any_value_of_a_target_gives_settings_or_diagnostics(value):
    loaded = compiled(f"targets: {{site: {value!r}}}".replace("None", "~").replace("True", "true"))
    assert loaded.settings or loaded.diagnostics
