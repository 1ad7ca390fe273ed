"""Archives of directories: the ZIP and tar formats, and archives over HTTP."""

import asyncio
import io
import posixpath
import re
import tarfile
import zipfile
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from fakes import Staff
from hypothesis import given
from hypothesis import strategies as st
from memory_store import MemoryStore
from msgspec import structs
from serving import files_in, serve

from tornado_proxy.config.actions import GetAction
from tornado_proxy.config.model import ArchiveOptions, Bucket, ListingOptions, Mount
from tornado_proxy.config.providers import BasicUser, OpaServer, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.web import handler
from tornado_proxy.web.archive import FORMATS, ArchiveMember, distinct

CHANGED = datetime(2026, 5, 1, 12, 34, 56, tzinfo=UTC)
MEMBERS = {
    "d/a.txt": b"hello",
    "d/empty": b"",
    "d/Größe 日本.txt": b"x" * 1000,
    f"d/{'long' * 60}/{'name' * 60}": b"y" * 513,
    "d/<script>alert(1)</script>": b"z",
}


def _archive(name, contents, modified=CHANGED):
    members = [ArchiveMember(path, len(content), modified, path, None) for path, content in contents.items()]

    store = MemoryStore(contents)

    async def write():
        return b"".join([piece async for piece in FORMATS[name].write(members, store)])

    return FORMATS[name].length(members), asyncio.run(write())


def _read_by_python(name, written):
    """The contents and the times of the files that Python finds, by their paths."""
    if name == "zip":
        with zipfile.ZipFile(io.BytesIO(written)) as archive:
            assert archive.testzip() is None
            return {each.filename: (archive.read(each), each.date_time) for each in archive.infolist()}
    with tarfile.open(fileobj=io.BytesIO(written)) as archive:
        return {each.name: (archive.extractfile(each).read(), each.mtime) for each in archive}


@pytest.mark.parametrize(("name", "time"), [("zip", (2026, 5, 1, 12, 34, 56)), ("tar", CHANGED.timestamp())])
@pytest.mark.parametrize("contents", [MEMBERS, {}, {"a": b"b"}], ids=["many", "none", "one"])
def test_an_archive_has_its_members(name, time, contents):
    """It has names of any length and script, contents, checksums and times; its exact length is known in advance."""
    length, data = _archive(name, contents)
    assert length == len(data)
    assert _read_by_python(name, data) == {path: (content, time) for path, content in contents.items()}


@pytest.mark.parametrize("year", [1, 1970, 1980, 2107, 2200])
def test_a_zip_has_the_nearest_valid_time(year):
    """A year outside the range of MS-DOS, 1980 to 2107, becomes the nearest year inside."""
    _, data = _archive("zip", {"a": b""}, datetime(year, 6, 1, tzinfo=UTC))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.infolist()[0].date_time[0] == min(max(year, 1980), 2107)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        *(("ZIP64_LIMIT", size) for size in (1, 100, 300, 700, 1000, 10_000)),
        *(("ZIP_FILECOUNT_LIMIT", count) for count in (3, len(MEMBERS), len(MEMBERS) + 1)),
    ],
)
def test_a_large_zip_has_the_fields_of_zip64(monkeypatch, name, limit):
    """The length is exact if sizes, offsets or the number of files exceed a limit of ZIP, which is small here."""
    monkeypatch.setattr(zipfile, name, limit)
    length, data = _archive("zip", MEMBERS)
    assert length == len(data)


ARCHIVES_ENABLED = ListingOptions(archive=ArchiveOptions(enabled=True))
FILES = {"p/d/a.txt": b"hello", "p/d/sub/b.bin": b"\0" * 300_000, "p/d/sub/deep/Größe": b"x", "p/other": b"no"}
OPTIONS = {"bucket": Bucket("b", prefix="p/"), "mount": Mount("", ("/m/",)), "listing": ARCHIVES_ENABLED}


async def test_a_directory_can_be_downloaded():
    """The archive has every file below the directory, under the directory's name."""
    async with serve(FILES, **OPTIONS) as site:
        zipped = await site.get("/m/d/?format=zip")
        tarred = await site.get("/m/d/?format=tar")
    expected = {"d/a.txt": b"hello", "d/sub/b.bin": b"\0" * 300_000, "d/sub/deep/Größe": b"x"}
    assert files_in(zipped) == expected
    assert zipped.headers["content-type"] == "application/zip"
    assert zipped.headers["content-disposition"] == 'attachment; filename="d.zip"'
    with tarfile.open(fileobj=io.BytesIO(tarred.body)) as archive:
        assert {member.name: archive.extractfile(member).read() for member in archive} == expected


async def test_chosen_entries_can_be_downloaded():
    """With names, the archive has only these entries of the directory, with all that is below them."""
    async with serve(FILES, **OPTIONS) as site:
        one = await site.get("/m/d/?format=zip&name=a.txt&name=missing")
        below = await site.get("/m/d/?format=zip&name=sub/")
    assert [*files_in(one)] == ["d/a.txt"]
    assert {*files_in(below)} == {"d/sub/b.bin", "d/sub/deep/Größe"}


async def test_archives_are_disabled_by_default():
    async with serve(FILES) as site:
        refused, page = await site.get("/p/d/?format=zip"), await site.get("/p/d/", Accept="text/html")
    assert refused.status == 400
    assert "A listing is available as html, json, text." in refused.text
    assert "Download" not in page.text


async def test_a_listing_links_to_its_archives():
    """A listing links to both archives, whose names a refusal tells; that of a missing directory is a 404."""
    async with serve(FILES, **OPTIONS) as site:
        page, missing = await site.get("/m/d/", Accept="text/html"), await site.get("/m/nothing/?format=zip")
        refused = await site.get("/m/d/?format=rar")
    assert 'href="/m/d/?format=zip"' in page.text
    assert 'href="/m/d/?format=tar"' in page.text
    assert missing.status == 404
    assert "A listing is available as html, json, text, zip, tar." in refused.text


async def test_head_is_get_without_a_body():
    """HEAD has the name and the type of GET; only a walk would show the length."""
    async with serve(FILES, **OPTIONS) as site:
        get, head = await site.get("/m/d/?format=zip"), await site.request("HEAD", "/m/d/?format=zip")
    assert (head.status, head.body) == (200, b"")
    assert "content-length" not in head.headers
    names = ("content-type", "content-disposition")
    assert [head.headers[name] for name in names] == [get.headers[name] for name in names]


@pytest.mark.parametrize(("limit", "status"), [(3, 200), (2, 403)])
@pytest.mark.parametrize("name", ["max_size", "max_files"])
async def test_the_limits_of_archives_are_exact(name, limit, status):
    """A directory with exactly the maximum of bytes or files is sent."""
    options = ArchiveOptions(True, **{name: limit})
    async with serve({"a": b"1", "b": b"2", "c": b"3"}, listing=ListingOptions(archive=options)) as site:
        answer = await site.get("/?format=zip")
    assert (answer.status, b"too large to be one file" in answer.body) == (status, status == 403)


async def test_an_archive_has_only_accessible_files():
    """Access to each file is checked as for a request of its own."""
    resources = [
        Resource("/m/d/sub/deep/**", provider="staff", users=(BasicUser("ben", Secret("test", "x")),)),
        Resource("/m/d/a.txt", provider="staff", users=(BasicUser("ann", Secret("test", "x")),)),
        Resource("/m/d/**", white_list=True),
    ]
    async with serve(FILES, **OPTIONS, resources=resources, authenticators={"staff": Staff()}) as site:
        answer = await site.get("/m/d/?format=zip", Authorization="ann")
    assert list(files_in(answer)) == ["d/sub/b.bin"]


@pytest.mark.parametrize(
    ("document", "files", "members"),
    [
        ("index.html", ["a", "site/index.html", "site/draft", "site/below/x"], ["a", "site/index.html"]),
        (
            "pages/index.html",
            ["a", "plain/pages/x", "bare/x", "site/pages/index.html", "site/pages/draft", "site/draft"],
            ["a", "bare/x", "plain/pages/x", "site/pages/index.html"],
        ),
    ],
)
async def test_a_directory_with_an_index_has_only_its_index(document, files, members):
    """The archive has only the index document of a subdirectory with one, which may lie in a directory of it."""
    stored = {f"d/{name}": name.encode() for name in files}
    async with serve(stored, get=GetAction(index_document=document), listing=ARCHIVES_ENABLED) as site:
        found = files_in(await site.get("/d/?format=zip"))
    assert found == {f"d/{name}": name.encode() for name in members}


async def test_names_are_safe_to_unpack():
    """Backslashes, colons and empty names are replaced, as unpacking interprets them; names without a valid path are omitted."""
    files = {"d/..\\..\\evil.exe": b"", "d/c:x": b"", "d/a\nb": b"", "d//double": b"", "d/x/../y": b""}
    async with serve(files, listing=ARCHIVES_ENABLED) as site:
        names = sorted(files_in(await site.get("/d/?format=zip")))
        root = sorted(files_in(await site.get("/?format=zip")))
    assert names == ["d/.._.._evil.exe", "d/_/double", "d/c_x"]
    assert root[0].startswith("site/d/")


async def test_no_file_replaces_another_one_when_it_is_unpacked():
    """Files whose paths would be the same are numbered, each in a way that no other file has."""
    names = ("a_b.txt", "a:b.txt", "a\\b.txt", "a_b (2).txt", "_/x", "/x", "c/d", "c//d", "c///d", ".e_", ".e:")
    async with serve({f"d/{name}": name.encode() for name in names}, listing=ARCHIVES_ENABLED) as site:
        members = files_in(await site.get("/d/?format=zip"))
        with tarfile.open(fileobj=io.BytesIO((await site.get("/d/?format=tar")).body)) as archive:
            tar_names = archive.getnames()
    unpacked = {posixpath.normpath(name): content for name, content in members.items()}
    assert sorted(unpacked.values()) == sorted(name.encode() for name in names)
    assert tar_names == list(members)
    assert {
        "d/a_b (2).txt",
        "d/a_b (3).txt",
        "d/a_b (4).txt",
        "d/_/x",
        "d/_/x (2)",
        "d/.e_",
        "d/.e_ (2)",
    } < unpacked.keys()


PATHS = st.lists(st.text("ab_:\\/.()2; ", min_size=1, max_size=6), unique=True)


@given(PATHS)
def test_a_path_is_the_same_for_posix_and_windows(paths):
    """No path has another drive, root or number of names on Windows, and none a version, which unzip cuts off."""
    for path in distinct([f"d/{each}" for each in paths]):
        assert PureWindowsPath(path).as_posix() == PurePosixPath(path).as_posix()
        assert (PureWindowsPath(path).anchor, re.search(r";[0-9]*\Z", path)) == ("", None)


NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=6).filter(
    lambda name: name[-1] != "/"
)


@given(st.dictionaries(NAMES, st.binary(max_size=600), max_size=5))
def test_other_readers_find_each_file(files):
    """Python's zipfile and tarfile find all paths and contents, in an archive of the announced length."""
    contents = dict(zip(distinct([f"d/{name}" for name in files]), files.values(), strict=True))
    for name in FORMATS:
        announced, written = _archive(name, contents)
        assert len(written) == announced
        assert {path: content for path, (content, _) in _read_by_python(name, written).items()} == contents


class _CountingStore(MemoryStore):
    """A store that counts its open objects."""

    def __init__(self) -> None:
        super().__init__()
        self.open_objects = 0
        self.opened = asyncio.Event()

    async def open(self, key, conditions, part=None):
        result = await super().open(key, conditions, part)
        self.open_objects += 1
        self.opened.set()
        return _CountedObject(result, self)


class _CountedObject:
    """An opened object that its store counts until it is closed."""

    def __init__(self, opened, store):
        self._opened, self._store = opened, store
        self.info, self.content_range = opened.info, opened.content_range

    def chunks(self):
        return self._opened.chunks()

    async def close(self):
        self._store.open_objects -= 1


async def test_a_disconnect_closes_the_object():
    """The object that is being read is closed, and no other is opened."""
    store = _CountingStore()
    for number in range(3):
        store.add(f"d/{number}", b"x" * (32 << 20))
    async with serve(store, listing=structs.replace(ARCHIVES_ENABLED, archive=ArchiveOptions(True))) as site:
        async with site.connect() as client:
            await client.send(b"GET /d/?format=zip HTTP/1.1\r\nHost: files.test\r\n\r\n")
            await client.receive_head()
            await store.opened.wait()
            client.abort()
        await site.last_event()
    assert store.open_objects == 0


async def test_archives_that_are_read_slowly_are_bounded(monkeypatch):
    """A client that does not read its archives holds most places, not the last; their end gives them back."""
    monkeypatch.setattr("tornado_proxy.wire.shares.PLACE_WITHIN", 0.0)
    monkeypatch.setattr(handler.limits, "ARCHIVES_AT_ONCE", 5)
    store = MemoryStore({"d/a": b"x" * (32 << 20)})
    statuses = []
    async with serve(store, listing=ARCHIVES_ENABLED) as site, AsyncExitStack() as connections:
        for _ in range(5):
            client = await connections.enter_async_context(site.connect())
            await client.send(b"GET /d/?format=tar HTTP/1.1\r\nHost: files.test\r\n\r\n")
            statuses.append((await client.receive_head())[0])
        await connections.aclose()
        await site.last_event()
        assert (await site.get("/d/?format=tar&name=none")).status == 200
    assert statuses == [200, 200, 200, 503, 503]


@pytest.mark.parametrize(("directory", "status"), [("d/", 403), ("none/", 404)])
async def test_a_refused_archive_leaves_its_place(monkeypatch, directory, status):
    """An archive that is too large, or of a directory that is not there, keeps no place."""
    monkeypatch.setattr("tornado_proxy.wire.shares.PLACE_WITHIN", 0.0)
    monkeypatch.setattr(handler.limits, "ARCHIVES_AT_ONCE", 1)
    options = ListingOptions(archive=ArchiveOptions(enabled=True, max_files=1))
    async with serve({"d/a": b"", "d/b": b""}, listing=options) as site:
        assert [(await site.get(f"/{directory}?format=zip")).status for _ in range(2)] == [status, status]


@pytest.mark.parametrize("change", [b"other", b"hello!", None])
async def test_a_changed_file_ends_the_archive(change):
    """If a file was changed since it was listed, the connection is closed and the answer is incomplete."""
    store = _CountingStore()
    store.add("d/a", b"x" * (8 << 20))
    store.add("d/b", b"hello")
    async with serve(store, listing=ARCHIVES_ENABLED) as site:
        async with site.connect() as client:
            await client.send(b"GET /d/?format=tar HTTP/1.1\r\nHost: files.test\r\n\r\n")
            await store.opened.wait()
            if change is None:
                await store.remove("d/b")
            else:
                store.add("d/b", change)
            answer = await client.receive()
        event = await site.last_event()
    assert not answer.complete
    assert not event.complete
    assert store.open_objects == 0


async def test_files_that_need_a_policy_server_are_left_out():
    """The policy server is not asked about each file of an archive."""
    guarded = Resource(
        "/d/secret", provider="staff", users=(BasicUser("ann", Secret("test", "x")),), opa=OpaServer(GuardedUrl("x"))
    )
    unguarded = Resource("/**", provider="staff", users=(BasicUser("ann", Secret("test", "x")),))
    parts = {"resources": [guarded, unguarded], "authenticators": {"staff": Staff()}}
    async with serve({"d/secret": b"no", "d/plain": b"yes"}, listing=ARCHIVES_ENABLED, **parts) as site:
        assert files_in(await site.get("/d/?format=zip", Authorization="ann")) == {"d/plain": b"yes"}
