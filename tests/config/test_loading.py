from __future__ import annotations

import os
from pathlib import Path

import pytest
from configurations import MINIMAL, codes_and_messages, compiled, report
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.loading import LARGEST, compile_configuration, load, read
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.lang.diagnostic import SourceFile
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


def test_file_that_is_not_there_is_reported(tmp_path):
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


def test_byte_that_is_not_utf8_is_reported_with_its_place(write):
    """A file in another encoding is refused at the first byte that shows it, and shows no secret."""
    path = write(MINIMAL.encode() + "password: hünter2\n# é\n".encode("latin-1"))
    (told,) = load(path, {}).diagnostics
    assert (told.message, told.help) == ("invalid UTF-8: byte 0xFC", "save the file as UTF-8")
    assert told.place == f"{path}:2:12"
    assert "nter2" not in render(told)


def test_a_pipe_that_is_to_be_read_again_is_refused(tmp_path):
    """A service would wait for it at the next edit."""
    os.mkfifo(tmp_path / "pipe")
    (mistake,) = read(tmp_path / "pipe", again=True).diagnostics
    assert mistake.message == f"`{tmp_path}/pipe` cannot be read: it is not a regular file"


CASES = sorted((Path(__file__).parent / "cases").glob("*.case"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_case_is_reported_as_it_says(case):
    """Above the line stands a configuration, below it what is said about it."""
    text, expected = case.read_text(encoding="utf-8").split("----------\n")
    assert report(text) == expected.rstrip("\n")


def test_faults_and_mistakes_are_reported_in_one_run():
    """Faults of the YAML and mistakes in single options come together, in the order of the file."""
    text = """\
server: {port: x}
server: {}
log: !none x
targets:
  a: {bucket: {nmae: x}, mount: {path: /a}}
  b: {bucket: {name: b-b}}
  c: {bucket: {name: c-c}}
"""
    assert codes_and_messages(text) == [
        ("wrong-type", "`port` must be a whole number, but is a string"),
        ("duplicate-key", "`server` is given twice"),
        ("unsupported-yaml", "a tag has no meaning here"),
        ("unknown-option", "unknown option `nmae`"),
    ]


def test_contradictions_are_reported_together():
    """All of them, once each option is valid, even beside a fault of the YAML."""
    text = """\
log: {}
log: {}
targets:
  b: {bucket: {name: B}}
  c: {bucket: {name: c-c}}
"""
    assert [code for code, _ in codes_and_messages(text)] == ["duplicate-key", "bucket-name", "overlapping-mounts"]


def test_errors_leave_no_settings():
    """A configuration with an error is not used in part."""
    loaded = compiled(f"prot: 1\n{MINIMAL}")
    assert loaded.settings is None


def test_source_is_the_copy_that_may_be_shown():
    """What is handed on for excerpts has no secret in it, in its text and in its spans."""
    loaded = compiled("password: hunter2\n" + MINIMAL)
    assert loaded.source.text == "password: •••••••\n" + MINIMAL
    assert all(each.span.source == loaded.source for each in loaded.diagnostics)


def test_byte_order_mark_is_no_mistake():
    """A mark at the beginning is passed over, and no place is off by one."""
    assert compiled(f"\ufeff{MINIMAL}").settings
    (told,) = compiled(f"\ufeffprot: 1\n{MINIMAL}").diagnostics
    assert told.span.text == "prot"


def test_line_ends_of_windows_are_no_mistake():
    """CRLF ends a line as LF does."""
    assert compiled(MINIMAL.replace("\n", "\r\n")).settings


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "\n\n"])
def test_empty_configuration_is_reported(text):
    """A file without content lacks targets."""
    (told,) = compiled(text).diagnostics
    assert (told.code, told.message, told.help) == (
        "empty-value",
        "the configuration is empty",
        "a configuration has at least `targets`",
    )


def test_anchors_and_merges_work():
    """What targets have in common may be written once."""
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


def test_tools_can_do_without_secrets():
    """With a resolver that resolves nothing, a configuration is complete where no secret exists."""
    text = "targets: {a: {bucket: {name: a-b, credentials: {accessKey: {env: NOWHERE}, secretKey: {path: none}}}}}"
    loaded = compile_configuration(SourceFile("config.yaml", text), Path(), unresolved)
    assert loaded.diagnostics == ()
    assert loaded.settings.targets[0].bucket.credentials.access_key.origin == "the environment variable `NOWHERE`"


_WORDS = st.sampled_from(
    [
        "targets",
        "site",
        "bucket",
        "name",
        "my-bucket",
        "mount",
        "path",
        "host",
        "/",
        "/a",
        "resources",
        "basic",
        "credentials",
        "user",
        "password",
        "env",
        "value",
        "ANN",
        "provider",
        "staff",
        "actions",
        "GET",
        "PUT",
        "enabled",
        "config",
        "true",
        "yes",
        "5GiB",
        "012",
        "~",
        "1.5",
        "authProviders",
        "realm",
        "rules",
        "*a",
        "&a",
        "<<",
        "server",
        "port",
        "8080",
        "'x'",
        '"\\u0000"',
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        "-",
        "?",
        "!",
        "|",
        ">",
        "#",
        "%",
        "@",
        "`",
        "---",
    ]
)


@given(
    st.lists(st.tuples(_WORDS, st.sampled_from([" ", ": ", "\n", "\n  ", "\n    ", "\n      - ", ", "])), max_size=30)
)
def test_no_text_makes_it_raise(parts):
    """Whatever a file says, compiling it ends in settings or in errors, and every error can be shown."""
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
def test_no_shape_makes_it_raise(value):
    """Whatever stands where a target belongs, there is something to say or something to serve."""
    loaded = compiled(f"targets: {{site: {value!r}}}".replace("None", "~").replace("True", "true"))
    assert loaded.settings or loaded.diagnostics
