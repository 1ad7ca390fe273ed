import pytest
from configurations import MINIMAL, codes_and_messages, settings

from tornado_proxy.config.server import Compress


def test_cors_and_cache_are_read():
    """Origins are in lower case, as browsers send them."""
    cors = "cors: {enabled: true, allowOrigins: ['HTTPS://A.test', 'https://*.b.test'], maxAge: 300}"
    server = settings(f"server: {{{cors}, cache: {{cacheControl: max-age=60}}}}\n{MINIMAL}").server
    assert server.cors.allow_origins == ("https://a.test", "https://*.b.test")
    assert (server.cors.max_age, server.cache.cache_control) == (300, "max-age=60")


def test_options_of_compression_are_read():
    assert settings(MINIMAL).server.compress == Compress()
    options = "{level: 9, types: [TEXT/*, application/json], minSize: 2KiB}"
    assert settings(f"server: {{compress: {options}}}\n{MINIMAL}").server.compress == Compress(
        level=9, types=("text/*", "application/json"), min_size=2048
    )


@pytest.mark.parametrize("choice", ["off", "'off'", "refuse"])
def test_a_choice_may_be_a_word_that_is_false_in_yaml(choice):
    """`off` needs no quotes where it is a choice."""
    assert settings(f"reload: {{tests: {choice}, probe: {choice}}}\ntargets: {{}}").reload.tests == choice.strip("'")


def test_an_origin_has_at_most_one_star():
    """An origin with two `*` is refused, because the CORS library of s3-proxy supports one."""
    assert codes_and_messages(f"server: {{cors: {{allowOrigins: ['https://*.*']}}}}\n{MINIMAL}") == [
        ("bad-value", "an item of `allowOrigins` has more than one `*`")
    ]


def test_a_public_path_is_a_plain_path():
    """A closing slash is cut off; what could lead elsewhere is refused."""
    assert settings(f"server: {{publicPath: /files/}}\n{MINIMAL}").server.public_path == "/files"
    assert codes_and_messages(f"server: {{publicPath: //files}}\n{MINIMAL}") == [
        ("bad-value", "`publicPath` is not a public path")
    ]
