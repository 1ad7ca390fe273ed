"""An S3 server in the test process, and a bucket for each test module."""

import re
from collections.abc import Iterator

import pytest
from running import Bucket, new_bucket


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """Runs an S3 server in this process, and returns its endpoint."""
    from real_s3 import moto  # noqa: PLC0415 - slow to import, and only these tests need it

    with moto() as endpoint:
        yield endpoint.url


@pytest.fixture(scope="module")
def bucket(s3_endpoint, request) -> Iterator[Bucket]:
    """A bucket that only the module uses."""
    name = re.sub(r"[^a-z0-9]+", "-", request.module.__name__.rpartition(".")[2].lower())
    with new_bucket(s3_endpoint, name) as created:
        yield created
