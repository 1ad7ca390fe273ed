import pytest
from configurations import MINIMAL, codes_and_messages_in_target, report, target

from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, HeadAction, PutAction, SystemMetadata
from tornado_proxy.config.values import GIB


@pytest.mark.parametrize(
    ("actions", "methods"),
    [
        (Actions(), ("GET", "HEAD")),
        (Actions(put=PutAction(enabled=True), delete=DeleteAction(enabled=True)), ("GET", "HEAD", "PUT", "DELETE")),
        (Actions(get=GetAction(enabled=False), head=HeadAction(enabled=False)), ()),
    ],
)
def test_enabled_methods_are_listed(actions, methods):
    """The methods are in the order of an Allow header; GET and HEAD are enabled by default, PUT and DELETE are not."""
    assert actions.methods == methods


def test_actions_are_read():
    text = """\
actions:
  GET:
    config:
      indexDocument: index.html
      redirectWithTrailingSlashForNotFoundFile: true
      disableListing: true
      redirectToSignedUrl: true
      signedUrlExpiration: 5m
  HEAD: {enabled: false}
  PUT: {enabled: true, config: {allowOverride: true, maxSize: 5GiB}}
  DELETE: {enabled: true}
"""
    get = GetAction(
        enabled=True,
        index_document="index.html",
        redirect_with_trailing_slash_for_not_found_file=True,
        disable_listing=True,
        redirect_to_signed_url=True,
        signed_url_expiration=300,
    )
    put = PutAction(enabled=True, allow_override=True, max_size=5 * GIB)
    assert target(text).actions == Actions(get, HeadAction(enabled=False), put, DeleteAction(enabled=True))


@pytest.mark.parametrize(("value", "messages"), [("2000ms", []), ("1500ms", ["has a fraction of a second"])])
def test_a_signature_is_valid_for_whole_seconds(value, messages):
    """S3 takes whole seconds, so a fraction is refused rather than rounded."""
    found = codes_and_messages_in_target(f"actions: {{GET: {{config: {{signedUrlExpiration: {value}}}}}}}")
    assert found == [("bad-value", f"`signedUrlExpiration` {each}") for each in messages]


def test_properties_of_uploads_are_read():
    config = "{metadata: {Team: '{{ .Key }}'}, systemMetadata: {cacheControl: no-cache}, storageClass: GLACIER, cannedACL: private, rawUploads: true}"
    put = target(f"actions: {{PUT: {{enabled: true, config: {config}}}}}").actions.put
    assert (put.metadata, put.storage_class, put.canned_acl) == ((("Team", "{{ .Key }}"),), "GLACIER", "private")
    assert (put.system_metadata, put.raw_uploads) == (SystemMetadata(cache_control="no-cache"), True)


def test_allowed_types_are_media_types():
    put = target("actions: {PUT: {enabled: true, config: {allowedTypes: [Image/*, application/pdf]}}}").actions.put
    assert put.allowed_types == ("image/*", "application/pdf")
    for types in ("[image]", "['*/*']", "['text/plain; charset=utf-8']", "[]"):
        assert codes_and_messages_in_target(f"actions: {{PUT: {{enabled: true, config: {{allowedTypes: {types}}}}}}}")


HOOK = "url: https://hooks.example/x"


def _get_action(hook):
    return f"actions: {{GET: {{config: {{webhooks: [{{{hook}}}]}}}}}}"


def test_a_webhook_is_read():
    """The secret headers of a webhook are references, and its `repr` has no secret."""
    hook = f"{HOOK}, method: PUT, headers: {{A: b}}, secretHeaders: {{Authorization: {{env: SECRET}}}}, retryCount: 2"
    (webhook,) = target(_get_action(hook)).actions.get.webhooks
    assert (webhook.method, webhook.headers, webhook.retry_count) == ("PUT", (("A", "b"),), 2)
    ((name, secret),) = webhook.secret_headers
    assert (name, secret.reveal()) == ("Authorization", "secret")
    assert "'secret'" not in repr(webhook)


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        ("method: POST", "`webhooks` lacks `url`"),
        ("url: nowhere", "is not a URL"),
        (f"{HOOK}, method: GET", "`method`"),
        (f"{HOOK}, headers: {{'a b': c}}", "cannot be `a b`"),
        (f'{HOOK}, headers: {{a: "b\\nc"}}', "contains a control character"),
        (f"{HOOK}, timeout: 0", "is less than"),
    ],
)
def test_a_mistake_in_a_webhook_is_reported(hook, message):
    diagnostics = codes_and_messages_in_target(_get_action(hook))
    assert any(message in text for _, text in diagnostics), diagnostics


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "lacks `endpoint`"),
        ("{endpoint: here}", "is not a URL"),
        ("{endpoint: 'http://x/', sampledPercent: 101}", "sampledPercent"),
    ],
)
def test_a_mistake_in_tracing_is_reported(text, message):
    assert message in report(f"tracing: {text}\n{MINIMAL}")
