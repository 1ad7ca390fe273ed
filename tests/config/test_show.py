import json
import re
from pathlib import Path

import pytest
import yaml
from config_schema import DIALECT, json_schema, published
from configurations import MINIMAL, compiled, settings
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tornado_proxy.config.loading import compile_configuration
from tornado_proxy.config.model import Settings
from tornado_proxy.config.options import Option, all_options
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.config.show import canonical, changed_options, show
from tornado_proxy.rules.diagnostic import SourceFile, errors

PUBLISHED = Path(__file__).parents[2] / "docs" / "configuration.schema.json"
VALIDATOR = Draft202012Validator(json_schema())


def _target(text):
    return f"targets: {{site: {{bucket: {{name: my-bucket}}, {text}}}}}"


def _bucket(text):
    return f"targets: {{site: {{bucket: {{name: my-bucket, {text}}}}}}}"


INVALID = [
    "[]",
    "targets: {site: {}}",
    "targets: {site: {bucket: my-bucket}}",
    f"prot: 1\n{MINIMAL}",
    f"server: {{port: '80'}}\n{MINIMAL}",
    f"server: {{port: 70000}}\n{MINIMAL}",
    f"server: {{gracePeriod: soon}}\n{MINIMAL}",
    f"server: ~\n{MINIMAL}",
    f"log: {{level: loud}}\n{MINIMAL}",
    f"limits: {{maxHeaderSize: 5G}}\n{MINIMAL}",
    f"authProviders: {{basic: {{staff: {{}}}}}}\n{MINIMAL}",
    f"authProviders: {{basic: {{'': {{realm: x}}}}}}\n{MINIMAL}",
    _target("mount: {path: []}"),
    _target("mount: {path: 5}"),
    _target("mount: {host: 'a.org:80'}"),
    _target("actions: {POST: {enabled: true}}"),
    _target("actions: {GET: {enabled: 1}}"),
    _target("resources: []"),
    _target("resources: [{path: public, whiteList: true}]"),
    _target("resources: [{path: /, methods: [get], whiteList: true}]"),
    _target("resources: [{path: /, methods: [], whiteList: true}]"),
    _target("resources: [{path: /, provider: p, basic: {credentials: []}}]"),
    _target("resources: [{path: /, provider: p, basic: {credentials: [{user: 'a:b', password: {env: A}}]}}]"),
    _bucket("region: EU west"),
    _bucket("s3ListMaxKeys: 0"),
    _bucket("s3Endpoint: ''"),
    _bucket("partSize: 1000"),
    _bucket("prefix: ~"),
    _bucket("credentials: {accessKey: AKIA, secretKey: {env: A}}"),
    _bucket("credentials: {accessKey: {}, secretKey: {env: A}}"),
    _bucket("credentials: {accessKey: {env: A, value: b}, secretKey: {env: A}}"),
    _bucket("credentials: {accessKey: {env: two words}, secretKey: {env: A}}"),
    _bucket("credentials: {accessKey: {env: A}}"),
]


def test_the_published_schema_is_current():
    """The file in docs equals `published()`; `UPDATE_DOCS=1` writes it."""
    assert PUBLISHED.read_text(encoding="utf-8") == published()


def test_the_schema_is_valid():
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == DIALECT


@pytest.mark.parametrize("text", INVALID)
def test_the_schema_refuses_an_invalid_configuration(text):
    """An editor marks an option of a wrong shape, type or notation."""
    assert errors(compiled(text).diagnostics)
    assert not VALIDATOR.is_valid(yaml.safe_load(text))


_OPTIONS = [path for path in all_options(Settings) if isinstance(path.option, Option)]
_NAMES = [*sorted({path.path[-1] for path in _OPTIONS}), "site", "staff", "nothing"]
_SCALARS = [
    None, True, 0, 80, 5000, 1.5, "", "a", "/a", "GET", "my-bucket", "5MiB", "30s", "debug", "eu-1", "..", "x:1",
]  # fmt: skip
_DATA = st.recursive(
    st.sampled_from(_SCALARS),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(_OPTIONS), _DATA)
def test_the_schema_is_never_stricter_than_the_loader(option, value):
    data = yaml.safe_load(
        MINIMAL.replace("my-bucket}", "my-bucket, credentials: {accessKey: {env: ACCESS}, secretKey: {env: SECRET}}}")
    )
    section = data
    for part in option.path[:-1]:
        section = section.setdefault("site" if part == "*" else part, {}) if isinstance(section, dict) else {}
    if isinstance(section, dict):
        section[option.path[-1]] = value
    if not errors(compiled(json.dumps(data)).diagnostics):
        assert list(VALIDATOR.iter_errors(data)) == []


def _resolved(schema):
    return VALIDATOR.schema["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _places(schema, document=lambda value: value):
    """Every place of a configuration: the types that the schema allows, and a function that puts a value there."""
    alternatives = [_resolved(each) for each in _resolved(schema).get("anyOf", (schema,))]
    yield {each["type"] for each in alternatives}, document
    for each in alternatives:
        for name, inner in each.get("properties", {}).items():
            yield from _places(inner, lambda value, name=name: document({name: value}))
        if each.get("additionalProperties"):
            yield from _places(each["additionalProperties"], lambda value: document({"site": value}))
        if "items" in each:
            yield from _places(each["items"], lambda value: document([value]))


_IN_MESSAGES = {
    "a string": "string",
    "a list": "array",
    "a mapping": "object",
    "a whole number": "integer",
    "`true` or `false`": "boolean",
}


def _types_in_message(message):
    expected = re.search("must be (.*), but is", message)[1]
    names = [expected] if expected in _IN_MESSAGES else expected.split(" or ")
    return {_IN_MESSAGES[name] for name in names}


@pytest.mark.parametrize("value", [7, "80a", [], {}])
def test_a_value_of_a_wrong_type_is_told_what_the_schema_allows(value):
    """At every place the message names all types that the schema allows, and a help says how to write one."""
    for types, document in _places(VALIDATOR.schema):
        for diagnostic in compiled(json.dumps(document(value))).diagnostics:
            if diagnostic.code == "wrong-type":
                assert (_types_in_message(diagnostic.message), diagnostic.message) == (types, diagnostic.message)
                assert diagnostic.help, diagnostic.message


def test_the_schema_has_the_defaults_of_the_file():
    """A default of None is omitted, and a whole number has no fraction."""
    definitions = json_schema()["$defs"]
    bucket = definitions["Bucket"]["properties"]
    assert bucket["connectTimeout"]["default"] == 5
    assert isinstance(bucket["connectTimeout"]["default"], int)
    assert "default" not in bucket["credentials"]


def test_the_schema_has_titles_and_descriptions():
    schema = json_schema()
    for section in (schema, *schema["$defs"].values()):
        assert section["title"]
        assert section["description"].endswith(".")
        assert all("title" not in option for option in section["properties"].values())


TEXT = """
rules: [rules]
authProviders: {basic: {staff: {realm: Files}}}
targets:
  site:
    bucket: {name: my-bucket, credentials: {accessKey: {env: ACCESS}, secretKey: {env: SECRET}}}
    resources: [{path: /**, provider: staff, basic: {credentials: [{user: ann, password: {env: ANN}}]}}]
"""


def test_options_are_shown_with_their_names_and_defaults():
    """Groups of options are mappings, as in the file."""
    output = show(settings(TEXT))
    site = output["targets"]["site"]
    assert output["server"]["listenAddr"] == "127.0.0.1"
    assert site["mount"] == {"host": "", "path": ["/"]}
    assert site["actions"]["GET"]["config"]["indexDocument"] == ""
    assert output["authProviders"]["basic"] == {"staff": {"realm": "Files"}}
    assert site["resources"][0]["basic"]["credentials"][0]["user"] == "ann"


def test_no_secret_is_shown():
    """A secret is shown as its origin, and the output can be written as JSON."""
    output = json.dumps(show(settings(TEXT)))
    assert '{"secret": "the environment variable `ANN`"}' in output
    assert not any(secret in output for secret in ("her password", '"secret"}', '"access"}'))


def test_the_canonical_form_has_what_differs_from_the_defaults():
    """Options are in the order of their names, targets and headers in that of the file; secrets are left out."""
    text = """
server: {port: 80, listenAddr: 127.0.0.1}
targets:
  b:
    mount: {path: [/b/]}
    bucket: {prefix: p, name: my-bucket, credentials: {accessKey: {value: a}, secretKey: {value: s3cret}}}
  a:
    actions: {GET: {config: {webhooks: [{url: "https://ann:word@h/", headers: {X-B: b, X-A: a}}]}}}
    bucket: {name: other-bucket}
"""
    secret, first, second = {"secret": "the configuration file"}, {"X-B": "b", "X-A": "a"}, {"name": "other-bucket"}
    credentials = {"accessKey": secret, "secretKey": secret}
    expected = {
        "server": {"port": 80},
        "targets": {
            "b": {
                "bucket": {"credentials": credentials, "name": "my-bucket", "prefix": "p/"},
                "mount": {"path": ["/b/"]},
            },
            "a": {"actions": {"GET": {"webhooks": [{"headers": first, "url": "https://\u2026@h/"}]}}, "bucket": second},
        },
    }
    assert canonical(settings(text)) == json.dumps(expected)


def _changes(old, new):
    before, after = settings(old), settings(new)
    return [tuple(each) for each in changed_options(before, after)]


def test_an_edit_changes_options():
    """Each is named with its sections; a section that is new has what differs from the defaults."""
    kept, docs = "kept: {mount: {path: /kept/}, bucket: {name: kept}}", "docs: {bucket: {name: docs}}"
    old = f"targets: {{{kept}, site: {{bucket: {{name: files}}}}}}"
    new = f"targets: {{{kept}, site: {{mount: {{path: /a/}}, bucket: {{name: files, prefix: v2}}}}, {docs}}}"
    assert _changes(old, new) == [
        ("targets.site.mount.path", ["/"], ["/a/"]),
        ("targets.site.bucket.prefix", "", "v2/"),
        ("targets.docs", None, {"bucket": {"name": "docs"}}),
    ]


def test_a_list_of_sections_is_compared_item_by_item():
    """One that is longer or shorter is shown without what both have at its ends."""
    public, press, team = (
        f"{{path: /{name}/**, methods: [GET], whiteList: true}}" for name in ("public", "press", "team")
    )
    shown = {"path": "/press/**", "whiteList": True}
    target = "targets: {{site: {{bucket: {{name: files}}, resources: [{}]}}}}".format
    assert _changes(target(f"{public}, {team}"), target(f"{public}, {press}, {team}")) == [
        ("targets.site.resources", [], [shown])
    ]
    assert _changes(target(f"{public}, {press}"), target(f"{public}, {team}")) == [
        ("targets.site.resources[1].path", "/press/**", "/team/**")
    ]


def test_no_secret_is_shown_as_changed():
    """A secret is its place; what differs within it alone is left out."""
    hook = "targets: {{site: {{bucket: {{name: files}}, actions: {{GET: {{config: {{webhooks: [{}]}}}}}}}}}}".format
    old = hook("{method: POST, url: 'http://a.example/?one', secretHeaders: {X-Key: {value: one}}}")
    new = hook("{method: POST, url: 'http://a.example/?two', secretHeaders: {X-Key: {env: KEY}}}")
    changes = changed_options(settings(old), compiled(new, {"KEY": "two"}).settings)
    assert "two" not in repr(changes)
    assert [(each.path, each.new) for each in changes] == [
        (
            "targets.site.actions.GET.config.webhooks[0].secretHeaders",
            {"X-Key": {"secret": "the environment variable `KEY`"}},
        )
    ]


def test_rules_are_named_relative_to_their_configuration():
    target = "targets: {site: {bucket: {name: files}}}"
    old, new = (
        compile_configuration(SourceFile("proxy.yaml", f"rules: [rules, {last}]\n{target}"), Path(place), unresolved)
        for place, last in (("main:deploy", "/a"), ("deploy", "/b"))
    )
    assert [tuple(each) for each in changed_options(old.settings, new.settings)] == [
        ("rules", ["rules", "/a"], ["rules", "/b"])
    ]
