from __future__ import annotations

import pytest
from configurations import complaints_about_target, target

from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, HeadAction, PutAction, SystemMetadata
from tornado_proxy.config.quantities import GIB


@pytest.mark.parametrize(
    ("actions", "methods"),
    [
        (Actions(), ("GET", "HEAD")),
        (Actions(put=PutAction(enabled=True), delete=DeleteAction(enabled=True)), ("GET", "HEAD", "PUT", "DELETE")),
        (Actions(get=GetAction(enabled=False), head=HeadAction(enabled=False)), ()),
    ],
)
def test_methods_are_those_that_are_enabled(actions, methods):
    """The methods stand in the order of an Allow header; GET and HEAD are on, PUT and DELETE off by default."""
    assert actions.methods == methods


def test_actions_are_read():
    """Each action has its switch, and GET and PUT their configuration."""
    text = """\
actions:
  GET:
    config:
      indexDocument: index.html
      redirectWithTrailingSlashForNotFoundFile: true
      disableListing: true
      redirectToSignedUrl: true
      signedUrlExpiration: 5m
  HEAD: {enabled: false}
  PUT: {enabled: true, config: {allowOverride: true, maxSize: 5GiB}}
  DELETE: {enabled: true}
"""
    get = GetAction(
        enabled=True,
        index_document="index.html",
        redirect_with_trailing_slash_for_not_found_file=True,
        disable_listing=True,
        redirect_to_signed_url=True,
        signed_url_expiration=300,
    )
    put = PutAction(enabled=True, allow_override=True, max_size=5 * GIB)
    assert target(text).actions == Actions(get, HeadAction(enabled=False), put, DeleteAction(enabled=True))


def test_properties_of_uploads_are_read():
    """Metadata by name, the headers of `systemMetadata`, storage class and canned ACL."""
    config = "{metadata: {Team: '{{ .Key }}'}, systemMetadata: {cacheControl: no-cache}, storageClass: GLACIER, cannedACL: private, rawUploads: true}"
    put = target(f"actions: {{PUT: {{enabled: true, config: {config}}}}}").actions.put
    assert (put.metadata, put.storage_class, put.canned_acl) == ((("Team", "{{ .Key }}"),), "GLACIER", "private")
    assert (put.system_metadata, put.raw_uploads) == (SystemMetadata(cache_control="no-cache"), True)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{metadata: {a: '{{ nope }}'}}", "is not a template: unknown function `nope`"),
        ("{metadata: {'a b': x}}", "cannot be `a b`"),
        ("{metadata: {a: x, A: y}}", "has `A` twice"),
        ("{storageClass: '{{'}", "is not a template"),
        ("{cannedACL: mine}", "cannedACL"),
    ],
)
def test_a_mistake_in_properties_of_uploads_is_found(config, message):
    """At load, and not at the first upload."""
    found = complaints_about_target(f"actions: {{PUT: {{enabled: true, config: {config}}}}}")
    assert any(message in each for _, each in found), found


def test_allowed_types_are_media_types():
    """Types and wildcards, without parameters; an empty list would allow nothing."""
    put = target("actions: {PUT: {enabled: true, config: {allowedTypes: [Image/*, application/pdf]}}}").actions.put
    assert put.allowed_types == ("image/*", "application/pdf")
    for wrong in ("[image]", "['*/*']", "['text/plain; charset=utf-8']", "[]"):
        assert complaints_about_target(f"actions: {{PUT: {{enabled: true, config: {{allowedTypes: {wrong}}}}}}}")
