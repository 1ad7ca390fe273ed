"""An S3 for the program to ask, and a bucket for each module of tests."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import pytest
from running import Bucket


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """The endpoint of an S3 in this process."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - slow to import, and only these tests need it

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def bucket(s3_endpoint, request) -> Iterator[Bucket]:
    """A bucket of the module's own."""
    made = Bucket.create(s3_endpoint, re.sub(r"[^a-z0-9]+", "-", request.module.__name__.rpartition(".")[2].lower()))
    yield made
    made.client.close()
