import json

from configurations import settings

from tornado_proxy.config.show import show

TEXT = """
rules: [rules]
authProviders: {basic: {staff: {realm: Files}}}
targets:
  site:
    bucket: {name: my-bucket, credentials: {accessKey: {env: ACCESS}, secretKey: {env: SECRET}}}
    resources: [{path: /**, provider: staff, basic: {credentials: [{user: ann, password: {env: ANN}}]}}]
"""


def test_options_are_shown_by_their_names_with_defaults():
    """Groups of options are mappings, as in the file."""
    shown = show(settings(TEXT))
    site = shown["targets"]["site"]
    assert shown["server"]["listenAddr"] == "127.0.0.1"
    assert site["mount"] == {"host": "", "path": ["/"]}
    assert site["actions"]["GET"]["config"]["indexDocument"] == ""
    assert shown["authProviders"]["basic"] == {"staff": {"realm": "Files"}}
    assert site["resources"][0]["basic"]["credentials"][0]["user"] == "ann"


def test_no_secret_is_shown():
    """Only where it came from, and all of it is fit for JSON."""
    shown = json.dumps(show(settings(TEXT)))
    assert '{"secret": "the environment variable `ANN`"}' in shown
    assert not any(secret in shown for secret in ("her password", '"secret"}', '"access"}'))
