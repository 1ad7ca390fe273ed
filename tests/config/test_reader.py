from pathlib import Path

import pytest
from configurations import (
    DIRECTORY,
    MINIMAL,
    codes_and_messages,
    codes_and_messages_in_target,
    compiled,
    settings,
    target,
)

from tornado_proxy.config.document import compose
from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.reader import read
from tornado_proxy.config.secrets import Secret, unresolved
from tornado_proxy.rules.diagnostic import SourceFile


@pytest.mark.parametrize(
    ("text", "code", "message", "marked_text"),
    [
        ("server: {port: 80.5}", "wrong-type", "`port` must be a whole number, but is a number with a fraction", "80.5"),
        ("server: {port: [80]}", "wrong-type", "`port` must be a whole number, but is a list", "port"),
        ("server: {port: -1}", "bad-value", "`port` is less than 0", "-1"),
        ("server: {port: }", "empty-value", "`port` has no value", "port"),
        ("server: 8080", "wrong-type", "`server` must be a mapping, but is a number", "••••"),
        ("rules: [~]", "empty-value", "an item of `rules` has no value", "~"),
        ("rules: [[a]]", "wrong-type", "an item of `rules` must be a string, but is a list", "[•]"),
        ("rules: ''", "bad-value", "`rules` is empty", "''"),
        ("log: {format: on}", "bad-value", "`format` cannot be `on`", "on"),
        ('authProviders: {basic: {"": {realm: x}}}', "bad-value", "`` is empty", '""'),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_its_place(text, code, message, marked_text):
    """A mistake is reported at the value, or at the key if the value can't be shown."""
    (diagnostic,) = compiled(f"{text}\n{MINIMAL}").diagnostics
    assert (diagnostic.code, diagnostic.message, diagnostic.span.text) == (code, message, marked_text)


def test_a_value_with_a_fault_has_one_diagnostic():
    assert codes_and_messages(f"server: {{port: !none x}}\n{MINIMAL}") == [
        ("unsupported-yaml", "a tag has no meaning here")
    ]


def test_a_mistake_in_an_anchored_value_is_reported_once():
    text = "targets: {a: {mount: {path: /a}, bucket: &b {name: 1}}, b: {mount: {path: /b}, bucket: *b}}"
    assert codes_and_messages(text) == [("wrong-type", "`name` must be a string, but is a number")]


def test_relative_paths_start_from_the_directory_of_the_file():
    parsed = settings("rules: [rules/, /etc/rules]\ntargets: {site: {bucket: {name: my-bucket}}}")
    assert parsed.rules == (DIRECTORY / "rules", Path("/etc/rules"))
    assert [span.text for span in parsed.rule_spans.values()] == ["rules/", "/etc/rules"]
    assert parsed.directory == DIRECTORY


def test_credentials_are_resolved():
    references = "accessKey: {env: ACCESS}, secretKey: {env: SECRET}, sessionToken: {env: ANN}"
    (parsed,) = settings(f"targets: {{site: {{bucket: {{name: my-bucket, credentials: {{{references}}}}}}}}}").targets
    credentials = parsed.bucket.credentials
    assert credentials.access_key == Secret("the environment variable `ACCESS`", "access")
    assert credentials.secret_key.reveal() == "secret"
    assert credentials.session_token.reveal() == "her password"


@pytest.mark.parametrize(
    ("methods", "all_methods"),
    [
        ("", ("GET", "HEAD")),
        ("methods: [GET], ", ("GET", "HEAD")),
        ("methods: [HEAD], ", ("HEAD",)),
        ("methods: [DELETE, PUT, GET], ", ("GET", "HEAD", "PUT", "DELETE")),
        ("methods: [PUT, PUT], ", ("PUT",)),
    ],
)
def test_a_resource_for_get_is_for_head_too(methods, all_methods):
    (resource,) = target(f"resources: [{{path: /**, {methods}whiteList: true}}]").resources
    assert resource == Resource("/**", all_methods, white_list=True)


def test_users_of_a_resource_are_read():
    users = "{user: ann, password: {env: ANN}}, {user: bob, password: {env: BOB}}"
    text = f"resources: [{{path: /**, provider: staff, basic: {{credentials: [{users}]}}}}]"
    parsed = settings(
        f"authProviders: {{basic: {{staff: {{realm: Files}}}}}}\n"
        f"targets:\n  site:\n    bucket: {{name: my-bucket}}\n    {text}\n"
    )
    (resource,) = parsed.targets[0].resources
    assert resource.provider == "staff"
    assert resource.users == (
        BasicUser("ann", Secret("the environment variable `ANN`", "her password")),
        BasicUser("bob", Secret("the environment variable `BOB`", "his password")),
    )


@pytest.mark.parametrize("hash", ["$2b$12$abcdefghijklmnopqrstuv", "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA"])
def test_a_hash_in_the_file_has_no_warning(hash):
    """A hash of a password doesn't reveal the password."""
    text = (
        "authProviders: {basic: {staff: {realm: Files}}}\ntargets: {site: {bucket: {name: my-bucket}, resources: "
        f"[{{path: /**, provider: staff, basic: {{credentials: [{{user: ann, password: {{value: {hash!r}}}}}]}}}}]}}}}"
    )
    assert codes_and_messages(text) == []


def test_a_secret_key_that_looks_like_a_hash_has_a_warning():
    """Only passwords are hashed, so any secret key in the file has a warning."""
    pair = "accessKey: {env: ACCESS}, secretKey: {value: $2b$12$abc}"
    diagnostics = codes_and_messages(f"targets: {{site: {{bucket: {{name: my-bucket, credentials: {{{pair}}}}}}}}}")
    assert [code for code, _ in diagnostics] == ["plain-secret"]


@pytest.mark.parametrize(
    "text",
    ["[]", "word", "targets: 5", "prot: 1", "server: {port: x}", "targets: {a: {}}", "rules: [a, 5]", "tracing: {}"],
)
def test_a_mistake_anywhere_leaves_no_settings(text):
    settings, diagnostics = read(compose(text).root, SourceFile("config.yaml", text), Path(), unresolved)
    assert (settings, len(diagnostics)) == (None, 1)


def test_places_of_options_are_kept():
    """What reads a file later points at the option that names it, or at the section if that is left out."""
    page = settings(f"templates: {{put: {{path: a.tpl, status: '201'}}}}\n{MINIMAL}").templates.put
    places = [page.place.key(option).text for option in ("path", "status", "headers")]
    assert places == ["path", "status", "{path: a.tpl, status: '201'}"]
    assert [span.text for span in page.place.values("path")] == ["a.tpl"]
    assert page.place.value("path") == page.place.values("path")[0]


def test_a_default_section_has_no_places():
    mount = target("").mount
    assert (mount.place.key("host"), mount.place.value("host")) == (None, None)


def test_equal_sections_at_different_places_are_equal():
    """Two sections with equal options at different places are equal, so that equal buckets share a client."""
    one, two = settings("targets: {a: {bucket: {name: b-b}}, b: {bucket: {name: b-b}, mount: {path: /b}}}").targets
    assert one.bucket.place.key("name") is not two.bucket.place.key("name")
    assert (one.bucket, hash(one.bucket)) == (two.bucket, hash(two.bucket))


def test_a_group_must_be_a_mapping():
    assert codes_and_messages_in_target("actions: {GET: {config: 5}}") == [
        ("wrong-type", "`config` must be a mapping, but is a number")
    ]
