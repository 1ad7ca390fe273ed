from __future__ import annotations

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
from tornado_proxy.lang.diagnostic import SourceFile


def _told(text):
    (diagnostic,) = compiled(text).diagnostics
    return diagnostic.code, diagnostic.message, diagnostic.help, diagnostic.span.text


@pytest.mark.parametrize(
    ("text", "code", "message", "place"),
    [
        ("server: {port: x}", "wrong-type", "`port` must be a whole number, but is a string", "x"),
        (
            "server: {port: 80.5}",
            "wrong-type",
            "`port` must be a whole number, but is a number with a fraction",
            "80.5",
        ),
        ("server: {port: [80]}", "wrong-type", "`port` must be a whole number, but is a list", "port"),
        ("server: {port: 70000}", "bad-value", "`port` is more than 65535", "70000"),
        ("server: {port: -1}", "bad-value", "`port` is less than 0", "-1"),
        ("server: {port: 0700}", "ambiguous-number", "`port` is a number that YAML versions read differently", "0700"),
        ("server: {port: }", "empty-value", "`port` has no value", "port"),
        ("server: 8080", "wrong-type", "`server` must be a mapping, but is a number", "••••"),
        ("server: [1]", "wrong-type", "`server` must be a mapping, but is a list", "server"),
        ("rules: {a: b}", "wrong-type", "`rules` must be a list, but is a mapping", "rules"),
        ("rules: [~]", "empty-value", "an item of `rules` has no value", "~"),
        ("rules: [{a: b}]", "wrong-type", "an item of `rules` must be a string, but is a mapping", "{•: •}"),
        ("rules: ''", "bad-value", "`rules` is empty", "''"),
        ("rules: 2024-01-01", "wrong-type", "`rules` must be a list, but is a date", "2024-01-01"),
        ("log: {level: loud}", "bad-value", "`level` cannot be `loud`", "loud"),
        ("log: {format: on}", "bad-value", "`format` cannot be `on`", "on"),
        ("limits: {idleTimeout: soon}", "bad-value", "`idleTimeout` is not a duration", "soon"),
        ("prot: 1", "unknown-option", "unknown option `prot`", "prot"),
        ('authProviders: {basic: {"": {realm: x}}}', "bad-value", "`` is empty", '""'),
        ("authProviders: {basic: {a: {}}}", "missing-option", "`a` lacks `realm`", "a"),
    ],
)
def test_mistake_is_reported_with_its_place(text, code, message, place):
    """What pydantic objects to is told in our words, at the value, or at the key where the value shows nothing."""
    (diagnostic,) = compiled(f"{text}\n{MINIMAL}").diagnostics
    assert (diagnostic.code, diagnostic.message, diagnostic.span.text) == (code, message, place)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mount: {path: []}", "`path` is empty"),
        ("mount: {path: [/a, /..]}", "an item of `path` contains a `.` or `..` segment"),
        ("mount: {path: /..}", "`path` contains a `.` or `..` segment"),
        ("resources: [{whiteList: true}]", "an item of `resources` lacks `path`"),
        ("resources: [/public]", "an item of `resources` must be a mapping, but is a string"),
        ("actions: {GET: {enabled: 1}}", "`enabled` must be `true` or `false`, but is a number"),
        ("resources: [{path: /, methods: [POST], whiteList: true}]", "an item of `methods` cannot be `POST`"),
    ],
)
def test_mistake_in_a_target_is_reported(text, message):
    """The same holds at every depth, for items of lists too."""
    assert message in [told for _, told in codes_and_messages_in_target(text)]


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ('server: {port: "80"}', "write it without quotes: `80`"),
        ("server: {port: x}", None),
        ("server: {listenAddr: 8080}", 'quote it: `"8080"`'),
        ("server: {listenAddr: off}", 'quote it: `"off"`'),
        ("server: {listenAddr: [a]}", None),
        ("rules: {a: b}", "each item begins with `- ` on a line of its own"),
        ("server: {port: }", "add a value, or leave the option out"),
        ("server: {port: 0x50}", "write it in plain decimal, or quote it if it is a name"),
        ("log: {level: warn}", "did you mean `warning`?"),
        ("log: {level: loud}", "the choices are `debug`, `info`, `warning` and `error`"),
        ("prot: 1", "the options here are `server`, `internalServer`, `rules`, `authProviders`, `listTargets`, `targets`, `templates`, `pages`, `limits`, `s3`, `reload`, `log` and `tracing`"),
        ("serve: 1", "did you mean `server`?"),
        ("indexDocument: a", "did you mean `targets.*.actions.GET.config.indexDocument`?"),
        ("authProviders: {saml: {}}", "the options here are `basic`, `oidc`, `header` and `clientCertificate`"),
        ("authProviders: {basic: {a: }}", "such as `{realm: Files}`"),
        ("keyRewriteList: []", "write rewrites in rule files, and list these or their directory in `rules`"),
    ],
)  # fmt: skip
def test_cure_stands_in_help(text, help):
    """What to do about a mistake is said where it can be known."""
    (diagnostic,) = compiled(f"{text}\n{MINIMAL}").diagnostics
    assert diagnostic.help == help


def test_boolean_that_was_quoted_is_reported():
    """`"true"` is a string, and the cure is to leave the quotes out."""
    assert _told('targets: {a: {bucket: {name: a-b, disableSSL: "true"}}}') == (
        "wrong-type",
        "`disableSSL` must be `true` or `false`, but is a string",
        "write it without quotes: `true`",
        '"true"',
    )


def test_secret_written_where_a_reference_belongs_is_not_quoted():
    """The message says how a secret is named, and shows dots."""
    text = "targets: {a: {resources: [{path: /, provider: p, basic: {credentials: [{user: a, password: hunter2}]}}]}}"
    (told,) = (each for each in compiled(text).diagnostics if each.code == "wrong-type")
    assert told.message == "`password` must be a mapping, but is a string"
    assert told.help == "a secret is named, not written: `{env: NAME}`, `{path: FILE}` or `{credential: NAME}`"
    assert told.span.text == "•••••••"


def test_misspelt_option_is_not_missing_too():
    """One slip of the pen is one diagnostic."""
    assert codes_and_messages("targets: {a: {buckt: {name: a-b}}}") == [("unknown-option", "unknown option `buckt`")]


def test_value_that_a_fault_explains_is_not_reported_again():
    """A tag is one mistake, whatever belongs in its place."""
    assert codes_and_messages(f"server: {{port: !none x}}\n{MINIMAL}") == [
        ("unsupported-yaml", "a tag has no meaning here")
    ]


def test_unknown_option_is_reported_whatever_its_value():
    """A fault in a value does not hide that its key is unknown."""
    codes = [code for code, _ in codes_and_messages(f"prot: !none x\n{MINIMAL}")]
    assert codes == ["unknown-option", "unsupported-yaml"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "the configuration must be a mapping, but is a list"),
        ("targets", "the configuration must be a mapping, but is a string"),
        ("---", "the configuration has no value"),
        ("targets:", "`targets` has no value"),
    ],
)
def test_configuration_as_a_whole_can_be_wrong(text, message):
    """A mistake of the whole file is told of the configuration, at its beginning."""
    *_, diagnostic = (each for each in compiled(text).diagnostics if each.code != "no-targets")
    assert diagnostic.message == message
    assert diagnostic.span.first.line == 1


def test_mistake_reported_once_for_an_anchor_and_its_alias():
    """What is wrong with an anchored value is told where it stands, however often it is used."""
    text = "targets: {a: {mount: {path: /a}, bucket: &b {name: 1}}, b: {mount: {path: /b}, bucket: *b}}"
    assert codes_and_messages(text) == [("wrong-type", "`name` must be a string, but is a number")]


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


def test_missing_secret_is_reported_at_its_reference():
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
    assert (told.code, told.message) == ("plain-secret", "a secret is in the configuration file itself")
    assert told.span.text == "value"
    assert loaded.settings.targets[0].resources[0].users[0].password.reveal() == "hunter2"


@pytest.mark.parametrize("hash", ["$2b$12$abcdefghijklmnopqrstuv", "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA"])
def test_hash_may_stand_in_the_file(hash):
    """The hash of a password tells nobody the password."""
    assert codes_and_messages(_with_password(f"{{value: {hash!r}}}")) == []


def test_key_that_looks_like_a_hash_is_warned_of():
    """Only passwords are hashed: a secret key is plain, whatever it looks like."""
    pair = "accessKey: {env: ACCESS}, secretKey: {value: $2b$12$abc}"
    told = codes_and_messages(f"targets: {{site: {{bucket: {{name: my-bucket, credentials: {{{pair}}}}}}}}}")
    assert [code for code, _ in told] == ["plain-secret"]


def test_example_that_stands_in_is_not_looked_up():
    """Where a secret is missing from the file, nobody asks for that of an example."""
    assert codes_and_messages(
        "targets: {site: {bucket: {name: my-bucket, credentials: {accessKey: {env: ACCESS}}}}}"
    ) == [("missing-option", "`credentials` lacks `secretKey`")]


def test_path_given_twice_is_one_path():
    """A mount path that a target lists twice is there once."""
    assert target("mount: {path: [/a, /a/]}").mount.paths == ("/a/",)


@pytest.mark.parametrize(
    "text",
    ["[]", "word", "targets: 5", "prot: 1", "server: {port: x}", "targets: {a: {}}", "rules: [a, 5]", "tracing: {}"],
)
def test_a_mistake_anywhere_leaves_no_settings(text):
    """A wrong, unknown or missing option is reported, and nothing stands in for it."""
    settings, diagnostics = read(compose(text).root, SourceFile("config.yaml", text), Path(), unresolved)
    assert (settings, len(diagnostics)) == (None, 1)


def test_a_mistake_hides_no_other():
    """What stands around a wrong value is read."""
    text = "server: {port: x, listenAddr: 5}\ntargets: {a: {bucket: {name: 1}, mount: {path: [/x, 5, /..]}}, '': {}}"
    assert [code for code, _ in codes_and_messages(text)] == ["wrong-type"] * 4 + ["bad-value"] * 2 + ["missing-option"]


def test_group_that_is_not_a_mapping_is_a_mistake():
    """A group of options is written as a mapping, too."""
    assert codes_and_messages_in_target("actions: {GET: {config: 5}}") == [
        ("wrong-type", "`config` must be a mapping, but is a number")
    ]
