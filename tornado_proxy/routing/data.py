"""What templates read, made of what routing knows."""

from __future__ import annotations

from tornado_proxy.config.model import Target
from tornado_proxy.routing.request import Facts
from tornado_proxy.templates.data import RequestData, TargetData


def target_data(target: Target) -> TargetData:
    """A target as templates see it."""
    bucket = target.bucket
    return TargetData(
        name=target.name,
        bucket_name=bucket.name,
        bucket_prefix=bucket.prefix,
        bucket_region=bucket.region,
        bucket_s3_endpoint=bucket.s3_endpoint or "",
        bucket_list_max_keys=bucket.list_max_keys,
        bucket_disable_ssl=bucket.disable_ssl,
        mount_host=target.mount.host,
        mount_paths=target.mount.paths,
    )


def request_data(facts: Facts) -> RequestData:
    """A request as templates see it."""
    return RequestData(
        method=facts.method,
        host=facts.host,
        path=facts.path,
        raw_query=facts.raw_query,
        query=facts.query,
        headers=facts.headers,
        scheme=facts.scheme,
        remote_address=facts.remote_address,
    )
