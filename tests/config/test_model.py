from pathlib import Path

import pytest
from config_schema import SECTIONS, description
from configurations import MINIMAL, codes_and_messages, codes_and_messages_in_target, settings, target

from tornado_proxy.config.model import Mount, Settings, Target
from tornado_proxy.config.options import all_options
from tornado_proxy.config.providers import BasicProvider
from tornado_proxy.config.server import InternalServer, Limits, Log, S3Pool, Server, Tracing
from tornado_proxy.config.values import KIB, MIB, GuardedUrl

BUCKET = "targets: {site: {bucket: {name: my-bucket, %s}}}"


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_is_frozen(section):
    assert section.__struct_config__.frozen


def test_options_have_the_defaults_of_the_settings():
    parsed = settings(MINIMAL)
    default = Settings()
    expected = (default.server, default.internal_server, default.limits)
    assert (parsed.server, parsed.internal_server, parsed.limits) == expected
    assert (parsed.s3, parsed.log, parsed.tracing) == (default.s3, default.log, None)
    assert (parsed.rules, parsed.basic_providers) == ((), ())


@pytest.mark.parametrize(
    ("options", "name", "section"),
    [
        ("server: {listenAddr: '', port: 0, gracePeriod: 1m}", "server", Server("", 0, grace_period=60.0)),
        ("internalServer: {listenAddr: '::1', port: 1}", "internal_server", InternalServer("::1", 1)),
        (
            "limits: {maxHeaderSize: 32KiB, maxFormFieldSize: 1MiB, idleTimeout: 1m, bodyTimeout: 5, sendTimeout: 1.5s}",
            "limits", Limits(32 * KIB, MIB, 60.0, body_timeout=5.0, send_timeout=1.5),
        ),
        ("log: {level: debug, format: json}", "log", Log("debug", "json")),
        ("s3: {threads: 4}", "s3", S3Pool(4)),
        ("tracing: {endpoint: 'http://127.0.0.1/v1'}", "tracing", Tracing(GuardedUrl("http://127.0.0.1/v1"))),
    ],
)  # fmt: skip
def test_a_section_is_read(options, name, section):
    assert getattr(settings(f"{options}\n{MINIMAL}"), name) == section


@pytest.mark.parametrize("name", ["staff", "1", "a b"])
def test_providers_are_read_by_name(name):
    parsed = settings(f"authProviders: {{basic: {{'{name}': {{realm: Files}}}}}}\n{MINIMAL}")
    assert parsed.basic_providers == (BasicProvider(name, "Files"),)


@pytest.mark.parametrize(
    "text",
    [
        "server: {gracePeriod: -1}", "server: {gracePeriod: 2d}", "limits: {maxHeaderSize: 100}",
        "limits: {idleTimeout: 0}", "s3: {threads: 0}", "s3: {threads: 5000}", BUCKET % "partSize: 1MiB",
        BUCKET % "partSize: 6GiB", BUCKET % "s3ListMaxKeys: 0", BUCKET % "s3ListMaxKeys: 10001",
        BUCKET % "maxAttempts: 0", BUCKET % "readTimeout: 0",
    ],
)  # fmt: skip
def test_numbers_have_bounds(text):
    assert [code for code, _ in codes_and_messages(text if "targets" in text else f"{text}\n{MINIMAL}")] == [
        "bad-value"
    ]


@pytest.mark.parametrize("option", list(all_options(Settings)), ids=lambda option: option.dotted)
def test_every_option_is_described(option):
    assert description(option.option).endswith(".")


def _bucket(options):
    (parsed,) = settings(BUCKET % options).targets
    return parsed.bucket


def test_a_target_needs_only_its_bucket():
    parsed = target("")
    assert parsed == Target("site", Mount(), parsed.bucket)
    assert parsed.mount == Mount("", ("/",))


@pytest.mark.parametrize(
    ("text", "mount"),
    [
        ("mount: {path: [/]}", Mount("", ("/",))),
        ("mount: {path: files}", Mount("", ("/files/",))),
        ("mount: {host: A.example.org, path: [/a, /b/]}", Mount("a.example.org", ("/a/", "/b/"))),
        ("mount: {host: '*'}", Mount("", ("/",))),
    ],
)
def test_a_mount_is_read(text, mount):
    assert target(text).mount == mount


def test_a_bucket_is_read():
    bucket = _bucket(
        "prefix: /folder1, leadingSlash: true, region: eu-west-1, s3ForcePathStyle: true, s3ListMaxKeys: 50, caPath: ca.pem, "
        "connectTimeout: 1s, readTimeout: 2s, maxAttempts: 5, partSize: 16MiB"
    )
    assert (bucket.prefix, bucket.leading_slash, bucket.region) == ("folder1/", True, "eu-west-1")
    assert (bucket.force_path_style, bucket.list_max_keys, bucket.ca_path) == (True, 50, Path("etc/ca.pem"))
    assert (bucket.connect_timeout, bucket.read_timeout, bucket.max_attempts) == (1.0, 2.0, 5)
    assert bucket.part_size == 16 * MIB


def test_headers_of_calls_are_read():
    added = _bucket("requestConfig: {listHeaders: {X-A: b}, getHeaders: {x-c: d}}").request_config
    assert (added.list_headers, added.get_headers, added.put_headers) == ((("x-a", "b"),), (("x-c", "d"),), ())


def test_an_empty_list_of_resources_is_a_mistake():
    """An empty list of resources is refused, because it could mean open or closed."""
    assert codes_and_messages_in_target("resources: []") == [("empty-value", "`resources` is empty")]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("{env: two words}", "`env` is not the name of an environment variable"),
        ("{path: ''}", "`path` is empty"),
        ("{credential: a/b}", "`credential` is not the name of a credential"),
        ("{value: 12345}", "`value` must be a string, but is a number"),
        ("{env: }", "`env` has no value"),
    ],
)
def test_a_reference_to_a_secret_names_one_place(reference, message):
    user = f"{{user: ann, password: {reference}}}"
    diagnostics = codes_and_messages_in_target(
        f"resources: [{{path: /, provider: p, basic: {{credentials: [{user}]}}}}]"
    )
    assert message in [text for _, text in diagnostics]
