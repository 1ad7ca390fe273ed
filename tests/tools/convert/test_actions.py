import pytest
from conversions import target

from tornado_proxy.tools.convert.report import Outcome


def _action(text, name):
    return target(f"actions: {text}").document["targets"]["site"]["actions"][name]


@pytest.mark.parametrize(
    ("text", "methods"),
    [
        ("{GET: {enabled: true}}", ("GET",)),
        ("{PUT: {enabled: true}}", ("PUT",)),
        ("{HEAD: {enabled: true}, DELETE: {enabled: true}, GET: {enabled: false}}", ("HEAD", "DELETE")),
        ("{GET: {enabled: true}, HEAD: {enabled: false}, PUT: {config: {allowOverride: true}}}", ("GET",)),
    ],
)
def test_only_what_is_enabled_is_answered(text, methods):
    """What is not named is off, as in s3-proxy; HEAD too."""
    (site,) = target(f"actions: {text}").settings.targets
    assert site.actions.methods == methods


def test_the_configuration_of_get_is_carried_over():
    """Its options have the same names."""
    config = "indexDocument: index.html, redirectToSignedUrl: true, signedUrlExpiration: 1h30m"
    assert _action(f"{{GET: {{enabled: true, config: {{{config}}}}}}}", "GET")["config"] == {
        "indexDocument": "index.html",
        "redirectToSignedUrl": True,
        "signedUrlExpiration": 5400,
    }


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "redirectWithTrailingSlashForNotFoundFile: true",
            "a missing file is redirected only where there is a directory",
        ),
        ("disableListing: true", "a directory is answered with 403; s3-proxy shows an empty one"),
    ],
)
def test_what_is_answered_otherwise_is_said(option, message):
    """The option is carried over, and the report tells the difference."""
    done = target(f"actions: {{GET: {{enabled: true, config: {{{option}}}}}}}")
    assert done.messages(Outcome.CHANGED)[0].startswith(message)
    assert done.document["targets"]["site"]["actions"]["GET"]["config"] == {option.partition(":")[0]: True}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("indexDocument: a/index.html", "`a/index.html` contains a `/`"),
        ("signedUrlExpiration: 8d", "`8d` is no whole number of seconds up to 7 days"),
        ("signedUrlExpiration: 169h", "`169h` is no whole number of seconds up to 7 days"),
        ("signedUrlExpiration: 1.5s", "`1.5s` is no whole number of seconds up to 7 days"),
    ],
)
def test_what_cannot_be_here_is_left_out(option, message):
    """The default stands then."""
    done = target(f"actions: {{GET: {{enabled: true, config: {{{option}}}}}}}")
    assert done.messages(Outcome.LEFT_OUT)[0].startswith(message)


@pytest.mark.parametrize("config", ["", ", config: ", ", config: {}", ", config: {metadata: {}}"])
def test_uploads_replace_files_where_s3_proxy_lets_them(config):
    """Its code asks whether a file exists only where PUT has a `config`, whatever its documentation says."""
    done = target(f"actions: {{PUT: {{enabled: true{config}}}}}")
    assert done.settings.targets[0].actions.put.allow_override
    assert done.messages(Outcome.CHANGED)[0].startswith("files may be replaced, as s3-proxy's code allows")


@pytest.mark.parametrize(("config", "allowed"), [("{metadata: {a: b}}", False), ("{allowOverride: true}", True)])
def test_with_a_configuration_uploads_replace_what_it_says(config, allowed):
    """There, code and documentation agree."""
    done = target(f"actions: {{PUT: {{enabled: true, config: {config}}}}}")
    assert done.settings.targets[0].actions.put.allow_override is allowed
    assert done.messages(Outcome.CHANGED) == []
