from configurations import MINIMAL, complaints, settings


def test_cors_and_cache_are_read():
    """Origins are in lower case, as browsers send them."""
    cors = "cors: {enabled: true, allowOrigins: ['HTTPS://A.test', 'https://*.b.test'], maxAge: 300}"
    server = settings(f"server: {{{cors}, cache: {{cacheControl: max-age=60}}}}\n{MINIMAL}").server
    assert server.cors.allow_origins == ("https://a.test", "https://*.b.test")
    assert (server.cors.max_age, server.cache.cache_control) == (300, "max-age=60")


def test_an_origin_has_one_star():
    """As in s3-proxy, whose library reads no more."""
    assert complaints(f"server: {{cors: {{allowOrigins: ['https://*.*']}}}}\n{MINIMAL}") == [
        ("bad-value", "an item of `allowOrigins` has more than one `*`")
    ]
