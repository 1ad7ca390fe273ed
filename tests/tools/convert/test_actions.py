from __future__ import annotations

import pytest
from conversions import converted, converted_target

from tornado_proxy.config.actions import SystemMetadata, Webhook
from tornado_proxy.lang.diagnostic import SourceFile
from tornado_proxy.tools.convert.conversion import convert
from tornado_proxy.tools.convert.options import OptionOutcome, together


def _action(text, name):
    return converted_target(f"actions: {text}").document["targets"]["site"]["actions"][name]


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
    """Actions that are not named are off, as in s3-proxy."""
    (site,) = converted_target(f"actions: {text}").settings.targets
    assert site.actions.methods == methods


def test_the_configuration_of_get_is_carried_over():
    """The options of GET have the same names."""
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
            "a missing file is redirected only if there is a directory",
        ),
        ("disableListing: true", "a directory is answered with 403; s3-proxy shows an empty one"),
    ],
)
def test_what_is_answered_otherwise_is_reported(option, message):
    """The option is converted, and the report names the difference."""
    done = converted_target(f"actions: {{GET: {{enabled: true, config: {{{option}}}}}}}")
    assert done.messages(OptionOutcome.CHANGED)[0].startswith(message)
    assert done.document["targets"]["site"]["actions"]["GET"]["config"] == {option.partition(":")[0]: True}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("indexDocument: a/index.html", "`a/index.html` contains a `/`"),
        ("signedUrlExpiration: -1s", "`-1s` is not a whole number of seconds up to 7 days"),
        ("signedUrlExpiration: 169h", "`169h` is not a whole number of seconds up to 7 days"),
        ("signedUrlExpiration: 1.5s", "`1.5s` is not a whole number of seconds up to 7 days"),
    ],
)
def test_what_cannot_be_here_is_left_out(option, message):
    """The default applies instead."""
    done = converted_target(f"actions: {{GET: {{enabled: true, config: {{{option}}}}}}}")
    assert done.messages(OptionOutcome.LEFT_OUT)[0].startswith(message)


@pytest.mark.parametrize("config", ["", ", config: ", ", config: {}", ", config: {metadata: {}}"])
def test_uploads_replace_files_where_s3_proxy_lets_them(config):
    """s3-proxy's code checks whether a file exists only if PUT has a `config`."""
    done = converted_target(f"actions: {{PUT: {{enabled: true{config}}}}}")
    assert done.settings.targets[0].actions.put.allow_override
    assert done.messages(OptionOutcome.CHANGED)[-1].startswith("files may be replaced, as s3-proxy's code allows")


@pytest.mark.parametrize(("config", "allowed"), [("{metadata: {a: b}}", False), ("{allowOverride: true}", True)])
def test_with_a_configuration_uploads_replace_what_it_says(config, allowed):
    """With a `config`, s3-proxy's code and documentation agree."""
    done = converted_target(f"actions: {{PUT: {{enabled: true, config: {config}}}}}")
    assert done.settings.targets[0].actions.put.allow_override is allowed
    assert not any("replaced" in each for each in done.messages(OptionOutcome.CHANGED))


def test_what_is_different_for_uploads_is_reported_where_they_are_enabled():
    """The report names the path of uploads, and attachments."""
    assert (
        converted_target("actions: {GET: {enabled: true}, PUT: {enabled: false}}").messages(OptionOutcome.CHANGED) == []
    )
    slash, attachment = converted_target("actions: {PUT: {enabled: true, config: {allowOverride: true}}}").messages(
        OptionOutcome.CHANGED
    )
    assert slash.startswith("the path of an upload has to end in `/`")
    assert attachment.startswith("files that browsers might run")


def _put(config):
    return converted_target(f"actions: {{PUT: {{enabled: true, config: {config}}}}}")


def test_properties_of_uploads_are_carried_over():
    """The templates are unchanged."""
    done = _put(
        "{allowOverride: true, metadata: {Team: '{{ .Key }}', none: ''}, storageClass: STANDARD_IA, cannedACL: private,"
        " systemMetadata: {cacheControl: no-cache, expires: '2065-10-21T07:28:00Z'}}"
    )
    put = done.settings.targets[0].actions.put
    assert (put.metadata, put.storage_class, put.canned_acl) == ((("team", "{{ .Key }}"),), "STANDARD_IA", "private")
    assert put.system_metadata == SystemMetadata(cache_control="no-cache", expires="2065-10-21T07:28:00Z")
    assert done.messages(OptionOutcome.LEFT_OUT) == []


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("storageClass: '{{ nope }}'", "`{{ nope }}` is not a template: unknown function `nope`"),
    ],
)
def test_a_template_that_is_not_one_is_left_out(option, message):
    """s3-proxy would fail at the first upload."""
    done = _put(f"{{allowOverride: true, {option}}}")
    assert done.messages(OptionOutcome.LEFT_OUT) == [message]


@pytest.mark.parametrize("action", ["GET", "HEAD", "PUT", "DELETE"])
def test_webhooks_are_carried_over(action):
    """Each action has webhooks of its own."""
    hook = "{method: PUT, url: 'http://hooks.example/x', headers: {h1: v1}, secretHeaders: {authorization: {env: TOKEN}}, retryCount: 2, defaultWaitTime: 1s, maxWaitTime: 1m30s}"
    config = f"{{allowOverride: true, webhooks: [{hook}]}}" if action == "PUT" else f"{{webhooks: [{hook}]}}"
    done = converted_target(f"actions: {{{action}: {{enabled: true, config: {config}}}}}")
    (found,) = getattr(done.settings.targets[0].actions, action.lower()).webhooks
    assert (found.method, found.url, found.headers) == ("PUT", "http://hooks.example/x", (("h1", "v1"),))
    assert [name for name, _ in found.secret_headers] == ["authorization"]
    assert (found.retry_count, found.default_wait_time, found.max_wait_time) == (2, 1.0, 90.0)
    assert done.messages(OptionOutcome.LEFT_OUT) == []


def test_waits_have_the_defaults_of_s3_proxy():
    """The waits are 100 ms, and at most two seconds."""
    done = converted_target("actions: {GET: {enabled: true, config: {webhooks: [{method: POST, url: 'http://x/'}]}}}")
    assert done.settings.targets[0].actions.get.webhooks == (Webhook("http://x/"),)


TARGETS = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"
LOST = (OptionOutcome.LEFT_OUT, OptionOutcome.CLOSED)


def test_pages_for_all_targets():
    """Options have the same names; an upload is answered with 204, as by s3-proxy."""
    text = "templates: {folderList: {path: list.tpl, headers: {A: b}, status: 404}, put: {path: p.tpl}}"
    found = converted(TARGETS + text)
    assert found.document["templates"] == {
        "folderList": {"path": "list.tpl", "headers": {"a": "b"}, "status": "404"},
        "put": {"path": "p.tpl", "status": "204"},
    }
    assert found.messages(*LOST) == []
    (message,) = [each for each in found.messages(OptionOutcome.CHANGED) if "p.tpl" in each]
    assert message == "the template `p.tpl` was not found: put it at `p.tpl` beside the new configuration"


def test_pages_of_a_target():
    """Templates and helpers may be files or objects in the bucket."""
    text = "templates:\n  helpers: [{path: templates/_helpers.tpl}, {path: h, inBucket: true}]\n"
    text += "  notFoundError: {path: t, inBucket: true, status: '404'}\n"
    found = converted_target(text)
    assert found.document["targets"]["site"]["templates"] == {
        "helpers": [{"path": "h", "inBucket": True}],
        "notFoundError": {"path": "t", "inBucket": True, "status": "404"},
    }
    assert found.messages(*LOST) == []


def test_files_at_hand_are_copied():
    """Relative files are copied below the output directory; absolute paths stay."""
    text = "templates: {helpers: [../h.tpl], put: {path: ./a/p.tpl}, delete: {path: /etc/d.tpl}}\n"
    done = convert(together([SourceFile("a.yaml", TARGETS + text)]), read_file=lambda path: f"text of {path}")
    assert {name: text for name, text in done.files.items() if name.endswith(".tpl")} == {
        "templates/h.tpl": "text of ../h.tpl",
        "a/p.tpl": "text of ./a/p.tpl",
    }


def test_a_template_that_does_not_compile_is_reported():
    """The file is copied, and the report names its mistake."""
    text = "templates: {put: {path: p.tpl}}\n"
    done = convert(together([SourceFile("a.yaml", TARGETS + text)]), read_file=lambda _: "{{ x }}")
    told = [each.message for each in done.report.of(OptionOutcome.CHANGED)]
    assert "the template `p.tpl` has to be changed: unknown function `x`" in told


def test_headers_of_files():
    """Headers that the server sets itself are left out."""
    found = converted_target(
        "actions: {GET: {enabled: true, config: {streamedFileHeaders: {A: b, Content-Length: '1'}}}}"
    )
    assert found.document["targets"]["site"]["actions"]["GET"]["config"] == {"streamedFileHeaders": {"a": "b"}}
    assert found.subjects(OptionOutcome.LEFT_OUT) == ["targets.site.actions.GET.config.streamedFileHeaders"]
