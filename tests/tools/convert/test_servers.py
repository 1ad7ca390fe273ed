from __future__ import annotations

import pytest
from conversions import made

from tornado_proxy.tools.convert.report import OptionOutcome
from tornado_proxy.tools.convert.servers import UNKNOWN, reason

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
    assert done.messages(OptionOutcome.CHANGED) == ["`:80` has a port: it listens on 127.0.0.1 now"]


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
        "`20ms` is not within a second and a day"
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
    assert reason(path) != UNKNOWN


@pytest.mark.parametrize("path", ["targets.site.buckett", "servers", "targets.site.actions.GET.config.x"])
def test_what_it_has_not_is_unknown(path):
    """A mistake in the other configuration is not a feature that is missing here."""
    assert reason(path) == UNKNOWN
