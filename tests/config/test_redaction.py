import json

import pytest
from configurations import compiled
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.document import ScalarKind, ScalarNode, bare, compose, span_of
from tornado_proxy.config.loading import redacted
from tornado_proxy.rules.diagnostic import SourceFile, render


def _redact(text):
    return redacted(SourceFile("config.yaml", text), compose(text)).text


_USER = "targets: {a: {resources: [{basic: {credentials: [{", "}]}}]}}"
_BUCKET = "targets: {a: {bucket: {", "}}}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password: word", "password: ••••"),
        ("password: 'word'", "password: ••••••"),
        ("password: two words", "password: •••••••••"),
        ("password: [word]", "password: [••••]"),
        ("password: {word}", "password: {••••}"),
        ("password: {value: word}", "password: {value: ••••}"),
        ("password: {vaule: word}", "password: {vaule: ••••}"),
        ("password: {word: x}", "password: {••••: •}"),
        ("password: {env: [word]}", "password: {env: [••••]}"),
        ("password: {env: two words}", "password: {env: •••••••••}"),
        ("password: {env: NAME}", "password: {env: NAME}"),
        ("password: {path: /run/word}", "password: {path: /run/word}"),
        ("password: {credential: word}", "password: {credential: word}"),
        ("password: {value: word, <<: {value: word}}", "password: {value: ••••, <<: {value: ••••}}"),
        ("pasword: word", "pasword: ••••"),
        ("pasword: {value: word}", "pasword: {•••••: ••••}"),
        ("usr: word", "usr: ••••"),
        ("ann: word", "•••: ••••"),
        ("user: ann", "user: ann"),
        ("user: ann:word", "user: ••••••••"),
    ],
)
def test_secrets_of_a_user_are_hidden(text, expected):
    """Each character of a password, and of any text that may be one, becomes a dot; all other text is kept."""
    assert _redact(text.join(_USER)) == expected.join(_USER)


@pytest.mark.parametrize("text", ["rules: [a\nb: c", "rules: 'a\nb: c", "rules: a\x00"])
def test_a_text_that_is_not_yaml_is_hidden(text):
    """If the text has no nodes, only its line ends and spaces are kept."""
    copy = _redact(text)
    assert set(copy) <= set("• \n")
    assert copy.count("\n") == text.count("\n")


@given(st.text(alphabet="ab:-?[]{}#&*!|>\"'\\ \n\t\rpasswordvalue", max_size=80))
def test_a_redacted_copy_keeps_length_and_lines(text):
    copy = _redact(text)
    assert len(copy) == len(text)
    assert [i for i, c in enumerate(copy) if c in "\r\n"] == [i for i, c in enumerate(text) if c in "\r\n"]


# A secret must not occur by chance in the test's own messages.
_SECRETS = st.text(min_size=12, max_size=24).filter(lambda word: not word.isspace()).map(lambda word: f"{word}hunter2")

_CONFIGURATIONS = [
    "targets: {site: {bucket: {name: My_B, credentials: {accessKey: SECRET, secretKey: {vaule: SECRET}}}}}",
    "targets: {site: {bucket: {name: 1, credentials: {accessKey: {env: X, value: SECRET}, secretKey: [SECRET]}}}}",
    "targets: {a: {resources: [{path: x, basic: {credentials: [{user: 1, password: {SECRET: SECRET}}]}}]}}",
    "targets: {a: {resources: [{path: x, basic: {credentials: [{usr: ann, pw: SECRET}, SECRET, {ann: SECRET}]}}]}}",
    "targets: {a: {resources: [{path: /, provider: p, basic: {credentials: [{user: b, password: {value: SECRET}}]}}]}}",
    "server: {pasword: SECRET, port: x}\ntargets: SECRET\n",
    "password: SECRET\npassword: SECRET\n? [SECRET]\n: SECRET\n",
    "targets: {a: {bucket: {name: x, s3Endpoint: SECRET, credentials: SECRET}}} # SECRET\nport: *none",
]


@given(st.sampled_from(_CONFIGURATIONS), _SECRETS)
def test_no_diagnostic_shows_a_secret(configuration, secret):
    """No rendered diagnostic shows a secret, at a right or a wrong place, in any notation."""
    quoted = json.dumps(secret)
    text = configuration.replace("# SECRET", "# password: hunter2").replace(
        "s3Endpoint: SECRET", 's3Endpoint: "http://a:hunter2@b"'
    )
    loaded = compiled(text.replace("SECRET", quoted))
    printed = "\n".join(render(diagnostic) for diagnostic in loaded.diagnostics) + repr(loaded)
    assert loaded.diagnostics
    assert "hunter2" not in printed


_CONFIGURATION = """\
targets:
  site:
    bucket:
      name: my-bucket
      credentials:
        accessKey: {value: hunter2}
        secretKey:
          value: |
            hunter2
            hunter2
        sessionToken: hunter2
    resources:
    - path: /**
      provider: staff
      basic:
        credentials:
        - user: ann
          password: {value: "hunter2
            hunter2"}
        - {user: bob, password: [hunter2, {value: hunter2}]}
        - user: eve # password: hunter2
          pasword:
            hunter2
"""


@given(
    st.integers(0, len(_CONFIGURATION)),
    st.sampled_from("{}[]:,-\"'#&*!|>\n\t @`%\\?") | st.just(""),
    st.integers(0, 3),
    st.integers(0, len(_CONFIGURATION)),
)
def test_no_typing_mistake_reveals_a_secret(offset, typed, deleted, end):
    """After an insertion, a deletion or a cut, no rendered diagnostic shows a secret."""
    text = (_CONFIGURATION[:offset] + typed + _CONFIGURATION[offset + deleted :])[: max(end, offset)]
    printed = "\n".join(render(diagnostic) for diagnostic in compiled(text).diagnostics)
    assert "hunter2" not in printed


def _node(text, start=0):
    return SourceFile("a.yaml", text), ScalarNode(start, len(text), ScalarKind.STRING, "")


def test_a_span_ends_at_the_end_of_the_line():
    source, node = _node("one: 1\ntwo: 2\n")
    assert span_of(node, source).text == "one: 1"


def test_the_bare_text_has_no_quotes():
    source, node = _node("'••••'")
    assert bare(span_of(node, source)) == "••••"


def test_a_long_text_is_cut():
    source, node = _node("x" * 200)
    assert bare(span_of(node, source)) == "x" * 60 + "…"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("log: {level: info} # password: word", "log: {level: info} ••••••••••••••••"),
        ("password: word # was word", "password: •••• ••••••••••"),
        ("rules: a#b", "rules: a#b"),
        ("rules: 'a # b'", "rules: 'a # b'"),
        ("# don't tell\nrules: a", "••••••••••••\nrules: a"),
        ("password: word", "password: ••••"),
        ("log: 8080", "log: 8080"),
        ("rules: [password=word, a]", "rules: [•••••••••••••, a]"),
        ("{password:word}", "{•••••••••••••}"),
        ("targets: {key: {bucket: {name: b}}}", "targets: {key: {bucket: {name: b}}}"),
        ("targets: {site: word}", "targets: {site: ••••}"),
        ("targets: {? [a] : word}", "targets: {? [•] : ••••}"),
        ("targets: word", "targets: ••••"),
        ("authProviders: {basic: {staff: {realm: Files}}}", "authProviders: {basic: {staff: {realm: Files}}}"),
        ("authProviders: {basic: ann}", "authProviders: {basic: •••}"),
        ("targets: {a: {resources: [{basic: ann:word}]}}", "targets: {a: {resources: [{basic: ••••••••}]}}"),
        ("word", "••••"),
        ("log: {level: info}\n---\nlog: {level: info}", "log: {level: info}\n---\n•••: {•••••: ••••}"),
        (
            "targets:\n a:\n  bucket:\n   credentials:\n    accessKey: |\n     a\n     b\n   region: eu",
            "targets:\n a:\n  bucket:\n   credentials:\n    accessKey: •\n     •\n     •\n   region: eu",
        ),
    ],
)
def test_secrets_and_comments_are_hidden_at_every_depth(text, expected):
    """A comment may contain an old secret."""
    assert _redact(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("region: eu", "region: eu"),
        ("regoin: eu", "regoin: ••"),
        ("something: word", "something: ••••"),
        ("something: {region: eu}", "something: {••••••: ••}"),
        ("clientSecret: word", "clientSecret: ••••"),
        ("credentials: word", "credentials: ••••"),
        ("credentials: [ann:word]", "credentials: [••••••••]"),
        ("credentials: {ann: word}", "credentials: {•••: ••••}"),
        ("credentials: {accessKey: word}", "credentials: {accessKey: ••••}"),
        ("credentials: {secretKey: {path: a/b}}", "credentials: {secretKey: {path: a/b}}"),
        ("s3Endpoint: https://ann:word@host", "s3Endpoint: •••••••••••••••••••••"),
        ("s3Endpoint: https://host/a?word", "s3Endpoint: •••••••••••••••••••"),
        ("s3Endpoint: https://host/a#word", "s3Endpoint: •••••••••••••••••••"),
        ("s3Endpoint: https://host/a", "s3Endpoint: https://host/a"),
        ("name: password=word", "name: •••••••••••••"),
        ("region: &r word, credentials: {accessKey: {value: *r}}", "region: •••••••, credentials: {accessKey: {value: *r}}"),
        ("<<: {region: eu, credentials: word}", "<<: {region: eu, credentials: ••••}"),
        ("? {password: word} : word", "? {••••••••: ••••} : ••••"),
    ],
)  # fmt: skip
def test_secrets_of_a_bucket_are_hidden(text, expected):
    """The values of known options are shown; a value that may be a misplaced secret is hidden."""
    assert _redact(text.join(_BUCKET)) == expected.join(_BUCKET)
