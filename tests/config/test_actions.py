from __future__ import annotations

import pytest
from configurations import target

from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, HeadAction, PutAction
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
