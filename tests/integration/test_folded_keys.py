"""What real stores read as one key: the table of docs/routing.md, and the access rules in front of them."""

import re
import unicodedata
from pathlib import Path

import pytest
import real_s3
from botocore.exceptions import ClientError
from coroutines import run
from serving import serve
from stores import new_bucket

from tornado_proxy.auth.authenticator import HeaderAuthenticator
from tornado_proxy.config.providers import HeaderProvider, Resource
from tornado_proxy.config.server import S3Pool
from tornado_proxy.s3.store import S3Store

pytestmark = pytest.mark.integration

KEY, SECRET = "private/é", b"what only some may read"
_DOCS = Path(__file__).parents[2] / "docs" / "routing.md"
_ROW = re.compile(r"\| `([^`]*é\.?)`( with a combining accent)? \| (.+?) \| (.+?) \|")
STORES = {"versitygw": real_s3.versitygw, "radosgw": real_s3.radosgw}
ROWS = [
    (unicodedata.normalize("NFD", key) if accent else key, dict(zip(STORES, said, strict=True)))
    for key, accent, *said in _ROW.findall(_DOCS.read_text(encoding="utf-8"))
]


@pytest.fixture(scope="module", params=STORES)
def bucket(request):
    """A bucket of a real store, with the secret in it."""
    with STORES[request.param]() as endpoint, new_bucket(endpoint) as created:
        endpoint.client.put_object(Bucket=created.name, Key=KEY, Body=SECRET)
        yield request.param, endpoint, created.name


def test_a_store_reads_keys_as_documented(bucket):
    """Each spelling of the table is the same object or another."""
    name, endpoint, bucket_name = bucket
    assert len(ROWS) == 7
    for key, said in ROWS:
        if said[name] == "the same":
            assert endpoint.client.get_object(Bucket=bucket_name, Key=key)["Body"].read() == SECRET
        else:
            with pytest.raises(ClientError, match="NoSuchKey"):
                endpoint.client.get_object(Bucket=bucket_name, Key=key)


def test_no_spelling_leads_past_the_resources_of_a_real_store(bucket):
    _, endpoint, bucket_name = bucket
    resources = [Resource("/private/**", provider="front"), Resource("/**", white_list=True)]
    settings = endpoint.bucket(bucket_name)
    plain = ("//private/é", "/%2Fprivate/é", "/private//é", "/./private/é")
    spellings = (*plain, "/%2e/private/é", "/x/../private/é", "/x//../private/é")
    front = {"front": HeaderAuthenticator(HeaderProvider("front", "X-User", "X-Email"))}

    async def check():
        store = S3Store(settings, S3Pool(4))
        async with serve(store, bucket=settings, resources=resources, authenticators=front) as site:
            for path in ("/private/é", *spellings):
                answer = await site.get(path)
                assert answer.status in (400, 401), path
                assert SECRET not in answer.body

    run(check())
