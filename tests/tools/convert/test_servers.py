from __future__ import annotations

import pytest
from certificates import pair
from conversions import converted

from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.tools.convert.options import OptionOutcome
from tornado_proxy.tools.convert.settings import UNKNOWN, fate

MINIMAL_TLS = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"
PAIR = pair("a.test")


def _convert_tls(ssl, name="server"):
    return converted(f"{MINIMAL_TLS}{name}: {{listenAddr: 0.0.0.0, ssl: {{enabled: true, {ssl}}}}}\n")


@pytest.mark.parametrize("name", ["server", "internalServer"])
def test_tls_is_converted(name):
    """The options for versions, suites and names are the same."""
    options = "minTLSVersion: TLSv1.2, maxTLSVersion: '1.3', cipherSuites: [TLS_AES_128_GCM_SHA256]"
    conversion = _convert_tls(f"selfSignedHostnames: [a.test], {options}", name)
    assert conversion.document[name]["ssl"] == {
        "selfSignedHostnames": ["a.test"],
        "minTLSVersion": "TLSv1.2",
        "maxTLSVersion": "1.3",
        "cipherSuites": ["TLS_AES_128_GCM_SHA256"],
    }
    assert conversion.messages(OptionOutcome.LEFT_OUT, OptionOutcome.CLOSED, OptionOutcome.CHANGED) == []


def test_inline_certificates_become_files():
    """A private key is written to a file that only its owner may read."""
    text = f"certificates: [{{certificate: {PAIR.chain!r}, privateKey: {PAIR.key!r}}}]".replace("'", '"')
    conversion = _convert_tls(text)
    assert conversion.document["server"]["ssl"]["certificates"] == [
        {"certificateUrl": "certificates/server-1.crt", "privateKeyUrl": "certificates/server-1.key"}
    ]
    assert conversion.files["certificates/server-1.crt"] == PAIR.chain
    assert conversion.files["certificates/server-1.key"] == PAIR.key


def test_urls_of_certificates_are_converted():
    """URLs are converted with the options for fetching them."""
    keys = "awsCredentials: {accessKey: {env: A}, secretKey: {path: /b}}"
    config = f"{{httpTimeout: 1500ms, awsRegion: eu-west-1, awsEndpoint: 'a:1', awsDisableSSL: true, {keys}}}"
    conversion = _convert_tls(
        "certificates: [{certificateUrl: 's3://a/b', certificateUrlConfig: " + config + ", privateKeyUrl: /etc/a.key}]"
    )
    (certificate,) = conversion.settings.server.ssl.certificates
    assert (certificate.certificate_url, certificate.private_key_url) == (
        GuardedUrl("s3://a/b"),
        GuardedUrl("/etc/a.key"),
    )
    fetch_options = certificate.certificate_url_config
    assert (
        fetch_options.http_timeout,
        fetch_options.aws_region,
        fetch_options.aws_endpoint,
        fetch_options.aws_disable_ssl,
    ) == (
        1.5,
        "eu-west-1",
        "a:1",
        True,
    )
    assert fetch_options.aws_credentials.access_key.origin == "the environment variable `A`"
    assert conversion.messages(OptionOutcome.LEFT_OUT, OptionOutcome.CHANGED) == []


def test_a_relative_path_of_a_certificate_is_reported():
    """Here a relative path is relative to the configuration file."""
    conversion = _convert_tls("certificates: [{certificateUrl: a.crt, privateKeyUrl: a.key}]")
    assert conversion.subjects(OptionOutcome.CHANGED) == [
        "server.ssl.certificates.certificateUrl",
        "server.ssl.certificates.privateKeyUrl",
    ]


MINIMAL_ANSWERS = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"


def _convert_server(text):
    return converted(f"{MINIMAL_ANSWERS}server: {{{text}}}\n")


def test_cors_is_converted():
    """The options of CORS are the same."""
    options = "allowOrigins: [https://a.test], allowMethods: [GET], allowHeaders: [X-A], exposeHeaders: [X-B]"
    conversion = _convert_server(
        f"cors: {{enabled: true, {options}, maxAge: 300, allowCredentials: true, debug: true}}"
    )
    assert conversion.document["server"]["cors"] == {
        "enabled": True,
        "allowOrigins": ["https://a.test"],
        "allowMethods": ["GET"],
        "allowHeaders": ["X-A"],
        "exposeHeaders": ["X-B"],
        "maxAge": 300,
        "allowCredentials": True,
    }
    assert conversion.messages(OptionOutcome.LEFT_OUT, OptionOutcome.CHANGED) == []


def test_disabled_cors_is_omitted():
    """Options that are off need no remark."""
    conversion = _convert_server("cors: {enabled: false, allowAll: true}")
    assert "cors" not in conversion.document["server"]
    assert conversion.messages(OptionOutcome.LEFT_OUT) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("port: 80", {"minSize": 0}),
        ("compress: {level: 5}", {"minSize": 0}),
        (
            "compress: {level: 1, types: [text/html, Text/*]}",
            {"minSize": 0, "level": 1, "types": ["text/html", "text/*"]},
        ),
        ("compress: {enabled: false, level: 1}", {"enabled": False}),
    ],
)
def test_compression_is_converted(text, expected):
    """Compression is on by default, also for the smallest answers."""
    conversion = _convert_server(text)
    assert conversion.document["server"]["compress"] == expected
    assert conversion.messages(OptionOutcome.LEFT_OUT, OptionOutcome.CHANGED) == []


def test_invalid_compression_options_are_reported():
    """A level above the highest becomes the highest, and an invalid type is left out."""
    conversion = _convert_server("compress: {level: 12, types: ['text/html; charset=utf-8', text/css]}")
    assert conversion.document["server"]["compress"] == {"minSize": 0, "level": 9, "types": ["text/css"]}
    assert conversion.subjects(OptionOutcome.ADAPTED) == ["server.compress.level"]
    assert conversion.subjects(OptionOutcome.LEFT_OUT) == ["server.compress.types"]


def test_the_maximum_age_of_cors_is_limited_to_a_day():
    """Browsers keep the response to a preflight for at most a day."""
    conversion = _convert_server("cors: {enabled: true, maxAge: 1000000}")
    assert conversion.settings.server.cors.max_age == 86400
    assert conversion.subjects(OptionOutcome.ADAPTED) == ["server.cors.maxAge"]


@pytest.mark.parametrize("text", ["port: 80", "cache: {noCacheEnabled: true, pragma: x}"])
def test_caching_is_forbidden_by_default(text):
    """s3-proxy forbids caching by default."""
    assert _convert_server(text).document["server"]["cache"] == {"noCacheEnabled": True}


def test_cache_headers_are_converted():
    """Only headers that are given are written."""
    assert _convert_server("cache: {cacheControl: max-age=60, xAccelExpires: '5'}").document["server"]["cache"] == {
        "cacheControl": "max-age=60",
        "xAccelExpires": "5",
    }
    assert "cache" not in _convert_server("cache: {noCacheEnabled: false}").document["server"]


MINIMAL = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"


def _convert(text):
    return converted(f"{MINIMAL}{text}\n")


def test_addresses_and_ports_of_the_servers_are_converted():
    """Without an address, both servers listen on every interface."""
    settings = _convert("server: {port: 80}\ninternalServer: {listenAddr: '::1'}").settings
    assert (settings.server.address, settings.server.port) == ("", 80)
    assert (settings.internal_server.address, settings.internal_server.port) == ("::1", 9090)


def test_disabled_tls_is_omitted():
    """The options of disabled TLS have no effect."""
    conversion = _convert("server: {ssl: {enabled: false, selfSignedHostnames: [a.test]}}")
    assert "ssl" not in conversion.document["server"]
    assert conversion.messages(OptionOutcome.LEFT_OUT) == []


def test_an_invalid_address_becomes_the_loopback_address():
    """An invalid address must not open the service to other machines."""
    conversion = _convert("server: {listenAddr: ':80'}")
    assert conversion.document["server"]["listenAddr"] == "127.0.0.1"
    assert conversion.messages(OptionOutcome.CHANGED) == [
        "`:80` is not an address: the service listens on 127.0.0.1 now"
    ]


@pytest.mark.parametrize(
    ("text", "level", "log_format"),
    [("{}", "info", "json"), ("{level: warn, format: text}", "warning", "text"), ("{level: TRACE}", "debug", "json")],
)
def test_level_and_format_of_the_log_are_converted(text, level, log_format):
    """Levels have other names, and the default format is JSON."""
    log = _convert(f"log: {text}").settings.log
    assert (log.level, log.format) == (level, log_format)


def test_timeouts_are_converted():
    """Two time-outs are the same, and two limit the time without progress."""
    timeouts = "{idleTimeout: 2m, readHeaderTimeout: 10s, readTimeout: 1s, writeTimeout: 3s}"
    conversion = _convert(f"server: {{timeouts: {timeouts}}}")
    assert conversion.document["limits"] == {
        "idleTimeout": 120,
        "headerTimeout": 10,
        "bodyTimeout": 1,
        "sendTimeout": 3,
    }
    assert conversion.subjects(OptionOutcome.CHANGED) == ["server.timeouts.readTimeout", "server.timeouts.writeTimeout"]


def test_a_timeout_keeps_its_fraction():
    """A time-out need not be a whole number of seconds."""
    conversion = _convert("server: {timeouts: {readHeaderTimeout: 1500ms, idleTimeout: 0.25s}}")
    assert conversion.document["limits"] == {"headerTimeout": "1500ms", "idleTimeout": "250ms"}
    assert (conversion.settings.limits.header_timeout, conversion.settings.limits.idle_timeout) == (1.5, 0.25)


def test_a_timeout_without_an_equivalent_is_left_out():
    """A time-out is between a tenth of a second and a day."""
    assert _convert("server: {timeouts: {idleTimeout: 20ms}}").messages(OptionOutcome.LEFT_OUT) == [
        "`20ms` is not between a tenth of a second and a day"
    ]
    assert _convert("server: {timeouts: {idleTimeout: '0'}}").messages(OptionOutcome.LEFT_OUT) == []


@pytest.mark.parametrize(
    "path",
    [
        "tracing.enabled",
        "internalServer.compress.level",
        "internalServer.timeouts.writeTimeout",
        "targets.site.bucket.S3UploadConcurrency",
        "targets.site.resources.provider",
    ],
)
def test_an_option_of_s3_proxy_has_a_reason(path):
    """The table has a reason for each option of s3-proxy, in any case."""
    assert fate(path)[1] != UNKNOWN


@pytest.mark.parametrize("path", ["targets.site.buckett", "servers", "targets.site.actions.GET.config.x"])
def test_an_option_that_s3_proxy_lacks_is_unknown(path):
    """A misspelt option is not reported as a missing feature."""
    assert fate(path) == (OptionOutcome.LEFT_OUT, UNKNOWN)


def test_time_outs_of_the_admin_listener_are_a_known_option():
    """The report says what holds instead."""
    conversion = converted(
        f"{MINIMAL}internalServer: {{timeouts: {{readTimeout: 10s}}}}\nlog: {{filePath: /var/log/a}}"
    )
    assert conversion.messages(OptionOutcome.CHANGED) == [
        "the admin listener closes idle connections after an hour, no others",
        "the log goes to standard error, where systemd or a container takes it, and to no file",
    ]
    assert not conversion.messages(OptionOutcome.LEFT_OUT)
