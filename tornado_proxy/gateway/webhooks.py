"""The body of webhooks, with the fields of s3-proxy's."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tornado_proxy.config.actions import Actions, Webhook
from tornado_proxy.gateway.perform import RequestContext
from tornado_proxy.gateway.upload import stored_type
from tornado_proxy.routing.plan import Attempt, Browse, Receive, Remove, Serve
from tornado_proxy.telemetry.events import ObjectUsed


def object_used(attempt: Attempt, context: RequestContext) -> ObjectUsed | None:
    """Returns the event of a successful attempt; None without a webhook for its method."""
    site, method = context.match.site, context.request.method
    webhooks = _webhooks(site.target.actions, method)
    if not webhooks or not isinstance(attempt, Serve | Browse | Receive | Remove):
        return None
    bucket = site.target.bucket
    output = {"bucket": bucket.name, "region": bucket.region}
    if bucket.s3_endpoint:
        output["s3Endpoint"] = bucket.s3_endpoint
    output["key"] = attempt.prefix if isinstance(attempt, Browse) else attempt.key
    body = {
        "action": method,
        "requestPath": context.path_below_mount,
        "outputMetadata": output,
        "target": {"name": site.target.name},
    }
    if isinstance(attempt, Receive):
        body["inputMetadata"] = _upload(context)
    elif not isinstance(attempt, Remove):
        body["inputMetadata"] = _conditions(context)
    return ObjectUsed(webhooks, site.target.name, method, body)


def _webhooks(actions: Actions, method: str) -> tuple[Webhook, ...]:
    match method:
        case "GET":
            return actions.get.webhooks
        case "HEAD":
            return actions.head.webhooks
        case "PUT":
            return actions.put.webhooks
        case _:
            return actions.delete.webhooks


def _upload(context: RequestContext) -> dict[str, Any]:
    upload = context.upload
    assert upload is not None
    return {"filename": upload.file_name, "contentType": stored_type(upload), "contentSize": upload.size}


def _conditions(context: RequestContext) -> dict[str, str]:
    headers, conditions = context.headers, context.conditions
    fields = {
        "ifModifiedSince": _moment(conditions.if_modified_since),
        "ifMatch": headers.get("If-Match", ""),
        "ifNoneMatch": headers.get("If-None-Match", ""),
        "ifUnmodifiedSince": _moment(conditions.if_unmodified_since),
    }
    return fields | {"range": headers.get("Range", "")} if context.request.method == "GET" else fields


def _moment(moment: datetime | None) -> str:
    """Formats a time as RFC 3339; empty for None."""
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
