from __future__ import annotations

import pytest
from conversions import made, target

from tornado_proxy.config.actions import SystemMetadata, Webhook
from tornado_proxy.config.secrets import Secret
from tornado_proxy.tools.convert.options import OptionOutcome


def _made(text):
    return made(f"targets: {{site: {{mount: {{path: [/]}}, bucket: {{name: my-bucket, {text}}}}}}}")


def _bucket(text):
    (site,) = _made(text).settings.targets
    return site.bucket


def test_a_bucket_is_carried_over_with_its_options():
    """Path style is s3-proxy's default, and not this project's."""
    bucket = _bucket("prefix: a/b, region: eu-west-1, s3Endpoint: '127.0.0.1:9000', disableSSL: true")
    assert (bucket.prefix, bucket.region, bucket.s3_endpoint) == ("a/b/", "eu-west-1", "127.0.0.1:9000")
    assert (bucket.force_path_style, bucket.list_max_keys) == (True, 1000)
    assert not _bucket("s3ForcePathStyle: false").force_path_style


def test_a_prefix_with_a_leading_slash_lists_what_it_serves():
    """s3-proxy's SDK drops the slash when it reads, and not when it lists."""
    done = _made("prefix: /folder1")
    assert done.settings.targets[0].bucket.prefix == "folder1/"
    (message,) = done.messages(OptionOutcome.CHANGED)
    assert message.startswith("`/folder1` is the directory `folder1/`")


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("{env: KEY}", "the environment variable `KEY`"),
        ("{path: /run/key, env: KEY}", "the file `/run/key`"),
        ("{env: KEY, value: x}", "the environment variable `KEY`"),
        ("{value: x}", "the configuration file"),
    ],
)
def test_credentials_are_references(text, origin):
    """Of several, s3-proxy takes the file first, then the environment."""
    credentials = _bucket(f"credentials: {{accessKey: {text}, secretKey: {{env: S}}}}").credentials
    assert credentials.access_key == Secret(origin, "")


def test_half_a_pair_of_keys_is_none():
    """s3-proxy then uses neither."""
    done = _made("credentials: {accessKey: {env: A}}")
    assert done.settings.targets[0].bucket.credentials is None
    assert done.messages(OptionOutcome.CHANGED)[0].startswith("one of the two keys is missing")


@pytest.mark.parametrize(("size", "here"), [(5000, 1000), (10, 10), (1000, 1000)])
def test_a_listing_has_pages(size, here):
    """The number of entries is that of a page."""
    done = _made(f"s3ListMaxKeys: {size}")
    assert done.settings.targets[0].bucket.list_max_keys == here
    assert len(done.messages(OptionOutcome.CHANGED)) == (size != 1000)


def test_the_size_of_a_part_is_given_in_mebibytes():
    """As s3-proxy counts it; one that S3 would not take is left out."""
    assert _bucket("s3UploadPartSize: 16").part_size == 16 * 1024 * 1024
    done = _made("s3UploadPartSize: 6000")
    assert done.messages(OptionOutcome.LEFT_OUT) == ["a part has 5242880 bytes to 5 GiB"]


def _put(config):
    return target(f"actions: {{PUT: {{enabled: true, config: {config}}}}}")


def test_properties_of_uploads_are_carried_over():
    """Templates stay as they are."""
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
        ("cannedACL: mine", "`mine` is not a canned ACL"),
        ("storageClass: '{{ nope }}'", "it is not a template: unknown function `nope`"),
        ("metadata: {'a b': x}", "it cannot be `a b`"),
    ],
)
def test_what_cannot_be_here_is_left_out(option, message):
    """An option that s3-proxy would refuse at the first upload, or S3 would."""
    done = _put(f"{{allowOverride: true, {option}}}")
    assert done.messages(OptionOutcome.LEFT_OUT) == [message]


@pytest.mark.parametrize("action", ["GET", "HEAD", "PUT", "DELETE"])
def test_webhooks_are_carried_over(action):
    """Each action has its own."""
    hook = "{method: PUT, url: 'http://hooks.example/x', headers: {h1: v1}, secretHeaders: {authorization: {env: TOKEN}}, retryCount: 2, defaultWaitTime: 1s, maxWaitTime: 1m30s}"
    config = f"{{allowOverride: true, webhooks: [{hook}]}}" if action == "PUT" else f"{{webhooks: [{hook}]}}"
    done = target(f"actions: {{{action}: {{enabled: true, config: {config}}}}}")
    (found,) = getattr(done.settings.targets[0].actions, action.lower()).webhooks
    assert (found.method, found.url, found.headers) == ("PUT", "http://hooks.example/x", (("h1", "v1"),))
    assert [name for name, _ in found.secret_headers] == ["authorization"]
    assert (found.retry_count, found.default_wait_time, found.max_wait_time) == (2, 1.0, 90.0)
    assert done.messages(OptionOutcome.LEFT_OUT) == []


def test_waits_have_the_defaults_of_s3_proxy():
    """100 ms, and two seconds at most."""
    done = target("actions: {GET: {enabled: true, config: {webhooks: [{method: POST, url: 'http://x/'}]}}}")
    assert done.settings.targets[0].actions.get.webhooks == (Webhook("http://x/"),)


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        ("{url: 'http://x/'}", "it has the method ``"),
        ("{method: POST, url: nowhere}", "it is not a URL"),
        (
            "{method: POST, url: 'http://x/', maxWaitTime: 25h}",
            "it has the maxWaitTime `25h`, which is not within a day",
        ),
    ],
)
def test_a_webhook_that_cannot_be_here_is_left_out(hook, message):
    """The report says what it was."""
    done = target(f"actions: {{GET: {{enabled: true, config: {{webhooks: [{hook}]}}}}}}")
    assert done.messages(OptionOutcome.LEFT_OUT) == [f"a webhook is left out: {message}"]
