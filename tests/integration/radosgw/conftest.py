"""A Ceph radosgw for the tests of this folder."""

from collections.abc import Iterator

import pytest
import real_s3
from stores import BucketUnderTest, new_bucket


@pytest.fixture(scope="session")
def radosgw() -> Iterator[real_s3.Endpoint]:
    """The endpoint of a running radosgw."""
    with real_s3.radosgw() as endpoint:
        yield endpoint


@pytest.fixture
def bucket(radosgw: real_s3.Endpoint) -> Iterator[BucketUnderTest]:
    """A new bucket in the radosgw."""
    with new_bucket(radosgw) as created:
        yield created
