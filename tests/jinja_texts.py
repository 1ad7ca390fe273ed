"""A function that compiles a Jinja template for a source with groups, and renders it for one request."""

from gotemplate.regexp.matching import Captures
from tornado_proxy.semantics.request import Request, User
from tornado_proxy.templates.jinja import compile_template
from tornado_proxy.templates.template import TargetData, TargetKeyRewriteData

CAPTURES = Captures(("/a/b", "b", None, "x"), {"rest": 1, "none": 2, "items": 3})
USER = User("ann", email="a@b", groups=("g1", "g2"), name="Ann A.")
QUERY = (("q", "1"), ("q", "2"), ("empty", ""))
HEADERS = (("X-Tenant", "acme"), ("x-tenant", "other"), ("Host", "example.org"))
REQUEST = Request("PUT", "example.org", "/m/a/b", "q=1&q=2", QUERY, HEADERS, "https", "192.0.2.1")
TARGET = TargetData("site", "bucket-1", "pre/", "eu-west-1", mount_host="example.org", mount_paths=("/m",))


def rendered(text: str, user: User | None = USER) -> str:
    """The output of a template."""
    template = compile_template(text, CAPTURES.names, 3)
    return template.render(CAPTURES, TargetKeyRewriteData("/a/b", user, REQUEST, TARGET))
