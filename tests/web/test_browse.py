"""A directory over HTTP: hidden names, the order of the listing, and the actions that it offers."""

import asyncio
import json
import re
import threading
import time
import zlib
from datetime import UTC, datetime

import pytest
from fakes import Staff
from markupsafe import Markup
from memory_store import MemoryStore
from serving import EVERYTHING, serve

from tornado_proxy.config.actions import Actions, GetAction, PutAction
from tornado_proxy.config.model import ListingOptions, Mount
from tornado_proxy.config.providers import AccessRule, Authorization, BasicUser, OidcProvider, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.pages import readme
from tornado_proxy.pages.limits import LARGEST_README
from tornado_proxy.storage.errors import UpstreamError
from tornado_proxy.web import browse
from tornado_proxy.web.limits import READMES_AT_ONCE

ANN = BasicUser("ann", Secret("test", "x"))


def _staff_settings(*resources):
    return {"resources": resources, "authenticators": {"staff": Staff()}}


def _names(answer):
    return re.findall(r"<bdi>([^<]+)</bdi></a></th>", answer.text)


FILES = dict.fromkeys([".git/x", "a10.txt", "a9.txt", "B/c", "z.tmp"], b"x")


async def test_a_listing_for_people_is_sorted_naturally():
    """Directories are first and numbers are sorted by value; the query can choose another order."""
    async with serve(FILES) as site:
        assert _names(await site.get("/", Accept="text/html")) == [".git/", "B/", "a9.txt", "a10.txt", "z.tmp"]
        descending = _names(await site.get("/?sort=name&order=desc", Accept="text/html"))
    assert descending == ["B/", ".git/", "z.tmp", "a10.txt", "a9.txt"]


async def test_directories_and_files_can_be_mixed():
    """With `directoriesFirst: false`, directories are sorted among the files."""
    async with serve(FILES, listing=ListingOptions(directories_first=False)) as site:
        assert _names(await site.get("/", Accept="text/html")) == [".git/", "a9.txt", "a10.txt", "B/", "z.tmp"]


async def test_json_and_text_have_the_order_of_s3():
    """JSON and text are sorted by name only with `?sort=name`."""
    async with serve(FILES) as site:
        plain = json.loads((await site.get("/?format=json")).body)["entries"]
        by_name = (await site.get("/?format=text&sort=name")).text.splitlines()
    assert [entry["name"] for entry in plain] == [".git/", "B/", "a10.txt", "a9.txt", "z.tmp"]
    assert [line.partition("\t")[0] for line in by_name] == [".git/", "B/", "a9.txt", "a10.txt", "z.tmp"]


@pytest.mark.parametrize("format_name", ["html", "json", "text"])
async def test_hidden_names_are_not_listed(format_name):
    """Hidden files and directories are missing in every format, but are still served."""
    async with serve(FILES, listing=ListingOptions(hidden=(".*", "*.tmp"))) as site:
        listing = await site.get(f"/?format={format_name}")
        hidden = await site.get("/z.tmp")
    assert "a9.txt" in listing.text
    assert ".git" not in listing.text
    assert "z.tmp" not in listing.text
    assert (hidden.status, hidden.body) == (200, b"x")


def _offered_actions(answer):
    return 'class="upload"' in answer.text, answer.text.count("data-removable")


@pytest.mark.parametrize(
    ("actions", "offered"),
    [(Actions(), (False, 0)), (Actions(put=PutAction(enabled=True)), (True, 0)), (EVERYTHING, (True, 3))],
)
async def test_only_enabled_actions_are_offered(actions, offered):
    async with serve(FILES, actions=actions) as site:
        assert _offered_actions(await site.get("/", Accept="text/html")) == offered


PUBLIC = Resource("/**", ("GET",), white_list=True)


@pytest.mark.parametrize(
    ("resources", "offered"),
    [
        ([Resource("/**", ("GET", "PUT", "DELETE"), provider="staff", users=(ANN,))], (True, 3)),
        ([Resource("/**", ("GET", "PUT"), provider="staff", users=(ANN,))], (True, 0)),
        ([PUBLIC, Resource("/**", ("PUT", "DELETE"), provider="staff", users=(ANN,))], (False, 0)),
        ([Resource("/a9.txt", ("DELETE",), provider="staff"), Resource("/**", ("GET",), provider="staff")], (False, 1)),
    ],
)
async def test_only_permitted_actions_are_offered(resources, offered):
    """An upload or a removal is offered only if the resources allow it to the user."""
    async with serve(FILES, **_staff_settings(*resources)) as site:
        assert _offered_actions(await site.get("/", Accept="text/html", Authorization="ann")) == offered


async def test_the_form_has_the_limits_of_uploads():
    put = PutAction(enabled=True, allow_override=True, max_size=7)
    async with serve({}, actions=Actions(put=put)) as site:
        html = (await site.get("/", Accept="text/html")).text
    assert 'aria-label="Upload" hidden data-replace data-max="7">' in html


README = {"README.md": b"# Hello\n\n<script>alert(1)</script>", "a": b""}


@pytest.mark.parametrize(
    ("listing", "target", "expected"),
    [
        (ListingOptions(readme=True), "/", True),
        (ListingOptions(), "/", False),
        (ListingOptions(readme=True, hidden=("README*",)), "/", False),
    ],
)
async def test_a_readme_is_shown_below_the_list(listing, target, expected):
    """With `readme: true`, the first page shows the sanitised README."""
    async with serve(README, listing=listing) as site:
        html = (await site.get(target, Accept="text/html")).text
    assert ("<h2>Hello</h2>" in html) == expected
    assert "alert" not in html


async def test_a_readme_is_shown_on_the_first_page_only():
    async with serve(README, listing=ListingOptions(readme=True)) as site:
        following = json.loads((await site.get("/?limit=1&format=json")).body)["next"]
        html = (await site.get(f"{following}&format=html", Accept="text/html")).text
    assert "<h2>Hello</h2>" not in html


@pytest.mark.parametrize("content", [b"x" * (LARGEST_README + 1), b"\xff\xfe", b""])
async def test_an_unusable_readme_is_left_out(content):
    async with serve({"README.md": content}, listing=ListingOptions(readme=True)) as site:
        answer = await site.get("/", Accept="text/html")
    assert answer.status == 200
    assert 'class="readme"' not in answer.text


async def test_a_listing_does_not_wait_for_a_slow_readme(monkeypatch):
    """After a few seconds, the listing is sent without its README."""

    class Slow(MemoryStore):
        async def open(self, key, conditions, part=None):
            await asyncio.sleep(30)
            raise AssertionError("the listing waited for its README")

    monkeypatch.setattr(browse.limits, "README_WITHIN", 0.05)
    store = Slow()
    store.add("README.md", b"text")
    async with serve(store, listing=ListingOptions(readme=True)) as site:
        answer = await site.get("/", Accept="text/html")
    assert (answer.status, 'class="readme"' in answer.text) == (200, False)


async def test_few_readmes_are_rendered_at_once(monkeypatch):
    """Each takes many megabytes: of two dozen that are asked for, one is rendered after the other."""
    rendering, most = [], []

    def render(_name, text):
        rendering.append(text)
        most.append(len(rendering))
        time.sleep(0.01)
        rendering.remove(text)
        return text

    monkeypatch.setattr(readme, "render_readme", render)
    monkeypatch.setattr(browse, "_RENDERED", {})
    files = {f"{number}/README.md": str(number).encode() for number in range(24)}
    async with serve(files, listing=ListingOptions(readme=True)) as site:
        pages = await asyncio.gather(*(site.get(f"/{number}/", Accept="text/html") for number in range(24)))
    assert all('class="readme"' in page.text for page in pages)
    assert max(most) <= READMES_AT_ONCE


async def test_a_readme_that_was_rendered_waits_for_no_other(monkeypatch):
    """It is kept, also for a listing that comes while another one of its target is rendered; that one goes on alone."""
    begun, resumed, rendered = threading.Event(), threading.Event(), []

    def render(name, text):
        rendered.append(text)
        if text == "slow":
            begun.set()
            resumed.wait(30)
        return Markup(text)

    monkeypatch.setattr(readme, "render_readme", render)
    monkeypatch.setattr(browse, "_RENDERED", {})
    async with serve({"a/README.md": b"quick", "b/README.md": b"slow"}, listing=ListingOptions(readme=True)) as site:

        async def shown(path):
            return 'class="readme"' in (await site.get(path, Accept="text/html")).text

        assert await shown("/a/")
        with monkeypatch.context() as patient:
            patient.setattr(browse.limits, "README_WITHIN", 0.2)
            assert not await shown("/b/")
        assert begun.is_set()
        assert await shown("/a/")
        resumed.set()
        assert await shown("/b/")
    assert rendered == ["quick", "slow"]


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
async def test_a_listing_in_an_unknown_format_is_refused(accept):
    async with serve({"d/a": b"x"}) as site:
        answer = await site.get("/d/?format=jsn", Accept=accept)
    assert (answer.status, answer.headers["content-type"].partition(";")[0]) == (400, accept)
    assert "A listing is available as html, json, text" in answer.text
    assert "archive" not in answer.text


async def test_the_directory_of_assets_offers_no_actions():
    """The page of this directory has neither uploads nor removals, and a note with the reason."""
    async with serve({".tornado-proxy/x.txt": b"x", "d/x.txt": b"x"}, actions=EVERYTHING) as site:
        reserved = (await site.get("/.tornado-proxy/", Accept="text/html")).text
        ordinary = (await site.get("/d/", Accept="text/html")).text
    note = "Nothing can be uploaded or deleted here"
    presence = [(text in reserved, text in ordinary) for text in ('class="upload"', "data-removable", note)]
    assert presence == [(False, True), (False, True), (True, False)]


@pytest.mark.parametrize(
    ("get", "put", "expected"),
    [
        (GetAction(), PutAction(enabled=True), set()),
        (GetAction(), PutAction(enabled=True, allow_override=True, direct_uploads=True), {"connect-src"}),
        (GetAction(redirect_to_signed_url=True), PutAction(), {"connect-src", "frame-src", "img-src", "media-src"}),
    ],
)
async def test_the_policy_of_a_page_allows_s3_if_necessary(get, put, expected):
    """The policy of a listing allows S3 only for direct uploads and signed URLs."""
    async with serve({"a.txt": b"x"}, actions=Actions(get=get, put=put)) as site:
        answer = await site.get("/", Accept="text/html")
    directives = answer.headers["content-security-policy"].split("; ")
    assert {
        directive.split()[0] for directive in directives if "https://memory.invalid" in directive.split()
    } == expected
    assert ("data-direct" in answer.text) == put.direct_uploads


async def test_a_listing_without_credentials_for_s3_is_shown():
    class Unsigned(MemoryStore):
        async def presign(self, key, expires):
            raise UpstreamError("there are no credentials")

    store = Unsigned()
    store.add("a.txt", b"x")
    async with serve(store, actions=Actions(get=GetAction(redirect_to_signed_url=True))) as site:
        answer = await site.get("/", Accept="text/html")
    assert (answer.status, _names(answer)) == (200, ["a.txt"])
    assert "connect-src 'self';" in answer.headers["content-security-policy"]


async def test_another_file_of_markdown_is_shown():
    """`readme` names the file of Markdown that is shown instead of the README; any other name shows the README."""
    files = {"README.md": b"*first*", "notes.md": b"*second*", "notes.txt": b"*third*"}
    async with serve(files, listing=ListingOptions(readme=True)) as site:
        notes = await site.get("/?readme=notes.md", Accept="text/html")
        others = [await site.get(f"/?readme={name}", Accept="text/html") for name in ("notes.txt", "missing.md")]
    assert "<em>second</em>" in notes.text
    assert 'data-name="notes.md"' in notes.text
    assert all("<em>first</em>" in other.text for other in others)


async def test_a_page_leads_to_the_sign_out_of_its_provider():
    """The link leads to the page of the provider with which the user signed in; others have no such page."""
    provider = OidcProvider("staff", GuardedUrl("https://issuer.test"), "me")
    settings = _staff_settings(Resource("/**", provider="staff"))
    for providers, link in (((provider,), 'href="/auth/staff/logout">Sign out</a>'), ((), "<bdi>ann</bdi></p>")):
        async with serve(FILES, providers=providers, **settings) as site:
            assert link in (await site.get("/", Accept="text/html", Authorization="ann")).text


async def test_a_403_leads_to_the_sign_out_of_its_provider():
    """Whoever signed in with the wrong account can leave it; without a user, there is nothing to leave."""
    provider = OidcProvider("staff", GuardedUrl("https://issuer.test"), "me")
    others = Authorization(accesses=(AccessRule(group="editors"),))
    settings = _staff_settings(Resource("/**", provider="staff", oidc=others))
    async with serve(FILES, providers=(provider,), **settings) as site:
        wrong = await site.get("/", Accept="text/html", Authorization="ann")
        nobody = await site.get("/", Accept="text/html")
    assert (wrong.status, 'href="/auth/staff/logout">Sign out</a>' in wrong.text) == (403, True)
    assert (nobody.status, "Sign out" in nobody.text) == (401, False)


MANY = {**{f"d/{number:04}": b"x" for number in range(2500)}, "d/sub/a": b"x"}
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
PIP = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html; q=0.1, text/html; q=0.01"


@pytest.mark.parametrize(
    ("accept", "entries"),
    [("*/*", 2501), (PIP, 2501), ("application/json, text/html;q=0.9", 2501), (BROWSER, 1000), ("text/html", 1000)],
)
async def test_who_asks_for_no_page_gets_the_whole_directory(accept, entries):
    """Browsers ask for `text/html` by name and for nothing rather; what all others get has no other page."""
    async with serve(MANY) as site:
        answer, head = [await site.request(method, "/d/", {"Accept": accept}) for method in ("GET", "HEAD")]
    assert len(set(re.findall(r"/d/[0-9s][0-9ub]+", answer.text))) == entries
    assert ("link" in answer.headers) == ("link" in head.headers) == (entries == 1000)
    assert answer.headers["vary"] == "Accept, Accept-Encoding"
    assert head.headers["content-length"] == answer.headers["content-length"] == str(len(answer.body))


@pytest.mark.parametrize(
    "query", ["format=json", "format=text", "format=json&sort=name&order=desc", "format=json&begins=1"]
)
async def test_json_and_text_have_the_whole_directory(query):
    """They have all entries, for a browser too, unless the query asks for pages."""
    async with serve(MANY) as site:
        whole, page = [await site.get(f"/d/?{query}{more}", Accept=BROWSER) for more in ("", "&limit=10")]
    named = set(re.findall(r"(?:^|\"name\": \")([0-9]{4}|sub/)", whole.text, re.MULTILINE))
    assert named == {
        name
        for name in (*(f"{number:04}" for number in range(2500)), "sub/")
        if "begins" not in query or name[0] == "1"
    }
    assert ("link" in whole.headers, "link" in page.headers) == (False, True)


async def test_a_program_gets_links_to_entries_only():
    """The listing has the title by which programs know one, and links to the entries and to the directory above."""
    files = {"d/a&b.txt": b"x", "d/c:d": b"xy", "d/e/f": b"x", "d/\n": b"x"}
    async with serve(files, mount=Mount("", ("/m/",))) as site:
        below, top = (await site.get("/m/d/")).text, (await site.get("/m/")).text
    assert "<title>Index of /m/d</title>\n" in below
    assert re.findall(r'<a href="([^"]+)">', below) == ["../", "/m/d/a%26b.txt", "/m/d/c:d", "/m/d/e/"]
    assert re.search(r"^␊ +[0-9]{2}-[A-Z][a-z]{2}-[0-9]{4} [0-9]{2}:[0-9]{2} +1$", below, re.MULTILINE)
    assert re.findall(r'<a href="([^"]+)">', top) == ["/m/d/"]


@pytest.mark.parametrize(("most", "status"), [(2501, 200), (2500, 403)])
@pytest.mark.parametrize("query", ["", "?format=json", "?format=text", "?sort=name"])
async def test_a_directory_beyond_the_limit_is_refused(most, status, query):
    """A program gets all or an error that says how to get the rest, never a part; people and `limit` have pages."""
    async with serve(MANY, listing=ListingOptions(max_entries=most)) as site:
        answer, head = [await site.request(method, f"/d/{query}") for method in ("GET", "HEAD")]
        pages = [await site.get("/d/", Accept=BROWSER), await site.get(f"/d/?limit=9&{query[1:]}")]
    assert (answer.status, head.status, [each.status for each in pages]) == (status, status, [200, 200])
    assert ("more than 2500 entries: ask for pages with “?limit=1000”" in answer.text) == (status == 403)


@pytest.mark.parametrize("coding", ["", "gzip"])
async def test_a_large_listing_is_kept_compressed(monkeypatch, coding):
    """What is sent piece by piece is what a listing has that is sent in one step."""
    store = MemoryStore(clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    for key, body in MANY.items():
        store.add(key, body)
    async with serve(store) as site:
        whole = await site.get("/d/?format=json")
        monkeypatch.setattr(browse.limits, "LISTED_WHOLE", 1000)
        answer = await site.get("/d/?format=json", Accept_Encoding=coding)
    body = zlib.decompressobj(31).decompress(answer.body) if coding else answer.body
    assert (answer.status, answer.complete, body) == (200, True, whole.body)


async def test_a_large_listing_has_a_place_before_it_is_read(monkeypatch):
    """Listings that wait for slow clients of others hold no more than the first answers of S3."""
    lists = []

    class Counting(MemoryStore):
        async def list(self, prefix, after=None, limit=1000):
            lists.append(after)
            return await super().list(prefix, after, limit)

    monkeypatch.setattr("tornado_proxy.wire.shares.PLACE_WITHIN", 0.0)
    monkeypatch.setattr(browse.limits, "ARCHIVES_AT_ONCE", 0)
    monkeypatch.setattr(browse.limits, "LISTS_WITHOUT_TURN", 2)
    async with serve(Counting(MANY)) as site:
        answer = await site.get("/d/?format=json")
    assert (answer.status, len(lists)) == (503, 2)
