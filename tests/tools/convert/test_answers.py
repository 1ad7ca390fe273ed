from __future__ import annotations

import pytest
from conversions import made

from tornado_proxy.tools.convert.report import OptionOutcome

MINIMAL = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"


def _made(text):
    return made(f"{MINIMAL}server: {{{text}}}\n")


def test_cors_is_carried_over():
    """Option by option."""
    options = "allowOrigins: [https://a.test], allowMethods: [GET], allowHeaders: [X-A], exposeHeaders: [X-B]"
    done = _made(f"cors: {{enabled: true, {options}, maxAge: 300, allowCredentials: true, debug: true}}")
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
    done = _made("cors: {enabled: false, allowAll: true}")
    assert "cors" not in done.document["server"]
    assert done.messages(OptionOutcome.LEFT_OUT) == []


def test_compression_that_is_off_is_nothing():
    """Where it is on, the report says that it is lost."""
    assert _made("compress: {enabled: false, level: 5}").messages(OptionOutcome.LEFT_OUT) == []
    assert _made("compress: {level: 5}").subjects(OptionOutcome.LEFT_OUT) == ["server.compress"]


def test_an_age_is_one_that_browsers_keep():
    """A day at most."""
    done = _made("cors: {enabled: true, maxAge: 1000000}")
    assert done.settings.server.cors.max_age == 86400
    assert done.subjects(OptionOutcome.ADAPTED) == ["server.cors.maxAge"]


@pytest.mark.parametrize("text", ["port: 80", "cache: {noCacheEnabled: true, pragma: x}"])
def test_nothing_is_cached_unless_told_otherwise(text):
    """As in s3-proxy."""
    assert _made(text).document["server"]["cache"] == {"noCacheEnabled": True}


def test_headers_about_caches_are_carried_over():
    """Those that are given; none where all are off."""
    assert _made("cache: {cacheControl: max-age=60, xAccelExpires: '5'}").document["server"]["cache"] == {
        "cacheControl": "max-age=60",
        "xAccelExpires": "5",
    }
    assert "cache" not in _made("cache: {noCacheEnabled: false}").document["server"]
