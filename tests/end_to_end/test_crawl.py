"""Listing pages behind a rewrite and a prefix, crawled: every link leads to its object."""

import json
import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest
from running import Response, start_proxy

CONFIGURATION = """
rules: [rules]
targets:
  files:
    mount: {{path: [/m]}}
    bucket: {{name: {name}, prefix: /pre fix/, s3Endpoint: "{endpoint}", s3ForcePathStyle: true, s3ListMaxKeys: 7}}
    actions: {{GET: {{config: {{redirectWithTrailingSlashForNotFoundFile: true}}}}}}
"""

RULES = 'target files { rewrite `^/public/(?P<rest>.*)$` -> "/inner/secret place/$rest" }'

NAMES = [
    "plain.txt", "with space.txt", "a+b.txt", "100%.txt", "what?.txt", "sharp#1.txt", "quote'\".txt", "<b>bold</b>.txt",
    "semi;colon&amp.txt", "colon:name", "日本語.txt", "Ä\u0308.txt", "emoji😀.txt", "back\\slash", "tilde~.txt", "=@,!$()*",
    "sub dir/deep/er.txt", "sub dir/x%2Fy.txt", "a//double.txt", "%41.txt", "javascript:alert(1)", "//host/x",
]  # fmt: skip


def _links(page: str) -> list[str]:
    """The targets of the links of an HTML page."""
    return [unescape(link) for link in re.findall(r'<a\b[^>]*? href="([^"]*)"', page)]


@pytest.fixture(scope="module")
def proxy(bucket, tmp_path_factory):
    """A server with one listing, which is reached through a rewrite."""
    for name in NAMES:
        bucket.put(f"pre fix/inner/secret place/{name}", name.encode())
    bucket.put("pre fix/inner/secret place/", b"")
    bucket.put("pre fix/inner/secret placement/other.txt", b"never to be seen")
    configuration = CONFIGURATION.format(name=bucket.name, endpoint=bucket.endpoint)
    with start_proxy(tmp_path_factory.mktemp("crawl"), configuration, files=RULES) as started:
        yield started


def _is_page(answer: Response) -> bool:
    return answer.headers["content-type"].startswith("text/html")


def _crawl(proxy, start: str) -> Iterator[Response]:
    """Yields the answer for every page and file that links lead to below `start`."""
    pending, seen = [start], set()
    while pending:
        path = pending.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = proxy.request("GET", path, headers={"Accept": "text/html"})
        assert answer.status == 200, path
        yield answer
        if _is_page(answer):
            links = (urljoin(path, link) for link in _links(answer.text))
            pending.extend(link for link in links if urlsplit(link).path.startswith(start))


def test_every_object_is_reached_by_links_alone(proxy):
    """A crawl from the top reaches each object once, whatever characters its name has."""
    files = [answer.text for answer in _crawl(proxy, "/m/public/") if not _is_page(answer)]
    assert sorted(files) == sorted(NAMES)


def test_no_page_shows_the_prefix_or_the_rewritten_key(proxy):
    for page in filter(_is_page, _crawl(proxy, "/m/public/")):
        shown = page.text + str(page.headers)
        assert "secret" not in shown
        assert "pre fix" not in shown


def test_a_slash_redirect_keeps_the_request_path(proxy):
    answer = proxy.request("GET", "/m/public/sub%20dir?x=1")
    assert (answer.status, answer.headers["location"]) == (302, "/m/public/sub%20dir/?x=1")


def test_the_json_listing_has_the_same_links(proxy):
    """A program that follows `href` and `next` of the JSON listing reaches the same names."""
    path, names = "/m/public/", []
    while path:
        page = json.loads(proxy.request("GET", path, headers={"Accept": "application/json"}).body)
        names.extend(entry["name"] for entry in page["entries"])
        path = page["next"] and urljoin(path, page["next"])
    assert "with space.txt" in names
    assert len(names) == len(set(names)) == len({name.split("/")[0] + "/" * ("/" in name) for name in NAMES})
