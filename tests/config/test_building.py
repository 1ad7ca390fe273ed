from __future__ import annotations

from pathlib import Path

import pytest
from configurations import DIRECTORY, compiled, complaints, settings, target

from tornado_proxy.config.model import BasicUser, Resource
from tornado_proxy.config.secrets import Secret


def test_targets_keep_the_order_of_the_file():
    """Targets come in the order in which the file names them."""
    text = "targets: {zoo: {bucket: {name: a-b}, mount: {path: /z}}, ape: {bucket: {name: a-b}, mount: {path: /a}}}"
    assert [each.name for each in settings(text).targets] == ["zoo", "ape"]


def test_relative_places_start_from_the_file():
    """Rules stand relative to the configuration file; absolute places stand where they say."""
    told = settings("rules: [rules/, /etc/rules]\ntargets: {site: {bucket: {name: my-bucket}}}")
    assert told.rules == (DIRECTORY / "rules", Path("/etc/rules"))
    assert [span.text for span in told.rule_spans.values()] == ["rules/", "/etc/rules"]
    assert told.directory == DIRECTORY


@pytest.mark.parametrize(
    ("options", "endpoint"),
    [
        ("region: eu-west-1", None),
        ("s3Endpoint: http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("s3Endpoint: minio:9000", "https://minio:9000"),
        ("s3Endpoint: minio:9000, disableSSL: true", "http://minio:9000"),
        ("s3Endpoint: http://minio:9000, disableSSL: false", "http://minio:9000"),
    ],
)
def test_endpoint_has_a_scheme(options, endpoint):
    """An endpoint without a scheme gets it from `disableSSL`."""
    (only,) = settings(f"targets: {{site: {{bucket: {{name: my-bucket, {options}}}}}}}").targets
    assert only.bucket.s3_endpoint == endpoint


def test_credentials_are_fetched():
    """A bucket's key pair, and its session token if it has one, come from where they are named."""
    references = "accessKey: {env: ACCESS}, secretKey: {env: SECRET}, sessionToken: {env: ANN}"
    (only,) = settings(f"targets: {{site: {{bucket: {{name: my-bucket, credentials: {{{references}}}}}}}}}").targets
    credentials = only.bucket.credentials
    assert credentials.access_key == Secret("the environment variable `ACCESS`", "access")
    assert credentials.secret_key.reveal() == "secret"
    assert credentials.session_token.reveal() == "her password"


def test_session_token_may_be_left_out():
    """Lasting credentials have no token."""
    text = "targets: {site: {bucket: {name: my-bucket, credentials: {accessKey: {env: ACCESS}, secretKey: {env: SECRET}}}}}"
    (only,) = settings(text).targets
    assert only.bucket.credentials.session_token is None


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
def test_head_goes_with_get(methods, all_methods):
    """A resource that speaks of GET speaks of HEAD; methods come in one order, each once."""
    (resource,) = target(f"resources: [{{path: /**, {methods}whiteList: true}}]").resources
    assert resource == Resource("/**", all_methods, white_list=True)


def test_users_of_a_resource_are_read():
    """Users and their passwords stand in the resource that they may use."""
    users = "{user: ann, password: {env: ANN}}, {user: bob, password: {env: BOB}}"
    text = f"resources: [{{path: /**, provider: staff, basic: {{credentials: [{users}]}}}}]"
    told = settings(
        f"authProviders: {{basic: {{staff: {{realm: Files}}}}}}\n"
        f"targets:\n  site:\n    bucket: {{name: my-bucket}}\n    {text}\n"
    )
    (resource,) = told.targets[0].resources
    assert resource.provider == "staff"
    assert resource.users == (
        BasicUser("ann", Secret("the environment variable `ANN`", "her password")),
        BasicUser("bob", Secret("the environment variable `BOB`", "his password")),
    )


def _with_password(reference):
    return (
        "authProviders: {basic: {staff: {realm: Files}}}\ntargets: {site: {bucket: {name: my-bucket}, resources: "
        f"[{{path: /**, provider: staff, basic: {{credentials: [{{user: ann, password: {reference}}}]}}}}]}}}}"
    )


def test_missing_secret_is_told_at_its_reference():
    """A secret that is not there is a diagnostic at the name of its place, and keeps the configuration from use."""
    loaded = compiled(_with_password("{env: NOBODY}"))
    (told,) = loaded.diagnostics
    assert (told.code, told.message) == ("missing-secret", "the environment variable `NOBODY` is not set")
    assert told.span.text == "NOBODY"
    assert loaded.settings is None


def test_secret_in_the_file_is_warned_of():
    """`value` is allowed, and told to be what it is."""
    loaded = compiled(_with_password("{value: hunter2}"))
    (told,) = loaded.diagnostics
    assert (told.code, told.message) == ("plain-secret", "a secret stands in the configuration file itself")
    assert told.span.text == "value"
    assert loaded.settings.targets[0].resources[0].users[0].password.reveal() == "hunter2"


@pytest.mark.parametrize("hash", ["$2b$12$abcdefghijklmnopqrstuv", "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA"])
def test_hash_may_stand_in_the_file(hash):
    """The hash of a password tells nobody the password."""
    assert complaints(_with_password(f"{{value: {hash!r}}}")) == []


def test_key_that_looks_like_a_hash_is_warned_of():
    """Only passwords are hashed: a secret key is plain, whatever it looks like."""
    pair = "accessKey: {env: ACCESS}, secretKey: {value: $2b$12$abc}"
    told = complaints(f"targets: {{site: {{bucket: {{name: my-bucket, credentials: {{{pair}}}}}}}}}")
    assert [code for code, _ in told] == ["plain-secret"]


def test_example_that_stands_in_is_not_looked_up():
    """Where a secret is missing from the file, nobody asks for that of an example."""
    assert complaints("targets: {site: {bucket: {name: my-bucket, credentials: {accessKey: {env: ACCESS}}}}}") == [
        ("missing-option", "`credentials` lacks `secretKey`")
    ]


def test_path_given_twice_is_one_path():
    """A mount path that a target lists twice is there once, with a warning."""
    assert target("mount: {path: [/a, /a/]}").mount.paths == ("/a/",)
