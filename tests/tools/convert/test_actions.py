from __future__ import annotations

import pytest
from conversions import converted, converted_target

from tornado_proxy.config.actions import SystemMetadata, Webhook
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.rules.diagnostic import SourceFile
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
def test_only_enabled_actions_are_converted(text, methods):
    """Actions that are not named are off, as in s3-proxy."""
    (site,) = converted_target(f"actions: {text}").settings.targets
    assert site.actions.methods == methods


def test_the_configuration_of_get_is_converted():
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
def test_an_option_with_another_answer_is_reported(option, message):
    """The option is converted, and the report names the difference."""
    conversion = converted_target(f"actions: {{GET: {{enabled: true, config: {{{option}}}}}}}")
    assert conversion.messages(OptionOutcome.CHANGED)[0].startswith(message)
    assert conversion.document["targets"]["site"]["actions"]["GET"]["config"] == {option.partition(":")[0]: True}


@pytest.mark.parametrize("text", ["pages/index.html", "/pages/index.html", "pages/index.html/"])
def test_an_index_document_may_lie_below_its_directory(text):
    """s3-proxy joins it to the directory as a path."""
    conversion = converted_target(f"actions: {{GET: {{enabled: true, config: {{indexDocument: {text}}}}}}}")
    config = conversion.document["targets"]["site"]["actions"]["GET"]["config"]
    assert config == {"indexDocument": "pages/index.html"}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("indexDocument: ../index.html", "`../index.html` contains a `.` or `..` segment"),
        ("signedUrlExpiration: -1s", "`-1s` is not a whole number of seconds up to 7 days"),
        ("signedUrlExpiration: 169h", "`169h` is not a whole number of seconds up to 7 days"),
        ("signedUrlExpiration: 1.5s", "`1.5s` is not a whole number of seconds up to 7 days"),
    ],
)
def test_an_invalid_option_of_get_is_left_out(option, message):
    """The default applies instead."""
    conversion = converted_target(f"actions: {{GET: {{enabled: true, config: {{{option}}}}}}}")
    assert conversion.messages(OptionOutcome.LEFT_OUT)[0].startswith(message)


@pytest.mark.parametrize("config", ["", ", config: ", ", config: {}", ", config: {metadata: {}}"])
def test_uploads_without_a_configuration_replace_files(config):
    """s3-proxy's code checks whether a file exists only if PUT has a `config`."""
    conversion = converted_target(f"actions: {{PUT: {{enabled: true{config}}}}}")
    assert conversion.settings.targets[0].actions.put.allow_override
    assert conversion.messages(OptionOutcome.CHANGED)[-1].startswith("files may be replaced, as s3-proxy's code allows")


@pytest.mark.parametrize(("config", "allowed"), [("{metadata: {a: b}}", False), ("{allowOverride: true}", True)])
def test_uploads_with_a_configuration_replace_files_only_if_allowed(config, allowed):
    """With a `config`, s3-proxy's code and documentation agree."""
    conversion = converted_target(f"actions: {{PUT: {{enabled: true, config: {config}}}}}")
    assert conversion.settings.targets[0].actions.put.allow_override is allowed
    assert not any("replaced" in message for message in conversion.messages(OptionOutcome.CHANGED))


def test_differences_of_uploads_are_reported_if_uploads_are_enabled():
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


def test_properties_of_uploads_are_converted():
    """The templates are unchanged."""
    conversion = _put(
        "{allowOverride: true, metadata: {Team: '{{ .Key }}', none: ''}, storageClass: STANDARD_IA, cannedACL: private,"
        " systemMetadata: {cacheControl: no-cache, expires: '2065-10-21T07:28:00Z'}}"
    )
    put = conversion.settings.targets[0].actions.put
    assert (put.metadata, put.storage_class, put.canned_acl) == ((("team", "{{ .Key }}"),), "STANDARD_IA", "private")
    assert put.system_metadata == SystemMetadata(cache_control="no-cache", expires="2065-10-21T07:28:00Z")
    assert conversion.messages(OptionOutcome.LEFT_OUT) == []


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("storageClass: '{{ nope }}'", "`{{ nope }}` is not a template: unknown function `nope`"),
        ("storageClass: '{{ .Nope }}'", "`{{ .Nope }}` is not a template: the data has no field `Nope`"),
    ],
)
def test_an_invalid_template_is_left_out(option, message):
    """s3-proxy would fail at the first upload."""
    conversion = _put(f"{{allowOverride: true, {option}}}")
    assert conversion.messages(OptionOutcome.LEFT_OUT) == [message]


@pytest.mark.parametrize("action", ["GET", "HEAD", "PUT", "DELETE"])
def test_webhooks_are_converted(action):
    """Each action has webhooks of its own."""
    hook = "{method: PUT, url: 'http://hooks.example/x', headers: {h1: v1}, secretHeaders: {authorization: {env: TOKEN}}, retryCount: 2, defaultWaitTime: 1s, maxWaitTime: 1m30s}"
    config = f"{{allowOverride: true, webhooks: [{hook}]}}" if action == "PUT" else f"{{webhooks: [{hook}]}}"
    conversion = converted_target(f"actions: {{{action}: {{enabled: true, config: {config}}}}}")
    (webhook,) = getattr(conversion.settings.targets[0].actions, action.lower()).webhooks
    assert (webhook.method, webhook.url, webhook.headers) == (
        "PUT",
        GuardedUrl("http://hooks.example/x"),
        (("h1", "v1"),),
    )
    assert [name for name, _ in webhook.secret_headers] == ["authorization"]
    assert (webhook.retry_count, webhook.default_wait_time, webhook.max_wait_time) == (2, 1.0, 90.0)
    assert conversion.messages(OptionOutcome.LEFT_OUT) == []


def test_waits_of_webhooks_have_the_defaults_of_s3_proxy():
    """A wait is 100 ms at first, and at most two seconds."""
    conversion = converted_target(
        "actions: {GET: {enabled: true, config: {webhooks: [{method: POST, url: 'http://x/'}]}}}"
    )
    assert conversion.settings.targets[0].actions.get.webhooks == (Webhook(GuardedUrl("http://x/")),)


TARGETS = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"
LOST = (OptionOutcome.LEFT_OUT, OptionOutcome.CLOSED)


def test_templates_of_all_targets_are_converted():
    """Options have the same names, and an upload is answered with 204, as by s3-proxy."""
    text = "templates: {folderList: {path: list.tpl, headers: {A: b}, status: 404}, put: {path: p.tpl}}"
    conversion = converted(TARGETS + text)
    assert conversion.document["templates"] == {
        "folderList": {"path": "list.tpl", "headers": {"a": "b"}, "status": "404"},
        "put": {"path": "p.tpl", "status": "204"},
    }
    assert conversion.messages(*LOST) == []
    (message,) = [text for text in conversion.messages(OptionOutcome.CHANGED) if "p.tpl" in text]
    assert message == "the template `p.tpl` was not found: put it at `p.tpl` beside the new configuration"


def test_templates_of_a_target_are_converted():
    """Templates and helpers may be files or objects in the bucket."""
    text = "templates:\n  helpers: [{path: templates/_helpers.tpl}, {path: h, inBucket: true}]\n"
    text += "  notFoundError: {path: t, inBucket: true, status: '404'}\n"
    conversion = converted_target(text)
    assert conversion.document["targets"]["site"]["templates"] == {
        "helpers": [{"path": "h", "inBucket": True}],
        "notFoundError": {"path": "t", "inBucket": True, "status": "404"},
    }
    assert conversion.messages(*LOST) == []


def test_a_page_of_a_target_keeps_the_status_of_the_general_one():
    """A page of a target without a status has that of the page for all targets, or else s3-proxy's default."""
    general = "templates: {put: {status: '200'}}\n"
    target = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}, templates: {put: {path: p}, delete: {path: d}}}}"
    pages = converted(f"{general}{target}").document["targets"]["site"]["templates"]
    assert pages == {"put": {"path": "p"}, "delete": {"path": "d", "status": "204"}}


def test_template_files_are_copied():
    """Relative files are copied below the output directory, and absolute paths are kept."""
    text = "templates: {helpers: [../h.tpl], put: {path: ./a/p.tpl}, delete: {path: /etc/d.tpl}}\n"
    conversion = convert(together([SourceFile("a.yaml", TARGETS + text)]), read_file=lambda path: f"text of {path}")
    assert {name: text for name, text in conversion.files.items() if name.endswith(".tpl")} == {
        "templates/h.tpl": "text of ../h.tpl",
        "a/p.tpl": "text of ./a/p.tpl",
    }


def test_a_template_that_does_not_compile_is_reported():
    """The file is copied, and the report names its mistake."""
    text = "templates: {put: {path: p.tpl}}\n"
    conversion = convert(together([SourceFile("a.yaml", TARGETS + text)]), read_file=lambda _: "{{ x }}")
    messages = [remark.message for remark in conversion.report.of(OptionOutcome.CHANGED)]
    assert "the template `p.tpl` has to be changed: unknown function `x`" in messages


def test_headers_of_streamed_files_are_converted():
    """Headers that the server sets itself are left out."""
    conversion = converted_target(
        "actions: {GET: {enabled: true, config: {streamedFileHeaders: {A: b, Content-Length: '1'}}}}"
    )
    assert conversion.document["targets"]["site"]["actions"]["GET"]["config"] == {"streamedFileHeaders": {"a": "b"}}
    assert conversion.subjects(OptionOutcome.LEFT_OUT) == ["targets.site.actions.GET.config.streamedFileHeaders"]


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        ("{url: 'http://hook.test/'}", "it has the method ``"),
        ("{method: GET, url: 'http://hook.test/'}", "it has the method `GET`"),
        ("{method: post, url: 'http://hook.test/'}", "it has the method `post`"),
        ("{method: POST, url: hook}", "it is not a URL"),
        ("{method: POST, url: 'http://hook.test/', retryCount: -1}", "it has a negative `retryCount`"),
        ("{method: POST, url: 'http://hook.test/', headers: {'a b': c}}", "it cannot"),
        ("{method: POST, url: 'http://hook.test/', secretHeaders: {'a b': {env: C}}}", "it cannot"),
    ],
)
def test_a_webhook_that_the_service_refuses_is_left_out(hook, reason):
    """The others are kept."""
    kept = "{method: PUT, url: 'http://kept.test/', maxWaitTime: -1s}"
    conversion = converted_target(f"actions: {{GET: {{enabled: true, config: {{webhooks: [{hook}, {kept}]}}}}}}")
    (message,) = conversion.messages(OptionOutcome.LEFT_OUT)
    assert message.startswith(f"the webhook is left out: {reason}")
    assert [each.url.reveal() for each in conversion.settings.targets[0].actions.get.webhooks] == ["http://kept.test/"]


RANDOM = "{{ uuidv4 }} {{ randInt 1 6 }} {{ randAlphaNum 8 }}"


def test_random_headers_and_pages_are_converted():
    """A header is not a key, so it may be random."""
    conversion = converted_target(
        f"actions: {{GET: {{enabled: true, config: {{streamedFileHeaders: {{X-Id: '{RANDOM}'}}}}}}}}\n"
        f"templates: {{notFoundError: {{path: a.tpl, inBucket: true, headers: {{X-Id: '{RANDOM}'}}, status: '{{{{ randInt 404 405 }}}}'}}}}"
    )
    assert conversion.report.complete
    target = conversion.document["targets"]["site"]
    assert target["actions"]["GET"]["config"]["streamedFileHeaders"] == {"x-id": RANDOM}
    assert target["templates"]["notFoundError"]["status"] == "{{ randInt 404 405 }}"


def test_headers_and_statuses_that_cannot_be_compiled_are_left_out():
    """The environment may hold secrets."""
    page = "{path: a.tpl, inBucket: true, headers: {X-A: '{{ env `A` }}', X-B: b}, status: '{{ env `A` }}'}"
    conversion = converted_target(f"templates: {{notFoundError: {page}}}")
    assert conversion.document["targets"]["site"]["templates"] == {
        "notFoundError": {"path": "a.tpl", "inBucket": True, "headers": {"x-b": "b"}}
    }
    messages = conversion.messages(OptionOutcome.LEFT_OUT)
    assert len(messages) == 2
    assert all("it reads the environment of the process" in message for message in messages)


def test_an_unknown_canned_acl_is_left_out():
    """S3 refuses it at each upload."""
    conversion = converted_target("actions: {PUT: {enabled: true, config: {cannedACL: open}}}")
    assert conversion.messages(OptionOutcome.LEFT_OUT) == ["`open` is not a canned ACL of objects"]


def test_targets_share_a_file_of_helpers_with_all():
    """The helpers of a target replace the general ones, so nothing is defined twice."""
    texts = {"own.tpl": '{{ define "own" }}x{{ end }}', "list.tpl": '{{ template "own" . }}'}
    text = (
        "templates: {helpers: [own.tpl], folderList: {path: list.tpl}}\n"
        "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket},"
        " templates: {helpers: [{path: own.tpl}], folderList: {path: list.tpl}}}}"
    )
    report = convert(together([SourceFile("0.yaml", text)]), read_file=texts.get).report
    assert report.complete
