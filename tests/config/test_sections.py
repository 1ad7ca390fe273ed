from __future__ import annotations

import pytest
from configurations import MINIMAL, complaints, settings

from tornado_proxy.config.model import BasicProvider, Limits, Listener, Log, S3Pool, Settings
from tornado_proxy.config.options import options
from tornado_proxy.config.quantities import KIB, MIB


def test_defaults_are_those_of_the_settings():
    """A configuration that says nothing but its targets is the settings' own defaults."""
    told = settings(MINIMAL)
    default = Settings()
    assert (told.server, told.internal_server, told.limits) == (default.server, default.internal_server, default.limits)
    assert (told.s3, told.log, told.grace_period) == (default.s3, default.log, default.grace_period)
    assert (told.rules, told.basic_providers) == ((), ())


def test_listeners_are_read():
    """Both listeners have an address and a port, and the server a grace period."""
    text = "server: {listenAddr: '', port: 0, gracePeriod: 1m}\ninternalServer: {listenAddr: '::1', port: 1}\n"
    told = settings(text + MINIMAL)
    assert (told.server, told.internal_server) == (Listener("", 0), Listener("::1", 1))
    assert told.grace_period == 60.0


def test_limits_are_read():
    """Sizes and durations may have units."""
    text = (
        "limits: {maxHeaderSize: 32KiB, maxFormFieldSize: 1MiB, idleTimeout: 1m, bodyTimeout: 5, sendTimeout: 1.5s}\n"
    )
    assert settings(text + MINIMAL).limits == Limits(32 * KIB, MIB, 60.0, 5.0, 1.5)


def test_log_and_s3_are_read():
    """The log's level and form, and the threads of the calls to S3."""
    told = settings("log: {level: debug, format: json}\ns3: {threads: 4}\n" + MINIMAL)
    assert (told.log, told.s3) == (Log("debug", "json"), S3Pool(4))


@pytest.mark.parametrize("name", ["staff", "1", "a b"])
def test_providers_are_read_by_name(name):
    """A provider of basic authentication has a name and a realm."""
    told = settings(f"authProviders: {{basic: {{'{name}': {{realm: Files}}}}}}\n{MINIMAL}")
    assert told.basic_providers == (BasicProvider(name, "Files"),)


@pytest.mark.parametrize(
    "text",
    [
        "server: {gracePeriod: -1}",
        "server: {gracePeriod: 2d}",
        "limits: {maxHeaderSize: 100}",
        "limits: {idleTimeout: 0}",
        "s3: {threads: 0}",
        "s3: {threads: 5000}",
    ],
)
def test_numbers_have_bounds(text):
    """A number that cannot be meant is refused."""
    assert [code for code, _ in complaints(f"{text}\n{MINIMAL}")] == ["bad-value"]


@pytest.mark.parametrize("option", options(), ids=lambda option: option.dotted)
def test_every_option_is_described(option):
    """Each option has a sentence that says what it means."""
    assert option.field.description
    assert option.field.description.endswith(".")
