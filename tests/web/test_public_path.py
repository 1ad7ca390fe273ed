"""A proxy in front takes a path off: what clients are told begins with it."""

import json
import re

import pytest
from serving import part, serve

from tornado_proxy.config.actions import Actions, GetAction, PutAction
from tornado_proxy.config.model import Mount
from tornado_proxy.config.providers import OidcProvider
from tornado_proxy.config.server import Server
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.pages.custom import Recipe

FILES = {"d/a.txt": b"x", "d/b/c": b"x", "t.html": b"x"}
REDIRECTS = Actions(
    GetAction(redirect_with_trailing_slash_for_not_found_file=True), put=PutAction(enabled=True, raw_uploads=True)
)
TRUSTED = Server(trusted_proxies=("127.0.0.1/32",))
FIXED = Server(public_path="/files")
STRIPPED = {"X-Forwarded-Prefix": "/files"}


@pytest.mark.parametrize(("server", "headers"), [(TRUSTED, STRIPPED), (FIXED, {})])
async def test_all_that_clients_are_told_has_the_public_path(server, headers):
    """Links, assets, redirects, locations, JSON and errors do, by the header of a trusted proxy or the configuration."""
    async with serve(FILES, server=server, actions=REDIRECTS, mount=Mount("", ("/m/",))) as site:

        async def ask(method, path, accept="text/html", body=b""):
            return await site.request(method, path, {**headers, "Accept": accept}, body)

        page, index = (await ask("GET", "/m/d/")).text, (await ask("GET", "/m/d/", "*/*")).text
        listed = json.loads((await ask("GET", "/m/d/?limit=1", "application/json")).body)
        missing, away = (await ask("GET", "/m/d/x")).text, (await ask("GET", "/elsewhere")).text
        moved = [(await ask("GET", path)).headers["location"] for path in ("/m/d?x=1", "/m")]
        raw, parts = await ask("PUT", "/m/d/r", body=b"x"), await ask("PUT", "/m/d/p?upload=start&size=9")
        form = await site.upload(
            "/m/d/",
            part("file", b"x", filename="f"),
            **{name.replace("-", "_"): value for name, value in headers.items()},
        )
    addresses = re.findall(r'(?:href|src|data-[a-z]+)="(/[^"]*)"', page + index + missing + away)
    assert addresses
    assert [each for each in addresses if not each.startswith("/files/")] == []
    assert {"/files/m/d/a.txt", "/files/m/", "/files/m/d/"} <= set(addresses)
    assert (listed["path"], listed["entries"][0]["href"]) == ("/files/m/d/", "/files/m/d/a.txt")
    assert listed["next"].startswith("/files/m/d/?after=")
    assert moved == ["/files/m/d/?x=1", "/files/m/"]
    assert [each.headers["location"] for each in (raw, form)] == ["/files/m/d/r", "/files/m/d/f"]
    assert [json.loads(each.body)["location"] for each in (raw, form, parts)] == [
        "/files/m/d/r",
        "/files/m/d/f",
        "/files/m/d/p",
    ]


@pytest.mark.parametrize("prefix", ["//evil.test", "/a, /b", "/é", ""])
async def test_any_other_prefix_is_ignored(prefix):
    """A value that is not a plain path counts as none."""
    async with serve(FILES, server=TRUSTED, actions=REDIRECTS) as site:
        answer = await site.get("/d", X_Forwarded_Prefix=prefix.encode().decode("latin-1"))
    assert answer.headers["location"] == "/d/"


async def test_only_one_prefix_of_a_trusted_proxy_counts():
    """Another peer, and a second header, give none; the configured path counts before any header."""
    twice = b"GET /d HTTP/1.1\r\nHost: x\r\nX-Forwarded-Prefix: /a\r\nX-Forwarded-Prefix: /b\r\n\r\n"
    async with serve(FILES, server=TRUSTED, actions=REDIRECTS) as site, site.connect() as client:
        await client.send(twice)
        assert (await client.receive()).headers["location"] == "/d/"
        assert (await site.get("/d", X_Forwarded_Prefix="/a/")).headers["location"] == "/a/d/"
    for server, location in (
        (Server(), "/d/"),
        (Server(public_path="/own", trusted_proxies=("127.0.0.1/32",)), "/own/d/"),
    ):
        async with serve(FILES, server=server, actions=REDIRECTS) as site:
            assert (await site.get("/d", X_Forwarded_Prefix="/a")).headers["location"] == location


async def test_a_custom_page_can_begin_its_links_with_the_public_path():
    """Entries have their links; `.Request.PublicPath` is for others."""
    body = "{{ range .Entries }}{{ .Path }} {{ end }}{{ .Request.PublicPath }}/about"
    async with serve(FILES, server=FIXED, custom={"folder_list": Recipe("folder_list", body)}) as site:
        assert (await site.get("/d/")).text == "/files/d/b/ /files/d/a.txt /files/about"


async def test_the_page_of_a_sign_out_has_the_public_path():
    """Its form, its way home and its assets do."""
    provider = OidcProvider("staff", GuardedUrl("https://issuer.test"), "me")
    async with serve(FILES, server=FIXED, providers=(provider,)) as site:
        page = (await site.get("/auth/staff/logout", Accept="text/html")).text
    assert 'action="/files/auth/staff/logout"' in page
    assert 'class="button" href="/files/"' in page
    assert 'href="/files/.tornado-proxy/' in page
