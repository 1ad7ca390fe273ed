from __future__ import annotations

import pytest
from certificates import pair
from conversions import made

from tornado_proxy.tools.convert.options import OptionOutcome
from tornado_proxy.tools.convert.servers import UNKNOWN, fate

MINIMAL_TLS = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"
PAIR = pair("a.test")


def _tls_made(ssl, name="server"):
    return made(f"{MINIMAL_TLS}{name}: {{listenAddr: 0.0.0.0, ssl: {{enabled: true, {ssl}}}}}\n")


@pytest.mark.parametrize("name", ["server", "internalServer"])
def test_tls_is_carried_over(name):
    """Its versions, suites and names have the same options."""
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
    """A key belongs in a file of its own, which only its owner reads."""
    text = f"certificates: [{{certificate: {PAIR.chain!r}, privateKey: {PAIR.key!r}}}]".replace("'", '"')
    done = _tls_made(text)
    assert done.document["server"]["ssl"]["certificates"] == [
        {"certificateUrl": "certificates/server-1.crt", "privateKeyUrl": "certificates/server-1.key"}
    ]
    assert done.files["certificates/server-1.crt"] == PAIR.chain
    assert done.files["certificates/server-1.key"] == PAIR.key


def test_places_are_carried_over():
    """With how they are fetched."""
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
    """Here it starts from the configuration."""
    done = _tls_made("certificates: [{certificateUrl: a.crt, privateKeyUrl: a.key}]")
    assert done.subjects(OptionOutcome.CHANGED) == [
        "server.ssl.certificates.certificateUrl",
        "server.ssl.certificates.privateKeyUrl",
    ]


MINIMAL_ANSWERS = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"


def _answers_made(text):
    return made(f"{MINIMAL_ANSWERS}server: {{{text}}}\n")


def test_cors_is_carried_over():
    """Option by option."""
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
    """And nothing is said of it."""
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
    """On unless told otherwise, and of the smallest answers too."""
    done = _answers_made(text)
    assert done.document["server"]["compress"] == expected
    assert done.messages(OptionOutcome.LEFT_OUT, OptionOutcome.CHANGED) == []


def test_what_compression_cannot_have_is_reported():
    """A level beyond the highest is the highest; a type that no answer can have is left out."""
    done = _answers_made("compress: {level: 12, types: ['text/html; charset=utf-8', text/css]}")
    assert done.document["server"]["compress"] == {"minSize": 0, "level": 9, "types": ["text/css"]}
    assert done.subjects(OptionOutcome.ADAPTED) == ["server.compress.level"]
    assert done.subjects(OptionOutcome.LEFT_OUT) == ["server.compress.types"]


def test_an_age_is_one_that_browsers_keep():
    """A day at most."""
    done = _answers_made("cors: {enabled: true, maxAge: 1000000}")
    assert done.settings.server.cors.max_age == 86400
    assert done.subjects(OptionOutcome.ADAPTED) == ["server.cors.maxAge"]


@pytest.mark.parametrize("text", ["port: 80", "cache: {noCacheEnabled: true, pragma: x}"])
def test_nothing_is_cached_unless_told_otherwise(text):
    """As in s3-proxy."""
    assert _answers_made(text).document["server"]["cache"] == {"noCacheEnabled": True}


def test_headers_about_caches_are_carried_over():
    """Those that are given; none where all are off."""
    assert _answers_made("cache: {cacheControl: max-age=60, xAccelExpires: '5'}").document["server"]["cache"] == {
        "cacheControl": "max-age=60",
        "xAccelExpires": "5",
    }
    assert "cache" not in _answers_made("cache: {noCacheEnabled: false}").document["server"]


MINIMAL = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"


def _made(text):
    return made(f"{MINIMAL}{text}\n")


def test_servers_listen_where_they_did():
    """An address that is not given is every interface."""
    settings = _made("server: {port: 80}\ninternalServer: {listenAddr: '::1'}").settings
    assert (settings.server.address, settings.server.port) == ("", 80)
    assert (settings.internal_server.address, settings.internal_server.port) == ("::1", 9090)


def test_tls_that_is_off_changes_nothing():
    """Only what is enabled counts."""
    done = _made("server: {ssl: {enabled: false, selfSignedHostnames: [a.test]}}")
    assert "ssl" not in done.document["server"]
    assert done.messages(OptionOutcome.LEFT_OUT) == []


def test_an_address_that_is_none_becomes_the_loopback():
    """Rather too narrow than too wide."""
    done = _made("server: {listenAddr: ':80'}")
    assert done.document["server"]["listenAddr"] == "127.0.0.1"
    assert done.messages(OptionOutcome.CHANGED) == ["`:80` is not an address: the service listens on 127.0.0.1 now"]


@pytest.mark.parametrize(
    ("text", "level", "form"),
    [("{}", "info", "json"), ("{level: warn, format: text}", "warning", "text"), ("{level: TRACE}", "debug", "json")],
)
def test_the_log_says_as_much_in_the_same_form(text, level, form):
    """Levels have other names; a form that is not given is JSON."""
    log = _made(f"log: {text}").settings.log
    assert (log.level, log.format) == (level, form)


def test_time_outs_bound_a_connection():
    """Two are the same; two bound progress instead of the whole."""
    timeouts = "{idleTimeout: 2m, readHeaderTimeout: 10s, readTimeout: 1s, writeTimeout: 3s}"
    done = _made(f"server: {{timeouts: {timeouts}}}")
    assert done.document["limits"] == {"idleTimeout": 120, "headerTimeout": 10, "bodyTimeout": 1, "sendTimeout": 3}
    assert done.subjects(OptionOutcome.CHANGED) == ["server.timeouts.readTimeout", "server.timeouts.writeTimeout"]


def test_a_time_out_without_an_equal_is_left_out():
    """Nothing is shorter than a second or longer than a day."""
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
    """Each option says why it has no equal, however its name is spelt."""
    assert fate(path)[1] != UNKNOWN


@pytest.mark.parametrize("path", ["targets.site.buckett", "servers", "targets.site.actions.GET.config.x"])
def test_what_it_has_not_is_unknown(path):
    """A mistake in the other configuration is not a feature that is missing here."""
    assert fate(path) == (OptionOutcome.LEFT_OUT, UNKNOWN)
