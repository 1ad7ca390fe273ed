"""The demo's objects, and the S3 that holds them."""

from __future__ import annotations

import socket

from running import Bucket

from tornado_proxy.config.server import Listener
from tornado_proxy.service.demo import BUCKET, open_demo_sockets, sample_objects, sample_s3


def test_the_samples_show_what_listings_must_cope_with():
    """There are more nightly builds than a page of the demo holds, and names that need escaping."""
    keys = [sample.key for sample in sample_objects()]
    assert len([key for key in keys if key.startswith("releases/nightly/")]) > 200
    assert {"releases/odd names/100% sure.txt", "releases/odd names/a+b.txt"} <= set(keys)


def test_releases_are_kept_longer_than_pages():
    """A release never changes under its key; a page may."""
    kept = {sample.key: sample.cache_control for sample in sample_objects()}
    assert kept["releases/2.1.0/tool.tar.gz"] == "max-age=86400, immutable"
    assert kept["site/index.html"] == "max-age=60"


def test_every_sample_has_a_type_that_a_browser_shows():
    """Pages, styles and pictures have their own types."""
    types = {sample.key: sample.content_type for sample in sample_objects()}
    assert types["site/index.html"] == "text/html; charset=utf-8"
    assert types["site/assets/site.css"] == "text/css; charset=utf-8"
    assert types["site/assets/harbour.svg"] == "image/svg+xml"


def test_the_sample_s3_answers_with_the_objects():
    """The in-process S3 holds the samples under their keys."""
    with sample_s3() as endpoint:
        bucket = Bucket(endpoint, BUCKET)
        assert bucket.get("team/shared/agenda.txt").startswith(b"Agenda")
        bucket.client.close()


def test_a_port_that_is_taken_is_replaced_by_a_free_one():
    """A newcomer whose port 8080 is in use sees the demo all the same."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sockets = open_demo_sockets(Listener("127.0.0.1", port))
        assert sockets.sockets[0].getsockname()[1] != port
        sockets.close()
