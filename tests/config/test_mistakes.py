from __future__ import annotations

import pytest
from configurations import MINIMAL, compiled, complaints, complaints_about_target


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
        ("server: 8080", "wrong-type", "`server` must be a mapping, but is a number", "8080"),
        ("server: [1]", "wrong-type", "`server` must be a mapping, but is a list", "server"),
        ("rules: {a: b}", "wrong-type", "`rules` must be a list, but is a mapping", "rules"),
        ("rules: [~]", "empty-value", "an item of `rules` has no value", "~"),
        ("rules: [{a: b}]", "wrong-type", "an item of `rules` must be a string, but is a mapping", "{a: •}"),
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
def test_mistake_is_told_with_its_place(text, code, message, place):
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
def test_mistake_in_a_target_is_told(text, message):
    """The same holds at every depth, for items of lists too."""
    assert message in [told for _, told in complaints_about_target(text)]


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ('server: {port: "80"}', "write it without quotes: `80`"),
        ("server: {port: x}", None),
        ("server: {listenAddr: 8080}", 'quote it: `"8080"`'),
        ("server: {listenAddr: off}", 'quote it: `"off"`'),
        ("server: {listenAddr: [a]}", None),
        ("rules: {a: b}", "each item begins with `- ` on a line of its own"),
        ("server: {port: }", "give it one, or leave the option out"),
        ("server: {port: 0x50}", "write it in plain decimal, or quote it if it is a name"),
        ("log: {level: warn}", "did you mean `warning`?"),
        ("log: {level: loud}", "the choices are `debug`, `info`, `warning` and `error`"),
        ("server: {port: -1}", "the port; 0 is any free one"),
        ("limits: {maxHeaderSize: 1B}", "the bytes of a request's line and headers"),
        ("prot: 1", "the options here are `server`, `internalServer`, `rules`, `authProviders`, `targets`, `limits`, `s3` and `log`"),
        ("serve: 1", "did you mean `server`?"),
        ("indexDocument: a", "did you mean `targets.*.actions.GET.config.indexDocument`?"),
        ("authProviders: {oidc: {}}", "the only option here is `basic`"),
        ("authProviders: {basic: {a: }}", "such as `{realm: Files}`"),
        ("keyRewriteList: []", "rewrites stand in rule files: name these, or their directory, under `rules`"),
    ],
)  # fmt: skip
def test_cure_stands_in_help(text, help):
    """What to do about a mistake is said where it can be known."""
    (diagnostic,) = compiled(f"{text}\n{MINIMAL}").diagnostics
    assert diagnostic.help == help


def test_boolean_that_was_quoted_is_told():
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
    assert complaints("targets: {a: {buckt: {name: a-b}}}") == [("unknown-option", "unknown option `buckt`")]


def test_value_that_a_fault_explains_is_not_told_again():
    """An alias without an anchor is one mistake, whatever belongs in its place."""
    assert complaints(f"server: {{port: *none}}\n{MINIMAL}") == [
        ("unsupported-yaml", "`*none` names no anchor above it")
    ]


def test_unknown_option_is_told_whatever_its_value():
    """A fault in a value does not hide that its key is unknown."""
    codes = [code for code, _ in complaints(f"prot: *none\n{MINIMAL}")]
    assert codes == ["unknown-option", "unsupported-yaml"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "the configuration must be a mapping, but is a list"),
        ("targets", "the configuration must be a mapping, but is a string"),
        ("---", "the configuration has no value"),
        ("{}", "the configuration lacks `targets`"),
        ("server: {}", "the configuration lacks `targets`"),
        ("targets: {}", "`targets` is empty"),
        ("targets:", "`targets` has no value"),
    ],
)
def test_configuration_as_a_whole_can_be_wrong(text, message):
    """A mistake of the whole file is told of the configuration, at its beginning."""
    (diagnostic,) = compiled(text).diagnostics
    assert diagnostic.message == message
    assert diagnostic.span.first.line == 1


def test_mistake_told_once_for_an_anchor_and_its_alias():
    """What is wrong with an anchored value is told where it stands, however often it is used."""
    text = "targets: {a: {mount: {path: /a}, bucket: &b {name: 1}}, b: {mount: {path: /b}, bucket: *b}}"
    assert complaints(text) == [("wrong-type", "`name` must be a string, but is a number")]
