"""Configurations with which s3-proxy does not start: nothing would run as before."""

from __future__ import annotations

import re

import pytest
from conversions import made

from tornado_proxy.tools.convert.options import Unreadable

TARGET = "targets: {site: {mount: {path: [/]}, bucket: {name: b}}}"

REFUSED = {
    "targets: {site: {mount: {path: [files/]}, bucket: {name: b}}}": "the mount path `files/` lacks a slash at an end",
    "targets: {site: {mount: {path: [/files]}, bucket: {name: b}}}": "the mount path `/files` lacks a slash at an end",
    f"{TARGET}\nlistTargets: {{enabled: true, mount: {{path: [/list]}}}}": "the mount path `/list` lacks a slash",
    f"{TARGET}\nlistTargets: {{enabled: true}}": "`listTargets` has no `mount`",
    "targets: {site: {mount: {path: [/]}, bucket: {name: b}, actions: {GET: {enabled: false}}}}": (
        "`targets.site.actions` enables no action"
    ),
    "targets: {site: {mount: {path: [/]}, bucket: {name: b}, actions: {GET: {enabled: true, config: {signedUrlExpiration: 8d}}}}}": (
        "`8d` is not a duration"
    ),
    f"{TARGET}\nserver: {{timeouts: {{readTimeout: soon}}}}": "`soon` is not a duration",
    f"{TARGET}\nserver: {{port: 0}}": "`server.port` is 0",
    f"{TARGET}\nlog: {{level: loud}}": "`loud` is not a level",
}


@pytest.mark.parametrize(("text", "objection"), REFUSED.items())
def test_what_s3_proxy_does_not_start_with_is_refused(text, objection):
    """The message has the place, and says that it never ran."""
    with pytest.raises(Unreadable, match=rf"0\.yaml:\d+: {re.escape(objection)}.*, so that s3-proxy does not start"):
        made(text)


def test_a_page_of_a_target_without_a_template_is_refused():
    """s3-proxy starts with it, and answers 500 whenever the page is wanted."""
    text = "targets: {site: {mount: {path: [/]}, bucket: {name: b}, templates: {put: {path: '', status: 204}}}}"
    with pytest.raises(Unreadable, match=re.escape("`targets.site.templates.put` has no `path`")):
        made(text)
