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
    assert done.document["server"] == {"listenAddr": "", "port": 8080}
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


def test_connections_without_a_request_end_when_they_did():
    """Of s3-proxy's timeouts, one has an equal; a duration that has none is left out."""
    done = _made("server: {timeouts: {idleTimeout: 2m, readTimeout: 1s}}")
    assert done.settings.limits.idle_timeout == 120
    assert done.messages(OptionOutcome.LEFT_OUT) == ["see `limits` for what bounds a connection"]
    assert _made("server: {timeouts: {idleTimeout: 20ms}}").messages(OptionOutcome.LEFT_OUT) == [
        "`20ms` is not within a second and a day"
    ]


@pytest.mark.parametrize(
    "path",
    [
        "templates.folderList.path",
        "tracing.enabled",
        "server.compress.level",
        "internalServer.timeouts.writeTimeout",
        "targets.site.templates.helpers",
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
