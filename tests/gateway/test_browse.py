"""A directory over HTTP: hidden names, the order of its listing, and what it offers to its viewer."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from memory_store import MemoryStore
from serving import EVERYTHING, serve

from tornado_proxy.auth.authenticator import SignIn
from tornado_proxy.config.actions import Actions, GetAction, PutAction
from tornado_proxy.config.model import ListingOptions
from tornado_proxy.config.providers import BasicUser, OpaServer, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.gateway import browse
from tornado_proxy.pages.listing_view import LARGEST_README
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.storage.errors import UpstreamError
from tornado_proxy.templates.template import User

ANN = BasicUser("ann", Secret("test", "x"))


class _Staff:
    """An authenticator that accepts every name."""

    async def authenticate(self, facts, guard):
        name = dict(facts.headers).get("Authorization")
        return SignIn(User(name)) if name else Refuse(401, "nobody is signed in", challenge='Basic realm="Files"')


def _staff(*resources):
    return {"resources": resources, "authenticators": {"staff": _Staff()}}


def _shown(answer):
    return re.findall(r"<bdi>([^<]+)</bdi></a></th>", answer.text)


FILES = dict.fromkeys([".git/x", "a10.txt", "a9.txt", "B/c", "z.tmp"], b"x")


async def test_a_listing_for_people_is_sorted_naturally():
    """Directories stand first, numbers count as numbers; the query chooses another order."""
    async with serve(FILES) as site:
        assert _shown(await site.get("/", Accept="text/html")) == [".git/", "B/", "a9.txt", "a10.txt", "z.tmp"]
        turned = _shown(await site.get("/?sort=name&order=desc", Accept="text/html"))
    assert turned == ["B/", ".git/", "z.tmp", "a10.txt", "a9.txt"]


async def test_a_target_may_mix_directories_and_files():
    """With `directoriesFirst: false`, a directory stands where its name does."""
    async with serve(FILES, listing=ListingOptions(directories_first=False)) as site:
        assert _shown(await site.get("/", Accept="text/html")) == [".git/", "a9.txt", "a10.txt", "B/", "z.tmp"]


async def test_programs_get_s3s_order():
    """JSON and text are sorted only where the client asks."""
    async with serve(FILES) as site:
        plain = json.loads((await site.get("/?format=json")).body)["entries"]
        by_name = (await site.get("/?format=text&sort=name")).text.splitlines()
    assert [entry["name"] for entry in plain] == [".git/", "B/", "a10.txt", "a9.txt", "z.tmp"]
    assert [line.partition("\t")[0] for line in by_name] == [".git/", "B/", "a9.txt", "a10.txt", "z.tmp"]


@pytest.mark.parametrize("form", ["html", "json", "text"])
async def test_hidden_names_are_left_out_and_stay_there(form):
    """Patterns hide files and directories in every form; a hidden file is still served."""
    async with serve(FILES, listing=ListingOptions(hidden=(".*", "*.tmp"))) as site:
        listing = await site.get(f"/?format={form}")
        known = await site.get("/z.tmp")
    assert "a9.txt" in listing.text
    assert ".git" not in listing.text
    assert "z.tmp" not in listing.text
    assert (known.status, known.body) == (200, b"x")


def _offered(answer):
    return 'class="upload"' in answer.text, answer.text.count("data-removable")


@pytest.mark.parametrize(
    ("actions", "offered"),
    [(Actions(), (False, 0)), (Actions(put=PutAction(enabled=True)), (True, 0)), (EVERYTHING, (True, 3))],
)
async def test_only_what_the_target_allows_is_shown(actions, offered):
    """Uploads and removals are off by default; directories are never removed."""
    async with serve(FILES, actions=actions) as site:
        assert _offered(await site.get("/", Accept="text/html")) == offered


PUBLIC = Resource("/**", ("GET",), white_list=True)


@pytest.mark.parametrize(
    ("resources", "user", "offered"),
    [
        ([Resource("/**", ("GET", "PUT", "DELETE"), provider="staff", users=(ANN,))], "ann", (True, 3)),
        ([Resource("/**", ("GET", "PUT"), provider="staff", users=(ANN,))], "ann", (True, 0)),
        ([PUBLIC, Resource("/**", ("PUT", "DELETE"), provider="staff", users=(ANN,))], "ann", (False, 0)),
        (
            [
                Resource("/a9.txt", ("DELETE",), provider="staff", users=(ANN,)),
                Resource("/**", ("GET",), provider="staff", users=(ANN,)),
            ],
            "ann",
            (False, 1),
        ),
        (
            [
                Resource(
                    "/**",
                    ("GET", "PUT", "DELETE"),
                    provider="staff",
                    users=(ANN,),
                    opa=OpaServer("http://127.0.0.1:1/x"),
                )
            ],
            "ann",
            (True, 3),
        ),
    ],
)
async def test_only_what_the_viewer_may_is_shown(resources, user, offered):
    """A removal or an upload is offered if the resources allow it to the user."""
    parts = _staff(*resources)
    async with serve(FILES, **parts) as site:
        if resources[0].opa is None:
            assert _offered(await site.get("/", Accept="text/html", Authorization=user)) == offered
        else:
            # The policy server is not there: the listing itself is refused, and nothing is shown.
            assert (await site.get("/", Accept="text/html", Authorization=user)).status == 500


async def test_the_form_says_what_an_upload_may_be():
    """The page has `allowOverride` and `maxSize` of the target."""
    put = PutAction(enabled=True, allow_override=True, max_size=7)
    async with serve({}, actions=Actions(put=put)) as site:
        html = (await site.get("/", Accept="text/html")).text
    assert 'aria-label="Upload" hidden data-replace data-max="7">' in html


README = {"README.md": b"# Hello\n\n<script>alert(1)</script>", "a": b""}


@pytest.mark.parametrize(
    ("listing", "target", "shown"),
    [
        (ListingOptions(readme=True), "/", True),
        (ListingOptions(), "/", False),
        (ListingOptions(readme=True, hidden=("README*",)), "/", False),
        (ListingOptions(readme=True), "/?after=L0E&limit=1", False),
    ],
)
async def test_a_readme_stands_below_the_list(listing, target, shown):
    """With `readme: true`, the first page shows the README, sanitised."""
    async with serve(README, listing=listing) as site:
        html = (await site.get(target, Accept="text/html")).text
    assert ("<h2>Hello</h2>" in html) == shown
    assert "alert" not in html


@pytest.mark.parametrize("content", [b"x" * (LARGEST_README + 1), b"\xff\xfe", b""])
async def test_a_readme_that_cannot_be_shown_is_left_out(content):
    """A README that is too large or not text is left out."""
    async with serve({"README.md": content}, listing=ListingOptions(readme=True)) as site:
        answer = await site.get("/", Accept="text/html")
    assert answer.status == 200
    assert 'class="readme"' not in answer.text


async def test_a_listing_does_not_wait_for_a_slow_readme(monkeypatch):
    """A listing does not wait longer than a few seconds for its README."""

    class Slow(MemoryStore):
        async def open(self, key, conditions, part=None):
            await asyncio.sleep(30)
            raise AssertionError("nobody waits so long")

    monkeypatch.setattr(browse, "_PATIENCE", 0.05)
    store = Slow()
    store.add("README.md", b"text")
    async with serve(store, listing=ListingOptions(readme=True)) as site:
        answer = await site.get("/", Accept="text/html")
    assert (answer.status, 'class="readme"' in answer.text) == (200, False)


async def test_a_readme_is_read_where_the_rules_say_and_by_whom_they_let():
    """The README is the file that a GET of its path would return, if the viewer may read it."""
    listing = ListingOptions(readme=True)
    files = {"d/README.md": b"old", "new": b"moved"}
    async with serve(files, rules='rewrite `^/d/README.md$` -> "/new"', listing=listing) as site:
        assert "<p>moved</p>" in (await site.get("/d/", Accept="text/html")).text
    closed = _staff(Resource("/d/README.md", provider="staff", users=(ANN,)), Resource("/**", white_list=True))
    async with serve(files, listing=listing, **closed) as site:
        assert 'class="readme"' not in (await site.get("/d/", Accept="text/html")).text


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
async def test_a_listing_in_an_unknown_format_is_refused(accept):
    """A mistyped format is a 400 that names the formats, in the form that Accept asks for."""
    async with serve({"d/a": b"x"}) as site:
        answer = await site.get("/d/?format=jsn", Accept=accept)
    assert (answer.status, answer.headers["content-type"].partition(";")[0]) == (400, accept)
    assert "A listing is available as html, json, text" in answer.text
    assert "archive" not in answer.text


async def test_nothing_is_offered_where_the_files_of_pages_are():
    """Below the assets, the page offers neither uploads nor removals, and says why."""
    async with serve({".tornado-proxy/x.txt": b"x", "d/x.txt": b"x"}, actions=EVERYTHING) as site:
        reserved = (await site.get("/.tornado-proxy/", Accept="text/html")).text
        other = (await site.get("/d/", Accept="text/html")).text
    note = "Nothing can be uploaded or deleted here"
    shown = [(each in reserved, each in other) for each in ('class="upload"', "data-removable", note)]
    assert shown == [(False, True), (False, True), (True, False)]


@pytest.mark.parametrize(
    ("get", "put", "named"),
    [
        (GetAction(), PutAction(enabled=True), set()),
        (GetAction(), PutAction(enabled=True, allow_override=True, direct_uploads=True), {"connect-src"}),
        (
            GetAction(redirect_to_signed_url=True),
            PutAction(),
            {"connect-src", "img-src", "media-src"},
        ),
    ],
)
async def test_a_page_may_reach_s3_where_it_has_to(get, put, named):
    """The policy of a listing allows S3 for direct uploads and signed URLs."""
    async with serve({"a.txt": b"x"}, actions=Actions(get=get, put=put)) as site:
        answer = await site.get("/", Accept="text/html")
    directives = answer.headers["content-security-policy"].split("; ")
    assert {each.split()[0] for each in directives if "https://memory.invalid" in each.split()} == named
    assert ("data-direct" in answer.text) == put.direct_uploads


async def test_a_page_without_credentials_for_s3_names_no_origin():
    """A listing is shown even if nothing can be signed."""

    class Unsigned(MemoryStore):
        async def presign(self, key, expires):
            raise UpstreamError("there are no credentials")

    store = Unsigned()
    store.add("a.txt", b"x")
    async with serve(store, actions=Actions(get=GetAction(redirect_to_signed_url=True))) as site:
        answer = await site.get("/", Accept="text/html")
    assert (answer.status, _shown(answer)) == (200, ["a.txt"])
    assert "connect-src 'self';" in answer.headers["content-security-policy"]
