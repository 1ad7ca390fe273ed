"""A directory as one file: the formats by themselves, and archives over HTTP."""

from __future__ import annotations

import asyncio
import io
import tarfile
import zipfile
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from memory_store import MemoryStore
from serving import serve

from tornado_proxy.auth.authenticator import SignIn
from tornado_proxy.config.actions import GetAction
from tornado_proxy.config.model import ArchiveOptions, Bucket, ListingOptions, Mount
from tornado_proxy.config.providers import BasicUser, OpaServer, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.gateway.archive import FORMATS, ArchiveMember
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.templates.template import User

CHANGED = datetime(2026, 5, 1, 12, 34, 56, tzinfo=UTC)
CONTENTS = {
    "d/a.txt": b"hello",
    "d/empty": b"",
    "d/Größe 日本.txt": b"x" * 1000,
    f"d/{'long' * 60}/{'name' * 60}": b"y" * 513,
    "d/<script>alert(1)</script>": b"z",
}


def _written(name, contents, modified=CHANGED):
    members = [ArchiveMember(path, len(content), modified, path, None) for path, content in contents.items()]

    store = MemoryStore()
    for path, content in contents.items():
        store.add(path, content)

    async def write():
        return b"".join([piece async for piece in FORMATS[name].write(members, store)])

    return FORMATS[name].length(members), asyncio.run(write())


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("contents", [CONTENTS, {}, {"a": b"b"}])
def test_the_length_is_known_before(name, contents):
    """The announced length is exact, so that a client notices an incomplete download."""
    length, data = _written(name, contents)
    assert length == len(data)


@pytest.mark.parametrize("content", [b"1234", b"123456"])
@pytest.mark.parametrize("name", FORMATS)
async def test_an_object_that_has_another_size_than_listed_ends_the_archive(name, content):
    """The error names the object; without it, the next member would begin at a wrong place."""
    store = MemoryStore()
    store.add("a", content)
    members = [ArchiveMember("a", 5, CHANGED, "a", None)]
    with pytest.raises(StorageError, match="`a` is not as large as it was when it was listed"):
        async for _ in FORMATS[name].write(members, store):
            pass


def test_a_zip_holds_what_was_put_in():
    """A ZIP file has the names, contents, checksums and times of its members."""
    _, data = _written("zip", CONTENTS)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert {each.filename: archive.read(each) for each in archive.infolist()} == CONTENTS
        assert {each.date_time for each in archive.infolist()} == {(2026, 5, 1, 12, 34, 56)}


def test_a_tar_holds_what_was_put_in():
    """A tar file has names of any length and script, contents and times."""
    _, data = _written("tar", CONTENTS)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert {each.name: archive.extractfile(each).read() for each in archive} == CONTENTS
        assert {each.mtime for each in archive} == {CHANGED.timestamp()}


@pytest.mark.parametrize("year", [1, 1970, 1980, 2107, 2200])
def test_a_zip_says_the_nearest_time_that_it_can(year):
    """A time outside of 1980 to 2107, the years of MS-DOS, becomes the nearest one inside."""
    _, data = _written("zip", {"a": b""}, datetime(year, 6, 1, tzinfo=UTC))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.infolist()[0].date_time[0] == min(max(year, 1980), 2107)


@pytest.mark.parametrize("limit", [1, 100, 300, 700, 1000, 10_000])
def test_a_large_zip_has_the_fields_of_zip64(monkeypatch, limit):
    """The length is right even if sizes or offsets exceed the limit of ZIP, which is small here."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)
    length, data = _written("zip", CONTENTS | {f"d/{number}": b"x" * 90 for number in range(9)})
    assert length == len(data)


@pytest.mark.parametrize("limit", [3, len(CONTENTS), len(CONTENTS) + 1])
def test_a_zip_of_many_files_has_the_fields_of_zip64(monkeypatch, limit):
    """The length is right for more files than the old format can count (65,535)."""
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", limit)
    length, data = _written("zip", CONTENTS)
    assert length == len(data)


ON = ListingOptions(archive=ArchiveOptions(enabled=True))
FILES = {"p/d/a.txt": b"hello", "p/d/sub/b.bin": b"\0" * 300_000, "p/d/sub/deep/Größe": b"x", "p/other": b"no"}
PLACES = {"bucket": Bucket("b", prefix="p/"), "mount": Mount("", ("/m/",)), "listing": ON}


def _zip(answer):
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        assert archive.testzip() is None
        return {each.filename: archive.read(each) for each in archive.infolist()}


async def test_a_directory_can_be_had_as_one_file():
    """The archive contains everything below the directory, under the directory's name."""
    async with serve(FILES, **PLACES) as site:
        zipped = await site.get("/m/d/?format=zip")
        tarred = await site.get("/m/d/?format=tar")
    expected = {"d/a.txt": b"hello", "d/sub/b.bin": b"\0" * 300_000, "d/sub/deep/Größe": b"x"}
    assert _zip(zipped) == expected
    assert zipped.headers["content-type"] == "application/zip"
    assert zipped.headers["content-disposition"] == "attachment; filename=\"d.zip\"; filename*=UTF-8''d.zip"
    with tarfile.open(fileobj=io.BytesIO(tarred.body)) as archive:
        assert {each.name: archive.extractfile(each).read() for each in archive} == expected


async def test_it_is_off_unless_it_is_switched_on():
    """Without the option, the format is refused and not linked."""
    async with serve(FILES) as site:
        refused, page = await site.get("/p/d/?format=zip"), await site.get("/p/d/", Accept="text/html")
    assert refused.status == 400
    assert "A listing is available as html, json, text." in refused.text
    assert "Download" not in page.text


async def test_an_unknown_format_is_refused_with_those_of_archives():
    """With archives enabled, the refusal of an unknown format names their formats too."""
    async with serve(FILES, **PLACES) as site:
        refused = await site.get("/m/d/?format=rar")
    assert refused.status == 400
    assert "A listing is available as html, json, text, zip, tar." in refused.text


async def test_the_page_leads_to_both_forms():
    """A listing links to both archives, and an empty directory has none."""
    async with serve(FILES, **PLACES) as site:
        full, empty = await site.get("/m/d/", Accept="text/html"), await site.get("/m/nothing/?format=zip")
    assert 'href="/m/d/?format=zip"' in full.text
    assert 'href="/m/d/?format=tar"' in full.text
    assert empty.status == 404


async def test_head_is_get_without_a_body():
    """HEAD has the length and the type of GET, and reads no file."""
    async with serve(FILES, **PLACES) as site:
        get, head = await site.get("/m/d/?format=zip"), await site.request("HEAD", "/m/d/?format=zip")
    assert (head.status, head.body) == (200, b"")
    names = ("content-length", "content-type", "content-disposition")
    assert [head.headers[name] for name in names] == [get.headers[name] for name in names]


@pytest.mark.parametrize(("limit", "status"), [(3, 200), (2, 403)])
@pytest.mark.parametrize("name", ["max_size", "max_files"])
async def test_a_limit_of_archives_is_the_most_that_one_holds(name, limit, status):
    """A directory with as many bytes or files as are allowed is sent."""
    options = ArchiveOptions(True, **{name: limit})
    async with serve({"a": b"1", "b": b"2", "c": b"3"}, listing=ListingOptions(archive=options)) as site:
        assert (await site.get("/?format=zip")).status == status


@pytest.mark.parametrize("options", [ArchiveOptions(True, max_size=300_005), ArchiveOptions(True, max_files=4)])
async def test_what_is_too_large_is_refused_before_it_begins(options):
    """A directory with too many bytes or files is refused before anything is sent."""
    places = PLACES | {"listing": ListingOptions(archive=options)}
    async with serve(FILES, **places) as site:
        answer = await site.get("/m/d/?format=zip")
        assert (await site.get("/m/d/sub/deep/?format=zip")).status == 200
    assert answer.status == 403
    assert "too large to be one file" in answer.text


class _Staff:
    """An authenticator that accepts every name."""

    async def authenticate(self, facts, guard):
        name = dict(facts.headers).get("Authorization")
        return SignIn(User(name)) if name else Refuse(401, "nobody is signed in", challenge='Basic realm="Files"')


async def test_it_holds_only_what_its_reader_may_get():
    """Access to each file and each directory is checked as for a request of its own."""
    resources = [
        Resource("/m/d/sub/deep/**", provider="staff", users=(BasicUser("ben", Secret("test", "x")),)),
        Resource("/m/d/a.txt", provider="staff", users=(BasicUser("ann", Secret("test", "x")),)),
        Resource("/m/d/**", white_list=True),
    ]
    async with serve(FILES, **PLACES, resources=resources, authenticators={"staff": _Staff()}) as site:
        answer = await site.get("/m/d/?format=zip", Authorization="ann")
    assert list(_zip(answer)) == ["d/sub/b.bin"]


async def test_it_holds_what_the_rules_make_of_each_path():
    """A rewritten file has the name of its request path in the archive."""
    files = {"new/a": b"moved", "d/a": b"old", "d/b": b"stays"}
    async with serve(files, rules='rewrite `^/d/a$` -> "/new/a"', listing=ON) as site:
        assert _zip(await site.get("/d/?format=zip")) == {"d/a": b"moved", "d/b": b"stays"}


async def test_hidden_files_are_left_out():
    """Hidden names are left out, as in the listing."""
    listing = replace(ON, hidden=(".*", "sub"))
    async with serve({**FILES, "p/d/.git/x": b""}, **(PLACES | {"listing": listing})) as site:
        assert list(_zip(await site.get("/m/d/?format=zip"))) == ["d/a.txt"]


async def test_a_directory_that_shows_a_page_shows_no_more():
    """Of a subdirectory with an index document, the archive contains only that document."""
    files = {"d/a": b"", "d/site/index.html": b"page", "d/site/draft": b"", "d/site/below/x": b""}
    async with serve(files, get=GetAction(index_document="index.html"), listing=ON) as site:
        assert sorted(_zip(await site.get("/d/?format=zip"))) == ["d/a", "d/site/index.html"]


async def test_names_unpack_below_their_directory():
    """Backslashes and colons are replaced, since Windows gives them a meaning; names without a valid path are omitted."""
    files = {"d/..\\..\\evil.exe": b"", "d/c:x": b"", "d/a\nb": b"", "d//double": b"", "d/x/../y": b""}
    async with serve(files, listing=ON) as site:
        names = sorted(_zip(await site.get("/d/?format=zip")))
        root = sorted(_zip(await site.get("/?format=zip")))
    assert names == ["d/.._.._evil.exe", "d//double", "d/c_x"]
    assert root[0].startswith("site/d/")


class _Counting(MemoryStore):
    """A store that knows which objects are open, and can change one while others are read."""

    def __init__(self) -> None:
        super().__init__()
        self.open_objects = 0
        self.opened = asyncio.Event()

    async def open(self, key, conditions, part=None):
        found = await super().open(key, conditions, part)
        self.open_objects += 1
        self.opened.set()
        return _Counted(found, self)


class _Counted:
    def __init__(self, found, store):
        self._found, self._store = found, store
        self.info, self.content_range = found.info, found.content_range

    def chunks(self):
        return self._found.chunks()

    async def close(self):
        self._store.open_objects -= 1


async def test_a_client_that_leaves_takes_the_object_along():
    """The object that is being read is closed, and no other is opened."""
    store = _Counting()
    for number in range(3):
        store.add(f"d/{number}", b"x" * (32 << 20))
    async with serve(store, listing=replace(ON, archive=ArchiveOptions(True))) as site:
        async with site.connect() as client:
            await client.send(b"GET /d/?format=zip HTTP/1.1\r\nHost: files.test\r\n\r\n")
            await client.receive_head()
            await store.opened.wait()
            client.abort()
        await site.told()
    assert store.open_objects == 0


@pytest.mark.parametrize("change", [b"other", b"hello!", None])
async def test_a_file_that_changes_meanwhile_breaks_the_archive_off(change):
    """If a file changed since it was listed, the connection is closed and the log has the reason."""
    store = _Counting()
    store.add("d/a", b"x" * (8 << 20))
    store.add("d/b", b"hello")
    async with serve(store, listing=ON) as site:
        async with site.connect() as client:
            await client.send(b"GET /d/?format=tar HTTP/1.1\r\nHost: files.test\r\n\r\n")
            await store.opened.wait()
            if change is None:
                await store.remove("d/b")
            else:
                store.add("d/b", change)
            answer = await client.receive()
        event = await site.told()
    assert not answer.complete
    assert not event.complete
    assert store.open_objects == 0


async def test_isolated_users_get_what_is_theirs():
    """For an isolated user, the archive of the root contains the user's own directory."""
    files = {"ann/a": b"hers", "ben/b": b"his"}
    staff = Resource("/**", provider="staff", users=(BasicUser("ann", Secret("test", "x")),))
    parts = {"resources": [staff], "authenticators": {"staff": _Staff()}}
    async with serve(files, get=GetAction(user_isolation=True), listing=ON, **parts) as site:
        assert _zip(await site.get("/?format=zip", Authorization="ann")) == {"site/a": b"hers"}
        assert (await site.get("/?format=zip")).status == 401


async def test_where_a_policy_server_decides_nothing_is_taken_for_granted():
    """A policy server is not asked about files of an archive, so files that need it are left out."""
    guarded = Resource(
        "/d/secret", provider="staff", users=(BasicUser("ann", Secret("test", "x")),), opa=OpaServer("x")
    )
    rest = Resource("/**", provider="staff", users=(BasicUser("ann", Secret("test", "x")),))
    parts = {"resources": [guarded, rest], "authenticators": {"staff": _Staff()}}
    async with serve({"d/secret": b"no", "d/plain": b"yes"}, listing=ON, **parts) as site:
        assert _zip(await site.get("/d/?format=zip", Authorization="ann")) == {"d/plain": b"yes"}
