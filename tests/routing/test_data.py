from tornado_proxy.config.model import Bucket, Mount, Target
from tornado_proxy.routing.data import request_data, target_data
from tornado_proxy.routing.keys import parse_request_path
from tornado_proxy.routing.request import Facts
from tornado_proxy.templates.data import RequestData, TargetData


def test_templates_see_the_target():
    """A template reads the target's name, bucket and mount, and nothing that is secret."""
    bucket = Bucket("files", "folder1/", region="eu-west-1", s3_endpoint="http://s3", disable_ssl=True, list_max_keys=5)
    assert target_data(Target("site", Mount("*.x", ("/m/",)), bucket)) == TargetData(
        name="site",
        bucket_name="files",
        bucket_prefix="folder1/",
        bucket_region="eu-west-1",
        bucket_s3_endpoint="http://s3",
        bucket_list_max_keys=5,
        bucket_disable_ssl=True,
        mount_host="*.x",
        mount_paths=("/m/",),
    )


def test_an_endpoint_that_is_not_configured_is_empty():
    """A template reads text, never none, of an endpoint that boto3 chooses."""
    assert target_data(Target("site", Mount(), Bucket("b"))).bucket_s3_endpoint == ""


def test_templates_see_the_request():
    """A template reads the request as it was asked: its path decoded, mount included, all else as sent."""
    path = parse_request_path("/m/a%20b")
    pairs = (("X-Team", "red"),)
    facts = Facts("PUT", path, "x.com", "q=1", (("q", "1"),), pairs, "https", "192.0.2.1")
    assert request_data(facts) == RequestData(
        "PUT", "x.com", "/m/a b", "q=1", (("q", "1"),), pairs, "https", "192.0.2.1"
    )
