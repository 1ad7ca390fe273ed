import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear_time import check_linear, texts_of

from tornado_proxy.config.actions import Actions, PutAction
from tornado_proxy.config.checks import Uploads
from tornado_proxy.config.model import Bucket, Target

PREFIXES = st.lists(st.sampled_from(["a/", "b/", "ab/"]), max_size=3).map("".join)
WRITABLE = Actions(put=PutAction(enabled=True))


def _uploader(bucket):
    return Target("files", bucket=bucket, actions=WRITABLE)


@given(st.lists(PREFIXES), PREFIXES)
def test_uploads_reach_what_lies_within_one_of_the_prefixes(prefixes, served):
    """A target has what another one takes if the prefix of one begins with that of the other."""
    uploads = Uploads(_uploader(Bucket("b", each)) for each in prefixes)
    reached = any(each.startswith(served) or served.startswith(each) for each in prefixes)
    assert (uploads.within(Bucket("b", served)) is not None) == reached


def test_many_targets_that_share_a_bucket_take_linear_time():
    """Each of them is looked up among all."""
    targets = [_uploader(Bucket("b", f"p{number}/")) for number in range(4000)]

    def read(text: str) -> None:
        some = targets[: len(text)]
        uploads = Uploads(some)
        for each in some:
            assert uploads.within(each.bucket)
            assert uploads.above(each.bucket, f"{each.bucket.prefix}page.tpl")

    check_linear(read, texts_of(["a"], [""], [""]), len(targets))


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (Bucket("b"), Bucket("b", region="eu-west-1"), True),
        (Bucket("b"), Bucket("b", s3_endpoint="https://s3.eu-west-1.amazonaws.com"), True),
        (Bucket("b"), Bucket("c"), False),
        (Bucket("b", s3_endpoint="http://S3.test"), Bucket("b", s3_endpoint="s3.test:80", disable_ssl=True), True),
        (Bucket("b", s3_endpoint="http://s3.test"), Bucket("b", s3_endpoint="http://s3.test:9000"), False),
        (Bucket("b", "p/", leading_slash=True), Bucket("b", "p/"), True),
        (Bucket("b", "p/", leading_slash=True, folding=()), Bucket("b", "p/", folding=()), False),
    ],
)
def test_a_bucket_is_known_by_its_name_and_its_store(one, other, is_same):
    """The host and the port of the endpoint tell stores apart, however they are written."""
    assert (Uploads([_uploader(one)]).within(other) is not None) == is_same


def test_a_key_is_reached_from_the_prefixes_above_it():
    """A template that lies beside a prefix cannot be uploaded."""
    uploads = Uploads([_uploader(Bucket("b", "site/drop/"))])
    assert uploads.above(Bucket("b"), "site/drop/page.tpl") is not None
    assert uploads.above(Bucket("b"), "site/page.tpl") is None
    assert uploads.above(Bucket("b"), "site/dropped.tpl") is None
