from __future__ import annotations

import pytest
from certificates import pair
from conversions import converted

from tornado_proxy.tools.convert.options import OptionOutcome
from tornado_proxy.tools.convert.servers import UNKNOWN, fate

MINIMAL_TLS = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"
PAIR = pair("a.test")


def _tls_made(ssl, name="server"):
    return converted(f"{MINIMAL_TLS}{name}: {{listenAddr: 0.0.0.0, ssl: {{enabled: true, {ssl}}}}}\n")


@pytest.mark.parametrize("name", ["server", "internalServer"])
def test_tls_is_carried_over(name):
    """The options for versions, suites and names are the same."""
    options = "minTLSVersion: TLSv1.2, maxTLSVersion: '1.3', cipherSuites: [TLS_AES_128_GCM_SHA256]"
    done = _tls_made(f"selfSignedHostnames: [a.test], {options}", name)
    assert done.document[name]["ssl"] == {
        "selfSignedHostnames": ["a.test"],
        "minTLSVersion": "TLSv1.2",
        "maxTLSVersion": "1.3",
        "cipherSuites": ["TLS_AES_128_GCM_SHA256"],
    }
    assert done.messages(OptionOutcome.LEFT_OUT, OptionOutcome.CLOSED, OptionOutcome.CHANGED) == []


def test_certificates_in_the_text_become_files():
    """A key is written to a file that only its owner may read."""
    text = f"certificates: [{{certificate: {PAIR.chain!r}, privateKey: {PAIR.key!r}}}]".replace("'", '"')
    done = _tls_made(text)
    assert done.document["server"]["ssl"]["certificates"] == [
        {"certificateUrl": "certificates/server-1.crt", "privateKeyUrl": "certificates/server-1.key"}
    ]
    assert done.files["certificates/server-1.crt"] == PAIR.chain
    assert done.files["certificates/server-1.key"] == PAIR.key


def test_places_are_carried_over():
    """URLs are converted with the options for fetching them."""
    keys = "awsCredentials: {accessKey: {env: A}, secretKey: {path: /b}}"
    config = f"{{httpTimeout: 1500ms, awsRegion: eu-west-1, awsEndpoint: 'a:1', awsDisableSSL: true, {keys}}}"
    done = _tls_made(
        "certificates: [{certificateUrl: 's3://a/b', certificateUrlConfig: " + config + ", privateKeyUrl: /etc/a.key}]"
    )
    (only,) = done.settings.server.ssl.certificates
    assert (only.certificate_url, only.private_key_url) == ("s3://a/b", "/etc/a.key")
    asked = only.certificate_url_config
    assert (asked.http_timeout, asked.aws_region, asked.aws_endpoint, asked.aws_disable_ssl) == (
        1.5,
        "eu-west-1",
        "a:1",
        True,
    )
    assert asked.aws_credentials.access_key.origin == "the environment variable `A`"
    assert done.messages(OptionOutcome.LEFT_OUT, OptionOutcome.CHANGED) == []


def test_a_relative_file_starts_elsewhere():
    """Here a relative path is relative to the configuration file."""
    done = _tls_made("certificates: [{certificateUrl: a.crt, privateKeyUrl: a.key}]")
    assert done.subjects(OptionOutcome.CHANGED) == [
        "server.ssl.certificates.certificateUrl",
        "server.ssl.certificates.privateKeyUrl",
    ]


MINIMAL_ANSWERS = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"


def _answers_made(text):
    return converted(f"{MINIMAL_ANSWERS}server: {{{text}}}\n")


def test_cors_is_carried_over():
    """The options of CORS are the same."""
    options = "allowOrigins: [https://a.test], allowMethods: [GET], allowHeaders: [X-A], exposeHeaders: [X-B]"
    done = _answers_made(f"cors: {{enabled: true, {options}, maxAge: 300, allowCredentials: true, debug: true}}")
    assert done.document["server"]["cors"] == {
        "enabled": True,
        "allowOrigins": ["https://a.test"],
        "allowMethods": ["GET"],
        "allowHeaders": ["X-A"],
        "exposeHeaders": ["X-B"],
        "maxAge": 300,
        "allowCredentials": True,
    }
    assert done.messages(OptionOutcome.LEFT_OUT, OptionOutcome.CHANGED) == []


def test_cors_that_is_off_is_nothing():
    """Options that are off need no remark."""
    done = _answers_made("cors: {enabled: false, allowAll: true}")
    assert "cors" not in done.document["server"]
    assert done.messages(OptionOutcome.LEFT_OUT) == []


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
def test_compression_is_carried_over(text, expected):
    """Compression is on by default, also for the smallest answers."""
    done = _answers_made(text)
    assert done.document["server"]["compress"] == expected
    assert done.messages(OptionOutcome.LEFT_OUT, OptionOutcome.CHANGED) == []


def test_what_compression_cannot_have_is_reported():
    """A level above the highest becomes the highest; an invalid type is left out."""
    done = _answers_made("compress: {level: 12, types: ['text/html; charset=utf-8', text/css]}")
    assert done.document["server"]["compress"] == {"minSize": 0, "level": 9, "types": ["text/css"]}
    assert done.subjects(OptionOutcome.ADAPTED) == ["server.compress.level"]
    assert done.subjects(OptionOutcome.LEFT_OUT) == ["server.compress.types"]


def test_an_age_is_one_that_browsers_keep():
    """Browsers keep the answer to a preflight for at most a day."""
    done = _answers_made("cors: {enabled: true, maxAge: 1000000}")
    assert done.settings.server.cors.max_age == 86400
    assert done.subjects(OptionOutcome.ADAPTED) == ["server.cors.maxAge"]


@pytest.mark.parametrize("text", ["port: 80", "cache: {noCacheEnabled: true, pragma: x}"])
def test_nothing_is_cached_unless_told_otherwise(text):
    """s3-proxy forbids caching by default."""
    assert _answers_made(text).document["server"]["cache"] == {"noCacheEnabled": True}


def test_headers_about_caches_are_carried_over():
    """Only headers that are given are written."""
    assert _answers_made("cache: {cacheControl: max-age=60, xAccelExpires: '5'}").document["server"]["cache"] == {
        "cacheControl": "max-age=60",
        "xAccelExpires": "5",
    }
    assert "cache" not in _answers_made("cache: {noCacheEnabled: false}").document["server"]


MINIMAL = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"


def _made(text):
    return converted(f"{MINIMAL}{text}\n")


def test_servers_listen_where_they_did():
    """Without an address, both listen on every interface."""
    settings = _made("server: {port: 80}\ninternalServer: {listenAddr: '::1'}").settings
    assert (settings.server.address, settings.server.port) == ("", 80)
    assert (settings.internal_server.address, settings.internal_server.port) == ("::1", 9090)


def test_tls_that_is_off_changes_nothing():
    """The options of disabled TLS have no effect."""
    done = _made("server: {ssl: {enabled: false, selfSignedHostnames: [a.test]}}")
    assert "ssl" not in done.document["server"]
    assert done.messages(OptionOutcome.LEFT_OUT) == []


def test_an_address_that_is_none_becomes_the_loopback():
    """An invalid address must not open the service to other machines."""
    done = _made("server: {listenAddr: ':80'}")
    assert done.document["server"]["listenAddr"] == "127.0.0.1"
    assert done.messages(OptionOutcome.CHANGED) == ["`:80` is not an address: the service listens on 127.0.0.1 now"]


@pytest.mark.parametrize(
    ("text", "level", "form"),
    [("{}", "info", "json"), ("{level: warn, format: text}", "warning", "text"), ("{level: TRACE}", "debug", "json")],
)
def test_the_log_says_as_much_in_the_same_form(text, level, form):
    """Levels have other names; the default format is JSON."""
    log = _made(f"log: {text}").settings.log
    assert (log.level, log.format) == (level, form)


def test_time_outs_bound_a_connection():
    """Two time-outs are the same; two limit the time without progress."""
    timeouts = "{idleTimeout: 2m, readHeaderTimeout: 10s, readTimeout: 1s, writeTimeout: 3s}"
    done = _made(f"server: {{timeouts: {timeouts}}}")
    assert done.document["limits"] == {"idleTimeout": 120, "headerTimeout": 10, "bodyTimeout": 1, "sendTimeout": 3}
    assert done.subjects(OptionOutcome.CHANGED) == ["server.timeouts.readTimeout", "server.timeouts.writeTimeout"]


def test_a_time_out_without_an_equal_is_left_out():
    """A time-out is between a second and a day."""
    assert _made("server: {timeouts: {idleTimeout: 20ms}}").messages(OptionOutcome.LEFT_OUT) == [
        "`20ms` is not between a second and a day"
    ]
    assert _made("server: {timeouts: {idleTimeout: '0'}}").messages(OptionOutcome.LEFT_OUT) == []


@pytest.mark.parametrize(
    "path",
    [
        "tracing.enabled",
        "internalServer.compress.level",
        "internalServer.timeouts.writeTimeout",
        "targets.site.bucket.requestConfig.getHeaders",
        "targets.site.bucket.S3UploadConcurrency",
        "targets.site.resources.provider",
    ],
)
def test_what_s3_proxy_has_is_known(path):
    """The table has a reason for each option of s3-proxy, in any case."""
    assert fate(path)[1] != UNKNOWN


@pytest.mark.parametrize("path", ["targets.site.buckett", "servers", "targets.site.actions.GET.config.x"])
def test_what_it_has_not_is_unknown(path):
    """A misspelt option is not reported as a missing feature."""
    assert fate(path) == (OptionOutcome.LEFT_OUT, UNKNOWN)
