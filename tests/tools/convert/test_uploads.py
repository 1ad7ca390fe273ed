from __future__ import annotations

import pytest
from conversions import target

from tornado_proxy.config.actions import SystemMetadata
from tornado_proxy.tools.convert.report import OptionOutcome


def _put(config):
    return target(f"actions: {{PUT: {{enabled: true, config: {config}}}}}")


def test_properties_of_uploads_are_carried_over():
    """Templates stay as they are."""
    done = _put(
        "{allowOverride: true, metadata: {Team: '{{ .Key }}', none: ''}, storageClass: STANDARD_IA, cannedACL: private,"
        " systemMetadata: {cacheControl: no-cache, expires: '2065-10-21T07:28:00Z'}}"
    )
    put = done.settings.targets[0].actions.put
    assert (put.metadata, put.storage_class, put.canned_acl) == ((("team", "{{ .Key }}"),), "STANDARD_IA", "private")
    assert put.system_metadata == SystemMetadata(cache_control="no-cache", expires="2065-10-21T07:28:00Z")
    assert done.messages(OptionOutcome.LEFT_OUT) == done.messages(OptionOutcome.CHANGED) == []


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("cannedACL: mine", "`mine` is not a canned ACL"),
        ("storageClass: '{{ nope }}'", "it is not a template: unknown function `nope`"),
        ("metadata: {'a b': x}", "it cannot be `a b`"),
    ],
)
def test_what_cannot_be_here_is_left_out(option, message):
    """An option that s3-proxy would refuse at the first upload, or S3 would."""
    done = _put(f"{{allowOverride: true, {option}}}")
    assert done.messages(OptionOutcome.LEFT_OUT) == [message]
