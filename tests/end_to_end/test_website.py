"""The site of docs/which.md that leaves S3's website endpoint."""

import re

import pytest
from programs import ROOT
from running import start_proxy

from tornado_proxy.cli.main import main

PAGE = (ROOT / "docs" / "which.md").read_text(encoding="utf-8").partition("## From S3's website")[2]
(CONFIGURATION,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
ROUTING_RULES = """{"RoutingRules": [
    {"Condition": {"KeyPrefixEquals": "2019/"}, "Redirect": {"ReplaceKeyPrefixWith": "archive/2019/"}},
    {"Condition": {"KeyPrefixEquals": "shop/", "HttpErrorCodeReturnedEquals": "404"},
     "Redirect": {"Protocol": "https", "HostName": "shop.example.org", "ReplaceKeyPrefixWith": "", "HttpRedirectCode": "302"}}
]}
"""
RULES = """target site {
    redirect 301 `^/2019/(?P<rest>.*)$` -> "/archive/2019/${rest}"
    redirect if missing 302 `^/shop/(?P<rest>.*)$` -> "https://shop.example.org/${rest}"

    test "/2019/a/b" -> redirect 301 "/archive/2019/a/b"
    test "/shop/a/b" -> redirect 302 "https://shop.example.org/a/b"
}
"""
ERROR = b"<h1>Not here</h1>"


@pytest.fixture(scope="module", params=["loop", "executor"])
def site(bucket, tmp_path_factory, request):
    """The configuration of the page and converted rules, served from a bucket."""
    for key, content in {"index.html": b"home", "docs/index.html": b"docs", "error.html": ERROR}.items():
        bucket.put(key, content, ContentType="text/html")
    bucket.put("old.html", WebsiteRedirectLocation="/docs/")
    bucket.put("shop/kept.html", b"kept")
    bucket.put("empty/x", b"")
    place = f'{{name: {bucket.name}, s3Endpoint: "{bucket.endpoint}", s3ForcePathStyle: true}}'
    configuration = f"s3: {{reads: {request.param}}}\n" + CONFIGURATION.replace("{name: my-site}", place)
    with start_proxy(tmp_path_factory.mktemp("site"), configuration, site=RULES) as running:
        yield running


def test_the_rules_are_what_the_routing_rules_become(tmp_path, capsys):
    """The command of the page makes rules of what AWS prints."""
    (tmp_path / "website.json").write_text(ROUTING_RULES)
    assert main(["convert", "redirects", str(tmp_path / "website.json")]) == 0
    assert capsys.readouterr().out == RULES


@pytest.mark.parametrize(
    ("path", "status", "location", "body"),
    [
        ("/", 200, None, b"home"),
        ("/docs", 302, "/docs/", b""),
        ("/old.html", 301, "/docs/", b""),
        ("/nothing", 404, None, ERROR),
        ("/empty/", 404, None, ERROR),
        ("/2019/a%20b.html?x=1", 301, "/archive/2019/a%20b.html?x=1", b""),
        ("/shop/kept.html", 200, None, b"kept"),
        ("/shop/a", 302, "https://shop.example.org/a", b""),
    ],
)
def test_a_site_answers_as_at_its_website_endpoint(site, path, status, location, body):
    """Index and error documents, redirects of objects and routing rules, by GET and by HEAD."""
    answer, head = site.request("GET", path), site.request("HEAD", path)
    assert (answer.status, answer.headers.get("location"), answer.body) == (status, location, body)
    assert (head.status, head.headers.get("location"), head.body) == (status, location, b"")
