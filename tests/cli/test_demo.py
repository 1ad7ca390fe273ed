"""The objects of the demo, and the S3 that serves them."""

import socket

from tornado_proxy.cli.demo import open_demo_sockets, sample_objects
from tornado_proxy.config.server import Listener


def test_the_samples_include_difficult_listings():
    keys = [sample.key for sample in sample_objects()]
    assert len([key for key in keys if key.startswith("releases/nightly/")]) > 200
    assert {"releases/odd names/100% sure.txt", "releases/odd names/a+b.txt"} <= set(keys)


def test_releases_are_cached_longer_than_pages():
    """A release never changes under its key, but a page can."""
    cache_controls = {sample.key: sample.cache_control for sample in sample_objects()}
    assert cache_controls["releases/2.1.0/tool.tar.gz"] == "max-age=86400, immutable"
    assert cache_controls["site/index.html"] == "max-age=60"


def test_samples_have_content_types():
    types = {sample.key: sample.content_type for sample in sample_objects()}
    assert types["site/index.html"] == "text/html; charset=utf-8"
    assert types["site/assets/site.css"] == "text/css; charset=utf-8"
    assert types["site/assets/harbour.svg"] == "image/svg+xml; charset=utf-8"


def test_a_used_port_is_replaced_by_a_free_one():
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        sockets = open_demo_sockets(Listener("127.0.0.1", port))
        assert sockets.sockets[0].getsockname()[1] != port
        for each in sockets.sockets:
            each.close()
