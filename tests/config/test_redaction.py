from __future__ import annotations

import json

import pytest
from configurations import compiled
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.composer import compose
from tornado_proxy.config.options import option_names
from tornado_proxy.config.redaction import redacted
from tornado_proxy.config.vocabulary import Vocabulary
from tornado_proxy.lang.excerpt import render
from tornado_proxy.lang.source import SourceFile

VOCABULARY = Vocabulary(option_names())


def _shown(text):
    return redacted(SourceFile("config.yaml", text), compose(text), VOCABULARY).text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("region: eu", "region: eu"),
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
        ("password: |\n  a\n  b\nport: 1", "password: •\n  •\n  •\nport: 1"),
        ("password:\n  value: >-\n    a\n", "password:\n  value: ••\n    •\n"),
        ("accessKey: word", "accessKey: ••••"),
        ("sessionToken: word", "sessionToken: ••••"),
        ("pasword: word", "pasword: ••••"),
        ("pasword: {value: word}", "pasword: {value: ••••}"),
        ("pasword: {env: NAME}", "pasword: {env: NAME}"),
        ("clientSecret: word", "clientSecret: ••••"),
        ("something: word", "something: ••••"),
        ("something: [word]", "something: [••••]"),
        ("something: {region: eu}", "something: {region: eu}"),
        ("regoin: eu", "regoin: eu"),
        ("regoin: [eu]", "regoin: [••]"),
        ("credentials: word", "credentials: ••••"),
        ("credentials: [ann:word]", "credentials: [••••••••]"),
        ("credentials: {ann: word}", "credentials: {•••: ••••}"),
        ("credentials: {usr: word}", "credentials: {usr: ••••}"),
        ("credentials: [{user: ann, password: {env: A}}]", "credentials: [{user: ann, password: {env: A}}]"),
        ("basic: ann:word", "basic: ••••••••"),
        ("basic: {staff: {realm: Files}}", "basic: {staff: {realm: Files}}"),
        ("user: ann", "user: ann"),
        ("user: ann:word", "user: ••••••••"),
        ("s3Endpoint: https://ann:word@host", "s3Endpoint: •••••••••••••••••••••"),
        ("rules: [password=word]", "rules: [•••••••••••••]"),
        ("{password:word}", "{•••••••••••••}"),
        ("targets: {key: {bucket: {name: b}}}", "targets: {key: {bucket: {name: b}}}"),
        ("targets: {site: word}", "targets: {site: ••••}"),
        ("? {password: word}\n: word", "? {••••••••: ••••}\n: ••••"),
        ("<<: {password: word, region: eu}", "<<: {password: ••••, region: eu}"),
        ("region: &r word\npassword: {value: *r}", "region: •••••••\npassword: {value: *r}"),
        ("word", "••••"),
        ("region: eu\n---\npassword: word", "region: eu\n---\npassword: ••••"),
    ],
)
def test_secrets_are_blanked_where_they_stand(text, shown):
    """Each character of a secret, and of what may be one, becomes a dot; all else stays as it is."""
    assert _shown(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("region: eu # near us", "region: eu # near us"),
        ("region: eu # password: word", "region: eu ••••••••••••••••"),
        ("password: {env: A} # was word", "password: {env: A} ••••••••••"),
        ("password: {value: word} # old: other", "password: {value: ••••} ••••••••••••"),
        ("region: a#b", "region: a#b"),
        ("# don't tell\nregion: eu", "# don't tell\nregion: eu"),
    ],
)
def test_comments_that_may_tell_a_secret_are_blanked(text, shown):
    """A comment goes that speaks of a secret, or stands on the line of one."""
    assert _shown(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("region: [eu\npassword: word", "region: [eu\npassword: ••••"),
        ("password: word\nregion: 'eu", "password: ••••\nregion: 'eu"),
        ("a: \x00\npassword: word", "a: \x00\npassword: ••••"),
    ],
)
def test_text_that_is_not_yaml_is_blanked_too(text, shown):
    """Where there are no nodes to go by, the lines are."""
    assert _shown(text).replace("a: •", "a: \x00") == shown


@given(st.text(alphabet="ab:-?[]{}#&*!|>\"'\\ \n\t\rpasswordvalue", max_size=80))
def test_copy_keeps_length_and_lines(text):
    """Every place in the file is the same place in the copy."""
    shown = _shown(text)
    assert len(shown) == len(text)
    assert [i for i, c in enumerate(shown) if c in "\r\n"] == [i for i, c in enumerate(text) if c in "\r\n"]


# What could be taken for a part of the tests' own messages is no secret worth looking for.
_SECRETS = st.text(min_size=12, max_size=24).filter(lambda word: not word.isspace()).map(lambda word: f"{word}hunter2")

_PLACES = [
    "targets: {site: {bucket: {name: My_B, credentials: {accessKey: SECRET, secretKey: {vaule: SECRET}}}}}",
    "targets: {site: {bucket: {name: 1, credentials: {accessKey: {env: X, value: SECRET}, secretKey: [SECRET]}}}}",
    "targets: {a: {resources: [{path: x, basic: {credentials: [{user: 1, password: {SECRET: SECRET}}]}}]}}",
    "targets: {a: {resources: [{path: x, basic: {credentials: [{usr: ann, pw: SECRET}, SECRET, {ann: SECRET}]}}]}}",
    "targets: {a: {resources: [{path: /, provider: p, basic: {credentials: [{user: b, password: {value: SECRET}}]}}]}}",
    "server: {pasword: SECRET, port: x}\ntargets: SECRET\n",
    "password: SECRET\npassword: SECRET\n? [SECRET]\n: SECRET\n",
    "targets: {a: {bucket: {name: x, s3Endpoint: SECRET, credentials: SECRET}}} # SECRET\nport: *none",
]


@given(st.sampled_from(_PLACES), _SECRETS)
def test_no_diagnostic_tells_a_secret(place, secret):
    """Wherever a secret stands, rightly or wrongly, no rendered diagnostic has it, in any notation."""
    written = json.dumps(secret)
    text = place.replace("# SECRET", "# password: hunter2").replace(
        "s3Endpoint: SECRET", 's3Endpoint: "http://a:hunter2@b"'
    )
    loaded = compiled(text.replace("SECRET", written))
    told = "\n".join(render(each) for each in loaded.diagnostics) + repr(loaded)
    assert loaded.diagnostics
    assert "hunter2" not in told


_WHOLE = """\
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
    st.integers(0, len(_WHOLE)),
    st.sampled_from("{}[]:,-\"'#&*!|>\n\t @`%\\?") | st.just(""),
    st.integers(0, 3),
    st.integers(0, len(_WHOLE)),
)
def test_no_slip_of_the_pen_uncovers_a_secret(place, typed, deleted, end):
    """A character typed, some deleted, the end cut off: what diagnostics show of the file has no secret in it."""
    text = (_WHOLE[:place] + typed + _WHOLE[place + deleted :])[: max(end, place)]
    told = "\n".join(render(each) for each in compiled(text).diagnostics)
    assert "hunter2" not in told
