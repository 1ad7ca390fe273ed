"""An S3 server in the test process, and a bucket for each test module."""

import logging
import re
from collections.abc import Iterator

import pytest
from running import Bucket


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """Runs an S3 server in this process, and returns its endpoint."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - slow to import, and only these tests need it

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def bucket(s3_endpoint, request) -> Iterator[Bucket]:
    """A bucket that only the module uses."""
    created = Bucket.create(s3_endpoint, re.sub(r"[^a-z0-9]+", "-", request.module.__name__.rpartition(".")[2].lower()))
    yield created
    created.client.close()
