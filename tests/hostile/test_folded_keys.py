"""Stores that read several keys as one: no spelling of a path leads past what is decided about the key that they read."""

import json
import re
import unicodedata
from itertools import product

import pytest
from front_proxy import ANN, BOB, FRONT
from memory_store import MemoryStore
from msgspec import structs
from serving import WRITABLE, part, serve

from tornado_proxy.config.actions import GetAction
from tornado_proxy.config.model import ArchiveOptions, Bucket, ListingOptions, Mount, ObjectCache, Target
from tornado_proxy.config.providers import OpaServer, Resource
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.storage.cache import CacheCounts, CachingStore
from tornado_proxy.wire.dialing import Fetched

SECRET = b"what only some may read"
METHODS = ("GET", "PUT", "DELETE")
LISTING = ListingOptions(readme=True, archive=ArchiveOptions(enabled=True))
OPEN, CLOSED = Resource("/**", METHODS, white_list=True), Resource("/Private/**", METHODS, provider="front")


def _joined(key):
    """Reads a key as the path of a file, as Go's `filepath.Join` does."""
    names = []
    for name in key.split("/"):
        if name == "..":
            del names[-1:]
        elif name not in ("", "."):
            names.append(name)
    return "/".join(names)


STORES = {
    "emptySegments": _joined,
    "backslashes": lambda key: _joined(key.replace("\\", "/")),
    "case": lambda key: _joined(key).upper(),
    "unicode": lambda key: unicodedata.normalize("NFD", _joined(key)),
    "trailingDots": lambda key: _joined(re.sub(r"[. ]+(?=/|$)", "", key)),
}
FOLDING = {name: tuple({"emptySegments", name}) for name in STORES}

SPELLINGS = {
    "emptySegments": ("//Private/é", "/%2FPrivate/é", "/Private//é", "/./Private/é", "/Private/./é", "///Private///é"),
    "backslashes": ("/Private\\é", "/\\Private/é", "/x\\..\\Private/é", "/x\\../Private/é", "/.\\Private/é"),
    "case": ("/private/é", "/PRIVATE/É", "//private/é"),
    "unicode": ("/Private/e\N{COMBINING ACUTE ACCENT}", "/P\N{FULLWIDTH LATIN SMALL LETTER R}ivate/é"),
    "trailingDots": ("/Private./é", "/Private/é.", "/Private /é", "/Private. ./é. ", "/.../Private/é", "/ /Private/é"),
}


class _Folded(dict):
    """Objects by their keys, as a store reads them."""

    def __init__(self, fold):
        super().__init__()
        self._fold = fold

    def __getitem__(self, key):
        return super().__getitem__(self._fold(key))

    def __setitem__(self, key, value):
        super().__setitem__(self._fold(key), value)

    def __contains__(self, key):
        return super().__contains__(self._fold(key))

    def get(self, key, default=None):
        return super().get(self._fold(key), default)

    def pop(self, key, default=None):
        return super().pop(self._fold(key), default)


class _FoldingStore(MemoryStore):
    """A store that reads several keys as one."""

    def __init__(self, name, **objects):
        super().__init__()
        self._fold = STORES[name]
        self._objects = _Folded(self._fold)
        for key, body in objects.items():
            self.add(key, body)

    async def list(self, prefix, after=None, limit=1000):
        return await super().list(f"{self._fold(prefix)}/" if self._fold(prefix) else "", after, limit)


def _store(name, key="Private/é"):
    return _FoldingStore(name, **{key: SECRET, "open": b"x"})


def _sent(path):
    return path.replace(" ", "%20")


async def _check_closed(site, name, headers=None):
    """Asserts that no spelling reads, replaces or removes the secret."""
    for spelling in SPELLINGS[name]:
        for method in ("GET", "HEAD", "PUT", "DELETE"):
            answer = await site.request(method, _sent(spelling), headers, b"changed" if method == "PUT" else b"")
            assert answer.status in (302, 400, 401, 403, 404), (method, spelling)
            assert SECRET not in answer.body


async def _body(store, key):
    """The content of an object."""
    return b"".join([chunk async for chunk in (await store.open(key, Conditions())).chunks()])


@pytest.mark.parametrize("name", STORES)
async def test_no_spelling_leads_past_the_resources(name):
    """A path is decided as it was sent, and as the store reads it: both must let it pass."""
    store = _store(name)
    settings = {"resources": [CLOSED, OPEN], "actions": WRITABLE, "bucket": Bucket("b", folding=FOLDING[name])}
    async with serve(store, **settings, **FRONT) as site:
        assert (await site.request("GET", "/Private/%C3%A9", ANN)).body == SECRET
        await _check_closed(site, name)
        assert (await site.get("/open")).status == 200
        # Who may read it by its name may read it by another spelling, unless that hides a dot segment.
        answers = [await site.request("GET", _sent(each), ANN) for each in SPELLINGS[name]]
        assert {each.status for each in answers} <= {200, 400, 404}
        assert 200 in {each.status for each in answers}
    assert store.keys() == tuple(sorted({STORES[name]("Private/é"), STORES[name]("open")}))


@pytest.mark.parametrize("name", STORES)
async def test_no_way_to_write_leads_past_the_resources(name):
    """Neither an upload in parts nor a form for S3 is begun at a spelling of a closed path."""
    settings = {"resources": [CLOSED, OPEN], "actions": WRITABLE, "bucket": Bucket("b", folding=FOLDING[name])}
    async with serve(_store(name), **settings, **FRONT) as site:
        for query in ("upload=start&size=1", "upload=direct"):
            assert (await site.request("PUT", f"/Private/%C3%A9?{query}", ANN)).status == 200
            for spelling in SPELLINGS[name]:
                assert (await site.request("PUT", f"{_sent(spelling)}?{query}")).status in (400, 401), spelling


@pytest.mark.parametrize("name", STORES)
async def test_no_view_shows_what_is_closed_at_another_spelling(name):
    """Neither an address that is tried, an index document, a README, an archive, nor what was read into memory."""
    behind = CachingStore(_store(name), ObjectCache(), CacheCounts())
    views = {
        "tried": GetAction(try_files=("$path", *SPELLINGS[name])),
        "index": GetAction(index_document="é"),
        "slash": GetAction(index_document="é", redirect_with_trailing_slash_for_not_found_file=True),
    }
    for get in views.values():
        settings = {"resources": [CLOSED, OPEN], "get": get, "bucket": Bucket("b", folding=FOLDING[name])}
        async with serve(behind, listing=LISTING, **settings, **FRONT) as site:
            assert (await site.request("GET", "/Private/%C3%A9", ANN)).body == SECRET
            for path in ("/nothing", "/", *(each.rpartition("/")[0] for each in SPELLINGS[name])):
                for query in ("", "/", "/?format=json", "/?format=tar", "/?readme=%C3%A9"):
                    answer = await site.get(_sent(path) + query or "/", Accept="text/html")
                    assert SECRET not in answer.body, (path, query)


@pytest.mark.parametrize("name", STORES)
async def test_no_spelling_leads_past_a_nested_mount(name):
    """What another target is mounted over is reached by the other target only, in whatever spelling."""
    nobodys = Resource("/Private/**", METHODS)
    nested = Target("nested", Mount("", ("/Private/",)), Bucket("other"), WRITABLE, (nobodys,))
    bucket = Bucket("b", folding=FOLDING[name])
    async with serve(_store(name), others=[nested], actions=WRITABLE, bucket=bucket, **FRONT) as site:
        await _check_closed(site, name)
        await _check_closed(site, name, ANN)
        for listing in ("/?format=json", "//?format=json", "/?format=zip", "//?format=zip"):
            assert b"rivate" not in (await site.get(listing)).body


@pytest.mark.parametrize("name", STORES)
async def test_no_spelling_leads_past_a_policy(name):
    """A policy server is asked about the path as it was sent and as the store reads it."""
    asked = []

    async def policy(wanted):
        path = json.loads(wanted.body)["input"]["request"]["path"]
        asked.append(path)
        return Fetched(200, json.dumps({"result": path != reads}).encode())

    opa = OpaServer(GuardedUrl("http://127.0.0.1:8181/v1/data/allow"))
    resources = [Resource("/**", METHODS, provider="front", opa=opa)]
    bucket = Bucket("b", folding=FOLDING[name])
    for spelling in SPELLINGS[name]:
        reads = "/private/é" if name == "case" else "/Private/é"
        asked.clear()
        async with serve(_store(name), resources=resources, bucket=bucket, fetch=policy, **FRONT) as site:
            answer = await site.request("GET", _sent(spelling), ANN)
        assert answer.status in (400, 403), spelling
        assert answer.status == 400 or reads in asked
        assert SECRET not in answer.body


HOMES = {
    "emptySegments": ("//ann/é", "/../ann/é"),
    "backslashes": ("/..\\ann/é", "/x\\..\\..\\ann\\é", "/\\..\\ann\\é"),
    "case": ("/ANN/é",),
    "unicode": ("/ann/e\N{COMBINING ACUTE ACCENT}",),
    "trailingDots": ("/.. /ann/é", "/.. ./ann/é", "/ann./é"),
}


@pytest.mark.parametrize("name", STORES)
async def test_no_spelling_leads_out_of_a_users_directory(name):
    """Not by a path, by a rewrite that inserts what was sent, or by a user's own name."""
    store = _store(name, "ann/é")
    settings = {
        "actions": structs.replace(WRITABLE, get=GetAction(user_isolation=True)),
        "resources": [Resource("/**", METHODS, provider="front")],
        "bucket": Bucket("b", folding=FOLDING[name]),
        "rules": "rewrite `^/(?P<user>[^/]+)/by-header/` -> jinja `/{{ groups.user }}/{{ request.headers['x-there'] }}`",
    }
    names = {
        "case": ("ANN",),
        "unicode": ("ＡＮＮ".lower(),),
        "trailingDots": ("ann.",),
        "backslashes": ("x\\..\\ann",),
    }
    others = [BOB, *(BOB | {"X-User": each} for each in names.get(name, ()))]
    async with serve(store, **settings, **FRONT) as site:
        assert (await site.request("GET", "/%C3%A9", ANN)).body == SECRET
        for user in others:
            for path in (*HOMES[name], "/é"):
                for method in ("GET", "PUT", "DELETE"):
                    answer = await site.request(method, _sent(path), user, b"changed" if method == "PUT" else b"")
                    assert SECRET not in answer.body, path
                there = user | {"X-There": _sent(path.removeprefix("/"))}
                assert SECRET not in (await site.request("GET", "/by-header/", there)).body
    assert (await _body(store, "ann/é")) == SECRET


async def test_no_name_of_a_file_leads_past_the_resources():
    r"""The name of a form's file is a part of the path: on a store that reads `\` as `/`, it leads elsewhere."""
    store = _store("backslashes")
    settings = {"resources": [CLOSED, OPEN], "actions": WRITABLE, "bucket": Bucket("b", folding=FOLDING["backslashes"])}
    async with serve(store, **settings, **FRONT) as site:
        for name, status in (("Private\\é", 401), ("x\\..\\Private\\é", 400)):
            assert (await site.upload("/", part("file", b"changed", filename=name))).status == status
    assert await _body(store, "Private/é") == SECRET


async def test_a_store_that_keeps_keys_apart_can_say_so():
    """With `folding: []`, only the path as it was sent is decided, and keys with empty segments are their own."""
    store = MemoryStore({"/Private/a": b"a key that begins with a slash"})
    for folding, status in (((), 200), (("emptySegments",), 401)):
        async with serve(store, resources=[CLOSED, OPEN], bucket=Bucket("b", folding=folding), **FRONT) as site:
            assert (await site.get("//Private/a")).status == status


@pytest.mark.parametrize("path", ["/%2e/Private/a", "/Private/%2E", "/%2E%2e/a", "/./../a", "/.%2e/a", "/a/.."])
async def test_escaped_dots_stay_refused(path):
    """A proxy removes `/./` from a path before it decides; an escaped dot it leaves, so that it is refused here."""
    async with serve({"Private/a": SECRET}) as site:
        assert (await site.get(path)).status == 400


@pytest.mark.parametrize("path", ["/./Private/a", "/Private/./a", "/././Private/././a", "/Private/a/."])
async def test_literal_dots_are_removed_as_proxies_do(path):
    """`/./` is `/`, and a final `/.` is the directory, as RFC 3986 (5.2.4), nginx and Caddy have it."""
    async with serve({"Private/a": SECRET}) as site:
        assert (await site.get(path)).status == (404 if path.endswith(".") else 200)


PART_OF_UPLOAD = ".sgwtmp/multipart/c0ac43df/6a5c69b1/1"


@pytest.mark.parametrize("mount", ["/", "/m/"])
@pytest.mark.parametrize("name", ["emptySegments", "case"])
async def test_no_path_leads_to_what_a_gateway_keeps_in_a_bucket(name, mount):
    """At `.sgwtmp/` of a bucket versitygw has the parts of unfinished uploads, for whatever path, and lists them."""
    store = _store(name, PART_OF_UPLOAD)
    own = (PART_OF_UPLOAD, f"/{PART_OF_UPLOAD}", ".sgwtmp", ".sgwtmp/x", ".sgwtmp/", ".sgwtmp/multipart/?format=zip")
    spellings = [*own, *(PART_OF_UPLOAD.upper() for _ in range(name == "case"))]
    settings = {"actions": WRITABLE, "bucket": Bucket("b", folding=FOLDING[name]), "mount": Mount(paths=(mount,))}
    async with serve(store, listing=LISTING, **settings) as site:
        for path, method in product(spellings, ("GET", "HEAD", "PUT", "DELETE")):
            answer = await site.request(method, f"{mount}{path}", None, b"changed" if method == "PUT" else b"")
            assert (answer.status in (400, 403, 415), SECRET in answer.body) == (True, False), (method, path)
        for directory, named in ((mount, ".sgwtmp"), (f"{mount}.sgwtmp/", "x")):
            assert (await site.upload(directory, part("file", b"x", filename=named))).status == 400
        assert SECRET not in (await site.get(f"{mount}?format=zip")).body
    assert await _body(store, PART_OF_UPLOAD) == SECRET
    assert sorted(store.keys()) == sorted(_store(name, PART_OF_UPLOAD).keys())
