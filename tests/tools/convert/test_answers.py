from __future__ import annotations

import pytest
from conversions import made

from tornado_proxy.tools.convert.options import Unreadable
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
    done = _made(text)
    assert done.document["server"]["compress"] == expected
    assert done.messages(OptionOutcome.LEFT_OUT, OptionOutcome.CHANGED) == []


def test_what_compression_cannot_have_is_reported():
    """A level beyond the highest is the highest; a type that no answer can have is left out."""
    done = _made("compress: {level: 12, types: ['text/html; charset=utf-8', text/css]}")
    assert done.document["server"]["compress"] == {"minSize": 0, "level": 9, "types": ["text/css"]}
    assert done.subjects(OptionOutcome.ADAPTED) == ["server.compress.level"]
    assert done.subjects(OptionOutcome.LEFT_OUT) == ["server.compress.types"]


@pytest.mark.parametrize(
    ("text", "message"),
    [("level: 0", "`server.compress.level` is less than 1"), ("types: []", "`server.compress.types` is empty")],
)
def test_compression_with_which_s3_proxy_does_not_start_is_refused(text, message):
    """With its place, even where it is off."""
    with pytest.raises(Unreadable) as caught:
        _made(f"compress: {{enabled: false, {text}}}")
    (diagnostic,) = caught.value.diagnostics
    assert message in diagnostic.message


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
