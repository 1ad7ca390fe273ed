"""Names that a viewer may not request: a directory answers as if they were not there."""

import json
from datetime import UTC, datetime
from urllib.parse import urlencode

import pytest
from coroutines import run
from hypothesis import given
from hypothesis import strategies as st
from memory_store import MemoryStore
from serving import serve

from tornado_proxy.config.actions import GetAction
from tornado_proxy.config.model import ArchiveOptions, ListingOptions
from tornado_proxy.config.providers import Resource
from tornado_proxy.web import browse

CLOSING = (Resource("/**/*-closed*"), Resource("/**/*-closed*/**"), Resource("/**", white_list=True))
ARCHIVES = ArchiveOptions(enabled=True, max_files=4)


class _Counting(MemoryStore):
    """A store whose objects have one time, and which counts the calls that list it."""

    lists = 0

    async def list(self, prefix, after=None, limit=1000):
        self.lists += 1
        return await super().list(prefix, after, limit)


def _store(names):
    store = _Counting(clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    for name in names:
        store.add(f"d/{name}", b"x")
    return store


async def _pages(site, query):
    """Returns the status, the body and the link of each page of a directory."""
    path, answers = f"/d/?{query}", []
    while path:
        answer = await site.get(path)
        following = answer.headers.get("link", "")
        answers.append((answer.status, answer.body if answer.status == 200 else b"", following))
        path = following.partition("<")[2].partition(">")[0]
    return answers


NAME = st.builds("{}{}".format, st.text("ab", min_size=1, max_size=3), st.sampled_from(["", "/x"]))
NAMES = st.sets(NAME, min_size=1)
QUERIES = st.fixed_dictionaries(
    {"format": st.sampled_from(["html", "json", "text", "zip", "tar"])},
    optional={
        "limit": st.integers(1, 5),
        "sort": st.sampled_from(["name", "size"]),
        "begins": st.text("ab", min_size=1, max_size=2),
    },
)


@pytest.mark.parametrize("is_hidden", [False, True])
@given(names=NAMES, others=NAMES, query=QUERIES, most_sorted=st.sampled_from([3, 10_000]))
def test_closed_names_change_no_answer(is_hidden, names, others, query, most_sorted):
    """The pages and the archives of a directory are the same, byte for byte, with closed names and without them."""
    closed = {f"{name}-closed{slash}{rest}" for name, slash, rest in (each.partition("/") for each in others)}
    listing = ListingOptions(hidden=("*-closed*",) if is_hidden else (), archive=ARCHIVES)

    async def compare():
        answers = []
        for each in (names, names | closed):
            async with serve(_store(each), resources=() if is_hidden else CLOSING, listing=listing) as site:
                answers.append(await _pages(site, urlencode(query)))
        assert answers[0] == answers[1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(browse.limits, "MOST_SORTED", most_sorted)
        run(compare())


@pytest.mark.parametrize("query", ["", "&sort=name", "&begins=b"])
async def test_only_tokens_that_were_given_out_count(query):
    """A name, a token of another directory, order, search or target, and a changed one, lead to the first page."""
    names = [f"b{number}" for number in range(9)]
    async with serve(_store([*names, *(f"e/{each}" for each in names)]), resources=CLOSING) as site:

        async def token(path):
            return (
                json.loads((await site.get(f"{path}&format=json&limit=2")).body)["next"]
                .partition("after=")[2]
                .partition("&")[0]
            )

        own = await token(f"/d/?x{query}")
        others = {await token(path) for path in ("/d/?x", "/d/?sort=name", "/d/?sort=size", "/d/?begins=b", "/d/e/?x")}
        forged = {"L2I1", "5", "b5", own[:-2], own.swapcase(), "", "====", "%C3%A9"} | others - {own}
        first = (await site.get(f"/d/?format=json&limit=2{query}")).body
        assert own in {await token(path) for path in ("/d/?x", "/d/?sort=name", "/d/?begins=b")}
        for each in forged:
            assert (await site.get(f"/d/?format=json&limit=2{query}&after={each}")).body == first
        assert (await site.get(f"/d/?format=json&limit=2{query}&after={own}")).body != first


@pytest.mark.parametrize("limit", [1, 1000])
async def test_the_work_for_a_page_does_not_tell_of_closed_names(limit):
    """Up to a thousand closed names are read at once, however few are asked for."""
    closed = [f"a{number}-closed" for number in range(500)]
    counts = []
    for names in (["z"], [*closed, "z"]):
        store = _store(names)
        async with serve(store, resources=CLOSING) as site:
            await site.get(f"/d/?format=json&limit={limit}")
        counts.append(store.lists)
    assert counts == [1, 1]


@pytest.mark.parametrize("order", ["", "&sort=name"])
async def test_many_closed_names_in_a_row_take_bounded_work(monkeypatch, order):
    """A page ends when much was read, with a token that hides the closed name where the next one begins."""
    monkeypatch.setattr(browse.limits, "LISTED_AT_ONCE", 10)
    store = _store([f"a{number:04}-closed" for number in range(500)] + ["z1", "z2"])
    async with serve(store, resources=CLOSING) as site:
        path, names, pages = f"/d/?format=json&limit=1{order}", [], 0
        while path:
            store.lists = 0
            answer = await site.get(path)
            found = json.loads(answer.body)
            names += [each["name"] for each in found["entries"]]
            path, pages = found["next"], pages + 1
            assert (answer.status, store.lists <= 40) == (200, True)
            assert "closed" not in answer.text
    assert (names, pages) == (["z1", "z2"], 4)


async def test_closed_names_do_not_count_for_a_program():
    """A program gets as many entries as its viewer may see; far more that are closed are too much work."""
    for closed, status in ((900, 200), (5000, 403)):
        store = _store(["a", "b", *(f"e{number}-closed" for number in range(closed)), "f"])
        async with serve(store, resources=CLOSING, listing=ListingOptions(max_entries=3)) as site:
            answer = await site.get("/d/?format=text")
        assert (answer.status, "closed" in answer.text) == (status, False)


async def test_closed_files_do_not_count_for_an_archive():
    """An archive has as many files as its viewer may read; far more that are closed are too much work."""
    listing = ListingOptions(archive=ARCHIVES)
    for closed, status in ((30, 200), (5000, 403)):
        store = _store(["a", "b", "c", "d", *(f"e{number}-closed" for number in range(closed))])
        async with serve(store, resources=CLOSING, listing=listing) as site:
            assert (await site.get("/d/?format=zip")).status == status


REDIRECTING = GetAction(index_document="index.html", redirect_with_trailing_slash_for_not_found_file=True)
QUERIES_OF_A_DIRECTORY = ("", "format=json", "format=text", "format=zip", "sort=size", "begins=a", "begins=z&sort=name")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("query", QUERIES_OF_A_DIRECTORY)
@pytest.mark.parametrize("path", ["/d/", "/d"])
async def test_a_directory_of_closed_names_answers_as_a_missing_one(path, query, method):
    """Status, headers, body and the number of calls are those of a directory without any object."""
    seen = []
    for names in ((), ("a-closed", "b-closed/index.html", "index.html-closed")):
        store = _store(names)
        get = REDIRECTING
        async with serve(store, resources=CLOSING, get=get, listing=ListingOptions(archive=ARCHIVES)) as site:
            answer = await site.request(method, f"{path}?{query}")
            headers = {name: text for name, text in answer.headers.items() if name not in ("x-request-id", "date")}
            body = answer.body.replace(answer.headers["x-request-id"].encode(), b"")
            seen.append((answer.status, headers, body, store.lists))
    assert seen[0] == seen[1]
    assert seen[0][0] == 404


@pytest.mark.parametrize("names", [("", "a-closed"), (".keep", "a-closed")])
@pytest.mark.parametrize("query", ["", "begins=a", "sort=name"])
async def test_a_directory_with_its_own_object_or_a_hidden_file_is_there(names, query):
    """A marker and a file that listings leave out can be requested: the directory is an empty one, with a redirect."""
    listing = ListingOptions(hidden=(".*",))
    async with serve(_store(names), resources=CLOSING, get=REDIRECTING, listing=listing) as site:
        answers = [(await site.get(f"{path}?format=json&{query}")) for path in ("/d/", "/d")]
    assert [each.status for each in answers] == [200, 302]
    assert json.loads(answers[0].body)["entries"] == []


@pytest.mark.parametrize("names", [("a",), ("a", "zz-closed"), ("a", "k-closed", "zz-closed")])
async def test_the_calls_for_a_search_do_not_tell_of_closed_names(names):
    """A search that finds nothing asks S3 as often, whether closed names follow the text or not."""
    store = _store(names)
    async with serve(store, resources=CLOSING) as site:
        for text in ("b", "k", "zz", "zzz"):
            store.lists = 0
            assert json.loads((await site.get(f"/d/?format=json&begins={text}")).body)["entries"] == []
            assert store.lists == 2


async def test_a_page_whose_later_entries_were_closed_is_the_first():
    """A token after which nothing is open any more leads to the first page, as one after which nothing is left."""
    store = _store(["a", "b", "c", "d-closed"])
    async with serve(store, resources=CLOSING) as site:
        following = json.loads((await site.get("/d/?format=json&limit=2")).body)["next"]
        await store.remove("d/c")
        assert [each["name"] for each in json.loads((await site.get(following)).body)["entries"]] == ["a", "b"]
