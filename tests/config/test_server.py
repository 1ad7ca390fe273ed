import pytest
from configurations import MINIMAL, codes_and_messages, settings

from tornado_proxy.config.server import Compress


def test_cors_and_cache_are_read():
    """Origins are in lower case, as browsers send them."""
    cors = "cors: {enabled: true, allowOrigins: ['HTTPS://A.test', 'https://*.b.test'], maxAge: 300}"
    server = settings(f"server: {{{cors}, cache: {{cacheControl: max-age=60}}}}\n{MINIMAL}").server
    assert server.cors.allow_origins == ("https://a.test", "https://*.b.test")
    assert (server.cors.max_age, server.cache.cache_control) == (300, "max-age=60")


def test_compression_is_on_and_has_options():
    """The types in lower case, the size with its unit."""
    assert settings(MINIMAL).server.compress == Compress()
    written = "{level: 9, types: [TEXT/*, application/json], minSize: 2KiB}"
    assert settings(f"server: {{compress: {written}}}\n{MINIMAL}").server.compress == Compress(
        level=9, types=("text/*", "application/json"), min_size=2048
    )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("level: 0", "`level` is less than 1"),
        ("level: 10", "`level` is more than 9"),
        ("types: []", "`types` is empty"),
        ("types: [text]", "an item of `types` cannot be `text`"),
    ],
)
def test_what_compression_cannot_be(option, message):
    """Levels that zlib has, and at least one type."""
    assert [said for _, said in codes_and_messages(f"server: {{compress: {{{option}}}}}\n{MINIMAL}")] == [message]


def test_an_origin_has_one_star():
    """As in s3-proxy, whose library reads no more."""
    assert codes_and_messages(f"server: {{cors: {{allowOrigins: ['https://*.*']}}}}\n{MINIMAL}") == [
        ("bad-value", "an item of `allowOrigins` has more than one `*`")
    ]
