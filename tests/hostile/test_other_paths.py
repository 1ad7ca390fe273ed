"""What shows the content or the existence of another path: no more than a request for that path would.

The ways are archives, READMEs, index documents, listings and slash redirects; a path may belong to another target,
need another sign-in, or be for a policy server to decide.
"""

import pytest
from front_proxy import ANN, FRONT, Policy
from memory_store import MemoryStore
from msgspec import structs
from serving import FORM_TYPE, WRITABLE, entries_of, files_in, form, part, serve

from tornado_proxy.config.actions import Actions, GetAction, HeadAction
from tornado_proxy.config.model import ArchiveOptions, Bucket, ListingOptions, Mount, Target
from tornado_proxy.config.providers import OidcProvider, OpaServer, Resource
from tornado_proxy.config.secrets import Secret

ARCHIVES = ListingOptions(readme=True, archive=ArchiveOptions(enabled=True))
SECRET = b"what only some may read"
OPEN = Resource("/**", white_list=True)
ANY_USER = Resource("/**", provider="front")


def _nested(*resources, bucket=None, host="", path="/nested/", get=None):
    """A target that is mounted inside of the one at `/`."""
    mount = Mount(host, (path,))
    return Target("nested", mount, bucket or Bucket("bucket"), Actions(get or GetAction()), resources)


TRYING = GetAction(index_document="index.html", try_files=("$path", "$path.html", "$path/", "/index.html"))


@pytest.mark.parametrize(
    ("closed", "secret", "found"),
    [
        ("/a.html", "a.html", (200, "the page of an app")),
        ("/a/", "a/index.html", (200, "the page of an app")),
        ("/a/index.html", "a/index.html", (200, "the page of an app")),
        ("/index.html", "index.html", (404, "")),
    ],
)
async def test_a_tried_address_lets_nobody_in(closed, secret, found):
    """Each address that `tryFiles` names is decided by its own path: one that needs a sign-in is passed over."""
    files = {"index.html": b"the page of an app"} | {secret: SECRET}
    async with serve(files, get=TRYING, resources=[Resource(closed, provider="front"), OPEN], **FRONT) as site:
        answer = await site.get("/a")
    assert answer.status == found[0]
    assert found[1] in answer.text
    assert SECRET not in answer.body


async def test_a_tried_address_of_another_target_is_passed_over():
    """What is mounted below belongs to its own target."""
    files = {"nested.html": SECRET, "nested/index.html": b"ours"}
    async with serve(files, get=TRYING, others=[_nested(path="/nested.html/")]) as site:
        assert (await site.get("/nested")).body == b"ours"
    async with serve({"x/index.html": SECRET}, get=TRYING, others=[_nested(path="/x/index.html/")]) as site:
        assert (await site.get("/x")).status == 404


async def test_an_archive_has_the_objects_of_a_site_that_tries_addresses():
    """Each entry is the object at its own address, whatever is tried first for a client, and no page for all addresses."""
    files = {"docs/a": b"x", "docs/a.html": b"x", "docs/b/c": b"x"}
    trying = GetAction(try_files=("$path.html", "$path", "/index.html"))
    async with serve(files, get=trying, listing=ARCHIVES) as site:
        assert sorted(files_in(await site.get("/docs/?format=zip"))) == ["docs/a", "docs/a.html", "docs/b/c"]


FILES = {"a": b"a", "nested/secret": SECRET, "nested/deep/secret": SECRET, "other/a": b"a"}
CLOSED = Resource("/nested/**", provider="front")


@pytest.mark.parametrize("path", ["/nested/", "/nested/deep/"])
@pytest.mark.parametrize("host", ["", "files.test", "*.test"])
@pytest.mark.parametrize("resources", [(CLOSED,), ()])
async def test_an_archive_has_nothing_of_a_target_mounted_inside(path, host, resources):
    """What another target answers, by path and host, is in no archive, even where it is open: it may not offer any."""
    nested = _nested(*resources, host=host, path=path)
    async with serve(FILES, listing=ARCHIVES, others=[nested], **FRONT) as site:
        names = sorted(files_in(await site.get("/?format=zip")))
    assert [name for name in names if name.startswith(f"site{path}")] == []
    assert "site/a" in names


async def test_a_mount_at_another_host_closes_nothing_here():
    """The files below a mount path are in the archive if the host leads elsewhere."""
    async with serve(FILES, listing=ARCHIVES, others=[_nested(CLOSED, host="elsewhere.test")], **FRONT) as site:
        assert "site/nested/secret" in sorted(files_in(await site.get("/?format=zip")))


@pytest.mark.parametrize(
    ("resources", "get", "headers", "expected"),
    [
        ((), None, {}, ["a", "nested/", "other/"]),
        ((CLOSED,), None, {}, ["a", "other/"]),
        ((CLOSED,), None, ANN, ["a", "other/"]),
        ((), GetAction(enabled=False), {}, ["a", "other/"]),
        ((), GetAction(disable_listing=True), {}, ["a", "other/"]),
    ],
)
async def test_a_listing_shows_a_mount_that_would_answer(resources, get, headers, expected):
    """The directory of a mount inside is listed if a request for it would not be an error; nobody signs in for that."""
    async with serve(FILES, others=[_nested(*resources, get=get)], **FRONT) as site:
        assert entries_of(await site.request("GET", "/?format=json", headers)) == expected


async def test_a_listing_shows_no_file_in_place_of_a_mount():
    """A file that another target hides has neither name nor size in a listing."""
    async with serve({"nested": b"x", "a": b"a"}, others=[_nested()]) as site:
        assert entries_of(await site.get("/?format=json")) == ["a"]


@pytest.mark.parametrize("form_of", ["json", "text", "html"])
@pytest.mark.parametrize(("headers", "is_shown"), [({}, False), (ANN, False)])
async def test_a_listing_hides_what_needs_a_sign_in(form_of, headers, is_shown):
    """An open listing has no entry that only users see: to sign in for a path, ask for that path."""
    closed = [Resource("/hidden.txt", provider="front"), Resource("/private/**", provider="front"), OPEN]
    files = {"hidden.txt": SECRET, "private/x": SECRET, "shown.txt": b"x"}
    async with serve(files, resources=closed, **FRONT) as site:
        page = (await site.request("GET", f"/?format={form_of}", headers)).text
        assert "shown.txt" in page
        assert ("hidden.txt" in page, "private/" in page) == (is_shown, is_shown)
        assert (await site.request("GET", "/hidden.txt", ANN)).body == SECRET


async def test_a_user_sees_what_the_same_sign_in_opens():
    """In a listing for users, what they may read is shown and what others may read is not."""
    resources = [Resource("/none/**", methods=("PUT",)), Resource("/bad", provider="id"), ANY_USER]
    resources.insert(0, Resource("/none/**", provider=None))
    async with serve({"good": b"x", "bad": b"x", "none/x": b"x"}, resources=resources, **FRONT) as site:
        assert entries_of(await site.request("GET", "/?format=json", ANN)) == ["good"]


@pytest.mark.parametrize(
    ("others", "resources", "is_shown"),
    [
        ((), (), True),
        ((), (Resource("/d/README.md", provider="front"), OPEN), False),
        ((_nested(CLOSED, path="/d/README.md/"),), (), False),
        ((_nested(path="/d/README.md/"),), (), False),
    ],
)
async def test_a_readme_of_another_answer_is_not_shown(others, resources, is_shown):
    """A README is shown where a request for it would get it from this target."""
    files = {"d/README.md": b"the text", "d/a": b"x"}
    async with serve(files, listing=ARCHIVES, others=others, resources=resources, **FRONT) as site:
        assert ("the text" in (await site.get("/d/", Accept="text/html")).text) == is_shown


INDEX = GetAction(index_document="index.html", redirect_with_trailing_slash_for_not_found_file=True)


@pytest.mark.parametrize("get", [INDEX, GetAction(index_document="index.html", redirect_to_signed_url=True)])
@pytest.mark.parametrize(
    ("others", "resources"),
    [
        ((), (Resource("/d/index.html", provider="front"), OPEN)),
        ((_nested(CLOSED, path="/d/index.html/"),), ()),
        ((_nested(path="/d/index.html/"),), ()),
    ],
)
async def test_a_closed_index_document_is_not_shown(get, others, resources):
    """A directory whose index document is closed, or hidden by a mount, has its listing, without it."""
    files = {"d/index.html": SECRET, "d/a": b"x"}
    async with serve(files, get=get, others=others, resources=resources, listing=ARCHIVES, **FRONT) as site:
        answer = await site.get("/d/?format=json")
        above = sorted(files_in(await site.get("/?format=zip")))
    assert entries_of(answer) == ["a"]
    assert above == ["site/d/a"]


async def test_an_index_document_may_be_for_users():
    """Who may read the index document gets it, with the sign-in of the directory."""
    async with serve({"d/index.html": SECRET}, get=INDEX, resources=[ANY_USER], **FRONT) as site:
        assert (await site.request("GET", "/d/", ANN)).body == SECRET


async def test_head_is_decided_as_head():
    """Where GET is disabled, a HEAD finds the index document and the entries that a HEAD would find."""
    files = {"d/index.html": b"x" * 17, "e/a": b"x"}
    head_only = Actions(structs.replace(INDEX, enabled=False), HeadAction(enabled=True))
    shown = []
    for actions in (Actions(INDEX), head_only):
        async with serve(files, actions=actions, resources=[Resource("/**", ("GET", "HEAD"), white_list=True)]) as site:
            shown.append([(await site.request("HEAD", path)).headers["content-length"] for path in ("/d/", "/e/")])
    assert shown[0] == shown[1]


async def test_a_slash_redirect_does_not_show_a_closed_directory():
    """A missing file is a 404 where the directory of its name is closed, whether or not anything is in it."""
    resources = [Resource("/*/", provider="front"), OPEN]
    async with serve({"d/a": b"x", "e": b"x"}, get=INDEX, resources=resources, **FRONT) as site:
        answers = [await site.get("/d"), await site.get("/missing")]
        there = await site.request("GET", "/d/", ANN)
    assert [answer.status for answer in answers] == [404, 404]
    assert there.status == 200
    async with serve({"d/a": b"x"}, get=INDEX) as site:
        assert (await site.get("/d")).status == 302


async def test_a_page_of_a_provider_hides_a_file():
    """The page of a sign-in is answered in place of a file, so neither a listing nor an archive has the file."""
    provider = OidcProvider("id", "https://id.test", "client", Secret("test", "x"))
    path = provider.pages["login"].rstrip("/")
    directory, _, name = path.rpartition("/")
    files = {path[1:]: SECRET, f"{directory[1:]}/a": b"x"}
    async with serve(files, listing=ARCHIVES, providers=[provider]) as site:
        assert name not in entries_of(await site.get(f"{directory}/?format=json"))
        assert sorted(files_in(await site.get(f"{directory}/?format=zip"))) == [f"{directory[1:]}/a"]


OPA = OpaServer("http://127.0.0.1:8181/v1/data/allow")
POLICED = [Resource("/**", ("GET", "PUT", "DELETE"), provider="front", opa=OPA)]


@pytest.mark.parametrize("refused", ["/d/README.md", "/d/index.html", "/d/"])
async def test_a_policy_is_asked_about_what_is_shown_beside(refused):
    """A README, an index document and a slash redirect are shown where the policy permits a request for their path."""
    policy, files = Policy(refused), {"d/README.md": b"the text", "d/index.html": SECRET}
    async with serve(files, get=INDEX, listing=ARCHIVES, resources=POLICED, fetch=policy, **FRONT) as site:
        page = await site.request("GET", "/d/", ANN | {"Accept": "text/html"})
        redirected = await site.request("GET", "/d", ANN)
    assert (page.status, redirected.status) == {
        "/d/README.md": (200, 302),
        "/d/index.html": (200, 302),
        "/d/": (403, 404),
    }[refused]
    assert (SECRET in page.body) == (refused == "/d/README.md")
    assert ("the text" in page.text) == (refused == "/d/index.html")


async def test_a_policy_is_asked_about_each_address_that_is_tried():
    """A policy that refuses an address is asked about the next."""
    policy, files = Policy("/a.html"), {"a.html": SECRET, "index.html": b"the page of an app"}
    async with serve(files, get=TRYING, resources=POLICED, fetch=policy, **FRONT) as site:
        assert (await site.request("GET", "/a", ANN)).body == b"the page of an app"
    asked = ["/a", "/a.html", "/a/", "/a/index.html", "/index.html"]
    assert policy.asked == [("GET", path) for path in asked]


async def test_a_listing_asks_a_policy_once():
    """The entries of a listing are the content of its directory: a policy that permits it is not asked about each."""
    policy = Policy("/d/b")
    async with serve({"d/a": b"x", "d/b": b"x"}, resources=POLICED, fetch=policy, listing=ARCHIVES, **FRONT) as site:
        assert entries_of(await site.request("GET", "/d/?format=json", ANN)) == ["a", "b"]
        assert policy.asked == [("GET", "/d/")]
        # An archive holds content, so nothing is in it that a policy would have to permit.
        assert sorted(files_in(await site.request("GET", "/d/?format=zip", ANN))) == []


REFUSED = "/d/config.json"


@pytest.mark.parametrize(
    ("method", "target", "headers", "body"),
    [
        ("PUT", "/d/", FORM_TYPE, form(part("file", b"x", filename="config.json"))),
        ("PUT", "/d/", FORM_TYPE, form(part("file", b"x", filename="other/config.json"))),
        ("PUT", "/d/?x=/d/fine", FORM_TYPE, form(part("file", b"x", filename="config.json"))),
        ("PUT", REFUSED, {}, b"x"),
        ("PUT", f"{REFUSED}?upload=start&size=1", {}, b""),
        ("PUT", f"{REFUSED}?upload=part&id=1&number=1", {}, b"x"),
        ("PUT", f"{REFUSED}?upload=parts&id=1", {}, b""),
        ("PUT", f"{REFUSED}?upload=complete&id=1&size=1", {}, b""),
        ("PUT", f"{REFUSED}?upload=abort&id=1", {}, b""),
        ("PUT", f"{REFUSED}?upload=direct", {}, b""),
        ("DELETE", REFUSED, {}, b""),
    ],
)
async def test_a_policy_sees_the_path_of_the_file_that_is_written(method, target, headers, body):
    """However a file is written, the policy is asked about its own path before anything happens to it."""
    policy, store = Policy(REFUSED), MemoryStore({"d/config.json": SECRET})
    async with serve(store, actions=WRITABLE, resources=POLICED, fetch=policy, **FRONT) as site:
        answer = await site.request(method, target, ANN | headers, body)
        allowed = await site.request("PUT", "/d/", ANN | FORM_TYPE, form(part("file", b"x", filename="fine")))
    assert answer.status == 403
    assert (method, REFUSED) in policy.asked
    assert allowed.status == 201
    assert sorted(store.keys()) == ["d/config.json", "d/fine"]
